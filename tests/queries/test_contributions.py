"""What one person contributes is limited: no table without one of the persons has answers that tell more than paid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidInput, InvalidTarget, UnknownTable
from tremula.queries import ArrayOracle, FederatedOracle, GuardedOracle, Question, TableOracle
from tremula.queries.contributions import places_on_grid
from tremula.queries.privacy import Budget, make_budget, rho_for
from tremula.queries.question import GRID, Schema, narrow
from tremula.queries.remote.messages import read_schema, write_schema
from tremula.queries.sql.plan import plan_queries

CUTS = {"size": (-0.5, 0.4)}
BOUNDS = (-2.0, 6.0)
Maker = Callable[..., Any]


def visits(seed: int = 0, n_rows: int = 150, n_persons: int = 20) -> pd.DataFrame:
    """Make a table in which some persons have a row and some have many, with targets far beyond the bounds.

    All rows of the person with the most are equal: it contributes as much as a person can.
    """
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "who": [f"p{number}" for number in np.sort((n_persons * random.random(n_rows) ** 2).astype(int))],
            "colour": random.choice(["red", "green", 'b"lue'], n_rows),
            "size": random.normal(size=n_rows).round(1),
            "again": random.choice(["yes", "no"], n_rows),
            "cost": (random.normal(size=n_rows) * 10).round(3),
        }
    )
    table.loc[table["who"] == "p0", ["colour", "size", "again", "cost"]] = ['b"lue', 0.0, "yes", 1e6]
    return table


def in_memory(table: pd.DataFrame, target: str, **options: Any) -> ArrayOracle:
    kept = ["colour", "size"] + (["who"] if "person_id" in options else [])
    bounds = {"target_bounds": BOUNDS} if target == "cost" else {}
    return ArrayOracle(table[kept], table[target], cuts=CUTS, categorical_features=["colour"], **bounds, **options)


def in_duckdb(table: pd.DataFrame, target: str, **options: Any) -> TableOracle:
    ibis: Any = pytest.importorskip("ibis")
    return in_database(ibis.duckdb.connect(), table, target, **options)


def in_sqlite(table: pd.DataFrame, target: str, **options: Any) -> TableOracle:
    ibis: Any = pytest.importorskip("ibis")
    return in_database(ibis.sqlite.connect(), table, target, **options)


def in_database(connection: Any, table: pd.DataFrame, target: str, **options: Any) -> TableOracle:
    bounds = {"target_bounds": BOUNDS} if target == "cost" else {}
    opened = connection.create_table("visits", table)
    return TableOracle(opened, target, ["colour", "size"], cuts=CUTS, **bounds, **options)


# Paths that exclude each other and paths that do not.
PATHS = [(), narrow((), 0, 0, 0), narrow((), 0, 1, 1), narrow((), 1, 0, 1), narrow(narrow((), 1, 1, 2), 0, 0, 0)]
ASKED = [*(Question(path, (0, 1)) for path in PATHS), Question((), (0, 1), joint=True)]


def tables_of(schema: Schema, question: Question, answer: np.ndarray) -> list[np.ndarray]:
    return [answer] if question.joint else [answer[schema.cells(number)] for number in question.attributes]


def losses(schema: Schema, budget: Budget, answers: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the epsilon, or rho, by which the noisy answers about two tables can differ: the sum over all cells."""
    loss = 0.0
    for question, answer, other in zip(ASKED, answers, others):
        for table, without in zip(tables_of(schema, question, answer), tables_of(schema, question, other)):
            difference = np.abs(table - without).astype(float)
            if schema.classes is None:
                scaled = difference / np.array(budget.moment_deviations)
            else:
                scaled = difference / budget.deviation
            loss += float(np.sqrt(2) * scaled.sum() if budget.unit == "epsilon" else (scaled**2).sum() / 2)
    return loss


DUCKDB, SQLITE = (pytest.param(make, 1, marks=pytest.mark.slow) for make in (in_duckdb, in_sqlite))


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("target", ["again", "cost"])
@pytest.mark.parametrize(("make", "n_persons"), [(in_memory, 8), DUCKDB, SQLITE])
def test_no_person_changes_answers_by_more_than_is_paid_for(
    make: Maker, n_persons: int, target: str, delta: float | None
) -> None:
    pytest.importorskip("opendp")
    table = visits()
    for rows_per_person in (1, 4):
        options = {"person_id": "who", "rows_per_person": rows_per_person}
        oracle = make(table, target, **options)
        schema = oracle.schema
        budget = GuardedOracle(oracle, public="all", epsilon=1.0, delta=delta)._budget
        assert budget is not None
        answers, paid = oracle.count(ASKED), budget.cost(ASKED, 2)
        found = []
        for person in table["who"].value_counts().index[:n_persons]:
            other = make(table[table["who"] != person].reset_index(drop=True), target, **options)
            assert other.schema == schema
            found.append(losses(schema, budget, answers, other.count(ASKED)))
        assert 0.8 * paid < max(found) <= paid * (1 + 1e-9)


