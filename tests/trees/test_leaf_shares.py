"""Shares of rows in leaves equal those of a slow walk, and weigh the leaves as predictions do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor

import tremula as tm
from tremula.trees.leaf_shares import leaf_shares
from tremula.trees.structure import LEVEL_UNSEEN, MISSING_FIRST, MISSING_SECOND, MULTIWAY_SPLIT, branch_shares
from tremula.trees.tree import Tree


def branch_of(tree: Tree, node: int, value: float) -> int | None:
    """Branch that a value takes, None if it takes all."""
    kind, threshold = int(tree.nodes["index"][node]), tree.threshold[node]
    n_levels = tree.n_levels[tree.attribute[node]]
    if n_levels == 0:
        if np.isnan(value):
            return {MISSING_FIRST: 0, MISSING_SECOND: 1}.get(kind)
        return int(value >= threshold if tree.strict else value > threshold)
    is_known = value < n_levels  # False for NaN
    if kind == MULTIWAY_SPLIT:
        return int(value) if is_known else None
    branch = int(tree.subsets[kind + int(value)]) if is_known else LEVEL_UNSEEN
    return branch if branch != LEVEL_UNSEEN else {1.0: 0, 2.0: 1}.get(float(threshold))


def walk(tree: Tree, row: np.ndarray, node: int = 0, share: float = 1.0) -> dict[int, float]:
    """Shares of a row in the leaves below a node."""
    if tree.is_leaf[node]:
        return {node: share}
    first, branch = int(tree.first_child[node]), branch_of(tree, node, row[tree.attribute[node]])
    if branch is not None:
        return walk(tree, row, first + branch, share)
    children, shares = range(first, first + int(tree.n_branches[node])), branch_shares(tree.nodes)
    parts = [walk(tree, row, child, share * shares[child]) for child in children]
    return {leaf: part for each in parts for leaf, part in each.items() if part > 0}


def made_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(n_rows, 2)), columns=["a", "b"])
    table["c"] = pd.Categorical(random.choice(list("uvwx"), n_rows), categories=list("tuvwx"))
    target = table["a"].abs() + (table["c"] == "u") + 0.2 * random.normal(size=n_rows)
    return table.mask(random.random(table.shape) < 0.2), target.to_numpy()


LEARNERS = [
    tm.CARTRegressor(),
    tm.CARTRegressor(missing="shares"),
    tm.REPTreeRegressor(prune=False),
    tm.REPTreeRegressor(),
    tm.C45Classifier(),
    tm.CARTClassifier(),
    tm.CARTClassifier(missing="shares"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_shares_equal_a_slow_walk_and_weigh_the_leaves(learner: tm.CARTRegressor, seed: int) -> None:
    table, target = made_table(80, seed)
    fitted = learner.fit(table, target if is_regressor(learner) else target > 1)
    other, _ = made_table(40, seed + 100)
    rows, tree = fitted.encoder_.encode(other), fitted.tree_
    shares = leaf_shares(tree, rows).toarray()
    expected = np.zeros(shares.shape)
    for number, row in enumerate(rows):
        for leaf, share in walk(tree, row).items():
            expected[number, leaf] = share
    np.testing.assert_allclose(shares, expected, rtol=1e-12, atol=1e-14)
    values = np.where(tree.is_leaf[:, None], tree.values[np.where(tree.is_leaf, tree.nodes["index"], 0)], 0.0)
    np.testing.assert_allclose(shares @ values, tree.predict_values(rows), rtol=1e-12, atol=1e-14)


def test_rows_without_missing_values_are_in_one_leaf() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(50, 3))
    tree = tm.CARTRegressor().fit(rows, rows[:, 0]).tree_
    shares = leaf_shares(tree, rows)
    assert (np.diff(shares.indptr) == 1).all()
    np.testing.assert_array_equal(shares.indices, tree.apply(rows))
    np.testing.assert_array_equal(shares.data, 1.0)
