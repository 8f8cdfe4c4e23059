"""The border: every kind of table, target and weight comes in right, or is refused with words that help."""

import pickle
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from tremula.columns import (
    BLOCK,
    FEW_ROWS,
    ColumnEncoder,
    read_classes,
    read_columns,
    read_further_classes,
    read_further_target,
    read_target,
    read_training_columns,
    read_weights,
)
from tremula.errors import (
    ColumnMismatch,
    ConstantTarget,
    InfiniteValue,
    InvalidInput,
    InvalidParameter,
    InvalidTarget,
    InvalidWeights,
    OneClassTarget,
    TremulaError,
    UnsupportedType,
)

NAN = float("nan")
FRAMES: list[Callable[[dict[str, Any]], Any]] = [pd.DataFrame, pl.DataFrame, pa.table]
every_frame = pytest.mark.parametrize("make_frame", FRAMES, ids=["pandas", "polars", "pyarrow"])


def learn(X: Any, categorical_features: Any = "from_dtype") -> tuple[ColumnEncoder, np.ndarray]:
    return read_training_columns(BaseEstimator(), X, categorical_features)


def learn_and_read(X: Any, X_new: Any, categorical_features: Any = "from_dtype") -> np.ndarray:
    estimator = BaseEstimator()
    encoder, _ = read_training_columns(estimator, X, categorical_features)
    return read_columns(estimator, encoder, X_new)


# --- arrays ---


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_contiguous_float64_array_is_not_copied(order: str) -> None:
    X = np.array([[1.0, 2.0], [NAN, 4.0], [5.0, 6.0]], order=order)
    encoder, values = learn(X)
    assert np.shares_memory(values, X)
    assert np.shares_memory(learn_and_read(X, X), X)
    assert encoder.levels == (None, None)
    assert encoder.names is None
    assert_array_equal(encoder.n_levels, np.array([0, 0], dtype=np.int32), strict=True)


def test_a_read_only_array_is_welcome() -> None:
    X = np.arange(6.0).reshape(3, 2)
    X.flags.writeable = False
    assert np.shares_memory(learn(X)[1], X)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.longdouble, bool, object, ">f8"])
def test_an_array_of_any_numeric_type_becomes_float64(dtype: Any) -> None:
    _, values = learn(np.array([[0, 1], [1, 1]], dtype=dtype))
    assert_array_equal(values, np.array([[0.0, 1.0], [1.0, 1.0]]), strict=True)


def test_a_strided_array_becomes_contiguous() -> None:
    X = np.arange(24.0).reshape(4, 6)[:, ::2]
    assert_array_equal(learn(X)[1], X)
    assert learn(X)[1].flags.forc
    assert learn_and_read(X, X[::2]).flags.forc


def test_a_list_of_rows_is_a_table() -> None:
    assert_array_equal(learn([[1, None], [2, 3.5]])[1], [[1, NAN], [2, 3.5]])


def test_numbers_beside_strings_in_a_list_stay_numbers() -> None:
    encoder, values = learn([["red", 10.0], ["blue", 9.5]], [0])
    assert_array_equal(values, [[1, 10.0], [0, 9.5]])
    assert_array_equal(encoder.levels[0], ["blue", "red"])


def test_every_missing_object_becomes_nan() -> None:
    X = np.array(
        [[None, "a"], [pd.NA, None], [NAN, NAN], [pd.NaT, pd.NA], [Decimal("NaN"), "b"], [7, "a"]], dtype=object
    )
    _, values = learn(X, [1])
    assert_array_equal(values, [[NAN, 0], [NAN, NAN], [NAN, NAN], [NAN, NAN], [NAN, 1], [7, 0]])


def test_a_marked_column_of_an_array_has_its_sorted_values_as_levels() -> None:
    encoder, values = learn(np.array([[30.0, 5], [10, 6], [NAN, 7], [30, 8]]), [0])
    assert_array_equal(encoder.levels[0], [10.0, 30.0])
    assert_array_equal(values, [[1, 5], [0, 6], [NAN, 7], [1, 8]])


# --- frames ---


