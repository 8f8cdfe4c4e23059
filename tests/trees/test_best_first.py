"""`max_leaf_nodes`: against splitting one leaf after the other, best first, and against scikit-learn's trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula import CARTClassifier, CARTRegressor
from tremula.errors import InvalidParameter
from tremula.trees.best_first import keep_best_splits
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules, criterion_of

from .naive_splits import Node, Pieces, Table, weight_of
from .test_cart import count_alike, draw
from .test_growing import split_of
from .tiny_tables import ENTROPY, GINI, VARIANCE, draw_tables, grow

RULES = {
    "gini": Rules(GINI, subsets=True),
    "entropy": Rules(ENTROPY, subsets=True, min_side_weight=1.0),
    "variance": Rules(VARIANCE, subsets=True, min_variance=0.0),
}

Splits = dict[int, tuple[Pieces, list[Pieces]]]


def splits_of(tree: GrownTree, table: Table, rules: Rules) -> Splits:
    """The rows of every node that is split, and of its branches."""
    splits: Splits = {}
    waiting = [(0, table.root)]
    while waiting:
        node, pieces = waiting.pop()
        if tree.nodes["n_branches"][node] > 0:
            children = split_of(tree, node, pieces, table, rules).children()
            splits[node] = pieces, children
            first = int(tree.nodes["first_child"][node])
            waiting += [(first + branch, child) for branch, child in enumerate(children)]
    return splits


def decrease(table: Table, rules: Rules, pieces: Pieces, children: list[Pieces]) -> float:
    node = Node(table, rules, pieces)
    return weight_of(pieces) * node.impurity(pieces) - sum(weight_of(c) * node.impurity(c) for c in children)


def best_first(tree: GrownTree, table: Table, rules: Rules, n_leaves: int) -> list[Pieces] | None:
    """The rows of the nodes that are split best first; None where two splits tie for the next."""
    splits, leaves, rows = splits_of(tree, table, rules), [0], []
    for _ in range(n_leaves - 1):
        ranked = sorted((decrease(table, rules, *splits[leaf]), leaf) for leaf in leaves if leaf in splits)
        if len(ranked) > 1 and ranked[-1][0] - ranked[-2][0] < 1e-9:
            return None
        if not ranked:
            break
        node = ranked[-1][1]
        rows.append(splits[node][0])
        first = int(tree.nodes["first_child"][node])
        leaves = [leaf for leaf in leaves if leaf != node] + [first, first + 1]
    return rows


@pytest.mark.parametrize("n_leaves", [2, 3, 5])
@pytest.mark.parametrize("name", RULES)
def test_the_splits_kept_are_those_made_best_first(name: str, n_leaves: int) -> None:
    rules, n_limited = RULES[name], 0
    for table in draw_tables(5, regression=name == "variance"):
        full = grow(table, rules)
        tree = keep_best_splits(full, n_leaves, criterion_of(rules))
        n_splits = np.count_nonzero(tree.nodes["n_branches"])
        assert n_splits == min(n_leaves - 1, np.count_nonzero(full.nodes["n_branches"]))
        expected = best_first(full, table, rules, n_leaves)
        if expected is not None:
            n_limited += len(tree.nodes) < len(full.nodes)
            kept = [pieces for pieces, _ in splits_of(tree, table, rules).values()]
            assert sorted(map(sorted, kept)) == sorted(map(sorted, expected))
    assert n_limited > 10


# ---- scikit-learn


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_as_scikit_learn_tells_them(criterion: str) -> None:
    limits: dict[str, Any] = {"max_leaf_nodes": 12, "min_samples_leaf": 5}
    tables = [draw(seed, (400, 1000)[seed % 2], (2, 3)[seed % 2]) for seed in range(8)]
    foreign = DecisionTreeClassifier(criterion=criterion, **limits)
    assert count_alike(CARTClassifier(criterion, **limits), foreign, tables) >= 6


@pytest.mark.parametrize("n_leaves", [2, 5, 25])
def test_numbers_as_scikit_learn_tells_them(n_leaves: int) -> None:
    limits: dict[str, Any] = {"max_leaf_nodes": n_leaves, "min_samples_leaf": 5}
    tables = [draw(seed, (300, 1000)[seed % 2], 0) for seed in range(8)]
    assert count_alike(CARTRegressor(**limits), DecisionTreeRegressor(**limits), tables) >= 6


def test_a_forest_without_draws_as_scikit_learn_tells_it() -> None:
    X, y, _ = draw(3, 500, 0)
    ours = tm.RandomForestRegressor(3, max_features=None, max_leaf_nodes=15, random_state=0).fit(X, y)
    for member, counts in zip(ours.members_, ours.count_inbag(X, y)):
        foreign = DecisionTreeRegressor(max_leaf_nodes=15).fit(X, y, sample_weight=counts)
        assert member.n_leaves == 15
        assert member.predict_values(X)[:, 0] == pytest.approx(foreign.predict(X))


# ---- every estimator that has it

ENSEMBLES = [
    tm.RandomForestClassifier(5, max_leaf_nodes=4, random_state=0),
    tm.ExtraTreesClassifier(5, max_leaf_nodes=4, random_state=0),
    tm.RandomForestRegressor(5, max_leaf_nodes=4, random_state=0),
    tm.ExtraTreesRegressor(5, max_leaf_nodes=4, random_state=0),
    tm.BaggingRegressor(CARTRegressor(max_leaf_nodes=4), 5, random_state=0),
]


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("max_bins", [None, 16])
def test_members_have_as_many_leaves(ensemble: Any, max_bins: int | None) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 4)), columns=list("abcd"))
    X["color"] = pd.Categorical(random.choice(list("tuvwxyz"), 200))
    y = (X["a"] + (X["color"] == "u") + random.normal(size=200)).to_numpy()
    y = y > 0 if hasattr(ensemble, "predict_proba") else y
    if max_bins is not None and hasattr(ensemble, "max_bins"):
        ensemble = type(ensemble)(**{**ensemble.get_params(), "max_bins": max_bins})
    n_leaves = [member.n_leaves for member in ensemble.fit(X, y).members_]
    assert max(n_leaves) == 4
    assert sum(n_leaves) >= 18


def test_pruning_starts_from_the_leaves_that_are_left() -> None:
    X, y, _ = draw(1, 300, 0)
    small = CARTRegressor(max_leaf_nodes=10, ccp_alpha="cv", random_state=0).fit(X, y)
    assert small.get_n_leaves() <= 10
    assert len(small.pruned_sequence_.alphas) <= 10


@pytest.mark.parametrize("given", [1, 0, 2.5, "many"])
def test_a_tree_has_two_leaves_at_least(given: Any) -> None:
    for learner in (CARTClassifier(max_leaf_nodes=given), tm.RandomForestClassifier(max_leaf_nodes=given)):
        with pytest.raises(InvalidParameter, match="max_leaf_nodes="):
            learner.fit([[0.0], [1.0]], [0, 1])
