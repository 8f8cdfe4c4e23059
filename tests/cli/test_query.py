"""`tremula query`: what will be asked, what was asked, a model that predicts, and its SQL."""

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FILE_ERROR
from tremula.cli.main import run

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")


def make_visits() -> pd.DataFrame:
    random = np.random.default_rng(0)
    visits = pd.DataFrame({"ward": random.choice(["heart", "bone"], 300), "age": random.integers(20, 95, 300)})
    visits["again"] = np.where((visits["ward"] == "heart") & (visits["age"] > 60), "yes", "no")
    return visits


VISITS = make_visits()


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hospital")
    with duckdb.connect(str(folder / "hospital.duckdb")) as connection:
        connection.register("frame", VISITS)
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    with closing(sqlite3.connect(folder / "hospital.sqlite")) as connection:
        VISITS.to_sql("visits", connection, index=False)
    return folder


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def query(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["query", *words])
    printed = capsys.readouterr()
    assert int(stop.value.code or 0) == code, printed.err
    assert "Traceback" not in printed.err
    return printed.err if code else printed.out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return json.loads(query(capsys, *words, "--json"))


SMALL = ("--target", "again", "--members", "3", "--max-depth", "2")


def test_a_dry_run_tells_the_queries_and_writes_nothing(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, f"duckdb://{hospital}/hospital.duckdb", "--table", "visits", *SMALL, "--dry-run")
    assert [(column["name"], column["kind"]) for column in told["columns"]] == [
        ("again", "nominal"), ("ward", "nominal"), ("age", "numeric"),
    ]  # fmt: skip
    assert (told["column_queries"], told["queries_per_depth"], told["queries_planned"]) == (3, 1, 13)
    assert told["root_queries"][0].startswith("SELECT n, ")
    assert told["working_table"].startswith("CREATE TEMPORARY TABLE tremula_0_0 AS ")
    assert list(Path().iterdir()) == []


