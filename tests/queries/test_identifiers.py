"""Columns of a database that name or number the rows are found by counts of different values."""

import ibis
import numpy as np
import pandas as pd
import pytest

from tremula.queries import TableOracle


def visits(n_rows: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "customer_id": 1000 + random.permutation(n_rows),
            "name": [f"name {number % (n_rows // 2)}" for number in range(n_rows)],
            "ward": random.choice(list("abcdefgh"), n_rows),
            "age": random.integers(20, 95, n_rows),
            "weight": random.permutation(n_rows) / 7,  # all different, but no whole numbers
            "amount": random.permutation(n_rows) * 1000,  # all different, but far apart
            "again": random.choice(["no", "yes"], n_rows),
        }
    )


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_columns_that_name_or_number_the_rows_are_found_by_one_query(engine: str) -> None:
    connection = getattr(ibis, engine).connect()
    oracle = TableOracle(connection.create_table("visits", visits()), "again")
    before = oracle.n_queries
    assert oracle.find_identifiers() == ["customer_id", "name"]
    assert oracle.n_queries - before == 1


def test_numbers_that_repeat_or_are_missing_are_no_identifiers() -> None:
    table = visits().assign(customer_id=lambda t: t["customer_id"].where(t.index > 0).astype("Int64"))
    table["name"] = table["age"]
    assert TableOracle(ibis.memtable(table), "again").find_identifiers() == []


def test_nothing_is_asked_if_no_column_can_be_one() -> None:
    oracle = TableOracle(ibis.memtable(visits()[["weight", "again"]]), "again")
    before = oracle.n_queries
    assert oracle.find_identifiers() == []
    assert oracle.n_queries == before


def test_few_rows_have_no_numbering() -> None:
    assert TableOracle(ibis.memtable(visits(40)[["customer_id", "again"]]), "again").find_identifiers() == []
