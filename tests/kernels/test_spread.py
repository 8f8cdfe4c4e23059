"""Variances by pairs of leaves against a slow, obvious twin that multiplies the sides of both boxes."""

import numpy as np
import pytest

from tremula.smoothing.spread import value_ranges, variances
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, sum_of_trees

from .random_trees import N_LEVELS, random_rows, random_tree
from .test_soften import LEVEL_SHARES, boxes, chance, is_known, level_chances, random_noise

# --- the slow twin ---


def leaf_boxes(model: TreeSum) -> list[tuple[Tree, np.ndarray, dict]]:
    """Every leaf of the model: its tree, its weighted values by margin, and its box."""
    leaves = []
    for tree, shares, weight, output in zip(model.trees, model.shares, model.weights, model.outputs):
        for leaf, box in boxes(tree, shares, "exact").items():
            values = np.zeros(model.n_margins)
            values[slice(None) if output < 0 else [output]] = weight * tree.values[tree.nodes["index"][leaf]]
            leaves.append((tree, values, {attribute: side for (attribute, _), side in box.items()}))
    return leaves


def chance_of_both(first: tuple, second: tuple, row: np.ndarray, sd: np.ndarray, flip: float) -> float:
    """Expected product of the shares with which the perturbed row is in two leaves."""
    product = 1.0
    for attribute in first[2].keys() | second[2].keys():
        sides = [leaf[2][attribute] for leaf in (first, second) if attribute in leaf[2]]
        if not is_known(row, attribute):
            product *= np.prod([missing for _, missing in sides])
        elif N_LEVELS[attribute]:
            product *= float(level_chances(row, attribute, flip) @ np.prod([left for left, _ in sides], axis=0))
        else:
            low, high = max(left[0] for left, _ in sides), min(left[1] for left, _ in sides)
            product *= chance(row, sd, attribute, low, high, first[0].strict)
    return product


def twin_variances(model: TreeSum, rows: np.ndarray, noise: np.ndarray, flip: float) -> np.ndarray:
    leaves = leaf_boxes(model)
    values = np.array([leaf[1] for leaf in leaves])
    everywhere = (model.trees[0], None, {})
    out = []
    for row, sd in zip(rows, np.broadcast_to(noise, rows.shape)):
        means = values.T @ [chance_of_both(leaf, everywhere, row, sd, flip) for leaf in leaves]
        both = np.array([[chance_of_both(a, b, row, sd, flip) for b in leaves] for a in leaves])
        out.append(np.einsum("ik,ij,jk->k", values, both, values) - means**2)
    return np.array(out)


def random_sum(rng: np.random.Generator, most_splits: int = 5) -> TreeSum:
    """Trees that all test alike (strict or not), some of them for one margin alone."""
    trees = [random_tree(rng, most_splits=most_splits) for _ in range(3)]
    trees += [random_tree(rng, n_outputs=1, most_splits=most_splits) for _ in range(2)]
    trees = [Tree(tree.nodes, tree.values, tree.subsets, tree.n_levels, trees[0].strict) for tree in trees]
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0]) / 7.5
    return sum_of_trees(trees, rng.normal(size=3), outputs=[-1, -1, -1, 2, 0], weights=weights)


# --- the kernel equals the twin ---


@pytest.mark.parametrize("seed", range(12))
def test_variance_of_a_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, rows = random_sum(rng), random_rows(rng, 4)
    noise, flip = random_noise(rng, rows), float(rng.choice([0.0, 0.3]))
    spread = variances(model, rows, noise, flip=flip, level_shares=LEVEL_SHARES, tol=0.0)
    np.testing.assert_allclose(spread.values, twin_variances(model, rows, noise, flip), rtol=0, atol=2e-14)
    np.testing.assert_array_equal(spread.bound, 0.0)


@pytest.mark.parametrize("tol", [1e-4, 1e-2, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_cut_off_stays_within_the_bound(seed: int, tol: float) -> None:
    rng = np.random.default_rng(seed)
    model, rows = random_sum(rng, most_splits=30), random_rows(rng, 60)
    noise = random_noise(rng, rows)
    exact, cut = (variances(model, rows, noise, flip=0.2, level_shares=LEVEL_SHARES, tol=each) for each in (0.0, tol))
    assert np.all(np.abs(cut.values - exact.values) <= cut.bound + 1e-14)
    assert cut.n_visits.sum() <= exact.n_visits.sum()


def test_a_row_with_too_many_pairs_is_given_up_and_the_next_one_is_not_harmed() -> None:
    rng = np.random.default_rng(3)
    model, rows = random_sum(rng, most_splits=30), random_rows(rng, 40)
    options = {"flip": 0.2, "level_shares": LEVEL_SHARES, "tol": 0.0}
    exact = variances(model, rows, np.full(5, 0.5), **options)
    limit = int(np.median(exact.n_visits))
    limited = variances(model, rows, np.full(5, 0.5), **options, max_visits=limit)
    np.testing.assert_array_equal(limited.is_known, exact.n_visits <= limit)
    assert 0 < limited.is_known.sum() < len(rows)
    assert np.isnan(limited.values[~limited.is_known]).all()
    assert np.isinf(limited.bound[~limited.is_known]).all()
    np.testing.assert_array_equal(limited.values[limited.is_known], exact.values[limited.is_known])


def test_ranges_of_the_values_below_a_node() -> None:
    tree = random_tree(np.random.default_rng(5), most_splits=30)
    middle, half = value_ranges(tree, -2.0)

    def below(node: int) -> np.ndarray:
        record = tree.nodes[node]
        if record["n_branches"] == 0:
            return -2.0 * tree.values[[record["index"]]]
        return np.concatenate([below(record["first_child"] + branch) for branch in range(record["n_branches"])])

    for node in range(tree.n_nodes):
        np.testing.assert_allclose(middle[node] - half[node], below(node).min(axis=0), rtol=0, atol=1e-15)
        np.testing.assert_allclose(middle[node] + half[node], below(node).max(axis=0), rtol=0, atol=1e-15)
