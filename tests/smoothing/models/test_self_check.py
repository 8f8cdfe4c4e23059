"""Attacks on the reading of models: nothing misread is called exact."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from tremula.errors import InvalidInput, SamplingWarning, UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import checked
from tremula.trees.tree_sum import tree_with_values

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

RANDOM = np.random.default_rng(0)
X = np.column_stack([RANDOM.normal(size=(300, 2)), RANDOM.integers(0, 6, 300)])
NUMBER = np.array([3.0, -1.0, 0.5, 2.0, -2.0, 1.0])[X[:, 2].astype(int)] + X[:, 0] + 0.1 * RANDOM.normal(size=300)
TWO = (NUMBER > 0.5).astype(int)
LIGHT: dict[str, Any] = {"n_estimators": 8, "verbose": -1, "min_data_per_group": 5, "cat_smooth": 1}


def outcome(estimator: Any, table: Any, others: Any) -> str:
    """Return whether a model is read; where it is, its trees must give its predictions for other rows too."""
    try:
        model = read_model(estimator, table)
    except UnsupportedModel:
        return "refused"
    own = model.unsmoothed(others)
    np.testing.assert_allclose(model.answers(others), own, atol=1e-5 * max(1.0, np.abs(own).max()))
    return "exact"


def coded(codes: np.ndarray) -> np.ndarray:
    """Return the rows with other codes for the levels."""
    return np.column_stack([X[:, :2], codes[X[:, 2].astype(int)]])


# --- histogram gradient boosting ---

CODES = {
    "whole": (np.arange(6.0), "exact"),
    "with gaps": (np.array([3.0, 17.0, 90.0, 5.0, 250.0, 11.0]), "exact"),
    "fractional": (np.array([0.5, 1.5, 2.5, 0.25, 1.25, 2.25]), "refused"),
    "one is fractional": (np.array([0.0, 1.0, 2.0, 3.0, 4.0, 4.5]), "refused"),
    "negative": (np.array([-1.0, -2.0, 3.0, 4.0, -5.0, 6.0]), "refused"),
    "large": (np.array([1e8, 2e8, 3e8, 1.0, 2.0, 3.0]), "refused"),
}


@pytest.mark.parametrize("name", CODES)
def test_codes_of_levels_of_histogram_gradient_boosting(name: str) -> None:
    codes, expected = CODES[name]
    rows = coded(codes)
    fitted = HistGradientBoostingRegressor(max_iter=5, categorical_features=[2]).fit(rows, NUMBER)
    assert outcome(fitted, rows, rows) == expected
    if expected == "refused" and name != "one is fractional":  # of which no trace is left in the trees
        with pytest.raises(UnsupportedModel):
            read_model(fitted)  # nor without rows


@pytest.mark.parametrize("levels", [list("abcdef"), ["0", "1", "2", "3", "4", "5"], [0, 1, 2, 3, 4, 5]], ids=str)
def test_categories_of_frames(levels: list[Any]) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.array(levels)[X[:, 2].astype(int)], categories=levels)})
    fitted = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(frame, TWO)
    outcome(fitted, frame, frame)  # asserts that a model that is read is read rightly
    fitted = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True).fit(frame, TWO)
    assert outcome(fitted, frame, frame) == "exact"
    fitted = lightgbm.LGBMClassifier(**LIGHT).fit(frame, TWO)
    assert outcome(fitted, frame, frame) == "exact"


# --- LightGBM ---


@pytest.mark.parametrize("position", [0, 1, 2])
def test_categories_beside_nominal_codes(position: int) -> None:
    columns = {
        "b": pd.Categorical(np.array(list("zyxwvu"))[X[:, 2].astype(int)]),
        "c": RANDOM.integers(0, 4, len(X)),
    }
    order = ["b", "c", "a"] if position == 0 else ["c", "b", "a"] if position == 1 else ["a", "c", "b"]
    frame = pd.DataFrame({"a": X[:, 0], **columns})[order]
    target = NUMBER + 2 * (columns["c"] == 1)
    fitted = lightgbm.LGBMRegressor(**LIGHT).fit(frame, target, categorical_feature=["b", "c"])
    assert outcome(fitted, frame, frame) == "exact"
    shuffled = frame.assign(c=RANDOM.permutation(frame.c))
    assert outcome(fitted, frame, shuffled) == "exact"


@pytest.mark.parametrize("codes", [np.array([1e6, 2e6, 3e6, 1, 2, 3]), np.array([7.0, 70.0, 700.0, 3.0, 30.0, 300.0])])
def test_large_codes_of_lightgbm(codes: np.ndarray) -> None:
    rows = coded(codes)
    fitted = lightgbm.LGBMRegressor(**LIGHT).fit(rows, NUMBER, categorical_feature=[2])
    assert outcome(fitted, rows, rows) == "exact"


def test_fractional_codes_of_lightgbm() -> None:
    rows = coded(np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5]))
    fitted = lightgbm.LGBMRegressor(**LIGHT).fit(rows, NUMBER, categorical_feature=[2])
    assert outcome(fitted, rows, rows) == "refused"


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost", "histogram"])
def test_fractional_codes_are_refused_without_training_rows(library: str) -> None:
    fitted: Any = lightgbm.LGBMRegressor(**LIGHT)
    if library == "LightGBM":
        fitted.fit(X, NUMBER, categorical_feature=[2])
    elif library == "XGBoost":
        fitted = xgboost.XGBRegressor(n_estimators=4, enable_categorical=True, feature_types=["q", "q", "c"]).fit(
            X, NUMBER
        )
    else:
        fitted = HistGradientBoostingRegressor(max_iter=4, categorical_features=[2]).fit(X, NUMBER)
    soft = tm.DualPerturbRegressor(fitted, noise=0.1, scale=np.ones(3)).fit()
    assert soft.method_ == "exact"
    with pytest.raises(InvalidInput, match=r"2\.5 is not the code of a level"):
        soft.predict(np.array([[0.0, 0.0, 2.5]]))


def test_column_names_with_spaces() -> None:
    frame, target = load_iris(as_frame=True, return_X_y=True)
    fitted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(frame, target)
    soft = tm.DualPerturbClassifier(fitted, noise=0.1).fit(frame)
    assert soft.method_ == "exact"
    assert soft.predict_proba(frame).shape == (150, 3)
    with pytest.raises(tm.errors.ColumnMismatch):
        tm.DualPerturbClassifier(fitted, noise=0.1).fit(frame[frame.columns[::-1]])


# --- XGBoost ---


def test_a_booster_that_gives_labels() -> None:
    three = TWO + (X[:, 1] > 0.5)
    options = {"objective": "multi:softmax", "num_class": 3, "max_depth": 2}
    booster = xgboost.train(options, xgboost.DMatrix(X, label=three), 4)
    soft = tm.DualPerturbClassifier(booster, noise=0.2).fit(X)
    assert soft.method_ == "exact"
    plain = tm.DualPerturbClassifier(booster, noise=0.0).fit(X)
    assert np.array_equal(plain.predict(X), booster.predict(xgboost.DMatrix(X)))
    np.testing.assert_allclose(plain.predict_proba(X).sum(axis=1), 1.0)


def test_noise_is_not_chosen_by_training_what_cannot_be_trained_again() -> None:
    early = xgboost.XGBClassifier(n_estimators=20, early_stopping_rounds=2, max_depth=2)
    early.fit(X[:200], TWO[:200], eval_set=[(X[200:], TWO[200:])], verbose=0)
    for model in (early, early.get_booster()):
        with pytest.raises(InvalidInput, match="give fit X_val and y_val"):
            tm.DualPerturbClassifier(model).fit(X, TWO)
        assert tm.DualPerturbClassifier(model).fit(X, TWO, X_val=X, y_val=TWO).method_ == "exact"


# --- several targets ---

TARGETS = np.column_stack([X[:, 0], X[:, 1]])
SEVERAL = [
    RandomForestRegressor(2).fit(X, TARGETS),
    DecisionTreeRegressor(max_depth=2).fit(X, TARGETS),
    BaggingRegressor(DecisionTreeRegressor(max_depth=2), 2).fit(X, TARGETS),
    MultiOutputRegressor(RandomForestRegressor(2)).fit(X, TARGETS),
    xgboost.XGBRegressor(n_estimators=2).fit(X, TARGETS),
    xgboost.XGBRegressor(n_estimators=2, multi_strategy="multi_output_tree").fit(X, TARGETS),
    RandomForestClassifier(2).fit(X, TARGETS > 0),
    ExtraTreesClassifier(2).fit(X, TARGETS > 0),
    MultiOutputClassifier(RandomForestClassifier(2)).fit(X, TARGETS > 0),
    ClassifierChain(RandomForestClassifier(2)).fit(X, TARGETS > 0),
    xgboost.XGBClassifier(n_estimators=2).fit(X, (TARGETS > 0).astype(int)),
]


@pytest.mark.parametrize("method", ["auto", "exact", "path", "sample"])
@pytest.mark.parametrize("model", SEVERAL, ids=lambda model: type(model).__name__)
def test_several_targets_are_refused(model: Any, method: str) -> None:
    wrapper = tm.DualPerturbClassifier if hasattr(model, "classes_") else tm.DualPerturbRegressor
    with pytest.raises(UnsupportedModel):
        wrapper(model, noise=0.1, method=method, n_draws=3).fit(X)


def test_a_target_of_several_columns_is_refused() -> None:
    with pytest.raises(InvalidInput, match="y has 2 columns"):
        tm.DualPerturbRegressor(RandomForestRegressor(2), noise=0.1).fit(X, TARGETS)


# --- the check itself ---


def test_a_single_wrong_leaf_is_noticed_whatever_the_scale() -> None:
    for scale, offset in ((1.0, 0.0), (1e-7, 0.0), (1.0, 1e6)):
        forest = RandomForestRegressor(20, max_depth=3, random_state=0).fit(X, scale * NUMBER + offset)
        model = read_model(forest, X)
        tree = model.sum.trees[7]
        values = tree.values.copy()
        values[2] += 0.2 * scale
        changed = (*model.sum.trees[:7], tree_with_values(tree, values), *model.sum.trees[8:])
        with pytest.raises(UnsupportedModel, match="do not give its own predictions"):
            checked(replace(model, sum=replace(model.sum, trees=changed)), X)


def test_swapped_levels_are_noticed() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "c": np.array(list("abcdef"))[X[:, 2].astype(int)]})
    model = read_model(tm.CARTRegressor().fit(frame, NUMBER), frame)
    assert model.levels is not None
    swapped = replace(model, levels=(None, model.levels[1][[1, 0, 2, 3, 4, 5]]))
    with pytest.raises(UnsupportedModel, match="do not give its own predictions"):
        checked(swapped, frame)
    with pytest.raises(UnsupportedModel, match="do not give its own predictions"):
        checked(swapped)


def test_votes_of_rows_with_missing_values_are_not_called_exact() -> None:
    with_gaps = X.copy()
    with_gaps[RANDOM.random(X.shape) < 0.3] = np.nan
    votes = tm.BaggingClassifier(tm.C45Classifier(), n_estimators=7, combine="vote", random_state=0).fit(with_gaps, TWO)
    with pytest.raises(UnsupportedModel, match="vote"):
        read_model(votes, with_gaps)
    soft = tm.DualPerturbClassifier(votes, noise=0.1).fit(X)
    assert soft.method_ == "exact"
    with pytest.raises(InvalidInput, match="missing values"):
        soft.predict_proba(with_gaps)
    drawn = tm.DualPerturbClassifier(votes, noise=1e-12, method="sample", n_draws=1, random_state=0).fit(X)
    beside = with_gaps + 1e-7  # not on a threshold
    np.testing.assert_allclose(drawn.predict_proba(beside), votes.predict_proba(beside), atol=1e-12)


def test_missing_values_that_training_did_not_have() -> None:
    with_gaps = np.where(RANDOM.random(X.shape) < 0.3, np.nan, X)
    models = [
        RandomForestRegressor(3, random_state=0),
        HistGradientBoostingRegressor(max_iter=3),
        xgboost.XGBRegressor(n_estimators=3),
        lightgbm.LGBMRegressor(**LIGHT),
        tm.CARTRegressor(),
    ]
    for model in models:
        assert outcome(model.fit(X, NUMBER), X, with_gaps) == "exact"


@pytest.mark.parametrize("kind", ["histogram", "LightGBM", "LightGBM with categories"])
def test_a_pickled_wrapper_keeps_the_levels_of_the_rows(kind: str) -> None:
    rows: Any = np.where(X[:, 2:] == 5, 200, X[:, 2:]) * np.array([1.0])
    table: Any = np.column_stack([X[:, 0], rows])
    if kind == "histogram":
        fitted = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3, categorical_features=[1])
        fitted.fit(table, X[:, 2] == 2)
    elif kind == "LightGBM":
        fitted = lightgbm.LGBMRegressor(**LIGHT).fit(table, NUMBER, categorical_feature=[1])
    else:
        table = pd.DataFrame({"a b": X[:, 0], "c": pd.Categorical(np.array(list("abcdef"))[X[:, 2].astype(int)])})
        table["n"] = RANDOM.integers(0, 3, len(X))
        fitted = lightgbm.LGBMRegressor(**LIGHT).fit(table, NUMBER, categorical_feature=["c", "n"])
    soft = tm.DualPerturbRegressor(fitted, noise=0.2, flip=0.3).fit(table)
    assert soft.method_ == "exact"
    again = pickle.loads(pickle.dumps(soft))
    np.testing.assert_array_equal(again.predict(table), soft.predict(table))


def test_a_model_that_fit_refused_is_not_read_after_pickling() -> None:
    rows = coded(CODES["fractional"][0])
    fitted = HistGradientBoostingRegressor(max_iter=5, categorical_features=[2]).fit(rows, NUMBER)
    with pytest.warns(SamplingWarning, match="draws"):
        soft = tm.DualPerturbRegressor(fitted, noise=0.1, n_draws=5, random_state=0).fit(rows)
    again = pickle.loads(pickle.dumps(soft))
    np.testing.assert_array_equal(again.predict(rows), soft.predict(rows))
