"""Spread of the answers under noise, against many draws; and what is drawn says so."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.ensemble import RandomForestRegressor as ForestOfSklearn
from sklearn.linear_model import LinearRegression, LogisticRegression

import tremula as tm
from tremula.errors import InvalidParameter, SamplingWarning
from tremula.smoothing.distribution import drawn_quantiles
from tremula.smoothing.methods import TreeSmoother
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import make_draws, perturb_rows, sample_moments
from tremula.smoothing.spread import variances
from tremula.trees.links import LOGISTIC
from tremula.trees.tree import NODE_DTYPE, Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees, sum_of_trees, tree_with_values

X, y = make_classification(300, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=2, random_state=0)
ROWS, TARGET = make_regression(200, 5, noise=5.0, random_state=0)
SD = ROWS.std(axis=0)


def mixed_table(n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers on a grid, so that rows lie on thresholds; levels; and missing values."""
    random = np.random.default_rng(0)
    first, second = random.integers(0, 6, n_rows) / 2, random.normal(size=n_rows)
    third, fourth = random.choice(["a", "b", "c"], n_rows), random.choice(["u", "v", "w", "z"], n_rows)
    target = first + 2.0 * (third == "b") + (fourth == "u") + second + 0.1 * random.normal(size=n_rows)
    table = pd.DataFrame({"first": first, "second": second, "third": third, "fourth": fourth})
    return table.mask(random.random(table.shape) < 0.1), target


def assert_like_draws(soft: Any, table: Any, n_draws: int = 15_000, **options: Any) -> None:
    """Compare exact deviations with those of the model's own answers over many draws."""
    spread = soft.spread(table, **options, max_visits=np.inf)
    assert spread.is_exact.all()
    smoother, rows, noise = soft._read(table, options.get("X_std"))
    draws = make_draws(99, n_draws, rows.shape[1])
    moments = sample_moments(smoother.model.answers, rows, noise.sd, draws, noise.flip, noise.level_shares)
    assert moments.deviations.max() > 0
    # If all draws agree, what they missed has a probability of a few in n_draws.
    errors = np.where(np.isnan(moments.deviation_errors), 1 / np.sqrt(n_draws), moments.deviation_errors)
    assert np.all(np.abs(spread.deviations - moments.deviations) <= 4.5 * errors + spread.error + 1e-6)
    assert np.all(np.abs(spread.answers - moments.means) <= 4.5 * spread.deviations / np.sqrt(n_draws) + 1e-6)


# --- exact, against draws ---


def test_a_forest_of_classes() -> None:
    forest = tm.RandomForestClassifier(n_estimators=15, random_state=0).fit(X, y)
    assert_like_draws(tm.DualPerturbClassifier(forest, noise=0.3).fit(X), X[:4])


@pytest.mark.parametrize("noise", [pytest.param(0.05, marks=pytest.mark.slow), 1.0])
def test_levels_missing_values_and_rows_on_thresholds(noise: float) -> None:
    table, target = mixed_table()
    bagged = tm.BaggingRegressor(n_estimators=5, random_state=0).fit(table, target)
    soft = tm.DualPerturbRegressor(bagged, noise=noise, flip=0.3).fit(table)
    missing = np.flatnonzero(table.isna().any(axis=1))[:4]
    assert_like_draws(soft, table.iloc[np.r_[0:4, missing]], n_draws=6000)


def test_noise_of_each_value() -> None:
    forest = ForestOfSklearn(10, random_state=0).fit(ROWS, TARGET)
    errors = np.random.default_rng(1).choice([0.0, 0.1, 0.5], size=(5, 5)) * SD
    assert_like_draws(tm.DualPerturbRegressor(forest, noise=0.0).fit(ROWS), ROWS[:5], X_std=errors)


def test_boosting_of_numbers() -> None:
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(ROWS, TARGET)
    assert_like_draws(tm.DualPerturbRegressor(model, noise=0.3).fit(ROWS), ROWS[:4])


