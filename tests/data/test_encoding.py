"""Tables of every kind are read correctly, or refused with a helpful message."""

import pickle
from collections.abc import Callable
from datetime import date, datetime
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

from tremula import ID3Classifier
from tremula.data.column import BLOCK, FEW_ROWS, Numbers
from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.data.target import read_classes, read_target, read_weights
from tremula.errors import (
    ColumnMismatch,
    InfiniteValue,
    InvalidInput,
    InvalidParameter,
    InvalidTarget,
    InvalidWeights,
    TremulaError,
    UnsupportedType,
)

NAN = float("nan")
FRAMES: list[Callable[[dict[str, Any]], Any]] = [pd.DataFrame, pl.DataFrame, pa.table]
every_frame = pytest.mark.parametrize("make_frame", FRAMES, ids=["pandas", "polars", "pyarrow"])


class TableReader(TableInputMixin, BaseEstimator):
    """An estimator that does nothing but read tables."""


def learn(X: Any, categorical_features: Any = "from_dtype") -> tuple[ColumnEncoder, np.ndarray]:
    return ColumnEncoder.learn(X, categorical_features)


def learn_and_read(X: Any, X_new: Any, categorical_features: Any = "from_dtype") -> np.ndarray:
    estimator = TableReader()
    encoder, _ = estimator._learn_columns(X, categorical_features)
    values = estimator._encode_columns(encoder, X_new)
    assert_array_equal(encoder.encode(X_new), values, strict=True)
    return values


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


def test_all_makes_every_column_of_an_array_nominal() -> None:
    X = np.array([[30.0, 5], [10, 6], [NAN, 5]])
    encoder, values = learn(X, "all")
    assert encoder.levels[0].tolist() == [10.0, 30.0]
    assert encoder.levels[1].tolist() == [5.0, 6.0]
    assert_array_equal(values, [[1, 0], [0, 1], [NAN, 0]])
    assert_array_equal(learn_and_read(X, np.array([[20.0, 6.0]]), "all"), [[NAN, 1]])


@every_frame
def test_all_makes_every_column_of_a_frame_nominal(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    encoder, values = learn(make_frame({"size": [2.5, 1.5], "color": ["red", "blue"], "old": [True, True]}), "all")
    assert [levels.tolist() for levels in encoder.levels] == [[1.5, 2.5], ["blue", "red"], [False, True]]
    assert_array_equal(values, [[1, 1, 1], [0, 0, 1]])


def test_id3_learns_from_numbers_taken_as_levels() -> None:
    X, y = [[0, 7], [0, 9], [3, 7], [3, 9], [8, 7], [8, 9]], ["a", "a", "b", "b", "a", "a"]
    with pytest.raises(UnsupportedType, match="column 0 is numeric"):
        ID3Classifier().fit(X, y)
    tree = ID3Classifier(categorical_features="all").fit(X, y)
    assert tree.get_n_leaves() == 3
    assert tree.predict([[3, 7], [8, 7]]).tolist() == ["b", "a"]
    assert_array_equal(tree.predict_proba([[5, 7]]), tree.predict_proba([[NAN, 7]]))


@pytest.mark.parametrize("choice", [None, [], [False, False]], ids=str)
def test_nothing_is_nominal_where_nothing_is_chosen(choice: Any) -> None:
    assert learn(np.zeros((3, 2)), choice)[0].n_levels.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("from_types", "'from_dtype', 'all', None, or a list"),
        (1, "'from_dtype', 'all', None, or a list"),
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
        (pd.DataFrame({"took": pd.to_timedelta([1], "s")}), "column 'took' is of type Duration"),
        (pl.DataFrame({"parts": [[1, 2]]}), "column 'parts' is of type List.*neither numeric nor nominal"),
        (pd.DataFrame({"z": [1j]}), "column 'z' is of type complex128"),
        (pd.DataFrame({"mixed": [1, "a"]}, dtype=object), "column 'mixed' holds values of type int, str"),
        (pd.DataFrame({"nested": [{"a": 1}]}, dtype=object), "column 'nested' holds values of type dict"),
        (np.array([[{"a": 1}, 1.0]], dtype=object), "column 0 .* argument must be a string or a number"),
        (np.array([[1.0, "a"]], dtype=object), "column 1 holds 'a' where numbers were expected.*categorical_features"),
        (np.array([["1"]]), "column 0 holds '1' where numbers were expected"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), "named by strings and by other values .*: give every column"),
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


# --- frames of plain numbers, which prediction reads in a faster way ---

