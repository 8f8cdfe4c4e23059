"""Reads targets as class codes or float64 numbers, and row weights, with one value for each row.

A target that has been read has no missing value; weights are finite, not negative and not all zero.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from tremula.data.column import (
    NUMERIC_KINDS,
    PLAIN_CONTAINERS,
    Array,
    Floats,
    Labels,
    is_numeric_array,
    is_present,
    read_vector,
    refuse_masked,
    show,
)
from tremula.errors import ConstantTarget, InvalidInput, InvalidTarget, InvalidWeights, OneClassTarget

# Trees square sums of weighted targets, and add up weighted squares of errors: within these limits none overflows or
# vanishes. Among fewer rows than FEW_ROWS the squares of errors of twice the largest number are what overflows first.
LARGEST_SUM = 2e154
LEAST_RANGE = 1e-150
FEW_ROWS = 16
LARGEST_WEIGHT = 1e30
LEAST_WEIGHT = 1e-30
WEIGHT_KINDS = NUMERIC_KINDS + "O"  # NumPy would also take dates, and complex numbers without their imaginary part


def _unwrap_series(data: Any) -> Any:
    """Return a pandas, polars or pyarrow column as an array, anything else unchanged."""
    series = data if isinstance(data, PLAIN_CONTAINERS) else nw.from_native(data, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else data


def _is_usable(target: Array) -> npt.NDArray[np.bool_]:
    if target.dtype.kind == "f":
        return np.isfinite(target)
    return is_present(target) if target.dtype.kind == "O" else target == target


def _check_one_column(target: Any) -> None:
    """Refuse several targets, with a word on who takes them."""
    shape: tuple[int, ...] = tuple(getattr(target, "shape", ()))
    if isinstance(target, list | tuple) and len(target) and isinstance(target[0], list | tuple | np.ndarray):
        shape = (len(target), len(target[0]))
    if len(shape) == 2 and shape[1] > 1:
        raise InvalidTarget(
            f"y should be a 1d array here, but it has shape {shape}, that is {shape[1]} targets for each row. "
            "CART trees, random forests, extra trees and bagging of CART trees take several; for other estimators use "
            "sklearn.multioutput.MultiOutputClassifier or MultiOutputRegressor, which fit one for each target"
        )


def _as_vector(y: Any, n_rows: int) -> Array:
    """Return y as a 1-D array, checked for its length and for missing values."""
    if y is None:
        raise InvalidTarget("fit requires y to be passed, but the target y is None: give one value for each row of X")
    target = _unwrap_series(y)
    refuse_masked("y", target)
    _check_one_column(target)
    if not is_numeric_array(target, 1):
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
    return np.asarray(target)


def _encode_integers(labels: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Do the same as `_encode_labels` for integers of a small range, several times faster, by counting."""
    wide = labels.astype(np.int64) if labels.dtype.kind == "i" else labels
    offsets = (wide - wide.min()).astype(np.intp)
    occurs = np.bincount(offsets) > 0
    classes = (np.flatnonzero(occurs).astype(wide.dtype) + wide.min()).astype(labels.dtype)
    return classes, (np.cumsum(occurs, dtype=np.int32) - 1)[offsets]


def _encode_labels(labels: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the distinct labels, sorted and of the type given, and the code of each row's label."""
    if labels.dtype.kind in "iu" and len(labels) and int(labels.max()) - int(labels.min()) < len(labels) + 256:
        return _encode_integers(labels)
    if labels.dtype.kind in NUMERIC_KINDS:
        classes = np.unique(labels)
        return classes, np.searchsorted(classes, labels).astype(np.int32)
    # Many times faster for strings than numpy.unique, which sorts all rows.
    values = labels.tolist()
    try:
        distinct = sorted(set(values))
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in values}))
        raise InvalidTarget(f"y has labels of types {kinds}, which have no order: give labels of one type") from error
    classes = np.empty(len(distinct), dtype=labels.dtype)
    classes[:] = distinct
    code_of = {label: code for code, label in enumerate(distinct)}
    return classes, np.fromiter(map(code_of.__getitem__, values), dtype=np.int32, count=len(values))


