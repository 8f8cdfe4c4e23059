"""Noise of its own for every tree: equal to SmooRF, to each tree smoothed alone, and certified."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.naive_bayes import GaussianNB

from tremula import DualPerturbClassifier, DualPerturbRegressor
from tremula.errors import InvalidParameter
from tremula.smoothing.bandwidths import least_noise, soften_per_tree
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model
from tremula.trees.tree_sum import tree_with_values

from .smoorf_twin import smoorf_trees

X, y = load_diabetes(return_X_y=True)
X = X / X.std(axis=0)
TRAINING, TEST = slice(0, 120), slice(120, 150)


def forest_and_bandwidths(**options: object) -> tuple[RandomForestRegressor, np.ndarray]:
    forest = RandomForestRegressor(n_estimators=5, random_state=0, **options).fit(X[TRAINING], y[TRAINING])
    return forest, np.random.default_rng(0).choice([0.02, 0.1, 0.5, 2.0], size=(5, X.shape[1]))


# --- SmooRF ---


@pytest.mark.parametrize("options", [{}, {"bootstrap": False, "min_samples_leaf": 5, "max_features": 3}])
def test_a_forest_with_fixed_bandwidths_is_smoorf(options: dict) -> None:
    forest, bandwidths = forest_and_bandwidths(**options)
    wrapper = DualPerturbRegressor(forest, noise=bandwidths, scale=np.ones(X.shape[1]), thresholds="kept", tol=0.0)
    wrapper.fit(X[TRAINING])
    expected = smoorf_trees(forest, X[TRAINING], y[TRAINING], X[TEST], bandwidths).mean(axis=0)
    np.testing.assert_allclose(wrapper.predict(X[TEST]), expected, rtol=1e-6)


def test_smoorf_counts_a_row_once_that_was_drawn_several_times() -> None:
    forest, bandwidths = forest_and_bandwidths(min_samples_leaf=5)
    model = read_model(forest).sum
    trees = []
    for inbag, tree in zip(forest.estimators_samples_, model.trees):
        rows = np.unique(inbag)
        leaves = tree.apply(X[TRAINING][rows])
        assert len(np.unique(leaves)) == tree.n_leaves
        values = tree.values.copy()
        for leaf in np.unique(leaves):
            values[tree.nodes["index"][leaf]] = y[TRAINING][rows][leaves == leaf].mean()
        trees.append(tree_with_values(tree, values))
    counted_once = soften_per_tree(
        replace(model, trees=tuple(trees)), X[TEST], bandwidths[:, None, :], tol=0.0
    ).margins[:, 0]
    counted_each_time = soften_per_tree(model, X[TEST], bandwidths[:, None, :], tol=0.0).margins[:, 0]
    expected = smoorf_trees(forest, X[TRAINING], y[TRAINING], X[TEST], bandwidths).mean(axis=0)
    np.testing.assert_allclose(counted_once, expected, rtol=1e-6)
    assert np.abs(counted_each_time / expected - 1).max() > 1e-3


# --- noise of every tree ---


def boosted_classes() -> tuple[GradientBoostingClassifier, np.ndarray]:
    rows, classes = load_wine(return_X_y=True)
    return GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=0).fit(rows, classes), rows


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_each_tree_has_its_noise(n_jobs: int | None) -> None:
    model, rows = boosted_classes()
    trees = read_model(model).sum
    noise = np.random.default_rng(1).choice([0.0, 0.1, 1.0], size=(len(trees.trees), 1, rows.shape[1]))
    noise = noise * rows.std(axis=0)
    expected = np.tile(trees.offset, (len(rows), 1))
    for number in range(len(trees.trees)):
        term = replace(
            trees,
            trees=(trees.trees[number],),
            weights=trees.weights[[number]],
            outputs=trees.outputs[[number]],
            shares=(trees.shares[number],),
            offset=np.zeros(3),
        )
        expected += soften(term, rows, noise[number, 0]).margins
    softened = soften_per_tree(trees, rows, noise, n_jobs=n_jobs)
    np.testing.assert_array_equal(softened.margins, expected)
    repeated = np.repeat(noise, len(rows), axis=1)
    np.testing.assert_array_equal(soften_per_tree(trees, rows, repeated).margins, expected)


def test_equal_noise_in_every_tree_is_common_noise() -> None:
    model, rows = boosted_classes()
    common = DualPerturbClassifier(model, noise=0.3, tol=0.0).fit(rows)
    each = DualPerturbClassifier(model, noise=np.full((12, rows.shape[1]), 0.3), tol=0.0).fit(rows)
    assert each.noise_.shape == (12, rows.shape[1])
    np.testing.assert_allclose(each.predict_proba(rows), common.predict_proba(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(each.gradient(rows), common.gradient(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(each.certified_radius(rows), common.certified_radius(rows, n_regions=0), rtol=1e-9)
    error = 0.1 * rows.std(axis=0)
    expected = common.predict_proba(rows, X_std=error)
    np.testing.assert_allclose(each.predict_proba(rows, X_std=error), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(each)).predict_proba(rows), each.predict_proba(rows))


def test_no_move_within_the_radius_changes_the_class() -> None:
    rows, classes = load_wine(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=7, max_depth=3, random_state=0).fit(rows[::2], classes[::2])
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.1, 2.0, size=(7, rows.shape[1]))
    soft = DualPerturbClassifier(forest, noise=noise).fit(rows[::2])
    tested = rows[1::2][:40]
    radius, labels, unit = soft.certified_radius(tested), soft.predict(tested), least_noise_of(soft)
    assert (radius > 0.05).mean() > 0.5
    towards = -soft.gradient(tested)[np.arange(40), labels] * unit
    for direction in [towards, *rng.normal(size=(10, *tested.shape))]:
        move = radius[:, None] * direction / (np.linalg.norm(direction, axis=1, keepdims=True) + 1e-300) * unit
        np.testing.assert_array_equal(soft.predict(tested + 0.999 * move), labels)


def least_noise_of(soft: DualPerturbClassifier) -> np.ndarray:
    return least_noise(read_model(soft.estimator_).sum, (soft.noise_ * soft.scale_)[:, None, :])[0]


def test_an_interval_holds_for_every_move() -> None:
    forest, bandwidths = forest_and_bandwidths(max_depth=4)
    soft = DualPerturbRegressor(forest, noise=bandwidths, scale=np.ones(X.shape[1])).fit(X[TRAINING])
    low, high = soft.certified_interval(X[TEST], radius=0.5)
    unit = least_noise(read_model(forest).sum, bandwidths[:, None, :])
    slopes = soft.gradient(X[TEST]) * unit
    for direction in [slopes, -slopes, *np.random.default_rng(0).normal(size=(10, *slopes.shape))]:
        move = 0.5 * direction / (np.linalg.norm(direction, axis=1, keepdims=True) + 1e-300) * unit
        moved = soft.predict(X[TEST] + move)
        assert np.all((low <= moved) & (moved <= high))


def test_a_tree_that_does_not_test_an_attribute_does_not_limit_its_unit() -> None:
    forest, bandwidths = forest_and_bandwidths(max_depth=2)
    model = read_model(forest).sum
    is_tested = np.array([np.isin(np.arange(X.shape[1]), tree.attribute) for tree in model.trees])
    assert is_tested.any(axis=0).sum() < X.shape[1]
    noise = np.where(is_tested, bandwidths, 0.0)[:, None, :]
    least = least_noise(model, noise)[0]
    for attribute in range(X.shape[1]):
        testing = is_tested[:, attribute]
        assert least[attribute] == (noise[testing, 0, attribute].min() if testing.any() else 0.0)


def test_what_is_refused() -> None:
    forest, bandwidths = forest_and_bandwidths()
    soft = DualPerturbRegressor(forest, noise=bandwidths).fit(X[TRAINING])
    with pytest.raises(InvalidParameter, match="noise of its own"):
        soft.predict(X[TEST], return_std=True)
    with pytest.raises(InvalidParameter, match=r"\(5, 10\), one for each tree"):
        DualPerturbRegressor(forest, noise=bandwidths[:3]).fit(X[TRAINING])
    with pytest.raises(InvalidParameter, match="only models of trees"):
        DualPerturbRegressor(forest, noise=bandwidths, method="sample").fit(X[TRAINING])
    with pytest.raises(InvalidParameter, match="only models of trees"):
        DualPerturbClassifier(GaussianNB(), noise=np.ones((2, 10))).fit(X[TRAINING], y[TRAINING] > 100)
