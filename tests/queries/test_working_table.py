"""The working table of a database's session: the same counts and trees as without it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import QueryFailed
from tremula.queries import Condition, GuardedOracle, Question, TableOracle, connect
from tremula.queries.question import EVERYWHERE, narrow
from tremula.queries.sql.working_sql import is_statement
from tremula.queries.sql.working_steps import plan_stages, starts_at_root

from .tables import ask, naive_count, random_paths, random_table

ATTRIBUTES = ["colour", "size", "flag", "with null"]


def duckdb_file(folder: Path, table: pd.DataFrame) -> str:
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return f"duckdb://{folder / 'visits.duckdb'}?read_only=True"


def sqlite_file(folder: Path, table: pd.DataFrame) -> str:
    connection = ibis.sqlite.connect(folder / "visits.sqlite")
    table.to_sql("visits", connection.con, index=False)
    connection.disconnect()
    return f"sqlite://{folder / 'visits.sqlite'}"


FILES = {"duckdb": duckdb_file, "sqlite": sqlite_file}
OPTIONS: dict[str, dict[str, Any]] = {
    "classes": {"target": "again"},
    "bounded": {"target": "cost", "target_bounds": (-2.0, 7.0)},
    "persons": {"target": "again", "person_id": "who", "rows_per_person": 2},
}


def trees(url: Any, working_table: bool, target: str, **options: Any) -> list[Any]:
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    with connect(
        url, "visits", target=target, attributes=ATTRIBUTES, n_bins=6, working_table=working_table, **options
    ) as oracle:
        assert oracle.working_table_refusal == (None if working_table else "working_table is False")
        model = kind(3, max_depth=3, random_state=0, n_joint_features=2).fit(oracle)
        return [*model.members_, *kind(3, max_depth=4, max_features=2, random_state=1).fit(oracle).members_]


def visits() -> pd.DataFrame:
    return random_table(7, 300).assign(who=np.arange(300) // 3)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("engine", FILES)
def test_trees_are_equal(engine: str, kind: str, tmp_path: Path) -> None:
    url = FILES[engine](tmp_path, visits())
    assert trees(url, True, **OPTIONS[kind]) == trees(url, False, **OPTIONS[kind])


@pytest.mark.parametrize("max_distinct", [0, 100_000])
@pytest.mark.parametrize("target", ["again", "cost"])
def test_batches_in_any_order(target: str, max_distinct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths lead on from those of the batch before, stay, or start at the root again."""
    monkeypatch.setattr("tremula.queries.sql.batch.MAX_DISTINCT", max_distinct)
    table = random_table(8, 200)
    oracle = TableOracle(ibis.memtable(table), target, ATTRIBUTES, n_bins=5)
    schema = oracle.schema
    known = table[table[target].notna()]
    for batch in range(6):
        for question in (questions := ask(schema, random_paths(schema, batch, 8), batch)):
            assert question.attributes
        for question, answer in zip(questions, oracle.count(questions), strict=True):
            np.testing.assert_allclose(answer, naive_count(schema, known, question), rtol=1e-9, atol=1e-9)


def test_one_step_from_the_paths_before_or_from_the_root() -> None:
    outer, inner = narrow((), 0, 1, 1), narrow(narrow((), 0, 1, 1), 1, 0, 2)
    stages, before = plan_stages([inner, outer], {inner: outer}, {outer})
    assert (stages, before) == ([[inner, outer]], {inner: outer})
    assert not starts_at_root(stages, before, {outer})
    stages, before = plan_stages([inner, EVERYWHERE], {}, {(Condition(3, 0, 0),)})
    assert [sorted(stage) for stage in stages] == [sorted([outer, EVERYWHERE]), sorted([inner, EVERYWHERE])]
    assert starts_at_root(stages, before, {(Condition(3, 0, 0),)})


def deep_fit(url: str, sent: list[str], **options: Any) -> list[Any]:
    with connect(url, "visits", target="again", attributes=ATTRIBUTES, on_query=sent.append, **options) as oracle:
        return tm.SimulatedBaggingClassifier(5, random_state=0).fit(oracle).members_


