"""Checks amounts of noise, scales and measurement errors; learns scales and level shares from training rows.

All returned amounts and scales are finite and at least 0, and 0 for nominal attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, InvalidParameter, counted
from tremula.parameters import read_numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise that perturbs a row.

    Attributes
    ----------
    sd : float64 array (n_attributes,), (n_rows, n_attributes) or (n_trees, 1 or n_rows, n_attributes)
        Standard deviation for every attribute, or value, or each of these for every tree; 0 for nominal attributes.
    flip : float
        Probability that the level of a nominal attribute is replaced by another.
    level_shares : tuple of arrays or None, one per attribute
        Training shares of the levels of nominal attributes.
    """

    sd: Floats
    flip: float = 0.0
    level_shares: tuple[Floats | None, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether no value changes."""
        flips = self.flip > 0 and any(shares is not None for shares in self.level_shares)
        return not flips and not self.sd.any()

    @property
    def is_per_tree(self) -> bool:
        """Whether every tree has noise of its own."""
        return self.sd.ndim == 3

    def of_tree(self, number: int) -> Noise:
        """Return the noise on the rows that one tree is given."""
        if not self.is_per_tree:
            return self
        return replace(self, sd=self.sd[number, 0] if self.sd.shape[1] == 1 else self.sd[number])


AMOUNTS_OF_NOISE = "'auto', a number or one number per attribute"


def _numbers(name: str, given: Any, expected: str) -> Floats:
    numbers = read_numbers(name, given, expected)
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0))].flat[0]
        raise InvalidParameter(f"{name} holds {wrong}; expected {expected}, all finite and none negative")
    return numbers


def read_amounts(name: str, given: Any, n_attributes: int, n_trees: int | None = None) -> float | Floats:
    """Return one amount for all attributes, one for each, or one for each tree and attribute.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    given : number or array
    n_attributes : int
    n_trees : int, optional
        Number of trees; None if the model is not smoothed tree by tree.

    Examples
    --------
    >>> read_amounts("noise", 0.2, 3), read_amounts("noise", [0.1, 0.2], 2)
    (0.2, array([0.1, 0.2]))
    """
    amounts = _numbers(name, given, AMOUNTS_OF_NOISE)
    if amounts.ndim == 0:
        return float(amounts)
    if amounts.ndim == 2 and n_trees is None:
        raise InvalidParameter(
            f"{name} has shape {amounts.shape}, but only models of trees that are not sampled can have an amount for "
            "each tree: give one number, or one for each attribute"
        )
    if amounts.shape not in ((n_attributes,), (n_trees, n_attributes)):
        trees = "" if n_trees is None else f" and {counted(n_trees, 'tree')}"
        more = "" if n_trees is None else f", or an array of shape ({n_trees}, {n_attributes}), one for each tree"
        raise InvalidParameter(
            f"{name} has shape {amounts.shape}, but there are {counted(n_attributes, 'attribute')}{trees}: give one "
            f"number for all, or one for each attribute{more}"
        )
    return amounts.copy()


def read_scale(given: Any, n_levels: NDArray[np.int32]) -> Floats:
    """Return one standard deviation per attribute, 0 for nominal ones."""
    scale = _numbers("scale", given, "one standard deviation per attribute")
    if scale.shape != (len(n_levels),):
        raise InvalidParameter(
            f"scale has shape {scale.shape}, but there are {len(n_levels)} attributes: give one standard deviation each"
        )
    return np.where(n_levels > 0, 0.0, scale)


def measurement_error(X_std: Any, shape: tuple[int, ...], n_levels: NDArray[np.int32]) -> Floats:
    """Return the standard deviation of every value's error, 0 for nominal attributes."""
    error = _numbers("X_std", X_std, "standard deviations")
    if error.shape not in ((), shape[1:], shape):
        raise InvalidInput(
            f"X_std has shape {error.shape}, but X has shape {shape}: give one standard deviation for each attribute, "
            "or for each value"
        )
    return np.where(n_levels > 0, 0.0, np.broadcast_to(error, shape))


SQUARED_FROM, SQUARED_TO = 1e-100, 1e100  # sizes whose squares neither vanish nor overflow
LARGEST_SCALE = 1e300


def column_scales(rows: Floats, weights: Floats | None, n_levels: NDArray[np.int32]) -> Floats:
    """Return the population standard deviation of every numeric attribute over its known values.

    A constant attribute, or one without known values, has exactly 0: its tests stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> column_scales(np.array([[1.0, 0.1], [3.0, 0.1], [np.nan, 0.1]]), None, np.zeros(2, dtype=np.int32))
    array([1., 0.])
    """
    scales = np.zeros(len(n_levels))
    for attribute in np.flatnonzero(n_levels == 0):
        column = rows[:, attribute]
        known = ~np.isnan(column) if weights is None else ~np.isnan(column) & (weights > 0)
        values = column[known]
        if len(values) and values.min() < values.max():
            share = None if weights is None else weights[known]
            largest = float(np.abs(values).max())
            exponent = int(np.frexp(largest)[1]) if not SQUARED_FROM < largest < SQUARED_TO else 0
            values = np.ldexp(values, -exponent)
            centre = np.average(values, weights=share)
            scales[attribute] = np.ldexp(np.sqrt(np.average((values - centre) ** 2, weights=share)), exponent)
            if scales[attribute] > LARGEST_SCALE:
                raise InvalidInput(
                    f"column {attribute} of X has a standard deviation of {scales[attribute]:.3g}, and noise of that "
                    "size overflows: divide the column by a constant"
                )
    return scales


def level_shares(rows: Floats, weights: Floats | None, n_levels: NDArray[np.int32]) -> list[Floats | None]:
    """Return the training shares of the levels of every nominal attribute, None for numeric ones.

    Examples
    --------
    >>> import numpy as np
    >>> level_shares(np.array([[0.0], [1.0], [1.0], [np.nan]]), None, np.array([3], dtype=np.int32))
    [array([0.33333333, 0.66666667, 0.        ])]
    """
    shares: list[Floats | None] = [None] * len(n_levels)
    for attribute in np.flatnonzero(n_levels > 0):
        column = rows[:, attribute]
        known = ~np.isnan(column)
        known_weights = None if weights is None else weights[known]
        counts = np.bincount(column[known].astype(np.intp), weights=known_weights, minlength=n_levels[attribute])
        shares[attribute] = counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1.0 / len(counts))
    return shares
