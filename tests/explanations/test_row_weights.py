"""Weights of training rows reproduce predictions, or the model is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier as SklearnExtraTrees
from sklearn.ensemble import RandomForestRegressor as SklearnForest
from tests.uncertainty.made_tables import classes_of, made_table

import tremula as tm
from tremula.errors import InvalidInput, UnsupportedModel
from tremula.explanations.row_weights import row_weights

TABLE, TARGET = made_table(150, 0)
NEW, _ = made_table(30, 1)
CLASSES = classes_of(TARGET)
WEIGHTS = np.random.default_rng(2).random(150) * (np.arange(150) % 7 > 0)
FEW: dict[str, Any] = {"n_estimators": 6, "random_state": 0}

REGRESSORS = {
    "tree": tm.CARTRegressor(max_depth=4),
    "pruned tree": tm.REPTreeRegressor(random_state=0),
    "forest": tm.RandomForestRegressor(**FEW),
    "extra trees on all rows": tm.ExtraTreesRegressor(**FEW),
    "bagging": tm.BaggingRegressor(**FEW),
    "smeared": tm.SmearedBaggingRegressor(tm.CARTRegressor(), noise=0.2, **FEW),
}
CLASSIFIERS = {
    "tree": tm.C45Classifier(),
    "forest": tm.RandomForestClassifier(**FEW),
    "extra trees on all rows": tm.ExtraTreesClassifier(**FEW),
    "bagging": tm.BaggingClassifier(**FEW),
}


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_weighted_targets_are_the_predictions(name: str, weights: np.ndarray | None) -> None:
    model = REGRESSORS[name].fit(TABLE, TARGET, sample_weight=weights)
    behind = row_weights(model, NEW, X_train=TABLE, y_train=TARGET, sample_weight=weights)
    assert behind.shape == (30, 150)
    np.testing.assert_allclose(behind @ TARGET, model.predict(NEW), rtol=0, atol=1e-12)
    np.testing.assert_allclose(behind.sum(axis=1), 1.0, rtol=1e-12)
    assert behind.min() >= 0


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weighted_shares_of_classes_are_the_probabilities(name: str) -> None:
    model = CLASSIFIERS[name].fit(TABLE, CLASSES)
    behind = row_weights(model, NEW, X_train=TABLE, y_train=CLASSES)
    shares = behind @ (CLASSES[:, None] == model.classes_)
    np.testing.assert_allclose(shares, model.predict_proba(NEW), rtol=0, atol=1e-12)


def test_forests_of_scikit_learn() -> None:
    rows = np.nan_to_num(TABLE[["a", "b"]].to_numpy())
    forest = SklearnForest(n_estimators=6, random_state=0).fit(rows, TARGET)
    np.testing.assert_allclose(
        row_weights(forest, rows[:9], X_train=rows, y_train=TARGET) @ TARGET, forest.predict(rows[:9])
    )
    trees = SklearnExtraTrees(n_estimators=6, random_state=0, max_depth=4).fit(rows, CLASSES)
    shares = row_weights(trees, rows[:9], X_train=rows, y_train=CLASSES) @ (CLASSES[:, None] == trees.classes_)
    np.testing.assert_allclose(shares, trees.predict_proba(rows[:9]))


@pytest.mark.parametrize("method", ["exact", "path"])
def test_rows_behind_smoothed_predictions(method: str) -> None:
    for estimator in (tm.RandomForestRegressor(**FEW), tm.CARTRegressor(max_depth=4, missing="shares")):
        model = estimator.fit(TABLE, TARGET)
        smooth = tm.DualPerturbRegressor(model, noise=0.3, flip=0.1, method=method, tol=0.0).fit(TABLE)
        behind = row_weights(smooth, NEW, X_train=TABLE, y_train=TARGET)
        np.testing.assert_allclose(behind @ TARGET, smooth.predict(NEW), rtol=0, atol=1e-12)
        plain = row_weights(tm.DualPerturbRegressor(model, noise=0.0).fit(TABLE), NEW, X_train=TABLE, y_train=TARGET)
        np.testing.assert_allclose(plain @ TARGET, model.predict(NEW), rtol=0, atol=1e-12)
    shrunken = tm.DualPerturbRegressor(model, noise=0.3, shrinkage=5.0).fit(TABLE)
    with pytest.raises(UnsupportedModel, match="no weighted means"):
        row_weights(shrunken, NEW, X_train=TABLE, y_train=TARGET)


@pytest.mark.parametrize(
    "model",
    [
        tm.RandomizedC45Classifier(**FEW),
        tm.BaggingClassifier(combine="vote", **FEW),
    ],
)
def test_votes_are_refused(model: Any) -> None:
    model.fit(TABLE, CLASSES)
    with pytest.raises(UnsupportedModel, match="combine='average'") as refusal:
        row_weights(model, NEW, X_train=TABLE, y_train=CLASSES)
    assert "method=" not in str(refusal.value)


@pytest.mark.parametrize("model", [tm.M5Regressor(), tm.BaggingRegressor(tm.M5Regressor(), **FEW)])
def test_model_trees_are_refused(model: Any) -> None:
    with pytest.raises(UnsupportedModel, match="linear models in its leaves"):
        row_weights(model.fit(TABLE, TARGET), NEW, X_train=TABLE, y_train=TARGET)


def test_smeared_targets_are_refused() -> None:
    model = tm.OutputSmearingRegressor(**FEW).fit(TABLE, TARGET)
    with pytest.raises(UnsupportedModel, match="no weighted means"):
        row_weights(model, NEW, X_train=TABLE, y_train=TARGET)


def test_rows_in_another_order_are_refused() -> None:
    model = tm.RandomForestRegressor(**FEW).fit(TABLE, TARGET)
    with pytest.raises(InvalidInput, match="not those of fit"):
        row_weights(model, NEW, X_train=TABLE[::-1], y_train=TARGET[::-1])
    tree = tm.CARTRegressor().fit(TABLE, TARGET)
    with pytest.raises(UnsupportedModel, match="give the rows of fit again"):
        row_weights(tree, NEW, X_train=TABLE, y_train=TARGET[::-1])