@every_frame
def test_types_of_a_frame_say_what_is_nominal(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    frame = make_frame({"size": [1.5, 2.5, None], "count": [3, None, 4], "color": ["red", None, "blue"]})
    encoder, values = learn(frame)
    assert encoder.names == ("size", "count", "color")
    assert encoder.n_levels.tolist() == [0, 0, 2]
    assert_array_equal(encoder.levels[2], np.array(["blue", "red"]), strict=True)
    assert_array_equal(values, np.array([[1.5, 3, 1], [2.5, NAN, NAN], [NAN, 4, 0]]), strict=True)
    assert values.flags.f_contiguous


@every_frame
def test_booleans_have_the_levels_false_and_true(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    encoder, values = learn(make_frame({"smokes": [True, True, None]}))
    assert_array_equal(encoder.levels[0], np.array([False, True]), strict=True)
    assert_array_equal(values, [[1], [1], [NAN]])


@every_frame
def test_booleans_are_numbers_where_nothing_is_nominal(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    encoder, values = learn(make_frame({"smokes": [True, False]}), None)
    assert encoder.n_levels.tolist() == [0]
    assert_array_equal(values, [[1], [0]])


@every_frame
def test_a_level_unseen_in_fit_is_missing(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    values = learn_and_read(make_frame({"color": ["red", "blue"]}), make_frame({"color": ["green", "red", None]}))
    assert_array_equal(values, [[NAN], [1], [NAN]])


@every_frame
def test_an_unseen_number_of_a_marked_column_is_missing(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    values = learn_and_read(make_frame({"code": [30, 10]}), make_frame({"code": [10, 20, 30, 40, None]}), ["code"])
    assert_array_equal(values[:, 0], [0, NAN, 1, NAN, NAN])


@every_frame
def test_a_column_with_no_value_is_welcome_everywhere(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    full = make_frame({"size": [1.5, 2.5], "color": ["red", "blue"], "old": [True, False]})
    empty = make_frame({"size": [None, None], "color": [None, None], "old": [None, None]})
    assert np.isnan(learn_and_read(full, empty)).all()
    assert np.isnan(learn(empty)[1]).all()
    assert np.isnan(learn_and_read(empty, full, ["size", "color", "old"])).all()


@every_frame
def test_many_rows_are_read_as_few_are(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    colors = ["red", None, "blue", "green"] * FEW_ROWS
    encoder, values = learn(make_frame({"color": colors}))
    assert encoder.levels[0].tolist() == ["blue", "green", "red"]
    assert_array_equal(values[:, 0], [2, NAN, 0, 1] * FEW_ROWS)
    new = make_frame({"color": ["pink", "red", None] * FEW_ROWS})
    assert_array_equal(learn_and_read(make_frame({"color": colors}), new)[:, 0], [NAN, 2, NAN] * FEW_ROWS)


def test_frames_of_different_libraries_match_by_value() -> None:
    X = pd.DataFrame({"color": ["red", "blue"], "size": [1, 2]})
    assert_array_equal(learn_and_read(X, pl.from_pandas(X)), learn_and_read(X, pa.Table.from_pandas(X)))


SIZES = ["small", "large", "huge"]
CATEGORY_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda column: pd.DataFrame({"size": pd.Categorical(column, SIZES)}),
    "pandas ordered": lambda column: pd.DataFrame({"size": pd.Categorical(column, SIZES, ordered=True)}),
    "polars Enum": lambda column: pl.DataFrame({"size": column}, schema={"size": pl.Enum(SIZES)}),
    "pyarrow": lambda column: pa.Table.from_pandas(pd.DataFrame({"size": pd.Categorical(column, SIZES)})),
}


@pytest.mark.parametrize("times", [1, FEW_ROWS])
@pytest.mark.parametrize("make_frame", CATEGORY_COLUMNS.values(), ids=CATEGORY_COLUMNS)
def test_a_category_type_keeps_its_order_and_its_absent_levels(
    make_frame: Callable[[list[Any]], Any], times: int
) -> None:
    encoder, values = learn(make_frame(["large", None, "small"] * times))
    assert_array_equal(encoder.levels[0], np.array(["small", "large", "huge"]), strict=True)
    assert_array_equal(values[:, 0], [1, NAN, 0] * times)


def test_levels_match_by_value_when_the_categories_come_in_another_order() -> None:
    new = pd.DataFrame({"size": pd.Categorical(["huge", "small", "tiny"], ["tiny", "huge", "small"])})
    assert_array_equal(learn_and_read(CATEGORY_COLUMNS["pandas"](["large"]), new)[:, 0], [2, 0, NAN])


@pytest.mark.parametrize("times", [1, FEW_ROWS])
def test_a_polars_categorical_has_the_levels_that_occur(times: int) -> None:
    pl.Series(["unrelated"], dtype=pl.Categorical)
    frame = pl.DataFrame({"color": pl.Series(["red", None, "blue"] * times, dtype=pl.Categorical)})
    encoder, values = learn(frame)
    assert encoder.levels[0].tolist() == ["blue", "red"]
    assert_array_equal(values[:, 0], [1, NAN, 0] * times)


def test_chunks_of_a_pyarrow_table_share_their_levels() -> None:
    color = pa.chunked_array([["red", "blue"] * FEW_ROWS, ["green", None] * FEW_ROWS])
    _, plain = learn(pa.table({"color": color}))
    encoder, coded = learn(pa.table({"color": color.dictionary_encode()}))
    assert_array_equal(plain[:, 0], [2, 0] * FEW_ROWS + [1, NAN] * FEW_ROWS)
    assert encoder.levels[0].tolist() == ["red", "blue", "green"]
    assert_array_equal(coded[:, 0], [0, 1] * FEW_ROWS + [2, NAN] * FEW_ROWS)


def test_categories_that_are_numbers_are_levels_or_numbers() -> None:
    frame = pd.DataFrame({"grade": pd.Categorical([3, None, 1], categories=[3, 1, 2])})
    encoder, values = learn(frame)
    assert encoder.levels[0].tolist() == [3, 1, 2]
    assert_array_equal(values[:, 0], [0, NAN, 1])
    assert_array_equal(learn(frame, None)[1][:, 0], [3, NAN, 1])
    assert_array_equal(learn_and_read(frame, pd.DataFrame({"grade": [2.0, 9.0, 3.0]}))[:, 0], [2, NAN, 0])


def test_intervals_are_levels() -> None:
    encoder, values = learn(pd.DataFrame({"age": pd.cut([10, 60, 20], [0, 30, 90])}))
    assert_array_equal(values[:, 0], [0, 1, 0])
    assert [str(level) for level in encoder.levels[0]] == ["(0, 30]", "(30, 90]"]


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "int64[pyarrow]", object, "Sparse[float64]"])
def test_pandas_types_of_numbers_keep_missing_values(dtype: Any) -> None:
    frame = pd.DataFrame({"x": pd.Series([1, 0, None if dtype != "Sparse[float64]" else NAN], dtype=dtype)})
    assert_array_equal(learn(frame, None)[1][:, 0], [1, 0, NAN])


@pytest.mark.parametrize("dtype", ["str", "string", "string[pyarrow]", object, "category"])
def test_pandas_types_of_strings_are_nominal(dtype: Any) -> None:
    encoder, values = learn(pd.DataFrame({"color": pd.Series(["red", None, "blue"], dtype=dtype)}))
    assert encoder.levels[0].tolist() == ["blue", "red"]
    assert_array_equal(values[:, 0], [1, NAN, 0])


def test_objects_that_are_booleans_or_decimals_are_read_as_such() -> None:
    frame = pd.DataFrame({"old": [True, None, False], "price": [Decimal("1.5"), None, Decimal(2)]}, dtype=object)
    encoder, values = learn(frame)
    assert encoder.n_levels.tolist() == [2, 0]
    assert_array_equal(values, [[1, 1.5], [NAN, NAN], [0, 2]])


def test_nan_of_polars_is_missing_like_null() -> None:
    assert_array_equal(learn(pl.DataFrame({"x": [NAN, None, 1.0]}))[1][:, 0], [NAN, NAN, 1])


def test_column_names_that_are_numbers_are_no_names() -> None:
    encoder, values = learn(pd.DataFrame([[1.0, 2.0]]))
    assert encoder.names is None
    assert_array_equal(values, [[1, 2]])


# --- categorical_features ---


@pytest.mark.parametrize(
    "choice", [[1], (1,), np.array([1]), ["kind"], np.array(["kind"]), [False, True], np.array([False, True])], ids=str
)
def test_a_list_or_mask_says_what_is_nominal(choice: Any) -> None:
    encoder, _ = learn(pd.DataFrame({"size": [1.0, 2.0], "kind": [7, 5]}), choice)
    assert encoder.n_levels.tolist() == [0, 2]


@pytest.mark.parametrize("choice", [None, [], [False, False]], ids=str)
def test_nothing_is_nominal_where_nothing_is_chosen(choice: Any) -> None:
    assert learn(np.zeros((3, 2)), choice)[0].n_levels.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("from_types", "'from_dtype', None, or a list"),
        (1, "'from_dtype', None, or a list"),
        ([2], "holds 2: give column numbers from 0 to 1"),
        ([-1], "holds -1: give column numbers from 0 to 1"),
        ([0.5], "holds 0.5"),
        ([True, 1], "holds True"),
        ([True], "mask of length 1, but X has 2 columns"),
        (["size"], r"holds 'size'.*X has no column names"),
    ],
    ids=str,
)
def test_a_wrong_choice_of_nominal_columns_is_refused(choice: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        learn(np.zeros((3, 2)), choice)


def test_a_misspelt_nominal_column_gets_a_hint() -> None:
    with pytest.raises(ColumnMismatch, match=r"no column 'incme' in X .*did you mean 'income'"):
        learn(pd.DataFrame({"age": [1], "income": [2]}), ["incme"])


# --- tables that are refused ---


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_rows", [50, BLOCK])
def test_an_infinity_is_refused_with_its_place(infinity: float, order: Any, n_rows: int) -> None:
    X = np.zeros((n_rows, 3), order=order)
    X[12, 0], X[45, 2] = NAN, infinity
    with pytest.raises(InfiniteValue, match=r"column 2 is infinite \(inf\) in row 45;"):
        learn(X)
    with pytest.raises(InfiniteValue, match="column 2 is infinite"):
        learn_and_read(np.zeros((1, 3)), X)


@every_frame
def test_an_infinity_in_a_frame_is_refused_with_its_column(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(InfiniteValue, match=r"column 'size' is infinite .* row 1"):
        learn(make_frame({"age": [1.0, 2.0], "size": [None, np.inf]}))


def test_huge_finite_numbers_are_welcome() -> None:
    X = np.array([[1e300, -1e300, 1.7e308], [NAN, 1.7e308, 1.7e308]])
    assert learn(X)[1] is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\)"),
        (pd.DataFrame({"x": []}), "0 rows and 1 columns"),
        (pl.DataFrame(), "0 rows and 0 columns"),
        (np.zeros(3), "Reshape your data"),
        (pd.Series([1.0]), "2-dimensional"),
        (pl.Series([1.0]), "Reshape your data"),
        (np.zeros((2, 2, 2)), "dim 3"),
        ([[1, 2], [3]], "inhomogeneous"),
        (np.array([[1j]]), "Complex data not supported"),
        (None, "Expected 2D array"),
    ],
)
def test_what_is_no_table_is_refused(X: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        learn(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (csr_matrix(np.eye(2)), "Sparse data"),
        (pl.LazyFrame({"x": [1]}), r"lazy table \(LazyFrame\): collect"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), r"column 0 is of type datetime64.*the year"),
        (pl.DataFrame({"born": [date(2020, 1, 1)]}), "column 'born' is of type Date.*the days since"),
        (pd.DataFrame({"born": pd.to_datetime(["2020-01-01"])}), "column 'born' is of type Datetime.*the year"),
        (pd.DataFrame({"took": pd.to_timedelta([1], "s")}), "column 'took' is of type Duration"),
        (pl.DataFrame({"parts": [[1, 2]]}), "column 'parts' is of type List.*neither numeric nor nominal"),
        (pd.DataFrame({"z": [1j]}), "column 'z' is of type complex128"),
        (pd.DataFrame({"mixed": [1, "a"]}, dtype=object), "column 'mixed' holds values of type int, str"),
        (pd.DataFrame({"nested": [{"a": 1}]}, dtype=object), "column 'nested' holds values of type dict"),
        (np.array([[{"a": 1}, 1.0]], dtype=object), "column 0 .* argument must be a string or a number"),
        (np.array([[1.0, "a"]], dtype=object), "column 1 holds 'a' where numbers were expected.*categorical_features"),
        (np.array([["1"]]), "column 0 holds '1' where numbers were expected"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), "Feature names are only supported"),
    ],
)
def test_types_that_are_neither_numeric_nor_nominal_are_refused(X: Any, message: str) -> None:
    with pytest.raises(UnsupportedType, match=message):
        learn(X)


