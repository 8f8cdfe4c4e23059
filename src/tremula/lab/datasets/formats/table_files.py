"""Tables in files: the attributes and the target of a CSV, ARFF or Parquet file, as they stand there.

Nothing is coded or checked here beyond what it takes to read the file.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tremula.errors import MissingLibrary, did_you_mean
from tremula.lab.datasets.formats.arff import read_arff
from tremula.lab.datasets.formats.delimited import UnusableDataset, read_delimited

USUAL_TARGET = "target"


@dataclass(frozen=True)
class Table:
    """A file as read.

    Attributes
    ----------
    X : array or pyarrow table
        The attributes, as `ColumnEncoder.learn` takes them.
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
    words, _ = read_delimited(path)
    return _as_table({name: _typed(column) for name, column in words.items()}, set(), path, target)


def _read_arff(path: Path, target: str | None) -> Table:
    columns, nominal, _ = read_arff(path)
    return _as_table(columns, nominal, path, target)


def _as_table(columns: dict[str, list[Any]], declared: set[str], path: Path, target: str | None) -> Table:
    wanted = _target_column(list(columns), target, path)
    classes = columns.pop(wanted)
    X = np.empty((len(classes), len(columns)), dtype=object)
    for index, column in enumerate(columns.values()):
        X[:, index] = column
    nominal = [
        index for index, (name, column) in enumerate(columns.items()) if name in declared or str in map(type, column)
    ]
    return Table(X, nominal, tuple(columns), wanted, classes)


def _typed(values: Sequence[str | None]) -> list[Any]:
    """Turn a column of words into integers, else numbers, else words; None is missing."""
    for number in (int, float):
        try:
            return [None if value is None else number(value) for value in values]
        except ValueError:
            continue
    return list(values)


def _read_parquet(path: Path, target: str | None) -> Table:
    table = read_parquet(path)
    wanted = _target_column(table.column_names, target, path)
    attributes = table.drop_columns([wanted])
    return Table(attributes, "from_dtype", tuple(attributes.column_names), wanted, table.column(wanted).to_pylist())


def read_parquet(path: Path) -> Any:
    """Return a Parquet file as a pyarrow table; a page whose checksum is wrong is refused."""
    pyarrow, parquet = import_pyarrow(f"reading {path}")
    try:
        return parquet.read_table(path, page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError) as error:  # a wrong checksum of a page is an OSError
        raise UnusableDataset(f"{path} cannot be read as Parquet: {error}") from error


def import_pyarrow(purpose: str) -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its Parquet part, or say what `purpose` lacks."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingLibrary(f"{purpose} needs pyarrow, which is not installed: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet


FILE_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".arff": _read_arff,
    ".parquet": _read_parquet,
}
