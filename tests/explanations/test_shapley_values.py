"""The kernel of Shapley values equals their definition, on random trees with splits of every kind."""

from typing import Any

import numpy as np
import pytest
import tremula._kernels.shapley as kernel
from tests.explanations.naive_shapley import answers_of, shapley_values, worth_by_background, worth_by_shares
from tests.kernels.random_trees import GRID, N_LEVELS, random_rows, random_tree, with_missing_branches

from tremula.explanations.leaf_factors import PlainFactors
from tremula.explanations.leaf_games import games_of_sum, quadrature
from tremula.explanations.shapley_values import FactorBits, ShapleySum
from tremula.trees.structure import NODE_DTYPE, branch_shares, missing_branches, weight_shares
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

SEEDS = range(12)


def shapley_sum(model: TreeSum, n_jobs: int = 1) -> ShapleySum:
    return ShapleySum(games_of_sum(model), PlainFactors(model), model.n_attributes, model.n_margins, n_jobs)


def made_model(seed: int, n_outputs: int = 3, n_trees: int = 1) -> tuple[TreeSum, np.random.Generator]:
    rng = np.random.default_rng(seed)
    trees = [with_missing_branches(rng, random_tree(rng, n_outputs)) for _ in range(n_trees)]
    return mean_of_trees(trees), rng


@pytest.mark.parametrize("seed", SEEDS)
def test_path_dependent_values_equal_their_definition(seed: int) -> None:
    model, rng = made_model(seed)
    rows, tree = random_rows(rng, 5), model.trees[0]
    values = shapley_sum(model).by_shares(rows, [weight_shares(tree.nodes)])
    for row, found in zip(rows, values):
        expected = shapley_values(len(N_LEVELS), lambda known, row=row: worth_by_shares(tree, row, known))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_interventional_values_equal_their_definition(seed: int) -> None:
    model, rng = made_model(seed)
    rows, background, answer = random_rows(rng, 3), random_rows(rng, 10), answers_of(model.trees[0])
    values = shapley_sum(model).by_background(rows, background)
    for row, found in zip(rows, values):
        expected = shapley_values(
            len(N_LEVELS), lambda known, row=row: worth_by_background(answer, row, background, known)
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def complete_rows(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    rows = rng.choice(GRID, size=(n_rows, len(N_LEVELS)))
    rows[:, N_LEVELS > 0] = rng.integers(0, N_LEVELS[N_LEVELS > 0], size=(n_rows, (N_LEVELS > 0).sum()))
    return rows


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_bits_and_quadrature_equal_the_definition_without_missing_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, most_splits=16)
    tree = Tree(tree.nodes, tree.values, tree.subsets % 2, tree.n_levels, tree.strict)  # no level is unseen
    model, rows, background = mean_of_trees([tree]), complete_rows(rng, 3), complete_rows(rng, 21)
    shapley = shapley_sum(model)
    values, (games,) = shapley.by_background(rows, background), shapley.games
    known, unknown = (shapley.factors.factors(0, games, each) for each in (rows, background))
    assert FactorBits(games, known, 3).is_whole.all()
    assert FactorBits(games, unknown, 21).is_whole.all()
    by_quadrature = np.zeros_like(values)
    kernel.add_by_background(games, known, unknown, 21, 1 / 21, np.zeros(3, np.uint8), by_quadrature)
    np.testing.assert_allclose(by_quadrature, values, rtol=0, atol=1e-13)
    for row, found in zip(rows, values):
        worth = worth_of(answers_of(tree), row, background)
        np.testing.assert_allclose(found, shapley_values(len(N_LEVELS), worth), rtol=0, atol=1e-13)


def worth_of(answer: Any, row: np.ndarray, background: np.ndarray) -> Any:
    return lambda known: worth_by_background(answer, row, background, known)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_sum_to_the_prediction(seed: int) -> None:
    model, rng = made_model(seed, n_outputs=1, n_trees=3)
    rows, background = random_rows(rng, 70), random_rows(rng, 300)
    shares = [weight_shares(tree.nodes) for tree in model.trees]
    base = [tree.node_values()[0, 0] for tree in model.trees]
    sums = shapley_sum(model).by_shares(rows, shares).sum(axis=1) + np.mean(base)
    np.testing.assert_allclose(sums, model.margins(rows), rtol=0, atol=1e-12)
    sums = shapley_sum(model).by_background(rows, background).sum(axis=1) + model.margins(background).mean()
    np.testing.assert_allclose(sums, model.margins(rows), rtol=0, atol=1e-12)


def test_bits_depend_neither_on_the_processor_nor_on_jobs() -> None:
    model, rng = made_model(3, n_trees=4)
    rows, background = random_rows(rng, 200), random_rows(rng, 20)
    shares = [weight_shares(tree.nodes) for tree in model.trees]
    values = shapley_sum(model).by_shares(rows, shares), shapley_sum(model).by_background(rows, background)
    in_threads = shapley_sum(model, n_jobs=2)
    kernel.set_processor(plain=True)
    try:
        plain = shapley_sum(model).by_shares(rows, shares), shapley_sum(model).by_background(rows, background)
    finally:
        kernel.set_processor()
    for first, second, third in zip(
        values, plain, (in_threads.by_shares(rows, shares), in_threads.by_background(rows, background))
    ):
        assert first.any()
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)


