"""Real weights take other walks over the lists than counts do: halving every weight must not change the tree."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.trees.columns import read_columns
from tremula.trees.growing import grow_classification_tree
from tremula.trees.rules import Rules

from .tiny_tables import ENTROPY, GINI, RATIO, UNCERTAINTY

TABLES = {
    # rows, classes, distinct values in a unit: classes that change from row to row, long runs of one value
    "distinct": (600, 3, None),
    "coarse": (600, 3, 4),
    "many classes": (900, 40, None),
    "many classes, coarse": (900, 40, 6),
    "two classes": (700, 2, 12),
}


def make_table(n_rows: int, n_classes: int, n_values: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n_rows + n_classes)
    codes = random.integers(n_classes, size=n_rows)
    values = codes[:, None] / n_classes + random.normal(scale=[0.1, 0.5, 2.0], size=(n_rows, 3))
    if n_values is not None:
        values = np.round(values * n_values) / n_values
    return values, codes, random.integers(4, size=n_rows)


@pytest.mark.parametrize("least", [0.0, 7.0])
@pytest.mark.parametrize("criterion", [ENTROPY, RATIO, GINI, UNCERTAINTY])
@pytest.mark.parametrize("name", TABLES)
def test_halved_weights_give_the_same_tree(name: str, criterion: int, least: float) -> None:
    values, codes, counts = make_table(*TABLES[name])
    columns = read_columns(values, np.zeros(3, np.int32))
    random, n_classes = np.random.default_rng(0), TABLES[name][1]
    trees = []
    for share in (1.0, 0.5):
        rules = Rules(criterion, tolerance=1e-7, min_split_weight=2.0 * share, min_side_weight=least * share)
        trees.append(grow_classification_tree(columns, codes, n_classes, counts * share, rules, random))
    assert len(trees[0].nodes) > 8
    for field in ("attribute", "threshold", "first_child"):
        np.testing.assert_array_equal(trees[0].nodes[field], trees[1].nodes[field])
    np.testing.assert_allclose(trees[0].statistics, 2 * trees[1].statistics)
