"""Counts by subtraction: they equal those that are asked, and a table that was changed is asked again."""

from dataclasses import replace
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.queries import Question, TableOracle
from tremula.queries.question import EVERYWHERE, narrow
from tremula.queries.sql import oracle as oracle_module
from tremula.queries.sql.siblings import find_differences

from .tables import random_table

ATTRIBUTES = ["colour", "size", "flag", "with null"]


def numeric_table(n_rows: int = 500, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{number}": random.normal(size=n_rows) for number in range(4)})
    return table.assign(again=np.where(table["x0"] * table["x1"] + random.normal(size=n_rows) > 0, "yes", "no"))


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record what `find_differences` returns."""
    found: list[Any] = []

    def record(*arguments: Any) -> Any:
        found.append(find_differences(*arguments))
        return found[-1]

    monkeypatch.setattr(oracle_module, "find_differences", record)
    return found


def test_the_larger_branch_of_every_split_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table, found = numeric_table(), recorded(monkeypatch)
    oracle = TableOracle(ibis.memtable(table), "again", n_bins=8)
    model = tm.SimulatedBaggingClassifier(5, max_depth=6, n_bins=8, random_state=0)
    trees = model.fit(oracle).members_
    assert trees == model.fit(table.drop(columns="again"), table["again"]).members_
    differences = [difference for _, own in found for difference in own]
    assert len(differences) > 50
    for asked, own in found:
        assert not {question.path for question in asked} & {difference.question.path for difference in own}
        assert len({question.path for question in asked}) == len(asked)


@pytest.mark.parametrize("seed", range(4))
def test_differences_are_the_counts_themselves(seed: int) -> None:
    """Tables with missing values and nominal attributes; attributes drawn at nodes; any parent that is wider."""
    table, random = random_table(seed, 200), np.random.default_rng(seed)
    oracle, direct = (TableOracle(ibis.memtable(table), "again", ATTRIBUTES, n_bins=6) for _ in range(2))
    paths = [EVERYWHERE]
    for _ in range(4):
        questions = []
        for parent in paths:
            attribute = int(random.integers(4))
            n_values = oracle.schema.attributes[attribute].n_values
            cut = int(random.integers(n_values))
            spans = [(0, cut), (cut + 1, n_values - 1)] if attribute == 1 else [(v, v) for v in range(n_values)]
            for first, last in spans:
                path = narrow(parent, attribute, first, last)
                if all(c.first <= c.last for c in path):
                    drawn = tuple(sorted(random.choice(4, int(random.integers(1, 5)), replace=False).tolist()))
                    questions.append(Question(path, drawn, parent=parent))
        answers = oracle.count(questions)
        for question, answer in zip(questions, answers, strict=True):
            (expected,) = direct.count([replace(question, parent=question.path)])
            assert (answer == expected).all()
        paths = [question.path for question in questions][:8]


def test_a_table_that_changes_between_batches_gives_no_negative_count() -> None:
    connection = ibis.duckdb.connect()
    connection.create_table("visits", numeric_table(100))
    oracle = TableOracle(connection.table("visits"), "again", n_bins=2, working_table=False)
    everything = tuple(range(4))
    oracle.count([Question(EVERYWHERE, everything)])
    connection.con.execute("INSERT INTO visits SELECT * FROM visits")
    connection.con.execute("INSERT INTO visits SELECT * FROM visits")
    branches = [Question(narrow(EVERYWHERE, 0, value, value), everything) for value in range(2)]
    lower, upper = oracle.count(branches)
    assert lower.min() >= 0
    assert upper.min() >= 0
    assert lower[oracle.schema.cells(1)].sum() + upper[oracle.schema.cells(1)].sum() == 400


def test_sums_of_real_numbers_are_not_subtracted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = recorded(monkeypatch)
    table = numeric_table().assign(again=lambda t: t["x0"] + 0.1)
    tm.SimulatedBaggingRegressor(2, max_depth=3, random_state=0).fit(TableOracle(ibis.memtable(table), "again"))
    assert not found


def test_whole_moments_of_a_bounded_target_are_subtracted(monkeypatch: pytest.MonkeyPatch) -> None:
    table, found = numeric_table().assign(again=lambda t: t["x0"] + t["x1"]), recorded(monkeypatch)
    options = {"n_bins": 8, "target_bounds": (-2.0, 2.0)}
    model = tm.SimulatedBaggingRegressor(3, max_depth=5, random_state=0)
    trees = model.fit(TableOracle(ibis.memtable(table), "again", **options)).members_
    assert any(own for _, own in found)
    arrays = tm.queries.ArrayOracle(table.drop(columns="again"), table["again"], task="regression", **options)
    assert trees == model.fit(arrays).members_