@pytest.mark.parametrize("target", ["again", "cost"])
def test_brute_force_finds_persons_that_are_not_limited(target: str) -> None:
    pytest.importorskip("opendp")
    table = visits()
    oracle = in_memory(table, target)
    budget = make_budget(oracle.schema, 1.0, 1e-6, None, 4)
    assert budget is not None
    person = table["who"].value_counts().index[0]
    other = in_memory(table[table["who"] != person], target)
    found = losses(oracle.schema, budget, oracle.count(ASKED), other.count(ASKED))
    assert found > budget.cost(ASKED, 2)


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (in_memory, "again"),
        (in_memory, "cost"),
        (in_duckdb, "cost"),
        pytest.param(in_duckdb, "again", marks=pytest.mark.slow),
        pytest.param(in_sqlite, "again", marks=pytest.mark.slow),
        pytest.param(in_sqlite, "cost", marks=pytest.mark.slow),
    ],
)
def test_the_same_rows_are_counted_by_every_question(make: Maker, target: str) -> None:
    table = visits()
    oracle = make(table, target, person_id="who", rows_per_person=2)
    assert [attribute.name for attribute in oracle.schema.attributes] == ["colour", "size"]
    answers = oracle.count(ASKED)
    joint = answers[-1]
    n_rows = joint[..., 0].sum() if target == "cost" else joint.sum()
    assert n_rows == np.minimum(table["who"].value_counts(), 2).sum()
    cells = oracle.schema.cells(0)
    np.testing.assert_array_equal(answers[0][cells], joint.sum(axis=1))
    shuffled = make(table.sample(frac=1.0, random_state=0), target, person_id="who", rows_per_person=2)
    if make is not in_memory:  # the order of an array is that of its rows
        for answer, again in zip(answers, shuffled.count(ASKED)):
            np.testing.assert_array_equal(again, answer)


