"""`tremula query` under a privacy budget: what is spent, and that nothing leaves which the rows decide without noise.

The attacker gets everything that a command writes. All noise is replaced by numbers that do not depend on the counts,
as if it were infinite: what still differs between two tables was not protected.
"""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_query import SMALL, VISITS, as_json, query

import tremula as tm
from tremula.cli.exit_codes import EXIT_BAD_INPUT
from tremula.cli.main import run

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")
pytest.importorskip("opendp")

DOMAINS = {"ward": ["bone", "heart"], "age": [20, 95], "again": ["no", "yes"]}
NUMERIC = {"ward": ["bone", "heart"], "age": [20, 95]}
CLASSES = ("--target", "again", "--members", "2", "--max-depth", "3")
COSTS = ("--target", "cost", "--members", "2", "--max-depth", "2", "--columns", "ward,age", "--target-bounds", "0,30")
TIMES = re.compile(rb'"(seconds\w*|time)": ("[^"]*"|[0-9.]+)|in [0-9.]+ s\b|generated on .*')


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("domains.json").write_text(json.dumps(DOMAINS))
    Path("numeric.json").write_text(json.dumps(NUMERIC))


def visits_with_cost() -> pd.DataFrame:
    return VISITS.assign(cost=np.arange(len(VISITS)) / 10.0)


def neighbours() -> list[pd.DataFrame]:
    """Return a table, one with more rows, extreme, of new levels and classes, or missing, and one with far fewer."""
    table = visits_with_cost()
    extreme = {"ward": "bone", "age": 10**9, "again": "no", "cost": 1e12}
    new = {"ward": "the only one", "age": -5, "again": "perhaps", "cost": -1e12}
    missing = {"ward": None, "age": None, "again": None, "cost": None}
    return [table, pd.concat([table, pd.DataFrame([extreme, new, missing])], ignore_index=True), table[:150]]


def write(table: pd.DataFrame, ending: str) -> str:
    """Write a table to a place of always the same name, and return the place."""
    table = table.astype({"age": "Int64"})
    if ending == "csv":
        table.to_csv("visits.csv", index=False)
        return "visits.csv"
    if ending == "parquet":
        table.to_parquet("visits.parquet")
        return "visits.parquet"
    file = Path(f"visits.{ending}")
    file.unlink(missing_ok=True)
    if ending == "sqlite":
        with closing(sqlite3.connect(file)) as connection:
            kinds = {"ward": "TEXT", "age": "INTEGER", "again": "TEXT", "cost": "REAL"}
            table.to_sql("visits", connection, index=False, dtype=kinds)
    else:
        with duckdb.connect(str(file)) as connection:
            table.to_parquet("rows.parquet")
            connection.execute("CREATE TABLE visits AS SELECT * FROM 'rows.parquet'")
    return f"{file}#visits"


def infinite_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace all noise by answers that do not depend on what is asked about."""
    drawn = np.random.default_rng(0).integers(20, 200, 10_000)
    monkeypatch.setattr("tremula.queries.privacy._adder", lambda _: lambda counts: drawn[: len(counts)].copy())
    monkeypatch.setattr("tremula.queries.privacy.Budget.choose", lambda self, scores, cost: len(scores) // 2)


def everything_written(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, bytes]:
    files = ("--log", "log.sql", "--ledger", "ledger.jsonl", "--sql", "model.sql", "--out", "model.tremula")
    for file in files[1::2]:
        Path(file).unlink(missing_ok=True)
    with pytest.raises(SystemExit) as stop:
        run(["query", *words, *files])
    assert not stop.value.code
    printed = capsys.readouterr()
    written = {file: Path(file).read_bytes() for file in files[1::2]}
    written |= {"printed": printed.out.encode(), "error": printed.err.encode()}
    return {name: TIMES.sub(b"", text) for name, text in written.items()}


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        ("csv", ("--epsilon", "0.5")),
        ("duckdb", ("--epsilon", "400", "--json")),
        pytest.param("sqlite", ("--rho", "500"), marks=pytest.mark.slow),
        pytest.param("parquet", ("--rho", "0.5", "--json"), marks=pytest.mark.slow),
    ],
)
def test_two_tables_cannot_be_told_apart_without_the_noise(
    ending: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    infinite_noise(monkeypatch)
    words = (*CLASSES, *options, "--domains", "domains.json")
    seen = [everything_written(capsys, write(table.drop(columns="cost"), ending), *words) for table in neighbours()]
    for other in seen[1:]:
        assert other == seen[0]


@pytest.mark.parametrize("ending", [pytest.param("csv", marks=pytest.mark.slow), "duckdb"])
def test_neither_can_tables_of_a_bounded_target(
    ending: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    infinite_noise(monkeypatch)
    words = (*COSTS, "--epsilon", "5", "--domains", "numeric.json")
    seen = [everything_written(capsys, write(table, ending), *words) for table in neighbours()]
    for other in seen[1:]:
        assert other == seen[0]


def test_the_attacker_tells_tables_apart_whose_columns_were_declared_public(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack works: it finds what is disclosed where a user said that it may be."""
    infinite_noise(monkeypatch)
    words = (*CLASSES, "--epsilon", "400", "--public", "all")
    seen = [everything_written(capsys, write(VISITS[part:], "duckdb"), *words) for part in (0, 150)]
    assert seen[0]["log.sql"] != seen[1]["log.sql"]


