"""Links made of others: several sums of trees in one, each with a link of its own, blended and put through another.

The margins of a blend are those of its parts, one stretch after the other. So a calibrated, voting or stacked model is
one `TreeSum`: the margins are expected values, and the links of the parts are applied to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.errors import InvalidParameter
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.trees.links import IDENTITY, Link

Floats = NDArray[np.float64]


@storable
@dataclass(frozen=True, eq=False)
class LinearLink(Link):
    """Multiplies margins by a matrix and adds an offset.

    Attributes
    ----------
    matrix : float64 array (n_answers, n_margins)
    offset : float64 array (n_answers,)

    Examples
    --------
    >>> LinearLink(np.array([[0.5, 0.5]]), np.array([1.0])).answers(np.array([[2.0, 4.0]]))
    array([[4.]])
    """

    matrix: Floats
    offset: Floats
    name = "linear"

    def _check_stored(self) -> None:
        require_numbers("the matrix", self.matrix, (None, None))
        require_numbers("the offset", self.offset, (len(self.matrix),))
        require(bool(np.isfinite(self.matrix).all() and np.isfinite(self.offset).all()), "a link is not finite")

    def answers(self, margins: Floats) -> Floats:
        """Return the product, with the offset."""
        return np.asarray(margins @ self.matrix.T + self.offset)

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Multiply the slopes by the matrix."""
        return np.asarray(np.einsum("am,rmk->rak", self.matrix, margin_slopes))

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Multiply by the largest sum of magnitudes in a row of the matrix."""
        return np.asarray(bound * np.abs(self.matrix).sum(axis=1).max())


@storable
@dataclass(frozen=True, eq=False)
class StretchLink(Link):
    """Cuts the margins into stretches, each with a link of its own, and puts the answers side by side.

    Attributes
    ----------
    links : tuple of Link
    sizes : tuple of int
        Number of margins of each stretch.

    Examples
    --------
    >>> from tremula.trees.links import LOGISTIC
    >>> StretchLink((LOGISTIC, IDENTITY), (1, 2)).answers(np.array([[0.0, 3.0, 4.0]]))
    array([[0.5, 0.5, 3. , 4. ]])
    """

    links: tuple[Link, ...]
    sizes: tuple[int, ...]

    def _check_stored(self) -> None:
        is_even = len(self.links) == len(self.sizes) > 0 and all(0 < size < 2**31 for size in self.sizes)
        require(is_even, "stretches of margins have no links or sizes")

    @property
    def name(self) -> str:
        """Names of the links."""
        return f"({', '.join(dict.fromkeys(link.name for link in self.links))})"

    @cached_property
    def _cuts(self) -> list[slice]:
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes)]

    def _stretches(self, margins: Floats) -> list[tuple[Link, slice]]:
        if margins.shape[1] != sum(self.sizes):
            raise InvalidParameter(f"{margins.shape[1]} margins were given to a link of {sum(self.sizes)} margins")
        return list(zip(self.links, self._cuts))

    def answers(self, margins: Floats) -> Floats:
        """Return the answers of all stretches."""
        return np.hstack([link.answers(margins[:, cut]) for link, cut in self._stretches(margins)])

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Apply the chain rule to each stretch."""
        stretches = self._stretches(margins)
        return np.concatenate([link.slopes(margins[:, cut], margin_slopes[:, cut]) for link, cut in stretches], axis=1)

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return the largest bound of a stretch."""
        bounds = [link.answer_bound(margins[:, cut], bound) for link, cut in self._stretches(margins)]
        return np.asarray(np.max(bounds, axis=0))


@storable
@dataclass(frozen=True, eq=False)
class ChainLink(Link):
    """Applies links one after the other, the first of them to the margins.

    Attributes
    ----------
    links : tuple of Link

    Examples
    --------
    >>> from tremula.trees.links import EXPONENTIAL
    >>> half = LinearLink(np.array([[0.5]]), np.zeros(1))
    >>> ChainLink((half, EXPONENTIAL)).answers(np.log([[9.0]])).round(6)
    array([[3.]])
    """

    links: tuple[Link, ...]

    def _check_stored(self) -> None:
        require(len(self.links) > 0, "a chain has no links")

    @property
    def name(self) -> str:
        """Names of the links, the last first."""
        return " of ".join(link.name for link in reversed(self.links))

    def answers(self, margins: Floats) -> Floats:
        """Return what the last link gives."""
        for link in self.links:
            margins = link.answers(margins)
        return margins

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Apply the chain rule of each link in turn."""
        for link in self.links:
            margin_slopes = link.slopes(margins, margin_slopes)
            margins = link.answers(margins)
        return margin_slopes

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Pass the bound through each link in turn."""
        for link in self.links:
            bound = link.answer_bound(margins, bound)
            margins = link.answers(margins)
        return bound


@storable
@dataclass(frozen=True, eq=False)
class InterpolationLink(Link):
    """Turns a score into the shares of two classes by a broken line, which is constant beyond its ends.

    Attributes
    ----------
    scores : float64 array (n_points,)
        Increasing.
    shares : float64 array (n_points,)
        Shares of the second class at these scores.

    Examples
    --------
    >>> InterpolationLink(np.array([0.0, 1.0]), np.array([0.2, 0.6])).answers(np.array([[0.5], [3.0]]))
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """

    scores: Floats
    shares: Floats
    name = "interpolation"

    def _check_stored(self) -> None:
        require_numbers("the scores", self.scores, (None,))
        require_numbers("the shares", self.shares, (len(self.scores),), low=0.0)
        require(len(self.scores) > 0 and (np.diff(self.scores) > 0).all(), "the scores do not increase")

    def answers(self, margins: Floats) -> Floats:
        """Return the shares of the two classes."""
        second = np.interp(margins[:, :1], self.scores, self.shares)
        return np.hstack([1.0 - second, second])

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Refuse: there are kinks."""
        raise InvalidParameter(f"the link {self.name!r} is not differentiable everywhere: use another calibrator")

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Multiply by the largest slope, up to a share of 1."""
        if len(self.scores) < 2:
            return np.zeros_like(bound)
        steepest = float(np.max(np.diff(self.shares) / np.diff(self.scores)))
        return np.asarray(np.minimum(bound * steepest, 1.0))


def blend_link(
    links: Sequence[Link], sizes: Sequence[int], weights: ArrayLike, n_answers: int, outer: Link = IDENTITY
) -> Link:
    """Return the link of a blend: stretches of margins with a link each, their weighted sum, and an outer link.

    Parameters
    ----------
    links : sequence of Link
        Of each stretch; all give the same number of answers.
    sizes : sequence of int
        Number of margins of each stretch.
    weights : array (n_stretches,)
        Factor of each stretch's answers: shares for a mean, ones for a sum.
    n_answers : int
        Number of answers of every stretch.
    outer : Link
        Applied to the weighted sum; by default nothing is.

    Examples
    --------
    >>> from tremula.trees.links import LOGISTIC
    >>> link = blend_link([LOGISTIC, IDENTITY], [1, 2], [0.5, 0.5], 2)
    >>> link.name
    'linear of (logistic, identity)'
    >>> link.answers(np.array([[0.0, 0.25, 0.75]]))
    array([[0.375, 0.625]])
    """
    factors = np.asarray(weights, dtype=np.float64)
    matrix = np.hstack([factor * np.eye(n_answers) for factor in factors])
    parts: tuple[Link, ...] = (StretchLink(tuple(links), tuple(sizes)), LinearLink(matrix, np.zeros(n_answers)))
    return ChainLink(parts if outer.is_identity else (*parts, outer))
