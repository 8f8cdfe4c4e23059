"""Tables to compare growers on, of every kind of column, weight and target; rules to grow under; the engine on both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import nan

import numpy as np

from tremula._kernels import sort
from tremula.trees.columns import Columns, read_columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_splits import Table

ENTROPY, RATIO, UNCERTAINTY, GINI = (criterion.code for criterion in CLASSIFICATION.values())
VARIANCE, FIFTH_ROOT, POISSON, ABSOLUTE = (criterion.code for criterion in REGRESSION.values())

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
RELEASE_1 = replace(C45, count_cuts=False, cut_by_ratio=True)
SMALL_NODES = {"min_split_weight": 2.0, "min_side_weight": 1.0, "min_branch_weight": 1.0}
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
    "entropy, one level": Rules(ENTROPY, subsets=True, one_level=True, min_side_weight=1.5),
    "ID3": Rules(ENTROPY, min_worth=1e-6, max_depth=2, tolerance=1e-6),
    "gain ratio": Rules(RATIO, min_side_weight=1.0),
    "gain ratio, subsets": Rules(RATIO, subsets=True, min_side_weight=1.5),
    "C4.5": C45,
    "C4.5, small nodes": replace(C45, **SMALL_NODES),
    "C4.5 Release 1": RELEASE_1,
    "C4.5 without the filter": replace(C45, average_gain=False),
    "C4.5 Release 1 without the filter": replace(RELEASE_1, average_gain=False),
    "C4.5, thresholds by ratio, with the penalty": replace(C45, cut_by_ratio=True),
    "C4.5 Release 1, small nodes": replace(RELEASE_1, **SMALL_NODES),
    "randomized C4.5": replace(C45, n_best=3),
    "randomized C4.5, Release 1": replace(RELEASE_1, n_best=3, min_side_weight=1.0),
    "randomized entropy": Rules(ENTROPY, n_best=2),
    "uncertainty": Rules(UNCERTAINTY),
    "uncertainty, subsets": Rules(UNCERTAINTY, subsets=True, strict=True),
    "uncertainty, forest": Rules(UNCERTAINTY, n_drawn=2),
    "gini": Rules(GINI, strict=True),
    "gini, subsets": Rules(GINI, subsets=True, min_side_weight=1.0),
    "gini, one level": Rules(GINI, subsets=True, one_level=True),
    "gini, one level, forest": Rules(GINI, subsets=True, one_level=True, n_drawn=2),
    "gini, forest": Rules(GINI, n_drawn=1, min_side_weight=1.0),
    "REPTree": REPTREE,
    "REPTree, no veto": replace(REPTREE, branch_veto=False, min_side_weight=2.0, tolerance=1e-6),
}
REGRESSORS = {
    "variance": Rules(VARIANCE, min_variance=0.0),
    "variance, subsets": Rules(VARIANCE, subsets=True, strict=True, min_variance=0.0),
    "variance, one level": Rules(VARIANCE, subsets=True, one_level=True, min_variance=0.0),
    "variance, two a side": Rules(VARIANCE, min_side_weight=2.0, min_branch_weight=2.0, min_variance=0.5),
    "variance, forest": Rules(VARIANCE, n_drawn=2, min_variance=0.0),
    "variance, randomized": Rules(VARIANCE, n_best=2, min_variance=0.0),
    "REPTree of a numeric target": replace(REPTREE, criterion=VARIANCE, min_variance=0.01),
    "M5": Rules(FIFTH_ROOT, min_side_fifth=1.0, min_split_weight=4.0, min_variance=0.0),
    "fifth root": Rules(FIFTH_ROOT, min_variance=0.0),
    "fifth root, subsets": Rules(FIFTH_ROOT, subsets=True, min_variance=0.0),
    "absolute error, subsets": Rules(ABSOLUTE, subsets=True, min_side_weight=1.0, min_variance=0.0),
    "absolute error, forest": Rules(ABSOLUTE, n_drawn=2, subsets=True, min_variance=0.0),
}
# Rules that draw nothing, and under which the first of near equals wins: one right tree.
DECIDED = {
    name: replace(rules, tolerance=1e-6)
    for name, rules in {**CLASSIFIERS, **REGRESSORS}.items()
    if not any(word in name for word in ("random", "forest", "subsets", "uncertainty"))
}


# ---- drawing tables


def draw_column(random: np.random.Generator, n_rows: int, n_levels: int, coarse: bool) -> np.ndarray:
    if n_levels:
        return random.integers(n_levels, size=n_rows).astype(float)
    return random.integers(4, size=n_rows) / 2 if coarse else random.normal(size=n_rows)


def draw_weights(random: np.random.Generator, n_rows: int, kind: str) -> np.ndarray:
    """Ones, multiplicities with zeros among them, or reals; at least one is positive."""
    if kind == "ones":
        return np.ones(n_rows)
    weights = random.exponential(size=n_rows) + 0.1 if kind == "reals" else random.integers(4, size=n_rows)
    weights[random.integers(n_rows)] = 1
    return weights / 2 if kind == "halves" else weights


def draw_table(
    random: np.random.Generator, kind: str, weights: str, coarse: bool, missing: float, n_classes: int
) -> Table:
    n_rows, n_attributes = int(random.integers(2, 15)), int(random.integers(1, 5))
    share_numeric = {"numeric": 1.0, "nominal": 0.0, "mixed": 0.5}[kind]
    n_levels = [0 if random.random() < share_numeric else int(random.integers(1, 6)) for _ in range(n_attributes)]
    values = np.column_stack([draw_column(random, n_rows, n, coarse) for n in n_levels])
    values[random.random(values.shape) < missing] = nan
    targets = random.integers(n_classes, size=n_rows) if n_classes else random.integers(-4, 5, size=n_rows) / 2
    row_weights = draw_weights(random, n_rows, weights)
    return Table(values.tolist(), n_levels, targets.tolist(), row_weights.tolist(), n_classes)


def draw_tables(seed: int, regression: bool = False, missing: Sequence[float] = (0.0, 0.3)) -> Iterator[Table]:
    """Two tables or more of every kind, 96 with both shares of missing values."""
    random = np.random.default_rng(seed)
    kinds = product(
        ("numeric", "nominal", "mixed"), ("ones", "counts", "halves", "reals"), (True, False), missing, (2, 3)
    )
    for kind, weights, coarse, share, n_classes in kinds:
        yield draw_table(random, kind, weights, coarse, share, 0 if regression else n_classes + int(random.integers(2)))


# ---- the engine on a table


def columns_of(table: Table, packed: bool = True) -> Columns:
    """Sorted columns; not packed, words leave no room for classes and counts, which are then looked up by row."""
    values, n_levels = np.array(table.values), np.array(table.n_levels, np.int32)
    columns = read_columns(values, n_levels, table.gap)
    if not packed:
        columns = replace(columns, row_bits=32)
        sort.sort_columns(values, table.gap, 32, columns.lists, columns.lengths)
    return columns


def grow(
    table: Table,
    rules: Rules,
    seed: int = 0,
    packed: bool = True,
    attributes: Sequence[int] | None = None,
    serves_once: bool = False,
) -> GrownTree:
    random = np.random.default_rng(seed)
    columns, weights = replace(columns_of(table, packed), serves_once=serves_once), np.array(table.weights)
    chosen = None if attributes is None else np.array(attributes)
    if table.n_classes:
        codes = np.array(table.targets, np.int64)
        return grow_classification_tree(columns, codes, table.n_classes, weights, rules, random, chosen)
    return grow_regression_tree(columns, np.array(table.targets, float), weights, rules, random, chosen)
