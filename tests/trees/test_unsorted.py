"""Nodes that keep rows instead of lists are split as nodes that keep lists are, bit for bit."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tremula.trees import growing_sorted
from tremula.trees.columns import read_columns
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_splits import Table
from .tiny_tables import CLASSIFIERS, ENTROPY, GINI, REGRESSORS, VARIANCE, draw_tables, grow

RULES = {**CLASSIFIERS, **REGRESSORS}


def grow_both(
    monkeypatch: pytest.MonkeyPatch, table: Table, rules: Rules, packed: bool = True
) -> tuple[GrownTree, GrownTree]:
    grown = []
    for unsorted in (True, False):
        monkeypatch.setattr(growing_sorted, "is_unsorted", lambda *_, unsorted=unsorted: unsorted)
        grown.append(grow(table, rules, seed=5, packed=packed))
    return grown[0], grown[1]


def assert_same(first: GrownTree, second: GrownTree) -> None:
    assert first.nodes.tobytes() == second.nodes.tobytes()
    assert first.statistics.tobytes() == second.statistics.tobytes()
    assert first.subsets.tobytes() == second.subsets.tobytes()


def large_table(n_rows: int, n_classes: int) -> Table:
    """Enough rows to merge sorted stretches: ties, a nominal attribute, bootstrap multiplicities."""
    random = np.random.default_rng(n_rows)
    codes = random.integers(max(n_classes, 2), size=n_rows)
    numeric = codes[:, None] + random.normal(size=(n_rows, 3))
    values = np.column_stack([numeric, np.round(numeric[:, 0]), random.integers(6, size=n_rows)])
    weights = np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows)
    return Table(values.tolist(), [0, 0, 0, 0, 6], codes.tolist(), weights.tolist(), n_classes)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", RULES)
def test_small_tables_of_every_kind(name: str, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in draw_tables(17, regression=name in REGRESSORS, missing=(0.0,)):
        assert_same(*grow_both(monkeypatch, table, RULES[name], packed))


@pytest.mark.parametrize("criterion", [ENTROPY, GINI])
@pytest.mark.parametrize("n_rows", [13, 50, 400])
@pytest.mark.parametrize("random_threshold", [True, False])
def test_larger_tables(criterion: int, n_rows: int, random_threshold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(criterion, n_drawn=2, subsets=True, random_threshold=random_threshold)
    listed, unsorted = grow_both(monkeypatch, large_table(n_rows, 4), rules)
    assert len(listed.nodes) > n_rows / 8
    assert_same(listed, unsorted)


@pytest.mark.parametrize("n_rows", [13, 400])
def test_a_numeric_target(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(VARIANCE, n_drawn=2, subsets=True, min_variance=0.0)
    assert_same(*grow_both(monkeypatch, large_table(n_rows, 0), rules))


def test_a_drawn_threshold_and_a_numeric_target_differ_by_rounding_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(VARIANCE, n_drawn=2, subsets=True, min_variance=0.0, random_threshold=True)
    listed, unsorted = grow_both(monkeypatch, large_table(400, 0), rules)
    np.testing.assert_array_equal(listed.nodes["threshold"], unsorted.nodes["threshold"])
    np.testing.assert_allclose(listed.statistics, unsorted.statistics, atol=1e-9)


def test_only_complete_columns_whose_values_can_be_told_apart_are_unsorted() -> None:
    values, n_levels, rules = np.arange(6.0).reshape(2, 3), np.zeros(3, np.int32), Rules(ENTROPY, random_threshold=True)
    missing = np.where(values == 4, np.nan, values)
    assert growing_sorted.is_unsorted(read_columns(values, n_levels), 3, rules)
    assert not growing_sorted.is_unsorted(read_columns(missing, n_levels), 3, rules)
    assert not growing_sorted.is_unsorted(read_columns(values, n_levels, gap=1e-5), 3, rules)
    assert not growing_sorted.is_unsorted(
        read_columns(values, n_levels), 3, replace(rules, random_threshold=False, n_drawn=1)
    )


def test_columns_are_sent_without_what_can_be_made_again() -> None:
    columns = read_columns(np.arange(600.0).reshape(20, 30), np.zeros(30, np.int32))
    sent = len(pickle.dumps(columns))
    assert columns.ranks.shape == (30, 20)
    assert columns.values_by_column.flags.f_contiguous
    assert len(pickle.dumps(columns)) == sent
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(columns)).ranks, columns.ranks)
