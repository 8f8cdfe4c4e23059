"""A table by the path of a file or the URL of a database: `open_table` chooses the format that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tremula.errors import listed
from tremula.lab.datasets.errors import UnknownDataset, UnusableDataset
from tremula.lab.datasets.formats.arff import open_arff
from tremula.lab.datasets.formats.database import is_database, open_database
from tremula.lab.datasets.formats.delimited import open_delimited
from tremula.lab.datasets.formats.parquet import open_parquet
from tremula.lab.datasets.formats.relation import Relation

FORMATS: dict[str, Callable[[Path], AbstractContextManager[Relation]]] = {
    ".csv": open_delimited,
    ".tsv": open_delimited,
    ".txt": open_delimited,
    ".arff": open_arff,
    ".parquet": open_parquet,
}


def is_table(place: str) -> bool:
    """Tell whether a place is a file or a database, and not the name of a dataset."""
    return is_database(place) or Path(place).suffix.lower() in FORMATS or Path(place).is_file()


@contextmanager
def open_table(place: str, table: str | None = None) -> Iterator[Relation]:
    """Open a file, or a table of a database.

    Parameters
    ----------
    place : str
        The path of a CSV, TSV, TXT, ARFF, Parquet or DuckDB file, or the URL of a database, with ``#table`` behind it.
    table : str, default=None
        The table of a database, where it is not written behind.

    Yields
    ------
    Relation
        Its columns by name, which `read` reads.
    """
    if place.startswith(("http://", "https://")):
        raise UnusableDataset(f"{place} is an address on the web: download the file, and give its path")
    if is_database(place):
        opened: AbstractContextManager[Relation] = open_database(place, table)
    elif table is not None:
        raise UnusableDataset(f"--table {table} was given, but {place!r} is not a database: leave it out")
    else:
        opened = _open_file(place)
    with opened as relation:
        yield relation


def _open_file(place: str) -> AbstractContextManager[Relation]:
    path = Path(place)
    if not path.is_file():
        raise UnknownDataset(f"no file {place!r}: give the path of a file that exists ({listed(FORMATS)})")
    if path.suffix.lower() not in FORMATS:
        raise UnusableDataset(f"file {place!r} ends in {path.suffix!r}: files ending in {listed(FORMATS)} are read")
    return FORMATS[path.suffix.lower()](path)
