"""The border: tables, targets and row weights as users have them become the float64 arrays the kernels read.

Behind it one matrix holds every attribute value: a number, the code of a nominal level, or NaN where missing; none is
infinite. A C- or F-contiguous float64 array is not copied, so what is returned may be the user's: never write to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any, NoReturn, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d, validate_data

from tremula.errors import (
    ColumnMismatch,
    ConstantTarget,
    InfiniteValue,
    InvalidInput,
    InvalidParameter,
    InvalidTarget,
    InvalidWeights,
    OneClassTarget,
    UnsupportedType,
    did_you_mean,
)

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
CategoricalFeatures: TypeAlias = str | Sequence[int] | Sequence[str] | Sequence[bool] | Array | None

FLOAT64 = np.dtype(np.float64)
NUMERIC_KINDS = "biuf"
MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
TIME_TYPES = ("date", "time", "duration", "period")
PLAIN_TYPES = {str, bool, int, float}
FLOATING_TYPES = (float, np.floating, Decimal)
PLAIN_CONTAINERS = (np.ndarray, list, tuple)
FEW_ROWS = 1_000
BLOCK = 8_192


def _is_numeric_array(data: Any, n_dimensions: int) -> bool:
    """Tell whether scikit-learn's checks, slow beside the growing of a small tree, would find nothing to say."""
    return type(data) is np.ndarray and data.ndim == n_dimensions and data.size > 0 and data.dtype.kind in NUMERIC_KINDS


def _shown(values: Iterable[Any]) -> str:
    items = [repr(value) for value in values]
    return ", ".join(items[:3]) + (", …" if len(items) > 3 else "")


