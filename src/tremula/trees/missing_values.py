"""Tables whose missing values trees grow from as from others: a missing level is a level, a missing number an extreme.

A missing number is put below all others of its column, so that it takes the first branch of every split. The twin of
the column has it above all others, so that it takes the second. A split between the extreme and the other values
separates missing values from known ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NO_TWIN = -1


class CompleteTable(NamedTuple):
    """A table without missing values.

    Attributes
    ----------
    values : float64 array (n_rows, n_attributes + n_twins), or SparseRows
        The twins come last.
    n_levels : int32 array (n_attributes + n_twins,)
        One more where a level stands for missing ones.
    twins : int32 array (n_attributes + n_twins,)
        The twin of each column, or NO_TWIN.
    missing_level : int32 array (n_attributes + n_twins,)
        The level that stands for missing ones, or -1.
    """

    values: Any
    n_levels: np.ndarray
    twins: np.ndarray
    missing_level: np.ndarray

    @property
    def n_attributes(self) -> int:
        """Number of columns without the twins."""
        return int(self.values.shape[1] - np.count_nonzero(self.twins != NO_TWIN))

    @property
    def has_twins(self) -> bool:
        """Whether some column has a twin."""
        return bool((self.twins != NO_TWIN).any())

    @property
    def originals(self) -> np.ndarray:
        """The column that each column is or is the twin of."""
        originals = np.arange(self.values.shape[1], dtype=np.int32)
        has_twin = self.twins != NO_TWIN
        originals[self.twins[has_twin]] = np.flatnonzero(has_twin)
        return originals


def complete_table(values: np.ndarray, n_levels: np.ndarray) -> CompleteTable:
    """Return a table whose missing values are extremes, or a level of their own.

    Parameters
    ----------
    values : float64 array (n_rows, n_attributes)
        Nominal columns hold level codes; NaN is missing.
    n_levels : int32 array (n_attributes,)
        0 for a numeric attribute.

    Examples
    --------
    >>> import numpy as np
    >>> table = complete_table(np.array([[1.0, 2.0], [np.nan, np.nan]]), np.array([0, 3], np.int32))
    >>> table.values
    array([[  1.,   2.,   1.],
           [-inf,   3.,  inf]])
    >>> table.n_levels, table.twins
    (array([0, 4, 0], dtype=int32), array([ 2, -1, -1], dtype=int32))
    """
    is_missing = np.isnan(values)
    has_missing = is_missing.any(axis=0)
    doubled = np.flatnonzero(has_missing & (n_levels == 0))
    completed = np.concatenate([values, values[:, doubled]], axis=1)
    for column in np.flatnonzero(has_missing):
        completed[is_missing[:, column], column] = n_levels[column] if n_levels[column] else -np.inf
    for twin, column in enumerate(doubled, values.shape[1]):
        completed[is_missing[:, column], twin] = np.inf
    return with_twins(completed, n_levels, has_missing)


def with_twins(values: Any, n_levels: np.ndarray, has_missing: np.ndarray) -> CompleteTable:
    """Return the table of these values, which were completed: the twins of numeric columns come last."""
    is_nominal = n_levels > 0
    doubled = np.flatnonzero(has_missing & ~is_nominal)
    twins = np.full(len(n_levels) + len(doubled), NO_TWIN, np.int32)
    twins[doubled] = len(n_levels) + np.arange(len(doubled))
    no_twins = np.zeros(len(doubled), np.int32)
    return CompleteTable(
        values=values,
        n_levels=np.concatenate([n_levels + (has_missing & is_nominal), no_twins]).astype(np.int32),
        twins=twins,
        missing_level=np.concatenate([np.where(has_missing & is_nominal, n_levels, -1), no_twins - 1]).astype(np.int32),
    )
