"""Tables in databases, read as a whole: DuckDB files by DuckDB itself, all others through ibis.

A table is written ``URL#table``; of a database with one table that one is taken.
"""

from pathlib import Path
from typing import Any

from tremula.data.column import show
from tremula.errors import MissingLibrary, QueryFailed, UnknownTable, did_you_mean
from tremula.lab.datasets.formats.delimited import UnusableDataset
from tremula.queries.sql.database import open_table, without_password

DUCKDB_FILES = (".duckdb", ".ddb")
FORM = "write the table behind it, as in duckdb:///folder/file.duckdb#table, or give --table"


def is_database(place: str) -> bool:
    """Whether a place is that of a database: a URL, or a DuckDB file.

    Examples
    --------
    >>> is_database("postgresql://host/base#patients"), is_database("patients.csv")
    (True, False)
    """
    return "://" in place or Path(place.partition("#")[0]).suffix.lower() in DUCKDB_FILES


def read_database(place: str, table: str | None = None) -> tuple[str, dict[str, list[Any]], set[str], list[str]]:
    """Return the name of a table, its columns, those that are nominal by their type, and notes."""
    url, _, behind = place.partition("#")
    wanted = table or behind or None
    if "://" not in url:
        return _read_duckdb(Path(url), wanted)
    scheme, _, rest = url.partition("://")
    if scheme == "duckdb":
        path = Path(rest.partition("?")[0])
        if not path.exists() and path.parent.is_file():  # duckdb://file.duckdb/table
            path, wanted = path.parent, wanted or path.name
        return _read_duckdb(path, wanted)
    return _read_by_ibis(url, wanted)


def _read_duckdb(path: Path, wanted: str | None) -> tuple[str, dict[str, list[Any]], set[str], list[str]]:
    import duckdb

    if not path.is_file():
        raise UnknownTable(f"no database file {str(path)!r}: see to its path, which begins after duckdb://")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            query = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            found = {
                name if schema == "main" else f"{schema}.{name}": (schema, name)
                for schema, name in connection.execute(query).fetchall()
            }
            chosen, notes = choose_table(list(found), wanted, str(path))
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in found[chosen])
            cursor = connection.execute(f"SELECT * FROM {quoted}")
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
    except duckdb.Error as error:
        raise QueryFailed(f"{str(path)!r} cannot be read by DuckDB: {str(error).splitlines()[0]}") from error
    if not rows:
        raise UnusableDataset(f"table {chosen!r} of {path} has no rows: at least one is needed")
    return chosen, {name: list(values) for name, values in zip(names, zip(*rows))}, set(), notes


def choose_table(names: list[str], wanted: str | None, place: str) -> tuple[str, list[str]]:
    """Return the table to read and what to say of the choice."""
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


def _read_by_ibis(url: str, wanted: str | None) -> tuple[str, dict[str, list[Any]], set[str], list[str]]:
    if wanted is None:
        raise UnknownTable(f"no table of {without_password(url)!r} was given: {FORM}")
    opened = open_table(url, wanted)
    try:
        answer = opened.to_pyarrow()
    except ImportError as error:
        raise MissingLibrary(
            f"reading {without_password(url)!r} needs a library that is not installed: {error}"
        ) from error
    except Exception as error:
        raise QueryFailed(f"table {wanted!r} of {without_password(url)!r} cannot be read: {error}") from error
    finally:
        opened.get_backend().disconnect()
    if not answer.num_rows:
        raise UnusableDataset(f"table {wanted!r} of {without_password(url)!r} has no rows: at least one is needed")
    return wanted, {name: answer.column(name).to_pylist() for name in answer.column_names}, set(), []
