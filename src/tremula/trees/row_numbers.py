"""Numeric columns that number the rows: a different whole number in each, in a range not much longer than the table."""

from __future__ import annotations

import numpy as np

LEAST_ROWS = 50
# The largest range of the numbers, in rows: a tenth of the rows of a numbered table still number it.
LONGEST_RANGE = 10


def numbering_columns(values: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
    """Return the numeric columns that number the rows.

    Examples
    --------
    >>> values = np.column_stack([np.arange(60.0)[::-1], np.arange(60.0) / 2, np.arange(60.0) % 30])
    >>> numbering_columns(values, np.zeros(3, np.int32))
    array([0])
    """
    if len(values) < LEAST_ROWS:
        return np.empty(0, np.int64)
    candidates = np.flatnonzero(may_number_rows(values[:LEAST_ROWS]) & (n_levels == 0))
    return np.array([column for column in candidates if numbers_rows(values[:, column])], np.int64)


def may_number_rows(head: np.ndarray) -> np.ndarray:
    """Return whether the first rows of each column have different whole numbers; in most columns they have not."""
    head = np.sort(head, axis=0)
    return np.asarray((head == np.floor(head)).all(axis=0) & (head[1:] > head[:-1]).all(axis=0))


def numbers_rows(values: np.ndarray) -> bool:
    """Return whether a column numbers the rows."""
    if not np.isfinite(values).all() or values.max() - values.min() >= LONGEST_RANGE * len(values):
        return False
    return not (values != np.floor(values)).any() and len(np.unique(values)) == len(values)
