"""Tables in databases: those of DuckDB files are read by DuckDB itself, all others through ibis.

A table is written ``URL#table``; where a database has one table, it may be left out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from tremula.data.column import show
from tremula.errors import MissingLibrary, QueryFailed, UnknownTable, did_you_mean
from tremula.lab.datasets.formats.relation import Relation, new_connection, quote_name, quote_text, typed_fields
from tremula.queries.sql.database import open_table, without_password

DUCKDB_FILES = (".duckdb", ".ddb")
FORM = "write the table behind it, as in duckdb:///folder/file.duckdb#table, or give --table"
TABLES = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'given' ORDER BY ALL"


def is_database(place: str) -> bool:
    """Tell whether a place is a database: a URL, or a DuckDB file.

    Examples
    --------
    >>> is_database("postgresql://host/base#patients"), is_database("patients.csv")
    (True, False)
    """
    return "://" in place or Path(place.partition("#")[0]).suffix.lower() in DUCKDB_FILES


@contextmanager
def open_database(place: str, table: str | None = None) -> Iterator[Relation]:
    """Open a table of a database."""
    url, _, behind = place.partition("#")
    wanted = table or behind or None
    scheme, mark, rest = url.partition("://")
    if mark and scheme != "duckdb":
        with _open_by_ibis(url, wanted) as relation:
            yield relation
        return
    path = Path(rest.partition("?")[0] if mark else url)
    if mark and not path.exists() and path.parent.is_file():  # duckdb://file.duckdb/table
        path, wanted = path.parent, wanted or path.name
    with _open_duckdb(path, wanted) as relation:
        yield relation


@contextmanager
def _open_duckdb(path: Path, wanted: str | None) -> Iterator[Relation]:
    if not path.is_file():
        raise UnknownTable(f"no database file {str(path)!r}: check its path, which begins after duckdb://")

    def explain(error: duckdb.Error) -> Exception:
        return QueryFailed(f"{str(path)!r} cannot be read by DuckDB: {str(error).splitlines()[0]}")

    with new_connection() as connection:
        try:
            connection.execute(f"ATTACH {quote_text(str(path))} AS given (TYPE duckdb, READ_ONLY)")
            tables = {
                name if schema == "main" else f"{schema}.{name}": (schema, name)
                for schema, name in connection.execute(TABLES).fetchall()
            }
            chosen, notes = _choose_table(list(tables), wanted, str(path))
            sql = ".".join(map(quote_name, ("given", *tables[chosen])))
            fields = typed_fields(connection, sql)
        except duckdb.Error as error:
            raise explain(error) from error
        yield Relation(connection, sql, fields, chosen, f"table {chosen} of {path}", explain, notes)


def _choose_table(names: list[str], wanted: str | None, place: str) -> tuple[str, list[str]]:
    """Return the table to read, and a note where it was chosen here."""
    if not names:
        raise UnknownTable(f"{place} has no table: give a database that has one")
    if wanted is None and len(names) == 1:
        return names[0], [f"The table is {names[0]!r}, the only one of {place}."]
    if wanted is None:
        raise UnknownTable(f"{place} has {len(names)} tables ({show(names)}): {FORM}")
    if wanted not in names:
        hint = did_you_mean(wanted, names) or ": name one of these"
        raise UnknownTable(f"no table {wanted!r} in {place} (has {show(names)}){hint}")
    return wanted, []


@contextmanager
def _open_by_ibis(url: str, wanted: str | None) -> Iterator[Relation]:
    """Fetch a table as Arrow has it, which DuckDB reads."""
    place = without_password(url)
    if wanted is None:
        raise UnknownTable(f"no table of {place!r} was given: {FORM}")

    def explain(error: Exception) -> Exception:
        return QueryFailed(f"table {wanted!r} of {place!r} cannot be read: {error}")

    answer = _fetch(open_table(url, wanted), place, explain)
    with new_connection() as connection:
        connection.register("answer", answer)
        try:
            fields = typed_fields(connection, "answer")
        except duckdb.Error as error:
            raise explain(error) from error
        yield Relation(connection, "answer", fields, wanted, f"table {wanted} of {place}", explain)


def _fetch(opened: Any, place: str, explain: Any) -> Any:
    try:
        return opened.to_pyarrow()
    except ImportError as error:
        raise MissingLibrary(f"reading {place!r} needs a library that is not installed: {error}") from error
    except Exception as error:
        raise explain(error) from error
    finally:
        opened.get_backend().disconnect()
