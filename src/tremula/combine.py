"""Combines the predictions of members by votes or averages, weighted or not. Ties go to the lowest class.

The sum for each row is taken over the members in their order, so the result does not depend on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tremula._kernels.row_sums import add_rows

COMBINERS = ("vote", "average")


class Member(Protocol):
    """A trained member of an ensemble."""

    def predict_values(self, X: Any) -> np.ndarray:
        """Return the class distribution, or the value, of each row."""

    def predict_codes(self, X: Any) -> np.ndarray:
        """Return the class code of each row."""


def add_votes(total: np.ndarray, codes: np.ndarray, weight: float = 1.0) -> None:
    """Add a member's votes to a table of rows by classes."""
    total[np.arange(len(codes)), codes] += weight


def add_predictions(total: np.ndarray, member: Member, rows: Any, combine: str, weight: float = 1.0) -> None:
    """Add a member's votes, or its distributions or values, for some rows."""
    if combine == "vote":
        add_votes(total, member.predict_codes(rows), weight)
    elif hasattr(member, "add_values"):
        member.add_values(rows, weight, total)
    else:
        total += weight * member.predict_values(rows)


def _running_sums(
    total: np.ndarray, members: Sequence[Member], rows: Any, combine: str, weights: Iterable[float] | None
) -> Iterator[float]:
    """Add each member's predictions to the total in turn, and yield the sum of the weights so far."""
    sum_of_weights = 0.0
    for member, weight in zip(members, [1.0] * len(members) if weights is None else weights):
        add_predictions(total, member, rows, combine, weight)
        sum_of_weights += weight
        yield sum_of_weights


def combine_members(
    members: Sequence[Member],
    rows: Any,
    n_rows: int,
    n_outputs: int,
    combine: str,
    weights: Iterable[float] | None = None,
) -> np.ndarray:
    """Return the combined distribution (or mean value) of each row.

    Parameters
    ----------
    members : sequence of Member
    rows : table, as the members take it
    n_rows, n_outputs : int
    combine : {"vote", "average"}
    weights : iterable of float, optional
        Weights of the members; 1 each by default.

    Returns
    -------
    array (n_rows, n_outputs)
        Shares of the votes, or weighted means.
    """
    total = np.zeros((n_rows, n_outputs))
    sums_of_weights = list(_running_sums(total, members, rows, combine, weights))
    return total / sums_of_weights[-1]


def staged_means(
    members: Sequence[Member],
    rows: Any,
    n_rows: int,
    n_outputs: int,
    combine: str,
    weights: Iterable[float] | None = None,
) -> Iterator[np.ndarray]:
    """Yield what `combine_members` returns for the first member, the first two, and so on."""
    total = np.zeros((n_rows, n_outputs))
    for sum_of_weights in _running_sums(total, members, rows, combine, weights):
        yield total / sum_of_weights


def largest(shares: np.ndarray) -> np.ndarray:
    """Return the class of the largest share in each row; shares that differ by rounding alone are equal."""
    best = shares.max(axis=1, keepdims=True)
    return np.asarray((shares >= best - 1e-12 * np.abs(best)).argmax(axis=1))


def split_outputs(shares: np.ndarray, n_classes: Sequence[int]) -> list[np.ndarray]:
    """Return the shares of the classes of each of several targets, which stand side by side.

    Examples
    --------
    >>> split_outputs(np.array([[0.2, 0.8, 1.0, 0.0, 0.0]]), [2, 3])
    [array([[0.2, 0.8]]), array([[1., 0., 0.]])]
    """
    return np.split(shares, np.cumsum(n_classes)[:-1], axis=1)


def largest_of_each(shares: np.ndarray, n_classes: Sequence[int]) -> np.ndarray:
    """Return the class of the largest share of each of several targets, shape (n_rows, n_targets)."""
    return np.column_stack([largest(part) for part in split_outputs(shares, n_classes)])


class RowSums:
    """Weighted sums of predictions, row by row, where each member predicts only its out-of-bag rows.

    Parameters
    ----------
    n_rows, n_outputs : int

    Attributes
    ----------
    total : float64 array (n_rows, n_outputs)
        Sums of the predictions.
    weight : float64 array (n_rows,)
        Sums of the weights of the members that predicted each row; their number where all have weight 1.

    Examples
    --------
    >>> sums = RowSums(3, 1)
    >>> sums.add(np.array([0, 2]), np.array([[1.0], [5.0]]))
    >>> sums.add(np.array([2]), np.array([[7.0]]))
    >>> sums.rows, sums.means(), sums.means(sums.rows)
    (array([0, 2]), array([[ 1.],
           [nan],
           [ 6.]]), array([[1.],
           [6.]]))
    """

    def __init__(self, n_rows: int, n_outputs: int) -> None:
        self.total = np.zeros((n_rows, n_outputs))
        self.weight = np.zeros(n_rows)

    @classmethod
    def of(cls, total: np.ndarray, weight: np.ndarray) -> RowSums:
        """Return sums to continue from; the arrays are copied."""
        sums = cls(*total.shape)
        sums.total += total
        sums.weight += weight
        return sums

    def add(self, rows: np.ndarray, predictions: np.ndarray, weight: float = 1.0) -> None:
        """Add a member's predictions for these rows, none of which is there twice."""
        if len(rows):
            if predictions.shape != (len(rows), self.total.shape[1]):
                raise ValueError(f"predictions have shape {predictions.shape}: expected a row for each of {len(rows)}")
            values = np.ascontiguousarray(predictions, np.float64)
            add_rows(np.ascontiguousarray(rows, np.int64), np.full(len(rows), float(weight)), values, self.total)
            self.weight[rows] += weight

    @property
    def is_predicted(self) -> np.ndarray:
        """Whether some member predicted each row."""
        return self.weight > 0

    @property
    def rows(self) -> np.ndarray:
        """Rows that some member predicted."""
        return np.flatnonzero(self.is_predicted)

    def means(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Weighted mean prediction of these rows, of all by default; NaN where no member predicted."""
        total, weight = (self.total, self.weight) if rows is None else (self.total[rows], self.weight[rows])
        weight = weight[:, None]
        return np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0)
