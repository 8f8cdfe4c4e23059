"""Trees for several targets: the kernel against a slow twin, one target given twice, and scikit-learn's trees."""

from __future__ import annotations

from itertools import product
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import ConstantTarget, InvalidParameter, InvalidTarget, OneClassTarget
from tremula.trees.columns import read_columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.export.labels import number_text
from tremula.trees.export.sql import export_sql
from tremula.trees.growing_several import grow_for_targets, row_statistics
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_targets import Pieces, Targets, best_worth, weight_of, worth

CRITERIA = {**CLASSIFICATION, **REGRESSION}
NAIVE = ["gini", "entropy", "variance", "poisson"]


# ---- the kernel and its twin


def draw(seed: int, criterion: str) -> tuple[Targets, np.ndarray, np.ndarray, float]:
    """A small table: numbers with ties, a nominal attribute, some values missing; targets; weights; least side."""
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(4, 16))
    numbers, levels = random.integers(5, size=n_rows), random.integers(4, size=n_rows)
    values = np.column_stack([numbers, random.normal(size=n_rows), levels])
    values[random.random(values.shape) < (0.0, 0.2)[seed % 2]] = np.nan
    n_targets = int(random.integers(2, 4))
    if criterion in CLASSIFICATION:
        labels = random.integers(3, size=(n_rows, n_targets))
        target = np.column_stack([np.unique(column, return_inverse=True)[1] for column in labels.T])
        target = target + np.concatenate([[0], np.cumsum(target.max(axis=0) + 1)[:-1]])
    else:
        # Levels of equal means, but for rounding, have no certain order: numbers other than 0 are all different.
        target = random.gamma(1.0, 3.0, size=(n_rows, n_targets)) * (random.random((n_rows, n_targets)) < 0.8)
        target[:, 1] *= 100.0
    weights = random.choice([random.integers(1, 4, n_rows), random.uniform(0.1, 2.0, n_rows)]).astype(float)
    weights[0] = 0.0 if seed % 3 == 0 else weights[0]
    table = Targets(values.tolist(), [0, 0, 4], target.T.tolist(), criterion)
    return table, target, weights, float(random.choice([0.0, 1.5]))


def grow(table: Targets, target: np.ndarray, weights: np.ndarray, min_side: float) -> GrownTree:
    is_class = table.criterion in CLASSIFICATION
    columns = read_columns(np.array(table.values), np.array(table.n_levels, np.int32))
    rules = Rules(
        CRITERIA[table.criterion].code, subsets=True, min_side_weight=min_side, tolerance=1e-9 if is_class else 0.0
    )
    n_classes = int(target.max()) + 1 if is_class else 0
    centre = np.average(target, axis=0, weights=weights) if table.criterion == "variance" else 0
    return grow_for_targets(columns, target - centre, n_classes, weights, rules, np.random.default_rng(0))


def divide(grown: GrownTree, node: Any, pieces: Pieces, table: Targets) -> tuple[list[Pieces], list[Pieces]]:
    """The branches of a node: of rows whose value is known, and of all."""
    known: list[Pieces] = [[], []]
    unknown: Pieces = []
    for row, weight in pieces:
        value = table.values[row][node["attribute"]]
        if isnan(value):
            unknown.append((row, weight))
        elif table.n_levels[node["attribute"]]:
            known[grown.subsets[node["index"] + int(value)]].append((row, weight))
        else:
            known[int(value > node["threshold"])].append((row, weight))
    total = sum(map(weight_of, known))
    whole = [[*part, *((row, weight * weight_of(part) / total) for row, weight in unknown)] for part in known]
    return known, whole


@pytest.mark.parametrize("criterion", NAIVE)
def test_every_split_is_a_best_one(criterion: str) -> None:
    n_splits = 0
    for seed in range(20):
        table, target, weights, min_side = draw(seed, criterion)
        grown = grow(table, target, weights, min_side)
        is_class = criterion in CLASSIFICATION
        centred = target - (np.average(target, axis=0, weights=weights) if criterion == "variance" else 0)
        of_rows = row_statistics(centred, int(target.max()) + 1 if is_class else 0)
        waiting: list[tuple[int, Pieces]] = [(0, [(row, w) for row, w in enumerate(weights) if w > 0])]
        while waiting:
            number, pieces = waiting.pop()
            node = grown.nodes[number]
            expected = sum(weight * of_rows[row] for row, weight in pieces)
            assert grown.statistics[number] == pytest.approx(expected, abs=1e-9 * max(1.0, np.abs(expected).max()))
            is_pure = all(len({column[row] for row, _ in pieces}) == 1 for column in table.columns)
            best = None if is_pure or weight_of(pieces) < 2 - 1e-9 else best_worth(pieces, table, min_side)
            assert (node["n_branches"] == 0) == (best is None)
            if best is None:
                continue
            known, whole = divide(grown, node, pieces, table)
            scale = max(1.0, weight_of(pieces) * float(np.abs(target).max() ** 2 if not is_class else 1.0))
            assert worth([*known[0], *known[1]], known, table) == pytest.approx(best, abs=2e-9 * scale)
            n_splits += 1
            waiting += [(int(node["first_child"]) + branch, whole[branch]) for branch in (0, 1)]
    assert n_splits > 45


