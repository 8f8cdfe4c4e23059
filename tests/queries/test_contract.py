"""One suite for every oracle: the same questions about the same table have the same answers, whoever is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.queries import ADTreeOracle, ArrayOracle, FederatedOracle, GuardedOracle, TableOracle
from tremula.queries.sql.database import Database

from .tables import NOMINAL, ask, naive_count, random_paths, random_table

N_BINS = 5
Maker = Callable[[pd.DataFrame, str], Any]


def array_oracle(table: pd.DataFrame, target: str) -> ArrayOracle:
    return ArrayOracle(
        table.drop(columns=["again", "cost"]), table[target], categorical_features=NOMINAL, n_bins=N_BINS
    )


def of_ad_tree(table: pd.DataFrame, target: str) -> ADTreeOracle:
    return ADTreeOracle(
        table.drop(columns=["again", "cost"]), table[target], categorical_features=NOMINAL, n_bins=N_BINS, max_list=5
    )


def guarded(table: pd.DataFrame, target: str) -> GuardedOracle:
    return GuardedOracle(array_oracle(table, target), min_count=0)


def oracle_of_table(table: Any, target: str, **options: Any) -> TableOracle:
    attributes = [name for name in table.columns if name not in ("again", "cost")]
    return TableOracle(table, target, attributes, n_bins=N_BINS, **options)


def duckdb_table(table: pd.DataFrame) -> Any:
    connection = ibis.duckdb.connect()
    connection.con.register("frame", table)
    connection.con.execute('CREATE TABLE "x""; drop" AS SELECT * FROM frame')
    return connection.table('x"; drop')


def in_duckdb(table: pd.DataFrame, target: str) -> TableOracle:
    return oracle_of_table(duckdb_table(table), target)


def in_duckdb_by_lists(table: pd.DataFrame, target: str) -> TableOracle:
    return oracle_of_table(duckdb_table(table), target, working_table=False)


def in_duckdb_by_group(table: pd.DataFrame, target: str) -> TableOracle:
    return oracle_of_table(duckdb_table(table), target, form="group by")


def from_a_cube(table: pd.DataFrame, target: str) -> TableOracle:
    return oracle_of_table(duckdb_table(table), target, cube_rows=1000)


def in_sqlite(table: pd.DataFrame, target: str) -> TableOracle:
    connection = ibis.sqlite.connect()
    table.to_sql("visits", connection.con, index=False)
    return oracle_of_table(connection.table("visits"), target, categorical_features=["flag"])


def in_sqlite_by_group(table: pd.DataFrame, target: str) -> TableOracle:
    connection = ibis.sqlite.connect()
    table.to_sql("visits", connection.con, index=False)
    return oracle_of_table(connection.table("visits"), target, categorical_features=["flag"], working_table=False)


def federated(table: pd.DataFrame, target: str) -> FederatedOracle:
    """Three sites, of three engines; each lacks some level or class."""
    cuts = {"size": array_oracle(table, target).schema.attributes[1].cuts}
    parts = [table[table["colour"] != "red"], table[(table["colour"] == "red") & table["flag"]]]
    parts.append(table.drop(index=[*parts[0].index, *parts[1].index]))
    return FederatedOracle([oracle_of_table(duckdb_table(part), target, cuts=cuts) for part in parts])


IN_DATABASES = [in_duckdb, in_duckdb_by_lists, in_duckdb_by_group, from_a_cube, in_sqlite, in_sqlite_by_group]
OF_CLASSES = [array_oracle, of_ad_tree, guarded, *IN_DATABASES, federated]
OF_NUMBERS = [array_oracle, guarded, *IN_DATABASES, federated]


def assert_same_answers(make: Maker, target: str, seed: int) -> None:
    table = random_table(seed)
    oracle = make(table, target)
    schema = oracle.schema
    questions = ask(schema, random_paths(schema, seed, 6), seed)
    known = table[table[target].notna()].rename(columns={target: schema.target})
    for question, answer in zip(questions, oracle.count(questions), strict=True):
        np.testing.assert_allclose(answer, naive_count(schema, known, question), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", OF_CLASSES)
def test_tables_of_classes(make: Maker) -> None:
    assert_same_answers(make, "again", 1)


@pytest.mark.parametrize("make", OF_NUMBERS)
def test_tables_of_a_numeric_target(make: Maker) -> None:
    assert_same_answers(make, "cost", 2)


@pytest.mark.parametrize("make", OF_CLASSES[1:])
def test_schema_is_that_of_the_rows_in_memory(make: Maker) -> None:
    table = random_table(3)
    schema, expected = make(table, "again").schema, array_oracle(table, "again").schema
    assert schema.attributes == expected.attributes
    assert schema.classes == expected.classes


@pytest.mark.parametrize("make", OF_CLASSES[1:])
def test_trees_are_those_of_the_rows_in_memory(make: Maker) -> None:
    table = random_table(4)
    model = tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=3, random_state=0)
    trees = model.fit(make(table, "again")).members_
    assert trees == model.fit(array_oracle(table, "again")).members_


# --- engines that are services ---


@pytest.fixture
def postgres() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
        connection.execute('DROP TABLE IF EXISTS "x""; drop"')


@pytest.mark.postgres
@pytest.mark.parametrize("form", [None, "cell lists", "grouping sets", "group by"])
@pytest.mark.parametrize("target", ["again", "cost"])
def test_postgres(postgres: Any, target: str, form: str | None) -> None:
    opened = []

    def make(table: pd.DataFrame, target: str) -> TableOracle:
        types = {"size": "float8", "cost": "float8", "flag": "bool"}
        columns = ", ".join(f'"{name}" {types.get(name, "text")}' for name in table.columns)
        postgres.execute('DROP TABLE IF EXISTS "x""; drop"')
        postgres.execute(f'CREATE TABLE "x""; drop" ({columns})')
        for row in table.itertuples(index=False):
            values = [None if value is None or value != value else value for value in row]
            postgres.execute('INSERT INTO "x""; drop" VALUES (%s, %s, %s, %s, %s, %s)', values)
        attributes = ["colour", "size", "flag", "with null"]
        options = {"attributes": attributes, "n_bins": N_BINS, "form": form}
        opened.append(tm.queries.connect(os.environ["TREMULA_POSTGRES"], 'x"; drop', target=target, **options))
        return opened[0]

    assert_same_answers(make, target, 5)
    opened[0].close()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("target", "form"),
    [
        ("again", None),
        ("cost", None),
        ("again", "stack"),
        ("cost", "stack"),
        ("again", "cell lists"),
        ("cost", "cell lists"),
        ("again", "grouping sets"),
    ],
)
def test_spark(spark: Any, tmp_path: Path, target: str, form: str | None) -> None:
    def make(table: pd.DataFrame, target: str) -> TableOracle:
        table.to_parquet(tmp_path / "visits.parquet")
        return oracle_of_table(ibis.pyspark.connect(spark).read_parquet(tmp_path / "visits.parquet"), target, form=form)

    assert_same_answers(make, target, 6)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_no_row_of_partitioned_files_reaches_the_driver(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that Spark returns for a fit is looked at: counts by path and value, classes, levels and cuts."""
    table = random_table(3, 300).assign(name=[f"patient {number}" for number in range(300)])
    table.to_parquet(tmp_path / "visits.parquet")
    spark.read.parquet(str(tmp_path / "visits.parquet")).repartition(4).write.parquet(str(tmp_path / "visits"))
    assert len(list((tmp_path / "visits").glob("*.parquet"))) == 4
    fetched: list[Any] = []
    for method in ("_run", "run_sql"):
        run = getattr(Database, method)

        def record(self: Any, *words: Any, run: Any = run) -> Any:
            fetched.append(run(self, *words))
            return fetched[-1]

        monkeypatch.setattr(Database, method, record)
    visits = ibis.pyspark.connect(spark).read_parquet(str(tmp_path / "visits"), table_name="visits_in_parts")
    oracle = TableOracle(visits, "again", ["colour", "size", "flag"], n_bins=4)
    model = tm.SimulatedBaggingClassifier(2, max_depth=2, random_state=0).fit(oracle)
    alone = TableOracle(ibis.memtable(table), "again", ["colour", "size", "flag"], n_bins=4)
    assert model.members_ == tm.SimulatedBaggingClassifier(2, max_depth=2, random_state=0).fit(alone).members_
    in_spark = fetched[: oracle.n_queries]
    forms = {tuple(answer.column_names) for answer in in_spark}
    assert forms == {("label",), ("level",), ("value",), ("n", "v", "c")}
    assert max(answer.num_rows for answer in in_spark) < 100
    assert not any("patient" in str(answer.to_pylist()) for answer in in_spark)
