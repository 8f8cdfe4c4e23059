"""How far bagging can move when one training row is left out, whatever the learner; and sets of classes that keep one.

The bound holds for every table and every base learner: it follows from how rows are drawn alone (Soloff, Barber and
Willett, "Bagging provides assumption-free stability", JMLR 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, inf, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowDraw:
    """How the rows of a member are drawn.

    Attributes
    ----------
    n_rows, n_drawn : int
    bootstrap : bool
        Whether with replacement.

    Examples
    --------
    >>> draw = RowDraw(n_rows=100, n_drawn=50, bootstrap=False)
    >>> draw.inclusion, draw.factor
    (0.5, 1.0101010101010102)
    """

    n_rows: int
    n_drawn: int
    bootstrap: bool

    @property
    def inclusion(self) -> float:
        """Probability that a member is trained on a given row."""
        if self.bootstrap:
            return 1.0 - (1.0 - 1.0 / self.n_rows) ** self.n_drawn
        return self.n_drawn / self.n_rows

    @property
    def factor(self) -> float:
        """Largest eigenvalue of the covariances of the inclusions of all rows, over (1 - inclusion)²."""
        n_rows, p = self.n_rows, self.inclusion
        if p >= 1.0 or n_rows < 2:
            return inf
        neither = (
            (1.0 - 2.0 / n_rows) ** self.n_drawn if self.bootstrap else (1.0 - p) * (1.0 - p * n_rows / (n_rows - 1))
        )
        covariance = neither - (1.0 - p) ** 2  # of the inclusions of two rows; negative
        return (p * (1.0 - p) - covariance) / (1.0 - p) ** 2

    def untouched(self, n_changed: int) -> float:
        """Return the probability that a member is trained on none of so many given rows.

        Examples
        --------
        >>> RowDraw(4, 2, bootstrap=True).untouched(1), RowDraw(4, 2, bootstrap=False).untouched(1)
        (0.5625, 0.5)
        """
        if n_changed >= self.n_rows:
            return 0.0
        if self.bootstrap:
            return ((self.n_rows - n_changed) / self.n_rows) ** self.n_drawn
        return comb(self.n_rows - n_changed, self.n_drawn) / comb(self.n_rows, self.n_drawn)


def largest_change(draw: RowDraw, variance: float, n_members: float = inf) -> float:
    """Bound the root mean square change of a prediction of bagging when a training row is left out.

    Parameters
    ----------
    draw : RowDraw
    variance : float
        Variance of the members' predictions, or a bound of it: a quarter of the squared range of numbers, and
        ``1 - 1 / n_classes`` for shares of classes, summed over the classes.
    n_members : float, default=inf
        Number of members. With few, the draws themselves change the prediction; the bound then holds for the mean over
        draws.

    Returns
    -------
    float
        Bound of the root of the mean over training rows of the squared change (for classes, the sum over classes of the
        squared changes of their shares). The number of rows drawn is kept when a row is left out.

    Notes
    -----
    The change is the covariance of prediction and inclusion of the row, over 1 - inclusion. The squares of the
    covariances sum to the variance of the prediction times the largest eigenvalue of the covariances of the inclusions,
    at most. A mean of finitely many members differs from its expectation by the root of variance over members; this
    counts twice, with the row and without.

    Examples
    --------
    >>> round(largest_change(RowDraw(1000, 1000, bootstrap=True), variance=0.5), 4)
    0.0293
    """
    return sqrt(variance) * (sqrt(draw.factor / draw.n_rows) + 2.0 / sqrt(n_members))


def inflated_argmax(shares: Floats, epsilon: float) -> NDArray[np.bool_]:
    """Return for each row the classes that are near to being the most probable: the inflated argmax.

    Two rows of shares whose distance is less than epsilon always have a class in common.

    Parameters
    ----------
    shares : float64 array (n_rows, n_classes)
    epsilon : float
        Above 0.

    Returns
    -------
    bool array (n_rows, n_classes)
        At least one class of each row, the most probable ones among them.

    Notes
    -----
    A class is in the set if shares at a distance of less than epsilon give it a lead of epsilon / sqrt(2) over all
    others (Soloff, Barber and Willett, "Building a stable classifier with the inflated argmax", NeurIPS 2024).

    Examples
    --------
    >>> inflated_argmax(np.array([[0.55, 0.45], [0.7, 0.3]]), epsilon=0.2)
    array([[ True,  True],
           [ True, False]])
    """
    lead = epsilon / sqrt(2.0)
    distances = [
        _distances_to_lead(shares[:, code], np.delete(shares, code, axis=1) + lead) for code in range(shares.shape[1])
    ]
    return np.asarray(np.column_stack(distances) < epsilon)


def _distances_to_lead(own: Floats, others: Floats) -> Floats:
    """Return how far shares must move until the own one is not less than any of the others.

    The own share rises to a value to which the largest others fall; those that are not above it stay.
    """
    others = -np.sort(-others, axis=1)
    n_rows, n_others = others.shape
    levels = (own[:, None] + np.hstack([np.zeros((n_rows, 1)), np.cumsum(others, axis=1)])) / np.arange(1, n_others + 2)
    next_others = np.hstack([others, np.full((n_rows, 1), -inf)])
    n_moved = (levels >= next_others).argmax(axis=1)
    level = levels[np.arange(n_rows), n_moved]
    moved = np.maximum(others - level[:, None], 0.0)
    return np.asarray(np.sqrt((level - own) ** 2 + (moved**2).sum(axis=1)))
