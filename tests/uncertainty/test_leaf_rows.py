"""The rows behind a prediction reproduce it, for every ensemble whose leaves hold means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.trees.structure import ALL_BRANCHES, missing_branches
from tremula.trees.tree import NODE_DTYPE, Tree
from tremula.uncertainty.leaf_rows import LeafRows, _sources_of_leaves
from tremula.uncertainty.model_reader import read_trained

from .made_tables import made_table, regressors

X, Y = made_table(150, 0)
NEW, _ = made_table(30, 1)
WEIGHTS = np.random.default_rng(2).random(150) * (np.arange(150) % 7 > 0)
HOLD_MEANS = [name for name in regressors() if "model trees" not in name and name not in ("aspen", "output smearing")]


@pytest.mark.parametrize("name", HOLD_MEANS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_weighted_mean_of_the_targets_is_the_prediction(name: str, weights: np.ndarray | None) -> None:
    model = regressors()[name].fit(X, Y, sample_weight=weights)
    trained = read_trained(model, X, Y, weights, None)
    rows = trained.read(NEW)
    behind = LeafRows(trained).values_behind(rows, trained.shares_of_all(len(rows)))
    means = np.add.reduceat(behind.values * behind.weights, behind.starts[:-1])
    np.testing.assert_allclose(means, model.predict(NEW), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(behind.weights, behind.starts[:-1]), 1.0, rtol=1e-12)


FOREST, EXTRA_TREES, BAGGING = tm.RandomForestRegressor, tm.ExtraTreesRegressor, tm.BaggingRegressor
WAYS = ("branch", "shares")


@pytest.mark.parametrize(
    "model",
    [
        *(FOREST(12, missing=missing, min_samples_leaf=size) for missing in WAYS for size in (1, 5)),
        *(EXTRA_TREES(12, missing=missing, bootstrap=True) for missing in WAYS),
        *(BAGGING(tm.CARTRegressor(missing=missing), 12) for missing in WAYS),
        FOREST(12, max_bins=8),
    ],
    ids=repr,
)
def test_missing_values_and_unseen_levels_reach_the_rows_that_predict_them(model: Any) -> None:
    model.set_params(random_state=0).fit(X, Y)
    has_branch = any((missing_branches(tree.nodes) != ALL_BRANCHES).any() for tree in model.members_)
    assert has_branch == ("shares" not in repr(model))
    new = NEW.copy()
    new.loc[::3, "b"] = np.nan  # never missing in training
    new["c"] = new["c"].cat.add_categories("unseen")
    new.loc[1::3, "c"] = "unseen"
    trained = read_trained(model, X, Y, None, None)
    rows = trained.read(new)
    behind = LeafRows(trained).values_behind(rows, trained.shares_of_all(len(rows)))
    means = np.add.reduceat(behind.values * behind.weights, behind.starts[:-1])
    np.testing.assert_allclose(means, model.predict(new), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(behind.weights, behind.starts[:-1]), 1.0, rtol=1e-12)


def test_out_of_bag_mean_is_the_out_of_bag_prediction() -> None:
    model = tm.RandomForestRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, Y)
    trained = read_trained(model, X, Y, None, None)
    rows = trained.scored_rows
    behind = LeafRows(trained).values_behind(trained.training_rows(rows), trained.shares_without(rows))
    means = np.add.reduceat(behind.values * behind.weights, behind.starts[:-1])
    np.testing.assert_allclose(means, model.oob_prediction_[rows], rtol=1e-12)
    np.testing.assert_allclose(trained.out_of_bag_outputs[:, 0], model.oob_prediction_, rtol=1e-12)


def test_a_model_tree_puts_its_prediction_and_residuals_behind_a_row() -> None:
    model = tm.BaggingRegressor(tm.M5Regressor(), n_estimators=1, random_state=0).fit(X, Y)
    trained = read_trained(model, X, Y, None, None)
    rows, tree = trained.read(NEW), model.members_[0]
    behind = LeafRows(trained).values_behind(rows, trained.shares_of_all(len(rows)))
    sample = trained.sample_of(0)
    residuals = sample.target - tree.predict_values(sample.values)[:, 0]
    leaves, predictions = tree.apply(sample.values), tree.predict_values(rows)[:, 0]
    for number, leaf in enumerate(tree.apply(rows)):
        inside = (leaves == leaf) & (sample.weights > 0)
        expected = np.unique(predictions[number] + residuals[inside])
        np.testing.assert_allclose(behind.values[behind.starts[number] : behind.starts[number + 1]], expected)
        assert behind.sizes[number] == sample.copies[inside].sum()


def test_an_empty_leaf_stands_for_the_rows_below_its_nearest_ancestor_with_rows() -> None:
    nodes = np.array(
        [
            (0.0, 5, 0, 1, 2, -1),
            (-1.0, 3, 0, 3, 2, -1),
            (1.0, 2, 0, 5, 2, -1),
            (0, 0, -1, 0, 0, 0),
            (0, 3, -1, 0, 0, 1),
            (0, 1, -1, 0, 0, 2),
            (0, 1, -1, 0, 0, 3),
        ],
        dtype=NODE_DTYPE,
    )
    tree = Tree(nodes, values=np.zeros((4, 1)), subsets=[], n_levels=[0], strict=False)
    sources = _sources_of_leaves(tree, np.array([False, False, False, False, True, True, True]))
    assert [np.flatnonzero(sources.toarray()[leaf]).tolist() for leaf in (3, 4, 5, 6)] == [[4], [4], [5], [6]]
    sources = _sources_of_leaves(tree, np.array([False, False, False, False, False, True, True]))
    assert [np.flatnonzero(sources.toarray()[leaf]).tolist() for leaf in (3, 4, 5, 6)] == [[5, 6], [5, 6], [5], [6]]
    assert not sources.toarray()[:3].any()