@every_frame
def test_strings_are_refused_where_nothing_is_nominal(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(UnsupportedType, match="column 'color' holds 'red' where numbers were expected"):
        learn(make_frame({"color": ["red", None]}), None)


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ColumnMismatch, match="several columns of the same name"):
        learn(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_another_kind_of_value_than_in_fit_is_refused() -> None:
    words, numbers = pd.DataFrame({"x": ["a", "b"]}), pd.DataFrame({"x": [1, 2]})
    with pytest.raises(UnsupportedType, match="column 'x' holds numbers, but in fit its levels were 'a', 'b'"):
        learn_and_read(words, numbers)
    with pytest.raises(UnsupportedType, match=r"column 'x' holds 'a', 'b', but in fit its levels were 1\.0, 2\.0"):
        learn_and_read(numbers, words, ["x"])
    with pytest.raises(UnsupportedType, match="column 'x' holds 'a', 'b' where numbers were expected"):
        learn_and_read(numbers, words)


# --- columns other than in fit ---


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(ColumnMismatch, match="X has 2 features, but BaseEstimator is expecting 3 features as input"):
        learn_and_read(np.zeros((2, 3)), np.zeros((2, 2)))


@every_frame
def test_a_misspelt_column_gets_a_hint(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(ColumnMismatch, match=r"unseen at fit time:\n- incme(.|\n)*'incme': did you mean 'income'"):
        learn_and_read(make_frame({"age": [1], "income": [2]}), make_frame({"age": [1], "incme": [2]}))


@every_frame
def test_columns_in_another_order_are_refused(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(ColumnMismatch, match="must be in the same order"):
        learn_and_read(make_frame({"a": [1], "b": [2]}), make_frame({"b": [1], "a": [2]}))


def test_an_array_of_another_width_is_refused_after_a_frame() -> None:
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ColumnMismatch, match="X has 1 features"),
    ):
        learn_and_read(pd.DataFrame({"a": [1.0], "b": [2.0]}), np.zeros((1, 1)))


def test_the_estimator_learns_number_and_names_of_columns() -> None:
    estimator = BaseEstimator()
    read_training_columns(estimator, pl.DataFrame({"a": [1], "b": [2]}), None)
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    read_training_columns(estimator, np.zeros((2, 3)), None)
    assert estimator.n_features_in_ == 3
    assert not hasattr(estimator, "feature_names_in_")


def test_an_encoder_survives_pickling() -> None:
    frame = pd.DataFrame({"color": ["red", "blue"]})
    estimator = BaseEstimator()
    encoder, values = read_training_columns(estimator, frame)
    assert_array_equal(read_columns(estimator, pickle.loads(pickle.dumps(encoder)), frame), values)


# --- targets ---


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([3, -1, 3], dtype=np.int16),
        np.array([3.0, 1.0, 3.0]),
        np.array([3, 1, 3], dtype=object),
        np.array([True, False, True]),
        np.array([True, False, True], dtype=object),
        np.array(["2021-01-01", "2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ],
    ids=lambda y: str(y.dtype),
)
def test_labels_come_back_as_they_went_in(y: np.ndarray) -> None:
    classes, codes = read_classes(y, 3)
    assert_array_equal(classes[codes], y, strict=True)
    assert_array_equal(codes, np.array([1, 0, 1], dtype=np.int32), strict=True)
    assert [type(label) for label in classes[codes].tolist()] == [type(label) for label in y.tolist()]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (pd.Series(["b", "a", "b"]), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pd.Categorical(["b", "a", "b"]), ["a", "b"]),
        (pd.Series([2, 1, 2], dtype="Int64"), [1, 2]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pl.Series(["b", "a", "b"]), ["a", "b"]),
        (pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])), ["a", "b"]),
        (pl.Series([True, False, True]), [False, True]),
        (pa.chunked_array([["b", "a"], ["b"]]), ["a", "b"]),
        (pa.array([2, 1, 2]), [1, 2]),
    ],
    ids=lambda value: type(value).__module__.split(".")[0],
)
def test_labels_of_every_library_are_read(y: Any, classes: list[Any]) -> None:
    found, codes = read_classes(y, 3)
    assert found.tolist() == classes
    assert [type(label) for label in found.tolist()] == [type(label) for label in classes]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (["a", "b"], "y has 2 values, but X has 3 rows"),
        (["a", None, "b"], "y is None in row 1"),
        ([1.0, 2.0, NAN], "y is nan in row 2"),
        ([1.0, 2.0, np.inf], "y is inf in row 2"),
        (pd.Series([1, 2, None], dtype="Int64"), "in row 2: leave out rows"),
        (np.array(["2020", "2021", "NaT"], dtype="M8[Y]"), "y is NaT in row 2"),
        ([0.5, 1.0, 2.0], r"Unknown label type: continuous.*0\.5.*use a regressor"),
        (np.array([0.5, 1.0, 2.0], dtype=object), "Unknown label type: continuous"),
        (np.array([1, "a", 2], dtype=object), "labels of types int, str"),
        (np.zeros((3, 2)), "y should be a 1d array"),
        ([[1], [1, 2], [3]], "inhomogeneous"),
    ],
)
def test_a_target_that_is_none_is_refused(y: Any, message: str) -> None:
    with pytest.raises(InvalidTarget, match=message):
        read_classes(y, 3)