def read_labels(y: Any, n_rows: int) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the classes of a target and the code of each row's class; there may be one class only."""
    classes, codes = _encode_labels(_as_vector(y, n_rows))
    fractions = [label for label in classes.tolist() if isinstance(label, float) and not label.is_integer()]
    if fractions:
        raise InvalidTarget(
            f"Unknown label type: continuous. y holds {show(fractions)}, but a classifier needs discrete classes: "
            "use a regressor, or give classes as whole numbers or strings"
        )
    return classes, codes


def read_classes(y: Any, n_rows: int, weights: Floats | None = None) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return the classes of a target, sorted and of the type given, and the code of each row's class.

    Examples
    --------
    >>> read_classes(["yes", "no", "yes"], n_rows=3)
    (array(['no', 'yes'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    classes, codes = read_labels(y, n_rows)
    counted = codes if weights is None else codes[weights > 0]
    if (counted == counted[0]).all():
        rows = "1 row" if len(counted) == 1 else f"all {len(counted)} rows"
        raise OneClassTarget(
            f"y has one class, {classes.tolist()[counted[0]]!r}, in {rows} of positive weight: "
            "a classifier needs rows of two classes or more"
        )
    return classes, codes


def read_further_classes(
    y: Any, n_rows: int, classes: Array, codes: npt.NDArray[np.int32]
) -> tuple[Array, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Read a second target, such as `y_val`, which may have classes that the first one lacks.

    Returns
    -------
    classes : array
        The classes of both targets, sorted.
    codes, further_codes : int32 arrays
        The codes of the rows of the first and of the second target.
    """
    labels, further_codes = _encode_labels(_as_vector(y, n_rows))
    kinds = {labels.dtype.kind, classes.dtype.kind}
    is_mixed = kinds & set(NUMERIC_KINDS) and kinds & set("US")
    if is_mixed or (len(kinds) > 1 and kinds & set("mMV")):
        given, known = show(labels.tolist()), show(classes.tolist())
        raise InvalidTarget(f"y holds {given}, but the classes of fit are {known}: give labels of one type")
    union, position = _encode_labels(np.concatenate([classes, labels]))
    if len(union) == len(classes):
        union = classes  # concatenating may have changed the type
    return union, position[: len(classes)][codes], position[len(classes) :][further_codes]


def read_known_classes(y: Any, n_rows: int, classes: Array) -> npt.NDArray[np.intp]:
    """Return the code of each row's class among the classes of `fit`; -1 for other classes.

    Examples
    --------
    >>> read_known_classes(["b", "x", "a"], 3, np.array(["a", "b"]))
    array([ 1, -1,  0])
    """
    own_codes = np.arange(len(classes), dtype=np.int32)
    union, places, codes = read_further_classes(y, n_rows, classes, own_codes)
    code_of = np.full(len(union), -1)
    code_of[places] = own_codes
    return np.asarray(code_of[codes])


def largest_target(n_rows: int, weights: Floats | None = None) -> float:
    """Return the largest number that a target of so many rows may have.

    Examples
    --------
    >>> f"{largest_target(1000):.3g}"
    '2e+151'
    """
    heaviest = 1.0 if weights is None else max(1.0, float(weights.max()))
    return LARGEST_SUM / (max(n_rows, FEW_ROWS) * heaviest)


def least_range(weights: Floats | None = None) -> float:
    """Return the smallest difference that the largest and the smallest number of a target must have."""
    return LEAST_RANGE / (1.0 if weights is None else min(1.0, float(weights.max())))


def read_further_target(y: Any, n_rows: int, weights: Floats | None = None) -> Floats:
    """Return a second numeric target, such as `y_val`, as float64; it may be constant."""
    column = read_vector("y", _as_vector(y, n_rows))
    if isinstance(column, Labels):
        raise InvalidTarget(f"y holds {show(column.distinct)}, but a regressor needs numbers: use a classifier")
    target = column.to_numbers()
    largest, limit = float(np.abs(target).max(initial=0.0)), largest_target(n_rows, weights)
    if largest > limit:
        raise InvalidTarget(
            f"y has a number of size {largest:.3g}, and squares of sums of such numbers overflow: divide y by a "
            f"constant, so that no number is beyond {limit:.3g}, the limit for {n_rows} rows of these weights"
        )
    return target


def is_constant(target: Floats, weights: Floats | None = None) -> bool:
    """Return whether all rows of positive weight have the same number."""
    counted = target if weights is None else target[weights > 0]
    return bool(counted.min() == counted.max())


def read_target(y: Any, n_rows: int, weights: Floats | None = None) -> Floats:
    """Return a numeric target as float64.

    Examples
    --------
    >>> read_target([1, 2, 4], n_rows=3)
    array([1., 2., 4.])
    """
    target = read_further_target(y, n_rows, weights)
    counted = target if weights is None else target[weights > 0]
    if is_constant(target, weights):
        rows = "1 sample" if len(counted) == 1 else f"all {len(counted)} samples"
        raise ConstantTarget(
            f"y is {counted[0]} in {rows} of positive weight: a regressor needs a target of two values or more"
        )
    if counted.max() - counted.min() < least_range(weights):
        raise InvalidTarget(
            f"the numbers of y differ by {counted.max() - counted.min():.3g} at most, and the squares of such "
            f"differences are 0: multiply y by a constant, so that it ranges over {least_range(weights):.3g} or more"
        )
    return target


def check_validation_pair(X_val: Any, y_val: Any) -> bool:
    """Return whether validation rows were given; refuse rows without targets and targets without rows."""
    if (X_val is None) != (y_val is None):
        given, missing = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
        raise InvalidInput(f"{given} was given without {missing}: give both, or neither")
    return X_val is not None


def read_groups(groups: Any, n_rows: int) -> npt.NDArray[np.int32]:
    """Return the number of each row's group.

    Examples
    --------
    >>> read_groups(["ann", "bob", "ann"], n_rows=3)
    array([0, 1, 0], dtype=int32)
    """
    refuse_masked("groups", groups)
    try:
        given = np.asarray(_unwrap_series(groups))
    except ValueError as error:
        raise InvalidInput(f"groups is no list of labels: give one group for each row ({error})") from error
    if given.shape != (n_rows,):
        raise InvalidInput(f"groups has shape {given.shape}, but X has {n_rows} rows: give one group for each row")
    usable = _is_usable(given)
    if not usable.all():
        row = int(np.argmin(usable))
        raise InvalidInput(f"groups is {given[row]} in row {row}: give every row a group")
    labels, codes = _encode_labels(given)
    if len(labels) < 2:
        raise InvalidInput(f"groups has one group, {labels.tolist()[0]!r}: give two groups or more, or no groups")
    return codes


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return row weights as float64, or None if none were given.

    Examples
    --------
    >>> read_weights([1, 0, 2], n_rows=3)
    array([1., 0., 2.])
    """
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    given = _unwrap_series(sample_weight)
    try:
        if np.asarray(given).dtype.kind not in WEIGHT_KINDS:
            raise TypeError(f"they are of type {np.asarray(given).dtype}")
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidWeights(f"sample_weight has a value that is not a number ({error}): give numbers") from error
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
    if not LEAST_WEIGHT <= weights.max() <= LARGEST_WEIGHT:
        raise InvalidWeights(
            f"the largest sample_weight is {weights.max():.3g}; expected between {LEAST_WEIGHT:g} and "
            f"{LARGEST_WEIGHT:g}: multiply all weights by a constant"
        )
    return np.ascontiguousarray(weights)
