"""`monotonic_cst`: every split by definition, predictions along constrained attributes, and scikit-learn's trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula import CARTClassifier, CARTRegressor
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules

from .naive_splits import Node, Pieces, Table, weight_of
from .test_cart import count_alike, draw
from .test_missing_branch import cuts, divided, sets_of_levels
from .tiny_tables import ABSOLUTE, ENTROPY, GINI, POISSON, UNCERTAINTY, VARIANCE, columns_of, draw_tables

RULES = {
    "gini": Rules(GINI, subsets=True),
    "entropy": Rules(ENTROPY, subsets=True, min_side_weight=1.0),
    "uncertainty": Rules(UNCERTAINTY, subsets=True),
    "variance": Rules(VARIANCE, subsets=True, min_variance=0.0),
    "poisson": Rules(POISSON, subsets=True, min_variance=0.0),
    "absolute error": Rules(ABSOLUTE, subsets=True, min_variance=0.0),
}
REGRESSION_RULES = ("variance", "poisson", "absolute error")


# ---- every split by definition


def tables_of(name: str, seed: int) -> Iterator[tuple[Table, np.ndarray]]:
    """Tables of two classes or of numbers, with a direction for each numeric column."""
    random = np.random.default_rng(seed)
    for table in draw_tables(seed, regression=name in REGRESSION_RULES):
        if table.n_classes:
            table = table._replace(targets=[float(target > 0) for target in table.targets], n_classes=2)
        if name == "poisson":
            table = table._replace(targets=[abs(target) for target in table.targets])
        directions = np.where(np.array(table.n_levels) > 0, 0, random.integers(-1, 2, len(table.n_levels)))
        yield table, directions.astype(np.int8)


def grow(table: Table, rules: Rules, directions: np.ndarray) -> GrownTree:
    columns = replace(columns_of(table), has_missing_branch=True, directions=directions)
    weights, random = np.array(table.weights), np.random.default_rng(5)
    if table.n_classes:
        codes = np.array(table.targets, np.int64)
        return grow_classification_tree(columns, codes, 2, weights, rules, random)
    return grow_regression_tree(columns, np.array(table.targets, float), weights, rules, random)


class ConstrainedNode(Node):
    """A node with bounds on the values of its branches."""

    bounds: tuple[float, float] = (-inf, inf)

    def value(self, pieces: Pieces) -> float:  # type: ignore[override]
        if self.criterion == "absolute_error":
            return self.median(pieces)
        return sum(weight * self.table.targets[row] for row, weight in pieces) / weight_of(pieces)

    def is_allowed(self, first: Pieces, second: Pieces, direction: int, slack: float) -> bool:
        low, high = self.bounds[0] - slack, self.bounds[1] + slack
        values = self.value(first), self.value(second)
        has_targets = min(values) > 0.0 or self.criterion != "poisson"
        if direction == 0:
            return has_targets
        return all(low <= v <= high for v in values) and (values[0] - values[1]) * direction <= slack and has_targets


def candidates(node: ConstrainedNode, directions: np.ndarray) -> Iterator[tuple[Pieces, Pieces, int]]:
    for attribute, n_levels in enumerate(node.table.n_levels):
        values = {row: node.table.values[row][attribute] for row, _ in node.pieces}
        for first, second in (sets_of_levels if n_levels else cuts)(node.table, node.pieces, attribute):
            parts_missing = all(isnan(values[row]) for row, _ in first) or all(isnan(values[row]) for row, _ in second)
            yield first, second, 0 if parts_missing else int(directions[attribute])


def narrowed(node: ConstrainedNode, sides: tuple[Pieces, Pieces], direction: int) -> list[tuple[float, float]]:
    middle = sum(map(node.value, sides)) / 2
    low, high = node.bounds
    if direction == 0:
        return [node.bounds, node.bounds]
    return [(low, middle), (middle, high)] if direction > 0 else [(middle, high), (low, middle)]


def assert_best(grown: GrownTree, table: Table, rules: Rules, directions: np.ndarray) -> int:
    """Each split keeps the order, and no other that does is better; returns the number of splits."""
    waiting, n_splits = [(0, table.root, (-inf, inf))], 0
    while waiting:
        number, pieces, bounds = waiting.pop()
        node = ConstrainedNode(table, rules, pieces)
        node.bounds = bounds
        record = grown.nodes[number]
        least = rules.min_side_weight - 1e-9
        best = max(
            (
                node.reduction([first, second])
                for first, second, direction in candidates(node, directions)
                if min(weight_of(first), weight_of(second)) >= least
                and node.is_allowed(first, second, direction, -1e-9)
            ),
            default=-inf,
        )
        if record["n_branches"] == 0:
            assert best == -inf or node.impurity(pieces) < 1e-9 or weight_of(pieces) < rules.min_split_weight
            continue
        n_splits += 1
        sides = divided(grown, table, number, pieces)
        is_ordered = record["index"] < 0 and np.isfinite(record["threshold"])
        direction = int(directions[record["attribute"]]) if is_ordered else 0
        assert node.is_allowed(*sides, direction, 1e-9)
        if not any(table.n_levels) and node.criterion != "symmetric_uncertainty":
            assert node.reduction(list(sides)) >= best - 1e-8
        for branch, (side, its_bounds) in enumerate(zip(sides, narrowed(node, sides, direction))):
            waiting.append((int(record["first_child"]) + branch, side, its_bounds))
    return n_splits


@pytest.mark.parametrize("name", RULES)
def test_each_split_is_the_best_that_keeps_the_order(name: str) -> None:
    n_splits = 0
    for seed in range(2):
        for table, directions in tables_of(name, seed):
            n_splits += assert_best(grow(table, RULES[name], directions), table, RULES[name], directions)
    assert n_splits > 300


# ---- predictions along an attribute


def attack(model: Any, X: pd.DataFrame, directions: dict[str, int], random: np.random.Generator) -> int:
    """Move each constrained attribute of random rows, all else fixed; returns how often the prediction moved."""
    n_moves = 0
    for name, direction in directions.items():
        values = np.unique(X[name].dropna())
        scan = np.concatenate([[-1e6], values, (values[1:] + values[:-1]) / 2, [1e6]])
        scan = np.sort(random.choice(scan, min(len(scan), 60), replace=False))
        moved = X.iloc[np.repeat(random.integers(len(X), size=50), len(scan))].copy()
        moved[name] = np.tile(scan, 50)
        if hasattr(model, "predict_proba"):
            predictions, slack = model.predict_proba(moved)[:, 1], 1e-12
        else:
            predictions, slack = model.predict(moved), 0.0
        steps = np.diff(predictions.reshape(50, len(scan)), axis=1) * direction
        assert steps.min() >= -slack
        n_moves += np.count_nonzero(steps > slack)
    return n_moves


def table_to_attack(seed: int, missing: float, nominal: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    n_rows = 150
    X = pd.DataFrame(random.normal(size=(n_rows, 4)).round(1), columns=list("abcd"))
    y = X["a"] - X["b"] * (X["c"] > 0) + np.sin(3 * X["a"]) + random.normal(scale=0.7, size=n_rows)
    X = X.mask(random.random(X.shape) < missing)
    if nominal:
        X["e"] = pd.Categorical(random.choice(list("tuvwxyz"), n_rows))
        y += (X["e"] == "u") * 2.0
    return X, y.to_numpy(), random.exponential(size=n_rows)


MODELS: dict[str, Any] = {
    "CART": CARTRegressor(),
    "CART of few leaves": CARTRegressor(max_leaf_nodes=8),
    "CART, Poisson": CARTRegressor("poisson"),
    "CART, absolute error": CARTRegressor("absolute_error"),
    "CART, shares": CARTRegressor(missing="shares"),
    "CART, random thresholds": CARTRegressor(splitter="random", random_state=0),
    "CART, pruned": CARTRegressor(ccp_alpha="cv", random_state=0),
    "forest": tm.RandomForestRegressor(5, random_state=0),
    "forest, absolute error": tm.RandomForestRegressor(5, criterion="absolute_error", random_state=0),
    "extra trees": tm.ExtraTreesRegressor(5, random_state=0),
    "extra trees, absolute error": tm.ExtraTreesRegressor(5, "absolute_error", random_state=0),
    "CART of classes": CARTClassifier(),
    "CART of classes, entropy, shares": CARTClassifier("entropy", missing="shares"),
    "CART of classes, gain ratio": CARTClassifier("gain_ratio"),
    "forest of classes": tm.RandomForestClassifier(5, random_state=0),
    "forest of classes that vote": tm.RandomForestClassifier(5, combine="vote", random_state=0),
    "extra trees of classes": tm.ExtraTreesClassifier(5, random_state=0),
}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_monotonic(name: str, missing: float) -> None:
    """With a direction of the data and one against it, on tables with levels and weights and without."""
    model, directions, n_moves = MODELS[name], {"a": 1, "b": 1, "d": -1}, 0
    for seed, nominal, weighted in ((0, False, True), (1, True, False), (2, True, True)):
        X, y, weights = table_to_attack(seed, missing, nominal)
        if hasattr(model, "predict_proba"):
            y = np.where(y > np.median(y), "yes", "no")
        elif model.criterion == "poisson":
            y = np.maximum(y, 0.0)
        model = type(model)(**{**model.get_params(), "monotonic_cst": directions})
        model.fit(X, y, sample_weight=weights if weighted else None)
        n_moves += attack(model, X, directions, np.random.default_rng(seed))
    assert n_moves > 5


def test_bagging_and_random_subspaces() -> None:
    X, y, _ = table_to_attack(2, 0.1, True)
    tree = CARTRegressor(monotonic_cst={"a": 1})
    for model in (
        tm.BaggingRegressor(tree, 5, random_state=0),
        tm.PerturbCombineRegressor(tree, [tm.perturb.AttributeSubset(0.6)], n_estimators=5, random_state=0),
        tm.PerturbCombineRegressor(tree, [tm.perturb.SmearedInputs(0.1)], n_estimators=5, random_state=0),
    ):
        assert attack(model.fit(X, y), X, {"a": 1}, np.random.default_rng(0)) > 5


def test_leaves_that_were_cut_off_do_not_pass_for_other_rows() -> None:
    """Uncertainty compares leaves with the rows given again, unless constraints have moved them."""
    X, y, _ = table_to_attack(3, 0.0, False)
    given = {"monotonic_cst": {"a": -1, "b": 1}}
    for model in (
        tm.RandomForestRegressor(10, random_state=0, **given),
        tm.BaggingRegressor(CARTRegressor(**given), 10, random_state=0),
    ):
        uncertainty = tm.Uncertainty(model.fit(X, y), X, y)
        assert uncertainty.predict_interval(X, coverage=0.8).shape == (150, 2)
        with pytest.raises(UnsupportedModel, match="no weighted means"):
            tm.row_weights(model, X, X_train=X, y_train=y)


def test_without_a_constraint_predictions_are_not_monotonic() -> None:
    """The attack finds what there is to find."""
    X, y, _ = table_to_attack(0, 0.0, False)
    with pytest.raises(AssertionError):
        attack(CARTRegressor().fit(X, y), X, {"a": 1}, np.random.default_rng(0))


# ---- scikit-learn


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_as_scikit_learn_tells_them(criterion: str) -> None:
    limits: dict[str, Any] = {"min_samples_leaf": 8, "max_depth": 5, "monotonic_cst": [1, -1, 0, 1, 0]}
    tables = [draw(seed, (400, 1000)[seed % 2], 2) for seed in range(8)]
    foreign = DecisionTreeClassifier(criterion=criterion, **limits)
    assert count_alike(CARTClassifier(criterion, **limits), foreign, tables) >= 4


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_as_scikit_learn_tells_them(weighted: bool) -> None:
    limits: dict[str, Any] = {"max_depth": 3 if weighted else 5, "monotonic_cst": [1, 1, 0, -1, 0]}
    own = {"min_samples_split": 0, "min_samples_leaf": 0} if weighted else {"min_samples_leaf": 5}
    foreign = DecisionTreeRegressor(**limits) if weighted else DecisionTreeRegressor(**limits, min_samples_leaf=5)
    tables = [draw(seed, (300, 1000)[seed % 2], 0, weighted) for seed in range(8)]
    assert count_alike(CARTRegressor(**limits, **own), foreign, tables) >= (1 if weighted else 5)


def test_a_direction_against_the_data_leaves_the_attribute_out() -> None:
    X = np.arange(50.0)[:, None]
    assert CARTRegressor(monotonic_cst=[-1]).fit(X, X[:, 0]).get_n_leaves() == 1
    assert CARTRegressor(monotonic_cst=[1]).fit(X, X[:, 0]).get_n_leaves() == 50


def test_no_direction_is_no_constraint() -> None:
    X, y, _ = draw(0, 100, 0)
    assert CARTRegressor(monotonic_cst=[0] * 5).fit(X, y).tree_ == CARTRegressor().fit(X, y).tree_


# ---- what is refused


WRONG: list[tuple[Any, str]] = [
    ([1, 0], "2 directions, but X has 3 columns"),
    ([2, 0, 0], r"expected 1, 0 or -1"),
    ("up", "expected 1, 0 or -1"),
    ([[1, 0, 0]], "expected 1, 0 or -1"),
    ({"size": 0.5}, "expected 1, 0 or -1"),
    ({"siz": 1}, "'siz', which X does not have.*size"),
    ({"color": 1}, "'color', which is nominal"),
    ([0, 0, -1], "'color', which is nominal"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=str)
def test_wrong_directions_are_refused(given: Any, message: str) -> None:
    X = pd.DataFrame({"size": [1.0, 2, 3], "age": [3.0, 1, 2], "color": pd.Categorical(["r", "g", "r"])})
    for learner in (CARTRegressor(monotonic_cst=given), tm.RandomForestRegressor(2, monotonic_cst=given)):
        with pytest.raises(InvalidParameter, match=message):
            learner.fit(X, [1.0, 2.0, 3.0])


def test_what_else_cannot_be_constrained() -> None:
    X, y, _ = draw(0, 60, 3)
    cst = [1, 0, 0, 0, 0]
    for learner in (CARTClassifier(monotonic_cst=cst), tm.ExtraTreesClassifier(2, monotonic_cst=cst)):
        with pytest.raises(InvalidParameter, match="y has 3 classes"):
            learner.fit(X, y)
    with pytest.raises(InvalidParameter, match="columns of X have no names"):
        CARTClassifier(monotonic_cst={"a": 1}).fit(X, y > 1)
    with pytest.raises(InvalidParameter, match="max_bins=8"):
        CARTClassifier(monotonic_cst=cst, max_bins=8).fit(X, y > 1)
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    for nominal in ("statistics", "codes"):
        with pytest.raises(InvalidParameter, match=f"nominal='{nominal}' was given with monotonic_cst"):
            tm.RandomForestClassifier(2, monotonic_cst=[1, 0], nominal=nominal).fit(frame, y > 1)
    with pytest.raises(InvalidParameter, match="one regressor per class"):
        tm.OutputSmearingClassifier(CARTRegressor(monotonic_cst=cst), method="smear").fit(X, y)
    frame.loc[0, "a"] = np.nan
    with pytest.raises(InvalidParameter, match="medians of shared rows keep no order"):
        CARTRegressor("absolute_error", monotonic_cst=[1, 0], missing="shares").fit(frame, y)


@pytest.mark.parametrize("given", [[1, 0, -1, 0, 0], np.array([1, 0, -1, 0, 0]), {"b": -1}], ids=str)
def test_files(given: Any, tmp_path: Any) -> None:
    X, y, _ = draw(0, 60, 0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    forest = tm.RandomForestRegressor(2, monotonic_cst=given, random_state=0).fit(frame, y)
    tm.save(forest, tmp_path / "forest.tremula")
    assert np.array_equal(tm.load(tmp_path / "forest.tremula").monotonic_cst, given)
    forest.monotonic_cst = [3]
    tm.save(forest, tmp_path / "wrong.tremula")
    with pytest.raises(tm.errors.FileDamaged, match="monotonic_cst"):
        tm.load(tmp_path / "wrong.tremula")


def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs() -> None:
    X, y, weights = draw(4, 200, 0, weighted=True)
    given = {"monotonic_cst": [1, 0, 0, -1, 0], "random_state": 3}
    forests = [tm.RandomForestRegressor(6, n_jobs=n_jobs, **given).fit(X, y, weights) for n_jobs in (1, 2)]
    assert all(a == b for a, b in zip(*(forest.members_ for forest in forests)))
