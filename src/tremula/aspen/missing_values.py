"""Replaces missing values by one more level, or by a number below all others.

That a value is missing is often informative, and trees can then split on it. Attributes without missing values in
training stay as they are: a row with a missing value goes down all branches, as in all trees of tremula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.persistence.registry import storable
from tremula.persistence.soundness import require


@storable
@dataclass(frozen=True)
class Filling:
    """The replacement of missing values of each attribute; NaN where none was missing in training.

    Examples
    --------
    >>> import numpy as np
    >>> filling = Filling.of(np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 1.0]]), np.array([0, 2]))
    >>> filling.fill(np.array([[np.nan, np.nan]]))
    array([[-1.,  2.]])
    """

    values: np.ndarray

    def _check_stored(self) -> None:
        is_plain = self.values.ndim == 1 and self.values.dtype == np.float64
        require(is_plain and not np.isinf(self.values).any(), "missing values are not replaced by numbers")

    @classmethod
    def of(cls, table: np.ndarray, n_levels: np.ndarray) -> Filling:
        """Learn from the training table, which has codes in nominal columns; numeric columns have 0 levels."""
        values = np.full(len(n_levels), np.nan)
        for attribute in np.flatnonzero(np.isnan(table).any(axis=0)):
            column = table[:, attribute]
            known = column[~np.isnan(column)]
            if n_levels[attribute] or not len(known):
                values[attribute] = n_levels[attribute]
            else:
                values[attribute] = _far_below(known.min(), known.max())
        return cls(values)

    def n_levels(self, n_levels: np.ndarray) -> np.ndarray:
        """Return the numbers of levels, the level of missing values included."""
        return np.where((n_levels > 0) & ~np.isnan(self.values), n_levels + 1, n_levels).astype(np.int32)

    def fill(self, table: np.ndarray) -> np.ndarray:
        """Return the table with missing values replaced; the same object if there are none."""
        chosen = ~np.isnan(self.values)
        if not chosen.any():
            return table
        gaps = np.isnan(table) & chosen
        return np.where(gaps, self.values, table) if gaps.any() else table


def _far_below(least: float, most: float) -> float:
    """Return a number so far below the others that noise does not reach it, or the smallest float."""
    with np.errstate(over="ignore"):
        place = 2.0 * least - most - (least == most)
    return place if np.isfinite(place) else float(-np.finfo(np.float64).max)