# --- one column, as read ---


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers, NaN where missing."""

    label: str
    numbers: Floats
    nominal_by_type: bool = False

    def to_numbers(self) -> Floats:
        return self.numbers

    def find_levels(self) -> Array:
        return np.array([False, True]) if self.nominal_by_type else np.unique(self.numbers[~np.isnan(self.numbers)])

    def encode(self, levels: Array) -> Floats:
        """Return the code of each number among `levels`, NaN where it is none of them."""
        codes = np.full(len(self.numbers), np.nan)
        if len(levels) == 0 or np.isnan(self.numbers).all():
            return codes
        if levels.dtype.kind not in NUMERIC_KINDS:
            raise UnsupportedType(
                f"{self.label} holds numbers, but in fit its levels were {_shown(levels.tolist())}: give such values"
            )
        order = np.argsort(levels, kind="stable")
        in_order = levels[order].astype(np.float64)
        place = np.searchsorted(in_order, self.numbers).clip(max=len(levels) - 1)
        known = in_order[place] == self.numbers
        codes[known] = order[place[known]]
        return codes


@dataclass(frozen=True)
class _Labels:
    """A column of labels: the distinct ones and, for each row, which of them it holds (-1 = missing)."""

    label: str
    distinct: list[Any]
    codes: npt.NDArray[np.integer[Any]]
    listed: list[Any] | None = None  # levels that the type of the column lists, in its order
    nominal_by_type: bool = True

    def to_numbers(self) -> Floats:
        if not all(isinstance(value, Real) for value in self.distinct):
            raise UnsupportedType(
                f"{self.label} holds {_shown(self.distinct)} where numbers were expected: "
                "turn it into numbers, or name it in categorical_features when fitting"
            )
        return np.array([*self.distinct, np.nan], dtype=np.float64)[self.codes]

    def find_levels(self) -> Array:
        values = sorted(self.distinct) if self.listed is None else self.listed
        kinds = set(map(type, values)) or {str}
        if len(kinds) == 1 and kinds <= PLAIN_TYPES:
            return np.array(values, dtype=kinds.pop())
        return np.fromiter(values, dtype=object, count=len(values))

    def encode(self, levels: Array) -> Floats:
        """Return the code of each label among `levels`, by its value, NaN where it is none of them."""
        numeric = len(levels) > 0 and levels.dtype.kind in NUMERIC_KINDS
        if numeric and any(isinstance(value, str) for value in self.distinct):
            raise UnsupportedType(
                f"{self.label} holds {_shown(self.distinct)}, but in fit its levels were {_shown(levels.tolist())}: "
                "give such values"
            )
        code_of = {level: code for code, level in enumerate(levels.tolist())}
        recoded = [code_of.get(value, np.nan) for value in self.distinct]
        return np.array([*recoded, np.nan], dtype=np.float64)[self.codes]


_Column: TypeAlias = _Numbers | _Labels


def _is_missing(value: Any) -> bool:
    if isinstance(value, FLOATING_TYPES):
        return bool(value != value)
    return type(value).__name__ in MISSING_TYPES


def _is_present(objects: Array) -> npt.NDArray[np.bool_]:
    kinds = set(map(type, objects))
    if not any(kind.__name__ in MISSING_TYPES or issubclass(kind, FLOATING_TYPES) for kind in kinds):
        return np.ones(len(objects), dtype=bool)
    return np.array([not _is_missing(value) for value in objects], dtype=bool)


def _number_labels(labels: list[Any]) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """Return the distinct labels and, for each row, which of them it holds (-1 = missing)."""
    distinct = [label for label in dict.fromkeys(labels) if not _is_missing(label)]
    code_of = {label: code for code, label in enumerate(distinct)}
    return distinct, np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)


def _read_objects(label: str, column: Array) -> _Column:
    """Read a column of Python objects: numbers, booleans or strings throughout, save for missing values."""
    present = _is_present(column)
    kinds = set(map(type, column[present]))
    if all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in kinds):
        numbers = np.full(len(column), np.nan)
        numbers[present] = column[present].astype(np.float64)
        boolean = len(kinds) > 0 and all(issubclass(kind, (bool, np.bool_)) for kind in kinds)
        return _finite(_Numbers(label, numbers, nominal_by_type=boolean))
    if all(issubclass(kind, str) for kind in kinds):
        return _Labels(label, *_number_labels(column.tolist()))
    raise UnsupportedType(
        f"{label} holds values of type {', '.join(sorted(kind.__name__ for kind in kinds))}; every argument must be a "
        "string or a number, and a column all strings or all numbers: convert it, or leave it out"
    )


def _read_vector(label: str, column: Array) -> _Column:
    kind = column.dtype.kind
    if kind in NUMERIC_KINDS:
        return _finite(_Numbers(label, column.astype(np.float64), nominal_by_type=kind == "b"))
    return _read_objects(label, column.astype(object)) if kind in "OUT" else _refuse_type(label, column.dtype)


def _read_series(label: str, series: nw.Series[Any], *, in_fit: bool) -> _Column:
    dtype = series.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        floats = series if isinstance(dtype, nw.Float64) else series.cast(nw.Float64)
        numbers = np.asarray(floats.to_numpy(), dtype=np.float64)
        return _finite(_Numbers(label, numbers, nominal_by_type=isinstance(dtype, nw.Boolean)))
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return _Labels(label, *_factorize(series), _listed_levels(series) if in_fit else None)
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return _read_vector(label, series.to_numpy())
    return _refuse_type(label, dtype)


def _refuse_type(label: str, dtype: Any) -> NoReturn:
    hint = "turn it into numbers or strings, or leave it out"
    if str(dtype).lower().startswith(TIME_TYPES):
        hint = "turn it into numbers, such as the year, the month, or the days since some date"
    raise UnsupportedType(f"{label} is of type {dtype}, neither numeric nor nominal: {hint}")


def _factorize(series: nw.Series[Any]) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """Return what `_number_labels` does, by the fastest way there is for the library and the number of rows."""
    native: Any = series.to_native()
    if series.implementation.is_pandas() and hasattr(native, "cat"):
        return native.cat.categories.tolist(), native.cat.codes.to_numpy()
    if len(series) <= FEW_ROWS:
        return _number_labels(series.to_list())
    if series.implementation.is_pandas():
        codes, distinct = native.factorize()
        return distinct.tolist(), codes
    if series.implementation.is_pyarrow():
        encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    found = series.drop_nulls().unique().to_list()
    numbered = series.replace_strict(found, list(range(len(found))), return_dtype=nw.Int64)
    return found, numbered.fill_null(-1).to_numpy()


def _listed_levels(series: nw.Series[Any]) -> list[Any] | None:
    """Return the levels that a category type lists. polars' Categorical lists none: all frames share one pool."""
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    if series.implementation.is_pandas():
        categories = getattr(series.to_native().dtype, "categories", None)
        return None if categories is None else categories.tolist()
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        return series.cat.get_categories().to_list()
    return None


