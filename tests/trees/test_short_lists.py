"""Large nodes with short lists are split as those with lists of words, bit for bit, and as the naive grower does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.trees import growing_sorted
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_grower import NaiveGrower
from .naive_splits import Table
from .test_growing import assert_equal
from .tiny_tables import CLASSIFIERS, DECIDED, ENTROPY, GINI, REGRESSORS, VARIANCE, draw_tables, grow

RULES = {**CLASSIFIERS, **REGRESSORS}
MANY = 1 << 31


class Switch:
    """Turns short lists on or off for tables of any size, and counts the trees that have them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.n_short = 0
        known: Callable[..., bool] = growing_sorted.has_short_lists

        def counted(*given: Any) -> bool:
            is_short = known(*given)
            self.n_short += is_short
            return is_short

        monkeypatch.setattr(growing_sorted, "has_short_lists", counted)

    def set(self, least_rows: int, listed_share: float = 0.0) -> None:
        self.monkeypatch.setattr(growing_sorted, "LEAST_SHORT_ROWS", least_rows)
        self.monkeypatch.setattr(growing_sorted, "LISTED_SHARE", listed_share)

    def grow_both(self, table: Table, rules: Rules, listed_share: float) -> tuple[GrownTree, GrownTree]:
        self.set(MANY)
        listed = grow(table, rules, seed=5, serves_once=True)
        self.set(0, listed_share)
        return listed, grow(table, rules, seed=5, serves_once=True)


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    return Switch(monkeypatch)


def assert_same(first: GrownTree, second: GrownTree) -> None:
    assert first.nodes.tobytes() == second.nodes.tobytes()
    assert first.statistics.tobytes() == second.statistics.tobytes()
    assert first.subsets.tobytes() == second.subsets.tobytes()


def large_table(n_rows: int, n_classes: int, weights: str) -> Table:
    """Ties, a column of two values, a nominal attribute, and rows of weight 0 or more than once."""
    random = np.random.default_rng(n_rows)
    codes = random.integers(max(n_classes, 2), size=n_rows)
    numeric = codes[:, None] + random.normal(size=(n_rows, 3))
    numeric = np.column_stack([numeric, np.round(numeric[:, 0]), numeric[:, 1] > 0.5])
    values = np.column_stack([numeric, random.integers(6, size=n_rows)])
    counts = {
        "ones": np.ones(n_rows),
        "some absent": random.integers(2, size=n_rows),
        "counts": np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows),
    }[weights]
    return Table(values.tolist(), [0, 0, 0, 0, 0, 6], codes.tolist(), counts.tolist(), n_classes)


@pytest.mark.parametrize("listed_share", [0.0, 0.4])
@pytest.mark.parametrize("name", RULES)
def test_small_tables_of_every_kind(name: str, listed_share: float, switch: Switch) -> None:
    for table in draw_tables(23, regression=name in REGRESSORS, missing=(0.0,)):
        assert_same(*switch.grow_both(table, RULES[name], listed_share))
    assert switch.n_short > 0 or RULES[name].random_threshold or RULES[name].observed_threshold


@pytest.mark.parametrize("name", DECIDED)
def test_the_naive_grower_grows_the_same_tree(name: str, switch: Switch) -> None:
    switch.set(0)
    for table in draw_tables(29, regression=name in REGRESSORS, missing=(0.0,)):
        naive = NaiveGrower(table, DECIDED[name]).grow(table.root)
        assert_equal(grow(table, DECIDED[name], serves_once=True), 0, naive, table, DECIDED[name])


@pytest.mark.parametrize("weights", ["ones", "some absent", "counts"])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("listed_share", [0.0, 0.1, 0.5, 1.0])
def test_larger_tables(n_classes: int, weights: str, listed_share: float, switch: Switch) -> None:
    rules = [
        Rules(criterion, subsets=True, min_side_weight=least)
        for criterion in ((GINI, ENTROPY) if n_classes else (VARIANCE,))
        for least in (1.0, 5.0)
    ]
    for n_rows in (300, 1030):
        for each in rules:
            assert_same(*switch.grow_both(large_table(n_rows, n_classes, weights), each, listed_share))
    assert switch.n_short == 2 * len(rules)


@pytest.mark.parametrize(
    "limits", [{}, {"max_depth": 3}, {"max_features": 2, "random_state": 3}, {"max_leaf_nodes": 9}]
)
@pytest.mark.parametrize("n_classes", [2, 300])
def test_the_learner(limits: dict[str, Any], n_classes: int, switch: Switch) -> None:
    """With missing values, which have columns in which they come first and last; 300 classes are no bits of a word."""
    random = np.random.default_rng(7)
    X = np.round(random.normal(size=(900, 5)), 1)
    y = (np.round(X[:, 0] * 7 + X[:, 1] * 40) % n_classes).astype(int)
    y[:n_classes] = np.arange(n_classes)
    X[random.random(X.shape) < 0.1] = np.nan
    trees = []
    for least_rows in (MANY, 0):
        switch.set(least_rows, 0.1)
        trees.append(tm.CARTClassifier(missing="branch", **limits).fit(X, y).tree_)
    assert trees[0].nodes.tobytes() == trees[1].nodes.tobytes()
    assert switch.n_short == (0 if limits.get("max_features") or n_classes == 300 else 1)


def test_real_weights_and_multiway_splits_keep_lists_of_words(switch: Switch) -> None:
    switch.set(0)
    table = large_table(60, 2, "ones")
    grow(table._replace(weights=[0.5] * 60), Rules(GINI, subsets=True), serves_once=True)
    grow(table, Rules(GINI), serves_once=True)
    grow(table, Rules(GINI, subsets=True))
    assert switch.n_short == 0
