"""Hostile names, types and values: the same counts on every engine as from the rows in memory, or a clear refusal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidInput, InvalidTarget, UnknownTable
from tremula.queries import ArrayOracle, Question, TableOracle
from tremula.queries.question import narrow

LONG = "x" * 10_000
ENGINES = ["duckdb", pytest.param("sqlite", marks=pytest.mark.slow)]


def opened(frame: pd.DataFrame, engine: str = "duckdb", name: str = "visits") -> Any:
    """Write a frame into a database in memory, and return its table."""
    if engine == "sqlite":
        connection = ibis.sqlite.connect()
        frame.to_sql(name, connection.con, index=False)
    else:
        connection = ibis.duckdb.connect()
        connection.con.register("frame", frame)
        connection.con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM frame')
    return connection.table(name)


def assert_same_as_in_memory(frame: pd.DataFrame, engine: str, **options: Any) -> None:
    """Compare counts on all paths of one condition, and whole trees."""
    attributes = frame.drop(columns="again")
    nominal = [name for name in attributes if attributes[name].dtype.kind not in "iuf"]
    in_memory = ArrayOracle(attributes, frame["again"], n_bins=4, categorical_features=nominal)
    oracle = TableOracle(opened(frame, engine), "again", n_bins=4, **options)
    assert oracle.schema.attributes == in_memory.schema.attributes
    everything = tuple(range(attributes.shape[1]))
    paths = [()] + [narrow((), a, v, v) for a in everything for v in range(oracle.schema.attributes[a].n_values)]
    questions = [Question(path, everything) for path in paths]
    for answer, expected in zip(oracle.count(questions), in_memory.count(questions), strict=True):
        assert (answer == expected).all()
    model = tm.SimulatedBaggingClassifier(2, random_state=0)
    assert model.fit(oracle).members_ == model.fit(in_memory).members_


def again(n_rows: int) -> np.ndarray:
    return np.where(np.arange(n_rows) % 3 == 0, "yes", "no")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "levels",
    [
        ("a", LONG, LONG + "y"),
        ("a", "A", "á"),
        ("", " ", "NULL"),
        ("'", '"', "\\", "%s", "{}", "$1", "--"),
    ],
    ids=["10 kB", "case", "blank", "quotes"],
)
def test_levels(levels: tuple[str, ...], engine: str) -> None:
    words = np.array(levels, dtype=object)[np.arange(30) % len(levels)]
    assert_same_as_in_memory(pd.DataFrame({"word": words, "size": np.arange(30) % 7, "again": again(30)}), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", [LONG, "a'b", "%s", "n", "SELECT", "v0"], ids=["10 kB", "quote", "%", "n", "SQL", "own"]
)
def test_names_of_columns(name: str, engine: str) -> None:
    frame = pd.DataFrame({name: list("abc") * 10, "w": np.arange(30) % 7, "again": again(30)})
    assert_same_as_in_memory(frame, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_numbers_beyond_double_precision(engine: str) -> None:
    large = 2**53 + np.arange(30) % 5
    assert_same_as_in_memory(pd.DataFrame({"number": large, "again": again(30)}), engine)


@pytest.mark.parametrize("target", ["again", "label"])
@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ((2**53 + 1, 5), r"beyond 2\*\*53.*cast the column to strings"),
        (("a", "a\0"), "with NUL, which no query can contain: remove it"),
    ],
)
def test_labels_that_cannot_be_queried_or_would_change_are_refused(
    labels: tuple[Any, ...], match: str, target: str
) -> None:
    table = opened(pd.DataFrame({"label": labels * 3, "again": [0, 1, 1] * 2}))
    other = "label" if target == "again" else "again"
    with pytest.raises(InvalidInput, match=match):
        TableOracle(table, target, [other], categorical_features=[other])


def test_booleans() -> None:
    assert_same_as_in_memory(pd.DataFrame({"flag": np.arange(30) % 2 == 0, "again": again(30)}), "duckdb")


def test_decimals_are_numbers() -> None:
    table = opened(pd.DataFrame({"price": np.arange(30) / 4, "again": again(30)}))
    exact = TableOracle(table.mutate(price=table.price.cast("decimal(9, 2)")), "again", n_bins=4)
    question = Question(narrow((), 0, 1, 2), (0,))
    assert exact.schema == TableOracle(table, "again", n_bins=4).schema
    assert (exact.count([question])[0] == TableOracle(table, "again", n_bins=4).count([question])[0]).all()


def test_infinite_numbers_are_in_the_outer_bins() -> None:
    values = [-np.inf] * 10 + [1.0] * 5 + [2.0] * 5 + [np.inf] * 10
    oracle = TableOracle(opened(pd.DataFrame({"size": values, "again": again(30)})), "again", n_bins=4)
    assert oracle.schema.attributes[0].cuts == (1.0,)
    assert oracle.count([Question((), (0,))])[0].sum(axis=1).tolist() == [15, 15, 0]


def test_an_infinite_target_is_refused() -> None:
    with pytest.raises(InvalidTarget, match="target 'cost' is infinite"):
        TableOracle(opened(pd.DataFrame({"size": [1, 2, 3], "cost": [1.0, -np.inf, 2.0]})), "cost")


@pytest.mark.parametrize("kind", ["date", "timestamp", "decimal(9, 2)"])
def test_a_target_of_another_type_is_refused(kind: str) -> None:
    table = opened(
        pd.DataFrame({"size": [1, 2, 3], "day": pd.to_datetime(["2020-01-01"] * 3), "cost": [1.0, 2.0, 3.0]})
    )
    target = "cost" if kind.startswith("decimal") else "day"
    with pytest.raises(InvalidTarget, match=r"expected classes \(strings, booleans, integers\) or numbers: cast it"):
        TableOracle(table.mutate(**{target: table[target].cast(kind)}), target, ["size"], task="classification")


def test_a_view_is_a_table() -> None:
    table = opened(pd.DataFrame({"size": np.arange(30) % 7, "again": again(30)}))
    connection = table.get_backend()
    connection.raw_sql("CREATE VIEW seen AS SELECT * FROM visits WHERE size > 2")
    oracle = TableOracle(connection.table("seen"), "again")
    assert oracle.count([Question((), (0,))])[0].sum() == np.count_nonzero(np.arange(30) % 7 > 2)


def test_a_table_of_another_schema_is_opened_by_ibis(tmp_path: Any) -> None:
    file = tmp_path / "hospital.db"
    connection = ibis.duckdb.connect(file)
    connection.raw_sql("CREATE SCHEMA north")
    connection.raw_sql("CREATE TABLE north.visits AS SELECT i % 3 AS size, i % 2 AS again FROM range(30) AS r(i)")
    assert TableOracle(connection.table("visits", database="north"), "again").count([Question((), (0,))])[0].sum() == 30
    connection.disconnect()
    with pytest.raises(UnknownTable, match=r"pass ibis.connect\(url\).table\('visits', database='north'\) instead"):
        tm.queries.connect(f"duckdb://{file}", "north.visits", target="again")


@pytest.fixture
def reader() -> Iterator[str]:
    """A role of PostgreSQL that can only SELECT, from one table, in transactions that are read-only."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    with psycopg.connect(url, autocommit=True) as connection:
        base = connection.info.dbname
        connection.execute(
            "CREATE TABLE seen AS SELECT i % 3 AS size, i % 7 AS ward, i % 2 AS again FROM "
            "generate_series(1, 60) AS r(i)"
        )
        connection.execute(
            'CREATE TABLE "Seen" AS SELECT i AS size, i AS "Size", i % 2 AS again FROM generate_series(1, 60) AS r(i)'
        )
        connection.execute("CREATE ROLE tremula_reader LOGIN PASSWORD 'r' ")
        connection.execute("ALTER ROLE tremula_reader SET default_transaction_read_only = on")
        connection.execute(f'REVOKE TEMPORARY ON DATABASE "{base}" FROM PUBLIC')
        connection.execute('GRANT SELECT ON seen, "Seen" TO tremula_reader')
        info = connection.info
        try:
            yield f"postgresql://tremula_reader:r@{info.host}:{info.port}/{base}"
        finally:
            connection.execute('DROP TABLE seen, "Seen"')
            connection.execute("DROP ROLE tremula_reader")
            connection.execute(f'GRANT TEMPORARY ON DATABASE "{base}" TO PUBLIC')


@pytest.mark.postgres
@pytest.mark.parametrize("options", [{}, {"form": "group by"}, {"cube_rows": 100}])
def test_a_role_that_can_only_select_suffices(reader: str, options: dict[str, Any]) -> None:
    with tm.queries.connect(reader, "seen", target="again", categorical_features=["ward"], **options) as oracle:
        model = tm.SimulatedBaggingClassifier(2, max_depth=3, random_state=0).fit(oracle)
    numbers = np.arange(1, 61)
    rows = pd.DataFrame({"size": numbers % 3, "ward": numbers % 7})
    assert model.members_ == model.fit(ArrayOracle(rows, numbers % 2, categorical_features=[1])).members_


@pytest.mark.postgres
def test_names_that_differ_in_case_only(reader: str) -> None:
    with tm.queries.connect(reader, "Seen", target="again") as oracle:
        assert [attribute.name for attribute in oracle.schema.attributes] == ["size", "Size"]
        assert (oracle.count([Question(narrow((), 0, 0, 3), (0, 1))])[0][oracle.schema.cells(1)].sum()) > 0
