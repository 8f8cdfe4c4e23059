"""Predictions of all estimators come from the same methods, and agree with each other."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import tremula as tm
from tremula.combine import largest
from tremula.prediction import ClassPredictionMixin, NumberPredictionMixin

CLASSIFIERS = [
    tm.C45Classifier(),
    tm.BaggingClassifier(n_estimators=4, combine="vote", random_state=0),
    tm.OutputSmearingClassifier(n_estimators=4, random_state=0),
    tm.AspenClassifier(n_estimators=4, random_state=0),
    tm.SimulatedBaggingClassifier(n_estimators=4, random_state=0),
]
REGRESSORS = [
    tm.CARTRegressor(max_depth=4),
    tm.M5Regressor(),
    tm.BaggingRegressor(n_estimators=4, random_state=0),
    tm.AspenRegressor(n_estimators=4, random_state=0),
    tm.SimulatedBaggingRegressor(n_estimators=4, max_depth=3, random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_the_class_predicted_is_the_most_probable_one(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model.fit(X, np.array(["a", "b", "c"])[y])
    assert type(model).predict is ClassPredictionMixin.predict
    assert type(model).predict_proba is ClassPredictionMixin.predict_proba
    probabilities = model.predict_proba(X)
    assert np.array_equal(model.predict(X), model.classes_[largest(probabilities)])
    if hasattr(model, "staged_predict"):
        *_, last = model.staged_predict_proba(X)
        *_, classes = model.staged_predict(X)
        assert np.allclose(last, probabilities, rtol=0, atol=1e-12)
        assert np.array_equal(classes, model.predict(X))
        assert model.predict_members(X).shape == (len(model), len(X))


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_the_last_stage_is_the_prediction(model: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model.fit(X, y)
    assert type(model).predict is NumberPredictionMixin.predict
    assert model.predict(X).shape == y.shape
    if hasattr(model, "staged_predict"):
        *_, last = model.staged_predict(X)
        assert np.allclose(last, model.predict(X), rtol=1e-12)
        assert model.predict_members(X).shape == (len(model), len(X))