def test_one_class_is_refused() -> None:
    with pytest.raises(OneClassTarget, match="y has one class, 'yes', in all 2 rows"):
        read_classes(["yes", "yes"], 2)


def test_only_rows_of_positive_weight_count_as_classes() -> None:
    with pytest.raises(OneClassTarget, match="y has one class, 'yes', in all 1 rows of positive weight"):
        read_classes(["yes", "no"], 2, np.array([1.0, 0.0]))
    classes, _ = read_classes(["yes", "no", "maybe"], 3, np.array([1.0, 1.0, 0.0]))
    assert classes.tolist() == ["maybe", "no", "yes"]


@pytest.mark.parametrize("first", [np.array(["c", "a"]), np.array(["c", "a"], dtype=object)], ids=["str", "object"])
@pytest.mark.parametrize(
    "further", [["a", "c"], pd.Series(["a", "c"]), pl.Series(["a", "c"])], ids=["list", "pd", "pl"]
)
def test_a_further_target_takes_the_codes_and_the_type_of_the_first(first: np.ndarray, further: Any) -> None:
    classes, codes, further_codes = read_further_classes(further, 2, *read_classes(first, 2))
    assert_array_equal(classes[codes], first, strict=True)
    assert_array_equal(further_codes, np.array([0, 1], dtype=np.int32), strict=True)


