"""What must not change a tree: how weights are stored, repeated and absent rows, the order and the scale of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan

import numpy as np
import pytest

from tremula.trees.columns import read_columns
from tremula.trees.growing import grow_classification_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_splits import Table
from .test_growing import assert_grown
from .tiny_tables import (
    C45,
    CLASSIFIERS,
    DECIDED,
    ENTROPY,
    GINI,
    REGRESSORS,
    RELEASE_1,
    REPTREE,
    VARIANCE,
    draw_tables,
    grow,
)

SHAPE = ["attribute", "first_child", "n_branches", "index"]
FORESTS = {
    "random thresholds": Rules(GINI, random_threshold=True, n_drawn=2),
    "random thresholds of a numeric target": Rules(VARIANCE, random_threshold=True, n_drawn=2),
}


def assert_identical(one: GrownTree, other: GrownTree) -> None:
    assert one.nodes.tobytes() == other.nodes.tobytes()
    assert one.statistics.tobytes() == other.statistics.tobytes()
    assert one.subsets.tobytes() == other.subsets.tobytes()


def assert_same(one: GrownTree, other: GrownTree, scale: float = 1.0, thresholds: bool = True) -> None:
    """The same but for rounding, for all weights being `scale` times as large, and for thresholds if need be."""
    assert one.nodes[SHAPE].tolist() == other.nodes[SHAPE].tolist()
    np.testing.assert_allclose(other.statistics, scale * one.statistics, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(other.nodes["weight"], scale * one.nodes["weight"], rtol=1e-9)
    np.testing.assert_array_equal(one.subsets, other.subsets)
    if thresholds:
        np.testing.assert_array_equal(one.nodes["threshold"], other.nodes["threshold"])


def take(table: Table, rows: list[int]) -> Table:
    values, targets, weights = (
        [column[row] for row in rows] for column in (table.values, table.targets, table.weights)
    )
    return table._replace(values=values, targets=targets, weights=weights)


def counted_tables(seed: int) -> Iterator[Table]:
    """Without missing values, and with multiplicities: whole numbers all through."""
    return (t for t in draw_tables(seed, missing=(0.0,)) if all(float(weight).is_integer() for weight in t.weights))


# ---- how weights are stored


@pytest.mark.parametrize("name", [name for name in DECIDED if name not in REGRESSORS])
def test_counted_and_weighted_rows_grow_the_same_tree(name: str) -> None:
    for table in counted_tables(11):
        counted = grow(table, DECIDED[name])
        assert_same(counted, grow(table, DECIDED[name], packed=False))
        useless = [[*row, nan] for row in table.values]
        with_missing = table._replace(values=useless, n_levels=[*table.n_levels, 99])
        assert_same(counted, grow(with_missing, DECIDED[name]))


@pytest.mark.parametrize("criterion", [ENTROPY, GINI])
@pytest.mark.parametrize("scale", [42, 43, 1000])
def test_multiplicities_too_large_for_a_word_grow_the_same_tree(criterion: int, scale: int) -> None:
    """Counts go up to 3, so 42 still packs them, as 126, and 43 does not."""
    small = Rules(criterion, min_side_weight=1.0, tolerance=1e-6)
    large = replace(small, min_side_weight=float(scale), min_split_weight=2.0 * scale)
    for table in counted_tables(12):
        heavy = table._replace(weights=[scale * weight for weight in table.weights])
        assert_same(grow(table, small), grow(heavy, large), scale)


def test_more_classes_than_a_word_holds_grow_the_same_tree() -> None:
    for table in draw_tables(13):
        spread = table._replace(targets=[99 * target for target in table.targets], n_classes=300)
        few, many = (grow(each, DECIDED["entropy"]) for each in (table, spread))
        assert_same(few, GrownTree(many.nodes, many.statistics[:, : 99 * table.n_classes : 99], many.subsets))
    assert_grown(spread, DECIDED["entropy"], many)


def test_256_classes_fit_into_a_word() -> None:
    values, codes = np.arange(512.0)[:, None] // 2, np.arange(512) // 2
    tree = grow_classification_tree(
        read_columns(values, np.zeros(1, np.int32)), codes, 256, None, Rules(ENTROPY), np.random.default_rng(0)
    )
    assert len(tree.nodes) == 511
    assert ((tree.statistics == 2).sum(axis=1) == 1)[tree.nodes["attribute"] < 0].all()


# ---- rows


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_row_of_weight_two_is_a_row_twice(name: str) -> None:
    for seed, table in enumerate(counted_tables(14)):
        repeated = take(table, [row for row, weight in enumerate(table.weights) for _ in range(int(weight))])
        once = repeated._replace(weights=[1.0] * len(repeated.weights))
        assert_identical(grow(table, CLASSIFIERS[name], seed), grow(once, CLASSIFIERS[name], seed))


def test_a_row_of_weight_two_is_a_row_twice_where_weights_are_looked_up() -> None:
    for regression, name in ((False, "C4.5"), (False, "REPTree"), (True, "variance")):
        for table in draw_tables(15, regression):
            doubled = table._replace(weights=[2 * weight for weight in table.weights])
            rows = sorted([*range(len(table.weights))] * 2)
            assert_same(grow(doubled, DECIDED[name]), grow(take(table, rows), DECIDED[name]))


def test_thirds_of_rows_add_up_to_what_a_branch_needs() -> None:
    """A third of each of three rows, or of one that weighs three, makes the lighter branch heavy enough."""
    thrice = Table([[1.0], [2.0], [2.0], [nan], [nan], [nan]], [0], [0, 1, 1, 0, 0, 0], [1.0] * 6, 2)
    once = Table(thrice.values[:4], [0], [0, 1, 1, 0], [1.0, 1.0, 1.0, 3.0], 2)
    for rules in (REPTREE, replace(REPTREE, criterion=VARIANCE)):
        n_classes = 2 * (rules.criterion < VARIANCE)
        trees = [grow(table._replace(n_classes=n_classes), rules) for table in (thrice, once)]
        assert [tree.nodes["attribute"][0] for tree in trees] == [0, 0]


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
def test_a_row_of_weight_zero_is_no_row(name: str) -> None:
    rules = {**CLASSIFIERS, **REGRESSORS}[name]
    for seed, table in enumerate(draw_tables(16, regression=name not in CLASSIFIERS)):
        present = take(table, [row for row, weight in enumerate(table.weights) if weight > 0])
        assert_identical(grow(table, rules, seed), grow(present, rules, seed))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_order_of_counted_rows_is_of_no_matter(name: str) -> None:
    for seed, table in enumerate(counted_tables(17)):
        shuffled = take(table, np.random.default_rng(seed).permutation(len(table.weights)).tolist())
        assert_identical(grow(table, CLASSIFIERS[name], seed), grow(shuffled, CLASSIFIERS[name], seed))


@pytest.mark.parametrize("name", DECIDED)
def test_the_order_of_weighted_rows_is_of_no_matter_but_for_rounding(name: str) -> None:
    for seed, table in enumerate(draw_tables(18, regression=name not in CLASSIFIERS)):
        shuffled = take(table, np.random.default_rng(seed).permutation(len(table.weights)).tolist())
        assert_same(grow(table, DECIDED[name]), grow(shuffled, DECIDED[name]))


# ---- values


@pytest.mark.parametrize("name", ["C4.5", "gini", "randomized entropy", "uncertainty, forest", "REPTree"])
def test_only_the_order_of_values_counts(name: str) -> None:
    for seed, table in enumerate(draw_tables(19)):
        values = np.array(table.values)
        numeric = np.equal(table.n_levels, 0)
        values[:, numeric] = np.exp(3 * values[:, numeric]) - 1e5
        bent = table._replace(values=values.tolist())
        one, other = (grow(each, CLASSIFIERS[name], seed) for each in (table, bent))
        assert_same(one, other, thresholds=False)


def test_the_layout_of_the_table_is_of_no_matter() -> None:
    random = np.random.default_rng(20)
    values, codes = random.normal(size=(60, 3)), random.integers(3, size=60)
    wide = np.repeat(np.repeat(values, 2, axis=0), 3, axis=1)
    trees = [
        grow_classification_tree(read_columns(each, np.zeros(3, np.int32)), codes, 3, None, C45, random)
        for each in (values, np.asfortranarray(values), wide[::2, ::3], values[::-1].copy()[::-1])
    ]
    for tree in trees[1:]:
        assert_identical(trees[0], tree)


@pytest.mark.parametrize("name", ["C4.5", "C4.5 Release 1", "gini, subsets", "REPTree"])
def test_only_the_given_attributes_are_used(name: str) -> None:
    for table in draw_tables(21):
        chosen = list(range(len(table.n_levels)))[::-2]
        part = table._replace(
            values=[[row[a] for a in chosen] for row in table.values], n_levels=[table.n_levels[a] for a in chosen]
        )
        tree, expected = grow(table, CLASSIFIERS[name], attributes=chosen), grow(part, CLASSIFIERS[name])
        expected.nodes["attribute"] = np.array([*chosen, -1])[expected.nodes["attribute"]]
        assert_identical(tree, expected)


# ---- what cannot be split


@pytest.mark.parametrize("rules", [*CLASSIFIERS.values(), *REGRESSORS.values(), *FORESTS.values()])
@pytest.mark.parametrize("column", [[1.0] * 6, [nan] * 6, [nan, 1.0, nan, nan, 1.0, nan]])
@pytest.mark.parametrize("n_levels", [0, 3])
def test_columns_of_one_value_or_none_are_not_split(rules: Rules, column: list[float], n_levels: int) -> None:
    n_classes = 2 * (rules.criterion < VARIANCE)
    table = Table([[value] for value in column], [n_levels], [0, 1, 0, 1, 1, 0], [1.0] * 6, n_classes)
    assert len(grow(table, rules).nodes) == 1


@pytest.mark.parametrize("rules", [*CLASSIFIERS.values(), *REGRESSORS.values(), *FORESTS.values()])
@pytest.mark.parametrize("weight", [0.5, 1, 4, 500])
def test_a_single_row_is_a_leaf(rules: Rules, weight: float) -> None:
    n_classes = 2 * (rules.criterion < VARIANCE)
    tree = grow(Table([[1.0, nan], [2.0, 3.0]], [0, 4], [1, 0], [weight, 0], n_classes), rules)
    assert len(tree.nodes) == 1
    assert tree.nodes["weight"][0] == weight


def test_an_attribute_may_be_missing_in_one_branch_only() -> None:
    """The second attribute is known left of the first split alone, and decides there."""
    values = [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, nan], [1.0, nan], [1.0, nan], [1.0, nan]]
    table = Table(values, [0, 0], [0, 1, 0, 1, 2, 2, 2, 2], [1.0] * 8, 3)
    for rules in (CLASSIFIERS["entropy"], C45, RELEASE_1):
        tree = grow(table, rules)
        assert tree.nodes["attribute"].tolist() == [0, 1, -1, -1, -1]
        assert_grown(table, rules, tree)


def test_no_depth_is_no_split() -> None:
    table = next(draw_tables(22))
    assert len(grow(table, Rules(ENTROPY, max_depth=0)).nodes) == 1


# ---- large enough for buffers to grow


@pytest.mark.parametrize("name", ["C4.5", "entropy, subsets", "randomized C4.5", "uncertainty, forest", "variance"])
def test_no_weight_is_lost_where_many_values_are_missing(name: str) -> None:
    random = np.random.default_rng(23)
    n_rows, n_levels = 400, [0, 0, 4, 7, 2]
    values = np.column_stack([random.integers(n, size=n_rows) if n else random.normal(size=n_rows) for n in n_levels])
    values[random.random(values.shape) < 0.4] = nan
    n_classes = 3 * (name in CLASSIFIERS)
    targets = random.integers(3, size=n_rows) if n_classes else random.normal(size=n_rows)
    table = Table(values.tolist(), n_levels, targets.tolist(), random.exponential(size=n_rows).tolist(), n_classes)
    tree = grow(table, {**CLASSIFIERS, **REGRESSORS}[name])
    assert len(tree.nodes) > 80
    for node, record in enumerate(tree.nodes):
        branches = slice(record["first_child"], record["first_child"] + record["n_branches"])
        if record["n_branches"]:
            np.testing.assert_allclose(
                tree.statistics[branches].sum(axis=0), tree.statistics[node], rtol=1e-9, atol=1e-9
            )
