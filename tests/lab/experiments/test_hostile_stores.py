"""A store from a stranger: what it holds is data, and it cannot make tremula read other files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tremula.errors import TremulaError
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.duckdb_file import NotAStore
from tremula.lab.experiments.store import Store

CELL = Cell("iris", "c45", 0)
EXPERIMENT = Experiment("test", {"rows": 3}, [CELL], measure=lambda cell: Outcome({}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one result, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("the secret")
    path = tmp_path / "results.duckdb"
    outcome = Outcome({"error": 0.5}, 3, 0.1, 0.1, 7, 0, np.array([1.0, 2.0, 3.0]))
    Store(path).keep(EXPERIMENT, CELL, outcome, with_predictions=True)
    return path


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement.format(secret=path.parent / "secret.txt"))


def read_all(store: Store) -> None:
    store.results(EXPERIMENT)
    store.predictions(EXPERIMENT, CELL)


ATTACKS = {
    "a function that tremula calls": ("CREATE MACRO map_keys(a) AS [(SELECT content FROM read_text('{secret}'))]",),
    "a function that looks for others": (
        "CREATE MACRO duckdb_functions() AS TABLE SELECT '' AS function_name, '' AS database_name WHERE false",
        "CREATE MACRO list_position(a, b) AS (SELECT count(*) FROM read_text('{secret}'))",
    ),
    "results as a view": (
        "CREATE TABLE kept AS FROM results",
        "DROP TABLE results",
        "CREATE VIEW results AS SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) AS failure) FROM kept",
        "CREATE MACRO duckdb_tables() AS TABLE "
        "SELECT unnest(['format', 'results']) AS table_name, 'store' AS database_name",
    ),
    "experiments as a view": (
        "CREATE TABLE kept AS FROM experiments",
        "DROP TABLE experiments",
        "CREATE VIEW experiments AS SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) AS name) FROM kept",
    ),
}


@pytest.mark.parametrize("statements", ATTACKS.values(), ids=ATTACKS)
def test_a_store_with_queries_of_its_own_is_refused(path: Path, statements: tuple[str, ...]) -> None:
    change(path, *statements)
    with pytest.raises(NotAStore, match=r"holds no results of tremula|which tremula did not make"):
        Store(path).frame()
    with pytest.raises(NotAStore):
        Store(path).results(EXPERIMENT)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET predictions = 'no array'::BLOB",
        "UPDATE results SET predictions = predictions[:50]::BLOB",
        "ALTER TABLE results ALTER measured TYPE VARCHAR",
        "ALTER TABLE results DROP method",
        "DELETE FROM format",
        "UPDATE format SET version = 99",
    ],
)
def test_damaged_rows_are_an_error_of_tremula_or_of_values(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises((TremulaError, ValueError)):
        read_all(Store(path))


def test_a_store_that_was_not_changed_is_read(path: Path) -> None:
    change(path, "SELECT 1")
    assert Store(path).predictions(EXPERIMENT, CELL).tolist() == [1.0, 2.0, 3.0]  # type: ignore[union-attr]