def test_a_dry_run_in_words_shows_the_query(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--dry-run")
    assert "About 13 queries" in printed
    assert "with 20% of the rows held out inside the database" in printed
    assert "makes a temporary table of numbers" in printed
    assert "GROUP BY n, k" in printed
    assert "Only the names and types" in printed


def test_the_plan_is_what_is_asked_and_the_model_predicts(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (f"{hospital}/hospital.duckdb", "--table", "visits", *SMALL, "--log", "log.sql", "--sql", "model.sql")
    told = as_json(capsys, *words)
    assert told["queries_sent"] == told["queries_planned"]
    log = Path("log.sql").read_text().split(";\n\n")[:-1]
    assert sum(not sql.startswith(("CREATE", "DROP")) for sql in log) == told["queries_sent"]
    assert told["working_table_refusal"] is None
    model = tm.load("model.tremula")
    expected = model.predict(VISITS[["ward", "age"]])
    assert (expected == VISITS["again"]).mean() > 0.9
    with duckdb.connect(f"{hospital}/hospital.duckdb", read_only=True) as connection:
        answered = connection.sql(Path("model.sql").read_text()).df()
    assert answered["prediction"].tolist() == expected.tolist()


@pytest.mark.parametrize(("rows", "is_fetched"), [("0", False), ("5", False), ("auto", True), ("100000", True)])
def test_whether_rows_were_fetched_is_said(
    hospital: Path, capsys: pytest.CaptureFixture[str], rows: str, is_fetched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tremula.queries.sql.cube.NUMBERS_OF_A_COUNT", 1000)  # auto fetches after the first counts
    told = query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--cube-rows", rows)
    assert ("never a row" in told) == (rows == "0")
    assert ("The counts of all different rows were fetched" in told) == is_fetched


def test_sqlite_predicts_by_the_sql_too(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query(capsys, f"{hospital}/hospital.sqlite", "--table", "visits", *SMALL, "--sql", "model.sql")
    with closing(sqlite3.connect(hospital / "hospital.sqlite")) as connection:
        answered = pd.read_sql(Path("model.sql").read_text(), connection)
    expected = tm.load("model.tremula").predict(VISITS[["ward", "age"]])
    assert answered["prediction"].tolist() == expected.tolist()


def test_the_error_on_held_out_rows_is_told(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (f"{hospital}/hospital.duckdb#visits", *SMALL)
    told = as_json(capsys, *words)["error_estimate"]
    assert told["rows_held_out"] + told["rows_of_model"] == 300
    assert sum(map(sum, told["confusion"])) == told["rows_held_out"]
    assert told["classes"] == ["no", "yes"]
    assert told["interval"][0] <= told["value"] <= told["interval"][1] < told["constant"]
    assert (told["constant_prediction"], told["is_of_saved_model"]) == ("no", False)
    printed = " ".join(query(capsys, *words).split())
    assert f"Error {told['value']:.1%} (95% interval" in printed
    assert f"predicting 'no' for every row: {told['constant']:.1%}" in printed
    assert "the saved model has learned from all rows" in printed
    assert "were held out one by one" in printed
    with_estimate = tm.load("model.tremula")
    without = as_json(capsys, *words, "--holdout", "0")
    assert without["error_estimate"] == {"left_out": "--holdout is 0"}
    assert without["queries_sent"] == without["queries_planned"] == 6
    assert tm.load("model.tremula").members_ == with_estimate.members_


def test_a_model_of_noise_is_not_called_better(capsys: pytest.CaptureFixture[str]) -> None:
    noise = np.random.default_rng(1).permutation(VISITS["again"])
    VISITS.assign(again=noise).to_csv("visits.csv", index=False)
    assert "not shown to be better" in query(capsys, "visits.csv", *SMALL)


def test_without_enough_rows_there_is_a_model_and_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    VISITS[:4].assign(again=["yes", "no", "no", "no"]).to_parquet("visits.parquet")
    told = as_json(capsys, "visits.parquet", *SMALL, "--holdout", "0.01")["error_estimate"]
    assert "hold out a larger share" in told["left_out"]
    assert Path("model.tremula").exists()


def test_behind_a_guard_rows_are_held_out_on_request(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (f"{hospital}/hospital.duckdb#visits", *SMALL, "--min-count", "5", "--ledger", "ledger.jsonl")
    assert "could be subtracted from each other" in query(capsys, *words)
    few_errors = as_json(capsys, *words, "--holdout", "0.4")["error_estimate"]
    assert "too small to be disclosed" in few_errors["left_out"]
    told = as_json(capsys, *words, "--holdout", "0.4", "--target", "ward")["error_estimate"]
    assert (told["is_of_saved_model"], told["confusion"]) == (True, None)
    assert told["rows_held_out"] + told["rows_of_model"] == pytest.approx(300, abs=10)
    asked = [json.loads(line)["rows"] for line in Path("ledger.jsonl").read_text().splitlines()]
    assert set(asked) == {"not held out", "held out"}
    assert asked.count("held out") == 1


def test_the_ledger_has_the_questions_of_the_estimate(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--ledger", "ledger.jsonl")
    entries = [json.loads(line) for line in Path("ledger.jsonl").read_text().splitlines()]
    assert [entry["number"] for entry in entries] == list(range(len(entries)))
    assert {entry["rows"] for entry in entries} == {"all", "not held out", "held out"}
    assert entries[-1]["attributes"] == ["prediction"]


def test_attributes_are_drawn_at_each_node(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--max-features", "0.5", "--holdout", "0")
    model = tm.load("model.tremula")
    assert model.max_features == 0.5
    assert {int(tree.nodes["attribute"][0]) for tree in model.members_} == {0, 1}


def test_a_numeric_target_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    VISITS.assign(fee=VISITS["age"] * 1.5).to_parquet("visits.parquet")
    told = as_json(capsys, "visits.parquet", "--target", "fee", "--columns", "age", "--members", "2")
    assert told["model"] == "SimulatedBaggingRegressor"
    assert told["error_estimate"]["measure"] == "rmse"
    assert told["error_estimate"]["interval"][1] < told["error_estimate"]["constant"]
    assert abs(tm.load("model.tremula").predict(VISITS[["age"]]) - VISITS["age"] * 1.5).mean() < 10


def test_a_text_file_is_read_as_the_other_commands_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{age},5;{ward};{'?' if age > 80 else ''};{age % 2}" for age, ward in zip(VISITS["age"], VISITS["ward"])]
    Path("visits.txt").write_text("\n".join(["age;ward;empty;odd", *lines]))
    told = as_json(capsys, "visits.txt", "--target", "odd", "--members", "2", "--columns", "age,ward,empty")
    assert [(column["name"], column["kind"]) for column in told["columns"]] == [
        ("odd", "nominal"),
        ("age", "numeric"),
        ("ward", "nominal"),
    ]
    assert told["classes"] == ["0", "1"]
    with pytest.raises(SystemExit) as stop:
        run(["predict", "model.tremula", "visits.txt", "--out", "answers.csv"])
    assert not stop.value.code


def test_compressed_files_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    VISITS.to_csv("visits.csv.gz", index=False)
    told = as_json(capsys, "visits.csv.gz", *SMALL, "--holdout", "0")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(VISITS.to_csv(index=False).encode())))
    assert as_json(capsys, "-", *SMALL, "--holdout", "0")["mean_leaves"] == told["mean_leaves"]


def test_a_file_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("visits.csv").write_text("age,again\n1,yes\n2,no\n")
    message = query(capsys, "visits.csv", "--table", "visits", "--target", "again", code=EXIT_BAD_INPUT)
    assert "is not a database: leave it out" in message


def test_truth_values_and_whole_numbers_as_levels_predict(capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.DataFrame({"old": VISITS["age"] > 60, "floor": VISITS["age"] % 3, "again": VISITS["again"]})
    rows.to_parquet("visits.parquet")
    query(capsys, "visits.parquet", "--nominal", "floor", *SMALL)
    with pytest.raises(SystemExit) as stop:
        run(["predict", "model.tremula", "visits.parquet", "--out", "answers.csv"])
    assert not stop.value.code
    expected = tm.load("model.tremula").predict(rows[["old", "floor"]])
    assert pd.read_csv("answers.csv")["prediction"].tolist() == expected.tolist()


def test_the_rules_of_disclosure_are_kept_and_reported(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"{hospital}/hospital.duckdb#visits"
    told = as_json(capsys, place, *SMALL, "--min-count", "10", "--round-to", "5", "--ledger", "ledger.jsonl")
    entries = [json.loads(line) for line in Path("ledger.jsonl").read_text().splitlines()]
    assert told["disclosure"]["cells_suppressed"] == sum(entry["suppressed"] for entry in entries) > 0
    assert told["disclosure"]["questions_answered"] == sum(entry["outcome"] == "answered" for entry in entries)
    assert "--min-count and --round-to do not protect them" in told["not_covered"]


def test_what_no_rule_protects_is_said_before_and_after(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--min-count", "10")
    before, after = printed.split("Sent ")
    assert "do not protect them" in before
    assert "do not protect them" in after


def test_a_fit_that_fails_leaves_its_ledger_and_log(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SMALL, "--min-count", "1000", "--ledger", "ledger.jsonl", "--log", "log.sql")
    told = query(capsys, f"{hospital}/hospital.duckdb#visits", *words, code=EXIT_BAD_INPUT)
    entries = [json.loads(line) for line in Path("ledger.jsonl").read_text().splitlines()]
    suppressed = sum(entry["suppressed"] for entry in entries)
    assert suppressed > 0
    assert f"{suppressed} cells with too few rows were suppressed: lower --min-count" in told
    assert "GROUP BY n, k" in Path("log.sql").read_text()


def test_without_a_working_table(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (f"{hospital}/hospital.duckdb#visits", *SMALL, "--log", "log.sql")
    told = as_json(capsys, *words, "--working-table", "no")
    expected = tm.load("model.tremula").members_
    assert "CREATE" not in Path("log.sql").read_text()
    assert (told["working_table"], told["working_table_refusal"]) == (None, "working_table is False")
    as_json(capsys, *words, "--working-table", "yes")
    assert "CREATE" in Path("log.sql").read_text()
    assert tm.load("model.tremula").members_ == expected


def test_a_column_named_twice_is_asked_about_once(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, "--columns", "age,ward,age", "--dry-run")
    assert [column["name"] for column in told["columns"]] == ["again", "age", "ward"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rows-per-person", "2"), "without --person-id"),
        (("--delta", "1e-6"), "--delta was given without --epsilon"),
        (("--target-bounds", "1"), "expected two numbers"),
        (("--target-bounds", "low,high"), "give LOW,HIGH"),
        (("--person-id", "patient"), "no column 'patient'"),
    ],
)
def test_mistaken_budgets_give_a_message(
    words: tuple[str, ...], message: str, hospital: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = query(capsys, f"{hospital}/hospital.duckdb#visits", *SMALL, *words, code=EXIT_BAD_INPUT)
    assert message in " ".join(told.split())


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("{}/hospital.duckdb", "--table", "vists", "--target", "again"), EXIT_BAD_INPUT, "did you mean 'visits'?"),
        (("{}/hospital.duckdb#visits", "--target", "agian"), EXIT_BAD_INPUT, "did you mean 'again'?"),
        (("{}/hospital.duckdb", "--target", "again"), EXIT_BAD_INPUT, "there are 'visits'"),
        (("{}/hospital.duckdb#a", "--table", "b", "--target", "c"), EXIT_BAD_INPUT, "give only one of them"),
        (("{}/nowhere.duckdb", "--table", "visits", "--target", "again"), EXIT_BAD_INPUT, "no database file"),
        (("{}/hospital.duckdb#visits", "--target", "again", "--cube-rows", "-1"), EXIT_BAD_INPUT, "expected a whole"),
        (
            ("{}/hospital.duckdb#visits", "--target", "again", "--cube-rows", "9" * 5000),
            EXIT_BAD_INPUT,
            "expected a wh",
        ),
        (("rows.xlsx", "--target", "again"), EXIT_BAD_INPUT, "neither the URL of a database"),
        (("{}/hospital.duckdb#visits", "--target", "again", "--out", "no/m.tremula"), EXIT_FILE_ERROR, "make it"),
        (
            ("{}/hospital.duckdb#visits", "--target", "age", "--task", "regression", "--privacy", "1"),
            3,
            "give its public bounds as --target-bounds",
        ),
        (("{}/hospital.duckdb#visits", "--target", "again", "--privacy", "0"), EXIT_BAD_INPUT, "--epsilon=0.0"),
        (("{}/hospital.duckdb#visits", "--target", "again", "--log", "a", "--ledger", "./a"), 3, "two files"),
        (("{}/hospital.duckdb#visits", "--target", "again", "--holdout", "1"), EXIT_BAD_INPUT, "at most 0.9"),
        (("{}/hospital.duckdb#visits", "--target", "again", "--holdout", "0.2", "--epsilon", "1"), 3, "does not pay"),
        (("{}/hospital.duckdb#visits",), 2, "--target"),
    ],
)
def test_a_mistake_gives_a_message(
    words: tuple[str, ...], code: int, message: str, hospital: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in query(capsys, *(word.format(hospital) for word in words), code=code)


def test_a_password_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql://ann:secret@localhost:1/base"
    printed = query(capsys, url, "--table", "visits", "--target", "again", code=EXIT_BAD_INPUT)
    assert "secret" not in printed
    assert len(printed.splitlines()) == 1


def test_a_column_that_numbers_the_rows_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    VISITS.assign(customer_id=np.arange(len(VISITS))).to_csv("visits.csv", index=False)
    with pytest.raises(SystemExit):
        run(["query", "visits.csv", *SMALL, "--target", "again", "--json"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["identifiers"] == ["customer_id"]
    assert "column 'customer_id' has few rows for each value" in printed.err
    assert "--columns ward,age" in printed.err


def test_behind_a_guard_no_rows_are_counted_to_find_identifiers(capsys: pytest.CaptureFixture[str]) -> None:
    VISITS.assign(customer_id=np.arange(len(VISITS))).to_csv("visits.csv", index=False)
    told = as_json(capsys, "visits.csv", *SMALL, "--target", "again", "--min-count", "5", "--log", "log.sql")
    assert told["identifiers"] == []
    assert "COUNT(DISTINCT" not in Path("log.sql").read_text().upper()