def test_the_shares_of_a_missing_value_are_no_chance() -> None:
    # Without any other attribute the answer is the same mixture, whatever the noise.
    table = np.array([[0.0], [1.0], [np.nan], [1.0]])
    tree = tm.CARTRegressor(min_samples_split=2).fit(table, [0.0, 1.0, 0.5, 1.0])
    soft = tm.DualPerturbRegressor(tree, noise=1.0).fit(table)
    spread = soft.spread(np.array([[np.nan], [0.3]]))
    assert tree.tree_.n_leaves > 1
    assert spread.deviations[0, 0] < 1e-12
    assert spread.deviations[1, 0] > 0.1


def test_a_large_offset_costs_no_digits() -> None:
    near = tm.BaggingRegressor(n_estimators=8, random_state=0).fit(ROWS, TARGET).as_tree_sum()
    far = replace(near, trees=tuple(tree_with_values(tree, tree.values + 2.0**30) for tree in near.trees))
    near_values, far_values = (variances(model, ROWS[:9], 0.3 * SD, tol=0.0).values for model in (near, far))
    np.testing.assert_allclose(far_values, near_values, rtol=1e-6)


def test_drawn_deviations_of_large_answers() -> None:
    rows, draws = np.zeros((3, 1)), make_draws(0, 400, 1)
    moments = sample_moments(lambda given: 1e9 + 1e-3 * given, rows, np.ones(1), draws)
    np.testing.assert_allclose(moments.deviations, 1e-3 * draws.normal.std(), rtol=1e-3)


def test_draws_that_agree_do_not_tell_an_error() -> None:
    moments = sample_moments(np.zeros_like, np.zeros((2, 1)), np.ones(1), make_draws(0, 20, 1))
    assert not moments.deviations.any()
    assert np.isnan(moments.deviation_errors).all()


def test_a_deep_tree() -> None:
    thresholds = np.linspace(-3, 3, 3001)
    nodes: list[tuple] = []
    for k, threshold in enumerate(thresholds):
        nodes += [(threshold, 1.0, 0, 2 * k + 1, 2, -1), (np.nan, 1.0, -1, 0, 0, k)]
    nodes.append((np.nan, 1.0, -1, 0, 0, len(thresholds)))
    values = np.linspace(-3, 3, 3002)[:, None]
    stairs = Tree(np.array(nodes, dtype=NODE_DTYPE), values, [], np.zeros(1, dtype=np.int32), False)
    # The stairs follow the value up to 3, so the mean of two of them varies like the noise on it.
    spread = variances(mean_of_trees([stairs, stairs]), np.zeros((1, 1)), [0.5], tol=0.0, max_visits=np.inf)
    assert np.sqrt(spread.values[0, 0]) == pytest.approx(0.5, rel=1e-3)


def test_two_trees_that_cancel() -> None:
    tree = tm.CARTRegressor(max_depth=6).fit(ROWS, TARGET).tree_
    model = replace(sum_of_trees([tree, tree]), weights=np.array([1.0, -1.0]))
    assert variances(model, ROWS[:20], SD, tol=0.0).values.max() < 1e-9


def test_same_bits_for_any_number_of_jobs() -> None:
    forest = tm.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    spreads = [tm.DualPerturbClassifier(forest, noise=0.2, n_jobs=n_jobs).fit(X).spread(X) for n_jobs in (1, 2, 3)]
    for spread in spreads[1:]:
        assert spread.deviations.tobytes() == spreads[0].deviations.tobytes()
        assert spread.error.tobytes() == spreads[0].error.tobytes()


def test_without_noise_nothing_spreads() -> None:
    forest = tm.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    spread = tm.DualPerturbClassifier(forest, noise=0.0).fit(X).spread(X[:5])
    assert spread.is_exact.all()
    assert not spread.deviations.any()
    np.testing.assert_array_equal(spread.answers, forest.predict_proba(X[:5]))


@pytest.mark.slow
def test_a_million_draws() -> None:
    forest = tm.RandomForestClassifier(n_estimators=30, random_state=0).fit(X, y)
    for noise in (0.02, 0.2, 2.0):
        assert_like_draws(tm.DualPerturbClassifier(forest, noise=noise).fit(X), X[:2], n_draws=1_000_000)


# --- what cannot be computed is drawn, and says so ---


