"""Reads one column of any library: as numbers with NaN where missing, or as labels with a code for each row.

Tables (`tremula.data.table`) and targets (`tremula.data.target`) are read column by column. Infinity is refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, NoReturn, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from tremula.errors import InfiniteValue, InvalidInput, UnsupportedType

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]

NUMERIC_KINDS = "biuf"
MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
TIME_TYPES = ("time", "duration", "period")
MICROSECONDS_A_DAY = 86_400e6
UNKNOWN_TO_NUMPY = (nw.Boolean, nw.Decimal, nw.Int128, nw.UInt128)  # at least if values are missing
PLAIN_TYPES = {str, bool, int, float}
FLOATING_TYPES = (float, np.floating, Decimal)
PLAIN_CONTAINERS = (np.ndarray, list, tuple)
FEW_ROWS = 1_000
BLOCK = 8_192
LARGEST_LOOKUP = 1_000  # levels above it are searched for


def is_numeric_array(data: Any, n_dimensions: int) -> bool:
    """Return whether data is a plain numeric array, which scikit-learn's slow checks would accept as it is."""
    return type(data) is np.ndarray and data.ndim == n_dimensions and data.size > 0 and data.dtype.kind in NUMERIC_KINDS


def refuse_masked(name: str, data: Any) -> None:
    """Raise InvalidInput for a masked array with masked values: NumPy would silently read what is under the mask."""
    if type(data) is not np.ndarray and isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        advice = "give X.filled(np.nan)" if name == "X" else "leave out these rows"
        raise InvalidInput(
            f"{name} is a masked array, and {int(np.ma.getmaskarray(data).sum())} values are masked: {advice}"
        )


def show(values: Iterable[Any]) -> str:
    """Format the first few values for an error message."""
    items = [repr(value) for value in values]
    return ", ".join(items[:3]) + (", …" if len(items) > 3 else "")


# --- infinities ---


def first_infinity(values: Floats) -> tuple[int, int] | None:
    """Return the row and column of the first infinite value of a contiguous matrix, or None."""
    flat = values if values.flags.c_contiguous else values.T
    # The sum of squares is the cheapest test, and makes no copy: it is finite unless a value is NaN, infinite or huge.
    if flat.size <= BLOCK and isfinite(np.vdot(flat, flat)):
        return None
    flat = flat.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if not isfinite(np.vdot(block, block)) and np.isinf(block).any():
            row, column = np.argwhere(np.isinf(values))[0].tolist()
            return row, column
    return None


def refuse_infinity(label: str, row: int) -> NoReturn:
    """Raise the error about an infinite value."""
    raise InfiniteValue(
        f"{label} is infinite (inf) in row {row}; finite numbers and missing values (NaN) were expected: replace it"
    )


