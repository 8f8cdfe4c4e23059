"""Ensembles that use all rows by default: with `bootstrap=True` they leave rows out, and these score them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.perturb import Bootstrap, FlippedClasses, RandomAttributes, RandomThresholds

X, Y = load_iris(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
FEW: dict[str, Any] = {"n_estimators": 8, "random_state": 0}
CLASSIFIERS = [
    tm.ExtraTreesClassifier(**FEW),
    tm.OutputSmearingClassifier(**FEW),
    tm.OutputSmearingClassifier(method="smear", **FEW),
    tm.RandomSubspaceClassifier(**FEW),
    tm.RandomizedC45Classifier(**FEW),
]
REGRESSORS = [tm.ExtraTreesRegressor(**FEW), tm.OutputSmearingRegressor(**FEW)]


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_all_rows_are_used_and_none_can_score_unless_rows_are_drawn(model: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"oob_score=True was given, .*: set bootstrap=True, or oob_score=False"):
        model.__class__(**{**model.get_params(), "oob_score": True}).fit(X, Y)


def test_a_list_of_perturbations_without_rows_drawn_says_what_to_add() -> None:
    with pytest.raises(InvalidParameter, match=r"add Bootstrap\(\) to perturb, or set oob_score=False"):
        tm.PerturbCombineClassifier(perturb=[RandomAttributes()], oob_score=True, **FEW).fit(X, Y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_classifiers_are_scored_on_rows_left_out(model: Any) -> None:
    fitted = model.__class__(**{**model.get_params(), "bootstrap": True, "oob_score": True}).fit(X, Y)
    judged = (fitted.inbag_counts_ == 0).any(axis=0)
    assert fitted.inbag_counts_.sum(axis=1).tolist() == [150] * 8
    predicted = fitted.classes_[fitted.oob_decision_function_[judged].argmax(axis=1)]
    assert fitted.oob_score_ == pytest.approx(np.mean(predicted == Y[judged]))
    assert fitted.oob_score_ > 0.6


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors_are_scored_on_rows_left_out(model: Any) -> None:
    table, target = NUMBERS
    fitted = model.__class__(**{**model.get_params(), "bootstrap": True, "oob_score": True}).fit(table, target)
    judged = (fitted.inbag_counts_ == 0).any(axis=0)
    errors = fitted.oob_prediction_[judged] - target[judged]
    assert fitted.oob_score_ == pytest.approx(1 - np.mean(errors**2) / target[judged].var())


def test_bootstrap_is_the_same_as_in_a_list_of_perturbations() -> None:
    extra = tm.ExtraTreesClassifier(bootstrap=True, **FEW).fit(X, Y)
    steps = [Bootstrap(), RandomAttributes("sqrt"), RandomThresholds()]
    composed = tm.PerturbCombineClassifier(tm.CARTClassifier(), perturb=steps, **FEW).fit(X, Y)
    assert np.array_equal(extra.predict_proba(X), composed.predict_proba(X))
    flipped = tm.OutputSmearingClassifier(bootstrap=True, **FEW).fit(X, Y)
    composed = tm.PerturbCombineClassifier(perturb=[Bootstrap(), FlippedClasses()], **FEW).fit(X, Y)
    assert np.array_equal(flipped.predict_proba(X), composed.predict_proba(X))
