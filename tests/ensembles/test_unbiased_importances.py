"""Unbiased importances equal their definition, and favour no attribute that says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.kernels.naive_router import nodes_reached
from tests.uncertainty.made_tables import classes_of, made_table

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel

TABLE, TARGET = made_table(60, 0)
WEIGHTS = np.random.default_rng(1).integers(1, 4, size=60).astype(float)
FEW: dict[str, Any] = {"n_estimators": 3, "max_depth": 4, "random_state": 0}


def shares(tree: tm.Tree, rows: np.ndarray, outputs: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight and mean output of rows in each node, row by row."""
    totals, sums = np.zeros(tree.n_nodes), np.zeros((tree.n_nodes, outputs.shape[1]))
    for row, output, weight in zip(rows, outputs, weights):
        for node, share in nodes_reached(tree, row):
            totals[node] += weight * share
            sums[node] += weight * share * output
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals, sums / totals[:, None]


def naive_decreases(
    tree: tm.Tree, rows: np.ndarray, outputs: np.ndarray, weights: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    seen_weight, seen = shares(tree, rows, outputs, weights * counts)
    _, left_out = shares(tree, rows, outputs, weights * (counts == 0))
    decreases = np.zeros(tree.n_attributes)
    for node in np.flatnonzero(~tree.is_leaf):
        origin = seen[node] if outputs.shape[1] == 1 else 0.0
        children = tree.first_child[node] + np.arange(tree.n_branches[node])
        change = -seen_weight[node] * ((seen[node] - origin) @ (left_out[node] - origin))
        for child in children:
            change += seen_weight[child] * ((seen[child] - origin) @ (left_out[child] - origin))
        if np.isfinite(change):
            decreases[tree.attribute[node]] += change / seen_weight[0]
    return decreases


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("is_class", [True, False], ids=["classes", "numbers"])
def test_importances_equal_their_definition(is_class: bool, weights: np.ndarray | None) -> None:
    target = classes_of(TARGET) if is_class else TARGET
    model = (tm.RandomForestClassifier if is_class else tm.RandomForestRegressor)(**FEW)
    model.fit(TABLE, target, sample_weight=weights)
    outputs = (target[:, None] == model.classes_).astype(float) if is_class else target[:, None]
    found = model.unbiased_importances(TABLE, target, sample_weight=weights)
    counts = model.count_inbag(TABLE, target, sample_weight=weights)
    rows, given = model.encoder_.encode(TABLE), np.ones(60) if weights is None else weights
    expected = [naive_decreases(tree, rows, outputs, given, each) for tree, each in zip(model.members_, counts)]
    np.testing.assert_allclose(found.by_member, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.importances, np.mean(expected, axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.standard_errors, np.std(expected, axis=0, ddof=1) / np.sqrt(3), rtol=1e-9)
    assert "standard error" in repr(found)


@pytest.mark.parametrize("is_class", [True, False], ids=["classes", "numbers"])
def test_an_attribute_of_many_values_that_says_nothing_is_not_preferred(is_class: bool) -> None:
    totals = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        X = np.column_stack([random.normal(size=200), random.integers(0, 2, 200)])
        y = random.normal(size=200)
        model = (tm.RandomForestClassifier if is_class else tm.RandomForestRegressor)(n_estimators=20, random_state=0)
        target = y > 0 if is_class else y
        totals.append(model.fit(X, target).unbiased_importances(X, target).importances)
        assert model.feature_importances_[0] > 0.75
    mean, error = np.mean(totals, axis=0), np.std(totals, axis=0, ddof=1) / np.sqrt(8)
    assert (np.abs(mean) < 4 * error).all()


def test_a_split_counts_only_if_rows_out_of_bag_reach_all_branches() -> None:
    model = tm.RandomForestClassifier(n_estimators=20, max_samples=0.97, bootstrap=False, random_state=0)
    model.fit(TABLE, classes_of(TARGET))
    assert np.isfinite(model.unbiased_importances(TABLE, classes_of(TARGET)).importances).all()


def test_refusals() -> None:
    trees = tm.ExtraTreesRegressor(n_estimators=2, random_state=0).fit(TABLE, TARGET)
    with pytest.raises(InvalidParameter, match="none is out of bag"):
        trees.unbiased_importances(TABLE, TARGET)
    models = tm.BaggingRegressor(tm.M5Regressor(), n_estimators=2, random_state=0).fit(TABLE, TARGET)
    with pytest.raises(UnsupportedModel, match="permutation_importances"):
        models.unbiased_importances(TABLE, TARGET)
