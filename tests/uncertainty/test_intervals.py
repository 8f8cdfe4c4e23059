"""Intervals equal slow loops, crepes and MAPIE; their coverage is right on rows that were not trained on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.uncertainty.intervals import METHODS, jackknife_bounds

from .made_tables import made_table, regressors, with_slow

GOLDEN = Path(__file__).parents[1] / "golden" / "uncertainty.json.gz"


def golden(name: str) -> Any:
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))[name]


def covered(bounds: np.ndarray, truth: np.ndarray) -> float:
    return float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())


# --- equal to slow loops ---


class SlowForest:
    """Out-of-bag predictions, residuals and intervals of a forest, by loops."""

    def __init__(self, model: Any, X: Any, y: np.ndarray) -> None:
        self.members = model.predict_members
        self.out = model.count_inbag(X, y) == 0
        self.rows = np.flatnonzero(self.out.any(axis=0))
        answers = self.members(X)
        self.oob = np.array([answers[self.out[:, i], i].mean() for i in self.rows])
        self.sizes = np.abs(y[self.rows] - self.oob)
        self.spreads = np.array([answers[self.out[:, i], i].std(ddof=1) for i in self.rows])

    def bound(self, scores: np.ndarray, coverage: float) -> float:
        return float(np.sort(scores)[int(np.ceil(coverage * (len(scores) + 1))) - 1])

    def interval(self, X: Any, coverage: float, method: str) -> np.ndarray:
        answers = self.members(X)
        means = answers.mean(axis=0)
        if method == "oob":
            half = np.full(len(means), self.bound(self.sizes, coverage))
        elif method == "scaled":
            floor = 0.5 * self.spreads.mean()
            half = (answers.std(axis=0, ddof=1) + floor) * self.bound(self.sizes / (self.spreads + floor), coverage)
        else:
            return self.jackknife(answers, coverage)
        return np.column_stack([means - half, means + half])

    def jackknife(self, answers: np.ndarray, coverage: float) -> np.ndarray:
        n_rows = len(self.rows)
        bounds = []
        for column in answers.T:
            without = np.array([column[self.out[:, i]].mean() for i in self.rows])
            upper = np.sort(without + self.sizes)[int(np.ceil(coverage * (n_rows + 1))) - 1]
            lower = np.sort(without - self.sizes)[int(np.floor((1 - coverage) * (n_rows + 1) + 1e-9)) - 1]
            bounds.append([lower, upper])
        return np.array(bounds)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_equal_those_of_slow_loops(method: str, coverage: float) -> None:
    X, y = made_table(90, 0)
    new, _ = made_table(20, 1)
    forest = tm.RandomForestRegressor(n_estimators=40, random_state=0).fit(X, y)
    answers = tm.Uncertainty(forest, X, y).predict_interval(new, coverage, method=method)
    np.testing.assert_allclose(answers, SlowForest(forest, X, y).interval(new, coverage, method), rtol=1e-10)


# --- equal to other programs ---


@pytest.mark.outside
def test_intervals_are_those_of_crepes() -> None:
    stored = golden("crepes_intervals")
    X, y = load_diabetes(return_X_y=True)
    y = y + 1e-4 * np.arange(len(y))
    forest = RandomForestRegressor(**stored["parameters"]).fit(X[:250], y[:250])
    if not np.allclose(forest.predict(X[250:]), stored["means"]):
        pytest.skip("scikit-learn grows other trees than when the answers were stored")
    bounds = tm.Uncertainty(forest, X[:250], y[:250]).predict_interval(X[250:], 0.9, method="oob")
    np.testing.assert_allclose(bounds, stored["intervals"], rtol=1e-10)


@pytest.mark.outside
def test_jackknife_is_that_of_mapie_for_the_same_members() -> None:
    stored, (_, y) = golden("mapie"), load_diabetes(return_X_y=True)
    out, inside, new = (np.array(stored[name]) for name in ("is_out_of_bag", "training_answers", "new_answers"))
    shares = out / out.sum(axis=0)
    sizes = np.abs((y + 1e-4 * np.arange(len(y)))[:120] - (shares * inside).sum(axis=0))
    np.testing.assert_allclose(jackknife_bounds(new.T @ shares, sizes, 0.9), stored["intervals"], rtol=1e-10)


# --- coverage ---


@pytest.mark.parametrize("name", with_slow(regressors()))
def test_every_ensemble_covers_new_targets(name: str) -> None:
    shares, (new, truth) = [], made_table(600, 100)
    for seed in (1, 2):
        X, y = made_table(200, seed)
        uncertainty = tm.Uncertainty(regressors(25)[name].fit(X, y), X, y)
        shares.append([covered(uncertainty.predict_interval(new, 0.8, method=method), truth) for method in METHODS])
    assert np.mean(shares, axis=0) == pytest.approx([0.815] * 3, abs=0.085)


@pytest.mark.slow
def test_coverage_is_right_on_average_over_training_sets() -> None:
    shares = []
    for seed in range(10):
        X, y = make_friedman1(700, noise=2.0, random_state=seed)
        forest = tm.RandomForestRegressor(n_estimators=40, random_state=seed).fit(X[:150], y[:150])
        uncertainty = tm.Uncertainty(forest, X[:150], y[:150])
        shares.append([covered(uncertainty.predict_interval(X[150:], method=method), y[150:]) for method in METHODS])
    assert np.mean(shares, axis=0) == pytest.approx([0.905] * 3, abs=0.025)


def test_scaled_intervals_are_wide_where_the_target_is_noisy() -> None:
    random = np.random.default_rng(0)
    X = random.uniform(size=(1200, 2))
    y = X[:, 0] + np.where(X[:, 1] < 0.5, 0.05, 1.0) * random.normal(size=1200)
    forest = tm.RandomForestRegressor(random_state=0).fit(X[:800], y[:800])
    bounds = tm.Uncertainty(forest, X[:800], y[:800]).predict_interval(X[800:])
    widths, is_quiet = bounds[:, 1] - bounds[:, 0], X[800:, 1] < 0.5
    assert widths[is_quiet].mean() < 0.5 * widths[~is_quiet].mean()


# --- members of other libraries, foreign ensembles ---


def test_bagged_estimators_of_other_libraries_have_intervals() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = tm.BaggingRegressor(LinearRegression(), n_estimators=20, random_state=0).fit(X[:300], y[:300])
    uncertainty = tm.Uncertainty(model, X[:300], y[:300])
    for method in METHODS:
        assert 0.8 < covered(uncertainty.predict_interval(X[300:], method=method), y[300:].to_numpy()) < 0.97


def test_bagging_of_scikit_learn_has_intervals() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(n_estimators=30, max_features=0.5, random_state=0).fit(X[:300], y[:300])
    assert 0.8 < covered(tm.Uncertainty(model, X[:300], y[:300]).predict_interval(X[300:]), y[300:]) < 0.97


# --- bad input ---


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 1.5, np.nan, "0.9", True])
def test_bad_coverage_is_refused(coverage: Any) -> None:
    X, y = made_table(60, 0)
    uncertainty = tm.Uncertainty(tm.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y), X, y)
    with pytest.raises(InvalidParameter, match="coverage="):
        uncertainty.predict_interval(X, coverage)


@pytest.mark.parametrize("method", METHODS)
def test_a_coverage_that_few_rows_cannot_give_is_refused(method: str) -> None:
    X, y = made_table(30, 0)
    X = X[["a", "b"]]
    uncertainty = tm.Uncertainty(tm.RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y), X, y)
    assert np.isfinite(uncertainty.predict_interval(X, 0.9, method=method)).all()
    with pytest.raises(InvalidParameter, match=r"coverage=0.99 needs 99 rows at least, but there are 30 out-of-bag"):
        uncertainty.predict_interval(X, 0.99, method=method)


def test_an_unknown_method_is_refused() -> None:
    X, y = made_table(60, 0)
    uncertainty = tm.Uncertainty(tm.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y), X, y)
    with pytest.raises(InvalidParameter, match=r"did you mean 'jackknife\+'"):
        uncertainty.predict_interval(X, method="jackknife")
