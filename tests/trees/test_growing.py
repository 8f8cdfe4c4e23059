"""The compiled grower against the naive one, on thousands of tables small enough to be looked at row by row.

Where worths tie any of the tied splits is right, so the engine's tree is walked from the root and each of its nodes
held against what the naive grower would allow for the rows that reach it.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import isnan

import numpy as np
import pytest

from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_grower import Grown, NaiveGrower
from .naive_splits import Pieces, Split, Table, weight_of
from .tiny_tables import CLASSIFIERS, DECIDED, ENTROPY, GINI, REGRESSORS, VARIANCE, draw_tables, grow


def branch_of(tree: GrownTree, node: int, value: float, rules: Rules) -> int | None:
    """The branch a value takes at a node; None: as if it were missing."""
    record = tree.nodes[node]
    if isnan(value):
        return None
    if record["index"] == -1:
        return int(value >= record["threshold"] if rules.strict else value > record["threshold"])
    if record["index"] == -2:
        return int(value)
    branch = int(tree.subsets[record["index"] + int(value)])
    return None if branch == 2 else branch


def split_of(tree: GrownTree, node: int, pieces: Pieces, table: Table, rules: Rules) -> Split:
    """What the test in a node makes of rows."""
    attribute = int(tree.nodes[node]["attribute"])
    branches: list[Pieces] = [[] for _ in range(tree.nodes[node]["n_branches"])]
    missing: Pieces = []
    for row, weight in pieces:
        branch = branch_of(tree, node, table.values[row][attribute], rules)
        (missing if branch is None else branches[branch]).append((row, weight))
    return Split(attribute, branches, missing)


def assert_threshold(table: Table, rules: Rules, split: Split, threshold: float) -> None:
    """Halfway between the neighbours, or the largest value of the training rows up to there."""
    left, right = ([table.values[row][split.attribute] for row, _ in branch] for branch in split.branches)
    halfway = (max(left) + min(right)) / 2
    if rules.observed_threshold:
        values = [table.values[row][split.attribute] for row, _ in table.root]
        halfway = max(value for value in values if value <= halfway)
    assert threshold == halfway


def assert_subset(tree: GrownTree, node: int, split: Split, table: Table, rules: Rules) -> None:
    """Levels seen in the node have a branch, others none, or the second one if a single level has the first."""
    first, n_levels = int(tree.nodes[node]["index"]), table.n_levels[split.attribute]
    seen = {int(table.values[row][split.attribute]) for branch in split.branches for row, _ in branch}
    branches = tree.subsets[first : first + n_levels]
    if rules.one_level:
        assert np.count_nonzero(branches == 0) == 1
        assert np.count_nonzero(branches == 1) == n_levels - 1
    else:
        assert {level for level in range(n_levels) if branches[level] != 2} == seen


def assert_test(tree: GrownTree, node: int, split: Split, table: Table, rules: Rules) -> None:
    """The record says of the split what it should."""
    record = tree.nodes[node]
    if table.n_levels[split.attribute] == 0:
        assert (record["index"], record["n_branches"]) == (-1, 2)
        assert_threshold(table, rules, split, record["threshold"])
        return
    assert isnan(record["threshold"])
    if rules.subsets:
        assert record["n_branches"] == 2
        assert_subset(tree, node, split, table, rules)
    else:
        assert (record["index"], record["n_branches"]) == (-2, table.n_levels[split.attribute])


def assert_grown(table: Table, rules: Rules, tree: GrownTree) -> None:
    """Every node of the tree is one the naive grower may make of the rows that reach it."""
    naive = NaiveGrower(table, rules)
    seen = []

    def walk(node: int, pieces: Pieces, depth: int) -> None:
        seen.append(node)
        record = tree.nodes[node]
        assert record["weight"] == pytest.approx(weight_of(pieces), rel=1e-9)
        assert tree.statistics[node] == pytest.approx(naive.node(pieces).statistics(pieces), rel=1e-9, abs=1e-9)
        choices = naive.choices(pieces, depth)
        if record["attribute"] < 0:
            assert choices.leaf
            assert (record["first_child"], record["n_branches"], record["index"]) == (0, 0, -1)
            return
        split = split_of(tree, node, pieces, table, rules)
        assert (split.attribute, split.partition) in {(s.attribute, s.partition) for s in choices.splits}
        assert_test(tree, node, split, table, rules)
        for branch, child in enumerate(split.children()):
            assert record["first_child"] + branch > node
            walk(int(record["first_child"]) + branch, child, depth + 1)

    walk(0, table.root, 0)
    assert sorted(seen) == list(range(len(tree.nodes)))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_split_is_worth_what_the_best_is(name: str) -> None:
    for seed, table in enumerate(draw_tables(1)):
        for packed in (True, False):
            assert_grown(table, CLASSIFIERS[name], grow(table, CLASSIFIERS[name], seed, packed))


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_split_of_a_numeric_target_is_worth_what_the_best_is(name: str) -> None:
    for seed, table in enumerate(draw_tables(2, regression=True)):
        assert_grown(table, REGRESSORS[name], grow(table, REGRESSORS[name], seed))


def assert_equal(tree: GrownTree, node: int, naive: Grown, table: Table, rules: Rules) -> None:
    """The engine's subtree is the naive grower's."""
    record = tree.nodes[node]
    assert record["attribute"] == (-1 if naive.split is None else naive.split.attribute)
    if naive.split is None:
        return
    split = split_of(tree, node, naive.pieces, table, rules)
    assert split.partition == naive.split.partition
    for branch, child in enumerate(naive.children):
        assert_equal(tree, int(record["first_child"]) + branch, child, table, rules)


@pytest.mark.parametrize("name", DECIDED)
def test_the_first_of_near_equals_is_taken(name: str) -> None:
    rules = DECIDED[name]
    for table in draw_tables(3, regression=name in REGRESSORS):
        naive = NaiveGrower(table, rules).grow(table.root)
        for packed in (True, False):
            assert_equal(grow(table, rules, packed=packed), 0, naive, table, rules)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
def test_columns_that_serve_once_grow_the_same_tree(name: str) -> None:
    """The tree may then use the sorted lists up instead of copying them."""
    rules = {**CLASSIFIERS, **REGRESSORS}[name]
    for seed, table in enumerate(draw_tables(6, regression=name not in CLASSIFIERS)):
        for packed in (True, False):
            kept, used = (grow(table, rules, seed, packed, serves_once=once) for once in (False, True))
            for name in set(kept.nodes.dtype.names or ()) - {"weight"}:
                assert kept.nodes[name].tobytes() == used.nodes[name].tobytes()
            # Columns that serve often may be coded, and real weights are then added in another order.
            np.testing.assert_allclose(kept.nodes["weight"], used.nodes["weight"], rtol=1e-14)
            np.testing.assert_allclose(kept.statistics, used.statistics, rtol=1e-14)
            assert kept.subsets.tobytes() == used.subsets.tobytes()


@pytest.mark.parametrize("name", sorted(set(DECIDED) & set(CLASSIFIERS)))
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_attributes_of_two_values_are_judged_by_all_their_rows(name: str, share: float) -> None:
    """The kernel counts the rows of the rarer value alone."""
    random = np.random.default_rng(8)
    for n_classes in (2, 3):
        values = (random.random((40, 5)) < share).astype(float)
        values[:, 0] += random.integers(2, size=40)
        targets = (values.sum(axis=1) + random.integers(2, size=40)) % n_classes
        weights = random.integers(4, size=40)
        table = Table(values.tolist(), [0] * 5, targets.astype(int).tolist(), weights.tolist(), n_classes)
        naive = NaiveGrower(table, DECIDED[name]).grow(table.root)
        assert_equal(grow(table, DECIDED[name], serves_once=True), 0, naive, table, DECIDED[name])
        assert_equal(grow(table, DECIDED[name]), 0, naive, table, DECIDED[name])


@pytest.mark.parametrize("gap", [0.5, 1e-5])
def test_values_nearer_than_the_gap_are_not_told_apart(gap: float) -> None:
    for table in draw_tables(4, missing=(0.2,)):
        close = table._replace(values=(np.array(table.values) * gap).tolist(), gap=gap)
        numeric = close._replace(n_levels=[0] * len(close.n_levels))
        for name in ("C4.5", "entropy"):
            assert_grown(numeric, CLASSIFIERS[name], grow(numeric, CLASSIFIERS[name]))


@pytest.mark.parametrize("criterion", [ENTROPY, GINI, VARIANCE])
def test_no_set_of_levels_is_better_for_two_classes_or_a_mean(criterion: int) -> None:
    rules = Rules(criterion, subsets=True, max_depth=1)
    for table in draw_tables(5, regression=criterion == VARIANCE):
        table = table._replace(targets=[target % 2 for target in table.targets], n_classes=2 * (table.n_classes > 0))
        tree = grow(table, rules)
        if tree.nodes[0]["attribute"] < 0:
            continue
        node = NaiveGrower(table, rules).node(table.root)
        reached = node.appraise(split_of(tree, 0, table.root, table, rules)).worth
        for attribute in np.flatnonzero(table.n_levels):
            missing = [piece for piece in table.root if isnan(node.value(piece, attribute))]
            levels = node.groups(attribute)
            for size in range(1, len(levels)):
                for first in combinations(levels, size):
                    sides = [list(chain(*first)), list(chain(*(level for level in levels if level not in first)))]
                    assert node.appraise(Split(attribute, sides, missing)).worth <= reached + 1e-9
