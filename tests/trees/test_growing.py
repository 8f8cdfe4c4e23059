"""The compiled grower against the naive one, on thousands of tables small enough to be looked at row by row.

Where worths tie any of the tied splits is right, so the engine's tree is walked from the root and each of its nodes
held against what the naive grower would allow for the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import isnan, nan

import numpy as np
import pytest

from tremula._kernels.sort import sort_columns as sort_into
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.growing import (
    GrownTree,
    Rules,
    SortedColumns,
    grow_classification_tree,
    grow_regression_tree,
    sort_columns,
)

from .naive_grower import Grown, NaiveGrower
from .naive_splits import Pieces, Split, Table, weight_of

N_TABLES = 96  # of every kind of rules

ENTROPY, RATIO, UNCERTAINTY, GINI = (criterion.code for criterion in CLASSIFICATION.values())
VARIANCE, FIFTH_ROOT = (criterion.code for criterion in REGRESSION.values())

C45 = Rules(
    RATIO,
    observed_threshold=True,
    min_split_weight=4.0,
    min_side_weight=2.0,
    min_side_share=0.1,
    min_branch_weight=2.0,
    average_gain=True,
    count_cuts=True,
    tolerance=1e-6,
)
REPTREE = Rules(
    ENTROPY,
    strict=True,
    min_split_weight=4.0,
    min_branch_weight=2.0,
    branch_veto=True,
    spread_missing=True,
    min_worth=1e-6,
)
CLASSIFIERS = {
    "entropy": Rules(ENTROPY),
    "entropy, two a side": Rules(ENTROPY, min_side_weight=2.0, min_branch_weight=2.0),
    "entropy, subsets": Rules(ENTROPY, subsets=True, tolerance=1e-6),
    "ID3": Rules(ENTROPY, min_worth=1e-6, max_depth=2, tolerance=1e-6),
    "gain ratio": Rules(RATIO, min_side_weight=1.0),
    "gain ratio, subsets": Rules(RATIO, subsets=True, min_side_weight=1.5),
    "C4.5": C45,
    "C4.5, small nodes": replace(C45, min_split_weight=2.0, min_side_weight=1.0, min_branch_weight=1.0),
    "C4.5 Release 1": replace(C45, count_cuts=False, cut_by_ratio=True),
    "C4.5 Release 1, small nodes": replace(
        C45, count_cuts=False, cut_by_ratio=True, min_split_weight=2.0, min_side_weight=1.0, min_branch_weight=1.0
    ),
    "randomized C4.5": replace(C45, n_best=3),
    "randomized C4.5, Release 1": replace(C45, n_best=3, count_cuts=False, cut_by_ratio=True, min_side_weight=1.0),
    "randomized entropy": Rules(ENTROPY, n_best=2),
    "uncertainty": Rules(UNCERTAINTY),
    "uncertainty, subsets": Rules(UNCERTAINTY, subsets=True, strict=True),
    "uncertainty, forest": Rules(UNCERTAINTY, n_drawn=2),
    "gini": Rules(GINI, strict=True),
    "gini, subsets": Rules(GINI, subsets=True, min_side_weight=1.0),
    "gini, forest": Rules(GINI, n_drawn=1, min_side_weight=1.0),
    "REPTree": REPTREE,
    "REPTree, no veto": replace(REPTREE, branch_veto=False, min_side_weight=2.0, tolerance=1e-6),
}
REGRESSORS = {
    "variance": Rules(VARIANCE, min_variance=0.0),
    "variance, subsets": Rules(VARIANCE, subsets=True, strict=True, min_variance=0.0),
    "variance, two a side": Rules(VARIANCE, min_side_weight=2.0, min_branch_weight=2.0, min_variance=0.5),
    "variance, first of equals": Rules(VARIANCE, tolerance=1e-6, min_variance=0.0),
    "variance, forest": Rules(VARIANCE, n_drawn=2, min_variance=0.0),
    "variance, randomized": Rules(VARIANCE, n_best=2, min_variance=0.0),
    "REPTree": replace(REPTREE, criterion=VARIANCE, min_variance=0.01),
    "M5": Rules(FIFTH_ROOT, min_side_fifth=1.0, min_split_weight=4.0, min_variance=0.0),
    "fifth root": Rules(FIFTH_ROOT, min_variance=0.0),
    "fifth root, subsets": Rules(FIFTH_ROOT, subsets=True, min_variance=0.0),
}


# ---- tables


def draw_column(random: np.random.Generator, n_rows: int, n_levels: int, coarse: bool) -> np.ndarray:
    if n_levels:
        return random.integers(n_levels, size=n_rows).astype(float)
    return random.integers(4, size=n_rows) / 2 if coarse else random.normal(size=n_rows)


def draw_weights(random: np.random.Generator, n_rows: int, kind: str) -> np.ndarray:
    if kind == "ones":
        return np.ones(n_rows)
    weights = random.integers(4, size=n_rows) if kind != "reals" else random.exponential(size=n_rows) + 0.1
    weights[random.integers(n_rows)] = 1
    return weights / 2 if kind == "halves" else weights


def draw_table(
    random: np.random.Generator, kind: str, weights: str, coarse: bool, missing: float, n_classes: int, gap: float = 0.0
) -> Table:
    n_rows, n_attributes = int(random.integers(2, 15)), int(random.integers(1, 5))
    numeric = {"numeric": 1.0, "nominal": 0.0, "mixed": 0.5}[kind]
    n_levels = [0 if random.random() < numeric else int(random.integers(1, 6)) for _ in range(n_attributes)]
    values = np.column_stack([draw_column(random, n_rows, n, coarse) for n in n_levels])
    values[random.random(values.shape) < missing] = nan
    targets = random.integers(n_classes, size=n_rows) if n_classes else random.integers(-4, 5, size=n_rows)
    return Table(
        values.tolist(), n_levels, targets.tolist(), draw_weights(random, n_rows, weights).tolist(), n_classes, gap
    )


def draw_tables(seed: int, regression: bool = False, gap: float = 0.0) -> Iterator[Table]:
    random = np.random.default_rng(seed)
    kinds = product(
        ("numeric", "nominal", "mixed"), ("ones", "counts", "halves", "reals"), (True, False), (0.0, 0.3), (2, 3)
    )
    for kind, weights, coarse, missing, n_classes in list(kinds)[:N_TABLES]:
        n_classes = 0 if regression else n_classes + int(random.integers(2))
        yield draw_table(random, kind, weights, coarse, missing, n_classes, gap)


# ---- the engine


def columns_of(table: Table, packed: bool = True) -> SortedColumns:
    """Sorted columns; not packed, they leave no room for classes and counts, and weights are looked up."""
    values, n_levels = np.array(table.values), np.array(table.n_levels, np.int32)
    columns = sort_columns(values, n_levels, table.gap)
    if not packed:
        columns = replace(columns, row_bits=32)
        sort_into(values, table.gap, 32, columns.lists, columns.lengths)
    return columns


def grow(
    table: Table, rules: Rules, seed: int = 0, packed: bool = True, attributes: list[int] | None = None
) -> GrownTree:
    random = np.random.default_rng(seed)
    columns, weights = columns_of(table, packed), np.array(table.weights)
    chosen = None if attributes is None else np.array(attributes)
    if table.n_classes:
        codes = np.array(table.targets)
        return grow_classification_tree(columns, codes, table.n_classes, weights, rules, random, chosen)
    return grow_regression_tree(columns, np.array(table.targets, float), weights, rules, random, chosen)


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
    attribute = int(tree.nodes[node]["attribute"])
    branches: list[Pieces] = [[] for _ in range(tree.nodes[node]["n_branches"])]
    missing: Pieces = []
    for row, weight in pieces:
        branch = branch_of(tree, node, table.values[row][attribute], rules)
        (missing if branch is None else branches[branch]).append((row, weight))
    return Split(attribute, branches, missing)


# ---- holding a tree against the naive grower


def assert_threshold(table: Table, rules: Rules, split: Split, threshold: float) -> None:
    """Halfway between the neighbours, or the largest value of the training rows up to there."""
    low, high = (
        end(table.values[row][split.attribute] for row, _ in branch) for end, branch in zip((max, min), split.branches)
    )
    halfway = (low + high) / 2
    if rules.observed_threshold:
        values = [table.values[row][split.attribute] for row, _ in table.root]
        assert threshold == max(value for value in values if value <= halfway)
    else:
        assert threshold == halfway


def assert_subset(tree: GrownTree, node: int, split: Split, table: Table) -> None:
    """Levels seen in the node have a branch, others none."""
    first, n_levels = int(tree.nodes[node]["index"]), table.n_levels[split.attribute]
    seen = {int(table.values[row][split.attribute]) for branch in split.branches for row, _ in branch}
    assert {level for level in range(n_levels) if tree.subsets[first + level] != 2} == seen


def assert_grown(table: Table, rules: Rules, tree: GrownTree) -> None:
    """Every node of the tree is one the naive grower would make, from the rows that reach it."""
    naive = NaiveGrower(table, rules)
    seen = set()

    def walk(node: int, pieces: Pieces, depth: int) -> None:
        seen.add(node)
        record = tree.nodes[node]
        assert record["weight"] == pytest.approx(weight_of(pieces), rel=1e-9)
        assert tree.statistics[node] == pytest.approx(naive.node(pieces).statistics(pieces), rel=1e-9, abs=1e-9)
        choices = naive.choices(pieces, depth)
        if record["attribute"] < 0:
            assert (record["first_child"], record["n_branches"], record["index"]) == (0, 0, -1)
            assert choices.leaf
            return
        split = split_of(tree, node, pieces, table, rules)
        assert (split.attribute, split.partition) in {(s.attribute, s.partition) for s in choices.splits}
        if record["index"] == -1:
            assert_threshold(table, rules, split, record["threshold"])
        else:
            assert isnan(record["threshold"]) or record["threshold"] == 0.0
        if record["index"] >= 0:
            assert_subset(tree, node, split, table)
        for branch, child in enumerate(split.children()):
            assert record["first_child"] + branch > node
            walk(int(record["first_child"]) + branch, child, depth + 1)

    walk(0, table.root, 0)
    assert seen == set(range(len(tree.nodes)))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_split_is_worth_what_the_best_is(name: str) -> None:
    for seed, table in enumerate(draw_tables(1)):
        for packed in (True, False):
            assert_grown(table, CLASSIFIERS[name], grow(table, CLASSIFIERS[name], seed, packed))


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_split_of_a_numeric_target_is_worth_what_the_best_is(name: str) -> None:
    for seed, table in enumerate(draw_tables(2, regression=True)):
        assert_grown(table, REGRESSORS[name], grow(table, REGRESSORS[name], seed))
