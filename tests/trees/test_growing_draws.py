"""What a tree draws by lot is drawn from the right lot, evenly, and again from the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isnan

import numpy as np
import pytest
from scipy import stats

from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_grower import NaiveGrower
from .naive_splits import Pieces, Table, weight_of
from .test_growing import split_of
from .tiny_tables import C45, CLASSIFIERS, ENTROPY, GINI, RATIO, REGRESSORS, UNCERTAINTY, VARIANCE, draw_tables, grow

N_SEEDS = 600


def assert_drawn(drawn: Iterable[object], shares: dict[object, float]) -> None:
    """By a chi-square test, and nothing else is drawn."""
    counts = Counter(drawn)
    assert set(counts) == set(shares)
    expected = [sum(counts.values()) * shares[key] for key in shares]
    assert stats.chisquare([counts[key] for key in shares], expected).pvalue > 1e-3


def wide_table(n_attributes: int) -> Table:
    """Numeric attributes of different worth for three classes, and one nominal that is worth something too."""
    random = np.random.default_rng(31)
    codes = random.integers(3, size=14)
    numeric = codes[:, None] + random.normal(size=(14, n_attributes)) * np.linspace(0.5, 2, n_attributes)
    nominal = (codes + random.integers(2, size=14)) % 3
    values = np.column_stack([numeric, nominal])
    weights = random.integers(1, 10, size=14)
    return Table(values.tolist(), [0] * n_attributes + [3], codes.tolist(), weights.tolist(), 3)


# ---- one of the best splits


@pytest.mark.parametrize("criterion", [ENTROPY, RATIO, UNCERTAINTY, GINI])
@pytest.mark.parametrize("n_best", [2, 5, 1000])
@pytest.mark.parametrize("packed", [True, False])
def test_each_of_the_best_splits_is_as_likely(criterion: int, n_best: int, packed: bool) -> None:
    table, rules = wide_table(2), Rules(criterion, n_best=n_best, max_depth=1)
    allowed = NaiveGrower(table, rules).choices(table.root).splits
    keys = [(split.attribute, split.partition) for split in allowed]
    assert n_best == len(keys) or n_best > len(keys) > 20
    trees = (grow(table, rules, seed, packed) for seed in range(N_SEEDS))
    splits = (split_of(tree, 0, table.root, table, rules) for tree in trees)
    assert_drawn(((split.attribute, split.partition) for split in splits), dict.fromkeys(keys, 1 / len(keys)))


def test_randomized_c45_may_take_many_cuts_of_one_attribute() -> None:
    table = wide_table(1)._replace(n_levels=[0, 0])
    trees = [grow(table, Rules(RATIO, n_best=20, max_depth=1), seed) for seed in range(100)]
    assert len({float(tree.nodes["threshold"][0]) for tree in trees if tree.nodes["attribute"][0] == 0}) > 5


def test_a_split_that_gains_nothing_is_a_candidate() -> None:
    """Not worth less than nothing, whatever rounding makes of it."""
    for n in range(2, 40):
        values, targets = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]] * n, [0, 0, 1, 0, 0, 1] * n
        for packed in (True, False):
            table = Table(values, [0], targets, [1.0] * len(targets), 2)
            assert len(grow(table, Rules(ENTROPY, n_best=5, max_depth=1), packed=packed).nodes) == 3


# ---- attributes drawn per node


def test_with_one_attribute_drawn_each_is_as_likely() -> None:
    table = wide_table(3)
    roots = (grow(table, Rules(GINI, n_drawn=1, max_depth=1), seed).nodes["attribute"][0] for seed in range(N_SEEDS))
    assert_drawn(roots, dict.fromkeys(range(4), 1 / 4))


def test_the_best_of_the_attributes_drawn_is_taken() -> None:
    """Of four attributes two are drawn: the best is among them half the time, the worst is never taken."""
    table = wide_table(3)
    node = NaiveGrower(table, Rules(GINI)).node(table.root)
    worths = [max(split.worth for split in node.candidates(attribute)) for attribute in range(4)]
    assert len({round(worth, 6) for worth in worths}) == 4
    worst, third, second, best = np.argsort(worths).tolist()
    roots = [grow(table, Rules(GINI, n_drawn=2, max_depth=1), seed).nodes["attribute"][0] for seed in range(N_SEEDS)]
    assert worst not in roots
    assert_drawn(roots, {best: 1 / 2, second: 1 / 3, third: 1 / 6})


def test_a_constant_attribute_is_not_counted_as_drawn() -> None:
    table = wide_table(1)
    table = table._replace(values=[[5.0, *row, np.nan] for row in table.values], n_levels=[0, *table.n_levels, 2])
    roots = (grow(table, Rules(GINI, n_drawn=1, max_depth=1), seed).nodes["attribute"][0] for seed in range(N_SEEDS))
    assert_drawn(roots, {1: 1 / 2, 2: 1 / 2})


# ---- random thresholds


def assert_thresholds_within(table: Table, rules: Rules, tree: GrownTree) -> None:
    """Every threshold parts the rows that reach it, and both sides are as heavy as they must be."""
    naive = NaiveGrower(table, rules)

    def walk(node: int, pieces: Pieces) -> None:
        assert tree.statistics[node] == pytest.approx(naive.node(pieces).statistics(pieces), rel=1e-9, abs=1e-9)
        if tree.nodes[node]["attribute"] < 0:
            return
        split = split_of(tree, node, pieces, table, rules)
        if table.n_levels[split.attribute] == 0:
            values = [table.values[row][split.attribute] for branch in split.branches for row, _ in branch]
            assert min(values) <= tree.nodes[node]["threshold"] < max(values)
            assert min(map(weight_of, split.branches)) >= rules.min_side_weight - 1e-9
        for branch, child in enumerate(split.children()):
            walk(int(tree.nodes[node]["first_child"]) + branch, child)

    walk(0, table.root)


@pytest.mark.parametrize("criterion", [ENTROPY, RATIO, UNCERTAINTY, GINI, VARIANCE])
@pytest.mark.parametrize("least", [0.0, 1.5])
def test_random_thresholds_part_the_rows_of_their_node(criterion: int, least: float) -> None:
    rules = Rules(criterion, random_threshold=True, min_side_weight=least, min_variance=0.0)
    for seed, table in enumerate(draw_tables(32, regression=criterion == VARIANCE)):
        for packed in (True, False):
            assert_thresholds_within(table, rules, grow(table, rules, seed, packed))


@pytest.mark.parametrize("packed", [True, False])
def test_random_thresholds_are_uniform(packed: bool) -> None:
    table = Table([[-2.0], [0.0], [0.1], [8.0]], [0], [0, 1, 0, 1], [1.0] * 4, 2)
    rules = Rules(GINI, random_threshold=True, max_depth=1)
    thresholds = [grow(table, rules, seed, packed).nodes["threshold"][0] for seed in range(N_SEEDS)]
    assert stats.kstest(thresholds, stats.uniform(-2, 10).cdf).pvalue > 1e-3


def test_a_random_threshold_fits_between_neighbouring_floats() -> None:
    table = Table([[1.0], [float(np.nextafter(1.0, 2.0))]] * 2, [0], [0, 1] * 2, [1.0] * 4, 2)
    for seed in range(50):
        tree = grow(table, Rules(GINI, random_threshold=True), seed)
        assert tree.nodes["threshold"][0] == 1.0
        assert tree.nodes["weight"].tolist() == [4.0, 2.0, 2.0]


# ---- seeds


@pytest.mark.parametrize(
    "rules",
    [
        CLASSIFIERS["randomized C4.5, Release 1"],
        CLASSIFIERS["uncertainty, forest"],
        Rules(GINI, random_threshold=True, n_drawn=2),
        REGRESSORS["variance, forest"],
    ],
)
def test_the_same_seed_grows_the_same_tree_and_another_another(rules: Rules) -> None:
    table = wide_table(4)._replace(n_classes=3 * (rules.criterion < VARIANCE))
    trees = [grow(table, rules, seed).nodes.tobytes() for seed in range(20)]
    assert trees == [grow(table, rules, seed).nodes.tobytes() for seed in range(20)]
    assert len(set(trees)) > 5


def test_nothing_is_drawn_where_the_rules_draw_nothing() -> None:
    for table in draw_tables(33):
        assert grow(table, C45, 1).nodes.tobytes() == grow(table, C45, 2).nodes.tobytes()


def test_leaves_have_no_threshold_to_speak_of() -> None:
    nodes = grow(wide_table(2), Rules(GINI)).nodes
    assert not any(isnan(threshold) for threshold in nodes["threshold"][nodes["attribute"] < 0])
