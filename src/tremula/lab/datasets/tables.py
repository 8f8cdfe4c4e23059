"""Tables as they stand in files and databases: read_table gives the columns by name, whatever they stand in.

Nothing is coded here, and of what the columns are only what the file or database itself says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.lab.datasets.formats.arff import read_arff
from tremula.lab.datasets.formats.database import is_database, read_database
from tremula.lab.datasets.formats.delimited import UnusableDataset, read_delimited
from tremula.lab.datasets.formats.table_files import import_pyarrow, listed, read_parquet
from tremula.lab.datasets.openml import UnknownDataset
from tremula.queries.sql.database import without_password


@dataclass(frozen=True, eq=False)
class Columns:
    """A table as it stands somewhere.

    Attributes
    ----------
    name : str
        What reports call it.
    source : str
        Where it is.
    values : dict of str to list
        Python's values by column, None where missing.
    nominal : frozenset of str
        The columns that are nominal by their declared type.
    in_words : bool
        Whether all values are words whose type is to be found out.
    notes : tuple of str
        How it was read, where that was not plain.
    """

    name: str
    source: str
    values: dict[str, list[Any]]
    nominal: frozenset[str] = frozenset()
    in_words: bool = False
    notes: tuple[str, ...] = ()


def _from_text(path: Path) -> Columns:
    values, notes = read_delimited(path)
    return Columns(path.stem, str(path), dict(values), in_words=True, notes=tuple(notes))


def _from_arff(path: Path) -> Columns:
    values, nominal, notes = read_arff(path)
    return Columns(path.stem, str(path), values, frozenset(nominal), notes=tuple(notes))


def _from_parquet(path: Path) -> Columns:
    pyarrow, _ = import_pyarrow(f"reading {path}")
    table = read_parquet(path)
    if not table.num_rows:
        raise UnusableDataset(f"{path} has no rows: at least one is needed")
    nominal = {field.name for field in table.schema if pyarrow.types.is_dictionary(field.type)}
    values = {name: column.to_pylist() for name, column in zip(table.column_names, table.columns)}
    if len(values) < table.num_columns:
        raise UnusableDataset(f"{path} names a column twice: give each column a name of its own")
    return Columns(path.stem, str(path), values, frozenset(nominal))


READERS: dict[str, Callable[[Path], Columns]] = {
    ".csv": _from_text,
    ".tsv": _from_text,
    ".txt": _from_text,
    ".arff": _from_arff,
    ".parquet": _from_parquet,
}


def is_table(place: str) -> bool:
    """Whether a place is that of a file or database, and no name of a dataset."""
    return is_database(place) or Path(place).suffix.lower() in READERS or Path(place).is_file()


def read_table(place: str, table: str | None = None) -> Columns:
    """Read a file, or a table of a database, as it stands.

    Parameters
    ----------
    place : str
        The path of a CSV, TSV, ARFF, Parquet or DuckDB file, or the URL of a database, with ``#table`` behind it.
    table : str, default=None
        The table of a database, where it is not written behind.
    """
    if place.startswith(("http://", "https://")):
        raise UnusableDataset(f"{place} is an address on the web: download the file, and give its path")
    if is_database(place):
        name, values, nominal, notes = read_database(place, table)
        source = without_password(place.partition("#")[0])
        return Columns(name, f"table {name} of {source}", values, frozenset(nominal), notes=tuple(notes))
    if table is not None:
        raise UnusableDataset(f"--table {table} was given, but {place!r} is no database: leave it out")
    path = Path(place)
    if not path.is_file():
        raise UnknownDataset(f"no file {place!r}: give the path of a file that exists ({listed(READERS)})")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UnusableDataset(f"file {place!r} ends in {path.suffix!r}: files ending in {listed(READERS)} are read")
    return reader(path)
