"""Which single trees are grown from codes, and that sorted lists give the same."""

from __future__ import annotations

import numpy as np
import pytest

import tremula as tm
from tremula.trees import growing, growing_coded
from tremula.trees.tree import Tree

N_ROWS = growing_coded.LEAST_ROWS_OF_ONE_TREE


def ways_of_fit(
    monkeypatch: pytest.MonkeyPatch, X: np.ndarray, y: np.ndarray, **given: object
) -> tuple[list[str], Tree]:
    """Fit a tree; return which growers were called, and the tree."""
    called: list[str] = []
    for name in ("grow_from_codes", "grow_from_lists"):
        grow = getattr(growing_coded if "codes" in name else growing, name)
        monkeypatch.setattr(growing, name, lambda *a, name=name, grow=grow: (called.append(name), grow(*a))[1])
    tree = tm.CARTClassifier(max_depth=6).fit(X, y, **given).tree_
    monkeypatch.undo()
    return called, tree


def test_trees_of_many_rows_and_few_values_grow_from_codes_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 30, (N_ROWS, 5)).astype(np.float64)
    X[random.random(X.shape) < 0.02] = np.nan
    y = (np.nansum(X[:, :2], axis=1) + random.integers(0, 20, N_ROWS)).astype(int) // 20
    called, tree = ways_of_fit(monkeypatch, X, y)
    assert called == ["grow_from_codes"]
    monkeypatch.setattr(growing, "is_coded", lambda *_: False)
    assert tm.CARTClassifier(max_depth=6).fit(X, y).tree_ == tree


def test_other_single_trees_grow_from_sorted_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(N_ROWS, 4)), random.integers(0, 2, N_ROWS)
    few = np.round(X)
    assert ways_of_fit(monkeypatch, X, y)[0] == ["grow_from_lists"]  # many values
    assert ways_of_fit(monkeypatch, few[1:], y[1:])[0] == ["grow_from_lists"]  # too few rows
    weights = random.random(N_ROWS)  # their sums depend on the order
    assert ways_of_fit(monkeypatch, few, y, sample_weight=weights)[0] == ["grow_from_lists"]
