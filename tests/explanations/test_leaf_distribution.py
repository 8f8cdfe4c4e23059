"""The distribution over leaves under noise: products of normal probabilities, predictions, draws, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression

from tremula import (
    BaggingRegressor,
    CARTClassifier,
    DualPerturbClassifier,
    DualPerturbRegressor,
    leaf_distribution,
)
from tremula.errors import UnsupportedModel

X, Y = load_iris(return_X_y=True)
DEVIATIONS = X.std(axis=0)


def path_products(tree: CARTClassifier, rows: np.ndarray, noise: float) -> np.ndarray:
    """Walk every path and multiply the normal probabilities of its tests, written out."""
    nodes, leaves = tree.tree_, []

    def walk(node: int, probability: np.ndarray) -> None:
        if nodes.is_leaf[node]:
            leaves.append((node, probability))
            return
        attribute, threshold = nodes.nodes["attribute"][node], nodes.nodes["threshold"][node]
        below = norm.cdf(threshold, rows[:, attribute], noise * DEVIATIONS[attribute])
        first = nodes.nodes["first_child"][node]
        walk(first, probability * below)
        walk(first + 1, probability * (1 - below))

    walk(0, np.ones(len(rows)))
    return np.column_stack([probability for _, probability in sorted(leaves, key=lambda pair: pair[0])])


def test_the_path_form_is_the_product_over_the_tests_of_a_path() -> None:
    tree = CARTClassifier(max_depth=4).fit(X, Y)
    smooth = DualPerturbClassifier(tree, noise=0.3, method="path", thresholds="kept").fit(X)
    (distribution,) = leaf_distribution(smooth, X)
    assert np.allclose(distribution, path_products(tree, X, 0.3), atol=1e-12)


@pytest.mark.parametrize("method", ["path", "exact"])
def test_leaves_weighted_by_their_probabilities_give_the_prediction(method: str) -> None:
    tree = CARTClassifier(max_depth=4).fit(X, Y)
    smooth = DualPerturbClassifier(tree, noise=0.3, method=method).fit(X)
    (distribution,) = leaf_distribution(smooth, X)
    assert np.allclose(distribution.sum(axis=1), 1.0)
    values = tree.tree_.values[tree.tree_.nodes["index"][tree.tree_.is_leaf]]
    shares = values / values.sum(axis=1, keepdims=True)
    assert np.allclose(distribution @ shares, smooth.predict_proba(X))


def test_the_exact_form_is_that_of_draws() -> None:
    tree = CARTClassifier(max_depth=3).fit(X, Y)
    smooth = DualPerturbClassifier(tree, noise=0.4, thresholds="kept").fit(X)
    row, draw = X[70], np.random.default_rng(0)
    noisy = row + 0.4 * DEVIATIONS * draw.normal(size=(40_000, 4))
    reached = np.asarray(tree.apply(noisy))
    leaves = np.flatnonzero(tree.tree_.is_leaf)
    shares = [(reached == leaf).mean() for leaf in leaves]
    assert np.allclose(leaf_distribution(smooth, row[None])[0][0], shares, atol=0.01)


def test_without_noise_a_row_reaches_one_leaf() -> None:
    tree = CARTClassifier().fit(X, Y)
    (distribution,) = leaf_distribution(DualPerturbClassifier(tree, noise=0.0).fit(X), X)
    leaves = np.flatnonzero(tree.tree_.is_leaf)
    assert leaves[distribution.argmax(axis=1)].tolist() == np.asarray(tree.apply(X)).tolist()
    assert set(np.unique(distribution)) == {0.0, 1.0}


def test_every_tree_of_an_ensemble_has_a_distribution() -> None:
    rows, target = load_diabetes(return_X_y=True)
    bagged = BaggingRegressor(n_estimators=3, random_state=0).fit(rows, target)
    distributions = leaf_distribution(DualPerturbRegressor(bagged, noise=0.2).fit(rows), rows[:5])
    assert [distribution.shape[0] for distribution in distributions] == [5, 5, 5]
    assert all(np.allclose(distribution.sum(axis=1), 1.0) for distribution in distributions)


def test_models_without_a_distribution_are_refused() -> None:
    with pytest.raises(UnsupportedModel, match="is not smoothed"):
        leaf_distribution(CARTClassifier().fit(X, Y), X)
    linear = DualPerturbClassifier(LogisticRegression(max_iter=1000).fit(X, Y), noise=0.2, method="sample").fit(X)
    with pytest.raises(UnsupportedModel, match="use method='exact'"):
        leaf_distribution(linear, X)
