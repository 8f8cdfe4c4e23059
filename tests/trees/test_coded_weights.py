"""Trees of real weights grown from codes: the naive grower allows every node, and sorted lists find no better split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import fsum, log2

import numpy as np
import pytest

import tremula as tm
from tremula.trees import growing
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_grower import NaiveGrower
from .naive_splits import Table
from .test_coded import RULES, grow_both, large_table
from .test_growing import assert_equal, assert_grown
from .tiny_tables import GINI, draw_tables, grow

TOLERANCE = 1e-9
NAMES = [name for name in RULES if "variance" not in name and "drawn thresholds" not in name]


def weighted(seed: int) -> Iterator[Table]:
    """Tables of every kind, with a few different real weights, so that splits tie."""
    random = np.random.default_rng(seed)
    for table in draw_tables(seed, missing=(0.0,)):
        weights = np.array(table.weights) * random.choice([0.3, 0.5, 1.1], size=len(table.weights))
        yield table._replace(weights=weights.tolist())


@pytest.mark.parametrize("name", [name for name in NAMES if "forest" not in name])
def test_the_naive_grower_allows_every_node(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_coded", lambda *_: True)
    for seed in range(30, 36):
        for table in weighted(seed):
            assert_grown(table, RULES[name], grow(table, RULES[name]))


@pytest.mark.parametrize("name", ["gini", "entropy", "gini, two a side"])
def test_the_first_of_near_equals_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_coded", lambda *_: True)
    rules = replace(RULES[name], tolerance=1e-6)
    for seed in range(40, 44):
        for table in weighted(seed):
            if any(table.n_levels):
                continue  # naive sets of levels are in another order
            assert_equal(grow(table, rules), 0, NaiveGrower(table, rules).grow(table.root), table, rules)


@pytest.mark.parametrize("name", NAMES)
def test_small_tables_give_the_trees_of_sorted_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10):
        for table in weighted(seed):
            coded, listed = grow_both(monkeypatch, table, RULES[name])
            for field in ("attribute", "threshold", "first_child", "index"):
                np.testing.assert_array_equal(coded.nodes[field], listed.nodes[field])
            assert coded.subsets.tobytes() == listed.subsets.tobytes()
            np.testing.assert_allclose(coded.statistics, listed.statistics, rtol=1e-12, atol=1e-12)


def goes_right(grown: GrownTree, node: int, values: np.ndarray) -> np.ndarray:
    record = grown.nodes[node]
    column = values[:, record["attribute"]]
    if record["index"] == -1:
        return np.asarray(column > record["threshold"])
    return grown.subsets[record["index"] + column.astype(int)] == 1


def level_of(codes: np.ndarray, weights: np.ndarray, right: np.ndarray, criterion: int) -> float:
    """Sum over both sides of what the best cut has most of, with sums that are rounded once."""
    level = 0.0
    for side in (right, ~right):
        sums = [fsum(weights[side & (codes == code)]) for code in np.unique(codes[side])]
        total = fsum(weights[side])
        if criterion == GINI:
            level += fsum(each * each for each in sums) / total
        else:
            level += fsum(each * log2(each / total) for each in sums if each > 0)
    return level


def assert_as_good(table: Table, coded: GrownTree, listed: GrownTree, rules: Rules) -> int:
    """Hold splits of the same rows against each other; returns how many differ."""
    values, codes, weights = np.array(table.values), np.array(table.targets), np.array(table.weights)
    open_nodes, n_different = [(0, 0, weights > 0)], 0
    while open_nodes:
        node, other, rows = open_nodes.pop()
        assert (coded.nodes["n_branches"][node] > 0) == (listed.nodes["n_branches"][other] > 0)
        if not coded.nodes["n_branches"][node]:
            continue
        rights = goes_right(coded, node, values[rows]), goes_right(listed, other, values[rows])
        if not np.array_equal(*rights):
            n_different += 1
            ours, theirs = (level_of(codes[rows], weights[rows], right, rules.criterion) for right in rights)
            assert ours >= theirs - 2 * TOLERANCE * weights[rows].sum()
            continue
        for branch in range(2):
            part = rows.copy()
            part[rows] = rights[0] == branch
            open_nodes.append(
                (coded.nodes["first_child"][node] + branch, listed.nodes["first_child"][other] + branch, part)
            )
    return n_different


# Rows on both sides of what is sorted by comparing, by buckets and by digits, and of what is cut into bins.
@pytest.mark.parametrize("n_rows", [30, 110, 900, 1700, 5000])
@pytest.mark.parametrize("name", ["gini", "entropy", "gini, two a side"])
def test_splits_of_larger_tables_are_as_good_as_those_of_sorted_lists(
    name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n_classes in (2, 7):
        table = large_table(n_rows, n_classes)
        for power in (1, 6):  # moderate weights, and weights of many orders of magnitude
            weights = np.array(table.weights) * np.random.default_rng(n_rows).exponential(size=n_rows) ** power
            weighted_table = table._replace(weights=weights.tolist())
            coded, listed = grow_both(monkeypatch, weighted_table, RULES[name])
            n_different = assert_as_good(weighted_table, coded, listed, RULES[name])
            if power == 1:
                assert n_different <= 0.01 * len(coded.nodes)


@pytest.mark.parametrize("n_classes", [2, 26, 300])
@pytest.mark.parametrize("name", ["gini", "entropy"])
def test_bins_that_are_refined_hold_the_best_cut(name: str, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = replace(RULES[name], max_depth=2)
    table = large_table(20_000, n_classes)
    weights = np.array(table.weights) * np.random.default_rng(0).exponential(size=20_000)
    table = table._replace(weights=weights.tolist())
    coded, listed = grow_both(monkeypatch, table, rules)
    assert len(coded.nodes) == 7
    assert assert_as_good(table, coded, listed, rules) == 0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_extreme_weights_and_tables(criterion: str) -> None:
    random = np.random.default_rng(1)
    X, y = random.integers(9, size=(80, 3)).astype(float), random.integers(3, size=80)
    for low, high in ((-300, 29), (-90, 29), (-29, 0), (-12, 0), (20, 29)):
        weights = 10.0 ** random.uniform(low, high, size=80)
        tree = tm.CARTClassifier(criterion=criterion, max_features=2, random_state=0).fit(X, y, sample_weight=weights)
        shares = tree.predict_proba(X)
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    pair = tm.CARTClassifier(criterion=criterion, max_features=1).fit([[0, 0], [1, 1]], [0, 1], sample_weight=[0.5, 3])
    assert pair.predict([[0, 0], [1, 1]]).tolist() == [0, 1]
    missing = tm.CARTClassifier(criterion=criterion, max_features=2).fit(np.full((5, 2), np.nan), [0, 1, 1, 0, 1])
    assert missing.predict(np.full((1, 2), np.nan)) == 1


def test_boosting_is_the_same_from_codes_and_from_sorted_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    X, y = random.integers(20, size=(400, 5)), random.integers(3, size=400)
    y[X[:, 0] > 9] = 0
    answers = []
    for name in ("codes", "lists"):
        if name == "lists":
            monkeypatch.setattr(growing, "is_coded", lambda *_: False)
        model = tm.AdaBoostM1Classifier(tm.CARTClassifier(max_depth=6), n_estimators=10, random_state=0).fit(X, y)
        assert len(model.members_) > 3
        answers.append(model.predict(X))
    np.testing.assert_array_equal(*answers)