# --- infinities ---


def _first_infinity(values: Floats) -> tuple[int, int] | None:
    """Return row and column of an infinite value of a contiguous matrix, without a copy where there is none."""
    flat = values if values.flags.c_contiguous else values.T
    # The sum of squares is the cheapest look at some values: finite unless one is missing, infinite or huge.
    if flat.size <= BLOCK and isfinite(np.vdot(flat, flat)):
        return None
    flat = flat.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if not isfinite(np.vdot(block, block)) and np.isinf(block).any():
            row, column = np.argwhere(np.isinf(values))[0].tolist()
            return row, column
    return None


def _refuse_infinity(label: str, row: int) -> NoReturn:
    raise InfiniteValue(
        f"{label} is infinite (inf) in row {row}; finite numbers and missing values (NaN) were expected: replace it"
    )


def _finite(column: _Numbers) -> _Numbers:
    place = _first_infinity(np.ascontiguousarray(column.numbers)[:, np.newaxis])
    return column if place is None else _refuse_infinity(column.label, place[0])


# --- a whole table ---


@dataclass(frozen=True)
class _Table:
    """A table as read: its columns, and the matrix where it is one numeric array."""

    names: tuple[str, ...] | None
    columns: Sequence[_Column]
    has_types: bool = False
    matrix: Floats | None = None


def _read_table(estimator: BaseEstimator, X: Any, *, in_fit: bool) -> _Table:
    """Read a table and set (in fit) or check `n_features_in_` and `feature_names_in_` of the estimator."""
    frame = _as_frame(X)
    if frame is not None:
        names = _check_columns(estimator, X, in_fit=in_fit)
        labels = _labels(names, frame.shape[1])
        series = map(frame.get_column, frame.columns)
        return _Table(names, [_read_series(*pair, in_fit=in_fit) for pair in zip(labels, series)], has_types=True)
    array = _read_array(X)
    names = _check_columns(estimator, array, in_fit=in_fit)
    labels = _labels(names, array.shape[1])
    if array.dtype.kind not in NUMERIC_KINDS:
        return _Table(names, list(map(_read_vector, labels, array.T)))
    matrix = array.astype(np.float64, copy=False)
    if not (matrix.flags.forc and matrix.flags.aligned):
        matrix = matrix.copy(order="C")
    place = _first_infinity(matrix)
    if place is not None:
        _refuse_infinity(labels[place[1]], place[0])
    return _Table(names, list(map(_Numbers, labels, matrix.T)), matrix=matrix)


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a frame of at least one row and column as narwhals sees it, or None where X is no frame."""
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


def _labels(names: Sequence[str] | None, n_columns: int) -> list[str]:
    return [f"column {name!r}" for name in (range(n_columns) if names is None else names)]


def _read_array(X: Any) -> Array:
    """Return a 2-D array of at least one row and column; what is none is refused in scikit-learn's words."""
    if _is_numeric_array(X, 2):
        return X
    try:
        # In a list of numbers and strings NumPy would turn the numbers into strings.
        if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
            X = np.asarray(X, dtype=object)
        return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    except TypeError as error:
        raise UnsupportedType(str(error)) from error
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def _check_columns(estimator: BaseEstimator, X: Any, *, in_fit: bool) -> tuple[str, ...] | None:
    """Let scikit-learn set or check the number and names of the columns; return the names seen in fit."""
    try:
        validate_data(estimator, X, reset=in_fit, skip_check_array=True)
    except TypeError as error:
        raise UnsupportedType(str(error)) from error
    except ValueError as error:
        raise ColumnMismatch(f"{str(error).strip()}\n{_advice_on_columns(estimator, X)}") from error
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def _advice_on_columns(estimator: BaseEstimator, X: Any) -> str:
    expected = list(getattr(estimator, "feature_names_in_", []))
    given = list(getattr(nw.from_native(X, pass_through=True), "columns", []))
    missing = [name for name in expected if name not in given]
    hints = [f"{name!r}{did_you_mean(str(name), missing)}" for name in given if name not in expected]
    return " ".join(["Give the columns of fit in their order.", *[hint for hint in hints if hint.endswith("?")][:5]])


