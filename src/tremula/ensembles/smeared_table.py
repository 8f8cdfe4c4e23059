"""Writes noisy values into a table that other estimators read: an array of any type, or a frame of any library.

A column without noise keeps its values and its type; numbers with noise become floats.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from tremula.data.take import take_rows
from tremula.perturb.sample import Values


def _sources(rows: np.ndarray, codes: np.ndarray, smeared: np.ndarray) -> np.ndarray:
    """Return for each row taken a row that has its new level: the first with it, or the row itself if none has it."""
    sources = rows.copy()
    levels, first = np.unique(codes, return_index=True)
    changed = np.flatnonzero((smeared != codes[rows]) & np.isin(smeared, levels[~np.isnan(levels)]))
    sources[changed] = first[np.searchsorted(levels, smeared[changed])]
    return sources


def replace_values(table: Any, rows: np.ndarray, known: Values, smeared: np.ndarray) -> Any:
    """Return some rows of a table with new values; dates, and levels that no row has, stay as they are.

    Parameters
    ----------
    table : array or data frame
    rows : int array (n_taken,)
        Numbers of the rows to take.
    known : Values
        The whole table as numbers and codes of levels.
    smeared : array (n_taken, n_attributes)
        The new values; codes of levels in nominal columns.

    Returns
    -------
    array or data frame
        A table of the same type as `table`.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.perturb.sample import Values
    >>> table = np.array([[1, "red"], [2, "blue"]], dtype=object)
    >>> known = Values(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([0, 2]))
    >>> replace_values(table, np.array([1, 1]), known, np.array([[2.5, 0.0], [1.5, 1.0]]))
    array([[2.5, 'blue'],
           [1.5, 'red']], dtype=object)
    """
    part = nw.from_native(take_rows(table, rows), eager_only=True, pass_through=True)
    is_frame = isinstance(part, nw.DataFrame)
    if not is_frame and part.dtype.kind == "M":
        return part
    if not is_frame and part.dtype != object and not known.n_levels.any():
        return smeared
    whole = nw.from_native(table, eager_only=True, pass_through=True)
    before = known.values[rows]
    for column, n_levels in enumerate(known.n_levels):
        new, old = smeared[:, column], before[:, column]
        if ((new == old) | np.isnan(old)).all() or (is_frame and part[:, column].dtype.is_temporal()):
            continue
        if n_levels:
            sources = _sources(rows, known.values[:, column], new)
            values = whole[:, column][sources.tolist()] if is_frame else whole[sources, column]
        else:
            values = new
        part = _with_column(part, column, values) if is_frame else _with_values(part, column, values)
    return part.to_native() if is_frame else part


def _with_column(part: nw.DataFrame[Any], column: int, values: Any) -> nw.DataFrame[Any]:
    name = part.columns[column]
    if isinstance(values, np.ndarray):
        values = nw.new_series(name, values, nw.Float64, backend=part.implementation)
        index = nw.maybe_get_index(part)
        values = values if index is None else nw.maybe_set_index(values, index=index)
    return part.with_columns(values.alias(name))


def _with_values(part: np.ndarray, column: int, values: np.ndarray) -> np.ndarray:
    if part.dtype.kind in "iub" and values.dtype.kind == "f":
        part = part.astype(np.float64)
    part[:, column] = values
    return part
