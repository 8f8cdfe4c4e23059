"""Nodes filled anew hold the rows that reach them, divided or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tremula.trees.columns import read_columns
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.tree import Tree

from .test_coded import RULES
from .test_level_numbers import draw_table


def as_tree(grown: GrownTree, n_levels: np.ndarray) -> Tree:
    return Tree(grown.nodes, np.zeros((1, grown.statistics.shape[1])), grown.subsets, n_levels, strict=False)


@pytest.mark.parametrize("branch", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("divisor", [1, 3])
def test_nodes_hold_the_rows_that_reach_them(missing: float, branch: bool, divisor: int) -> None:
    for seed in range(5):
        values, n_levels, score, weights = draw_table(200, missing, seed)
        columns = replace(read_columns(values, n_levels), nominal="statistics", has_missing_branch=branch)
        codes, random = (score > 0).astype(int) + (score > 1), np.random.default_rng(seed)
        classes = grow_classification_tree(columns, codes, 3, weights / divisor, RULES["gini"], random)
        numbers = grow_regression_tree(columns, score, weights / divisor, RULES["variance"], random)
        assert len(classes.nodes) > 20
        assert (classes.nodes["index"] >= 0).any()
        counts = as_tree(classes, n_levels).class_weights(values, codes, weights / divisor)
        moments = as_tree(numbers, n_levels).moments(values, score, weights / divisor)
        np.testing.assert_allclose(classes.statistics, counts, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(numbers.statistics, moments, rtol=1e-12, atol=1e-12)
        if divisor == 1 and missing == 0.0:
            np.testing.assert_array_equal(classes.statistics, counts)
            np.testing.assert_array_equal(numbers.statistics, moments)
