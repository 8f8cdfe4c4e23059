"""Standard errors equal slow sums and ranger's, and the spread of forests over training sets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.uncertainty.standard_errors import draw_products, jackknife_variances

from .made_tables import classes_of, classifiers, made_table, regressors, with_slow

GOLDEN = Path(__file__).parents[1] / "golden" / "uncertainty.json.gz"


@pytest.mark.outside
@pytest.mark.parametrize("name", ["bootstrap", "subsample"])
def test_errors_are_those_of_ranger(name: str) -> None:
    stored = json.loads(gzip.decompress(GOLDEN.read_bytes()))["ranger"]
    counts, answers, errors = (np.array(stored[f"{name}_{part}"]) for part in ("counts", "answers", "errors"))
    parts = (answers - answers.mean(axis=0)) / len(answers)
    factor = 1.0 / (1.0 - counts.mean()) ** 2 if name == "subsample" else 1.0
    variances = factor * jackknife_variances(parts, *draw_products(counts))
    assert ((variances < 0) == (errors < 0)).all()
    np.testing.assert_allclose(np.sqrt(variances[errors > 0]), errors[errors > 0], rtol=1e-9)


def slow_variance(counts: np.ndarray, answers: np.ndarray) -> float:
    """Sum over rows of squared covariances, less the part that few members add."""
    n_members, n_rows = counts.shape
    centred = answers - answers.mean()
    covariances = [np.mean((counts[:, row] - counts[:, row].mean()) * centred) for row in range(n_rows)]
    noise = n_rows * counts.var(axis=0).mean() * np.mean(centred**2) / n_members
    return float(np.square(covariances).sum() - noise)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_equal_slow_sums(weighted: bool) -> None:
    X, y = made_table(70, 0)
    weights = (np.arange(70) % 5).astype(float) if weighted else None
    forest = tm.RandomForestRegressor(n_estimators=80, random_state=0).fit(X, y, sample_weight=weights)
    counts, answers = forest.count_inbag(X, y, weights), forest.predict_members(X)
    counts = counts[:, counts[0] >= 0]
    expected = np.array([slow_variance(counts, column) for column in answers.T])
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(expected)
    uncertainty = tm.Uncertainty(forest, X, y, sample_weight=weights)
    if np.isnan(expected).any():
        with pytest.warns(UserWarning, match="80 members are too few"):
            errors = uncertainty.predict_std(X)
    else:
        errors = uncertainty.predict_std(X)
    np.testing.assert_allclose(errors, expected, rtol=1e-6, atol=1e-9)


def test_errors_of_class_probabilities() -> None:
    X, target = made_table(60, 0)
    y = classes_of(target)
    for combine in ("average", "vote"):
        forest = tm.RandomForestClassifier(n_estimators=100, max_depth=3, combine=combine, random_state=0).fit(X, y)
        with pytest.warns(UserWarning, match="100 members are too few"):
            errors = tm.Uncertainty(forest, X, y).predict_std(X[:8])
        rows, counts = forest._read_table(X[:8]), forest.count_inbag(X, y)
        shares = np.array([member.predict_values(rows) for member in forest.members_])
        if combine == "vote":
            shares = np.eye(3)[np.array([member.predict_codes(rows) for member in forest.members_])]
        expected = np.array([[slow_variance(counts, shares[:, row, code]) for code in range(3)] for row in range(8)])
        assert (expected > 0).sum() > 8
        np.testing.assert_allclose(errors, np.sqrt(np.where(expected < 0, np.nan, expected)), rtol=1e-6)


@pytest.mark.slow
def test_errors_agree_with_the_spread_over_training_sets() -> None:
    new = make_friedman1(20, random_state=99)[0]
    answers, variances = [], []
    for seed in range(16):
        X, y = make_friedman1(100, noise=2.0, random_state=seed)
        forest = tm.RandomForestRegressor(n_estimators=250, min_samples_leaf=5, random_state=seed).fit(X, y)
        answers.append(forest.predict(new))
        uncertainty = tm.Uncertainty(forest, X, y)
        variances.append(uncertainty._errors.variances(uncertainty._trained.read(new))[:, 0])
    spread, typical = np.std(answers, axis=0, ddof=1), np.sqrt(np.mean(variances, axis=0))
    assert 0.8 < np.mean(typical) / np.mean(spread) < 1.4


@pytest.mark.parametrize("name", with_slow(name for name in regressors() if name != "forest"))
def test_every_regressor_has_errors(name: str) -> None:
    X, y = made_table(60, 0)
    uncertainty = tm.Uncertainty(regressors(150)[name].fit(X, y), X, y)
    variances = uncertainty._errors.variances(uncertainty._trained.read(X))
    assert variances.shape == (60, 1)
    assert (variances > 0).mean() > 0.5
    assert np.sqrt(np.median(variances)) < y.std()


def test_classes_whose_probabilities_are_adjusted_have_errors_of_the_adjusted_ones() -> None:
    X, target = made_table(60, 0)
    y = classes_of(target)
    for name in ("aspen", "output smearing"):
        uncertainty = tm.Uncertainty(classifiers(100)[name].fit(X, y), X, y)
        assert uncertainty._trained.adjusts_means
        variances = uncertainty._errors.variances(uncertainty._trained.read(X))
        assert (variances > 0).mean() > 0.6
        assert variances.max() < 1.0


def test_slopes_of_adjusted_probabilities_are_those_of_calculus() -> None:
    X, target = made_table(60, 0)
    y = classes_of(target)
    model = tm.AspenClassifier(n_estimators=10, boosting=False, random_state=0).fit(X, y)
    trained = tm.Uncertainty(model, X, y)._trained
    rows = trained.read(X[:5])
    means = trained.means(trained.all_outputs(rows))
    part = np.random.default_rng(0).normal(size=means.shape) / 100
    errors = tm.Uncertainty(model, X, y)._errors
    # p is the softmax of a * log(q), q = (1 - s) m + s prior: dp = a p (dq / q - sum of p dq / q).
    task, probabilities = model._task(), trained.outputs_of_means(means, rows)
    change = (1 - 0.008) * part / task.with_prior(means)
    expected = task.power * probabilities * (change - (probabilities * change).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(errors._slopes(rows, means, part[None])[0], expected, rtol=1e-5, atol=1e-9)


def test_members_that_were_not_drawn_independently_have_no_errors() -> None:
    X, target = made_table(60, 0)
    model = tm.DaggingClassifier(n_estimators=4, random_state=0).fit(X, classes_of(target))
    with pytest.raises(UnsupportedModel, match="use bagging or a random forest"):
        tm.Uncertainty(model, X, classes_of(target)).predict_std(X)


def test_forests_of_scikit_learn_have_errors() -> None:
    X, y = load_diabetes(return_X_y=True)
    own = tm.RandomForestRegressor(n_estimators=200, min_samples_leaf=5, random_state=0).fit(X[:150], y[:150])
    foreign = RandomForestRegressor(n_estimators=200, min_samples_leaf=5, random_state=0).fit(X[:150], y[:150])
    variances = []
    for model in (own, foreign):
        uncertainty = tm.Uncertainty(model, X[:150], y[:150])
        variances.append(uncertainty._errors.variances(uncertainty._trained.read(X[150:]))[:, 0])
    assert 0.8 < np.mean(variances[0]) / np.mean(variances[1]) < 1.25
    assert np.corrcoef(*variances)[0, 1] > 0.5