def test_a_further_target_may_bring_classes_of_its_own() -> None:
    classes, codes, further_codes = read_further_classes(["b", "d"], 2, *read_classes(["a", "c", "a"], 3))
    assert classes.tolist() == ["a", "b", "c", "d"]
    assert codes.tolist() == [0, 2, 0]
    assert further_codes.tolist() == [1, 3]


@pytest.mark.parametrize("further", [[1, 2], np.array([1, 2], dtype=object)], ids=["int", "object"])
def test_a_further_target_of_another_type_is_refused(further: Any) -> None:
    with pytest.raises(InvalidTarget, match="one type"):
        read_further_classes(further, 2, *read_classes(["a", "b"], 2))


@pytest.mark.parametrize(
    "y",
    [[1, 2, 4], np.array([1, 2, 4], dtype=object), pd.Series([1, 2, 4], dtype="Int64"), pl.Series([1, 2, 4])],
    ids=lambda y: type(y).__name__,
)
def test_a_numeric_target_becomes_float64(y: Any) -> None:
    assert_array_equal(read_target(y, 3), np.array([1.0, 2.0, 4.0]), strict=True)


@pytest.mark.parametrize("y", [[1, NAN], [1, np.inf], [1, None], ["a", "b"], [1, 2, 3], None], ids=str)
def test_a_numeric_target_that_is_none_is_refused(y: Any) -> None:
    with pytest.raises(InvalidTarget):
        read_target(y, 2)


