"""The ensemble as a query: run by an engine, it predicts what `predict` does, missing values and all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import tremula as tm

from .tables import NOMINAL, random_table

KINDS = {
    "average": (tm.SimulatedBaggingClassifier(3, max_depth=3, categorical_features=NOMINAL, random_state=0), "again"),
    "vote": (
        tm.SimulatedBaggingClassifier(3, max_depth=3, combine="vote", categorical_features=NOMINAL, random_state=0),
        "again",
    ),
    "regression": (tm.SimulatedBaggingRegressor(3, max_depth=3, categorical_features=NOMINAL, random_state=0), "cost"),
}


def fitted(kind: str) -> tuple[Any, pd.DataFrame]:
    """Return a model and other rows to predict for, one of them with a level that training did not see."""
    model, target = KINDS[kind]
    table = random_table(0)
    model.fit(table.drop(columns=["again", "cost"]), table[target])
    rows = random_table(1, 60).drop(columns=["again", "cost"])
    rows.loc[0, "colour"] = "unheard of"
    return model, rows


def assert_same(model: Any, rows: pd.DataFrame, answers: list[Any]) -> None:
    expected = model.predict(rows)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(np.array(answers, dtype=float), expected, rtol=1e-12)
    else:
        assert list(answers) == expected.tolist()


@pytest.mark.parametrize("form", ["case", "join"])
@pytest.mark.parametrize("kind", KINDS)
def test_duckdb(kind: str, form: str) -> None:
    model, rows = fitted(kind)
    with duckdb.connect() as connection:
        connection.register('x"; drop', rows.assign(number=range(len(rows))))
        query = f"""SELECT prediction FROM ({model.export_sql('x"; drop', form=form)}) ORDER BY number"""
        assert_same(model, rows, [answer for (answer,) in connection.sql(query).fetchall()])


def test_shares_in_duckdb_are_the_same_to_the_last_bit() -> None:
    model, rows = fitted("average")
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        query = model.export_sql(output="probabilities", form="case")
        shares = connection.sql(f"SELECT p0, p1, p2 FROM ({query})").fetchall()
    np.testing.assert_array_equal(np.array(shares), model.predict_proba(rows))


def test_promised_that_nothing_is_missing() -> None:
    model, rows = fitted("average")
    rows = rows.drop(index=0).dropna()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        answers = connection.sql(f"SELECT prediction FROM ({model.export_sql(missing='none', form='case')})").fetchall()
    assert_same(model, rows, [answer for (answer,) in answers])


@pytest.mark.postgres
@pytest.mark.parametrize("form", ["case", "join"])
@pytest.mark.parametrize("kind", KINDS)
def test_postgres(kind: str, form: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    model, rows = fitted(kind)
    with psycopg.connect(url) as connection:
        connection.execute('CREATE TEMP TABLE rows (number int, colour text, size float8, flag bool, "with null" text)')
        for number, row in enumerate(rows.itertuples(index=False)):
            values = [None if pd.isna(value) else value for value in row]
            connection.execute("INSERT INTO rows VALUES (%s, %s, %s, %s, %s)", [number, *values])
        exported = model.export_sql(dialect="postgres", form=form)
        query = f"SELECT prediction FROM ({exported}) AS answers ORDER BY number"
        assert_same(model, rows, [answer for (answer,) in connection.execute(query).fetchall()])


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["average", "regression"])
def test_spark(spark: Any, tmp_path: Path, kind: str) -> None:
    model, rows = fitted(kind)
    rows.assign(number=range(len(rows))).to_parquet(tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("rows")
    query = f"SELECT prediction FROM ({model.export_sql(dialect='spark')}) AS answers ORDER BY number"
    assert_same(model, rows, [row[0] for row in spark.sql(query).collect()])