# --- which columns are nominal ---


def _nominal_columns(choice: CategoricalFeatures, table: _Table) -> list[bool]:
    """Return for each column whether `categorical_features` makes it nominal."""
    n_columns = len(table.columns)
    if choice is None:
        return [False] * n_columns
    if isinstance(choice, str) and choice == "from_dtype":
        return [table.has_types and column.nominal_by_type for column in table.columns]
    if isinstance(choice, str) or not np.iterable(choice):
        raise InvalidParameter(
            f"categorical_features={choice!r}: give 'from_dtype', None, or a list of column numbers, names or booleans"
        )
    items = list(choice)
    if not items or not all(isinstance(item, (bool, np.bool_)) for item in items):
        chosen = {_column_number(item, table) for item in items}
        return [index in chosen for index in range(n_columns)]
    if len(items) != n_columns:
        raise InvalidParameter(
            f"categorical_features is a mask of length {len(items)}, but X has {n_columns} columns: "
            "give one boolean for each column"
        )
    return [bool(item) for item in items]


def _column_number(item: Any, table: _Table) -> int:
    if isinstance(item, str) and table.names is not None:
        if item not in table.names:
            hint = did_you_mean(item, table.names)
            raise ColumnMismatch(f"categorical_features: no column {item!r} in X (has {_shown(table.names)}){hint}")
        return table.names.index(item)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < len(table.columns):
        return int(item)
    names = "or names" if table.names is not None else "(X has no column names)"
    raise InvalidParameter(
        f"categorical_features holds {item!r}: give column numbers from 0 to {len(table.columns) - 1} {names}, "
        "or one boolean for each column"
    )


# --- the two ways in for tables ---


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """What fit learned about the columns: their names, and the levels of the nominal ones.

    Attributes
    ----------
    names : tuple of str or None
        Column names, where X had such.
    levels : tuple of ndarray or None
        For each column its levels in the order of their codes, or None where it is numeric.
    """

    names: tuple[str, ...] | None
    levels: tuple[Array | None, ...]

    @cached_property
    def n_levels(self) -> npt.NDArray[np.int32]:
        """For each column the number of its levels; 0 where it is numeric, or nominal and missing in every row."""
        return np.array([0 if levels is None else len(levels) for levels in self.levels], dtype=np.int32)

    @cached_property
    def plain_width(self) -> int:
        """The number of columns where all are numeric and none has a name, else -1."""
        return len(self.levels) if self.names is None and all(levels is None for levels in self.levels) else -1


def _encode(encoder: ColumnEncoder, table: _Table) -> Floats:
    if table.matrix is not None and all(levels is None for levels in encoder.levels):
        return table.matrix
    pairs = zip(table.columns, encoder.levels)
    return np.stack([column.to_numbers() if levels is None else column.encode(levels) for column, levels in pairs]).T