NUMBERS_LIKE_IN_FIT: dict[str, Any] = {
    "float": [0.5, 1.5],
    "float with a missing value": [0.5, None],
    "int": [2**53 + 1, 3],
    "int with a missing value": [7, None],
    "bool": [True, False],
    "decimal": [Decimal("1.5"), Decimal(2)],
}
POLARS_INTEGERS = [pl.Int8, pl.UInt16, pl.Int32, pl.UInt64, pl.Int128]


@every_frame
@pytest.mark.parametrize("column", NUMBERS_LIKE_IN_FIT.values(), ids=NUMBERS_LIKE_IN_FIT)
def test_numbers_of_every_type_are_read_in_prediction_as_in_fit(
    make_frame: Callable[[dict[str, Any]], Any], column: list[Any]
) -> None:
    frame = make_frame({"x": column, "size": [3.0, 4.0]})
    expected = [[NAN if value is None else float(value), size] for value, size in zip(column, [3.0, 4.0])]
    values = learn_and_read(frame, frame, None)
    assert_array_equal(values, np.array(expected), strict=True)
    assert values.flags.forc


@pytest.mark.parametrize("dtype", POLARS_INTEGERS, ids=str)
def test_integers_of_every_size_are_read_in_prediction(dtype: Any) -> None:
    frame = pl.DataFrame({"a": pl.Series([1, 2], dtype=dtype), "b": pl.Series([3, None], dtype=dtype)})
    assert_array_equal(learn_and_read(frame, frame), [[1, 3], [2, NAN]])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "category", object, "Sparse[float64]"])
def test_pandas_types_of_numbers_are_read_in_prediction(dtype: Any) -> None:
    fit = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    new = pd.DataFrame({"x": pd.Series([1, 2], dtype=dtype), "y": [3.0, 4.0]})
    assert_array_equal(learn_and_read(fit, new), [[1, 3], [2, 4]])


@every_frame
def test_what_was_numbers_in_fit_must_be_numbers_in_prediction(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    fit = make_frame({"born": [1.0, 2.0], "size": [1.0, 2.0]})
    with pytest.raises(UnsupportedType, match="column 'born' is of type Date"):
        learn_and_read(fit, make_frame({"born": [datetime(2020, 1, 1)], "size": [1.0]}))
    with pytest.raises(UnsupportedType, match="column 'born' holds '1' where numbers were expected"):
        learn_and_read(fit, make_frame({"born": ["1"], "size": [1.0]}))
    with pytest.raises(InfiniteValue, match="column 'size' is infinite"):
        learn_and_read(fit, make_frame({"born": [1.0], "size": [np.inf]}))
    with pytest.raises(InvalidInput, match="0 rows and 2 columns"):
        learn_and_read(fit, fit[:0] if make_frame is not pa.table else fit.slice(0, 0))


# --- columns other than in fit ---


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(ColumnMismatch, match="X has 2 features, but TableReader is expecting 3 features as input"):
        learn_and_read(np.zeros((2, 3)), np.zeros((2, 2)))


@every_frame
def test_a_misspelt_column_gets_a_hint(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(ColumnMismatch, match=r"unseen at fit time:\n- incme(.|\n)*'incme': did you mean 'income'"):
        learn_and_read(make_frame({"age": [1], "income": [2]}), make_frame({"age": [1], "incme": [2]}))


@every_frame
def test_columns_in_another_order_are_refused(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(ColumnMismatch, match="must be in the same order"):
        learn_and_read(make_frame({"a": [1], "b": [2]}), make_frame({"b": [1], "a": [2]}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((1, 3)), r"X has 3 columns, but 2 were expected\. Give the columns of fit"),
        (pd.DataFrame({"age": [1.0]}), "X has 1 columns, but 2 were expected"),
        (
            pd.DataFrame({"age": [1.0], "incme": [2.0]}),
            r"X has the columns 'age', 'incme', but 'age', 'income' were.*'incme': did you mean 'income'\?",
        ),
        (pl.DataFrame({"income": [1.0], "age": [2.0]}), r"X has the columns 'income', 'age', but 'age', 'income' were"),
    ],
)
def test_an_encoder_refuses_other_columns_without_an_estimator(X: Any, message: str) -> None:
    encoder, _ = learn(pd.DataFrame({"age": [1.0], "income": [2.0]}))
    with pytest.raises(ColumnMismatch, match=message):
        encoder.encode(X)


def test_an_encoder_takes_columns_without_names_by_their_position() -> None:
    encoder, _ = learn(pd.DataFrame({"age": [1.0], "color": ["red"]}))
    assert_array_equal(encoder.encode([[3.0, "red"]]), [[3.0, 0.0]])
    with pytest.raises(InfiniteValue, match="column 'age' is infinite"):
        encoder.encode(np.array([[np.inf, 0.0]]))


def test_an_array_of_another_width_is_refused_after_a_frame() -> None:
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ColumnMismatch, match="X has 1 features"),
    ):
        learn_and_read(pd.DataFrame({"a": [1.0], "b": [2.0]}), np.zeros((1, 1)))


