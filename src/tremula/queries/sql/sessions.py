"""Settings and cached views of a database's session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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


def run_in_spark(session: Any, sql: str) -> None:
    """Run ``CACHE TABLE name AS query``, or ``UNCACHE TABLE name``, which drops the view as well.

    As an SQL statement, the view would be its text, and invalid once a view that it is made of is dropped.
    """
    command, _, name, *query = sql.split(" ", 3)
    if command == "CACHE":
        if session.catalog.tableExists(name):
            raise ValueError(f"the view {name} already exists")
        frame = session.sql(query[0].removeprefix("AS ")).cache()
        frame.count()  # fills the cache
        frame.createOrReplaceTempView(name)
    else:
        session.table(name).unpersist()
        session.catalog.dropTempView(name)
