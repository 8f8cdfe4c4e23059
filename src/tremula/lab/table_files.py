"""Tables in files: the attributes and the target of a CSV or Parquet file, as they stand there.

Nothing is coded or checked here beyond what it takes to read the file.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tremula.errors import InvalidInput, MissingLibrary, did_you_mean

USUAL_TARGET = "target"
MISSING_WORDS = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})


class UnusableDataset(InvalidInput):
    """A dataset that is there but cannot be used for what was asked."""


@dataclass(frozen=True)
class Table:
    """A file as read.

    Attributes
    ----------
    X : array or pyarrow table
        The attributes, as `read_training_columns` takes them.
    categorical_features : 'from_dtype' or list of int
        Which of them are nominal.
    names : tuple of str
        What the attributes are called.
    target_name : str
        What the target is called.
    target : list
        Its values.
    """

    X: Any
    categorical_features: str | list[int]
    names: tuple[str, ...]
    target_name: str
    target: list[Any]


def read_table_file(path: Path, target: str | None) -> Table:
    """Read a file of a known ending; no `target` is the column ``target``."""
    return FILE_READERS[path.suffix.lower()](path, target)


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas."""
    return ", ".join(repr(name) for name in names)


def _target_column(names: Sequence[str], target: str | None, path: Path) -> str:
    wanted = USUAL_TARGET if target is None else target
    if wanted not in names:
        hint = did_you_mean(wanted, names) or ": name the column of the class with --target"
        raise UnusableDataset(f"no column {wanted!r} in {path} (has {listed(names[:12])}){hint}")
    return wanted


def _read_csv(path: Path, target: str | None) -> Table:
    names, rows = _csv_lines(path)
    wanted = _target_column(names, target, path)
    columns = {name: _typed(words) for name, words in zip(names, zip(*rows))}
    classes = columns.pop(wanted)
    X = np.empty((len(rows), len(columns)), dtype=object)
    for index, column in enumerate(columns.values()):
        X[:, index] = column
    nominal = [index for index, column in enumerate(columns.values()) if str in map(type, column)]
    return Table(X, nominal, tuple(columns), wanted, classes)


def _csv_lines(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnusableDataset(f"{path} is not a CSV file in UTF-8 ({error}): save it as one") from error
    if len(lines) < 2:
        raise UnusableDataset(f"{path} has {len(lines)} lines: a line of column names and at least one row are needed")
    names, *rows = lines
    if len(set(names)) < len(names):
        raise UnusableDataset(f"{path} names a column twice: give each column a name of its own")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise UnusableDataset(f"row {number} of {path} has {len(row)} values, but there are {len(names)} columns")
    return names, rows


def _typed(words: Sequence[str]) -> list[Any]:
    """Turn a column of words into integers, else numbers, else strings; None is missing."""
    values = [None if word.strip() in MISSING_WORDS else word.strip() for word in words]
    for number in (int, float):
        try:
            return [None if value is None else number(value) for value in values]
        except ValueError:
            continue
    return values


def _read_parquet(path: Path, target: str | None) -> Table:
    pyarrow, parquet = import_pyarrow(f"reading {path}")
    try:
        table = parquet.read_table(path, page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError) as error:  # a wrong checksum of a page is an OSError
        raise UnusableDataset(f"{path} cannot be read as Parquet: {error}") from error
    wanted = _target_column(table.column_names, target, path)
    attributes = table.drop_columns([wanted])
    return Table(attributes, "from_dtype", tuple(attributes.column_names), wanted, table.column(wanted).to_pylist())


def import_pyarrow(purpose: str) -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its Parquet part, or say what `purpose` lacks."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingLibrary(f"{purpose} needs pyarrow, which is not installed: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet


FILE_READERS: dict[str, Callable[[Path, str | None], Table]] = {".csv": _read_csv, ".parquet": _read_parquet}
