"""Queries of ensembles in PostgreSQL and Spark themselves: the model's own answers, missing values included."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm

from .tables import answers_of, mixed_table, trained

EXACT = {"rtol": 1e-12, "atol": 1e-12}
MODELS = [("class", "forest"), ("class", "bagging"), ("class", "counts"), ("number", "forest")]
LARGE = [("class", "Aspen"), ("number", "Aspen")]  # many steps from trees to probabilities


def table_with_gaps() -> pd.DataFrame:
    """Rows with a key; columns have the types that files and databases give them."""
    frame = mixed_table(120, 1, 0.15)[0]
    return frame.assign(town=frame["town"].astype(object), key=range(120))


def assert_own_answers(model: Any, table: pd.DataFrame, rows: list[tuple[Any, ...]]) -> None:
    """Compare rows of probabilities and a class, or of a number, in the order of the key."""
    own = answers_of(model, table.drop(columns="key"))
    np.testing.assert_allclose(np.array([row[: own.shape[1]] for row in rows], dtype=float), own, **EXACT)
    if hasattr(model, "classes_"):
        assert [row[-1] for row in rows] == model.predict(table.drop(columns="key")).tolist()


def columns_of(model: Any) -> str:
    if not hasattr(model, "classes_"):
        return "prediction"
    return ", ".join([*(f"p{number}" for number in range(len(model.classes_))), "prediction"])


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    with psycopg.connect(url) as connection:
        connection.execute('CREATE TEMP TABLE rows (a float8, "b c" float8, color text, town text, flag bool, key int)')
        for row in table_with_gaps().itertuples(index=False):
            values = [None if pd.isna(value) else value for value in row]
            connection.execute("INSERT INTO rows VALUES (%s, %s, %s, %s, %s, %s)", values)
        yield connection


@pytest.mark.postgres
@pytest.mark.parametrize("form", ["case", "auto"])
@pytest.mark.parametrize(("kind", "name"), [*MODELS, *LARGE])
def test_postgres(postgres: Any, kind: str, name: str, form: str) -> None:
    model = trained(kind, name, 0.1)
    query = tm.to_sql(model, dialect="postgres", keep=["key"], form=form)
    rows = postgres.execute(f"SELECT {columns_of(model)} FROM ({query}) AS answers ORDER BY key").fetchall()
    assert_own_answers(model, table_with_gaps(), rows)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    warnings.simplefilter("ignore")  # of pyspark about itself
    folder: Path = tmp_path_factory.mktemp("spark")
    table_with_gaps().to_parquet(folder / "rows.parquet")
    session = pyspark.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.read.parquet(str(folder / "rows.parquet")).createOrReplaceTempView("rows")
    yield session
    session.stop()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), [*MODELS, *LARGE])
def test_spark(spark: Any, kind: str, name: str) -> None:
    model = trained(kind, name, 0.1)
    query = tm.to_sql(model, dialect="spark", keep=["key"])
    rows = spark.sql(f"SELECT {columns_of(model)} FROM ({query}) AS answers ORDER BY key").collect()
    assert_own_answers(model, table_with_gaps(), [tuple(row) for row in rows])