def read_training_columns(
    estimator: BaseEstimator, X: Any, categorical_features: CategoricalFeatures = "from_dtype"
) -> tuple[ColumnEncoder, Floats]:
    """Read the table given to fit: learn its columns and return its values.

    Sets `n_features_in_` and, for a frame, `feature_names_in_` of the estimator.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Whose fit this is.
    X : array, list of rows, pandas or polars frame, or pyarrow table
        The table.
    categorical_features : 'from_dtype', None, list of column numbers or names, or mask
        Which columns are nominal. ``'from_dtype'``: the category, string and boolean columns of a frame, none of an
        array.

    Returns
    -------
    encoder : ColumnEncoder
        Names and levels, for `read_columns`. Category types keep their levels in their order, other levels are sorted.
    values : ndarray of shape (n_rows, n_columns)
        C- or F-contiguous float64: numbers, codes of levels, NaN where missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.base import BaseEstimator
    >>> frame = pd.DataFrame({"size": [1.5, None, 3.0], "color": ["red", "blue", None]})
    >>> encoder, values = read_training_columns(BaseEstimator(), frame)
    >>> values
    array([[1.5, 1. ],
           [nan, 0. ],
           [3. , nan]])
    >>> encoder.n_levels
    array([0, 2], dtype=int32)
    """
    table = _read_table(estimator, X, in_fit=True)
    nominal = _nominal_columns(categorical_features, table)
    levels = [column.find_levels() if chosen else None for column, chosen in zip(table.columns, nominal)]
    encoder = ColumnEncoder(table.names, tuple(levels))
    return encoder, _encode(encoder, table)


def read_columns(estimator: BaseEstimator, encoder: ColumnEncoder, X: Any) -> Floats:
    """Read a table to predict for; a level that fit did not see is missing.

    Checks number and names of the columns against fit. A float64 array for unnamed numeric columns takes about 2 µs.
    """
    # scikit-learn's checks cost more than predicting a row: skip them where none could fail.
    if (
        type(X) is np.ndarray
        and X.dtype is FLOAT64
        and X.ndim == 2
        and X.shape[1] == encoder.plain_width
        and len(X) > 0
        and X.flags.forc
        and X.flags.aligned
        and _first_infinity(X) is None
    ):
        return X
    return _encode(encoder, _read_table(estimator, X, in_fit=False))


# --- targets and weights ---


