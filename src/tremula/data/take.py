"""Takes rows or columns of a table without changing its type: an array, a sparse matrix or a frame of any library."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Return the rows with the given numbers, in that order; numbers may repeat.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows([[1, 2], [3, 4], [5, 6]], np.array([2, 0]))
    array([[5, 6],
           [1, 2]])
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
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
    return int(table.shape[0]) if hasattr(table, "shape") else len(np.asarray(table))


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
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, columns.tolist()].to_native()
    return table.tocsc()[:, columns] if hasattr(table, "tocsc") else np.asarray(table)[:, columns]
