"""The smoothing kernel against a slow, obvious twin that multiplies the sides of every leaf's box, on random trees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from tremula._kernels import soften as kernel
from tremula.smoothing.exact import gradient, leaf_weights, soften
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

from .random_trees import GRID, N_LEVELS, random_rows, random_tree

LEVEL_SHARES = [None, [0.5, 0.3, 0.2], None, [0.1, 0.0, 0.4, 0.2, 0.3], [1.0, 0.0]]
SEEDS = range(25)


def random_noise(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    shape = rows.shape if rng.random() < 0.5 else rows.shape[1:]
    return rng.choice([0.0, 1e-3, 0.3, 1.0, 10.0, 1e6], size=shape)


# --- the slow twin ---


def chance(row: np.ndarray, sd: np.ndarray, attribute: int, low: float, high: float, strict: bool) -> float:
    """That the noisy value lies above one threshold and not above another (or from the one on and below the other)."""
    x, s = row[attribute], sd[attribute]
    if low >= high:
        return 0.0
    if s == 0 or np.isinf(x):
        above, below = (low <= x, x < high) if strict else (low < x, x <= high)
        return float((above or low == -np.inf) and (below or high == np.inf))
    a, b = (low - x) / s, (high - x) / s
    return ndtr(-a) - ndtr(-b) if a > 0 else ndtr(b) - ndtr(a)


def level_chances(row: np.ndarray, attribute: int, flip: float) -> np.ndarray:
    own = np.zeros(N_LEVELS[attribute])
    own[int(row[attribute])] = 1.0
    others = np.where(own > 0, 0.0, LEVEL_SHARES[attribute])
    return own if others.sum() == 0 else (1 - flip) * own + flip * others / others.sum()


def is_known(row: np.ndarray, attribute: int) -> bool:
    x = row[attribute]
    return not np.isnan(x) if N_LEVELS[attribute] == 0 else bool(x in range(N_LEVELS[attribute]))


def boxes(tree: Tree, shares: np.ndarray, form: str) -> dict[int, dict]:
    """For every leaf and attribute (or test): the interval or the shares of levels, and the share if it is missing."""
    found: dict[int, dict] = {}

    def visit(node: int, box: dict) -> None:
        record = tree.nodes[node]
        if record["n_branches"] == 0:
            found[node] = box
            return
        attribute = int(record["attribute"])
        key = (attribute, 0 if form == "exact" else node)
        n_levels = N_LEVELS[attribute]
        for branch in range(record["n_branches"]):
            child = record["first_child"] + branch
            left, missing = box.get(key, ((-np.inf, np.inf) if n_levels == 0 else np.ones(n_levels), 1.0))
            if n_levels == 0:
                low, high = left
                t = record["threshold"]
                left = (low, min(high, t)) if branch == 0 else (max(low, t), high)
            elif record["index"] == -2:
                left = left * (np.arange(n_levels) == branch)
            else:
                goes = tree.subsets[record["index"] : record["index"] + n_levels]
                left = left * np.where(goes == 2, shares[child], goes == branch)
            visit(child, box | {key: (left, missing * shares[child])})

    visit(0, {})
    return found


def factor(tree: Tree, row: np.ndarray, sd: np.ndarray, flip: float, attribute: int, side: tuple) -> float:
    left, missing = side
    if not is_known(row, attribute):
        return missing
    if N_LEVELS[attribute] == 0:
        return chance(row, sd, attribute, *left, tree.strict)
    return float(level_chances(row, attribute, flip) @ left)


def twin_weights(
    model: TreeSum, number: int, rows: np.ndarray, noise: np.ndarray, form: str, flip: float
) -> np.ndarray:
    tree = model.trees[number]
    sides = boxes(tree, model.shares[number], form)
    noise = np.broadcast_to(noise, rows.shape)
    return np.array(
        [
            [
                np.prod([factor(tree, row, sd, flip, key[0], side) for key, side in sides[leaf].items()])
                for leaf in np.flatnonzero(tree.is_leaf)
            ]
            for row, sd in zip(rows, noise)
        ]
    )


def twin_margins(model: TreeSum, rows: np.ndarray, noise: np.ndarray, form: str, flip: float) -> np.ndarray:
    margins = np.tile(model.offset, (len(rows), 1))
    for number, (tree, weight) in enumerate(zip(model.trees, model.weights)):
        weights = twin_weights(model, number, rows, noise, form, flip)
        margins += weight * weights @ tree.values[tree.nodes["index"][tree.is_leaf]]
    return margins


# --- the kernel equals the twin ---


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("seed", SEEDS)
def test_weights_of_leaves(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    model, rows = mean_of_trees([random_tree(rng)]), random_rows(rng, 40)
    noise, flip = random_noise(rng, rows), float(rng.choice([0.0, 0.3]))
    weights = leaf_weights(model, 0, rows, noise, form=form, flip=flip, level_shares=LEVEL_SHARES)
    np.testing.assert_allclose(weights, twin_weights(model, 0, rows, noise, form, flip), rtol=0, atol=5e-15)


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("seed", range(6))
def test_margins_of_a_sum(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    model = mean_of_trees([random_tree(rng) for _ in range(3)], weights=np.array([1.0, 2.0, 0.5]))
    rows, flip = random_rows(rng, 40), 0.3
    noise = random_noise(rng, rows)
    softened = soften(model, rows, noise, form=form, flip=flip, level_shares=LEVEL_SHARES, tol=0.0)
    np.testing.assert_allclose(softened.margins, twin_margins(model, rows, noise, form, flip), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(softened.bound, 0.0)


def known_rows(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    rows = random_rows(rng, n_rows)
    return np.where(np.isnan(rows), rng.choice(GRID, size=rows.shape), rows)


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("seed", SEEDS)
def test_weights_of_leaves_where_all_is_numeric_and_known(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    model, rows = mean_of_trees([random_tree(rng, most_splits=30, only_numeric=True)]), known_rows(rng, 40)
    noise = random_noise(rng, rows)
    weights = leaf_weights(model, 0, rows, noise, form=form)
    np.testing.assert_allclose(weights, twin_weights(model, 0, rows, noise, form, 0.0), rtol=0, atol=5e-15)


def test_a_missing_value_in_the_block_changes_nothing_for_other_rows() -> None:
    rng = np.random.default_rng(3)
    model = mean_of_trees([random_tree(rng, most_splits=40, only_numeric=True) for _ in range(4)])
    rows, noise = known_rows(rng, 63), np.full(len(N_LEVELS), 0.7)
    with_one = np.vstack([rows, np.full((1, len(N_LEVELS)), np.nan)])
    beside = soften(model, with_one, noise, tol=0.0).margins[:-1]
    np.testing.assert_allclose(beside, soften(model, rows, noise, tol=0.0).margins, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_shares_other_than_by_training_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng), random_rows(rng, 40)
    shares = np.ones(tree.n_nodes)
    for node in np.flatnonzero(tree.n_branches):
        children = tree.first_child[node] + np.arange(tree.n_branches[node])
        shares[children] = np.arange(len(children)) == rng.integers(len(children))
    model, noise = replace(mean_of_trees([tree]), shares=(shares,)), np.full(len(N_LEVELS), 0.5)
    for level in (noise, 0.0 * noise):
        expected = twin_margins(model, rows, level, "exact", 0.0)
        np.testing.assert_allclose(soften(model, rows, level, tol=0.0).margins, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("only_numeric", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_cutting_keeps_its_promise(seed: int, only_numeric: bool) -> None:
    rng = np.random.default_rng(seed)
    model = mean_of_trees([random_tree(rng, most_splits=40, only_numeric=only_numeric) for _ in range(2)])
    rows = known_rows(rng, 200) if only_numeric else random_rows(rng, 200)
    noise = random_noise(rng, rows)
    exact = soften(model, rows, noise, tol=0.0).margins
    for tol in (1e-9, 1e-6, 1e-3, 0.1):
        cut = soften(model, rows, noise, tol=tol)
        assert np.all(np.abs(cut.margins - exact).max(axis=1) <= cut.bound + 1e-14)
        assert cut.bound.max() <= tol
        np.testing.assert_allclose(cut.margins.sum(axis=1), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("form", ["exact", "path"])
def test_the_bound_holds_where_many_thresholds_of_an_attribute_lie_close(form: str) -> None:
    # The sum of errors of the distribution function is largest here, and values far from 0 magnify lost weight.
    rng = np.random.default_rng(4)
    trees = []
    for _ in range(3):
        tree = random_tree(rng, n_outputs=1, most_splits=150, only_numeric=True)
        nodes = tree.nodes.copy()
        nodes["threshold"][tree.n_branches > 0] = rng.normal(scale=1e-3, size=(tree.n_branches > 0).sum())
        trees.append(Tree(nodes, 1e6 + tree.values, tree.subsets, tree.n_levels, tree.strict))
    model, rows = mean_of_trees(trees), rng.normal(scale=0.3, size=(200, len(N_LEVELS)))
    spread = max(np.ptp(tree.values) for tree in trees)
    for noise in (1e-3, 0.1):
        exact = soften(model, rows, np.full(len(N_LEVELS), noise), form=form, tol=0.0)
        rough = soften(model, rows, np.full(len(N_LEVELS), noise), form=form, tol=1e-6)
        assert np.all(np.abs(rough.margins - exact.margins)[:, 0] <= rough.bound + 1e-14 * 1e6 * 10)
        assert 0 < rough.bound.max() <= 1e-6 * spread


@pytest.mark.parametrize("tol", [0.0, 1e-6, 1e-2])
def test_a_row_is_answered_alike_in_any_company(tol: float) -> None:
    rng = np.random.default_rng(5)
    model = mean_of_trees([random_tree(rng, most_splits=60, only_numeric=True) for _ in range(4)])
    rows, noise = known_rows(rng, 300), np.array([0.4, 0.0, 0.7, 0.0, 0.0])
    together = soften(model, rows, noise, tol=tol).margins
    order = rng.permutation(len(rows))
    assert soften(model, rows[order], noise, tol=tol).margins.tobytes() == together[order].tobytes()
    alone = np.vstack([soften(model, row[None], noise, tol=tol).margins for row in rows[:20]])
    assert alone.tobytes() == together[:20].tobytes()


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("seed", range(12))
def test_gradient_is_that_of_finite_differences(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    model = mean_of_trees([random_tree(rng) for _ in range(2)])
    rows = random_rows(rng, 40)
    rows = np.where(np.abs(rows) > 100, 2.0, rows)
    noise = rng.choice([0.0, 0.5, 2.0], size=len(N_LEVELS))
    options = {"form": form, "flip": 0.2, "level_shares": LEVEL_SHARES, "tol": 0.0}
    slopes = gradient(model, rows, noise, **options)
    for attribute in range(len(N_LEVELS)):
        step = np.zeros(len(N_LEVELS))
        step[attribute] = 1e-4
        if N_LEVELS[attribute] or noise[attribute] == 0:
            np.testing.assert_array_equal(slopes[:, :, attribute], 0.0)
            continue
        change = (
            soften(model, rows + step, noise, **options).margins - soften(model, rows - step, noise, **options).margins
        )
        np.testing.assert_allclose(slopes[:, :, attribute], change / 2e-4, rtol=0, atol=2e-7)


# --- bits ---


@pytest.mark.parametrize("only_numeric", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_processors_round_alike(seed: int, only_numeric: bool) -> None:
    rng = np.random.default_rng(seed)
    model = mean_of_trees([random_tree(rng, most_splits=40, only_numeric=only_numeric)])
    rows = known_rows(rng, 200) if only_numeric else random_rows(rng, 200)
    noise = random_noise(rng, rows)
    answers = []
    for plain in (True, False):
        kernel.use_plain_instructions(plain)
        answers.append(soften(model, rows, noise).margins.tobytes())
    assert answers[0] == answers[1]


def test_shared_columns_and_own_columns_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    model, rows = mean_of_trees([random_tree(rng, most_splits=40) for _ in range(5)]), random_rows(rng, 200)
    noise = np.full(len(N_LEVELS), 0.7)
    answers = []
    for limit in (0.0, 1.0):
        monkeypatch.setattr("tremula.smoothing.tree_program.SHARED_IF_BELOW", limit)
        answers.append(soften(model, rows, noise).margins.tobytes())
    assert answers[0] == answers[1]


def test_normal_distribution_function() -> None:
    z = np.concatenate([np.linspace(-40, 40, 200_001), [-np.inf, np.inf, np.nan, -8.3, 8.3, 0.0, -0.0]])
    ours = np.empty_like(z)
    kernel.fill_normal_below(z, ours)
    np.testing.assert_allclose(ours, ndtr(z), rtol=0, atol=3e-16)
    assert np.isnan(ours[np.isnan(z)]).all()


def test_rough_normal_distribution_function() -> None:
    z = np.linspace(-kernel.ROUGH_FAR, kernel.ROUGH_FAR, 400_001)
    ours = np.empty_like(z)
    kernel.fill_normal_below(z, ours, roughly=True)
    assert 1e-11 < np.abs(ours - ndtr(z)).max() <= kernel.ROUGH_ERROR
    assert ndtr(-kernel.ROUGH_FAR) <= kernel.ROUGH_ERROR