def test_a_constant_target_is_refused() -> None:
    with pytest.raises(ConstantTarget, match=r"y is 5\.0 in all 2 samples"):
        read_target([5, 5], 2)
    with pytest.raises(ConstantTarget, match=r"y is 5\.0 in 1 sample of positive weight"):
        read_target([5, 6], 2, np.array([1.0, 0.0]))


def test_a_further_numeric_target_may_be_constant() -> None:
    assert_array_equal(read_further_target(pl.Series([5, 5]), 2), np.array([5.0, 5.0]), strict=True)
    with pytest.raises(InvalidTarget, match="y is nan in row 1"):
        read_further_target([5, NAN], 2)


# --- weights ---


def test_weights_become_float64() -> None:
    assert read_weights(None, 3) is None
    for weights in ([1, 0, 2], pd.Series([1, 0, 2]), pl.Series([1, 0, 2]), pa.array([1, 0, 2])):
        assert_array_equal(read_weights(weights, 3), np.array([1.0, 0.0, 2.0]), strict=True)
    assert_array_equal(read_weights(2, 3), np.array([2.0, 2.0, 2.0]), strict=True)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], r"sample_weight is -1\.0 in row 1"),
        ([1, NAN, 1], "sample_weight is nan in row 1"),
        ([1, 1, np.inf], "sample_weight is inf in row 2"),
        ([0, 0, 0], "sample_weight is zero in every row"),
        ([1, 1], r"shape \(2,\), but X has 3 rows"),
        ([[1, 1, 1]], r"shape \(1, 3\), but X has 3 rows"),
        (["a", "b", "c"], "no number"),
    ],
)
def test_weights_that_are_none_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InvalidWeights, match=message):
        read_weights(weights, 3)


