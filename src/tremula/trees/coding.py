"""Tables held as codes by row, for trees that look at few attributes of a node, and the kernel that grows from them.

The code of a value is its place among the distinct values of its column; a nominal value is its own code. One row is a
few bytes side by side, so that all attributes that a node draws are read together; a table of long rows is held by
column. The trees are those that sorted lists give, ties included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tremula._kernels import grow_coded
from tremula._kernels.sort import sort_columns
from tremula._kernels.words import ROW_BITS, WIDE_ROW_BITS
from tremula.trees.two_values import TwoValues

# Cells sorted at a time, which take 8 bytes each.
CELLS_SORTED = 1 << 22
# Bytes of a row from which codes are held by column: no cache line would serve two of the attributes that a node draws.
LONG_ROW = 2048
# Codes of a column that a byte tells apart.
BYTE_CODES = 256
# Fixed-point targets have so many bits.
TARGET_BITS = 30


@dataclass(frozen=True)
class CodedColumns:
    """Codes of every value.

    Attributes
    ----------
    codes : uint8, uint16 or uint32 array (n_rows, n_attributes)
        By row; by column where rows are long.
    n_codes : int32 array (n_attributes,)
        Number of codes of each column; for a nominal one, of its levels.
    first : int64 array (n_attributes,)
        Where the codes of each column begin in `low` and `high`.
    low, high : float64 arrays or None
        Least and largest value of each code. None if each value has its own code.
    """

    codes: np.ndarray
    n_codes: np.ndarray
    first: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None

    def distinct_values(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each code, if each value has its own; for levels that no row has, NaN."""
        distinct = np.full(int(self.n_codes.sum(dtype=np.int64)), np.nan)
        for column, first in enumerate(self.first):
            distinct[first + self.codes[:, column].astype(np.int64)] = values[:, column]
        return distinct

    def with_columns(self, columns: list[int], part: CodedColumns) -> CodedColumns:
        """Return these codes with those of other values in some columns.

        Examples
        --------
        >>> import numpy as np
        >>> coded = code_columns(np.array([[2.5, 1.0], [0.5, 0.0]]), np.zeros(2, np.int32))
        >>> coded.with_columns([1], code_columns(np.array([[0.0], [3.0]]), np.zeros(1, np.int32))).codes
        array([[1, 0],
               [0, 1]], dtype=uint8)
        """
        kind = max(self.codes.dtype, part.codes.dtype, key=lambda dtype: dtype.itemsize)
        codes = self.codes.astype(kind)
        for place, column in enumerate(columns):  # quicker than all at once
            codes[:, column] = part.codes[:, place]
        n_codes = self.n_codes.copy()
        n_codes[columns] = part.n_codes
        first = np.cumsum(n_codes, dtype=np.int64) - n_codes
        low, high = (
            None if own is None or other is None else with_pieces(own, self.first, columns, other, part.first)
            for own, other in ((self.low, part.low), (self.high, part.high))
        )
        return CodedColumns(codes, n_codes, first, low, high)


def with_pieces(
    own: np.ndarray, first: np.ndarray, columns: list[int], other: np.ndarray, other_first: np.ndarray
) -> np.ndarray:
    """Return the bounds of all columns, those of some of them from elsewhere."""
    pieces = np.split(own, first[1:])
    for column, piece in zip(columns, np.split(other, other_first[1:]), strict=True):
        pieces[column] = piece
    return np.concatenate(pieces)


class KernelCodes(NamedTuple):
    """The columns as the kernel takes them; `attributes` are those in use, without the twins of others.

    `twins` has the twin of each column or -1, and `missing_code` the code of its missing values or -1. `bits` has a bit
    of each row for the attributes, of the first 64, whose bits are set in `two_valued`; see `two_values`.
    """

    codes: np.ndarray
    n_codes: np.ndarray
    n_levels: np.ndarray
    twins: np.ndarray
    missing_code: np.ndarray
    first: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    values: np.ndarray
    attributes: np.ndarray
    bits: np.ndarray | None = None
    two_valued: int = 0

    def with_two_values(self, two_values: TwoValues | None) -> KernelCodes:
        """Return the columns with the bits of those of two values, if there are enough of them."""
        return self if two_values is None else self._replace(bits=two_values.bits, two_valued=two_values.columns)


class KernelMarks(NamedTuple):
    """The rows as the kernel takes them.

    `marks` has the multiplicity of each row and, above its bits, its class. Real `weights` of rows with classes have a
    multiplicity of 1 in their place. Of a numeric target there are `numbers`, and `targets` in fixed point. `terms` is
    the table of f(count) for entropy, in units of `term_unit`.
    """

    marks: np.ndarray
    targets: np.ndarray | None
    numbers: np.ndarray | None
    terms: np.ndarray | None
    term_unit: float
    n_classes: int
    weights: np.ndarray | None = None