def test_text_among_numbers_of_a_file_tells_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    infinite_noise(monkeypatch)
    words = ("visits.csv", *CLASSES, "--epsilon", "400", "--domains", "domains.json")
    place = write(VISITS, "csv")
    before = everything_written(capsys, *words)
    with Path(place).open("a") as file:
        file.write("heart,very old,yes\n1999-01-01,1e999,no\n")
    assert everything_written(capsys, *words) == before


def test_what_is_not_stated_is_not_even_asked(capsys: pytest.CaptureFixture[str]) -> None:
    place = write(VISITS, "duckdb")
    Path("domains.json").write_text('{"again": ["no", "yes"]}')
    told = query(
        capsys, place, *CLASSES, "--epsilon", "1", "--domains", "domains.json", "--log", "log.sql", code=EXIT_BAD_INPUT
    )
    assert '{"ward": ["LEVEL", "..."], "age": ["LOWEST", "HIGHEST"]}' in " ".join(told.split())
    assert not Path("log.sql").exists()


def test_declared_columns_are_named_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    place = write(VISITS, "duckdb")
    Path("domains.json").write_text('{"again": ["no", "yes"], "age": [20, 95]}')
    words = (*CLASSES, "--epsilon", "2", "--domains", "domains.json", "--public", "ward")
    before, after = query(capsys, place, *words).split("Sent ")
    assert "what --public names: ward" in before
    assert "what --public names: ward" in after
    assert "of a privacy budget of 2 were spent" in after


def test_a_budget_of_rho_is_spent(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, write(VISITS, "duckdb"), *CLASSES, "--rho", "0.5", "--domains", "domains.json")
    assert told["disclosure"]["rho_spent"] == pytest.approx(0.5)
    assert told["disclosure"]["epsilon_spent"] is None


