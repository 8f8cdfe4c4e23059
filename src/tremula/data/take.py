"""Takes rows or columns of a table without changing its type: an array, a sparse matrix or a frame of any library."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from tremula.errors import ColumnMismatch, InvalidInput


def _as_frame(table: Any) -> Any:
    """Return a frame wrapped by narwhals, and what is no frame as it is."""
    try:
        return nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ColumnMismatch(f"X has several columns of the same name: rename them ({error})") from error


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Return the rows with the given numbers, in that order; numbers may repeat.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows([[1, 2], [3, 4], [5, 6]], np.array([2, 0]))
    array([[5, 6],
           [1, 2]])
    """
    frame = _as_frame(table)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist(), :].to_native()
    return table.tocsr()[rows] if hasattr(table, "tocsr") else np.asarray(table)[rows]


def count_rows(table: Any) -> int:
    """Return the number of rows.

    Examples
    --------
    >>> count_rows([[1, 2], [3, 4], [5, 6]])
    3
    """
    try:
        shape = table.shape if hasattr(table, "shape") else np.asarray(table).shape
    except ValueError as error:
        raise InvalidInput(
            f"X has rows of different lengths: give each row a value of every column ({error})"
        ) from error
    if not shape:
        raise InvalidInput(f"X is of type {type(table).__name__}: give an array or a frame with one row for each case")
    return int(shape[0])


def first_rows(table: Any, most: int) -> Any:
    """Return the first rows, at most so many.

    Examples
    --------
    >>> first_rows([[1, 2], [3, 4], [5, 6]], most=1)
    array([[1, 2]])
    """
    return take_rows(table, np.arange(min(count_rows(table), most)))


def take_columns(table: Any, columns: np.ndarray) -> Any:
    """Return the columns with the given numbers, in that order.

    Examples
    --------
    >>> import numpy as np
    >>> take_columns([[1, 2], [3, 4]], np.array([1]))
    array([[2],
           [4]])
    """
    frame = _as_frame(table)
    if isinstance(frame, nw.DataFrame):
        return frame[:, columns.tolist()].to_native()
    return table.tocsc()[:, columns] if hasattr(table, "tocsc") else np.asarray(table)[:, columns]