def test_values_of_a_row_do_not_depend_on_other_rows() -> None:
    model, rng = made_model(5, n_trees=3)
    rows = random_rows(rng, 40)
    shares = [weight_shares(tree.nodes) for tree in model.trees]
    values = shapley_sum(model).by_shares(rows, shares)
    for row in (0, 7, 39):
        np.testing.assert_array_equal(shapley_sum(model).by_shares(rows[[row]], shares)[0], values[row])
    background = complete_rows(rng, 20)
    values = shapley_sum(model).by_background(rows, background)
    for row in (0, 7, 39):
        np.testing.assert_array_equal(shapley_sum(model).by_background(rows[[row]], background)[0], values[row])


@pytest.mark.parametrize("n_factors", [1, 2, 3, 8, 25, 60])
def test_quadrature_is_exact_for_products_of_all_factors_but_one(n_factors: int) -> None:
    points, weights = quadrature(n_factors)
    assert weights @ points ** (n_factors - 1) == pytest.approx(1 / n_factors, rel=1e-12)
    assert len(points) == max(1, (n_factors + 1) // 2)


def test_many_attributes_on_one_path() -> None:
    n_attributes = 300
    nodes = np.zeros(2 * n_attributes + 1, NODE_DTYPE)
    node = 0
    for attribute in range(n_attributes):
        nodes[node] = (0.5, 1.0, attribute, 2 * attribute + 1, 2, -1)
        nodes[2 * attribute + 1] = (0, 1.0, -1, 0, 0, 0)
        node = 2 * attribute + 2
    nodes[node] = (0, 1.0, -1, 0, 0, 1)
    tree = Tree(nodes, [[0.0], [1.0]], [], np.zeros(n_attributes, np.int32), False)
    model = mean_of_trees([tree])
    values = shapley_sum(model).by_background(np.ones((1, n_attributes)), np.zeros((1, n_attributes)))
    np.testing.assert_allclose(values[0, :, 0], 1 / n_attributes, rtol=1e-12)  # only all together reach the last leaf


def test_weight_shares_ignore_the_branch_of_missing_values() -> None:
    rng = np.random.default_rng(1)
    tree = with_missing_branches(rng, random_tree(rng, most_splits=14))
    assert (missing_branches(tree.nodes) >= 0).any()
    shares = weight_shares(tree.nodes)
    assert not np.array_equal(shares, branch_shares(tree.nodes))
    children = tree.first_child[0] + np.arange(tree.n_branches[0])
    assert shares[children].sum() == pytest.approx(1.0)
