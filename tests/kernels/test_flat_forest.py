"""Flat forests against the slow, obvious router, on many small random trees: the same sums to the last bit."""

import numpy as np
import pytest

import tremula.trees.flat_forest as flat_forest
from tremula._kernels import row_cells
from tremula.trees.flat_forest import FlatForest, flatten
from tremula.trees.tree import NODE_DTYPE, Tree

from .naive_router import expected_value
from .random_trees import random_rows, random_tree, with_missing_branches

SEEDS = range(60)
NO_ROOM = {"bytes": {"bytes": -1, "words": 1 << 18}, "words": {"bytes": -1, "words": -1}}  # for this form and smaller


def naive_sums(trees: list[Tree], rows: np.ndarray, weights: np.ndarray, votes: bool = False) -> np.ndarray:
    """Weight times answer, added tree after tree."""
    total = np.zeros((len(rows), trees[0].n_outputs))
    for tree, weight in zip(trees, weights):
        for row, sums in zip(rows, total):
            value = expected_value(tree, row)
            sums += weight * (np.eye(len(value))[value.argmax()] if votes else value)
    return total


def sums_by_tree(trees: list[Tree], rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same by the kernel for one tree, which has a naive twin of its own."""
    total = np.zeros((len(rows), trees[0].n_outputs))
    for tree, weight in zip(trees, weights):
        tree.add_values(rows, float(weight), total)
    return total


def flat_sums(forest: FlatForest | None, rows: np.ndarray, weights: np.ndarray, n_outputs: int) -> np.ndarray:
    assert forest is not None
    total = np.zeros((len(rows), n_outputs))
    forest.add_values(rows, weights, total)
    return total


def chain(depth: int, threshold: float = 0.5) -> Tree:
    """A tree whose every split has a leaf and another split."""
    nodes = np.zeros(2 * depth + 1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"], nodes["index"] = -1, 1.0, np.arange(len(nodes)) % 2
    nodes[: 2 * depth : 2] = [(k + threshold, 1.0, 0, 2 * k + 1, 2, -1) for k in range(depth)]
    return Tree(nodes, np.eye(2), [], [0], strict=False)


def full_tree(depth: int, n_attributes: int = 1) -> Tree:
    """All paths are equally long, and every leaf has a value of its own."""
    n_splits = 2**depth - 1
    nodes = np.zeros(2 * n_splits + 1, dtype=NODE_DTYPE)
    split, leaf = np.arange(n_splits), np.arange(n_splits + 1)
    nodes[:n_splits] = [(k % 7 / 3, k % 5 + 1.0, k % n_attributes, 2 * k + 1, 2, -1) for k in split]
    nodes[n_splits:] = [(0.0, k % 3 + 1.0, -1, 0, 0, k) for k in leaf]
    values = np.random.default_rng(0).dirichlet(np.ones(3), size=len(leaf))
    tree = Tree(nodes, values, [], np.zeros(n_attributes), strict=False)
    tree.check()
    return tree


# --- the forest equals its twin ---


@pytest.mark.parametrize("form", ["bytes", "words", "numbers"])
@pytest.mark.parametrize("only_numeric", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_equal_their_definition_to_the_last_bit(
    seed: int, only_numeric: bool, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for smaller, room in NO_ROOM.items():
        if ["bytes", "words", "numbers"].index(form) > ["bytes", "words"].index(smaller):
            monkeypatch.setattr(flat_forest, "MOST_PLACES", room)
    rng = np.random.default_rng(seed)
    votes, n_outputs = bool(rng.integers(2)), int(rng.choice([1, 3]))
    trees = [random_tree(rng, n_outputs, only_numeric=only_numeric) for _ in range(int(rng.integers(1, 5)))]
    if seed % 2:
        trees = [with_missing_branches(rng, tree) for tree in trees]
    rows, weights = random_rows(rng, int(rng.integers(1, 25))), rng.choice([1.0, 0.0, 1 / 3, 2.7], size=len(trees))
    monkeypatch.setattr(flat_forest, "STEPS_PER_TREE", 1000)
    forest = flatten(trees, votes=votes)
    has_levels = any((tree.n_levels[tree.attribute[~tree.is_leaf]] > 0).any() for tree in trees)
    assert forest.form == ("words" if has_levels and form == "bytes" else form)
    expected = naive_sums(trees, rows, weights, votes)
    np.testing.assert_array_equal(flat_sums(forest, rows, weights, n_outputs), expected)


@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 127, 128, 129, 300])
@pytest.mark.parametrize("n_trees", [1, 9, 200])
def test_any_number_of_rows_and_trees_is_summed(n_rows: int, n_trees: int) -> None:
    rng = np.random.default_rng(n_rows)
    trees, rows = [random_tree(rng) for _ in range(n_trees)], random_rows(rng, n_rows)
    weights = rng.random(n_trees)
    np.testing.assert_array_equal(flat_sums(flatten(trees), rows, weights, 3), sums_by_tree(trees, rows, weights))


def test_rows_beyond_one_block_are_summed() -> None:
    rng = np.random.default_rng(0)
    trees, rows, weights = [random_tree(rng) for _ in range(3)], random_rows(rng, 40_000), np.array([1.0, 0.5, 0.1])
    np.testing.assert_array_equal(flat_sums(flatten(trees), rows, weights, 3), sums_by_tree(trees, rows, weights))


def test_trees_add_to_the_outputs_that_they_are_given() -> None:
    rng = np.random.default_rng(3)
    trees, rows, weights = [random_tree(rng, 1) for _ in range(4)], random_rows(rng), np.array([1.0, 0.5, 0.1, 2.0])
    total = flat_sums(flatten(trees, [0, 2, 1, 2]), rows, weights, 3)
    for output, numbers in enumerate([[0], [2], [1, 3]]):
        expected = sums_by_tree([trees[number] for number in numbers], rows, weights[numbers])
        np.testing.assert_array_equal(total[:, output], expected[:, 0])


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_array_in_memory_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees, rows, weights = [random_tree(rng) for _ in range(3)], random_rows(rng), np.ones(3)
    forest = flatten(trees)
    spaced = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    for same in (np.asfortranarray(rows), spaced, rows[::-1].copy()[::-1]):
        np.testing.assert_array_equal(flat_sums(forest, same, weights, 3), flat_sums(forest, rows, weights, 3))


# --- limits of the forms ---


@pytest.mark.parametrize(("n_thresholds", "form"), [(254, "bytes"), (255, "words")])
def test_bytes_have_room_for_254_limits(n_thresholds: int, form: str) -> None:
    trees, weights = [chain(n_thresholds)] * 3, np.ones(3)
    forest = flatten(trees)
    rows = np.append(np.arange(-1, n_thresholds + 2) / 1.0, [0.5, np.nan, np.inf, -np.inf])[:, None]
    assert forest.form == form
    np.testing.assert_array_equal(flat_sums(forest, rows, weights, 2), sums_by_tree(trees, rows, weights))


def test_a_deep_tree_and_its_fractions_are_followed() -> None:
    tree, rows = chain(20_000), np.array([[0.0], [19_999.0], [25_000.0], [np.nan]])
    np.testing.assert_array_equal(flat_sums(flatten([tree]), rows, np.ones(1), 2), tree.predict_values(rows))


@pytest.mark.parametrize("depth", [5, 11, 13])
def test_rows_in_more_fractions_than_there_is_room_for_are_mixed(depth: int) -> None:
    tree, rng = full_tree(depth, 2), np.random.default_rng(0)
    rows = rng.choice([0.0, 1 / 3, 1.0, np.nan], size=(200, 2), p=[0.2, 0.2, 0.2, 0.4])
    for some in (rows[:3], rows):
        np.testing.assert_array_equal(flat_sums(flatten([tree]), some, np.ones(1), 3), tree.predict_values(some))


def test_many_attributes_are_kept_as_numbers() -> None:
    rng, tree = np.random.default_rng(0), full_tree(9, 400)
    rows = rng.choice([0.0, 1 / 3, 1.0, np.nan], size=(50, 400), p=[0.3, 0.3, 0.3, 0.1])
    forest = flatten([tree] * 3)
    assert forest.form == "numbers"
    np.testing.assert_array_equal(flat_sums(forest, rows, np.ones(3), 3), sums_by_tree([tree] * 3, rows, np.ones(3)))


@pytest.mark.parametrize("threshold", [-np.inf, np.inf, -0.0, 5e-324, 1.7976931348623157e308])
@pytest.mark.parametrize("strict", [True, False])
def test_extreme_thresholds_are_respected_or_refused(threshold: float, strict: bool) -> None:
    nodes = np.array([(threshold, 2, 0, 1, 2, -1), (0, 1, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    tree = Tree(nodes, np.eye(2), [], [0], strict)
    forest = flatten([tree])
    assert (forest is None) == (strict and threshold == -np.inf)
    rows = np.array([[-np.inf, -1e308, -5e-324, -0.0, 0.0, 5e-324, 1e308, 1.7976931348623157e308, np.inf]]).T
    if forest is not None:
        np.testing.assert_array_equal(flat_sums(forest, rows, np.ones(1), 2), tree.predict_values(rows))


@pytest.mark.parametrize("n_levels", [127, 128])
def test_splits_with_too_many_branches_are_refused(n_levels: int) -> None:
    nodes = np.zeros(n_levels + 1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["index"], nodes["weight"] = -1, np.arange(n_levels + 1) % 2, 1.0
    nodes[0] = (np.nan, 1.0, 0, 1, n_levels, -2)
    tree = Tree(nodes, np.eye(2), [], [n_levels], strict=False)
    forest, rows = flatten([tree]), np.append(np.arange(-1.0, n_levels + 2), np.nan)[:, None]
    assert (forest is None) == (n_levels > 127)
    if forest is not None:
        np.testing.assert_array_equal(flat_sums(forest, rows, np.ones(1), 2), tree.predict_values(rows))


@pytest.mark.parametrize("n_trees", [3, 4])
def test_branches_of_levels_that_take_too_much_memory_are_refused(
    n_trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = np.array([(np.nan, 2, 0, 1, 2, 0), (0, 1, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    tree = Tree(nodes, np.eye(2), np.arange(9) % 2, [9], strict=False)
    monkeypatch.setattr(flat_forest, "MOST_ENTRIES", 30)  # each split takes ten: its levels, and missing ones
    assert (flatten([tree] * n_trees) is None) == (n_trees > 3)


def test_trees_of_different_attributes_are_refused() -> None:
    assert flatten([chain(2), full_tree(2, 2)]) is None


# --- cells ---


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_places_among_the_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 40, size=3)
    limits = [np.sort(rng.choice(100, size=length, replace=False)).astype(float) for length in lengths]
    starts, attributes = np.concatenate([[0], np.cumsum(lengths)]), np.array([0, 2, 3], np.int32)
    cells = row_cells.RowCells("bytes", attributes, np.zeros(3, np.int32), starts, np.concatenate(limits))
    rows = rng.integers(-1, 101, size=(21, 4)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    expected = [[255 if np.isnan(x) else (own < x).sum() for x, own in zip(row, limits)] for row in rows[:, attributes]]
    assert cells.cells(rows).tolist() == expected


# --- what does not fit ---


def test_rows_weights_and_sums_that_do_not_fit_are_refused() -> None:
    forest = flatten([chain(3)])
    with pytest.raises(ValueError, match=r"rows have shape \(2, 4\): expected \(n_rows, 1\)"):
        forest.add_values(np.zeros((2, 4)), np.ones(1), np.zeros((2, 2)))
    for n_weights, shape in ((2, (2, 2)), (1, (3, 2)), (1, (2, 1))):
        with pytest.raises(ValueError, match=r"weights and sums of shape .*: expected 1, and \(2, 2\)"):
            forest.add_values(np.zeros((2, 1)), np.ones(n_weights), np.zeros(shape))


def test_the_size_in_bytes_is_stated() -> None:
    tree = chain(3)
    assert flatten([tree]).nbytes == 2 + tree.n_nodes * (4 + 4)  # a byte form; the table of branches has two entries
