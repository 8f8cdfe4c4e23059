"""Rows in the form that a model was trained on: columns by name and kind.

Rows that lack a column, or have one of another kind, are refused; a level that training did not have counts as
missing, and a note says so.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tremula.data.column import Labels, read_series, read_vector, show
from tremula.data.table_schema import TableSchema
from tremula.errors import ColumnMismatch, did_you_mean
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.dataset import Dataset

EXPECTED = {"number": "numbers", "date": "dates such as 2024-05-31"}


def schema_of(dataset: Dataset, target: str = "target", kinds: Sequence[str] | None = None) -> TableSchema:
    """Return the schema of a dataset."""
    n_attributes = dataset.X.shape[1]
    nominal = set(dataset.nominal)
    levels = [
        tuple(map(str, dataset.level_names(place))) if place in nominal else None for place in range(n_attributes)
    ]
    chosen = kinds or ["nominal" if place in nominal else "number" for place in range(n_attributes)]
    return TableSchema(dataset.attribute_names, tuple(chosen), tuple(levels), target, dataset.task, dataset.source)


# --- columns ---


def columns_of(dataset: Dataset) -> dict[str, Column]:
    """Return the attributes of a dataset as columns."""
    names = dataset.attribute_names
    columns = {name: Column("number", dataset.X[:, place]) for place, name in enumerate(names)}
    for place in dataset.nominal:
        codes = np.nan_to_num(dataset.X[:, place], nan=-1).astype(np.int32)
        levels = np.array([str(level) for level in dataset.level_names(place)], dtype=object)
        columns[names[place]] = Column("nominal", codes, levels)
    return columns


def _columns_of_table(X: Any, schema: TableSchema) -> dict[str, Column]:
    """Return the columns of a frame, or of an array whose columns are those of the schema."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        check_names(frame.columns, schema, "X")
        columns = {name: read_series(f"column {name!r}", frame.get_column(name), in_fit=False) for name in schema.names}
    else:
        columns = {name: read_vector(f"column {name!r}", values) for name, values in zip(schema.names, np.asarray(X).T)}
    return {name: _as_column(column) for name, column in columns.items()}


def _as_column(column: Any) -> Column:
    if isinstance(column, Labels):
        return Column("nominal", column.codes, np.array([str(value) for value in column.distinct], dtype=object))
    if column.nominal_by_type:
        codes = np.nan_to_num(column.numbers, nan=-1).astype(np.int32)
        return Column("nominal", codes, np.array(["False", "True"], dtype=object))
    return Column("number", column.numbers)


def _encode(column: Column, levels: Sequence[str]) -> tuple[NDArray[np.float64], list[str]]:
    """Return codes among `levels`, NaN where missing or unknown, and the unknown levels."""
    code_of = {level: float(code) for code, level in enumerate(levels)}
    given, codes = column.as_levels()
    recoded = np.array([*(code_of.get(level, np.nan) for level in given), np.nan])
    present = set(np.unique(codes).tolist())
    return recoded[codes], sorted(level for code, level in enumerate(given) if code in present and level not in code_of)


def _as_numbers(column: Column, kind: str, form: str = "") -> NDArray[np.float64]:
    """Return numbers or days, NaN where missing; a ValueError names the first row that holds something else."""
    if column.kind == kind:
        return column.values
    given, codes = column.as_levels()
    numbers = [_number_or_none(level, kind if column.kind == "nominal" else "", form) for level in given]
    is_wrong = np.array([number is None for number in numbers] + [False])[codes]
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ValueError(f"{given[codes[row]]!r} in row {row + 1}")
    return np.asarray(np.array([*numbers, np.nan], dtype=np.float64)[codes])


def _number_or_none(level: str, kind: str, form: str) -> float | None:
    try:
        if kind == "number":
            return float(level)
        if kind == "date":
            date = datetime.strptime(level, form) if form else datetime.fromisoformat(level)
            return (date - datetime(1970, 1, 1)).total_seconds() / 86400.0
    except (ValueError, TypeError):
        pass
    return None


# --- a whole table ---


def conform(columns: Mapping[str, Column], schema: TableSchema, source: str) -> tuple[Dataset, list[str]]:
    """Return rows in the form that a model was trained on, without a target, and notes.

    Parameters
    ----------
    columns : mapping of str to Column
        The columns given; more than the model needs is fine.
    schema : TableSchema
    source : str
        Where they come from, for messages.

    Returns
    -------
    dataset : Dataset
        Its target is empty.
    notes : list of str
    """
    check_names(list(columns), schema, source)
    n_rows = len(next(iter(columns.values())))
    X, notes = np.empty((n_rows, len(schema.names))), []
    for place, (name, kind, levels) in enumerate(zip(schema.names, schema.kinds, schema.levels)):
        if levels is not None:
            X[:, place], unknown = _encode(columns[name], levels)
            if unknown:
                notes.append(
                    f"Column {name!r} has levels that training did not have ({show(unknown)}): they count as missing."
                )
            continue
        try:
            base, _, form = kind.partition(" ")
            X[:, place] = _as_numbers(columns[name], base, form)
        except ValueError as error:
            raise ColumnMismatch(
                f"column {name!r} of {source} has {error}, but the model was trained on {EXPECTED[base]}: correct "
                "it, or leave it empty if it is not known"
            ) from error
        if np.isinf(X[:, place]).any():
            row = int(np.argmax(np.isinf(X[:, place]))) + 1
            raise ColumnMismatch(f"column {name!r} of {source} is infinite in row {row}: give a finite number, or none")
    nominal = tuple(place for place, levels in enumerate(schema.levels) if levels is not None)
    known = tuple(None if levels is None else np.array(levels, dtype=object) for levels in schema.levels)
    rows = Dataset(source, source, X, np.empty(0), nominal, schema.task, schema.names, known if nominal else ())
    return rows, notes


def check_names(names: Sequence[str], schema: TableSchema, source: str) -> None:
    """Refuse columns among which those that the model needs are not all present."""
    missing = [name for name in schema.names if name not in names]
    if not missing:
        return
    spare = [name for name in names if name not in schema.names]
    hint = did_you_mean(missing[0], spare) or (": add it" if len(missing) == 1 else ": add them")
    lacking = f"column {missing[0]!r}" if len(missing) == 1 else f"columns {show(missing)}"
    raise ColumnMismatch(f"{source} lacks {lacking}, which the model was trained on{hint}")


def table_of(dataset: Dataset, with_names: bool = True) -> Any:
    """Return the attributes as a pandas frame or, without names or without pandas, as an array of numbers and text."""
    if with_names:
        try:
            return dataset.frame()
        except ImportError:
            pass
    if not dataset.nominal:
        return dataset.X
    table = dataset.X.astype(object)
    for place in dataset.nominal:
        codes = np.nan_to_num(dataset.X[:, place], nan=-1).astype(int)
        table[:, place] = np.array([*dataset.level_names(place), None], dtype=object)[codes]
    return table


class ReadColumns(TransformerMixin, BaseEstimator):
    """Turns a frame, or an array of numbers and text, into the numbers and codes that a model was trained on.

    Parameters
    ----------
    schema : TableSchema
        What it was trained on.
    """

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing: the schema is known."""
        self.n_features_in_ = len(self.schema.names)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return numbers, codes of levels, and NaN where missing or unknown."""
        check_is_fitted(self)
        return conform(_columns_of_table(X, self.schema), self.schema, "X")[0].X
