"""Counts from frequent itemsets: what is not listed is inferred where it can be, and unknown where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidInput, QueryRefused
from tremula.queries import ArrayOracle, Attribute, ItemsetOracle, Question, Schema
from tremula.queries.itemsets import complete
from tremula.queries.question import UNKNOWN, narrow

SCHEMA = Schema((Attribute("sky", levels=("rain", "sun")), Attribute("wind", levels=("no", "yes"))), "play", (0, 1))
SKY, WIND, PLAY = 0, 1, 2


def weather(n_rows: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sky": random.choice(["cloud", "rain", "sun"], n_rows, p=[0.2, 0.3, 0.5]),
            "wind": random.choice(["no", "yes"], n_rows),
            "day": random.choice(["a", "b", None], n_rows),
        }
    )
    return X, np.where((X["sky"] == "sun") ^ (random.random(n_rows) < 0.2), "play", "stay")


def table_of(oracle: ItemsetOracle, attribute: int, path: tuple = ()) -> list[list[int]]:
    return oracle.count([Question(path, (attribute,))])[0][oracle.schema.cells(attribute)].tolist()


# --- inference ---


def test_one_unlisted_cell_of_a_class_is_what_the_others_leave_of_it() -> None:
    frequencies = {
        frozenset(): 10,
        frozenset([(PLAY, 0)]): 4, frozenset([(PLAY, 1)]): 6,
        frozenset([(SKY, 0)]): 5, frozenset([(SKY, 1)]): 5,
        frozenset([(SKY, 0), (PLAY, 0)]): 4, frozenset([(SKY, 1), (PLAY, 1)]): 5,
    }  # fmt: skip
    assert table_of(ItemsetOracle(SCHEMA, frequencies), SKY) == [[4, 1], [0, 5], [0, 0]]


def test_what_sums_leave_open_is_unknown() -> None:
    frequencies = {
        frozenset(): 10,
        frozenset([(PLAY, 0)]): 4, frozenset([(PLAY, 1)]): 6,
        frozenset([(SKY, 0)]): 5, frozenset([(SKY, 1)]): 5,
    }  # fmt: skip
    assert set(np.ravel(table_of(ItemsetOracle(SCHEMA, frequencies), SKY))) == {UNKNOWN}


def test_values_that_have_all_rows_leave_none_to_be_missing() -> None:
    """Without this, missing would be one more unknown cell of each class, and nothing would follow."""
    frequencies = {
        frozenset(): 10,
        frozenset([(PLAY, 0)]): 4, frozenset([(PLAY, 1)]): 6,
        frozenset([(SKY, 0)]): 7, frozenset([(SKY, 1)]): 3,
        frozenset([(SKY, 0), (PLAY, 0)]): 2, frozenset([(SKY, 0), (PLAY, 1)]): 5,
    }  # fmt: skip
    assert table_of(ItemsetOracle(SCHEMA, frequencies), SKY) == [[2, 5], [2, 1], [0, 0]]


def test_an_impossible_value_has_no_rows() -> None:
    frequencies = {
        frozenset(): 10, frozenset([(SKY, 0)]): 6,
        frozenset([(SKY, 0), (PLAY, 0)]): 4, frozenset([(SKY, 0), (PLAY, 1)]): 2,
    }  # fmt: skip
    oracle = ItemsetOracle(SCHEMA, frequencies)
    assert table_of(oracle, SKY, narrow((), SKY, 0, 0)) == [[4, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_filled_in_is_right(seed: int) -> None:
    random = np.random.default_rng(seed)
    inner = random.integers(0, 4, size=(4, 3))
    whole = np.zeros((5, 4), dtype=np.int64)
    whole[:-1, :-1] = inner
    whole[-1], whole[:, -1] = whole.sum(axis=0), whole.sum(axis=1)
    whole[-1, -1] = inner.sum()
    table = np.where(random.random(whole.shape) < 0.4, UNKNOWN, whole)
    complete(table)
    known = table != UNKNOWN
    np.testing.assert_array_equal(table[known], whole[known])


@pytest.mark.parametrize("min_support", [0.02, 0.1, 0.3])
def test_known_counts_of_mined_itemsets_are_right(min_support: float) -> None:
    X, y = weather()
    itemsets, rows = ItemsetOracle.mine(X, y, min_support=min_support), ArrayOracle(X, y)
    asked = [Question(path, (0, 1, 2)) for path in ((), narrow((), 0, 2, 2), narrow(narrow((), 0, 1, 1), 1, 0, 0))]
    n_known = 0
    for ours, expected in zip(itemsets.count(asked), rows.count(asked), strict=True):
        known = ours != UNKNOWN
        n_known += known.sum()
        np.testing.assert_array_equal(ours[known], expected[known])
    assert n_known > 0


# --- learning ---


def test_tree_from_all_itemsets_is_the_tree_from_rows() -> None:
    X, y = weather()
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0)
    from_itemsets = model.fit(ItemsetOracle.mine(X, y, min_support=1 / len(X))).members_
    assert from_itemsets == model.fit(ArrayOracle(X, y)).members_


def test_trees_are_smaller_where_itemsets_are_fewer() -> None:
    X, y = weather()
    sizes = []
    for min_support in (1 / len(X), 0.05, 0.12):
        model = tm.SimulatedBaggingClassifier(n_estimators=5, random_state=0)
        model.fit(ItemsetOracle.mine(X, y, min_support=min_support))
        sizes.append(sum(tree.n_nodes for tree in model.members_))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_an_attribute_that_is_unknown_everywhere_is_left_out() -> None:
    X, y = weather()
    X.insert(0, "row", [f"r{number}" for number in range(len(X))])
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0).fit(ItemsetOracle.mine(X, y, min_support=0.1))
    used = {int(attribute) for tree in model.members_ for attribute in tree.attribute[tree.attribute >= 0]}
    assert 1 in used
    assert 0 not in used


# --- files ---


def test_itemsets_come_back_from_their_file(tmp_path: Path) -> None:
    X, y = weather()
    X["wind"] = X["wind"] == "yes"
    oracle = ItemsetOracle.mine(X[["wind", "day"]], y, min_support=0.05)
    oracle.save(tmp_path / "sets.jsonl")
    again = ItemsetOracle.from_file(tmp_path / "sets.jsonl", target="target")
    assert {attribute.name: attribute.levels for attribute in again.schema.attributes} == {
        "wind": (False, True),
        "day": ("a", "b"),
    }
    order = [[a.name for a in again.schema.attributes].index(a.name) for a in oracle.schema.attributes]
    for attribute, place in enumerate(order):
        assert table_of(again, place) == table_of(oracle, attribute)


def test_a_file_is_lines_of_json(tmp_path: Path) -> None:
    lines = [
        {"items": {}, "count": 9},
        {"items": {"sky": "sun"}, "count": 5},
        {"items": {"play": "no"}, "count": 3},
        {"items": {"play": "yes"}, "count": 6},
        {"items": {"sky": "rain"}, "count": 4},
        {"items": {"sky": "sun", "play": "yes"}, "count": 5},
    ]
    (tmp_path / "sets.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    oracle = ItemsetOracle.from_file(tmp_path / "sets.jsonl", target="play")
    assert oracle.schema.classes == ("no", "yes")
    assert table_of(oracle, 0) == [[3, 1], [0, 5], [0, 0]]


def test_a_file_without_the_target_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sets.jsonl").write_text('{"items": {"sky": "sun"}, "count": 5}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"no itemset has an item of target 'play' \(they have \['sky'\]\): give"):
        ItemsetOracle.from_file(tmp_path / "sets.jsonl", target="play")


def test_the_error_of_a_damaged_line_has_its_number(tmp_path: Path) -> None:
    (tmp_path / "sets.jsonl").write_text('{"items": {}, "count": 5}\n{"items": \n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line 2 of .*sets.jsonl"):
        ItemsetOracle.from_file(tmp_path / "sets.jsonl", target="play")


# --- bad input ---


def test_joint_questions_are_refused() -> None:
    oracle = ItemsetOracle(SCHEMA, {frozenset(): 1})
    with pytest.raises(QueryRefused, match="n_joint_features=1"):
        oracle.count([Question((), (0, 1), joint=True)])


def test_numeric_attributes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="discretise numbers first"):
        ItemsetOracle(Schema((Attribute("size", cuts=(1.0,)),), "play", (0, 1)), {frozenset(): 1})


def test_the_number_of_rows_is_needed() -> None:
    with pytest.raises(InvalidInput, match="the empty itemset"):
        ItemsetOracle(SCHEMA, {})


def test_itemsets_that_know_no_whole_table_are_refused() -> None:
    with pytest.raises(QueryRefused, match="nothing to learn from"):
        tm.SimulatedBaggingClassifier().fit(ItemsetOracle(SCHEMA, {frozenset(): 10}))