def code_columns(values: np.ndarray, n_levels: np.ndarray, max_bins: int | None = None) -> CodedColumns:
    """Code every column.

    Parameters
    ----------
    values : float64 array (n_rows, n_attributes)
        Complete; nominal columns hold codes of levels.
    n_levels : int32 array (n_attributes,)
        0 for a numeric attribute.
    max_bins : int, optional
        Number of codes of a numeric column; neighbouring values share a code where there are more. None gives each
        value its own.

    Examples
    --------
    >>> import numpy as np
    >>> coded = code_columns(np.array([[2.5, 1.0], [0.5, 0.0], [2.5, 2.0]]), np.array([0, 4], np.int32))
    >>> coded.codes
    array([[1, 1],
           [0, 0],
           [1, 2]], dtype=uint8)
    >>> coded.n_codes
    array([2, 4], dtype=int32)
    """
    n_rows, n_columns = values.shape
    widest = max(n_rows, int(n_levels.max(initial=0)))
    codes = np.empty((n_rows, n_columns), np.uint16 if widest <= 1 << 16 else np.uint32)
    row_bits = ROW_BITS if n_rows < 1 << ROW_BITS else WIDE_ROW_BITS
    n_codes = n_levels.astype(np.int32)
    bounds: list[tuple[np.ndarray, np.ndarray]] = []
    step = max(1, CELLS_SORTED // n_rows)
    for start in range(0, n_columns, step):
        part = values[:, start : start + step]
        is_numeric = n_levels[start : start + step] == 0
        lists, lengths = np.empty((np.count_nonzero(is_numeric), n_rows), np.uint64), np.empty(part.shape[1], np.int64)
        sort_columns(part if is_numeric.all() else part[:, is_numeric], 0.0, row_bits, lists, lengths)
        in_order = iter(lists)
        for number in range(part.shape[1]):
            column = start + number
            if n_levels[column]:
                codes[:, column] = part[:, number]
                levels = np.arange(n_levels[column], dtype=np.float64)
                bounds.append((levels, levels))
                continue
            words = next(in_order)
            grow_coded.code_column(words, row_bits, codes[:, column])
            n_codes[column] = (int(words[-1]) >> row_bits) + 1
            if max_bins is not None:
                counts = np.bincount(codes[:, column])
                distinct = np.empty(len(counts))
                distinct[codes[:, column]] = part[:, number]
                bins, least, largest = bins_of_codes(counts, distinct, max_bins)
                codes[:, column] = bins[codes[:, column]]
                n_codes[column] = len(least)
                bounds.append((least, largest))
    kind = np.min_scalar_type(int(n_codes.max()) - 1)
    codes = codes.astype(kind, order="F" if n_columns * kind.itemsize > LONG_ROW else "C", copy=False)
    first = np.cumsum(n_codes, dtype=np.int64) - n_codes
    if max_bins is None:
        return CodedColumns(codes, n_codes, first, None, None)
    low, high = (np.concatenate(side) for side in zip(*bounds, strict=True))
    return CodedColumns(codes, n_codes, first, low, high)


def bins_of_codes(counts: np.ndarray, distinct: np.ndarray, max_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bin of each code of a column, and the least and largest value of each bin.

    Parameters
    ----------
    counts : int array (n_codes,)
        How many rows have each code.
    distinct : float64 array (n_codes,)
        The value of each code.
    max_bins : int

    Examples
    --------
    >>> bins_of_codes(np.array([1, 1, 1]), np.array([0.5, 2.0, 3.0]), 2)
    (array([0, 0, 1]), array([0.5, 3. ]), array([2., 3.]))
    """
    known = np.isfinite(distinct)  # missing values are an extreme, and have a bin of their own
    bins = np.arange(len(counts))
    if np.count_nonzero(known) > max_bins:
        bins[known] = bins_of_ranks(counts[known], max_bins) + (not known[0])
        bins[~known] = 0 if not known[0] else bins[known].max() + 1
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    last = np.append(first[1:], len(counts)) - 1
    return bins, distinct[first], distinct[last]


def bins_of_ranks(counts: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the bin of each distinct value, from the number of rows that have it.

    Bins hold nearly equally many rows. A value with more rows than a bin should have is a bin of its own.

    Examples
    --------
    >>> import numpy as np
    >>> bins_of_ranks(np.array([1, 1, 1, 5, 1, 1]), 3)
    array([0, 0, 0, 1, 2, 2])
    """
    middle = np.cumsum(counts) - (counts + 1) / 2
    raw = (middle * n_bins / counts.sum()).astype(np.int64)
    return np.asarray(np.cumsum(np.diff(raw, prepend=raw[0]) > 0))


def class_marks(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the multiplicity of each row and, above its bits, its class."""
    return np.asarray((codes.astype(np.uint32) << np.uint32(16)) | counts.astype(np.uint32))


def fixed_point(target: np.ndarray) -> np.ndarray:
    """Return a target as whole numbers of at most 30 bits, in units of a power of two.

    Examples
    --------
    >>> import numpy as np
    >>> fixed_point(np.array([0.0, 1.0, -0.25])) / 2**29
    array([ 0.  ,  1.  , -0.25])
    """
    largest = float(np.abs(target).max())
    if largest == 0.0:
        return np.zeros(len(target), np.int32)
    exponent = TARGET_BITS - int(np.frexp(largest)[1])
    return np.asarray(np.rint(np.ldexp(target, exponent)).astype(np.int32))
