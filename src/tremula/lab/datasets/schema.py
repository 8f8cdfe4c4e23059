"""What a model was trained on: its columns by name and kind, so that other rows can be given in the same form.

A model carries it as the attribute `table_`, through files too. Columns that are wanting or of another kind are
refused; a level that was not there in training counts as missing, and that is said.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tremula.data.column import show
from tremula.data.table_schema import TableSchema
from tremula.errors import ColumnMismatch, did_you_mean
from tremula.lab.datasets.dataset import Dataset

EPOCH = datetime(1970, 1, 1)
SECONDS_A_DAY = 86400.0


def schema_of(dataset: Dataset, target: str = "target", kinds: Sequence[str] | None = None) -> TableSchema:
    """Return what a dataset's columns are."""
    n_attributes = dataset.X.shape[1]
    names = dataset.attribute_names
    nominal = set(dataset.nominal)
    found = kinds or ["nominal" if place in nominal else "number" for place in range(n_attributes)]
    levels = [
        tuple(map(str, dataset.level_names(place))) if place in nominal else None for place in range(n_attributes)
    ]
    return TableSchema(tuple(names), tuple(found), tuple(levels), target, dataset.task, dataset.source)


# --- one column ---


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or NaT."""
    return value is None or bool(value != value)


def _as_number(value: Any) -> float:
    if isinstance(value, bool | date):
        raise ValueError(value)
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _as_day(value: Any) -> float:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        if not isinstance(value, date):
            raise ValueError(value)
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float((value - EPOCH).total_seconds() / SECONDS_A_DAY)


READ_VALUE: dict[str, Callable[[Any], float]] = {"number": _as_number, "date": _as_day}
EXPECTED = {"number": "numbers", "date": "dates such as 2024-05-31"}


def read_numbers(kind: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """Return numbers or dates as floats, NaN where missing; a ValueError names the row of one that is neither."""
    read = READ_VALUE[kind]
    found = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            found[row] = np.nan if is_missing(value) else read(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{value!r} in row {row + 1}") from error
    return found


def read_codes(values: Sequence[Any], levels: Sequence[str]) -> tuple[NDArray[np.float64], list[str]]:
    """Return codes of levels, NaN where missing or unknown, and the unknown levels."""
    codes = {level: float(code) for code, level in enumerate(levels)}
    words = [None if is_missing(value) else str(value) for value in values]
    unknown = sorted({word for word in words if word is not None and word not in codes})
    return np.array([np.nan if word is None else codes.get(word, np.nan) for word in words]), unknown


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int | float | Decimal | np.integer | np.floating) and not isinstance(value, bool)


# --- a whole table ---


def conform(columns: Mapping[str, Sequence[Any]], schema: TableSchema, source: str) -> tuple[Dataset, list[str]]:
    """Return rows in the form that a model was trained on, without a target, and notes.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns given; more than wanted is fine.
    schema : TableSchema
    source : str
        Where they come from, for messages.

    Returns
    -------
    dataset : Dataset
        Its target is empty.
    notes : list of str
    """
    _check_names(columns, schema, source)
    n_rows = len(next(iter(columns.values())))
    X, notes = np.empty((n_rows, len(schema.names))), []
    for place, (name, kind, levels) in enumerate(zip(schema.names, schema.kinds, schema.levels)):
        if levels is not None:
            X[:, place], unknown = read_codes(columns[name], levels)
            if unknown:
                notes.append(
                    f"Column {name!r} has levels that training did not have ({show(unknown)}): they count as missing."
                )
            continue
        try:
            X[:, place] = read_numbers(kind, columns[name])
        except ValueError as error:
            raise ColumnMismatch(
                f"column {name!r} of {source} has {error}, but the model was trained on {EXPECTED[kind]}: correct "
                "it, or leave it empty if it is not known"
            ) from error
        if np.isinf(X[:, place]).any():
            row = int(np.argmax(np.isinf(X[:, place]))) + 1
            raise ColumnMismatch(f"column {name!r} of {source} is infinite in row {row}: give a finite number, or none")
    nominal = tuple(place for place, levels in enumerate(schema.levels) if levels is not None)
    known = tuple(None if levels is None else np.array(levels, dtype=object) for levels in schema.levels)
    rows = Dataset(source, source, X, np.empty(0), nominal, schema.task, schema.names, known if nominal else ())
    return rows, notes


def _check_names(columns: Mapping[str, Sequence[Any]], schema: TableSchema, source: str) -> None:
    missing = [name for name in schema.names if name not in columns]
    if not missing:
        return
    spare = [name for name in columns if name not in schema.names]
    hint = did_you_mean(missing[0], spare) or f": the model was trained on {show(schema.names)}"
    what = f"column {missing[0]!r}" if len(missing) == 1 else f"columns {show(missing)}"
    raise ColumnMismatch(f"{source} has no {what}, which the model needs{hint}")


def table_of(dataset: Dataset, with_names: bool = True) -> Any:
    """Return the attributes as a pandas frame or, without names or without pandas, as an array of numbers and words."""
    if with_names:
        try:
            return dataset.frame()
        except ImportError:
            pass
    if not dataset.nominal:
        return dataset.X
    table = dataset.X.astype(object)
    for place in dataset.nominal:
        names = dataset.level_names(place)
        codes = dataset.X[:, place]
        table[:, place] = [None if np.isnan(code) else names[int(code)] for code in codes]
    return table


class ReadColumns(TransformerMixin, BaseEstimator):
    """Turns a frame, or an array of numbers and words, into the numbers and codes that a model was trained on.

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
        return conform(_columns_of(X, self.schema), self.schema, "X")[0].X


def _columns_of(X: Any, schema: TableSchema) -> Mapping[str, Sequence[Any]]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {name: frame.get_column(name).to_list() for name in frame.columns}
    return dict(zip(schema.names, np.asarray(X).T.tolist()))
