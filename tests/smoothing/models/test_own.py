"""Trees read from tremula's own models answer as the models do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import ColumnMismatch, InvalidInput, UnsupportedModel
from tremula.smoothing.models import read_model

RANDOM = np.random.default_rng(0)
N_ROWS = 120
FRAME = pd.DataFrame(
    {
        "size": RANDOM.normal(size=N_ROWS),
        "color": pd.Categorical(RANDOM.choice(["red", "green", "blue"], N_ROWS)),
        "age": RANDOM.normal(size=N_ROWS).round(1),
    }
)
CLASSES = np.where(FRAME["size"] + (FRAME["color"] == "red") > FRAME["age"], "yes", "no")
CLASSES[FRAME["size"] > 1] = "may"
NUMBER = FRAME["size"].to_numpy() + FRAME["age"].to_numpy() ** 2
WITH_HOLES = FRAME.mask(RANDOM.random(FRAME.shape) < 0.15)
NUMERIC = FRAME[["size", "age"]].to_numpy()

TREES = [tm.C45Classifier(), tm.REPTreeClassifier(random_state=0), tm.CARTClassifier()]
TREE_REGRESSORS = [tm.REPTreeRegressor(random_state=0), tm.CARTRegressor()]
AVERAGES = [
    tm.BaggingClassifier(n_estimators=4, random_state=0),
    tm.RandomForestClassifier(n_estimators=4, random_state=0),
    tm.ExtraTreesClassifier(n_estimators=4, random_state=0),
    tm.RandomSubspaceClassifier(n_estimators=4, random_state=0),
    tm.DaggingClassifier(n_estimators=4, random_state=0),
    tm.DecorateClassifier(n_estimators=3, random_state=0),
    tm.OutputSmearingClassifier(n_estimators=4, random_state=0),
    tm.OutputSmearingClassifier(n_estimators=4, method="smear", random_state=0),
    tm.PerturbCombineClassifier(tm.C45Classifier(), perturb=[], n_estimators=2, random_state=0),
]
VOTES = [
    tm.BaggingClassifier(n_estimators=4, combine="vote", random_state=0),
    tm.RandomizedC45Classifier(n_estimators=4, random_state=0),
    tm.AdaBoostM1Classifier(n_estimators=4, random_state=0),
    tm.ThreeBoostClassifier(random_state=0),
]
REGRESSORS = [
    tm.BaggingRegressor(n_estimators=4, random_state=0),
    tm.RandomForestRegressor(n_estimators=4, random_state=0),
    tm.ExtraTreesRegressor(n_estimators=4, random_state=0),
    tm.OutputSmearingRegressor(n_estimators=4, random_state=0),
]


def difference(fitted: Any, table: Any) -> float:
    model = read_model(fitted)
    return float(np.abs(model.answers(table) - model.unsmoothed(table)).max())


@pytest.mark.parametrize("estimator", TREES + AVERAGES, ids=str)
def test_classes_with_nominal_and_missing_values(estimator: Any) -> None:
    fitted = estimator.fit(WITH_HOLES, CLASSES)
    assert difference(fitted, WITH_HOLES) < 1e-12
    assert read_model(fitted).classes.tolist() == ["may", "no", "yes"]


def test_a_tree_of_nominal_attributes() -> None:
    table = FRAME[["color"]].assign(old=pd.Categorical(np.where(FRAME["age"] > 0, "yes", "no")))
    assert difference(tm.ID3Classifier().fit(table, CLASSES), table) < 1e-12


@pytest.mark.parametrize("estimator", TREE_REGRESSORS + REGRESSORS, ids=str)
def test_numbers_with_nominal_and_missing_values(estimator: Any) -> None:
    assert difference(estimator.fit(WITH_HOLES, NUMBER), WITH_HOLES) < 1e-12


@pytest.mark.parametrize("estimator", VOTES, ids=str)
def test_votes(estimator: Any) -> None:
    fitted = estimator.fit(FRAME, CLASSES)
    assert difference(fitted, FRAME) < 1e-12
    assert all(np.isin(tree.values, [0.0, 1.0]).all() for tree in read_model(fitted).sum.trees)


def test_levels_and_names_are_those_of_the_training() -> None:
    model = read_model(tm.C45Classifier().fit(FRAME, CLASSES))
    assert model.feature_names == ("size", "color", "age")
    assert model.levels[1].tolist() == ["blue", "green", "red"]
    assert model.n_levels.tolist() == [0, 3, 0]
    with pytest.raises(ColumnMismatch, match="did you mean 'age'"):
        model.rows(FRAME.rename(columns={"age": "aged"}))


@pytest.mark.parametrize("kind", ["category", "str", "bool"])
def test_columns_named_by_numbers_have_noise(kind: str) -> None:
    """`frame[0]` is a row of some frames, and sampling asked it for the type of a column."""
    named = FRAME.assign(color=(FRAME["color"] == "red") if kind == "bool" else FRAME["color"].astype(kind))
    numbered = named.set_axis([2, 1, 0], axis=1)
    model = tm.DualPerturbRegressor(tm.CARTRegressor(max_depth=3), noise=0.3, method="sample", random_state=0)
    expected = clone(model).fit(named, NUMBER).predict(named)
    assert np.array_equal(model.fit(numbered, NUMBER).predict(numbered), expected)


@pytest.mark.parametrize(
    "ensemble",
    [
        tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0),
        tm.BaggingClassifier(TheirForest(2), n_estimators=3, random_state=0),
        tm.RandomSubspaceClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0),
        tm.AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
    ],
    ids=str,
)
def test_members_of_another_library(ensemble: Any) -> None:
    assert difference(ensemble.fit(NUMERIC, CLASSES), NUMERIC) < 1e-9


def test_a_member_that_saw_one_class() -> None:
    few = tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=5, max_samples=2, random_state=0)
    assert difference(few.fit(NUMERIC, CLASSES), NUMERIC) < 1e-9


def test_regressors_of_another_library() -> None:
    bagging = tm.BaggingRegressor(DecisionTreeRegressor(), n_estimators=3, random_state=0)
    assert difference(bagging.fit(NUMERIC, NUMBER), NUMERIC) < 1e-9


def test_votes_of_forests_are_no_sum() -> None:
    bagging = tm.BaggingClassifier(TheirForest(2), n_estimators=2, combine="vote").fit(NUMERIC, CLASSES)
    with pytest.raises(UnsupportedModel, match="no single trees"):
        read_model(bagging)


def test_votes_of_a_regressor_for_each_class_are_no_sum() -> None:
    smeared = tm.OutputSmearingClassifier(n_estimators=2, method="smear", combine="vote").fit(FRAME, CLASSES)
    with pytest.raises(UnsupportedModel, match="such a vote is no sum of trees: use combine='average'"):
        read_model(smeared)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (tm.M5Regressor(), "models in the leaves of its tree.*or use method="),
        (tm.BaggingRegressor(tm.M5Regressor(), n_estimators=2), "members of type ModelTree, which are not trees"),
    ],
    ids=["tree", "ensemble"],
)
def test_linear_models_in_leaves_are_not_read(estimator: Any, message: str) -> None:
    fitted = estimator.fit(NUMERIC, NUMBER)
    with pytest.raises(UnsupportedModel, match=message):
        read_model(fitted)


def test_an_ensemble_of_other_estimators_is_no_tree_sum_by_itself() -> None:
    bagging = tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=2).fit(NUMERIC, CLASSES)
    with pytest.raises(UnsupportedModel, match="members of type DecisionTreeClassifier, which are not trees"):
        bagging.as_tree_sum()


def test_members_of_a_sum_are_those_of_the_ensemble() -> None:
    smeared = tm.OutputSmearingClassifier(n_estimators=4, method="smear", random_state=0).fit(FRAME, CLASSES)
    whole = smeared.as_tree_sum()
    assert (whole.n_members, len(whole.trees)) == (4, 12)
    assert whole.tree_members.tolist() == np.repeat(np.arange(4), 3).tolist()
    bagging = tm.BaggingClassifier(n_estimators=4, random_state=0).fit(FRAME, CLASSES)
    assert bagging.as_tree_sum().tree_members.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("oob_score", [True, False])
def test_rows_left_out_give_the_models_own_answers(oob_score: bool) -> None:
    bagging = tm.BaggingClassifier(n_estimators=15, oob_score=True, random_state=0).fit(FRAME, CLASSES)
    expected = bagging.oob_decision_function_
    if not oob_score:
        bagging = tm.BaggingClassifier(n_estimators=15, random_state=0).fit(FRAME, CLASSES)
    model = read_model(bagging)
    is_out = model.inbag_counts(FRAME, CLASSES) == 0
    rows, total = model.rows(FRAME), np.zeros((N_ROWS, 3))
    for member, tree in enumerate(model.sum.trees):
        total[is_out[member]] += tree.predict_values(rows[is_out[member]])
    judged = is_out.any(axis=0)
    assert np.allclose((total / is_out.sum(axis=0, keepdims=True).T)[judged], expected[judged])


def test_rows_left_out_are_told_for_the_rows_of_the_training_alone() -> None:
    model = read_model(tm.BaggingClassifier(n_estimators=3).fit(FRAME, CLASSES))
    with pytest.raises(InvalidInput, match="give the rows of fit again"):
        model.inbag_counts(FRAME, CLASSES[::-1])


def test_boosting_leaves_no_rows_out() -> None:
    assert not read_model(tm.AdaBoostM1Classifier(n_estimators=3).fit(FRAME, CLASSES)).knows_inbag


@pytest.mark.parametrize("estimator", [tm.C45Classifier(), tm.CARTRegressor(), tm.BaggingClassifier()], ids=str)
def test_not_fitted(estimator: Any) -> None:
    with pytest.raises(NotFittedError):
        read_model(estimator)


@pytest.mark.parametrize("combine", ["average", "vote"])
def test_an_ensemble_from_counts(combine: str) -> None:
    classifier = tm.SimulatedBaggingClassifier(n_estimators=3, combine=combine, random_state=0).fit(FRAME, CLASSES)
    np.testing.assert_allclose(read_model(classifier).answers(FRAME), classifier.predict_proba(FRAME))


def test_an_ensemble_of_numbers_from_counts() -> None:
    regressor = tm.SimulatedBaggingRegressor(n_estimators=3, random_state=0).fit(FRAME, NUMBER)
    np.testing.assert_allclose(read_model(regressor).answers(FRAME)[:, 0], regressor.predict(FRAME))
