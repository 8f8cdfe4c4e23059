"""Numeric columns of two values as bits of a word for each row, for the kernel that grows trees from codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Columns whose bits are kept: the first ones, as a word has no room for more.
MAX_BITS = 64
# Reading the words of a node's rows pays if at least this share of the attributes has two values.
LEAST_SHARE = 0.25
# Rows that tell most columns of more values.
ROWS_LOOKED_AT = 256


class TwoValues(NamedTuple):
    """A word for each row, in which the bit of a column says that its value is the larger one; the bits in use."""

    bits: np.ndarray
    columns: int


def bits_of_columns(table: np.ndarray, least: np.ndarray, chosen: np.ndarray, n_attributes: int) -> TwoValues | None:
    """Return the bits of the chosen columns, which have two values; None if there are too few such columns.

    Parameters
    ----------
    table : array (n_rows, n_columns)
        Values or codes.
    least : array (n_columns,)
        The smaller value of the chosen columns.
    chosen : int array
    n_attributes : int
        Columns that trees look at.

    Examples
    --------
    >>> table = np.array([[0, 7, 1], [1, 3, 1], [1, 9, 2]], np.uint8)
    >>> bits_of_columns(table, np.array([0, 3, 1]), np.array([0, 2]), n_attributes=3)
    TwoValues(bits=array([0, 1, 5], dtype=uint64), columns=5)
    """
    chosen = chosen[chosen < MAX_BITS]
    if not len(chosen) or len(chosen) < LEAST_SHARE * n_attributes:
        return None
    bits = np.zeros(len(table), np.uint64)
    for column in chosen:
        bits |= (table[:, column] != least[column]).astype(np.uint64) << np.uint64(column)
    return TwoValues(bits, sum(1 << int(column) for column in chosen))


def ranges_of_two(values: np.ndarray) -> np.ndarray:
    """Return the smaller and the larger value of columns, of the first MAX_BITS, that have two; 0 and 0 of others.

    Examples
    --------
    >>> ranges_of_two(np.array([[5.0, 1.0, 1.0], [3.0, 1.0, 2.0], [5.0, 1.0, 3.0]]))
    array([[3., 5.],
           [0., 0.],
           [0., 0.]])
    """
    ranges = np.zeros((values.shape[1], 2))
    for column in range(min(values.shape[1], MAX_BITS)):
        least, largest = _ends(values[:ROWS_LOOKED_AT, column])
        if least <= largest:
            least, largest = _ends(values[:, column])
            if least < largest:
                ranges[column] = least, largest
    return ranges


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest value, in the wrong order if there are others."""
    least, largest = float(values.min()), float(values.max())
    return (least, largest) if bool(((values == least) | (values == largest)).all()) else (np.inf, -np.inf)
