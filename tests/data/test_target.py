"""Targets and weights of every kind are read correctly, or refused with a helpful message."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from tremula import CARTClassifier, DualPerturbClassifier
from tremula.data.target import (
    check_validation_pair,
    read_classes,
    read_further_classes,
    read_further_target,
    read_target,
    read_weights,
)
from tremula.errors import ConstantTarget, InvalidInput, InvalidTarget, InvalidWeights, OneClassTarget

NAN = float("nan")


# --- classes ---


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
    with pytest.raises(OneClassTarget, match="y has one class, 'yes', in 1 row of positive weight"):
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


# --- numbers ---


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
        (["a", "b", "c"], "a value that is not a number"),
    ],
)
def test_weights_that_are_none_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InvalidWeights, match=message):
        read_weights(weights, 3)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([-128, 127, 5], np.int8), ([0, 255, 3], np.uint8), ([2**63 + 5, 2**63 + 7], np.uint64), ([-5, -3, -5], np.int64)],
)
def test_whole_numbers_keep_their_type_and_order(labels: list[int], dtype: type) -> None:
    given = np.array(labels * 100, dtype=dtype)
    classes, codes = read_classes(given, len(given))
    assert classes.dtype == given.dtype
    assert classes.tolist() == sorted(set(labels))
    assert (classes[codes] == given).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"X_val": [[1.0], [2.0]]}, "X_val was given without y_val: give both, or neither"),
        ({"y_val": [0, 1]}, "y_val was given without X_val: give both, or neither"),
    ],
)
def test_validation_rows_need_both_attributes_and_targets(rows: dict[str, Any], message: str) -> None:
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    for estimator in (CARTClassifier(ccp_alpha="validation"), DualPerturbClassifier(noise=0.1)):
        with pytest.raises(InvalidInput, match=f"^{message}$"):
            estimator.fit(X, y, **rows)
    assert not check_validation_pair(None, None)
    assert check_validation_pair([[1.0]], [0])