def test_long_tables_of_steps_and_many_questions_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = duckdb_file(tmp_path, visits())
    expected = deep_fit(url, sent := [])
    monkeypatch.setattr("tremula.queries.sql.working_table.MIN_CHUNK", 3)
    monkeypatch.setattr("tremula.queries.sql.working_table.MAX_ANSWER", 0)
    monkeypatch.setattr("tremula.queries.sql.working_table.SPARE_SQL", 0)
    monkeypatch.setattr("tremula.queries.sql.working_table.INLINE_SHARE", 1000)
    assert deep_fit(url, more := []) == expected
    assert len(more) > 2 * len(sent)
    assert max(len(sql) for sql in more) < 100_000


def test_no_text_of_a_statement_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = duckdb_file(tmp_path, visits())
    expected = deep_fit(url, [], working_table=False)
    monkeypatch.setattr("tremula.queries.sql.working_table.MAX_SQL", 500)
    with connect(url, "visits", target="again", attributes=ATTRIBUTES) as oracle:
        assert tm.SimulatedBaggingClassifier(5, random_state=0).fit(oracle).members_ == expected
        assert "longer than 500" in str(oracle.working_table_refusal)
    with pytest.raises(QueryFailed, match=r"longer than 500.*use working_table='auto'"):
        deep_fit(url, [], working_table=True)


def test_a_depth_with_too_many_copies_of_rows_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = duckdb_file(tmp_path, visits())
    expected = deep_fit(url, usual := [])
    monkeypatch.setattr("tremula.queries.sql.working_table.MAX_BYTES", 300 * 16)  # one copy of each row
    assert deep_fit(url, sent := []) == expected
    assert not any("unnest(a)" in sql for sql in usual)
    assert any("unnest(a)" in sql for sql in sent)
    assert any(sql.startswith("CREATE") for sql in sent)


@pytest.mark.parametrize("n_levels", [200, 900])
def test_fields_of_sixteen_bits(n_levels: int, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"site": random.integers(n_levels, size=3000).astype(str), "size": random.normal(size=3000)})
    table["again"] = np.where(table["site"].str.len() + table["size"] > 3, "yes", "no")
    url = duckdb_file(tmp_path, table)
    answers = []
    for working_table in (True, False):
        with connect(url, "visits", target="again", working_table=working_table) as oracle:
            answers.append(oracle.count([Question(narrow((), 1, 0, 9), (0, 1)), Question(narrow((), 0, 7, 7), (1,))]))
    np.testing.assert_array_equal(*answers)


def test_more_values_than_a_field_has(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"site": [f"site {row}" for row in range(700)], "again": [str(row % 100) for row in range(700)]}
    )
    with connect(duckdb_file(tmp_path, table), "visits", target="again") as oracle:
        assert oracle.count([Question((), (0,))])[0].sum() == 700
        assert oracle.working_table_refusal == "70,100 values of an attribute by class are too many for a working table"


def test_what_is_in_the_session_is_put_back() -> None:
    connection = ibis.duckdb.connect()
    connection.con.execute("SET perfect_ht_threshold = 7")
    connection.con.register("frame", visits())
    connection.con.execute("CREATE TABLE visits AS SELECT * FROM frame")
    oracle = TableOracle(connection.table("visits"), "again", ATTRIBUTES)
    tm.SimulatedBaggingClassifier(2, max_depth=3, random_state=0).fit(oracle)
    assert connection.con.execute("SELECT current_setting('perfect_ht_threshold')").fetchone() == (7,)
    assert len(connection.con.execute("SELECT * FROM duckdb_tables() WHERE temporary").fetchall()) == 2
    oracle.close()
    assert not connection.con.execute("SELECT * FROM duckdb_tables() WHERE temporary").fetchall()
    assert connection.con.execute("SELECT COUNT(*) FROM visits").fetchone() == (300,)


def test_oracles_that_share_a_session_have_tables_of_their_own(tmp_path: Path) -> None:
    connection = ibis.duckdb.connect()
    connection.con.register("frame", visits())
    connection.con.execute("CREATE TABLE visits AS SELECT * FROM frame")
    oracles = [
        TableOracle(backend.table("visits"), "again", [name], n_bins=4)
        for backend, name in ((connection, "size"), (ibis.duckdb.from_connection(connection.con), "colour"))
    ]
    for oracle in oracles:
        assert oracle.count([Question((), (0,))])[0].sum() == 300
    names = connection.con.execute("SELECT table_name FROM duckdb_tables() WHERE temporary ORDER BY ALL").fetchall()
    assert names == [("tremula_0_0",), ("tremula_1_0",)]