def test_rows_are_not_chosen_by_their_values() -> None:
    """With one of ten rows of each person, the mean of the chosen ones is that of all."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"who": np.repeat(np.arange(400), 10), "x": random.choice(["a", "b"], 4000)})
    table["cost"] = random.random(4000)
    ibis: Any = pytest.importorskip("ibis")
    options = {"person_id": "who", "target_bounds": (0, 1)}
    oracle = TableOracle(ibis.duckdb.connect().create_table("visits", table), "cost", **options)
    n_rows, total, _ = oracle.count([Question((), (0,))])[0].sum(axis=0)
    assert n_rows == 400
    assert abs(total / n_rows / GRID) < 5 * np.sqrt(1 / 3 / 400)


# --- noise on moments ---


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_noise_of_moments_has_its_deviation(delta: float | None) -> None:
    pytest.importorskip("opendp")
    guarded = GuardedOracle(in_memory(visits(), "cost"), public="all", epsilon=3.0, delta=delta)
    assert guarded._budget is not None
    for add_noise, deviation in zip(guarded._budget.moment_noise, guarded._budget.moment_deviations, strict=True):
        assert np.std(add_noise(np.zeros(4000))) == pytest.approx(deviation, rel=0.12)


def test_noisy_moments_are_possible_ones() -> None:
    pytest.importorskip("opendp")
    guarded = GuardedOracle(in_memory(visits(), "cost"), min_count=0, public="all", epsilon=1.0)
    n_rows, sums, squares = guarded.count([Question((), (0, 1))])[0].T
    assert (n_rows >= 0).all()
    assert (np.abs(sums) <= GRID * n_rows).all()
    assert (squares * n_rows >= sums**2 * (1 - 1e-12)).all()


def test_a_private_regressor_nears_that_of_the_clamped_rows() -> None:
    pytest.importorskip("opendp")
    random = np.random.default_rng(0)
    X = random.random((4000, 2))
    y = np.where(X[:, 0] > 0.5, 30.0, 10.0) + random.normal(size=4000)
    y[:20] = 1e9
    options: dict[str, Any] = {"cuts": {name: np.arange(0.1, 1.0, 0.1) for name in ("x0", "x1")}}
    oracle = ArrayOracle(X, y, target_bounds=(0, 40), **options)
    clamped = ArrayOracle(X, np.clip(y, 0, 40), task="regression", **options)
    model = tm.SimulatedBaggingRegressor(n_estimators=4, max_depth=2, random_state=0)
    expected = model.fit(clamped).predict(X)
    np.testing.assert_allclose(model.fit(oracle).predict(X), expected, atol=0.1)
    guarded = GuardedOracle(oracle, min_count=0, public="all", epsilon=8.0, delta=1e-6, budget_depth=2)
    private = model.fit(guarded).predict(X)
    assert np.abs(private - expected).mean() < 0.5
    assert 0 < private.min() <= private.max() < 40


def test_places_are_those_of_the_database() -> None:
    table = visits()
    expected = places_on_grid(table["cost"].to_numpy(), BOUNDS)
    for make in (in_memory, in_duckdb, in_sqlite):
        answer = make(table, "cost").count([Question((), (0,))])[0].sum(axis=0)
        np.testing.assert_array_equal(answer, [len(table), expected.sum(), (expected**2).sum()])


# --- guards, ledgers and sites ---


def test_a_guard_takes_the_rows_of_a_person_from_the_oracle() -> None:
    pytest.importorskip("opendp")
    oracle = in_memory(visits(), "again", person_id="who", rows_per_person=3)
    deviations = [
        GuardedOracle(oracle, public="all", epsilon=1.0, rows_per_person=given)._budget.deviation  # type: ignore[union-attr]
        for given in (None, 3, 6)
    ]
    assert deviations[0] == deviations[1] == pytest.approx(deviations[2] / 2)
    with pytest.raises(InvalidInput, match="the oracle counts up to 3 rows of a person"):
        GuardedOracle(oracle, public="all", epsilon=1.0, rows_per_person=2)


def test_a_ledger_belongs_to_the_unit_and_the_bounds(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("fcntl")
    place, table = tmp_path / "visits.ledger", visits()
    GuardedOracle(in_memory(table, "again", person_id="who"), public="all", epsilon=1.0, ledger_file=place)
    with pytest.raises(InvalidInput, match="person_id was 'who' and is None"):
        GuardedOracle(in_memory(table, "again"), public="all", epsilon=1.0, ledger_file=place)
    other = tmp_path / "costs.ledger"
    GuardedOracle(in_memory(table, "cost"), public="all", epsilon=1.0, ledger_file=other)
    wider = ArrayOracle(table[["colour", "size"]], table["cost"], target_bounds=(0, 99), categorical_features=[0])
    with pytest.raises(InvalidInput, match=r"target_bounds was \[-2.0, 6.0\] and is \[0.0, 99.0\]"):
        GuardedOracle(wider, public="all", epsilon=1.0, ledger_file=other)


def test_a_person_may_be_at_every_site() -> None:
    first, second = (in_memory(visits(seed), "cost", person_id="who", rows_per_person=2) for seed in (0, 1))
    merged = FederatedOracle([first, second]).schema
    assert (merged.rows_per_person, merged.target_bounds) == (4, BOUNDS)
    with pytest.raises(InvalidInput, match="person_id is None at site 1 and 'who' at site 0"):
        FederatedOracle([first, in_memory(visits(1), "cost")])


def test_a_site_tells_the_unit_and_the_bounds() -> None:
    for options in ({}, {"person_id": "who", "rows_per_person": 2}):
        for target in ("again", "cost"):
            schema = in_memory(visits(), target, **options).schema
            read = read_schema(json.loads(json.dumps(write_schema(schema))))
            assert read.person_id == schema.person_id
            assert read.rows_per_person == schema.rows_per_person
            assert read.target_bounds == schema.target_bounds


def test_a_plan_limits_persons_as_its_queries_do() -> None:
    ibis: Any = pytest.importorskip("ibis")
    table = ibis.duckdb.connect().create_table("visits", visits())
    plan = plan_queries(table, None, "cost", person_id="who", rows_per_person=2, target_bounds=BOUNDS)
    assert [column.name for column in plan.columns] == ["colour", "size", "again"]
    assert "PARTITION BY" in str(plan.working_table)
    options = {"person_id": "who", "rows_per_person": 2, "target_bounds": BOUNDS, "working_table": False}
    assert "PARTITION BY" in plan_queries(table, None, "cost", **options).root_queries[0]


SERVE = "import sys; from tremula.cli.main import run; run(sys.argv[1:])"


@pytest.mark.slow
def test_a_site_is_served_with_a_budget_for_persons(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("fcntl")
    file, ledger = tmp_path / "visits.csv", tmp_path / "visits.ledger"
    visits().drop(columns=["again", "size"]).to_csv(file, index=False)
    budget = ("--epsilon", "5", "--delta", "1e-5", "--budget-depth", "1", "--ledger-file", str(ledger))
    budget += ("--public", "all")
    limits = ("--person-id", "who", "--rows-per-person", "2", "--target-bounds", "-2,6", "--min-count", "0")
    words = ("serve", str(file), "--target", "cost", "--port", "0", "--json", *budget, *limits)
    with subprocess.Popen([sys.executable, "-c", SERVE, *words], stdout=subprocess.PIPE, text=True) as site:
        try:
            assert site.stdout is not None
            oracle = tm.queries.connect(json.loads(site.stdout.readline())["address"])
            schema = oracle.schema
            assert (schema.person_id, schema.rows_per_person, schema.target_bounds) == ("who", 2, BOUNDS)
            (answer,) = oracle.count([Question((), (0,))])
        finally:
            site.kill()
    assert (np.abs(answer[:, 1]) <= GRID * answer[:, 0]).all()
    records = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert sum(record.get("cost", 0.0) for record in records) == pytest.approx(rho_for(5.0, 1e-5))


# --- engines that are services ---


@pytest.mark.postgres
@pytest.mark.parametrize("target", ["again", "cost"])
def test_postgres_limits_persons(target: str) -> None:
    ibis: Any = pytest.importorskip("ibis")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    connection, table = ibis.connect(url), visits()
    columns = {"size": "float64", "cost": "float64"}
    connection.create_table("visits_of_persons", schema=dict.fromkeys(table.columns, "string") | columns, temp=True)
    connection.insert("visits_of_persons", table)
    bounds = {"target_bounds": BOUNDS} if target == "cost" else {}
    options: dict[str, Any] = {"cuts": CUTS, "person_id": "who", "rows_per_person": 2, **bounds}
    opened = connection.table("visits_of_persons")
    first, second = (TableOracle(opened, target, ["colour", "size"], **options).count(ASKED) for _ in range(2))
    connection.disconnect()
    for answer, again in zip(first, second):
        np.testing.assert_array_equal(answer, again)
    joint = first[-1]
    np.testing.assert_array_equal(first[0][:4], joint.sum(axis=1))
    n_rows = joint[..., 0].sum() if target == "cost" else joint.sum()
    assert n_rows == np.minimum(table["who"].value_counts(), 2).sum()


# --- errors ---


@pytest.mark.parametrize("bounds", [(3, 3), (5, 1), (0, np.inf), (1,), "ab", 7])
def test_bounds_are_checked(bounds: Any) -> None:
    with pytest.raises(InvalidInput, match=r"target_bounds is .* give \(lowest, highest\)"):
        ArrayOracle([[1.0], [2.0]], [1.0, 2.0], target_bounds=bounds)


def test_bounds_are_for_numbers() -> None:
    with pytest.raises(InvalidInput, match="classes have no bounds"):
        ArrayOracle([[1.0], [2.0]], [0, 1], task="classification", target_bounds=(0, 1))
    ibis: Any = pytest.importorskip("ibis")
    table = ibis.duckdb.connect().create_table("visits", visits())
    with pytest.raises(InvalidTarget, match="target 'again' is of type string: target_bounds is for numbers"):
        TableOracle(table, "again", target_bounds=(0, 1))
    with pytest.raises(InvalidInput, match="classes have no bounds"):
        TableOracle(table, "cost", task="classification", target_bounds=(0, 1))


def test_persons_are_checked() -> None:
    table = visits()
    with pytest.raises(InvalidInput, match="'patient', which is no column of X"):
        ArrayOracle(table[["colour", "size"]], table["again"], person_id="patient")
    ibis: Any = pytest.importorskip("ibis")
    connection = ibis.duckdb.connect()
    opened = connection.create_table("visits", table)
    with pytest.raises(UnknownTable, match="no column 'patient'"):
        TableOracle(opened, "again", person_id="patient")
    with pytest.raises(InvalidInput, match="'who', which is to be learned from"):
        TableOracle(opened, "again", ["who", "size"], person_id="who")
    table.loc[3, "who"] = None
    with pytest.raises(InvalidInput, match="a row has no person, 'who' is NULL"):
        TableOracle(connection.create_table("others", table), "again", person_id="who")
