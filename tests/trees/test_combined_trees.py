"""Predictions from small copies of trees are those of the members, one after the other, to the last bit."""

import gc
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import tremula as tm
from tremula.aspen.boosted_corrections import add_corrections
from tremula.combine import combine_members
from tremula.trees import combined_trees as module
from tremula.trees.combined_trees import CombinedTrees, combined_trees

FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
CLASSIFIERS = [
    tm.RandomForestClassifier(**FEW),
    tm.ExtraTreesClassifier(**FEW),
    tm.BaggingClassifier(tm.C45Classifier(), **FEW),
    tm.BaggingClassifier(tm.CARTClassifier(max_depth=2), combine="vote", **FEW),
    tm.AdaBoostM1Classifier(**FEW),
    tm.OutputSmearingClassifier(**FEW),
    tm.OutputSmearingClassifier(method="smear", **FEW),
    tm.SimulatedBaggingClassifier(**FEW),
]
REGRESSORS = [
    tm.RandomForestRegressor(**FEW),
    tm.BaggingRegressor(tm.CARTRegressor(max_depth=3), **FEW),
    tm.BaggingRegressor(tm.M5Regressor(), **FEW),
    tm.SimulatedBaggingRegressor(max_depth=3, **FEW),
]


def copied(model: Any) -> CombinedTrees:
    return combined_trees(model, model.members_, model._n_outputs, model.combine)


def by_members(model: Any, rows: np.ndarray) -> np.ndarray:
    """The answers of the members, one after the other."""
    weights = getattr(model, "member_weights_", None)
    answers = combine_members(model.members_, rows, len(rows), model._n_outputs, model.combine, weights)
    return np.asarray(model._as_outputs(answers)) if hasattr(model, "_as_outputs") else answers


def iris_with_gaps() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, y


def mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and levels, some missing."""
    rng = np.random.default_rng(1)
    numbers, levels = rng.normal(size=200).round(1), np.array(list("abcde"))[rng.integers(0, 5, 200)]
    y = (numbers > 0) ^ (levels < "c") ^ (rng.random(200) < 0.1)
    frame = pd.DataFrame({"number": numbers, "level": pd.Categorical(levels)})
    return frame.mask(rng.random((200, 2)) < 0.1), y.astype(int)


# --- the same answers ---


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_class_shares_are_those_of_the_members(model: Any, gaps: bool) -> None:
    X, y = iris_with_gaps() if gaps else load_iris(return_X_y=True)
    model = clone(model).fit(X, y)
    expected = by_members(model, X)
    for _ in range(30):  # the copy is made on the way
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert copied(model).nbytes > 0
    np.testing.assert_array_equal(model.predict_proba(X[:1]), expected[:1])
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_values_are_those_of_the_members(model: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = clone(model).fit(X, y)
    expected = by_members(model, X)[:, 0]
    for rows in (X, X, X[:1], X[:20], np.asfortranarray(X)):
        np.testing.assert_array_equal(model.predict(rows), expected[: len(rows)])
    has_trees = not isinstance(getattr(model, "estimator", None), tm.M5Regressor)
    assert (copied(model).nbytes > 0) == has_trees


@pytest.mark.parametrize("learner", [tm.C45Classifier(), tm.CARTClassifier(), tm.ID3Classifier()], ids=str)
def test_levels_and_missing_values_are_those_of_the_members(learner: Any) -> None:
    frame, y = mixed_table()
    if isinstance(learner, tm.ID3Classifier):
        frame = frame[["level"]]
    for combine in ("average", "vote"):
        model = tm.BaggingClassifier(learner, combine=combine, **FEW).fit(frame, y)
        expected = by_members(model, model._read_table(frame))
        for rows in (frame, frame, frame[:1]):
            np.testing.assert_array_equal(model.predict_proba(rows), expected[: len(rows)])
        assert copied(model).nbytes > 0


@pytest.mark.parametrize("gaps", [False, True])
def test_aspen_adds_members_and_corrections_in_their_order(gaps: bool) -> None:
    X, y = iris_with_gaps() if gaps else load_iris(return_X_y=True)
    model = tm.AspenClassifier(n_estimators=10, random_state=0).fit(X, y)
    rows = model._read_table(X)
    means = combine_members(model.members_, rows, len(rows), 3, "average", model.member_weights_)
    expected = model._blend()._corrected(means, add_corrections(model.corrections_, rows, 3))
    for _ in range(5):
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert combined_trees(model, model.members_, 3).nbytes > 0


def test_the_number_of_jobs_changes_no_bit() -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    rows = np.tile(X, (10, 1))
    one = model.predict_proba(rows)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict_proba(rows), one)


# --- when copies are made, and when they go ---


def test_the_copy_is_made_once_its_rows_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    n_nodes = np.mean([tree.n_nodes for tree in model.members_])
    monkeypatch.setattr(module, "ROWS_PER_CALL", 1)
    n_calls = int(np.ceil(module.ROWS_PER_NODE * n_nodes / 2))  # each with one row
    for _ in range(n_calls - 1):
        model.predict(X[:1])
    assert copied(model).nbytes == 0
    model.predict(X[:1])
    assert copied(model).nbytes > 0


def test_other_members_are_noticed() -> None:
    X, y = load_iris(return_X_y=True)
    model, other = (tm.RandomForestClassifier(n_estimators=5, random_state=seed).fit(X, y) for seed in (0, 1))
    model.predict(X)
    model.members_[0] = other.members_[0]
    np.testing.assert_array_equal(model.predict_proba(X), by_members(model, X))
    model.members_ = model.members_[:3]
    np.testing.assert_array_equal(model.predict_proba(X), by_members(model, X))
    model.fit(X, 2 - y)
    np.testing.assert_array_equal(model.predict_proba(X), by_members(model, X))
    model.set_params(n_estimators=9, warm_start=True).fit(X, 2 - y)
    np.testing.assert_array_equal(model.predict_proba(X), by_members(model, X))


def test_another_way_to_combine_is_noticed() -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.BaggingClassifier(tm.CARTClassifier(max_depth=2), **FEW).fit(X, y)
    averages = model.predict_proba(X)
    votes = model.set_params(combine="vote").predict_proba(X)
    np.testing.assert_array_equal(votes, by_members(model, X))
    assert (votes != averages).any()


def test_neither_pickles_nor_files_hold_the_copy(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    before, attributes = pickle.dumps(model), set(vars(model))
    expected = model.predict_proba(X)
    assert copied(model).nbytes > 0
    assert pickle.dumps(model) == before
    assert set(vars(model)) == attributes
    tm.save(model, tmp_path / "model.tremula")
    for same in (pickle.loads(before), tm.load(tmp_path / "model.tremula")):
        assert copied(same).nbytes == 0
        np.testing.assert_array_equal(same.predict_proba(X), expected)


def test_the_copy_goes_with_the_model() -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    model.predict(X)
    gc.collect()
    n_models = len(module._COMBINED)
    del model
    gc.collect()
    assert len(module._COMBINED) == n_models - 1


def test_a_tree_of_other_outputs_is_asked_itself() -> None:
    X, y = load_iris(return_X_y=True)
    two, three = tm.C45Classifier().fit(X[:100], y[:100]).tree_, tm.C45Classifier().fit(X, y).tree_
    both = CombinedTrees([three, two], 3, "average")
    both.expect(10_000)
    with pytest.raises(ValueError, match="out has shape"):
        both.means(X)


# --- the quick way reads tables as the thorough one does ---


@pytest.mark.parametrize("kind", ["f4", "f8", ">f8", "i8", "u1", "?"])
def test_arrays_of_any_numbers_are_read_alike(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    rows = X.astype(kind)
    expected = model.predict_proba(np.ascontiguousarray(rows, dtype=np.float64))
    for same in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], rows.tolist(), rows.astype(object)):
        np.testing.assert_array_equal(model.predict_proba(same), expected)
        np.testing.assert_array_equal(model.predict_proba(same[:1]), expected[:1])


@pytest.mark.parametrize(
    "rows",
    [np.ones((2, 3)), np.ones((2, 5)), np.ones(4), np.ones((0, 4)), np.full((1, 4), np.inf), np.ones((1, 1, 4))],
    ids=["narrow", "wide", "1-D", "empty", "infinite", "3-D"],
)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_errors_are_those_of_the_thorough_way(rows: np.ndarray, kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.RandomForestClassifier(**FEW).fit(X, y)
    model.predict(X)
    with pytest.raises(ValueError) as quick:  # noqa: PT011
        model.predict(rows.astype(kind))
    model.encoder_.__dict__["numeric_width"] = -1  # nothing is taken for a table of plain numbers
    with pytest.raises(ValueError) as thorough:  # noqa: PT011
        model.predict(rows.astype(kind))
    assert (type(quick.value), str(quick.value)) == (type(thorough.value), str(thorough.value))


def test_frames_are_read_as_arrays_and_names_are_checked() -> None:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = tm.RandomForestClassifier(**FEW).fit(frame, y)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(tm.RandomForestClassifier(**FEW).fit(X, y).predict_proba(X), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("abdc")])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame[:1])