def test_counts_are_those_of_the_first_question() -> None:
    connection = ibis.duckdb.connect()
    connection.con.register("frame", visits())
    connection.con.execute("CREATE TABLE visits AS SELECT * FROM frame")
    oracle = TableOracle(connection.table("visits"), "again", ATTRIBUTES)
    everywhere = oracle.count([Question((), (0,))])[0]
    connection.con.execute("INSERT INTO visits SELECT * FROM visits")
    assert oracle.count([Question((), (0, 1))])[0][oracle.schema.cells(0)].sum() == everywhere.sum() == 300


def test_a_lost_session_is_made_anew(tmp_path: Path) -> None:
    url = duckdb_file(tmp_path, visits())
    expected = deep_fit(url, [], working_table=False)
    n_cuts = 0

    def cut(sql: str) -> None:
        nonlocal n_cuts
        if n_cuts < 3 and not is_statement(sql) and "tremula_" in sql:
            n_cuts += 1
            oracle._database.backend.con.close()

    with connect(url, "visits", target="again", attributes=ATTRIBUTES, on_query=cut, retries=3) as oracle:
        assert tm.SimulatedBaggingClassifier(5, random_state=0).fit(oracle).members_ == expected
    assert n_cuts == 3


def test_a_guard_asks_and_answers_the_same(tmp_path: Path) -> None:
    url, answers = duckdb_file(tmp_path, visits()), []
    for working_table in (True, False):
        with connect(url, "visits", target="again", attributes=ATTRIBUTES, working_table=working_table) as oracle:
            guarded = GuardedOracle(oracle, min_count=5, round_to=5)
            model = tm.SimulatedBaggingClassifier(5, max_depth=4, random_state=0).fit(guarded)
            answers.append((model.members_, [replace(entry, time="") for entry in guarded.ledger]))
    assert answers[0] == answers[1]


# --- engines that are services ---


@contextmanager
def postgres_table(table: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    admin = ibis.connect(url)
    admin.create_table("visits", table, overwrite=True)
    try:
        yield url, admin
    finally:
        admin.drop_table("visits", force=True)
        admin.disconnect()


@pytest.mark.postgres
@pytest.mark.parametrize("kind", OPTIONS)
def test_trees_in_postgres(kind: str) -> None:
    with postgres_table(visits()) as (url, _):
        assert trees(url, True, **OPTIONS[kind]) == trees(url, False, **OPTIONS[kind])


@pytest.mark.postgres
def test_a_role_that_only_reads_counts_without_one() -> None:
    with postgres_table(visits()) as (url, admin):
        for sql in (
            "CREATE ROLE visits_reader LOGIN",
            "GRANT SELECT ON visits TO visits_reader",
            "ALTER ROLE visits_reader SET default_transaction_read_only = on",
        ):
            admin.raw_sql(sql).close()
        try:
            reader = url.replace("postgres@", "visits_reader@")
            expected = deep_fit(url, [])
            with connect(reader, "visits", target="again", attributes=ATTRIBUTES) as oracle:
                assert tm.SimulatedBaggingClassifier(5, random_state=0).fit(oracle).members_ == expected
                assert "read-only transaction" in str(oracle.working_table_refusal)
            with pytest.raises(QueryFailed, match="read-only transaction"):
                deep_fit(reader, [], working_table=True)
        finally:
            for sql in ("REVOKE ALL ON visits FROM visits_reader", "DROP ROLE visits_reader"):
                admin.raw_sql(sql).close()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_trees_in_spark(spark: Any, tmp_path: Path) -> None:
    visits().to_parquet(tmp_path / "visits.parquet")
    members, before = [], spark_views(spark)  # oracles of other tests may be open in the same session
    for working_table in (True, False):
        table = ibis.pyspark.connect(spark).read_parquet(tmp_path / "visits.parquet", table_name=f"v{working_table}")
        with TableOracle(table, "again", ATTRIBUTES, n_bins=4, working_table=working_table) as oracle:
            members.append(tm.SimulatedBaggingClassifier(2, max_depth=3, random_state=0).fit(oracle).members_)
    assert members[0] == members[1]
    assert spark_views(spark) == before


def spark_views(spark: Any) -> set[str]:
    return {view.name for view in spark.catalog.listTables() if view.name.startswith("tremula_")}