def _unwrap_series(data: Any) -> Any:
    """Return a column of pandas, polars or pyarrow as an array, anything else as it is."""
    series = data if isinstance(data, PLAIN_CONTAINERS) else nw.from_native(data, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else data


def _is_usable(target: Array) -> npt.NDArray[np.bool_]:
    if target.dtype.kind == "f":
        return np.isfinite(target)
    return _is_present(target) if target.dtype.kind == "O" else target == target


def _one_target(y: Any, n_rows: int) -> Array:
    """Return y as an array of one dimension and the right length, with no missing value."""
    if y is None:
        raise InvalidTarget("fit requires y to be passed, but the target y is None: give one value for each row of X")
    target = _unwrap_series(y)
    if not _is_numeric_array(target, 1):
        try:
            target = column_or_1d(target, warn=True)
        except (TypeError, ValueError) as error:
            raise InvalidTarget(str(error)) from error
    if len(target) != n_rows:
        raise InvalidTarget(f"y has {len(target)} values, but X has {n_rows} rows: give one value for each row")
    usable = _is_usable(target)
    if not usable.all():
        row = int(np.argmin(usable))
        raise InvalidTarget(f"y is {target[row]} in row {row}: leave out rows whose target is NaN, missing or infinite")
    return target


def _in_sorted_order(labels: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the distinct labels, sorted and of their own type, and the code of each row."""
    if labels.dtype.kind in NUMERIC_KINDS:
        classes = np.unique(labels)
        return classes, np.searchsorted(classes, labels).astype(np.int32)
    # Many times faster for strings than the sorting of all rows in numpy.unique.
    listed = labels.tolist()
    try:
        distinct = sorted(set(listed))
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in listed}))
        raise InvalidTarget(f"y has labels of types {kinds}, which have no order: give labels of one type") from error
    classes = np.empty(len(distinct), dtype=labels.dtype)
    classes[:] = distinct
    code_of = {label: code for code, label in enumerate(distinct)}
    return classes, np.fromiter(map(code_of.__getitem__, listed), dtype=np.int32, count=len(listed))


def read_classes(y: Any, n_rows: int, weights: Floats | None = None) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the classes of a target, sorted and of the type they were given in, and the code of each row's class.

    Examples
    --------
    >>> read_classes(["yes", "no", "yes"], n_rows=3)
    (array(['no', 'yes'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    classes, codes = _in_sorted_order(_one_target(y, n_rows))
    fractions = [label for label in classes.tolist() if isinstance(label, float) and not label.is_integer()]
    if fractions:
        raise InvalidTarget(
            f"Unknown label type: continuous. y holds {_shown(fractions)}, but a classifier needs discrete classes: "
            "use a regressor, or give classes as whole numbers or strings"
        )
    counted = codes if weights is None else codes[weights > 0]
    if len(np.unique(counted)) < 2:
        raise OneClassTarget(
            f"y has one class, {classes.tolist()[counted[0]]!r}, in all {len(counted)} rows of positive weight: "
            "a classifier needs rows of two classes or more"
        )
    return classes, codes


def read_further_classes(
    y: Any, n_rows: int, classes: Array, codes: npt.NDArray[np.int32]
) -> tuple[Array, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Read a further target such as `y_val`, which may hold classes that the first one lacks.

    Returns
    -------
    classes : array
        Those of both targets.
    codes, further_codes : int32 arrays
        The rows of the first target, and of this one, among them.
    """
    labels, further_codes = _in_sorted_order(_one_target(y, n_rows))
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if kinds & set(NUMERIC_KINDS) and kinds & set("US"):
        given, known = _shown(labels.tolist()), _shown(classes.tolist())
        raise InvalidTarget(f"y holds {given}, but the classes of fit are {known}: give labels of one type")
    union, places = _in_sorted_order(np.concatenate([classes, labels]))
    if len(union) == len(classes):
        union = classes  # of the type of the first target, which joining the two may have changed
    return union, places[: len(classes)][codes], places[len(classes) :][further_codes]


def read_further_target(y: Any, n_rows: int) -> Floats:
    """Return a further numeric target, such as `y_val`, as float64; it may be constant."""
    column = _read_vector("y", _one_target(y, n_rows))
    if isinstance(column, _Labels):
        raise InvalidTarget(f"y holds {_shown(column.distinct)}, but a regressor needs numbers: use a classifier")
    return column.to_numbers()


def read_target(y: Any, n_rows: int, weights: Floats | None = None) -> Floats:
    """Return a numeric target as float64.

    Examples
    --------
    >>> read_target([1, 2, 4], n_rows=3)
    array([1., 2., 4.])
    """
    target = read_further_target(y, n_rows)
    counted = target if weights is None else target[weights > 0]
    if counted.min() == counted.max():
        rows = "1 sample" if len(counted) == 1 else f"all {len(counted)} samples"
        raise ConstantTarget(
            f"y is {counted[0]} in {rows} of positive weight: a regressor needs a target of two values or more"
        )
    return target


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return row weights as float64, or None where None was given.

    Examples
    --------
    >>> read_weights([1, 0, 2], n_rows=3)
    array([1., 0., 2.])
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(_unwrap_series(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidWeights(f"sample_weight holds something that is no number ({error}): give numbers") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise InvalidWeights(
            f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: give one weight for each row"
        )
    usable = (weights >= 0) & np.isfinite(weights)
    if not usable.all():
        row = int(np.argmin(usable))
        raise InvalidWeights(
            f"sample_weight is {weights[row]} in row {row}: weights must be finite numbers of zero or more"
        )
    if not weights.any():
        raise InvalidWeights("sample_weight is zero in every row: give at least one row a positive weight")
    return np.ascontiguousarray(weights)