# ---- one target given twice


def mixed_table(seed: int, n_rows: int = 150) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n_rows, 4)), columns=list("abcd"))
    X["b"] = X["b"].round(1)
    X["color"] = pd.Categorical(random.choice(list("rgbyo"), n_rows))
    X = X.mask(random.random(X.shape) < 0.1)
    X["e"] = random.normal(size=n_rows)
    return X


@pytest.mark.parametrize("missing", ["branch", "shares"])
@pytest.mark.parametrize(
    "tree",
    [
        tm.CARTClassifier("gini"),
        tm.CARTClassifier("entropy", min_samples_leaf=3),
        tm.CARTClassifier("gain_ratio"),
        tm.CARTClassifier("symmetric_uncertainty", max_leaf_nodes=7),
        tm.CARTClassifier("gini", max_leaf_nodes=9, ccp_alpha=0.01),
        tm.CARTClassifier(max_features=2, random_state=3),
        tm.CARTRegressor(min_samples_leaf=4),
        tm.CARTRegressor(max_leaf_nodes=8),
        tm.CARTRegressor(ccp_alpha=0.2),
        tm.CARTRegressor("poisson", min_samples_leaf=10),
        tm.CARTRegressor(max_features=2, min_samples_leaf=12, random_state=3),
    ],
    ids=str,
)
def test_a_target_given_twice_gives_the_tree_of_one(tree: Any, missing: str) -> None:
    X = mixed_table(1)
    number = np.random.default_rng(2).gamma(2.0, size=len(X)) + (X["color"] == "r") + (X["a"] > 0)
    y = np.digitize(number, [1.5, 3.0]) if hasattr(tree, "predict_proba") else number.to_numpy()
    weights = np.random.default_rng(5).integers(0, 3, len(X))
    one = clone(tree).set_params(missing=missing).fit(X, y, weights)
    two = clone(tree).set_params(missing=missing).fit(X, np.column_stack([y, y]), weights)
    assert one.get_n_leaves() > 3
    for name in ("attribute", "threshold", "first_child", "n_branches"):
        np.testing.assert_array_equal(one.tree_.nodes[name], two.tree_.nodes[name])
    np.testing.assert_allclose(one.tree_.weight, two.tree_.weight)
    assert one.tree_.subsets.tobytes() == two.tree_.subsets.tobytes()
    np.testing.assert_allclose(np.column_stack([one.predict(X)] * 2), two.predict(X))
    np.testing.assert_allclose(one.feature_importances_, two.feature_importances_)


# ---- scikit-learn's trees, on distinct values


