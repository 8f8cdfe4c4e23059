"""Tree: what it holds, how it is made from counts or means, what it refuses, importances."""

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula.trees.importances import attribute_importances
from tremula.trees.structure import branch_shares, copy_nodes, depths_of, parents_of
from tremula.trees.tree import NODE_DTYPE, Tree

LEAF = (np.nan, 0.0, -1, 0, 0, 0)


def weather_tree() -> Tree:
    """Humidity <= 75; else windy in {no} or {yes}; then outlook, of which one level came in no training row."""
    nodes = np.array(
        [
            (75.0, 14, 0, 1, 2, -1),
            (np.nan, 5, -1, 0, 0, 0),
            (np.nan, 9, 1, 3, 2, 0),
            (np.nan, 6, 2, 5, 3, -2),
            (np.nan, 3, -1, 0, 0, 1),
            (np.nan, 4, -1, 0, 0, 0),
            (np.nan, 2, -1, 0, 0, 1),
            (np.nan, 0, -1, 0, 0, 2),
        ],
        dtype=NODE_DTYPE,
    )
    return Tree(nodes, [[1, 0], [0, 1], [2 / 3, 1 / 3]], [0, 1], [0, 2, 3], strict=False)


def test_a_tree_knows_its_size() -> None:
    tree = weather_tree()
    assert (tree.n_nodes, tree.n_leaves, tree.depth, tree.n_attributes, tree.n_outputs) == (8, 5, 3, 3, 2)
    assert tree.nbytes == 8 * 32 + 3 * 2 * 8 + 2 + 3 * 4
    assert repr(tree) == "Tree(n_nodes=8, n_leaves=5, depth=3, n_attributes=3, n_outputs=2)"


def test_a_node_takes_32_bytes() -> None:
    assert NODE_DTYPE.itemsize == 32


def test_a_single_leaf_is_a_tree() -> None:
    tree = Tree(np.array([LEAF], dtype=NODE_DTYPE), [[0.5, 0.5]], [], [0], strict=False)
    assert (tree.depth, tree.n_leaves) == (0, 1)
    assert tree.predict_codes([[np.nan], [1.0]]).tolist() == [0, 0]
    assert attribute_importances(tree, "gini").tolist() == [0.0]


def test_shape_is_read_from_the_records() -> None:
    nodes = weather_tree().nodes
    assert parents_of(nodes).tolist() == [-1, 0, 0, 2, 2, 3, 3, 3]
    assert depths_of(nodes).tolist() == [0, 1, 1, 2, 2, 3, 3, 3]
    np.testing.assert_allclose(branch_shares(nodes), [1, 5 / 14, 9 / 14, 6 / 9, 3 / 9, 4 / 6, 2 / 6, 0])


def test_branches_of_no_weight_share_equally() -> None:
    nodes = weather_tree().nodes.copy()
    nodes["weight"][5:] = 0
    np.testing.assert_allclose(branch_shares(nodes)[5:], 1 / 3)


def test_values_of_splits_are_weighted_means_of_their_branches() -> None:
    values = weather_tree().node_values()
    np.testing.assert_allclose(values[3], [4 / 6, 2 / 6])
    np.testing.assert_allclose(values[2], [4 / 9, 5 / 9])
    np.testing.assert_allclose(values[0], [9 / 14, 5 / 14])


def test_values_of_splits_whose_branches_weigh_nothing_are_plain_means() -> None:
    tree = weather_tree()
    nodes = tree.nodes.copy()
    nodes["weight"][5:] = 0
    values = Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict).node_values()
    np.testing.assert_allclose(values[3], [(1 + 0 + 2 / 3) / 3, (0 + 1 + 1 / 3) / 3])


def test_a_missing_value_goes_down_every_branch() -> None:
    tree = weather_tree()
    np.testing.assert_allclose(tree.predict_values([[80, 0, np.nan]]), [[4 / 6, 2 / 6]])
    np.testing.assert_allclose(tree.predict_values([[80, np.nan, 0]]), [[6 / 9, 3 / 9]])
    assert tree.apply([[80, np.nan, np.nan]]).tolist() == [5]
    assert tree.decision_path([[80, np.nan, 1]]).indices.tolist() == [0, 2, 3, 4, 6]


def test_a_level_the_split_never_saw_is_missing() -> None:
    tree = weather_tree()
    unseen = Tree(tree.nodes, tree.values, [0, 2], tree.n_levels, tree.strict)
    np.testing.assert_array_equal(unseen.predict_values([[80, 1, 0]]), tree.predict_values([[80, np.nan, 0]]))


