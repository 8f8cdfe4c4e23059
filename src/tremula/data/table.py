"""Reads a table into columns: a NumPy array, a list of rows, a pandas or polars frame, or a pyarrow table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from tremula.data.column import (
    NUMERIC_KINDS,
    PLAIN_CONTAINERS,
    Array,
    Column,
    Floats,
    Numbers,
    first_infinity,
    is_numeric_array,
    read_series,
    read_vector,
    refuse_infinity,
    refuse_masked,
    show,
)
from tremula.data.names import column_label
from tremula.errors import ColumnMismatch, InvalidInput, UnsupportedType


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, and the matrix they are views of where the table is one numeric array."""

    columns: Sequence[Column]
    matrix: Floats | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table of at least one row and one column, whose values are not read yet.

    Attributes
    ----------
    source : array or narwhals frame
        The table.
    names : tuple of str or None
        Column names; None for an array, and for a frame that numbers its columns.
    """

    source: Array | nw.DataFrame[Any]
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, X: Any) -> "Table":
        """Recognize a table of any supported kind."""
        frame = _as_frame(X)
        return cls(_as_array(X), None) if frame is None else cls(frame, _column_names(frame))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.source.shape[1])

    @property
    def has_types(self) -> bool:
        """Whether every column has a type of its own, as in a frame."""
        return isinstance(self.source, nw.DataFrame)

    @property
    def native(self) -> Any:
        """The table as an array, or as a frame of its own library."""
        return self.source.to_native() if isinstance(self.source, nw.DataFrame) else self.source

    def read(self, *, in_fit: bool, names: Sequence[str] | None = None) -> Columns:
        """Read the values.

        Parameters
        ----------
        in_fit : bool
            Whether the levels that a category type lists are needed.
        names : sequence of str, optional
            Names for error messages where the table has none.
        """
        labels = [column_label(self.names or names, number) for number in range(self.n_columns)]
        if isinstance(self.source, nw.DataFrame):
            series = map(self.source.get_column, self.source.columns)
            return Columns([read_series(label, column, in_fit=in_fit) for label, column in zip(labels, series)])
        if self.source.dtype.kind not in NUMERIC_KINDS:
            return Columns(list(map(read_vector, labels, self.source.T)))
        matrix = as_floats(self.source)
        place = first_infinity(matrix)
        if place is not None:
            refuse_infinity(labels[place[1]], place[0])
        return Columns(list(map(Numbers, labels, matrix.T)), matrix)


def as_floats(array: Array) -> Floats:
    """Return a numeric array as contiguous float64, without a copy if it already is."""
    floats = array.astype(np.float64, copy=False)
    return floats if floats.flags.forc and floats.flags.aligned else floats.copy(order="C")


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a frame wrapped by narwhals, or None if X is not a frame."""
    if isinstance(X, PLAIN_CONTAINERS):
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ColumnMismatch(f"X has several columns of the same name: rename them ({error})") from error
    if isinstance(frame, nw.LazyFrame):
        raise UnsupportedType(f"X is a lazy table ({type(X).__name__}): collect its rows into a frame first")
    if not isinstance(frame, nw.DataFrame):
        return None
    if 0 in frame.shape:
        raise InvalidInput(f"X has {frame.shape[0]} rows and {frame.shape[1]} columns: give at least one of each")
    return frame


def _column_names(frame: nw.DataFrame[Any]) -> tuple[str, ...] | None:
    """Return the names of a frame's columns, or None where no column is named by a string, as scikit-learn does."""
    kinds = set(map(type, frame.columns))
    if len(kinds) > 1 and str in kinds:
        raise UnsupportedType(
            f"X has columns named by strings and by other values ({show(frame.columns)}): give every column a string "
            "as its name, such as by X.columns = X.columns.astype(str) in pandas"
        )
    return tuple(frame.columns) if kinds == {str} else None


SPARSE_REFUSED = (
    "Sparse data was passed for X, but dense data is required here: give X.toarray(). CART trees, and random forests, "
    "extra trees, bagging and other ensembles of CART trees, take sparse tables in fit and predict, with the criteria "
    "gini, entropy and variance and without monotonic_cst"
)


def _as_array(X: Any) -> Array:
    """Return a 2-D array of at least one row and column; scikit-learn's check refuses anything else."""
    if issparse(X):
        raise UnsupportedType(SPARSE_REFUSED)
    if is_numeric_array(X, 2):
        return np.asarray(X)
    refuse_masked("X", X)
    try:
        # In a list of numbers and strings NumPy would turn the numbers into strings.
        if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
            X = np.asarray(X, dtype=object)
        return np.asarray(check_array(X, dtype=None, ensure_all_finite=False, input_name="X"))
    except TypeError as error:
        raise UnsupportedType(str(error)) from error
    except ValueError as error:
        raise InvalidInput(str(error)) from error
