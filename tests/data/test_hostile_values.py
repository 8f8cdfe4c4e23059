"""Values that NumPy, SciPy or narwhals would misread or fail on: refused with a clear error, or read as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array

import tremula as tm
from tremula.errors import InfiniteValue, InvalidInput, InvalidTarget, InvalidWeights, NotStorable

ROWS = np.random.default_rng(0).normal(size=(24, 3))
NUMBERS = ROWS[:, 0] ** 2
CLASSES = np.where(ROWS[:, 0] > 0, "b", "a")
KINDS = [csr_array, csc_array, bsr_array]


def broken(kind: Any, name: str, value: int) -> Any:
    """Return a sparse table with one wrong index."""
    X = kind(np.where(ROWS > 0, ROWS, 0.0))
    changed = getattr(X, name).copy()
    changed[len(changed) // 2] = value
    setattr(X, name, changed)
    return X


@pytest.mark.parametrize("value", [10**6, -5, 2**31 - 1])
@pytest.mark.parametrize("name", ["indices", "indptr"])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_tables_with_cells_outside_are_refused(kind: Any, name: str, value: int) -> None:
    forest = tm.RandomForestClassifier(n_estimators=2, random_state=0).fit(kind(ROWS), CLASSES)
    for use in (lambda X: tm.CARTClassifier().fit(X, CLASSES), forest.predict):
        with pytest.raises(InvalidInput, match="24 rows and 3 columns, but has cells outside"):
            use(broken(kind, name, value))


@pytest.mark.parametrize("place", [0, 1])
def test_coordinates_outside_are_refused(place: int) -> None:
    X = coo_array(ROWS)
    X.coords = tuple(axis.copy() for axis in X.coords)
    X.coords[place][3] = 10**6
    with pytest.raises(InvalidInput, match="has cells outside"):
        tm.CARTRegressor().fit(X, NUMBERS)


def test_sparse_tables_with_spare_room_are_read() -> None:
    X = csr_array(ROWS)
    roomy = csr_array((np.append(X.data, 7.0), np.append(X.indices, 0), X.indptr), shape=X.shape)
    fitted = tm.CARTRegressor().fit(roomy, NUMBERS)
    np.testing.assert_array_equal(fitted.predict(roomy), tm.CARTRegressor().fit(X, NUMBERS).predict(ROWS))


def test_masked_values_are_refused() -> None:
    mask = np.arange(24) < 3
    tree = tm.CARTRegressor().fit(ROWS, NUMBERS)
    with pytest.raises(InvalidInput, match=r"X is a masked array, and 9 values are masked: give X.filled\(np.nan\)"):
        tree.predict(np.ma.masked_array(ROWS, np.column_stack([mask] * 3)))
    with pytest.raises(InvalidInput, match="y is a masked array, and 3 values are masked: leave out these rows"):
        tm.CARTRegressor().fit(ROWS, np.ma.masked_array(NUMBERS, mask))
    with pytest.raises(InvalidInput, match="y is a masked array, and 6 values"):
        tm.CARTRegressor().fit(ROWS, np.ma.masked_array(ROWS[:, :2], np.column_stack([mask] * 2)))
    with pytest.raises(InvalidInput, match="sample_weight is a masked array"):
        tm.CARTRegressor().fit(ROWS, NUMBERS, sample_weight=np.ma.masked_array(np.ones(24), mask))
    nothing_masked = np.ma.masked_array(ROWS, np.zeros(ROWS.shape, bool))
    np.testing.assert_array_equal(tree.predict(nothing_masked), tree.predict(ROWS))


def test_whole_numbers_beyond_float64_are_refused() -> None:
    frame = pd.DataFrame({"x": ROWS[:, 0], "n": pd.Series([10**400, 1] * 12, dtype=object)})
    with pytest.raises(InfiniteValue, match="column 'n' holds a whole number beyond"):
        tm.CARTClassifier().fit(frame, CLASSES)
    with pytest.raises(InfiniteValue, match="y holds a whole number beyond"):
        tm.CARTRegressor().fit(ROWS, np.array([10**400, 1] * 12, dtype=object))
    with pytest.raises(InvalidWeights, match="too large"):
        tm.CARTRegressor().fit(ROWS, NUMBERS, sample_weight=[10**400] * 24)


@pytest.mark.parametrize("dtype", ["c16", "M8[s]", "m8[s]", "U3"])
def test_weights_that_are_no_real_numbers_are_refused(dtype: str) -> None:
    with pytest.raises(InvalidWeights, match="they are of type"):
        tm.CARTRegressor().fit(ROWS, NUMBERS, sample_weight=np.arange(1, 25).astype(dtype))


def test_targets_of_the_same_name_are_refused() -> None:
    y = pd.DataFrame(np.column_stack([CLASSES, CLASSES]), columns=["y", "y"])
    with pytest.raises(InvalidTarget, match="y has several columns of the same name"):
        tm.CARTClassifier().fit(ROWS, y)


@pytest.mark.parametrize("dtype", [object, "category"])
def test_levels_that_differ_by_a_nul_at_the_end_stay_apart(dtype: Any, tmp_path: Path) -> None:
    levels = pd.Categorical.from_codes([1, 0, 2] * 8, ["a", "a\0", "b"])  # pandas 2 would merge them itself
    frame = pd.DataFrame({"s": levels}).astype(dtype)
    labels = ["p", "q", "q"] * 8
    tree = tm.CARTClassifier().fit(frame, labels)
    tm.save(tree, tmp_path / "tree")
    for each in (tree, tm.load(tmp_path / "tree")):
        assert each.predict(frame).tolist() == labels
        assert each.encoder_.levels[0].tolist() == ["a", "a\0", "b"]


def test_classes_that_files_cannot_hold_are_refused_when_saved(tmp_path: Path) -> None:
    y = pd.Series([(1,), (2,)] * 12)
    tree = tm.CARTClassifier().fit(ROWS, y)
    with pytest.raises(NotStorable, match=r"classes_\[0\] is of type"):
        tm.save(tree, tmp_path / "tree")
