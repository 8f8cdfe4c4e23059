"""Splits that learn the branch of missing values: against every split by definition, in both growers, and routing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from math import inf, isnan

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import tremula as tm
from tremula.lab.datasets import load_dataset
from tremula.trees import growing
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules
from tremula.trees.structure import branch_shares, check_structure, missing_branches
from tremula.trees.tree import NODE_DTYPE, Tree

from .naive_splits import EPSILON, Node, Pieces, Table, weight_of
from .test_coded import RULES, counted
from .tiny_tables import columns_of, draw_tables

UNDRAWN = [name for name in RULES if "draw" not in name and "forest" not in name]


def grow(table: Table, rules: Rules, attributes: list[int] | None = None) -> GrownTree:
    columns, weights = replace(columns_of(table), has_missing_branch=True), np.array(table.weights)
    random, chosen = np.random.default_rng(5), None if attributes is None else np.array(attributes)
    if table.n_classes:
        codes = np.array(table.targets, np.int64)
        return grow_classification_tree(columns, codes, table.n_classes, weights, rules, random, chosen)
    return grow_regression_tree(columns, np.array(table.targets, float), weights, rules, random, chosen)


# ---- every split by definition


def cuts(table: Table, pieces: Pieces, attribute: int) -> Iterator[tuple[Pieces, Pieces]]:
    """Every threshold with the missing rows on either side of it, and missing rows against all others."""
    known = [piece for piece in pieces if not isnan(table.values[piece[0]][attribute])]
    missing = [piece for piece in pieces if isnan(table.values[piece[0]][attribute])]
    values = sorted({table.values[row][attribute] for row, _ in known})
    for threshold in values[:-1]:
        below = [piece for piece in known if table.values[piece[0]][attribute] <= threshold]
        above = [piece for piece in known if table.values[piece[0]][attribute] > threshold]
        yield below + missing, above
        if missing:
            yield below, above + missing
    if missing and known:
        yield missing, known


def sets_of_levels(table: Table, pieces: Pieces, attribute: int) -> Iterator[tuple[Pieces, Pieces]]:
    """Every two sets of levels, of which being missing is one."""
    groups: dict[float, Pieces] = {}
    for piece in pieces:
        value = table.values[piece[0]][attribute]
        groups.setdefault(-1.0 if isnan(value) else value, []).append(piece)
    for size in range(1, len(groups)):
        for chosen in combinations(groups, size):
            yield (
                list(chain(*(groups[level] for level in chosen))),
                list(chain(*(group for level, group in groups.items() if level not in chosen))),
            )


def best_reduction(table: Table, rules: Rules, pieces: Pieces) -> float:
    """The largest reduction of the impurity by a split with two sides that are heavy enough; -inf if there is none."""
    node = Node(table, rules, pieces)
    splits = chain.from_iterable(
        (sets_of_levels if n_levels else cuts)(table, pieces, attribute)
        for attribute, n_levels in enumerate(table.n_levels)
    )
    least = rules.min_side_weight - EPSILON
    allowed = [both for both in splits if min(map(weight_of, both)) >= least]
    return max((node.reduction(list(both)) for both in allowed), default=-inf)


def divided(grown: GrownTree, table: Table, node: int, pieces: Pieces) -> tuple[Pieces, Pieces]:
    """The rows of both branches, from what the fields of a node mean."""
    record = grown.nodes[node]
    sides: tuple[Pieces, Pieces] = ([], [])
    for row, weight in pieces:
        value, index = table.values[row][record["attribute"]], int(record["index"])
        if index >= 0:
            branch = int(record["threshold"]) - 1 if isnan(value) else int(grown.subsets[index + int(value)])
        elif isnan(value):
            branch = {-3: 0, -4: 1}[index]
        else:
            branch = int(value > record["threshold"])
        sides[branch].append((row, weight))
    return sides


def assert_best(grown: GrownTree, table: Table, rules: Rules) -> None:
    waiting = [(0, table.root)]
    while waiting:
        node, pieces = waiting.pop()
        record = grown.nodes[node]
        np.testing.assert_allclose(grown.statistics[node], Node(table, rules, pieces).statistics(pieces), atol=1e-9)
        if record["n_branches"] == 0:
            continue
        sides = divided(grown, table, node, pieces)
        reduction = Node(table, rules, pieces).reduction(list(sides))
        assert min(map(weight_of, sides)) >= rules.min_side_weight - EPSILON
        # For two classes and numbers, sets sought in the order of the levels are the best, if sides may be light.
        if not any(table.n_levels) or (table.n_classes <= 2 and rules.min_side_weight <= 1):
            assert reduction >= best_reduction(table, rules, pieces) - 1e-8
        has_missing = any(isnan(table.values[row][record["attribute"]]) for row, _ in pieces)
        assert (missing_branches(grown.nodes)[node] >= 0) == has_missing
        waiting += [(int(record["first_child"]) + branch, side) for branch, side in enumerate(sides)]


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("name", UNDRAWN)
def test_each_split_is_the_best_by_definition(name: str, coded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_coded", lambda *_: coded)
    for seed in range(2):
        for table in counted(draw_tables(seed, regression="variance" in name, missing=(0.3,))):
            assert_best(grow(table, RULES[name]), table, RULES[name])


def test_a_node_that_could_be_split_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RULES["gini"]
    for coded in (True, False):
        monkeypatch.setattr(growing, "is_coded", lambda *_, coded=coded: coded)
        for table in counted(draw_tables(7, missing=(0.5,))):
            if len({table.targets[row] for row, _ in table.root}) > 1:
                is_split = grow(table, rules).nodes["n_branches"][0] > 0
                assert is_split == (best_reduction(table, rules, table.root) > -inf)


@pytest.mark.parametrize("name", RULES)
def test_both_growers_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        for table in counted(draw_tables(seed, regression="variance" in name, missing=(0.3,))):
            grown = []
            for coded in (True, False):
                monkeypatch.setattr(growing, "is_coded", lambda *_, coded=coded: coded)
                grown.append(grow(table, RULES[name]))
            assert grown[0].nodes.tobytes() == grown[1].nodes.tobytes()
            assert grown[0].subsets.tobytes() == grown[1].subsets.tobytes()


def test_real_weights_and_some_of_the_attributes() -> None:
    for table in draw_tables(11, missing=(0.3,)):
        grown = grow(table, RULES["gini"])
        assert_best(grown, table, RULES["gini"])
        chosen = list(range(0, len(table.n_levels), 2))
        tested = grow(table, RULES["gini"], chosen).nodes
        assert set(tested["attribute"][tested["n_branches"] > 0]) <= set(chosen)


# ---- trees


def test_rows_take_the_branch_that_was_learned() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = tm.CARTClassifier().fit(X, [0, 0, 1, 1]).tree_
    assert tree.threshold[0] == -inf
    assert tree.nodes["index"][0] == -3
    assert tree.predict_codes(np.array([[-1e300], [1e300], [np.nan]])).tolist() == [0, 0, 1]
    assert branch_shares(tree.nodes).tolist() == [1.0, 1.0, 0.0]
    tree.check()


def test_a_value_missing_only_at_prediction_takes_every_branch() -> None:
    tree = tm.CARTClassifier().fit(np.array([[1.0], [2.0], [3.0]]), [0, 0, 1]).tree_
    assert np.allclose(tree.predict_values([[np.nan]]), [[2 / 3, 1 / 3]])


def test_levels_unseen_in_a_node_go_with_missing_ones() -> None:
    nodes = np.array([(2.0, 3, 0, 1, 2, 0), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    tree = Tree(nodes, [[1.0, 0.0], [0.0, 1.0]], [0, 2, 1], [3], False)
    assert tree.predict_codes([[0.0], [1.0], [2.0], [np.nan], [7.0]]).tolist() == [0, 1, 1, 1, 1]
    check_structure(tree.nodes, 2, tree.subsets, tree.n_levels)


def test_shares_on_request_are_what_they_were() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = tm.CARTClassifier(missing="shares").fit(X, [0, 1, 1, 1]).tree_
    assert set(tree.nodes["index"][~tree.is_leaf]) == {-1}


def test_texts_say_where_missing_values_go() -> None:
    frame = pd.DataFrame({"size": [1.0, 2.0, np.nan, np.nan], "color": pd.Categorical(["red", "blue", None, None])})
    number = tm.CARTClassifier().fit(frame[["size"]], ["a", "a", "b", "b"])
    assert number.export_text().splitlines()[:2] == ["size is missing: b (2)", "size is not missing: a (2)"]
    level = tm.CARTClassifier().fit(frame[["color"]], ["b", "a", "b", "b"])
    assert level.export_text().splitlines()[:2] == ["color = red or missing: b (3)", "color = blue: a (1)"]
    both = tm.CARTClassifier(max_depth=1).fit(frame[["size"]], ["b", "a", "b", "b"])
    assert both.export_text().splitlines()[0] == "size <= 1.5 or missing: b (3)"


@pytest.mark.data
@pytest.mark.parametrize("kind", [tm.RandomForestClassifier, tm.ExtraTreesClassifier])
def test_being_missing_tells_something(kind: type) -> None:
    data = load_dataset("anneal.ORIG")
    errors = {}
    for missing in ("branch", "shares"):
        model = kind(50, missing=missing, categorical_features=data.nominal, random_state=0)
        errors[missing] = 1 - cross_val_score(model, data.X, data.y, cv=StratifiedKFold(3)).mean()
    assert errors["branch"] < 0.015
    assert errors["shares"] > 0.03
