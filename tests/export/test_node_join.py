"""Queries that join rows with a table of nodes: the model's own answers, whatever trees, values and names there are."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import tremula as tm
from tremula.errors import InvalidInput, UnsupportedModel

from .tables import answers_of, as_frame, attacking_rows, mean_values, mixed_table, random_forest, trained

EXACT = {"rtol": 1e-12, "atol": 1e-12}
MODELS = [("class", "forest"), ("class", "bagging, votes"), ("class", "smeared classes"), ("class", "counts"),
          ("class", "AdaBoost"), ("number", "extra trees"), ("class", "CART")]  # fmt: skip
ENGINES = ("duckdb", "sqlite")


def answers(engine: str, frame: pd.DataFrame, query: str, names: list[str]) -> np.ndarray:
    """Run a query over a table that has a key, and return some of its columns in the order of the key."""
    sql = f"SELECT {', '.join(names)} FROM ({query}) AS answers ORDER BY key"
    if engine == "duckdb":
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("rows", frame)
            return np.array(connection.execute(sql).fetchall(), dtype=object)
    connection = sqlite3.connect(":memory:")
    try:
        frame.to_sql("rows", connection, index=False)
        return np.array(connection.execute(sql).fetchall(), dtype=object)
    finally:
        connection.close()


def table_with_gaps() -> pd.DataFrame:
    frame = mixed_table(120, 1, 0.15)[0]
    return frame.assign(town=frame["town"].astype(object), key=range(120))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize("seed", range(6))
def test_random_trees(seed: int, combine: str, engine: str) -> None:
    random = np.random.default_rng(seed)
    forest = random_forest(random, 4, combine=combine)
    rows = attacking_rows(random, forest, 150, 0.3)
    frame = as_frame(rows).assign(key=range(150))
    query = tm.to_sql(forest, dialect=engine, output="probabilities", keep=["key"], form="join")
    got = answers(engine, frame, query, ["p0", "p1", "p2"]).astype(float)
    expected = mean_values(forest, rows)
    if combine == "average":
        np.testing.assert_allclose(got, expected, **EXACT)
    else:  # a mixture may tie but for rounding
        is_mixed = np.isnan(rows).any(axis=1)
        np.testing.assert_allclose(got[~is_mixed], expected[~is_mixed], **EXACT)
        assert np.isclose(got, expected).all(axis=1).mean() > 0.9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("missing", ["shares", "null"])
@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_models(kind: str, name: str, missing: str, engine: str) -> None:
    model, table = trained(kind, name, 0.1), table_with_gaps()
    query = tm.to_sql(model, dialect=engine, missing=missing, keep=["key"], form="join")
    own = answers_of(model, table.drop(columns="key"))
    columns = ["prediction"] if kind == "number" else [f"p{number}" for number in range(own.shape[1])]
    got = answers(engine, table, query, [*columns, "prediction"])
    numbers = got[:, : own.shape[1]].astype(float)
    is_null = np.isnan(numbers).any(axis=1)
    assert is_null.any() == (missing == "null")
    np.testing.assert_allclose(numbers[~is_null], own[~is_null], **EXACT)
    if kind == "class":
        np.testing.assert_array_equal(got[~is_null, -1], model.predict(table.drop(columns="key"))[~is_null])


@pytest.mark.postgres
@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_postgres(kind: str, name: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    model, table = trained(kind, name, 0.1), table_with_gaps()
    columns = ["prediction"] if kind == "number" else ["p0", "p1", "p2"]
    query = tm.to_sql(model, dialect="postgres", keep=["key"], form="join")
    with psycopg.connect(url) as connection:
        connection.execute('CREATE TEMP TABLE rows (a float8, "b c" float8, color text, town text, flag bool, key int)')
        for row in table.itertuples(index=False):
            values = [None if pd.isna(value) else value for value in row]
            connection.execute("INSERT INTO rows VALUES (%s, %s, %s, %s, %s, %s)", values)
        got = connection.execute(f"SELECT {', '.join(columns)} FROM ({query}) AS q ORDER BY key").fetchall()
    np.testing.assert_allclose(np.array(got, dtype=float), answers_of(model, table.drop(columns="key")), **EXACT)


def nominal_rows(n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Twelve nominal attributes of up to 30 levels with long names."""
    random = np.random.default_rng(0)
    codes = random.integers(0, np.arange(2, 32, 2)[:12] * 1, size=(n_rows, 12))
    frame = pd.DataFrame({f"attribute {k}": [f"level number {code}" for code in codes[:, k]] for k in range(12)})
    return frame, (codes.sum(axis=1) + random.integers(0, 30, n_rows)) % 3


