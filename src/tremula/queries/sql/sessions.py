"""Settings of a database's session that hold while some statements are run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tremula.queries.sql.database import Database

DENSE_GROUPS = "perfect_ht_threshold"
DENSE_BITS = 20  # of the keys of a group


@contextmanager
def large_groups(database: Database) -> Iterator[None]:
    """Let DuckDB count groups of small whole numbers in an array, instead of a hash table, up to a million groups."""
    if database.engine != "duckdb":
        yield
        return
    connection = database.backend.con
    before = connection.execute(f"SELECT current_setting('{DENSE_GROUPS}')").fetchone()[0]
    connection.execute(f"SET {DENSE_GROUPS} = {DENSE_BITS}")
    try:
        yield
    finally:
        connection.execute(f"SET {DENSE_GROUPS} = {before}")
