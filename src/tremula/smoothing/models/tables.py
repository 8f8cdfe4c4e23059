"""Turns rows of numbers and codes of levels back into tables that a model takes."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from tremula.data.encoding import ColumnEncoder

Floats = NDArray[np.float64]


def n_rows_of_table(table: Any) -> int:
    """Return the number of rows of an array, a list or a frame.

    Examples
    --------
    >>> n_rows_of_table([[1, 2], [3, 4]])
    2
    """
    return int(table.shape[0]) if hasattr(table, "shape") else len(np.asarray(table))


def table_like(like: Any, encoder: ColumnEncoder, rows: Floats) -> Any:
    """Turn rows of numbers and codes into a table like the given one: a frame with the same columns, or an array.

    Parameters
    ----------
    like : table or None
        Without one, a model that was trained on a frame with nominal columns gets a frame, any other an array.
    encoder : ColumnEncoder
    rows : float64 array

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0], "color": ["red", "blue"]})
    >>> encoder, _ = ColumnEncoder.learn(frame)
    >>> table_like(frame, encoder, np.array([[1.5, 1.0]]))
       size color
    0   1.5   red
    >>> table_like([[0.0]], ColumnEncoder(None, (np.array([10, 20]),)), np.array([[1.0], [np.nan]]))
    array([[20.],
           [nan]])
    """
    frame = nw.from_native(like, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return _frame_like(frame, encoder, rows)
    if encoder.numeric_width > 0:
        return rows
    if like is None and encoder.names is not None:
        return _frame_of(encoder, rows)
    return _array_of(encoder, rows)


def _labels(levels: NDArray[Any], codes: Floats) -> list[Any]:
    return [None if np.isnan(code) else levels[int(code)] for code in codes]


def _frame_like(frame: Any, encoder: ColumnEncoder, rows: Floats) -> Any:
    columns = []
    for column, levels, values in zip(frame.iter_columns(), encoder.levels, rows.T):
        name = column.name  # of any type in pandas: frame[name] would be a row if it is a number
        if levels is None:
            columns.append(nw.new_series(name, values, backend=frame.implementation))
            continue
        labels, kind = _labels(levels, values), column.dtype
        if kind in (nw.Categorical, nw.Enum) and frame.implementation.is_pandas_like():
            native = column.to_native()  # its categories, which labels may not all have, and their type are kept
            columns.append(nw.from_native(type(native)(labels, dtype=native.dtype, name=name), series_only=True))
            continue
        if kind.is_integer():  # which has no place for a missing value
            kind = nw.Float64()
        columns.append(nw.new_series(name, labels, kind, backend=frame.implementation))
    first, *others = columns
    return first.to_frame().with_columns(*others).to_native()


def _frame_of(encoder: ColumnEncoder, rows: Floats) -> Any:
    import pandas as pd

    columns = {}
    for name, levels, values in zip(encoder.names or (), encoder.levels, rows.T):
        known = np.where(np.isnan(values), -1, values)
        columns[name] = values if levels is None else pd.Categorical.from_codes(known.astype(int), pd.Index(levels))
    return pd.DataFrame(columns)


def _array_of(encoder: ColumnEncoder, rows: Floats) -> NDArray[Any]:
    """Return an array with the labels of levels: of numbers if all are such."""
    columns: list[Any] = []
    for levels, values in zip(encoder.levels, rows.T):
        columns.append(values if levels is None else np.array(_labels(levels, values), dtype=object))
    is_numeric = all(levels is None or levels.dtype.kind in "biuf" for levels in encoder.levels)
    table = np.empty(rows.shape, dtype=object)
    for number, column in enumerate(columns):
        table[:, number] = column
    return table.astype(np.float64) if is_numeric else table
