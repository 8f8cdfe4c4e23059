"""The Poisson deviance and the absolute error: against the naive grower, scikit-learn's trees, and by definition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from tremula import CARTRegressor
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel
from tremula.trees.rules import Rules

from .test_cart import Rows, count_alike, count_partings, draw
from .test_growing import assert_grown
from .tiny_tables import POISSON, draw_tables, grow

POISSON_RULES = {
    "poisson": Rules(POISSON, min_variance=0.0),
    "poisson, subsets": Rules(POISSON, subsets=True, min_side_weight=1.0, min_variance=0.0),
    "poisson, forest": Rules(POISSON, n_drawn=2, subsets=True, min_variance=0.0),
}


@pytest.mark.parametrize("name", POISSON_RULES)
def test_every_split_decreases_the_poisson_deviance_most(name: str) -> None:
    n_nodes = 0
    for seed, table in enumerate(draw_tables(2, regression=True)):
        table = table._replace(targets=[abs(target) for target in table.targets])
        tree = grow(table, POISSON_RULES[name], seed)
        assert_grown(table, POISSON_RULES[name], tree)
        n_nodes += len(tree.nodes)
    assert n_nodes > 300


# ---- scikit-learn


def counts_of(rows: Rows, seed: int) -> Rows:
    """Counts with zeros among them, which depend on the first attributes."""
    rate = np.exp(rows.X[:, 0] + 0.5 * rows.X[:, 1])
    return rows._replace(y=np.random.default_rng(seed).poisson(rate).astype(float) * 1.25)


@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"min_samples_leaf": 20}, {"max_leaf_nodes": 6}], ids=str)
@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_trees_as_scikit_learn_grows_them(criterion: str, limits: dict[str, int]) -> None:
    """Cuts of different attributes, and neighbours in one, often leave the same absolute error."""
    tables = [draw(seed, (200, 500)[seed % 2], 0) for seed in range(8)]
    if criterion == "poisson":
        tables = [counts_of(rows, seed) for seed, rows in enumerate(tables)]
    foreign = DecisionTreeRegressor(criterion=criterion, **limits)
    assert count_alike(CARTRegressor(criterion, **limits), foreign, tables) >= (4 if criterion == "poisson" else 2)


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_weights_as_scikit_learn_takes_them(criterion: str) -> None:
    limits: dict[str, Any] = {"min_samples_split": 0, "min_samples_leaf": 0, "max_depth": 3}
    tables = [draw(seed, 300, 0, weighted=True) for seed in range(6)]
    if criterion == "poisson":
        tables = [counts_of(rows, seed) for seed, rows in enumerate(tables)]
    foreign = DecisionTreeRegressor(criterion=criterion, max_depth=3)
    assert count_alike(CARTRegressor(criterion, **limits), foreign, tables) >= 2


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_forests_as_scikit_learn_grows_them(criterion: str) -> None:
    rows = counts_of(draw(3, 400, 0), 3)
    y = rows.y if criterion == "poisson" else rows.y + rows.X[:, 2]
    limits: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 15, "max_features": None}
    ours = tm.RandomForestRegressor(4, random_state=0, **limits).fit(rows.X, y)
    for member, counts in zip(ours.members_, ours.count_inbag(rows.X, y)):
        copies = np.repeat(np.arange(len(y)), counts)
        drawn = Rows(rows.X[copies], y[copies], np.ones(len(copies)))
        foreign = RandomForestRegressor(1, bootstrap=False, random_state=0, **limits).fit(drawn.X, drawn.y)
        n_partings = count_partings(SimpleNamespace(tree_=member), foreign.estimators_[0], drawn)
        assert n_partings <= 3
        assert member.n_leaves >= 15


# ---- leaves


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("missing", ["branch", "shares"])
def test_leaves_predict_weighted_medians(missing: str, splitter: str) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=300), "b": pd.Categorical(random.choice(list("uvwxyz"), 300))})
    y = frame["a"].to_numpy() + (frame["b"] == "u") + random.standard_t(2, size=300)
    weights = random.integers(0, 4, 300) / 2
    frame.loc[::7, "b"] = None
    if missing == "branch":
        frame.loc[::5, "a"] = np.nan
    learner = CARTRegressor("absolute_error", min_samples_leaf=10, missing=missing, splitter=splitter, random_state=0)
    if missing == "shares":
        frame["b"] = frame["b"].cat.add_categories("none").fillna("none")
    tree = learner.fit(frame, y, sample_weight=weights)
    leaves = tree.apply(frame)
    assert tree.get_n_leaves() > 4
    for leaf in np.unique(leaves[weights > 0]):
        inside = (leaves == leaf) & (weights > 0)
        values, its_weights = y[inside], weights[inside]
        losses = [(its_weights * abs(values - value)).sum() for value in values]
        middles = values[np.isclose(losses, min(losses), rtol=1e-12)]
        assert tree.tree_.values[tree.tree_.nodes["index"][leaf], 0] == pytest.approx(
            (middles.min() + middles.max()) / 2
        )


def test_an_outlier_moves_the_mean_and_not_the_median() -> None:
    X, y = np.zeros((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 1000.0])
    assert CARTRegressor("absolute_error").fit(X, y).predict([[0.0]]) == [3.0]
    assert CARTRegressor("absolute_error").fit(X, y, sample_weight=[3, 3, 1, 1, 1]).predict([[0.0]]) == [2.0]
    assert CARTRegressor("absolute_error").fit(X[:4], y[:4]).predict([[0.0]]) == [2.5]


def test_poisson_predicts_no_negative_number() -> None:
    rows = counts_of(draw(1, 300, 0), 1)
    forest = tm.ExtraTreesRegressor(5, "poisson", random_state=0).fit(rows.X, rows.y)
    assert forest.predict(rows.X).min() >= 0.0
    assert forest.feature_importances_.argmax() == 0


def test_targets_far_from_zero() -> None:
    rows = draw(0, 200, 0)
    y = np.round(rows.y * 2**16) / 2**16
    near, far = (
        CARTRegressor("absolute_error", min_samples_leaf=10).fit(rows.X, y + shift) for shift in (0.0, 2.0**20)
    )
    assert far.predict(rows.X) == pytest.approx(near.predict(rows.X) + 2.0**20, abs=1e-6)


# ---- what is refused, and what works with medians


@pytest.mark.parametrize("learner", [CARTRegressor("poisson"), tm.RandomForestRegressor(2, criterion="poisson")])
def test_poisson_needs_targets_of_at_least_0(learner: Any) -> None:
    for y in ([1.0, -1.0, 2.0], [0.0, 0.0, -1.0]):
        with pytest.raises(InvalidInput, match=r"criterion='poisson' needs targets of at least 0 that are not all 0"):
            learner.fit(np.arange(3.0)[:, None], y)
    with pytest.raises(InvalidInput, match=r"y is 0.0 in all 3"):
        learner.fit(np.arange(3.0)[:, None], [0.0, 0.0, 0.0])


def test_what_medians_cannot_be_used_with() -> None:
    X, y, _ = draw(0, 80, 0)
    for alpha in (0.1, "cv"):
        with pytest.raises(InvalidParameter, match="pruning compares squared errors"):
            CARTRegressor("absolute_error", ccp_alpha=alpha).fit(X, y)
    with pytest.raises(InvalidParameter, match="max_bins=8"):
        CARTRegressor("absolute_error", max_bins=8).fit(X, y)
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    with pytest.raises(InvalidParameter, match="nominal='codes' was given with criterion='absolute_error'"):
        CARTRegressor("absolute_error", nominal="codes").fit(frame, y)
    forest = tm.RandomForestRegressor(5, criterion="absolute_error", min_samples_leaf=4, random_state=0).fit(X, y)
    assert not hasattr(forest, "feature_importances_")
    assert not hasattr(CARTRegressor("absolute_error").fit(X, y), "feature_importances_")
    with pytest.raises(UnsupportedModel, match="medians in their leaves"):
        forest.unbiased_importances(X, y)
    with pytest.raises(UnsupportedModel, match="no weighted means of the training targets"):
        tm.row_weights(forest, X, X_train=X, y_train=y)


def test_what_is_right_with_medians() -> None:
    X, y, _ = draw(0, 150, 0)
    forest = tm.RandomForestRegressor(150, criterion="absolute_error", min_samples_leaf=5, random_state=0).fit(X, y)
    uncertainty = tm.Uncertainty(forest, X, y)
    with pytest.warns(UserWarning, match="150 members are too few"):  # for some rows
        errors = uncertainty.predict_std(X)
    assert (errors > 0.0).mean() > 0.8
    assert np.nanmedian(errors) < y.std()
    low, middle, high = uncertainty.predict_quantiles(X).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert uncertainty.predict_interval(X, coverage=0.8).shape == (150, 2)
    explanation = tm.explain(forest, X[:5])
    assert explanation.values.sum(axis=1) + explanation.base_values == pytest.approx(forest.predict(X[:5]))
    assert tm.to_sklearn(forest).predict(X) == pytest.approx(forest.predict(X))
    assert forest.permutation_importances(X, y).importances.argmax() == 0