@pytest.mark.parametrize("strict", [False, True])
def test_a_value_on_the_threshold_goes_left_unless_strict(strict: bool) -> None:
    tree = weather_tree()
    tree = Tree(tree.nodes, tree.values, tree.subsets, tree.n_levels, strict)
    assert tree.apply([[75.0, 1, 0]]).tolist() == ([4] if strict else [1])


# --- arrays ---


def test_arrays_are_read_only_and_stay_so_in_a_pickle() -> None:
    tree = weather_tree()
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    for each in (tree, again):
        for array in (each.nodes, each.values, each.subsets, each.n_levels):
            assert not array.flags.writeable


def test_the_array_given_stays_writeable() -> None:
    nodes = weather_tree().nodes.copy()
    Tree(nodes, [[1.0]], [], [0], strict=False)
    assert nodes.flags.writeable


def test_equality_is_of_every_bit() -> None:
    tree, nodes = weather_tree(), weather_tree().nodes.copy()
    nodes["threshold"][0] = np.nextafter(75.0, 76.0)
    assert tree == weather_tree()
    assert tree != Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict)
    assert tree != Tree(tree.nodes, tree.values, tree.subsets, tree.n_levels, True)
    assert tree != Tree(tree.nodes, [*tree.values, [0, 1]], tree.subsets, tree.n_levels, False)
    assert tree != "a tree"


def test_a_copy_of_nodes_is_equal_and_independent() -> None:
    nodes = weather_tree().nodes
    copied = copy_nodes(nodes[1:])
    assert copied.tobytes() == nodes[1:].tobytes()
    assert copied.flags.writeable
    assert not np.shares_memory(copied, nodes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": np.zeros(3)}, "nodes has dtype float64"),
        ({"nodes": np.zeros(0, NODE_DTYPE)}, "needs a root"),
        ({"values": [1.0, 0.0]}, "values has dtype float64 and shape"),
        ({"values": np.zeros((0, 2))}, "a value"),
        ({"n_levels": [[0]]}, "n_levels"),
    ],
)
def test_arrays_of_the_wrong_shape_are_refused(change: dict[str, Any], message: str) -> None:
    tree = weather_tree()
    arrays = {"nodes": tree.nodes, "values": tree.values, "subsets": tree.subsets, "n_levels": tree.n_levels}
    with pytest.raises(ValueError, match=message):
        Tree(**(arrays | change), strict=False)


@pytest.mark.parametrize(
    ("field", "node", "value", "message"),
    [
        ("attribute", 0, 3, "attribute outside 0..2"),
        ("first_child", 3, 6, "does not exist"),
        ("first_child", 2, 2, "smaller number"),
        ("first_child", 3, 2**31 - 1, "does not exist"),
        ("first_child", 3, 4, "no parent or several"),
        ("n_branches", 0, -2, "negative number of branches"),
        ("n_branches", 2, 3, "does not have two branches"),
        ("n_branches", 3, 2, "one branch per level"),
        ("index", 2, 1, "beyond the subsets"),
        ("index", 0, 0, "tests a numeric attribute"),
        ("index", 2, -5, "an unknown kind"),
        ("index", 1, 3, "value does not exist"),
        ("attribute", 1, 0, "leaf has an attribute"),
        ("threshold", 0, np.nan, "no threshold"),
        ("weight", 0, -1.0, "weight"),
    ],
)
def test_an_invalid_tree_is_refused(field: str, node: int, value: float, message: str) -> None:
    tree = weather_tree()
    tree.check()
    nodes = tree.nodes.copy()
    nodes[field][node] = value
    with pytest.raises(ValueError, match=message):
        Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict).check()


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 4), (1, 1, 3)])
def test_rows_with_other_columns_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(n_rows, 3\)"):
        weather_tree().predict_codes(np.zeros(shape))