def test_return_std_of_a_forest_is_exact_and_does_not_warn() -> None:
    forest = ForestOfSklearn(10, random_state=0).fit(ROWS, TARGET)
    soft = tm.DualPerturbRegressor(forest, noise=0.2).fit(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, deviation = soft.predict(ROWS[:5], return_std=True)
    np.testing.assert_array_equal(mean, soft.predict(ROWS[:5]))
    np.testing.assert_array_equal(deviation, soft.spread(ROWS[:5]).deviations[:, 0])


def test_answers_behind_a_link_are_drawn_and_margins_are_exact() -> None:
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y == 1)
    soft = tm.DualPerturbClassifier(model, noise=0.4, n_draws=300, random_state=0).fit(X)
    with pytest.warns(SamplingWarning, match="3 rows of 3 are drawn"):
        soft.predict_proba(X[:3], return_std=True)
    assert not soft.spread(X[:3]).is_exact.any()
    margins = soft.spread(X[:3], of="margins")
    assert margins.is_exact.all()
    smoother, rows, noise = soft._read(X[:3], None)
    moments = sample_moments(smoother.model.margins, rows, noise.sd, make_draws(5, 20_000, 4))
    np.testing.assert_allclose(margins.answers[:, 0], moments.means[:, 0], atol=0.03)
    assert np.all(np.abs(margins.deviations - moments.deviations) <= 4.5 * moments.deviation_errors)


def test_rows_with_too_many_pairs_are_drawn() -> None:
    forest = ForestOfSklearn(10, random_state=0).fit(ROWS, TARGET)
    soft = tm.DualPerturbRegressor(forest, noise=0.3, n_draws=2000, random_state=0).fit(ROWS)
    exact = soft.spread(ROWS[:30], max_visits=np.inf)
    visits = variances(soft._wrapped.trees.sum, ROWS[:30], 0.3 * SD).n_visits
    drawn = soft.spread(ROWS[:30], max_visits=float(np.median(visits)))
    assert 0 < drawn.is_exact.sum() < 30
    np.testing.assert_array_equal(drawn.deviations[drawn.is_exact], exact.deviations[drawn.is_exact])
    distance = np.abs(drawn.deviations - exact.deviations)[~drawn.is_exact]
    assert np.all(distance > 0)
    assert np.mean(distance <= 2 * drawn.error[~drawn.is_exact]) > 0.8
    assert np.all(distance <= 5 * drawn.error[~drawn.is_exact])


@pytest.mark.parametrize("options", [{"of": "shares"}, {"max_visits": 0}])
def test_parameters_of_a_spread(options: dict) -> None:
    soft = tm.DualPerturbRegressor(tm.CARTRegressor(), noise=0.3).fit(ROWS, TARGET)
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        soft.spread(ROWS, **options)


def test_only_trees_have_margins() -> None:
    soft = tm.DualPerturbRegressor(LinearRegression(), noise=0.3).fit(ROWS, TARGET)
    with pytest.raises(InvalidParameter, match="LinearRegression"):
        soft.spread(ROWS, of="margins")


# --- the whole distribution ---


def test_quantiles_of_a_tree_are_those_of_its_leaves() -> None:
    tree = tm.CARTRegressor(max_depth=3).fit(ROWS, TARGET)
    soft = tm.DualPerturbRegressor(tree, noise=0.5, tol=0.0).fit(ROWS)
    levels = np.array([0.01, 0.3, 0.5, 0.9])
    answers = soft.answer_distribution(ROWS[:4], levels)
    assert answers.is_exact.all()
    np.testing.assert_allclose(answers.leaf_weights.sum(axis=1), 1.0)
    mean, deviation = soft.predict(ROWS[:4], return_std=True)
    np.testing.assert_allclose(answers.leaf_weights @ answers.leaf_answers[:, 0], mean)
    squares = answers.leaf_weights @ answers.leaf_answers[:, 0] ** 2
    np.testing.assert_allclose(np.sqrt(squares - mean**2), deviation)
    random = np.random.default_rng(0)
    for row in range(4):
        drawn = tree.predict(ROWS[row] + 0.5 * SD * random.normal(size=(20_000, 5)))
        for place, probability in enumerate(levels):
            value = answers.quantiles[row, 0, place]
            assert np.mean(drawn < value - 1e-9) <= probability + 0.015
            assert np.mean(drawn <= value + 1e-9) >= probability - 0.015