# --- what scikit-learn asks of an estimator behind this border ---


class MostFrequentClass(ClassifierMixin, BaseEstimator):
    """The smallest classifier that uses the border."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MostFrequentClass":
        self.encoder_, values = read_training_columns(self, X)
        weights = read_weights(sample_weight, len(values))
        self.classes_, codes = read_classes(y, len(values), weights)
        counts = np.bincount(codes, weights, minlength=len(self.classes_))
        self.share_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.tile(self.share_, (len(read_columns(self, self.encoder_, X)), 1))

    def predict(self, X: Any) -> np.ndarray:
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class MeanTarget(RegressorMixin, BaseEstimator):
    """The smallest regressor that uses the border."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MeanTarget":
        self.encoder_, values = read_training_columns(self, X)
        weights = read_weights(sample_weight, len(values))
        self.mean_ = np.average(read_target(y, len(values), weights), weights=weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.full(len(read_columns(self, self.encoder_, X)), self.mean_)


@parametrize_with_checks([MostFrequentClass(), MeanTarget()])
def test_scikit_learn_accepts_the_border(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def test_every_refusal_is_a_tremula_error_and_a_builtin() -> None:
    for refusal in (ColumnMismatch, InfiniteValue, InvalidParameter, InvalidTarget, InvalidWeights, UnsupportedType):
        assert issubclass(refusal, TremulaError)
        assert issubclass(refusal, ValueError)
    assert issubclass(UnsupportedType, TypeError)