def test_a_ledger_file_keeps_the_budget_between_commands(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fcntl")
    place, stated = write(VISITS, "duckdb"), ("--domains", "domains.json")
    words = (place, *SMALL, *stated, "--epsilon", "2", "--delta", "1e-5", "--ledger-file", "kept")
    first, second = as_json(capsys, *words)["disclosure"], as_json(capsys, *words)["disclosure"]
    assert first["questions_answered"] == 1
    assert first["questions_estimated"] > 0
    assert second["questions_answered"] == 0
    assert first["epsilon_spent"] == second["epsilon_spent"] == pytest.approx(2, rel=1e-3)
    told = query(capsys, *words[:-3], "1e-6", *words[-2:], code=EXIT_BAD_INPUT)
    assert "delta was 1e-05 and is 1e-06" in " ".join(told.split())


def test_persons_are_limited_and_a_numeric_target_is_clamped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "visits.csv"
    VISITS.assign(patient=np.arange(300) // 3, cost=np.arange(300) / 7).to_csv(file, index=False)
    words = ("--target", "cost", "--members", "1", "--max-depth", "2", "--columns", "ward,age", "--epsilon", "5")
    limits = ("--person-id", "patient", "--rows-per-person", "2", "--target-bounds", "0,20", "--log", "sent.sql")
    limits = (*limits, "--domains", "numeric.json")
    told = as_json(capsys, str(file), *words, *limits)
    assert told["model"] == "SimulatedBaggingRegressor"
    assert [column["name"] for column in told["columns"]] == ["cost", "ward", "age"]
    assert 0 < told["disclosure"]["epsilon_spent"] <= 5 + 1e-9
    sent = Path("sent.sql").read_text().split(";\n\n")
    assert ["PARTITION BY" in sql for sql in sent if sql.startswith("CREATE TEMPORARY TABLE tremula_0_0")] == [True]
    assert not [sql for sql in sent if "GROUP BY" in sql and "tremula_0_" not in sql]  # no count of other rows
    predicted = tm.load("model.tremula").predict(VISITS[["ward", "age"]])
    assert 0 <= predicted.min() <= predicted.max() <= 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", "1", "--rho", "1"), "a budget is one of them"),
        (("--public", "ward"), "--public was given without --epsilon"),
        (("--epsilon", "1", "--cube-rows", "100"), "would tell how many there are"),
        (("--epsilon", "1", "--public", "floor", "--domains", "domains.json"), "public names 'floor'"),
        (("--epsilon", "1", "--domains", "wrong.json"), "expected two numbers"),
        (("--epsilon", "1", "--domains", "none.json"), "has no lists by column"),
        (("--epsilon", "1", "--domains", "other.json"), "a domain is of 'floor'"),
        (("--epsilon", "1", "--domains", "types.json"), "give strings"),
    ],
)
def test_mistaken_statements_give_a_message(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files: dict[str, Any] = {
        "wrong.json": {**DOMAINS, "age": [1, 2, 3]},
        "none.json": [1],
        "other.json": {**DOMAINS, "floor": [1, 2]},
        "types.json": {**DOMAINS, "ward": [1, 2]},
    }
    for name, domains in files.items():
        Path(name).write_text(json.dumps(domains))
    told = query(capsys, write(VISITS, "duckdb"), *CLASSES, *words, code=EXIT_BAD_INPUT)
    assert message in " ".join(told.split())


# --- private cuts ---


@pytest.mark.parametrize(("ending", "options"), [("duckdb", ("--epsilon", "400")), ("csv", ("--rho", "500", "--json"))])
def test_tables_cannot_be_told_apart_by_private_cuts(
    ending: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    infinite_noise(monkeypatch)
    words = (*CLASSES, *options, "--domains", "domains.json", "--private-cuts", "0.3")
    seen = [everything_written(capsys, write(table.drop(columns="cost"), ending), *words) for table in neighbours()]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("budget", [("--epsilon", "8"), ("--epsilon", "8", "--delta", "1e-6"), ("--rho", "2")])
def test_private_cuts_and_counts_together_spend_the_budget(
    budget: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    skewed = VISITS.assign(age=(20 + 75 * np.random.default_rng(0).random(len(VISITS)) ** 4).round().astype(int))
    words = (*CLASSES, *budget, "--domains", "domains.json", "--private-cuts", "0.25", "--ledger", "ledger.jsonl")
    told = as_json(capsys, write(skewed, "duckdb"), *words, "--log", "log.sql")
    unit = "rho" if budget[0] == "--rho" else "epsilon"
    assert told["disclosure"][f"{unit}_spent"] == pytest.approx(float(budget[1]), rel=1e-3)
    assert told["disclosure"][f"{unit}_spent"] <= float(budget[1]) * (1 + 1e-12)
    assert told["queries_planned"] == told["queries_sent"] + 2  # trees of estimated counts send fewer queries
    costs = [json.loads(line)["cost"] for line in Path("ledger.jsonl").read_text().splitlines()]
    assert costs[0] > 0
    cuts = tm.load("model.tremula").schema_.attributes[1].cuts
    shares = np.histogram(skewed["age"], [-np.inf, *cuts, np.inf])[0] / len(skewed)
    assert shares.max() < 0.5  # equally wide bins: more than half of the rows are in the first
    assert np.mean(skewed["age"] <= 20 + 75 / 8) > 0.5


def test_a_ledger_file_pays_for_private_cuts_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*CLASSES, "--epsilon", "2", "--domains", "domains.json", "--ledger-file", "visits.ledger")
    place = write(VISITS, "duckdb")
    told = [as_json(capsys, place, *words, "--private-cuts", "0.25") for _ in range(2)]
    assert Path("visits.ledger.cuts").exists()
    assert [one["disclosure"]["epsilon_spent"] for one in told] == pytest.approx([2.0, 2.0])
    query(capsys, place, *words, code=EXIT_BAD_INPUT)  # the whole budget again, with the same file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--private-cuts", "0.2"), "--private-cuts was given without --epsilon or --rho"),
        (("--epsilon", "1", "--private-cuts", "1"), "expected the share of the budget"),
        (("--epsilon", "1", "--private-cuts", "0.2", "--public", "all"), "no numeric column has bounds"),
    ],
)
def test_mistaken_private_cuts_give_a_message(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in query(capsys, write(VISITS, "duckdb"), *CLASSES, *options, code=EXIT_BAD_INPUT)
