"""A model that is trained again or changed after it was wrapped never gets an answer from its former trees."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import ModelChanged

X, y = make_classification(200, 5, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
OTHER = 1 - y[::-1]
SETTINGS: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
MODELS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(**SETTINGS),
    BaggingClassifier(DecisionTreeClassifier(max_depth=4), **SETTINGS),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **SETTINGS),
    GradientBoostingClassifier(**SETTINGS),
    tm.C45Classifier(),
    tm.RandomForestClassifier(**SETTINGS),
    tm.AdaBoostM1Classifier(n_estimators=5),
]


def booster(library: str) -> Any:
    if library == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=3)
    if library == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, max_depth=3, verbose=-1)
    if library == "catboost":
        return pytest.importorskip("catboost").CatBoostClassifier(
            n_estimators=5, max_depth=3, verbose=0, allow_writing_files=False
        )
    pytest.importorskip("treelite")
    return HistGradientBoostingClassifier(max_iter=5)


LIBRARIES = ["xgboost", "lightgbm", "catboost", "treelite"]


def check_noticed(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model.fit(X, y), noise=0.2).fit(X)
    before = soft.predict_proba(X)
    copies = [copy.deepcopy(soft), pickle.loads(pickle.dumps(soft))]
    model.fit(X, OTHER)
    for method in (soft.predict, soft.predict_proba, soft.certified_radius, soft.gradient, soft.smooth):
        with pytest.raises(ModelChanged, match="Fit the wrapper again"):
            method(X)
    for again in copies:
        assert np.array_equal(again.predict_proba(X), before)
    for again in (copy.deepcopy(soft), pickle.loads(pickle.dumps(soft))):
        with pytest.raises(ModelChanged):
            again.predict(X)
    expected = tm.DualPerturbClassifier(model, noise=0.2).fit(X).predict_proba(X)
    assert np.array_equal(soft.fit(X).predict_proba(X), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_trained_again_is_noticed(model: Any) -> None:
    check_noticed(clone(model))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_booster_trained_again_is_noticed(library: str) -> None:
    check_noticed(booster(library))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_booster_trained_again_before_the_first_prediction_is_noticed(library: str) -> None:
    model = booster(library).fit(X, y)
    soft = tm.DualPerturbClassifier(model, noise=0.2).fit(X)
    model.fit(X, OTHER)
    with pytest.raises(ModelChanged):
        soft.predict(X)


@pytest.mark.parametrize("model", [MODELS[1], MODELS[4], MODELS[6]], ids=lambda model: type(model).__name__)
def test_members_added_by_a_warm_start_are_noticed(model: Any) -> None:
    grown = clone(model).set_params(warm_start=True).fit(X, y)
    soft = tm.DualPerturbClassifier(grown, noise=0.2).fit(X)
    grown.set_params(n_estimators=6).fit(X, y)
    with pytest.raises(ModelChanged):
        soft.predict(X)


def test_rounds_added_to_a_booster_are_noticed() -> None:
    xgboost = pytest.importorskip("xgboost")
    table = xgboost.DMatrix(X, y)
    grown = xgboost.train({"max_depth": 3, "objective": "binary:logistic"}, table, 5)
    soft = tm.DualPerturbClassifier(grown, noise=0.2).fit(X)
    soft.predict(X)
    grown.update(table, 5)
    with pytest.raises(ModelChanged):
        soft.predict(X)


def change_value(model: Any) -> None:
    model.estimators_[3].tree_.value[:] = model.estimators_[3].tree_.value[:, :, ::-1].copy()


def change_threshold(model: Any) -> None:
    model.estimators_[2].tree_.threshold[0] += 0.1


def change_attribute(model: Any) -> None:
    model.estimators_[2].tree_.feature[0] = (model.estimators_[2].tree_.feature[0] + 1) % X.shape[1]


def prune_at_the_root(model: Any) -> None:
    model.estimators_[1].tree_.children_left[0] = -1
    model.estimators_[1].tree_.children_right[0] = -1


def remove_member(model: Any) -> None:
    model.estimators_.pop()


def exchange_members(model: Any) -> None:
    model.estimators_[0] = clone(model.estimators_[0]).fit(X, OTHER)


CHANGES = [change_value, change_threshold, change_attribute, prune_at_the_root, remove_member, exchange_members]


@pytest.mark.parametrize("change", CHANGES)
def test_trees_changed_in_place_are_noticed(change: Callable[[Any], None]) -> None:
    forest = RandomForestClassifier(**SETTINGS).fit(X, y)
    soft = tm.DualPerturbClassifier(forest, noise=0.2).fit(X)
    soft.predict(X)
    change(forest)
    with pytest.raises(ModelChanged):
        soft.predict(X)


def test_a_learning_rate_set_after_training_is_noticed() -> None:
    model = GradientBoostingClassifier(**SETTINGS).fit(X, y)
    soft = tm.DualPerturbClassifier(model, noise=0.2).fit(X)
    model.set_params(learning_rate=0.5)  # scikit-learn predicts with it
    with pytest.raises(ModelChanged):
        soft.predict(X)


def test_what_changes_no_prediction_is_not_refused() -> None:
    forest = RandomForestClassifier(**SETTINGS).fit(X, y)
    soft = tm.DualPerturbClassifier(forest, noise=0.2).fit(X)
    before = soft.predict_proba(X)
    forest.set_params(n_jobs=2, verbose=0, n_estimators=7)
    forest.note = "kept"
    assert np.array_equal(soft.predict_proba(X), before)
    forest.fit(X, y, sample_weight=None)  # with 7 members now
    with pytest.raises(ModelChanged):
        soft.predict(X)
    forest.set_params(n_estimators=5).fit(X, y)  # the same trees again
    assert np.array_equal(soft.predict_proba(X), before)


def test_a_regressor_trained_again_is_noticed() -> None:
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    soft = tm.DualPerturbRegressor(tree, noise=0.2).fit(X)
    tree.fit(X, OTHER)
    with pytest.raises(ModelChanged):
        soft.predict(X)


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()], ids=lambda model: type(model).__name__)
def test_a_model_without_trees_is_asked_as_it_is_now(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model.fit(X, y), noise=0.2, method="sample", random_state=0).fit(X)
    before = soft.predict_proba(X)
    model.fit(X, OTHER)
    now = tm.DualPerturbClassifier(model, noise=0.2, method="sample", random_state=0).fit(X).predict_proba(X)
    assert np.array_equal(soft.predict_proba(X), now)
    assert not np.array_equal(before, now)
    model.fit(X, np.where(y == 1, "yes", "no"))
    with pytest.raises(ModelChanged):
        soft.predict(X)


def test_a_booster_behind_a_step_that_drops_columns_is_watched() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = make_classification(80, 3, n_informative=2, n_redundant=0, random_state=0)
    booster = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1)
    pipeline = make_pipeline(ColumnTransformer([("kept", "passthrough", [0, 2])]), booster).fit(X, y)
    model = tm.DualPerturbClassifier(pipeline, noise=0.1, random_state=0).fit(X, y)
    assert model.method_ == "exact"
    pipeline.fit(X, 1 - y)
    with pytest.raises(ModelChanged):
        model.predict(X)
