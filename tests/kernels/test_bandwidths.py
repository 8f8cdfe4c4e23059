"""The derivatives by amounts of noise against a slow, obvious twin: the product rule on every leaf's box."""

import numpy as np
import pytest

from tremula.smoothing.bandwidths import AmountSlopes
from tremula.smoothing.exact import soften
from tremula.trees.tree_sum import TreeSum, mean_of_trees

from .random_trees import N_LEVELS, random_rows, random_tree
from .test_soften import boxes, factor, is_known


def side_slope(row: np.ndarray, sd: np.ndarray, attribute: int, side: tuple) -> float:
    """Derivative of a side's chance by the logarithm of the noise."""
    (low, high), _ = side
    if not is_known(row, attribute) or sd[attribute] == 0 or low >= high or np.isinf(row[attribute]):
        return 0.0
    ends = np.clip((np.array([low, high]) - row[attribute]) / sd[attribute], -40.0, 40.0)  # no density beyond
    slopes = -ends * np.exp(-0.5 * ends**2) / np.sqrt(2 * np.pi)
    return float(slopes[1] - slopes[0])


def twin_slopes(model: TreeSum, number: int, rows: np.ndarray, sd: np.ndarray, rates: np.ndarray, form: str) -> list:
    tree, slopes = model.trees[number], np.zeros(model.n_attributes)
    sides = boxes(tree, model.shares[number], form)
    for row, row_rates in zip(rows, rates):
        for leaf, box in sides.items():
            value = model.weights[number] * tree.values[tree.nodes["index"][leaf]] @ row_rates
            chances = {key: factor(tree, row, sd, 0.0, key[0], side) for key, side in box.items()}
            for key, side in box.items():
                if N_LEVELS[key[0]] == 0:
                    others = np.prod([chances[other] for other in box if other != key])
                    slopes[key[0]] += value * others * side_slope(row, sd, key[0], side)
    return slopes.tolist()


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("only_numeric", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_the_twin(seed: int, only_numeric: bool, form: str) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, most_splits=25, only_numeric=only_numeric) for _ in range(2)]
    model, rows = mean_of_trees(trees, weights=np.array([1.0, 2.0])), random_rows(rng, 12)
    sd, rates = rng.choice([0.0, 0.3, 1.0, 10.0], size=rows.shape[1]), rng.normal(size=(len(rows), 3))
    for number in range(2):
        slopes = AmountSlopes(model, form, tol=0.0).of_tree(number, rows, sd, rates)
        expected = twin_slopes(model, number, rows, sd, rates, form)
        np.testing.assert_allclose(slopes, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_branches_left_out_hardly_change_a_slope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = mean_of_trees([random_tree(rng, n_outputs=1, most_splits=60, only_numeric=True)])
    rows, sd, rates = random_rows(rng, 100), np.full(len(N_LEVELS), 0.4), np.ones((100, 1))
    exact, cut = (AmountSlopes(model, tol=tol).of_tree(0, rows, sd, rates) for tol in (0.0, 1e-6))
    assert not np.array_equal(exact, cut)
    most_nodes = model.trees[0].n_nodes
    np.testing.assert_allclose(
        cut, exact, rtol=0, atol=30 * 1e-6 * len(rows) * most_nodes * np.ptp(model.trees[0].values)
    )


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_finite_differences_of_soften(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, rows = mean_of_trees([random_tree(rng, most_splits=40, only_numeric=True)]), random_rows(rng, 100)
    sd, rates, step = np.full(len(N_LEVELS), 0.6), rng.normal(size=(100, 3)), 1e-4
    slopes = AmountSlopes(model, tol=0.0).of_tree(0, rows, sd, rates)
    for attribute in np.flatnonzero(N_LEVELS == 0):
        change = np.exp(step * (np.arange(len(sd)) == attribute))
        more, less = (
            (rates * soften(model, rows, noise, tol=0.0).margins).sum() for noise in (sd * change, sd / change)
        )
        assert slopes[attribute] == pytest.approx((more - less) / (2 * step), abs=1e-6)
