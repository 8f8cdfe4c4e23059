"""The columns of a sparse table as trees grow from them: codes of a byte or two a cell, made of cells that are not 0.

Codes and thresholds are those of the same table as an array. Sorted lists, which take 8 bytes a cell, are not made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from tremula.data.sparse_rows import SparseRows
from tremula.trees.coding import CELLS_SORTED, LONG_ROW, CodedColumns, bins_of_codes
from tremula.trees.columns import Columns, SortedLists
from tremula.trees.missing_values import CompleteTable, with_twins
from tremula.trees.row_numbers import LEAST_ROWS, may_number_rows, numbers_rows


@dataclass(frozen=True)
class SparseColumns(Columns):
    """Columns whose `values` are `SparseRows`; all are numeric."""

    values: Any

    is_sparse = True

    @cached_property
    def is_complete(self) -> bool:
        """Whether no value is missing."""
        return not self.values.has_missing

    @cached_property
    def numbering(self) -> np.ndarray:
        """The columns that number the rows: all cells but one at most are not 0."""
        cells = self.values.cells
        full = np.flatnonzero(np.bincount(cells.indices, minlength=self.n_attributes) >= self.n_rows - 1)
        if self.n_rows < LEAST_ROWS or not len(full):
            return np.empty(0, np.int64)
        candidates = full[may_number_rows(cells[:LEAST_ROWS][:, full].toarray())]
        return np.array([number for number in candidates if numbers_rows(self.column(number))], np.int64)

    def column(self, number: int) -> np.ndarray:
        """Return the values of a column."""
        return np.asarray(self.values.cells[:, [number]].toarray().ravel())

    @cached_property
    def _completed(self) -> Columns:
        table = complete_sparse_table(self.values, self.n_levels)
        return replace(self, values=table.values, n_levels=table.n_levels, has_missing_branch=False, table=table)

    @cached_property
    def _sorted(self) -> SortedLists:
        raise NotImplementedError("sparse columns are not sorted: `is_coded` refuses trees that need it")

    @cached_property
    def _coded(self) -> CodedColumns:
        return code_sparse_columns(self.values, self.max_bins)


def read_sparse_columns(rows: SparseRows) -> SparseColumns:
    """Return the columns of a sparse table for trees to grow from.

    Examples
    --------
    >>> read_sparse_columns(SparseRows(csr_array([[0.0, 3.0], [-1.0, 2.0]]))).coded.n_codes
    array([2, 2], dtype=int32)
    """
    return SparseColumns(rows, np.zeros(rows.shape[1], np.int32))


def complete_sparse_table(rows: SparseRows, n_levels: np.ndarray) -> CompleteTable:
    """Return a table whose missing values are extremes; see `missing_values.complete_table`.

    Examples
    --------
    >>> rows = SparseRows(csr_array([[np.nan, 2.0], [1.0, 0.0]]))
    >>> complete_sparse_table(rows, np.zeros(2, np.int32)).values.cells.toarray()
    array([[-inf,   2.,  inf],
           [  1.,   0.,   1.]])
    """
    cells = rows.cells
    is_missing = np.isnan(cells.data)
    has_missing = np.zeros(cells.shape[1], np.bool_)
    has_missing[cells.indices[is_missing]] = True

    def with_extreme(extreme: float) -> csr_array:
        return csr_array((np.where(is_missing, extreme, cells.data), cells.indices, cells.indptr), shape=cells.shape)

    twins_of = with_extreme(np.inf)[:, np.flatnonzero(has_missing)]
    values = hstack([with_extreme(-np.inf), twins_of], format="csr")
    return with_twins(SparseRows(values), n_levels, has_missing)


class CodedCells(NamedTuple):
    """Codes of the cells of some columns.

    `of_cells` has the code of each cell that is not 0, in the order of the columns, and `of_zero` that of 0 in each
    column. The codes of a column begin at `first` in `values` and `counts`: their values, and how many rows have them.
    """

    of_cells: np.ndarray
    of_zero: np.ndarray
    first: np.ndarray
    values: np.ndarray
    counts: np.ndarray


def code_cells(columns: csc_array) -> CodedCells:
    """Code the cells of columns, which has no missing values.

    Examples
    --------
    >>> coded = code_cells(csc_array([[0.0, 3.0], [-1.0, 2.0], [0.0, 3.0]]))
    >>> coded.of_cells, coded.of_zero, coded.values, coded.counts
    (array([0, 1, 0, 1]), array([1, 0]), array([-1.,  0.,  2.,  3.]), array([1, 2, 1, 2]))
    """
    n_rows, n_columns = columns.shape
    n_cells = np.diff(columns.indptr)
    has_zero = np.flatnonzero(n_cells < n_rows)
    # Cells of 0, as many as a column has of them, come after the others.
    column = np.concatenate([np.repeat(np.arange(n_columns), n_cells), has_zero])
    values = np.concatenate([columns.data, np.zeros(len(has_zero))])
    times = np.concatenate([np.ones(len(columns.data), np.int64), n_rows - n_cells[has_zero]])
    order = np.lexsort((values, column))
    in_order, column_in_order = values[order], column[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (in_order[1:] != in_order[:-1]) | (column_in_order[1:] != column_in_order[:-1])
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    first = np.searchsorted(column_in_order[is_new], np.arange(n_columns))
    codes = places - first[column]
    of_zero = np.zeros(n_columns, np.int64)
    of_zero[has_zero] = codes[len(columns.data) :]
    counts = np.bincount(places, times).astype(np.int64)
    return CodedCells(codes[: len(columns.data)], of_zero, first, in_order[is_new], counts)


def in_bins(coded: CodedCells, columns: csc_array, max_bins: int) -> tuple[CodedCells, np.ndarray, np.ndarray]:
    """Return the codes of bins instead of values, and the least and largest value of each bin."""
    of_cells, of_zero = coded.of_cells.copy(), coded.of_zero.copy()
    ends = np.append(coded.first[1:], len(coded.values))
    bounds = []
    for column, (first, end) in enumerate(zip(coded.first, ends)):
        bins, least, largest = bins_of_codes(coded.counts[first:end], coded.values[first:end], max_bins)
        cells = slice(columns.indptr[column], columns.indptr[column + 1])
        of_cells[cells], of_zero[column] = bins[of_cells[cells]], bins[of_zero[column]]
        bounds.append((least, largest))
    low, high = (np.concatenate(side) for side in zip(*bounds, strict=True))
    n_bins = np.array([len(least) for least, _ in bounds])
    return CodedCells(of_cells, of_zero, np.cumsum(n_bins) - n_bins, low, coded.counts), low, high


def code_sparse_columns(rows: SparseRows, max_bins: int | None = None) -> CodedColumns:
    """Code every column, as `code_columns` codes the dense table.

    Examples
    --------
    >>> code_sparse_columns(SparseRows(csr_array([[0.0, 3.0], [-1.0, 2.0]]))).codes
    array([[1, 1],
           [0, 0]], dtype=uint8)
    """
    columns = csc_array(rows.cells)
    n_rows, n_columns = columns.shape
    parts, n_codes, lows, highs = [], [], [], []
    for start, stop in _stretches(columns):
        part = columns[:, start:stop]
        coded = code_cells(part)
        low = high = coded.values
        if max_bins is not None:
            coded, low, high = in_bins(coded, part, max_bins)
        n_codes.append(np.diff(coded.first, append=len(low)))
        # Rows of the cells, and codes in the least room that any table needs.
        parts.append((start, coded.of_cells.astype(np.uint32), coded.of_zero))
        lows.append(low)
        highs.append(high)
    counts = np.concatenate(n_codes).astype(np.int32)
    kind = np.min_scalar_type(int(counts.max()) - 1)
    by_column = n_columns * kind.itemsize > LONG_ROW
    codes = np.empty((n_rows, n_columns), kind, order="F" if by_column else "C")
    for start, of_cells, of_zero in parts:
        stop = start + len(of_zero)
        codes[:, start:stop] = of_zero
        cells = slice(columns.indptr[start], columns.indptr[stop])
        codes[columns.indices[cells], np.repeat(np.arange(start, stop), np.diff(columns.indptr[start : stop + 1]))] = (
            of_cells
        )
    first = np.cumsum(counts, dtype=np.int64) - counts
    return CodedColumns(codes, counts, first, np.concatenate(lows), np.concatenate(highs))


def _stretches(columns: csc_array) -> Iterator[tuple[int, int]]:
    """Cut the columns so that the cells of a stretch can be sorted at a time."""
    start = 0
    while start < columns.shape[1]:
        most = int(columns.indptr[start]) + CELLS_SORTED
        stop = max(start + 1, int(np.searchsorted(columns.indptr, most, "right")) - 1)
        yield start, stop
        start = stop