def test_few_characters_a_node() -> None:
    frame, y = nominal_rows(1500)
    model = tm.SimulatedBaggingClassifier(8, max_depth=3, random_state=0).fit(frame, y)
    n_nodes = model.as_member_sum().n_nodes
    assert n_nodes > 5_000
    query = model.export_sql()
    assert len(query) < 40 * n_nodes
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        fetched = connection.execute(f"SELECT p0, p1, p2, prediction FROM ({query})").fetchall()
        names = [column[0] for column in connection.execute(query).description]
    assert names == [*frame.columns, "p0", "p1", "p2", "prediction"]
    # The order of the rows of a query is not promised, so that the answers are compared in any order.
    got, own = np.array(fetched), np.column_stack([model.predict_proba(frame), model.predict(frame)])
    np.testing.assert_allclose(np.sort(got[:, 0]), np.sort(own[:, 0]), **EXACT)
    assert np.bincount(got[:, 3].astype(int)).tolist() == np.bincount(model.predict(frame)).tolist()


def test_the_shorter_form_is_written() -> None:
    small, large = trained("class", "C4.5"), tm.BaggingClassifier(n_estimators=30, random_state=0)
    frame, classes, _ = mixed_table(220, 0)
    large.fit(frame, classes)
    for model in (small, large):
        lengths = {form: len(tm.to_sql(model, form=form)) for form in ("case", "join", "auto")}
        assert lengths["auto"] == min(lengths["case"], lengths["join"])
    assert lengths["join"] < lengths["case"]


@pytest.mark.parametrize("table", ["nodes", "l", "j", "margin", 'odd "name"; --'])
@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_any_kind(engine: str, table: str) -> None:
    """Columns and tables may have the names that the query uses inside."""
    names = ["c0", "n", "it's; DROP", 'say "a"']
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 3)), columns=names[:3])
    frame[names[3]] = pd.Series(random.choice(["x'y", "back\\slash", "ä[,]{}"], 60), dtype=object)
    y = (frame["n"] > 0).astype(int) + (frame[names[3]] == "x'y")
    model = tm.RandomForestClassifier(3, max_depth=3, random_state=0).fit(frame, y)
    query = tm.to_sql(model, table, dialect=engine, keep=["key", "c0"], form="join")
    assert sqlglot.parse_one(query, read=engine) is not None
    keyed, quoted = frame.assign(key=range(60)), table.replace('"', '""')
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.register("given", keyed)
            connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM given')
            got = connection.execute(f"SELECT c0, prediction FROM ({query}) ORDER BY key").fetchall()
    else:
        connection = sqlite3.connect(":memory:")
        keyed.to_sql(table, connection, index=False)
        got = connection.execute(f"SELECT c0, prediction FROM ({query}) ORDER BY key").fetchall()
        connection.close()
    np.testing.assert_array_equal([row[1] for row in got], model.predict(frame))
    np.testing.assert_allclose([row[0] for row in got], frame["c0"])


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match=r"no query with a table of nodes is written for spark"):
        tm.to_sql(trained("class", "forest"), dialect="spark", form="join")
    with pytest.raises(UnsupportedModel, match=r"no query with a table of nodes"):
        tm.to_sql(trained("number", "M5"), form="join")
    with pytest.raises(InvalidInput, match=r"a table that begins with 'margin_'"):
        tm.to_sql(trained("class", "forest"), "margin_rows", form="join")


def column_of(fetched: Any) -> list[Any]:
    return [row[0] for row in fetched]


def test_counts_in_sqlite() -> None:
    model, table = trained("class", "counts", 0.1), table_with_gaps()
    query = model.export_sql(dialect="sqlite", form="join")
    got = answers("sqlite", table, query, ["prediction"])
    assert column_of(got) == model.predict(table.drop(columns="key")).tolist()