# --- a column as read ---


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, NaN where missing."""

    label: str
    numbers: Floats
    nominal_by_type: bool = False
    is_date: bool = False

    def to_numbers(self) -> Floats:
        """Return the values of the column as a numeric attribute."""
        return self.numbers

    def find_levels(self) -> Array:
        """Return the levels of the column as a nominal attribute, in their order."""
        if self.nominal_by_type:
            return np.array([False, True])
        numbers = np.ascontiguousarray(self.numbers)  # columns of a matrix stand apart, and are read several times
        return np.unique(numbers[~np.isnan(numbers)])

    def encode(self, levels: Array) -> Floats:
        """Return for each row the code of its level, NaN if the number is not among the levels."""
        codes = np.full(len(self.numbers), np.nan)
        if len(levels) == 0 or np.isnan(self.numbers).all():
            return codes
        if levels.dtype.kind not in NUMERIC_KINDS:
            raise UnsupportedType(
                f"{self.label} holds numbers, but in fit its levels were {show(levels.tolist())}: give such values"
            )
        order = np.argsort(levels, kind="stable")
        sorted_levels = levels[order].astype(np.float64)
        if sorted_levels[0] >= 0 and sorted_levels[-1] < LARGEST_LOOKUP and (sorted_levels % 1 == 0).all():
            return _look_up(np.ascontiguousarray(self.numbers), sorted_levels, order)
        position = np.searchsorted(sorted_levels, self.numbers).clip(max=len(levels) - 1)
        known = sorted_levels[position] == self.numbers
        codes[known] = order[position[known]]
        return codes


def _look_up(numbers: Floats, sorted_levels: Floats, order: npt.NDArray[np.intp]) -> Floats:
    """Return the codes of numbers whose levels are small whole numbers, as the codes of a dataset are."""
    after_last = int(sorted_levels[-1]) + 1
    codes = np.full(after_last + 1, np.nan)
    codes[sorted_levels.astype(np.intp)] = order
    position = np.where((numbers >= 0) & (numbers < after_last), numbers, after_last).astype(np.intp)
    return np.where(position == numbers, codes[position], np.nan)


@dataclass(frozen=True)
class Labels:
    """A column of labels: the distinct labels, and for each row the position of its label (-1 = missing)."""

    label: str
    distinct: list[Any]
    codes: npt.NDArray[np.integer[Any]]
    listed: list[Any] | None = None  # the levels listed by a category type, in its order
    nominal_by_type: ClassVar[bool] = True
    is_date: ClassVar[bool] = False

    def to_numbers(self) -> Floats:
        """Return the values of the column as a numeric attribute, if its labels are numbers."""
        if not all(isinstance(value, Real) for value in self.distinct):
            raise UnsupportedType(
                f"{self.label} holds {show(self.distinct)} where numbers were expected: "
                "turn it into numbers, or name it in categorical_features when fitting"
            )
        return np.asarray(np.array([*self.distinct, np.nan], dtype=np.float64)[self.codes])

    def find_levels(self) -> Array:
        """Return the levels of the column as a nominal attribute, in their order."""
        values = sorted(self.distinct) if self.listed is None else self.listed
        kinds = set(map(type, values)) or {str}
        ends_in_nul = kinds == {str} and any(value.endswith("\0") for value in values)  # NumPy's strings drop it
        if len(kinds) == 1 and kinds <= PLAIN_TYPES and not ends_in_nul:
            return np.array(values, dtype=kinds.pop())
        return np.fromiter(values, dtype=object, count=len(values))

    def encode(self, levels: Array) -> Floats:
        """Return for each row the code of its level, NaN if the label is not among the levels."""
        numeric = len(levels) > 0 and levels.dtype.kind in NUMERIC_KINDS
        if numeric and any(isinstance(value, str) for value in self.distinct):
            raise UnsupportedType(
                f"{self.label} holds {show(self.distinct)}, but in fit its levels were {show(levels.tolist())}: "
                "give such values"
            )
        code_of = {level: code for code, level in enumerate(levels.tolist())}
        recoded = [code_of.get(value, np.nan) for value in self.distinct]
        return np.asarray(np.array([*recoded, np.nan], dtype=np.float64)[self.codes])


Column: TypeAlias = Numbers | Labels


# --- reading a column ---


def read_vector(label: str, column: Array) -> Column:
    """Read a column of an array; error messages refer to it by `label`."""
    kind = column.dtype.kind
    if kind in NUMERIC_KINDS:
        return _read_numbers(label, column.astype(np.float64), nominal_by_type=kind == "b")
    if kind == "M":
        return Numbers(label, _days(column), is_date=True)
    return _read_objects(label, column.astype(object)) if kind in "OUT" else _refuse_type(label, column.dtype)


def read_series(label: str, series: nw.Series[Any], *, in_fit: bool) -> Column:
    """Read a column of a frame; in fit, the levels listed by a category type are kept."""
    dtype = series.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        plain = series.cast(nw.Float64) if isinstance(dtype, UNKNOWN_TO_NUMPY) else series
        numbers = np.asarray(plain.to_numpy(), dtype=np.float64)
        return _read_numbers(label, numbers, nominal_by_type=isinstance(dtype, nw.Boolean))
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return Labels(label, *_factorize(series), _listed_levels(series) if in_fit else None)
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        moments = np.asarray(series.dt.timestamp("us").cast(nw.Float64).to_numpy())
        return Numbers(label, moments / MICROSECONDS_A_DAY, is_date=True)
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return read_vector(label, series.to_numpy())
    return _refuse_type(label, dtype)


def _days(dates: Array) -> Floats:
    """Return dates as days since 1970, NaN where missing."""
    moments = dates.astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / MICROSECONDS_A_DAY)


def date_text(days: float) -> str:
    """Return a number of days since 1970 as a date, with the time of day where it has one.

    Examples
    --------
    >>> date_text(19874.0), date_text(19874.75)
    ('2024-05-31', '2024-05-31 18:00')
    """
    moment = np.datetime64(round(days * MICROSECONDS_A_DAY), "us")
    if moment == moment.astype("datetime64[D]"):
        return str(moment.astype("datetime64[D]"))
    return str(np.datetime_as_string(moment + np.timedelta64(30, "s"), unit="m")).replace("T", " ")


def is_present(objects: Array) -> npt.NDArray[np.bool_]:
    """Return for each Python object of an array whether it is present, that is not a missing value."""
    kinds = set(map(type, objects))
    if not any(kind.__name__ in MISSING_TYPES or issubclass(kind, FLOATING_TYPES) for kind in kinds):
        return np.ones(len(objects), dtype=bool)
    return np.array([not _is_missing(value) for value in objects], dtype=bool)


def _is_missing(value: Any) -> bool:
    if isinstance(value, FLOATING_TYPES):
        return bool(value != value)
    return type(value).__name__ in MISSING_TYPES


def _read_numbers(label: str, numbers: Floats, *, nominal_by_type: bool) -> Numbers:
    place = first_infinity(np.ascontiguousarray(numbers)[:, np.newaxis])
    return Numbers(label, numbers, nominal_by_type) if place is None else refuse_infinity(label, place[0])


def _read_objects(label: str, column: Array) -> Column:
    """Read a column of Python objects: all numbers, all booleans or all strings, apart from missing values."""
    present = is_present(column)
    kinds = set(map(type, column[present]))
    if all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in kinds):
        numbers = np.full(len(column), np.nan)
        try:
            numbers[present] = column[present].astype(np.float64)
        except OverflowError as error:
            raise InfiniteValue(
                f"{label} holds a whole number beyond 1.8e308, the largest of float64: divide it"
            ) from error
        boolean = len(kinds) > 0 and all(issubclass(kind, (bool, np.bool_)) for kind in kinds)
        return _read_numbers(label, numbers, nominal_by_type=boolean)
    if all(issubclass(kind, str) for kind in kinds):
        return Labels(label, *_number_labels(column.tolist()))
    if all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        moments = np.full(len(column), "NaT", dtype="datetime64[us]")
        moments[present] = column[present].astype("datetime64[us]")
        return Numbers(label, _days(moments), is_date=True)
    raise UnsupportedType(
        f"{label} holds values of type {', '.join(sorted(kind.__name__ for kind in kinds))}; every argument must be a "
        "string or a number, and a column all strings or all numbers: convert it, or leave it out"
    )


def _refuse_type(label: str, dtype: Any) -> NoReturn:
    hint = "turn it into numbers or strings, or leave it out"
    if str(dtype).lower().startswith(TIME_TYPES):
        hint = "turn it into numbers, such as the year, the month, or the days since some date"
    raise UnsupportedType(f"{label} is of type {dtype}, neither numeric nor nominal: {hint}")


def _number_labels(labels: list[Any]) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """Return the distinct labels, and for each row the position of its label (-1 = missing)."""
    distinct = [label for label in dict.fromkeys(labels) if not _is_missing(label)]
    code_of = {label: code for code, label in enumerate(distinct)}
    return distinct, np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)


def _factorize(series: nw.Series[Any]) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """Do the same as `_number_labels` in the fastest way for the library and the number of rows."""
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
    labels = series.drop_nulls().unique().to_list()
    codes = series.replace_strict(labels, list(range(len(labels))), return_dtype=nw.Int64)
    return labels, codes.fill_null(-1).to_numpy()


def _listed_levels(series: nw.Series[Any]) -> list[Any] | None:
    """Return the levels listed by a category type; polars' Categorical lists none, since all frames share one pool."""
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    if series.implementation.is_pandas():
        categories = getattr(series.to_native().dtype, "categories", None)
        return None if categories is None else categories.tolist()
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        return series.cat.get_categories().to_list()
    return None
