"""Binary trees against a slow, obvious walk; rows of every level, and missing values that have one branch."""

import numpy as np
import pytest

from tremula.export import expansion
from tremula.export.binary_trees import BinaryTree, TooManySplits, mixing_attributes
from tremula.export.conversion import binary_tree
from tremula.trees.member_sum import sum_of_members
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.tree import Tree

from .tables import N_LEVELS, random_rows, random_tree

NO_FILLING = np.full(len(N_LEVELS), np.nan)
ALL_MIX = np.ones(len(N_LEVELS), bool)


def leaf_of(tree: BinaryTree, row: np.ndarray) -> int:
    place = 0 if tree.n_splits else -1
    while place >= 0:
        value, levels = row[tree.attribute[place]], tree.levels[place]
        if np.isnan(value):
            goes_left = tree.missing_left[place]
        elif levels is not None:
            goes_left = value in levels
        else:
            goes_left = value < tree.threshold[place] if tree.strict else value <= tree.threshold[place]
        place = int(tree.left[place] if goes_left else tree.right[place])
    return -1 - place


def walk(tree: BinaryTree, rows: np.ndarray) -> np.ndarray:
    return np.array([tree.values[leaf_of(tree, row)] for row in rows])


@pytest.mark.parametrize("seed", range(30))
def test_values_of_known_rows_are_those_of_the_tree(seed: int) -> None:
    random = np.random.default_rng(seed)
    tree, rows = random_tree(random), random_rows(random)
    binary = binary_tree(tree, N_LEVELS, NO_FILLING, ALL_MIX)
    np.testing.assert_allclose(walk(binary, rows), tree.predict_values(rows), atol=1e-15)
    assert not binary.is_open.any()


@pytest.mark.parametrize("seed", range(20))
def test_filled_values_take_the_branch_of_what_is_filled_in(seed: int) -> None:
    random = np.random.default_rng(seed)
    filling = np.array([0.3, N_LEVELS[1], -1.2, N_LEVELS[3]], dtype=float)
    tree = random_tree(random, n_levels=np.where(N_LEVELS > 0, N_LEVELS + 1, 0).astype(np.int32))
    rows = random_rows(random, missing=0.3)
    binary = binary_tree(tree, N_LEVELS, filling, np.zeros(len(N_LEVELS), bool))
    filled = np.where(np.isnan(rows), filling, rows)
    np.testing.assert_allclose(walk(binary, rows), tree.predict_values(filled), atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_open_leaves_are_reached_by_rows_that_take_several_branches_and_by_no_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    tree, rows = random_tree(random), random_rows(random)
    binary = binary_tree(tree, N_LEVELS, NO_FILLING, ALL_MIX, leaves_open=True)
    is_open = np.array([binary.is_open[leaf_of(binary, row)] for row in rows])
    visited = tree.decision_path(rows)[:, np.flatnonzero(tree.is_leaf)]
    takes_several = np.array([_splits_with_unseen_levels(tree, row) for row in rows])
    np.testing.assert_array_equal(is_open, takes_several)
    assert (visited.sum(axis=1)[~is_open] == 1).all()
    np.testing.assert_allclose(walk(binary, rows)[~is_open], tree.predict_values(rows)[~is_open], atol=1e-15)


def _splits_with_unseen_levels(tree: Tree, row: np.ndarray) -> bool:
    """Whether a row meets a level that training did not see, on the way of those that it did."""
    node = 0
    while not tree.is_leaf[node]:
        value, index = row[tree.attribute[node]], int(tree.nodes["index"][node])
        if index in (-1, -3, -4):
            branch = int(value >= tree.threshold[node] if tree.strict else value > tree.threshold[node])
        else:
            branch = int(value) if index == -2 else int(tree.subsets[index + int(value)])
            if index >= 0 and branch == 2:
                if not tree.threshold[node]:
                    return True
                branch = int(tree.threshold[node]) - 1
        node = int(tree.first_child[node]) + branch
    return False


def test_a_missing_value_takes_the_only_branch_with_a_share() -> None:
    nodes = np.array([(0.5, 3, 0, 1, 2, -1), (0, 0, -1, 0, 0, 0), (0, 3, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    tree = Tree(nodes, np.eye(2), [], [0], False)
    whole = sum_of_members([tree], [1.0], 2)
    assert not mixing_attributes(whole).any()
    binary = binary_tree(tree, whole.n_levels, whole.filling, mixing_attributes(whole))
    np.testing.assert_array_equal(walk(binary, np.array([[np.nan]])), tree.predict_values([[np.nan]]))


def test_attributes_that_mix_are_those_whose_missing_values_take_several_branches() -> None:
    nodes = np.array([(0.5, 3, 1, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    whole = sum_of_members([Tree(nodes, np.eye(2), [], [0, 0], False)], [1.0], 2)
    assert mixing_attributes(whole).tolist() == [False, True]


def test_a_tree_that_would_grow_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "SMALLEST_LIMIT", 2)
    monkeypatch.setattr(expansion, "LARGEST_GROWTH", 0)
    random = np.random.default_rng(3)
    trees = [random_tree(random) for _ in range(20)]
    large = [tree for tree in trees if (tree.subsets == 2).any() and tree.n_nodes > 12]
    assert large
    with pytest.raises(TooManySplits, match="merge rare levels before training"):
        [binary_tree(tree, N_LEVELS, NO_FILLING, ALL_MIX) for tree in large]


def test_a_split_of_missing_against_known_numbers_above_a_split_of_levels() -> None:
    nodes = np.array(
        [(np.inf, 3, 0, 1, 2, -4), (0, 2, 1, 3, 2, 0), (0, 1, -1, 0, 0, 2), (0, 1, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)],
        dtype=NODE_DTYPE,
    )
    nodes["attribute"][2:] = -1
    tree = Tree(nodes, np.eye(3), [0, 1], [0, 2], False)
    whole = sum_of_members([tree], [1.0], 3)
    binary = binary_tree(tree, whole.n_levels, whole.filling, mixing_attributes(whole))
    rows = np.array([[5.0, 0.0], [5.0, 1.0], [np.nan, 0.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(walk(binary, rows), tree.predict_values(rows))
