"""Rows sent down a tree together, means of levels and sums of rows, against slow, obvious twins."""

import numpy as np
import pytest

from tremula._kernels import level_means, refill, row_sums
from tremula.trees.tree import Tree

from .naive_router import branch_taken
from .random_trees import random_rows, random_tree, with_missing_branches


def binary_tree(rng: np.random.Generator) -> Tree:
    """A random tree without multiway splits."""
    while True:
        tree = random_tree(rng)
        if (tree.nodes["index"] != -2).all():
            return with_missing_branches(rng, tree) if rng.integers(2) else tree


def naive_leaf(tree: Tree, row: np.ndarray) -> int:
    """Leaf of a row, or -1 if it is divided between branches."""
    node = 0
    while not tree.is_leaf[node]:
        branch = branch_taken(tree, node, row)
        if branch is None:
            return -1
        node = int(tree.first_child[node]) + branch
    return node


@pytest.mark.parametrize("seed", range(60))
def test_rows_arrive_where_the_naive_router_sends_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, table = binary_tree(rng), random_rows(rng)
    table = np.asfortranarray(table) if seed % 3 == 0 else table
    chosen = np.flatnonzero(rng.random(len(table)) < rng.choice([0.02, 0.5, 1.0]))
    rows, leaves = chosen.astype(np.uint32), np.empty(len(chosen), np.int32)
    refill.find_leaves(tree._view, table, rows, leaves)
    assert sorted(rows) == chosen.tolist()
    assert leaves.tolist() == [naive_leaf(tree, table[row]) for row in rows]
    for leaf in set(leaves[leaves >= 0]):
        assert (np.diff(rows[leaves == leaf].astype(int)) > 0).all()


def test_means_of_cells_are_those_of_the_rows_in_other_folds() -> None:
    rng = np.random.default_rng(0)
    levels, folds = rng.integers(0, 7, 200).astype(np.uint8), rng.integers(0, 5, 200).astype(np.uint8)
    weights, target = rng.integers(0, 3, 200).astype(np.float64), rng.integers(0, 9, 200).astype(np.float64)
    counts, sums = np.zeros((5, 8)), np.zeros((5, 8))  # no row has the last level
    level_means.add_cells(levels, folds, weights, weights * target, counts, sums)
    by_fold, of_levels = np.empty((5, 8)), np.empty(8)
    level_means.fill_means(counts, sums, 0.25, 2.0, by_fold, of_levels)
    for level in range(8):
        for fold in (*range(5), None):
            rows = (levels == level) & (folds != fold if fold is not None else True)
            mean = ((weights * target)[rows].sum() + 0.5) / (weights[rows].sum() + 2.0)
            assert mean == (of_levels[level] if fold is None else by_fold[fold, level])
    codes, code_of_cell = np.empty(200, np.uint8), rng.integers(0, 40, (5, 8)).astype(np.uint8)
    level_means.fill_codes(levels, folds, code_of_cell, codes)
    np.testing.assert_array_equal(codes, code_of_cell[folds, levels])


def test_newton_sums_are_those_of_residuals_and_curvatures() -> None:
    rng = np.random.default_rng(2)
    leaves, weights, codes = rng.integers(0, 6, 90), rng.random(90), rng.integers(0, 3, 90).astype(np.int32)
    shares = rng.dirichlet(np.ones(3), 90)
    residuals, slopes, expected = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((2, 6, 3))
    row_sums.add_newton_sums(leaves, weights, codes, shares, residuals, slopes)
    for leaf, weight, code, share in zip(leaves, weights, codes, shares, strict=True):
        expected[0, leaf] += weight * (np.eye(3)[code] - share)
        expected[1, leaf] += weight * (share * (1.0 - share))
    np.testing.assert_array_equal([residuals, slopes], expected)


def test_maxima_are_those_of_each_row() -> None:
    rng = np.random.default_rng(3)
    for n_columns in (1, 2, 26):
        values, maxima = rng.normal(size=(40, n_columns)), np.empty(40)
        row_sums.fill_maxima(values, maxima)
        np.testing.assert_array_equal(maxima, [max(row) for row in values])


def test_explained_weights_are_shares_of_the_likelihood_in_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(4)
    likelihoods, row_weights, weights = rng.random((70, 4)), rng.random(70), rng.dirichlet(np.ones(4))
    explained, expected = np.zeros(4), np.zeros(4)
    row_sums.add_explained(likelihoods, row_weights, weights, explained)
    for row, row_weight in zip(weights * likelihoods, row_weights, strict=True):
        expected += row * (row_weight / sum(row))
    np.testing.assert_array_equal(explained, expected)


def test_sums_by_leaf_are_added_in_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    leaves, weights, values = rng.integers(0, 6, 90), rng.random(90), rng.normal(size=(90, 3))
    sums, expected = np.zeros((6, 3)), np.zeros((6, 3))
    row_sums.add_rows(leaves, weights, values, sums)
    for leaf, weight, row in zip(leaves, weights, values, strict=True):
        expected[leaf] += weight * row
    np.testing.assert_array_equal(sums, expected)