def test_the_estimator_learns_number_and_names_of_columns() -> None:
    estimator = TableReader()
    estimator._learn_columns(pl.DataFrame({"a": [1], "b": [2]}), None)
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    estimator._learn_columns(np.zeros((2, 3)), None)
    assert estimator.n_features_in_ == 3
    assert not hasattr(estimator, "feature_names_in_")


def test_an_encoder_survives_pickling() -> None:
    frame = pd.DataFrame({"color": ["red", "blue"]})
    estimator = TableReader()
    encoder, values = estimator._learn_columns(frame)
    assert_array_equal(estimator._encode_columns(pickle.loads(pickle.dumps(encoder)), frame), values)


# --- scikit-learn's checks of estimators that read tables ---


class MostFrequentClass(ClassifierMixin, TableInputMixin, BaseEstimator):
    """The smallest classifier that reads tables."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MostFrequentClass":
        self.encoder_, values = self._learn_columns(X)
        weights = read_weights(sample_weight, len(values))
        self.classes_, codes = read_classes(y, len(values), weights)
        counts = np.bincount(codes, weights, minlength=len(self.classes_))
        self.share_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.tile(self.share_, (len(self._encode_columns(self.encoder_, X)), 1))

    def predict(self, X: Any) -> np.ndarray:
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class MeanTarget(RegressorMixin, TableInputMixin, BaseEstimator):
    """The smallest regressor that reads tables."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MeanTarget":
        self.encoder_, values = self._learn_columns(X)
        weights = read_weights(sample_weight, len(values))
        self.mean_ = np.average(read_target(y, len(values), weights), weights=weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.full(len(self._encode_columns(self.encoder_, X)), self.mean_)


@parametrize_with_checks([MostFrequentClass(), MeanTarget(), ID3Classifier(categorical_features="all")])
def test_scikit_learns_checks(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def test_every_refusal_is_a_tremula_error_and_a_builtin() -> None:
    for refusal in (ColumnMismatch, InfiniteValue, InvalidParameter, InvalidTarget, InvalidWeights, UnsupportedType):
        assert issubclass(refusal, TremulaError)
        assert issubclass(refusal, ValueError)
    assert issubclass(UnsupportedType, TypeError)


@pytest.mark.parametrize(
    "levels",
    [[0.0, 1.0, 2.0], [0.0, 2.0, 5.0], [7.0], [5.0, 0.0, 2.0], [0.0, 0.5, 1.0], [-1.0, 0.0, 1.0], [3.0, 999.0, 1e6]],
)
def test_codes_of_numbers_are_the_places_of_their_levels(levels: list[float]) -> None:
    numbers = np.array([0.0, -0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 0.5, 1.9999, -1.0, 999.0, 1e6, 1e300, np.nan])
    codes = Numbers("x", numbers).encode(np.array(levels))
    expected = [levels.index(number) if number in levels else np.nan for number in numbers.tolist()]
    np.testing.assert_array_equal(codes, expected)
    assert not np.signbit(codes).any()


# --- dates ---

MOMENTS = [datetime(1970, 1, 2, 12), None, datetime(2024, 5, 31)]
IN_DAYS = [1.5, np.nan, 19874.0]


@pytest.mark.parametrize(
    "X",
    [
        np.array(MOMENTS, dtype="M8[ms]")[:, np.newaxis],
        pd.DataFrame({"born": pd.to_datetime(MOMENTS)}),
        pd.DataFrame({"born": pd.to_datetime(MOMENTS).tz_localize("UTC").tz_convert("Asia/Tokyo")}),
        pd.DataFrame({"born": MOMENTS}, dtype=object),
        pl.DataFrame({"born": MOMENTS}),
        pa.table({"born": MOMENTS}),
    ],
    ids=["array", "pandas", "with a time zone", "objects", "polars", "pyarrow"],
)
def test_dates_are_read_as_days_since_1970(X: Any) -> None:
    encoder, values = ColumnEncoder.learn(X)
    np.testing.assert_array_equal(values[:, 0], IN_DAYS)
    np.testing.assert_array_equal(encoder.encode(X)[:, 0], IN_DAYS)
    assert encoder.dates == (0,)


def test_days_without_hours_and_later_numbers_of_days() -> None:
    encoder, values = ColumnEncoder.learn(pl.DataFrame({"born": [date(1970, 1, 3), date(1970, 1, 1)]}))
    assert values[:, 0].tolist() == [2.0, 0.0]
    assert encoder.encode(pl.DataFrame({"born": [5]})).tolist() == [[5.0]]
