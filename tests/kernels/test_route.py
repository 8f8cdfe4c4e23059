"""Routing kernels against a slow, obvious router, on many small random trees."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula.trees.tree import NODE_DTYPE, Tree

from .naive_router import expected_value, heaviest_leaf, nodes_reached
from .random_trees import random_rows, random_tree, with_missing_branches

SEEDS = range(150)


# --- kernels equal their twin ---


@pytest.mark.parametrize("seed", SEEDS)
def test_leaves_are_those_of_the_naive_router(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng)
    assert tree.apply(rows).tolist() == [heaviest_leaf(tree, row) for row in rows]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_equal_their_definition_to_the_last_bit(seed: int, n_outputs: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng, n_outputs), random_rows(rng)
    tree = with_missing_branches(rng, tree) if seed % 2 else tree
    values = tree.predict_values(rows)
    np.testing.assert_array_equal(values, [expected_value(tree, row) for row in rows])
    leaves = [(tree.nodes["index"][node], share) for node, share in nodes_reached(tree, rows[0]) if tree.is_leaf[node]]
    np.testing.assert_allclose(values[0], sum(share * tree.values[index] for index, share in leaves), rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_are_the_first_largest_of_the_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng)
    np.testing.assert_array_equal(tree.predict_codes(rows), tree.predict_values(rows).argmax(axis=1))


@pytest.mark.parametrize("seed", SEEDS)
def test_class_weights_and_moments_sum_the_shares_of_the_naive_router(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng, 30)
    codes, weights, targets = rng.integers(0, 3, 30), rng.random(30), rng.normal(size=30)
    by_class, moments = np.zeros((tree.n_nodes, 3)), np.zeros((tree.n_nodes, 3))
    for row, code, weight, target in zip(rows, codes, weights, targets, strict=True):
        for node, share in nodes_reached(tree, row):
            by_class[node, code] += weight * share
            moments[node] += [weight * share, weight * share * target, weight * share * target * target]
    np.testing.assert_array_equal(tree.class_weights(rows, codes, weights), by_class)
    np.testing.assert_array_equal(tree.moments(rows, targets, weights), moments)


@pytest.mark.parametrize("seed", SEEDS)
def test_decision_path_marks_the_nodes_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng)
    marked = np.zeros((len(rows), tree.n_nodes), dtype=int)
    for place, row in enumerate(rows):
        marked[place, [node for node, _ in nodes_reached(tree, row)]] = 1
    np.testing.assert_array_equal(tree.decision_path(rows).toarray(), marked)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_array_in_memory_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng)
    spaced = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    backwards = rows[::-1].copy()[::-1]
    for same in (np.asfortranarray(rows), spaced, backwards):
        np.testing.assert_array_equal(tree.predict_values(same), tree.predict_values(rows))
        np.testing.assert_array_equal(tree.apply(same), tree.apply(rows))


def test_values_are_added_with_their_weight() -> None:
    rng = np.random.default_rng(0)
    tree, rows = random_tree(rng), random_rows(rng)
    total = np.ones((len(rows), 3))
    tree.add_values(rows, 2.0, total)
    np.testing.assert_array_equal(total, 1 + 2 * tree.predict_values(rows))


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 200])
def test_any_number_of_rows_is_routed(n_rows: int) -> None:
    rng = np.random.default_rng(1)
    tree, rows = random_tree(rng), random_rows(rng, n_rows)
    assert tree.apply(rows).tolist() == [heaviest_leaf(tree, row) for row in rows]
    assert tree.predict_values(rows).shape == (n_rows, 3)
    assert tree.decision_path(rows).shape == (n_rows, tree.n_nodes)


def test_a_deep_tree_is_no_deep_recursion() -> None:
    depth = 20_000
    nodes = np.zeros(2 * depth + 1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"], nodes["index"] = -1, 1.0, np.arange(len(nodes)) % 2
    nodes[: 2 * depth : 2] = [(k, 1.0, 0, 2 * k + 1, 2, -1) for k in range(depth)]
    tree = Tree(nodes, np.eye(2), [], [0], strict=False)
    assert tree.depth == depth
    assert tree.predict_values([[np.nan]]).sum() == pytest.approx(1.0)


# --- another program's trees ---


def from_scikit_learn(model: DecisionTreeClassifier | DecisionTreeRegressor, n_attributes: int) -> Tree:
    """The same tree in our arrays. It compares values rounded to float32 with its thresholds."""
    theirs, order = model.tree_, [0]
    nodes = np.zeros(theirs.node_count, dtype=NODE_DTYPE)
    for place, node in enumerate(order):  # grows while it is read
        is_leaf = theirs.children_left[node] < 0
        weight = theirs.weighted_n_node_samples[node]
        if is_leaf:
            nodes[place] = (np.nan, weight, -1, 0, 0, node)
        else:
            nodes[place] = (theirs.threshold[node], weight, theirs.feature[node], len(order), 2, -1)
            order += [theirs.children_left[node], theirs.children_right[node]]
    tree = Tree(nodes, theirs.value[:, 0, :], [], np.zeros(n_attributes), strict=False)
    tree.check()
    return tree


def test_predictions_of_a_scikit_learn_classifier_are_the_same() -> None:
    X, y = make_classification(2000, 10, n_informative=6, n_classes=4, flip_y=0.2, random_state=0)
    X = X.astype(np.float32).astype(np.float64)
    model = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X[:1000], y[:1000])
    tree = from_scikit_learn(model, 10)
    np.testing.assert_array_equal(tree.predict_values(X), model.predict_proba(X))
    np.testing.assert_array_equal(tree.predict_codes(X), model.predict(X))
    assert (tree.depth, tree.n_leaves) == (model.get_depth(), model.get_n_leaves())
    assert tree.decision_path(X).sum() == model.decision_path(X).sum()


def test_predictions_of_a_scikit_learn_regressor_are_the_same() -> None:
    X, y = make_regression(500, 5, random_state=0)
    X = X.astype(np.float32).astype(np.float64)
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(from_scikit_learn(model, 5).predict_values(X)[:, 0], model.predict(X))
