"""Out-of-bag scores by any scorer: each equals the metric of the out-of-bag predictions, computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    fbeta_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
    roc_auc_score,
)

import tremula as tm
from tremula.errors import InvalidParameter, NotStorable

X, CODES = make_classification(200, 5, n_informative=3, weights=[0.8, 0.2], flip_y=0.1, random_state=0)
Y = np.array(["healthy", "ill"])[CODES]
THREE = np.where(X[:, 0] > 1, "high", Y)
NUMBERS = load_diabetes(return_X_y=True)
FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}


def forest(scoring: Any, y: Any = Y, **options: Any) -> tuple[Any, Any, Any]:
    """A forest, and the labels and out-of-bag probabilities of the rows that are out of bag for some member."""
    model = tm.RandomForestClassifier(oob_score=scoring, **{**FEW, **options}).fit(X, y)
    rows = (model.inbag_counts_ == 0).any(axis=0)
    assert 100 < rows.sum() < 200
    return model, y[rows], model.oob_decision_function_[rows]


@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize(
    ("scoring", "by_hand"),
    [
        ("accuracy", lambda y, shares: np.mean(y == np.where(shares[:, 1] > 0.5, "ill", "healthy"))),
        ("roc_auc", lambda y, shares: roc_auc_score(y == "ill", shares[:, 1])),
        (
            make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
            lambda y, shares: -log_loss(y, shares),
        ),
        (
            make_scorer(brier_score_loss, greater_is_better=False, response_method="predict_proba", pos_label="ill"),
            lambda y, shares: -np.mean((shares[:, 1] - (y == "ill")) ** 2),
        ),
        (
            balanced_accuracy_score,
            lambda y, shares: balanced_accuracy_score(y, np.where(shares[:, 1] > 0.5, "ill", "healthy")),
        ),
        (
            lambda true, predicted: f1_score(true, predicted, pos_label="ill"),
            lambda y, shares: f1_score(y == "ill", shares[:, 1] > 0.5),
        ),
        (lambda estimator, rows, y: len(estimator.predict(rows)) + 0.5, lambda y, shares: len(y) + 0.5),
    ],
    ids=["name", "name of probabilities", "scorer", "scorer of one class", "metric", "own metric", "own scorer"],
)
def test_the_score_is_the_metric_of_out_of_bag_predictions(scoring: Any, by_hand: Any, combine: str) -> None:
    model, labels, shares = forest(scoring, combine=combine)
    assert model.oob_score_ == pytest.approx(by_hand(labels, shares), abs=1e-12)
    assert isinstance(model.oob_score_, float)


def test_more_than_two_classes_are_scored() -> None:
    model, labels, shares = forest("roc_auc_ovr", THREE)
    assert model.oob_score_ == pytest.approx(roc_auc_score(labels, shares, multi_class="ovr"))


@pytest.mark.parametrize(
    ("scoring", "by_hand"),
    [
        ("neg_mean_absolute_error", lambda y, p: -mean_absolute_error(y, p)),
        (mean_absolute_error, mean_absolute_error),
        (
            make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False),
            lambda y, p: -mean_pinball_loss(y, p, alpha=0.9),
        ),
    ],
    ids=["name", "metric", "scorer"],
)
@pytest.mark.parametrize("kind", [tm.BaggingRegressor, tm.RandomForestRegressor, tm.SmearedBaggingRegressor])
def test_numbers_are_scored(kind: Any, scoring: Any, by_hand: Any) -> None:
    noise = {"noise": 0.1} if kind is tm.SmearedBaggingRegressor else {}
    table, target = NUMBERS[0][:150], NUMBERS[1][:150]
    model = kind(oob_score=scoring, **noise, **FEW).fit(table, target)
    rows = (model.inbag_counts_ == 0).any(axis=0)
    assert model.oob_score_ == pytest.approx(by_hand(target[rows], model.oob_prediction_[rows]))


def test_smeared_classes_are_scored_by_their_probabilities() -> None:
    model = tm.OutputSmearingClassifier(method="smear", bootstrap=True, oob_score="roc_auc_ovr", **FEW).fit(X, THREE)
    assert 0.5 < model.oob_score_ <= 1.0


def test_another_scorer_changes_nothing_else() -> None:
    plain, _, _ = forest(True)
    scored, _, _ = forest("roc_auc")
    assert np.array_equal(plain.oob_decision_function_, scored.oob_decision_function_, equal_nan=True)
    assert np.array_equal(plain.oob_trace_, scored.oob_trace_)
    assert plain.oob_score_ != scored.oob_score_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("roc_acu", "oob_score='roc_acu' is not known: .* did you mean 'roc_auc'"),
        (3, "oob_score=3 was given; expected True, False, the name of a scorer"),
        (lambda true, predicted: np.zeros(2), "gives array.*, expected one number"),
        (lambda true, predicted: "good", "gives 'good', expected one number"),
    ],
    ids=["name", "number", "array", "word"],
)
def test_what_is_no_scorer_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        forest(given)


def test_errors_of_a_metric_are_its_own() -> None:
    with pytest.raises(TypeError, match="beta"):
        forest(fbeta_score)


def test_names_are_stored_and_functions_are_not(tmp_path: Path) -> None:
    model, _, _ = forest("roc_auc")
    tm.save(model, tmp_path / "model.tremula")
    loaded = tm.load(tmp_path / "model.tremula")
    assert (loaded.oob_score, loaded.oob_score_) == ("roc_auc", model.oob_score_)
    with pytest.raises(NotStorable, match="oob_score is of type"):
        tm.save(forest(balanced_accuracy_score)[0], tmp_path / "other.tremula")
