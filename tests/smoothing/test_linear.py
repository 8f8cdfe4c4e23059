"""Linear models under noise: closed forms against drawing and against numerical integration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

import tremula as tm
from tremula.smoothing.linear import expected_logistic, read_linear

X, y = make_classification(200, 4, random_state=0)
SCALE = X.std(axis=0)


@pytest.mark.parametrize("deviation", [0.0, 0.1, 0.99, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("score", [-8.0, 0.0, 0.5, 30.0])
def test_the_mean_of_the_logistic_curve(score: float, deviation: float) -> None:
    def integrand(z: float) -> float:
        return float(expit(score + deviation * z) * norm.pdf(z))

    middle = float(np.clip(-score / max(deviation, 1e-3), -12, 12))
    pieces = [quad(integrand, a, b, epsabs=1e-13, limit=500)[0] for a, b in ((-12, middle), (middle, 12))]
    found = expected_logistic(np.array([score]), np.array([deviation]))[0]
    assert found == pytest.approx(sum(pieces), abs=1e-12)


def test_a_linear_regression_is_left_as_it_is() -> None:
    rows, target = make_regression(50, 3, random_state=0)
    model = LinearRegression().fit(rows, target)
    soft = tm.DualPerturbRegressor(model, noise=2.0).fit(rows)
    mean, deviation = soft.predict(rows, return_std=True)
    assert mean == pytest.approx(model.predict(rows))
    assert deviation == pytest.approx(2.0 * np.linalg.norm(model.coef_ * rows.std(axis=0)))


@pytest.mark.parametrize(
    ("model", "combine"),
    [
        (LogisticRegression(), "average"),
        (LogisticRegression(), "vote"),
        (LinearDiscriminantAnalysis(), "average"),
        (SGDClassifier(loss="log_loss", random_state=0), "average"),
        (LinearSVC(), "vote"),
        (RidgeClassifier(), "vote"),
    ],
)
def test_two_classes_are_what_drawing_comes_to(model: Any, combine: str) -> None:
    soft = tm.DualPerturbClassifier(model, noise=0.5, combine=combine).fit(X, y)
    draws = X[:3, None] + 0.5 * SCALE * np.random.default_rng(0).standard_normal((3, 20_000, 4))
    ask = soft.estimator_.predict if combine == "vote" else lambda rows: soft.estimator_.predict_proba(rows)[:, 1]
    drawn = np.array([ask(rows) for rows in draws])
    found = soft.predict_proba(X[:3])[:, 1]
    assert found == pytest.approx(drawn.mean(axis=1), abs=4.5 * 0.5 / np.sqrt(20_000))
    assert soft.predict_proba(X[:3], return_std=True)[1][:, 1] == pytest.approx(drawn.std(axis=1), abs=0.02)


def test_a_log_link_is_exact() -> None:
    rows, target = np.abs(X[:, :2]), np.arange(200) % 5
    soft = tm.DualPerturbRegressor(PoissonRegressor(), noise=0.5).fit(rows, target)
    draws = rows[0] + 0.5 * rows.std(axis=0) * np.random.default_rng(0).standard_normal((50_000, 2))
    assert soft.predict(rows[:1])[0] == pytest.approx(soft.estimator_.predict(draws).mean(), rel=0.01)


def test_more_than_two_classes_have_no_closed_form() -> None:
    assert read_linear(LogisticRegression().fit(X, np.arange(200) % 3), "average") is None


def test_the_class_of_a_linear_model_never_changes() -> None:
    model = LogisticRegression().fit(X, y)
    soft = tm.DualPerturbClassifier(model, noise=3.0).fit(X)
    assert np.array_equal(soft.predict(X), model.predict(X))
