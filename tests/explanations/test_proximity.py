"""Proximities equal their definitions, counted pair by pair."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from tests.uncertainty.made_tables import made_table

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.explanations.proximity import proximity
from tremula.trees.tree import NODE_DTYPE, Tree

GOLDEN = Path(__file__).parents[1] / "golden" / "proximity.json.gz"

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]
FOREST = tm.RandomForestRegressor(n_estimators=150, min_samples_leaf=3, random_state=0, oob_score=True).fit(X, Y)


def same_leaf(model: Any, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether two rows are in the same leaf, (n_members, n_rows, n_others)."""
    return np.array([tree.apply(rows)[:, None] == tree.apply(others) for tree in model.members_])


def test_plain_proximity_is_the_share_of_common_leaves() -> None:
    np.testing.assert_allclose(proximity(FOREST, X[:30]).toarray(), same_leaf(FOREST, X[:30], X[:30]).mean(axis=0))
    between = proximity(FOREST, X[:10], X[10:40])
    np.testing.assert_allclose(between.toarray(), same_leaf(FOREST, X[:10], X[10:40]).mean(axis=0))


def test_plain_proximity_of_a_forest_of_scikit_learn() -> None:
    rows, species = load_iris(return_X_y=True)
    forest = SklearnForest(n_estimators=15, random_state=0, max_depth=3).fit(rows, species)
    leaves = forest.apply(rows)
    expected = (leaves[:, None] == leaves[None]).mean(axis=2)
    np.testing.assert_allclose(proximity(forest, rows).toarray(), expected)


def test_divided_rows_meet_by_shares() -> None:
    table, target = made_table(80, 0)
    model = tm.CARTRegressor(max_depth=3, missing="shares").fit(table, target)
    near = proximity(model, table).toarray()
    assert (near.diagonal() < 1).any()
    assert near.min() >= 0
    assert near.max() <= 1 + 1e-12
    np.testing.assert_array_equal(near, near.T)


def test_out_of_bag_proximity_counts_trees_trained_on_neither() -> None:
    is_out = FOREST.count_inbag(X, Y) == 0
    both = is_out[:, :, None] & is_out[:, None]
    expected = (same_leaf(FOREST, X, X) & both).sum(axis=0) / both.sum(axis=0)
    near = proximity(FOREST, X, kind="oob", y=Y).toarray()
    np.testing.assert_allclose(near, expected, rtol=1e-12)
    np.testing.assert_allclose(near.diagonal(), 1.0)


def test_gap_equals_its_definition_and_gives_out_of_bag_predictions() -> None:
    counts = FOREST.count_inbag(X, Y)
    meet = same_leaf(FOREST, X, X)
    expected = np.zeros((len(X), len(X)))
    for row in range(len(X)):
        for member in np.flatnonzero(counts[:, row] == 0):
            in_leaf = counts[member] * meet[member, row]
            expected[row] += in_leaf / in_leaf.sum()
        expected[row] /= (counts[:, row] == 0).sum()
    near = proximity(FOREST, X, kind="gap", y=Y)
    np.testing.assert_allclose(near.toarray(), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(near @ Y, FOREST.oob_prediction_, rtol=1e-12)
    assert not near.diagonal().any()


def test_rows_that_are_never_out_of_bag_are_told() -> None:
    forest = tm.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="never out of bag together"):
        near = proximity(forest, X, kind="oob", y=Y)
    assert np.isfinite(near.data).all()
    with pytest.warns(UserWarning, match="out of bag for no member"):
        weights = proximity(forest, X, kind="gap", y=Y).sum(axis=1)
    is_scored = (forest.count_inbag(X, Y) == 0).any(axis=0)
    np.testing.assert_allclose(weights, is_scored.astype(float))


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="kind"):
        proximity(FOREST, X, kind="near")
    with pytest.raises(InvalidParameter, match="Y was given"):
        proximity(FOREST, X, X, kind="oob", y=Y)
    with pytest.raises(InvalidParameter, match="give X and y"):
        proximity(FOREST, X, kind="gap")
    trees = tm.ExtraTreesRegressor(n_estimators=3, random_state=0).fit(X, Y)
    with pytest.raises(UnsupportedModel, match="no row is out of bag"):
        proximity(trees, X, kind="oob", y=Y)


# ---- R's randomForest


def tree_of_r(table: list[list[float]]) -> Tree:
    """A tree as `getTree` gives it: left and right daughter, attribute, split point, status and class, from 1."""
    left, _, attribute, point, status, label = np.array(table).T
    is_leaf = status < 0
    nodes = np.zeros(len(table), NODE_DTYPE)
    nodes["attribute"] = np.where(is_leaf, -1, attribute - 1)
    nodes["threshold"], nodes["weight"] = point, 1.0
    nodes["first_child"] = np.where(is_leaf, 0, left - 1)
    nodes["n_branches"] = np.where(is_leaf, 0, 2)
    nodes["index"] = np.where(is_leaf, label - 1, -1)
    return Tree(nodes, np.eye(3), [], [0, 0, 0, 0], strict=False)


@pytest.mark.outside
def test_proximities_are_those_of_randomforest() -> None:
    """The trees and draws of R's forest, in a forest of tremula."""
    stored = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    rows, species = load_iris(return_X_y=True)
    forest = tm.RandomForestClassifier(len(stored["trees"]), oob_score=True, random_state=0).fit(rows, species)
    forest.members_ = list(map(tree_of_r, stored["trees"]))
    forest.inbag_counts_ = np.array(stored["counts"], np.int16)
    np.testing.assert_allclose(proximity(forest, rows).toarray(), stored["plain"], rtol=0, atol=1e-14)
    with pytest.warns(UserWarning, match="never out of bag together"):
        out_of_bag = proximity(forest, rows, kind="oob", y=species).toarray()
    np.fill_diagonal(out_of_bag, 1.0)  # R sets them, also of rows that were always drawn
    np.testing.assert_allclose(out_of_bag, stored["oob"], rtol=0, atol=1e-14)