def distinct_table(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    Y = np.column_stack([X[:, 0] + random.normal(size=n_rows), 3 * X[:, 1] ** 2, random.normal(size=n_rows)])
    return X, Y


LARGE_LEAVES = {"min_weight_fraction_leaf": 0.06}  # few rows can be divided in the same way by several attributes


@pytest.mark.parametrize("given", [{}, {"max_depth": 4}, {"max_leaf_nodes": 6}], ids=str)
def test_numbers_as_in_scikit_learn(given: dict[str, Any]) -> None:
    for seed, has_missing, weighted in product(range(3), [False, True], [False, True]):
        X, Y = distinct_table(seed, 150)
        if has_missing:
            X[::7, 0] = np.nan
        weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if weighted else None
        ours = tm.CARTRegressor(**LARGE_LEAVES, **given).fit(X, Y, weights)
        theirs = DecisionTreeRegressor(random_state=0, **LARGE_LEAVES, **given).fit(X, Y, weights)
        assert ours.get_n_leaves() == theirs.get_n_leaves() > 4
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


def test_full_trees_of_numbers_as_in_scikit_learn() -> None:
    X, Y = distinct_table(0, 100)
    np.testing.assert_allclose(tm.CARTRegressor().fit(X, Y).predict(X), DecisionTreeRegressor().fit(X, Y).predict(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_as_in_scikit_learn(criterion: str) -> None:
    """Real weights that are all different leave hardly two splits equally good."""
    given: dict[str, Any] = {"criterion": criterion, **LARGE_LEAVES}
    for seed in range(4):
        X, Y = distinct_table(seed, 150)
        labels = np.column_stack([np.digitize(Y[:, 0], [-1, 1]), Y[:, 1] > 2])
        weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
        ours = tm.CARTClassifier(**given).fit(X, labels, weights)
        theirs = DecisionTreeClassifier(random_state=0, **given).fit(X, labels, weights)
        for own, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
            np.testing.assert_allclose(own, other)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


# ---- targets of any form


def test_columns_of_different_types_keep_their_labels() -> None:
    X, Y = distinct_table(0, 60)
    y = pd.DataFrame({"size": np.where(Y[:, 0] > 0, "large", "small"), "count": np.digitize(Y[:, 1], [1, 4]) + 5})
    tree = tm.CARTClassifier().fit(X, y)
    assert [each.tolist() for each in tree.classes_] == [["large", "small"], [5, 6, 7]]
    assert tree.n_classes_ == [2, 3]
    assert tree.n_outputs_ == 2
    assert (tree.predict(X) == y.to_numpy()).all()
    assert [each.shape for each in tree.predict_proba(X)] == [(60, 2), (60, 3)]
    again = tm.CARTClassifier().fit(X, y.to_numpy().tolist())
    assert again.tree_ == tree.tree_


def test_a_constant_target_beside_others_is_predicted() -> None:
    X, Y = distinct_table(0, 60)
    Y[:, 2] = 7.0
    np.testing.assert_array_equal(tm.CARTRegressor().fit(X, Y).predict(X)[:, 2], 7.0)
    labels = np.column_stack([Y[:, 0] > 0, np.full(60, True)])
    assert tm.CARTClassifier().fit(X, labels).predict(X)[:, 1].all()
    with pytest.raises(ConstantTarget, match="each of the 2 targets"):
        tm.CARTRegressor().fit(X, np.ones((60, 2)))
    with pytest.raises(OneClassTarget, match="each of the 2 targets"):
        tm.CARTClassifier().fit(X, np.ones((60, 2)))


def test_a_missing_target_is_named_with_its_column() -> None:
    X, Y = distinct_table(0, 60)
    Y[4, 1] = np.nan
    with pytest.raises(InvalidTarget, match="target 1 of y, a column: y is nan in row 4"):
        tm.CARTRegressor().fit(X, Y)


def test_one_column_is_one_target() -> None:
    X, Y = distinct_table(0, 60)
    with pytest.warns(UserWarning, match="column-vector"):
        tree = tm.CARTRegressor().fit(X, Y[:, :1])
    assert tree.n_outputs_ == 1
    assert tree.predict(X).shape == (60,)


def test_class_weights_multiply_over_targets_as_in_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_sample_weight

    X, Y = distinct_table(0, 80)
    labels = np.column_stack([np.digitize(Y[:, 0], [0, 1]), Y[:, 1] > 2]).astype(int)
    for class_weight in ("balanced", [{0: 2.0, 1: 1.0, 2: 3.0}, {0: 1.0, 1: 5.0}]):
        weighed = tm.CARTClassifier(max_depth=3, class_weight=class_weight).fit(X, labels)
        by_rows = tm.CARTClassifier(max_depth=3).fit(X, labels, compute_sample_weight(class_weight, labels))
        assert weighed.tree_ == by_rows.tree_
    with pytest.raises(InvalidParameter, match="a list with a dict for"):
        tm.CARTClassifier(class_weight={0: 2.0}).fit(X, labels)
    for kind in (
        tm.CARTClassifier,
        tm.C45Classifier,
        tm.REPTreeClassifier,
        tm.ID3Classifier,
        tm.RandomForestClassifier,
    ):
        with pytest.raises(InvalidParameter, match="which is for several targets"):
            kind(class_weight=[{0: 2.0}, {0: 2.0}]).fit(X, labels[:, 0])


@pytest.mark.parametrize(
    "given",
    [
        {"criterion": "absolute_error"},
        {"criterion": "fifth_root_variance"},
        {"max_bins": 16},
        {"ccp_alpha": "cv"},
        {"ccp_alpha": "validation"},
        {"monotonic_cst": [1, 0, 0, 0]},
    ],
    ids=str,
)
def test_what_one_tree_for_all_cannot_do_is_refused(given: dict[str, Any]) -> None:
    X, Y = distinct_table(0, 60)
    with pytest.raises(InvalidParameter, match="several targets, and one tree for all cannot be grown with it"):
        tm.CARTRegressor(**given).fit(X, Y)


def test_a_bare_tree_shows_all_outputs() -> None:
    """It does not know of targets, and must not take the largest number for a class."""
    X, Y = distinct_table(0, 60)
    tree = tm.CARTRegressor(max_leaf_nodes=2).fit(X, np.round(Y)).tree_
    leaf = ", ".join(number_text(value, 3) for value in tree.values[0])
    assert leaf in tree._repr_html_()
    with pytest.raises(ValueError, match="the tree has 3 outputs, of several targets"):
        export_sql(tree)


def test_held_out_rows_are_refused() -> None:
    X, Y = distinct_table(0, 60)
    with pytest.raises(InvalidParameter, match="not pruned on held-out rows"):
        tm.CARTRegressor().fit(X, Y, X_val=X, y_val=Y)
