"""What Python says to the growing kernel, and what the kernel hears: rules, criteria, walks and node records."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tremula._kernels import grow
from tremula.trees.columns import read_columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.rules import Rules


def test_the_kernel_reads_every_rule_under_its_name_in_the_same_order() -> None:
    assert list(grow.read_rules(Rules(criterion=0))) == [field.name for field in fields(Rules)]


@pytest.mark.parametrize("name", [field.name for field in fields(Rules)])
def test_the_kernel_reads_the_value_of_each_rule(name: str) -> None:
    rules = Rules(criterion=1)
    before = getattr(rules, name)
    value = not before if isinstance(before, bool) else 3
    read = grow.read_rules(replace(rules, **{name: value}))
    assert read == {**grow.read_rules(rules), name: value}
    assert type(read[name]) in (type(before), int if isinstance(before, bool) else type(value), float)


def test_criteria_have_the_kernel_s_numbers() -> None:
    known = {**CLASSIFICATION, **REGRESSION}
    assert {name: criterion.code for name, criterion in known.items()} == grow.CRITERIA
    assert list(grow.CRITERIA.values()) == list(range(len(grow.CRITERIA)))
    assert {name for name, criterion in known.items() if criterion.is_information} == set(grow.INFORMATION)


def test_every_pair_of_rows_and_criterion_that_occurs_has_a_walk() -> None:
    table, collecting = grow.walk_table()
    for rows, kind in grow.ROWS_KINDS.items():
        known = {"measured": {*REGRESSION}, "several numbers": {"variance", "poisson"}}.get(rows, {*CLASSIFICATION})
        assert {name for name, code in grow.CRITERIA.items() if table[kind][code]} == known
        assert bool(collecting[kind]) == (rows in ("counted", "weighted", "wide"))
    assert {walk for line in table for walk in line} == {0, *grow.WALKS.values()}


def test_the_page_about_kernels_shows_the_table_of_walks() -> None:
    table, collecting = grow.walk_table()
    names = {0: "", **{code: name for name, code in grow.WALKS.items()}}
    page = (Path(__file__).parents[2] / "docs" / "develop" / "kernels.md").read_text()
    lines = [["rows", *grow.CRITERIA, "every cut kept"]]
    for rows, kind in grow.ROWS_KINDS.items():
        lines.append([rows, *(names[walk] for walk in [*table[kind], collecting[kind]])])
    for line in lines:
        assert "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|\n" in page


@pytest.mark.parametrize("criterion", [*CLASSIFICATION, *REGRESSION])
def test_each_walk_finds_the_only_cut(criterion: str) -> None:
    columns = read_columns(np.arange(8.0)[:, None], np.zeros(1, np.int32))
    classes = np.arange(8) >= 5
    random = np.random.default_rng(0)
    if criterion in REGRESSION:
        rules = Rules(criterion=grow.CRITERIA[criterion])
        centre = 0.0 if criterion == "poisson" else classes.mean()
        trees = [grow_regression_tree(columns, classes + 1.0 - centre, None, rules, random)]
    else:
        rules = Rules(criterion=grow.CRITERIA[criterion])
        weights = [None, np.full(8, 0.5)]  # counted and weighted rows
        trees = [grow_classification_tree(columns, classes, 2, each, rules, random) for each in weights]
        trees.append(grow_classification_tree(columns, classes, 300, None, rules, random))  # wide rows
    for tree in trees:
        np.testing.assert_array_equal(tree.nodes["threshold"], [4.5, 0, 0])
