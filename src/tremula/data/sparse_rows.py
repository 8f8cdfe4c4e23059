"""Sparse tables as trees read them: the cells that are not 0, by row, made dense a few rows at a time.

A table of so many zeros is never dense as a whole. Its values are those of `X.toarray()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.utils import check_array

from tremula.data.column import NUMERIC_KINDS, refuse_infinity
from tremula.data.names import column_label
from tremula.data.sparse_format import check_sparse_format
from tremula.errors import InvalidInput, UnsupportedType

# Cells that are dense at a time: 4 MB of them.
DENSE_CELLS = 1 << 19


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a sparse table of numbers, of which some may be missing (NaN).

    Attributes
    ----------
    cells : float64 csr_array (n_rows, n_columns)
        No cell is there twice, and none is 0.

    Examples
    --------
    >>> from scipy.sparse import csc_matrix
    >>> rows = SparseRows.of(csc_matrix([[0, 2], [1, 0], [0, 0]]))
    >>> rows.shape, len(rows[1:])
    ((3, 2), 2)
    >>> [block.tolist() for _, block in rows.blocks()]
    [[[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]]
    """

    cells: csr_array

    @classmethod
    def of(cls, X: Any) -> SparseRows:
        """Read a sparse matrix or array of any format; it is not changed."""
        if X.dtype.kind not in NUMERIC_KINDS:
            raise UnsupportedType(f"X is a sparse table of type {X.dtype}: give numbers, such as X.astype(float)")
        check_sparse_format(X)
        try:
            checked = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, input_name="X")
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        check_sparse_format(checked)
        cells = csr_array(checked, copy=True)
        cells.sum_duplicates()
        cells = cells.astype(np.float64, copy=False)
        cells.eliminate_zeros()
        infinite = np.flatnonzero(np.isinf(cells.data))
        if len(infinite):
            row = int(np.searchsorted(cells.indptr, infinite[0], "right")) - 1
            refuse_infinity(column_label(None, int(cells.indices[infinite[0]])), row)
        return cls(cells)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n_rows, n_columns = self.cells.shape
        return int(n_rows), int(n_columns)

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return bool(np.isnan(self.cells.data).any())

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> SparseRows:
        """Return some of the rows: a slice, a mask or their numbers."""
        return SparseRows(self.cells[rows])

    def blocks(self) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
        """Yield which rows come next, and these as a dense array that the next step overwrites."""
        n_rows, n_columns = self.shape
        step = max(1, min(n_rows, DENSE_CELLS // n_columns))
        dense = np.zeros((step, n_columns))
        starts = self.cells.indptr
        for first in range(0, n_rows, step):
            last = min(first + step, n_rows)
            cells = slice(starts[first], starts[last])
            places = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1])), self.cells.indices[cells]
            dense[places] = self.cells.data[cells]
            yield slice(first, last), dense[: last - first]
            dense[places] = 0.0
