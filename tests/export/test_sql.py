"""Queries, run in DuckDB and SQLite: the model's own answers, or NULL. Other dialects are parsed by sqlglot."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import tremula as tm
from tremula.errors import ExportWarning, InvalidParameter, UnsupportedModel
from tremula.trees.export.dialects import DIALECTS
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.tree import Tree

from .tables import NAMES, answers_of, mixed_table, trained

EXACT = {"rtol": 1e-12, "atol": 1e-12}
SHALLOW = [("class", "C4.5"), ("class", "bagging, votes"), ("class", "counts"), ("class", "smeared classes"),
           ("number", "forest"), ("number", "M5")]  # fmt: skip

QUICK = {"C4.5", "CART, shares", "REPTree", "forest", "bagging, votes", "smeared classes", "counts", "M5", "bagged M5"}


def table_with_gaps() -> pd.DataFrame:
    return mixed_table(120, 1, 0.15)[0].assign(key=range(120))


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """The table as users have it: NULL, NaN and levels that training did not have are all missing."""
    frame = table_with_gaps()
    plain = frame.assign(town=frame["town"].astype(object))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("frame", plain)
        connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
        connection.execute("UPDATE rows SET a = CAST('NaN' AS DOUBLE) WHERE a IS NULL AND key % 2 = 0")
        connection.execute("UPDATE rows SET town = 'elsewhere' WHERE town IS NULL AND key % 2 = 0")
        yield connection


def ask(database: Any, query: str) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT * FROM ({query}) AS answers ORDER BY key").fetchall()


def compare(model: Any, table: pd.DataFrame, rows: list[tuple[Any, ...]], allows_null: bool) -> None:
    """Compare rows of a key, probabilities and a class, or of a key and a number."""
    own = answers_of(model, table)
    got = np.array([row[1 : 1 + own.shape[1]] for row in rows], dtype=float)
    refused = np.isnan(got).any(axis=1)
    assert allows_null or not refused.any()
    np.testing.assert_allclose(got[~refused], own[~refused], **EXACT)
    assert not refused[table.notna().all(axis=1)].any()
    if hasattr(model, "classes_"):
        labels = np.array([row[-1] for row in rows], dtype=object)
        np.testing.assert_array_equal(labels[~refused], model.predict(table)[~refused])
        assert set(labels[refused]) <= {None}


@pytest.mark.parametrize("missing", ["shares", pytest.param("null", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) if name in QUICK else pytest.param(kind, name, marks=pytest.mark.slow) for kind, name in NAMES],
)
def test_answers_in_duckdb(database: Any, kind: str, name: str, missing: str) -> None:
    model, table = trained(kind, name, 0.1), table_with_gaps()
    query = tm.to_sql(model, missing=missing, keep=["key"], form="case")
    compare(model, table.drop(columns="key"), ask(database, query), missing == "null")


@pytest.mark.parametrize("missing", ["shares", "null"])
@pytest.mark.parametrize(("kind", "name"), SHALLOW)
def test_answers_in_sqlite(kind: str, name: str, missing: str) -> None:
    model, table = trained(kind, name, 0.1), table_with_gaps()
    with sqlite3.connect(":memory:") as connection:
        plain = table.assign(town=table["town"].astype(object))
        plain.to_sql("rows", connection, index=False)
        query = tm.to_sql(model, dialect="sqlite", missing=missing, keep=["key"], form="case")
        compare(model, table.drop(columns="key"), ask(connection, query), missing == "null")
    connection.close()


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("duckdb", "sqlite")])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("number", "bagged M5"),
        *(
            pytest.param(kind, name, marks=pytest.mark.slow)
            for kind, name in [
                ("class", "dagging"),
                ("class", "CART, shares"),
                ("class", "forest"),
                ("class", "bagging"),
                ("class", "counts"),
                ("class", "Aspen"),
                ("number", "Aspen"),
            ]
        ),
    ],
)
def test_other_dialects_mean_the_same_to_sqlglot(database: Any, kind: str, name: str, dialect: str) -> None:
    model, table = trained(kind, name, 0.1), table_with_gaps()
    query = tm.to_sql(model, dialect=dialect, keep=["key"], form="case")
    tree = sqlglot.parse_one(query, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    compare(model, table.drop(columns="key"), ask(database, tree.sql(dialect="duckdb")), False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_and_words_of_any_kind(dialect: str) -> None:
    names = ['a "b"', "it's; DROP", "back\\slash", "new\nline", "tab\t`tick`"]
    table = pd.DataFrame({name: pd.Series([*names, "x"] * 4, dtype="str") for name in ['odd "name"', "plain"]})
    classes = np.array(["o'hara\\", 'say "a"'])[np.arange(24) % 2]
    model = tm.C45Classifier(confidence=None, min_weight_leaf=1).fit(table, classes)
    query = tm.to_sql(model, "my `table`", dialect=dialect, keep=[], form="case")
    tree = sqlglot.parse_one(query, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    words = {node.this for node in tree.find_all(sqlglot.exp.Literal) if node.is_string}
    assert set(classes) <= words
    assert set(model.encoder_.levels[0]) <= words or set(model.encoder_.levels[1]) <= words
    assert {table.name for table in tree.find_all(sqlglot.exp.Table)} == {"my `table`"}


def test_all_columns_are_copied_by_default(database: Any) -> None:
    model = trained("class", "C4.5", 0.1)
    names = [column[0] for column in database.execute(tm.to_sql(model)).description]
    assert names == [*table_with_gaps().columns, "p0", "p1", "p2", "prediction"]
    probabilities = database.execute(tm.to_sql(model, output="probabilities", keep=["key"])).description
    assert [column[0] for column in probabilities] == ["key", "p0", "p1", "p2"]


def test_null_is_shorter() -> None:
    model = trained("class", "bagging")
    assert len(tm.to_sql(model, missing="null", form="case")) < len(tm.to_sql(model, form="case")) / 2


def test_a_query_that_is_too_long_or_too_deep_is_told() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1500, 3)), random.integers(0, 2, 1500)
    forest = tm.RandomForestClassifier(n_estimators=12, random_state=0).fit(X, y)
    with pytest.warns(ExportWarning, match=r"characters, and bigquery takes 1,000,000: use missing='null'"):
        tm.to_sql(forest, dialect="bigquery")
    with pytest.warns(ExportWarning, match=r"trees of depth \d+, more than SQLite before 3.46 can read"):
        tm.to_sql(forest, dialect="sqlite", missing="null", form="case")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.to_sql(forest, dialect="duckdb", missing="null")


def test_a_long_sum_is_put_in_groups(database: Any) -> None:
    table, classes, _ = mixed_table(60, 0)
    model = tm.BaggingClassifier(tm.CARTClassifier(max_depth=1), n_estimators=130, random_state=0).fit(table, classes)
    compare(
        model, table_with_gaps().drop(columns="key"), ask(database, tm.to_sql(model, keep=["key"], form="case")), False
    )


def test_levels_that_mysql_does_not_tell_apart_are_refused() -> None:
    table = pd.DataFrame({"size": pd.Series(["s", "S", "m"] * 10, dtype="str")})
    model = tm.C45Classifier().fit(table, np.arange(30) % 3)
    with pytest.raises(UnsupportedModel, match="differ only in case"):
        tm.to_sql(model, dialect="mysql")
    tm.to_sql(model, dialect="postgres")


def test_columns_whose_names_the_query_needs_are_refused() -> None:
    model = tm.CARTClassifier().fit(pd.DataFrame({"P1": [0.0, 1.0]}), [0, 1])
    with pytest.raises(UnsupportedModel, match="a name that the query gives to a result"):
        tm.to_sql(model)


def test_parameters_are_checked() -> None:
    model = trained("class", "C4.5")
    for options in ({"dialect": "oracle"}, {"missing": "none"}, {"output": "class"}):
        with pytest.raises(InvalidParameter, match=next(iter(options))):
            tm.to_sql(model, **options)


def test_a_model_that_takes_no_missing_values_answers_null() -> None:
    from sklearn.ensemble import AdaBoostClassifier

    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModel, match="use missing='null'"):
        tm.to_sql(model)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT 0.5e0 AS x0, NULL::DOUBLE AS x1")
        assert connection.execute(tm.to_sql(model, missing="null", keep=[])).fetchall() == [(None, None, None)]


def test_a_mixture_may_vote_for_a_class_that_no_branch_votes_for() -> None:
    nodes = np.array([(0.5, 2, 0, 1, 2, -1), (0, 1, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    model = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=1, combine="vote", random_state=0)
    model.fit(pd.DataFrame({"x": [0.0, 1.0, 2.0]}), [0, 1, 2])
    model.members_ = [Tree(nodes, np.array([[0.5, 0.0, 0.5], [0.0, 0.6, 0.4]]), [], [0], False)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT UNNEST([0.0, 1.0, NULL])::DOUBLE AS x")
        rows = connection.execute(tm.to_sql(model, keep=[])).fetchall()
    assert [row[-1] for row in rows] == [0, 1, 2]
    assert rows[2][:3] == (0.0, 0.0, 1.0)
