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
from tremula.lab.datasets.formats.packed import PACKED, STANDARD_INPUT, is_packed, plain_file
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
    is_file = Path(place).suffix.lower() in FORMATS or Path(place).is_file()
    return is_database(place) or is_packed(place) or is_file


@contextmanager
def open_table(place: str, table: str | None = None) -> Iterator[Relation]:
    """Open a file, or a table of a database.

    Parameters
    ----------
    place : str
        The path of a CSV, TSV, TXT, ARFF, Parquet or DuckDB file, or the URL of a database, with ``#table`` behind it.
        A file may be compressed (.gz, .zst); ``-`` is standard input; ``part-*.csv`` are several files of text.
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
    if is_packed(place) and (place == STANDARD_INPUT or path.suffix.lower() not in PACKED or path.is_file()):
        return _open_packed(place)
    if not path.is_file():
        raise UnknownDataset(f"no file {place!r}: give the path of a file that exists ({listed(FORMATS)})")
    if path.suffix.lower() not in FORMATS:
        raise UnusableDataset(f"file {place!r} ends in {path.suffix!r}: files ending in {listed(FORMATS)} are read")
    return FORMATS[path.suffix.lower()](path)


@contextmanager
def _open_packed(place: str) -> Iterator[Relation]:
    source = "standard input" if place == STANDARD_INPUT else place
    with plain_file(place) as (plain, name, notes):
        try:
            with _open_file(str(plain)) as relation:
                relation.name, relation.source = name, source
                relation.notes[:] = [*notes, *(note.replace(plain.name, source) for note in relation.notes)]
                yield relation
        except UnusableDataset as error:  # the user knows nothing of the temporary file
            raise type(error)(str(error).replace(str(plain), source)) from error
