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
    head = np.sort(values[:LEAST_ROWS], axis=0)  # tells nearly all others apart
    is_whole = (head == np.floor(head)).all(axis=0) & (head[1:] > head[:-1]).all(axis=0)
    candidates = np.flatnonzero(is_whole & (n_levels == 0))
    return np.array([column for column in candidates if _numbers_rows(values[:, column])], np.int64)


def _numbers_rows(values: np.ndarray) -> bool:
    if not np.isfinite(values).all() or values.max() - values.min() >= LONGEST_RANGE * len(values):
        return False
    return not (values != np.floor(values)).any() and len(np.unique(values)) == len(values)
