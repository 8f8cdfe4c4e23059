"""Stated levels, bounds and classes: no oracle reads anything from its rows then, and a budget insists on them.

The attacker compares whatever an oracle, a site or a model shows of tables that differ in rows. Noise is replaced by
numbers that do not depend on the counts, so that nothing may differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.queries.tables import random_table

import tremula as tm
from tremula.errors import InvalidInput
from tremula.queries import ArrayOracle, FederatedOracle, GuardedOracle, ItemsetOracle, Question, TableOracle
from tremula.queries.privacy import DEFAULT_DEPTH
from tremula.queries.remote.messages import read_schema, write_schema
from tremula.queries.remote.site import Site

COLUMNS = ["colour", "size", "with null"]
DOMAINS = {"colour": ["green", "red"], "size": (-2.0, 2.0), "with null": ["p", "q"]}
CLASSES = ["no", "yes"]
OPEN: list[Any] = []
STATED: dict[str, Any] = {"domains": DOMAINS, "classes": CLASSES, "n_bins": 4}


def tables() -> list[pd.DataFrame]:
    """Return a table, one with rows that have what no other row has, and one with far fewer rows."""
    table = random_table(1).drop(columns="flag")
    rare = {"colour": "the only one", "size": 1e300, "with null": "r", "again": "rare", "cost": 1e9}
    return [table, pd.concat([table, pd.DataFrame([rare])], ignore_index=True), table[:30]]


def in_memory(table: pd.DataFrame, **options: Any) -> ArrayOracle:
    nominal = ["colour", "with null"]
    return ArrayOracle(table[COLUMNS], table["again"].to_numpy(), categorical_features=nominal, **STATED | options)


def in_a_database(table: pd.DataFrame, **options: Any) -> TableOracle:
    ibis = pytest.importorskip("ibis")
    OPEN.append(ibis.memtable(table))  # it is closed when nothing refers to it
    return TableOracle(OPEN[-1], "again", COLUMNS, **STATED | options)


@pytest.mark.parametrize("oracle_of", [in_memory, in_a_database])
def test_a_schema_does_not_depend_on_the_rows(oracle_of: Callable[..., Any]) -> None:
    first, *others = [oracle_of(table).schema for table in tables()]
    assert first.from_rows == ()
    assert [attribute.levels for attribute in first.attributes] == [("green", "red"), None, ("p", "q")]
    assert first.attributes[1].cuts == (-1.0, 0.0, 1.0)
    assert first.classes == ("no", "yes")
    for other in others:
        assert other == first


def test_what_was_not_stated_is_missing_and_other_classes_are_not_counted() -> None:
    _, table, _ = tables()
    answers = [oracle_of(table).count([Question((), (0, 1, 2))])[0] for oracle_of in (in_memory, in_a_database)]
    np.testing.assert_array_equal(*answers)
    known = table[table["again"].isin(CLASSES)]
    expected = [(~known["colour"].isin(["green", "red"]) & (known["again"] == label)).sum() for label in CLASSES]
    assert answers[0][2].tolist() == expected
    assert answers[0][:3].sum() == len(known) < len(table)


def test_numbers_beyond_the_bounds_are_in_the_outer_bins() -> None:
    oracle = ArrayOracle([[-9.0], [0.5], [99.0]], ["a", "b", "a"], domains={"x0": (0, 1)}, classes=["a", "b"], n_bins=2)
    assert oracle.count([Question((), (0,))])[0].tolist() == [[1, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize("oracle_of", [in_memory, in_a_database])
@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        ("domains", "the levels of 'colour', the quantiles of 'size', the levels of 'with null' were read"),
        ("classes", "the classes of"),
    ],
)
def test_a_budget_insists_on_statements(oracle_of: Callable[..., Any], left_out: str, told: str) -> None:
    pytest.importorskip("opendp")
    oracle = oracle_of(tables()[0], **{left_out: None})
    for budget in ({"epsilon": 1.0}, {"rho": 0.1}):
        with pytest.raises(InvalidInput, match=told):
            GuardedOracle(oracle, **budget)
    GuardedOracle(oracle, epsilon=1.0, public="all")
    GuardedOracle(oracle, epsilon=1.0, public=oracle.schema.from_rows)
    GuardedOracle(oracle, min_count=5)
    with pytest.raises(InvalidInput, match="public names 'floor'"):
        GuardedOracle(oracle, epsilon=1.0, public=["floor"])


def infinite_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    drawn = np.random.default_rng(0).integers(20, 200, 10_000)
    monkeypatch.setattr("tremula.queries.privacy._adder", lambda _: lambda counts: drawn[: len(counts)].copy())
    monkeypatch.setattr("tremula.queries.privacy.Budget.choose", lambda self, scores, cost: len(scores) // 2)


@pytest.mark.parametrize("options", [{"estimate": True, "budget_depth": 1, "single_split": True}, {"epsilon": 900.0}])
def test_a_model_and_its_ledger_are_the_same_for_all_tables(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    infinite_noise(monkeypatch)
    seen = []
    for table in tables():
        guarded = GuardedOracle(in_memory(table), **{"min_count": 0, "epsilon": 1.0} | options)
        model = tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=3, random_state=0).fit(guarded)
        tm.save(model, tmp_path / "model.tremula")
        entries = [(entry.path, entry.outcome, entry.cost, entry.suppressed) for entry in guarded.ledger]
        seen.append((entries, model.export_sql(), (tmp_path / "model.tremula").read_bytes(), str(guarded)))
    assert seen[0] == seen[1] == seen[2]


def test_sites_tell_the_same_whatever_their_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    infinite_noise(monkeypatch)
    seen = []
    for table in tables():
        sites = [GuardedOracle(in_memory(part), min_count=0, epsilon=1.0) for part in (table[::2], table[1::2])]
        site = Site(sites[0]).answer_schema()
        both = FederatedOracle(sites)
        seen.append((site, both.schema, both.count([Question((), (0, 1, 2))])[0].tolist()))
    assert seen[0] == seen[1] == seen[2]


def test_what_a_site_read_from_rows_is_told_to_clients() -> None:
    """A guard of a client insists on statements of the sites, too."""
    pytest.importorskip("opendp")
    stated, read = in_memory(tables()[0]), in_memory(tables()[0], domains=None)
    for oracle in (stated, read):
        assert read_schema(json.loads(json.dumps(write_schema(oracle.schema)))).from_rows == oracle.schema.from_rows
    assert set(FederatedOracle([stated, stated]).schema.from_rows) == set()
    merged = FederatedOracle([read, read])
    assert merged.schema.from_rows == ("colour", "size", "with null")
    with pytest.raises(InvalidInput, match="quantiles of 'size'"):
        GuardedOracle(merged, epsilon=1.0)


def test_itemsets_have_no_budget() -> None:
    """Which counts they leave unknown depends on the rows, and no noise hides it."""
    pytest.importorskip("opendp")
    pytest.importorskip("mlxtend")
    oracle = ItemsetOracle.mine([["sun"]] * 9 + [["rain"]], ["a"] * 5 + ["b"] * 5, categorical_features=[0])
    for each in (oracle, FederatedOracle([oracle, oracle])):
        with pytest.raises(InvalidInput, match="does not know the counts of rare values"):
            GuardedOracle(each, epsilon=1.0, public="all")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"domains": {"colour": "red"}}, "expected its levels"),
        ({"domains": {"colour": ["red", "red"]}}, "give each level once"),
        ({"domains": {"size": [3, 1]}}, "numbers that increase"),
        ({"domains": {"size": ["low", "high"]}}, "expected two numbers"),
        ({"domains": {"floor": [1, 2]}}, "a domain is of 'floor'"),
        ({"classes": []}, "expected its levels"),
    ],
)
@pytest.mark.parametrize("oracle_of", [in_memory, in_a_database])
def test_mistaken_statements(oracle_of: Callable[..., Any], options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        oracle_of(tables()[0], **options)


def test_a_budget_of_rho() -> None:
    pytest.importorskip("opendp")
    oracle = in_memory(tables()[0])
    guarded = GuardedOracle(oracle, min_count=0, rho=0.3)
    assert guarded._budget is not None
    assert guarded._budget.unit == "rho"
    assert guarded._budget.deviation == pytest.approx(np.sqrt(DEFAULT_DEPTH * 3 / 0.6))
    guarded.count([Question((), (0, 1, 2))])
    assert guarded.spent == pytest.approx(0.3 / DEFAULT_DEPTH)
    for options in ({"epsilon": 1.0}, {"delta": 1e-5}):
        with pytest.raises(InvalidInput, match="rho was given with epsilon or delta"):
            GuardedOracle(oracle, rho=1.0, **options)
    with pytest.raises(InvalidInput, match="tables cost rho"):
        GuardedOracle(oracle, rho=1.0, epsilon_per_table=0.1)


def test_a_ledger_file_of_rho_belongs_to_no_other_rules(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("fcntl")
    oracle, place = in_memory(tables()[0]), tmp_path / "visits.ledger"
    GuardedOracle(oracle, rho=0.3, ledger_file=place)
    GuardedOracle(oracle, rho=0.3, ledger_file=place)
    for rules in ({"epsilon": 0.3}, {"rho": 0.4}, {}):
        with pytest.raises(InvalidInput, match=r"rho was 0\.3 and is"):
            GuardedOracle(oracle, ledger_file=place, **rules)
