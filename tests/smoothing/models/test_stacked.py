"""Stacked and calibrated models are read as one sum of trees with a composite link, or refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.stored import store_trees
from tremula.trees.composite_links import InterpolationLink

X, THREE = make_classification(240, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
TWO, NAMES = THREE > 0, np.array(["low", "middle", "high"])[THREE]
NUMBER = np.abs(X.sum(axis=1) + X[:, 0] * X[:, 1])
ROWS = np.random.default_rng(1).normal(scale=2.0, size=(500, 4))

FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
CLASSIFIERS = [("a", FOREST), ("b", BOOSTED)]
NUMBER_FOREST = RandomForestRegressor(4, max_depth=4, random_state=0)
REGRESSORS = [("a", NUMBER_FOREST), ("b", GradientBoostingRegressor(n_estimators=4, random_state=0))]
POISSON = HistGradientBoostingRegressor(loss="poisson", max_iter=4)

READ = {
    "sigmoid, probabilities": (CalibratedClassifierCV(FOREST, cv=2), TWO),
    "isotonic, probabilities": (CalibratedClassifierCV(FOREST, cv=2, method="isotonic"), TWO),
    "sigmoid, margins": (CalibratedClassifierCV(BOOSTED, cv=2), TWO),
    "isotonic, margins": (CalibratedClassifierCV(BOOSTED, cv=2, method="isotonic"), TWO),
    "one calibrator": (CalibratedClassifierCV(BOOSTED, cv=2, ensemble=False), TWO),
    "names of classes": (CalibratedClassifierCV(FOREST, cv=2), np.where(TWO, "b", "a")),
    "frozen": (CalibratedClassifierCV(FrozenEstimator(FOREST.fit(X, TWO))), TWO),
    "stacked, two classes": (StackingClassifier(CLASSIFIERS, cv=2), TWO),
    "stacked, names of three classes": (StackingClassifier(CLASSIFIERS, cv=2), NAMES),
    "stacked numbers": (StackingRegressor(REGRESSORS, cv=2), NUMBER),
    "stacked numbers, one dropped": (StackingRegressor([*REGRESSORS, ("c", "drop")], Lasso(), cv=2), NUMBER),
    "stacked numbers with a link": (StackingRegressor([*REGRESSORS, ("c", POISSON)], Ridge(), cv=2), NUMBER),
}


@pytest.fixture(scope="module", params=READ)
def fitted(request: pytest.FixtureRequest) -> Any:
    estimator, target = READ[request.param]
    return estimator.fit(X, target)


def predictions(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)[:, None]


def test_answers_are_those_of_the_model_off_the_training_rows(fitted: Any) -> None:
    np.testing.assert_allclose(read_model(fitted, X).answers(ROWS), predictions(fitted, ROWS), atol=1e-12)


def test_stored_trees_give_the_same_answers(fitted: Any, tmp_path: Any) -> None:
    tm.save(store_trees(read_model(fitted, X)), tmp_path / "trees.tremula")
    stored = tm.load(tmp_path / "trees.tremula")
    np.testing.assert_allclose(predictions(stored, ROWS), predictions(fitted, ROWS), atol=1e-12)


def test_the_link_is_applied_to_the_mean_of_draws(fitted: Any) -> None:
    wrapper = tm.DualPerturbClassifier if hasattr(fitted, "classes_") else tm.DualPerturbRegressor
    soft = wrapper(fitted, noise=0.3, method="exact", thresholds="kept").fit(X)
    whole, random, n_draws = read_model(fitted, X).sum, np.random.default_rng(0), 10_000
    for row in X[:3]:
        margins = whole.margins(row + 0.3 * X.std(axis=0) * random.normal(size=(n_draws, 4)))
        smoothed = soft.smooth(row[None])
        rare = 5 * np.ptp(whole.margins(X), axis=0) / n_draws  # a leaf that was not drawn
        error = 5 * margins.std(axis=0) / np.sqrt(n_draws) + rare + 1e-6
        assert (np.abs(smoothed.margins[0] - margins.mean(axis=0)) <= error).all()
        np.testing.assert_allclose(smoothed.answers, whole.link.answers(smoothed.margins), atol=1e-12)


def test_a_stacked_regressor_of_forests_is_a_sum_of_trees() -> None:
    whole = read_model(StackingRegressor(REGRESSORS, cv=2).fit(X, NUMBER), X).sum
    assert whole.link.is_identity


@pytest.mark.parametrize("name", ["sigmoid, margins", "stacked, names of three classes", "stacked numbers with a link"])
def test_gradients_are_those_of_the_answers(name: str) -> None:
    estimator, target = READ[name]
    wrapper = tm.DualPerturbRegressor if target is NUMBER else tm.DualPerturbClassifier
    soft = wrapper(estimator.fit(X, target), noise=0.3, tol=0.0).fit(X)
    step, rows = 1e-5, X[:5]
    for attribute in range(4):
        away = np.eye(4)[attribute] * step
        change = (soft.smooth(rows + away).answers - soft.smooth(rows - away).answers) / (2 * step)
        slopes = soft.gradient(rows).reshape(5, -1, 4)
        np.testing.assert_allclose(slopes[:, :, attribute], change, atol=1e-6)


def test_an_isotonic_curve_has_no_gradient() -> None:
    estimator, target = READ["isotonic, margins"]
    soft = tm.DualPerturbClassifier(estimator.fit(X, target), noise=0.3).fit(X)
    with pytest.raises(InvalidParameter, match="not differentiable everywhere"):
        soft.gradient(X[:2])


def test_errors_of_an_interpolated_score_stay_within_the_bound() -> None:
    random = np.random.default_rng(0)
    link = InterpolationLink(np.sort(random.normal(size=9)), np.sort(random.random(9)))
    margins, bound = random.normal(size=(1000, 1)), random.exponential(size=1000)
    moved = margins + (bound * random.uniform(-1, 1, 1000))[:, None]
    apart = np.abs(link.answers(moved) - link.answers(margins)).max(axis=1)
    assert (apart <= link.answer_bound(margins, bound) + 1e-12).all()


REFUSED = {
    "several classes": (CalibratedClassifierCV(FOREST, cv=2), THREE, "only two classes are read"),
    "votes": (CalibratedClassifierCV(AdaBoostClassifier(n_estimators=2), cv=2), TWO, "not the sum of its trees"),
    "no trees": (CalibratedClassifierCV(GaussianNB(), cv=2), TWO, "the trees of GaussianNB"),
    "attributes too": (StackingRegressor(REGRESSORS, cv=2, passthrough=True), NUMBER, "passthrough"),
    "final forest": (StackingRegressor(REGRESSORS, NUMBER_FOREST, cv=2), NUMBER, "not a linear model"),
    "final trees": (StackingClassifier(CLASSIFIERS, FOREST, cv=2), TWO, "not LogisticRegression"),
    "labels": (StackingClassifier(CLASSIFIERS, cv=2, stack_method="predict"), TWO, "other answers than probabilities"),
    "linear member": (StackingClassifier([("a", LogisticRegression())], cv=2), TWO, "LogisticRegression"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    estimator, target, reason = REFUSED[name]
    with pytest.raises(UnsupportedModel, match=reason):
        read_model(estimator.fit(X, target), X)


def test_a_model_is_as_precise_as_the_models_inside() -> None:
    xgboost = pytest.importorskip("xgboost")
    options = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
    bagged = BaggingRegressor(xgboost.XGBRegressor(**options), 3, random_state=0).fit(X, 1000 + 300 * NUMBER)
    assert read_model(bagged, X).precision == read_model(bagged.estimators_[0], X).precision > 1e-9
    calibrated = CalibratedClassifierCV(xgboost.XGBClassifier(**options), cv=2).fit(X, TWO)
    np.testing.assert_allclose(read_model(calibrated, X).answers(ROWS), calibrated.predict_proba(ROWS), atol=1e-5)