def test_codes_and_weights_that_do_not_fit_the_rows_are_refused() -> None:
    tree, rows = weather_tree(), np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"expected 0\.\.1"):
        tree.class_weights(rows, [0, 2], [1.0, 1.0])
    with pytest.raises(ValueError, match="each of 2 rows"):
        tree.moments(rows, [0.0, 1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="out has shape"):
        tree.add_values(rows, 1.0, np.zeros((3, 2)))


# --- from statistics of nodes ---


def unfilled(nodes: np.ndarray) -> np.ndarray:
    nodes = nodes.copy()
    nodes["index"][nodes["n_branches"] == 0] = -7
    return nodes


def test_counts_become_distributions_that_pure_leaves_share() -> None:
    nodes = unfilled(weather_tree().nodes)
    counts = np.array([[9, 5], [5, 0], [4, 5], [4, 2], [0, 3], [4, 0], [0, 2], [0, 0]], dtype=float)
    tree = Tree.from_node_counts(nodes, counts, [0, 1], [0, 2, 3], strict=False)
    tree.check()
    assert tree == weather_tree()
    assert nodes["index"][1] == -7


def test_impure_leaves_have_a_row_each_and_empty_ones_that_of_their_ancestor() -> None:
    nodes = unfilled(weather_tree().nodes)
    counts = np.array([[9, 5], [3, 2], [6, 3], [5, 1], [1, 2], [5, 1], [0, 0], [0, 0]], dtype=float)
    tree = Tree.from_node_counts(nodes, counts, [0, 1], [0, 2, 3], strict=False)
    assert len(tree.values) == 4
    np.testing.assert_allclose(
        tree.values[tree.nodes["index"][[1, 4, 5]]], [[3 / 5, 2 / 5], [1 / 3, 2 / 3], [5 / 6, 1 / 6]]
    )
    np.testing.assert_allclose(tree.values[tree.nodes["index"][[6, 7]]], [[5 / 6, 1 / 6]] * 2)


def test_a_leaf_below_empty_nodes_takes_the_nearest_ancestor_with_weight() -> None:
    nodes = unfilled(weather_tree().nodes)
    counts = np.array([[9, 5], [9, 5], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], dtype=float)
    tree = Tree.from_node_counts(nodes, counts, [0, 1], [0, 2, 3], strict=False)
    assert len(tree.values) == 2
    np.testing.assert_allclose(tree.predict_values([[80, 1, 0]]), [[9 / 14, 5 / 14]])


@pytest.mark.parametrize("seed", range(30))
def test_distributions_of_leaves_are_their_counts_over_their_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, size=(8, 4)) * rng.choice([1.0, 0.1])
    counts[0] = 1
    tree = Tree.from_node_counts(unfilled(weather_tree().nodes), counts, [0, 1], [0, 2, 3], strict=False)
    parents = parents_of(tree.nodes)
    for leaf in np.flatnonzero(tree.is_leaf):
        source = leaf
        while counts[source].sum() == 0:
            source = parents[source]
        np.testing.assert_allclose(tree.values[tree.nodes["index"][leaf]], counts[source] / counts[source].sum())
    pure = [row.tobytes() for row in tree.values if row.max() == 1]
    assert len(pure) == len(set(pure))


def test_means_become_values_and_empty_leaves_take_their_parents() -> None:
    nodes = unfilled(weather_tree().nodes)
    tree = Tree.from_node_means(nodes, np.array([9.0, 1, 2, 3, 4, 5, 6, np.nan]), [0, 1], [0, 2, 3], strict=False)
    tree.check()
    assert tree.values[tree.nodes["index"][[1, 4, 5, 6, 7]], 0].tolist() == [1, 4, 5, 6, 3]


# --- importances ---


def converted(model: Any, n_attributes: int) -> Tree:
    theirs, order = model.tree_, [0]
    nodes = np.zeros(theirs.node_count, dtype=NODE_DTYPE)
    for place, node in enumerate(order):  # grows while it is read
        weight = theirs.weighted_n_node_samples[node]
        if theirs.children_left[node] < 0:
            nodes[place] = (np.nan, weight, -1, 0, 0, node)
        else:
            nodes[place] = (theirs.threshold[node], weight, theirs.feature[node], len(order), 2, -1)
            order += [theirs.children_left[node], theirs.children_right[node]]
    return Tree(nodes, theirs.value[:, 0, :], [], np.zeros(n_attributes), strict=False)


@pytest.mark.parametrize("impurity", ["entropy", "gini"])
def test_importances_of_a_classifier_are_those_of_scikit_learn(impurity: str) -> None:
    X, y = load_wine(return_X_y=True)
    model = DecisionTreeClassifier(criterion=impurity, min_samples_leaf=5, random_state=0).fit(X, y)
    found = attribute_importances(converted(model, X.shape[1]), impurity)
    np.testing.assert_allclose(found, model.feature_importances_, atol=1e-12)


def test_importances_of_a_regressor_are_those_of_scikit_learn() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    tree = converted(model, X.shape[1])
    far_off = Tree(tree.nodes, tree.values + 1e6, tree.subsets, tree.n_levels, tree.strict)
    np.testing.assert_allclose(attribute_importances(tree, "variance"), model.feature_importances_, atol=1e-12)
    np.testing.assert_allclose(attribute_importances(far_off, "variance"), model.feature_importances_, atol=1e-9)


def test_an_unknown_impurity_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'entropy', 'gini', 'variance'"):
        attribute_importances(weather_tree(), "gain")


def test_notebooks_show_size_and_text() -> None:
    page = weather_tree()._repr_html_()
    assert "n_leaves=5" in page
    assert "x0 &lt;= 75: 0 (5)" in page