def test_one_tree_behind_a_link_needs_no_draws() -> None:
    tree = tm.CARTRegressor(max_depth=4).fit(X, (y == 1).astype(float)).tree_
    model: TreeSum = sum_of_trees([tree], offset=[-0.5], link=LOGISTIC, outputs=[0], weights=[4.0])
    smoother, noise = TreeSmoother(model, "exact", 1e-9, make_draws(0, 10, 4)), Noise(X.std(axis=0))
    exact = smoother.deviations(X[:5], noise, 1e6, None)
    draws = make_draws(1, 15_000, 4)
    moments = sample_moments(model.answers, X[:5], noise.sd, draws)
    assert exact.is_exact.all()
    assert np.all(np.abs(exact.values - moments.deviations) <= 4.5 * moments.deviation_errors + 1e-9)
    values = smoother.distribution(X[:5], noise, np.array([0.25, 0.75]), draws, None)
    drawn = np.stack([model.answers(perturb_rows(X[:5], noise.sd, draws, n, 0.0, ())) for n in range(2000)])
    assert np.all((drawn <= values.quantiles[:, :, 0] + 1e-12).mean(axis=0) >= 0.25 - 0.05)
    assert np.all((drawn < values.quantiles[:, :, 1] - 1e-12).mean(axis=0) <= 0.75 + 0.05)


def test_a_mixture_of_leaves_is_drawn() -> None:
    table, target = mixed_table()
    tree = tm.CARTRegressor(max_depth=4).fit(table, target)
    soft = tm.DualPerturbRegressor(tree, noise=0.5, random_state=0).fit(table)
    answers = soft.answer_distribution(table[:40])
    assert not answers.is_exact[table[:40][["first", "second", "third"]].isna().any(axis=1)].any()
    assert np.all(answers.low[answers.is_exact] == answers.high[answers.is_exact])
    assert np.all(answers.low <= answers.quantiles)
    assert np.all(answers.quantiles <= answers.high)


def test_quantiles_of_a_linear_score() -> None:
    soft = tm.DualPerturbClassifier(LogisticRegression(), noise=0.5).fit(X, y == 1)
    answers = soft.answer_distribution(X[:4], [0.1, 0.5])
    assert answers.is_exact.all()
    drawn = soft.estimator_.predict_proba(
        X[0] + 0.5 * X.std(axis=0) * np.random.default_rng(0).normal(size=(20_000, 4))
    )
    np.testing.assert_allclose(answers.quantiles[0], np.quantile(drawn, [0.1, 0.5], axis=0).T, atol=0.02)


def test_quantiles_of_a_forest_are_drawn() -> None:
    forest = tm.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    soft = tm.DualPerturbClassifier(forest, noise=0.3, random_state=0).fit(X)
    few, many = (soft.answer_distribution(X[:20], [0.05, 0.5], n_draws=n_draws) for n_draws in (200, 5000))
    assert not few.is_exact.any()
    inside = (few.low <= many.quantiles) & (many.quantiles <= few.high)
    assert inside.mean() > 0.9
    assert few.leaf_weights is None


def test_intervals_around_quantiles_hold_what_they_promise() -> None:
    drawn = np.random.default_rng(0).random((300, 2000, 1))
    _, low, high = drawn_quantiles(drawn, np.array([0.02, 0.5, 0.9]))
    inside = ((low <= [0.02, 0.5, 0.9]) & (high >= [0.02, 0.5, 0.9])).mean(axis=(0, 1))
    assert np.all(inside >= 0.945)
    assert np.all(inside <= 0.985)


def test_few_draws_do_not_bound_a_far_quantile() -> None:
    _, low, high = drawn_quantiles(np.arange(10.0)[:, None, None], np.array([0.01, 0.99]))
    assert low[0, 0, 0] == -np.inf
    assert high[0, 0, 1] == np.inf


@pytest.mark.parametrize("quantiles", [0.0, [0.5, 1.0], [[0.5]]])
def test_quantiles_lie_between_0_and_1(quantiles: Any) -> None:
    soft = tm.DualPerturbRegressor(tm.CARTRegressor(), noise=0.3).fit(ROWS, TARGET)
    with pytest.raises(InvalidParameter, match="above 0 and below 1"):
        soft.answer_distribution(ROWS, quantiles)
