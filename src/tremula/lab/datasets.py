"""Datasets by name or by file, as one matrix and the class labels.

Numeric attributes hold their numbers, nominal ones the codes of their levels, and NaN is a missing value, so that
every method of a comparison is given the same rows.
"""

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target

from tremula.columns import read_training_columns
from tremula.errors import InvalidInput, MissingLibrary, TremulaError, did_you_mean

DATA_FOLDER_VARIABLE = "TREMULA_DATA"
USUAL_TARGET = "target"
MISSING_WORDS = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})

BUNDLED: dict[str, Callable[[], Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast-cancer-wisconsin": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
}


class UnknownDataset(TremulaError, LookupError):
    """No dataset of the given name, and no file at the given path."""


class UnusableDataset(InvalidInput):
    """A dataset that is there but cannot be compared on."""


@dataclass(frozen=True)
class Dataset:
    """A classification problem, ready for any method.

    Attributes
    ----------
    name : str
        What reports call it.
    source : str
        Where it came from.
    X : ndarray of shape (n_rows, n_attributes)
        Numbers, and for nominal attributes codes of levels; NaN is missing.
    y : ndarray of shape (n_rows,)
        The class labels.
    nominal : tuple of int
        The attributes of `X` that are nominal.
    """

    name: str
    source: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    nominal: tuple[int, ...] = ()


def load_dataset(name: str, target: str | None = None) -> Dataset:
    """Find a dataset: bundled with scikit-learn, in the folder ``TREMULA_DATA``, or a CSV or Parquet file.

    Parameters
    ----------
    name : str
        A bundled name, the name of a Parquet file in the folder (without its ending), or a path.
    target : str, default=None
        The column that holds the class; ``None`` is the column called ``target``. Bundled datasets have no choice.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, len(set(wine.y))
    ((178, 13), 3)
    """
    if name in BUNDLED:
        if target is not None:
            raise UnusableDataset(
                f"dataset {name!r} comes with its target, but target={target!r} was given: leave it out"
            )
        return _bundled(name)
    path = _find_file(name)
    return _from_table(path, FILE_READERS[path.suffix.lower()](path, target))


def dataset_names() -> list[str]:
    """Names that `load_dataset` takes: the bundled ones, then those in the data folder."""
    folder = _data_folder()
    stored = sorted(path.stem for path in folder.glob("*.parquet")) if folder else []
    return [*BUNDLED, *(name for name in stored if name not in BUNDLED)]


def _bundled(name: str) -> Dataset:
    bunch = BUNDLED[name]()
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    return Dataset(name, "scikit-learn", X, np.asarray(bunch.target_names)[bunch.target])


def _data_folder() -> Path | None:
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    return Path(folder) if folder else None


def _find_file(name: str) -> Path:
    path = Path(name)
    if path.suffix.lower() in FILE_READERS:
        if not path.is_file():
            raise UnknownDataset(f"no file {name!r}: give the path of a CSV or Parquet file that exists")
        return path
    folder = _data_folder()
    if folder and path.name == name and (folder / f"{name}.parquet").is_file():
        return folder / f"{name}.parquet"
    if path.is_file():
        raise UnusableDataset(
            f"file {name!r} ends in {path.suffix!r}: files ending in {_listed(FILE_READERS)} are read"
        )
    raise UnknownDataset(_unknown_name(name))


def _unknown_name(name: str) -> str:
    hint = did_you_mean(name, dataset_names()) or f": give one of these or the path of a file ({_listed(FILE_READERS)})"
    folder = "" if _data_folder() else f"; more are found when {DATA_FOLDER_VARIABLE} names a folder of Parquet files"
    return f"no dataset {name!r} (scikit-learn brings {_listed(BUNDLED)}{folder}){hint}"


def _listed(names: Sequence[str] | dict[str, Any]) -> str:
    return ", ".join(repr(name) for name in names)


@dataclass(frozen=True)
class _Table:
    """A file as read: the attributes as `read_training_columns` takes them, and the values of the target."""

    X: Any
    categorical_features: str | list[int]
    target_name: str
    target: list[Any]


def _from_table(path: Path, table: _Table) -> Dataset:
    try:
        encoder, values = read_training_columns(BaseEstimator(), table.X, table.categorical_features)
    except InvalidInput as error:
        raise UnusableDataset(f"{path}: {error}") from error
    nominal = tuple(index for index, levels in enumerate(encoder.levels) if levels is not None)
    labels = _class_labels(table.target, f"target {table.target_name!r} of {path}")
    return Dataset(path.stem, str(path), values, labels, nominal)


def _class_labels(target: list[Any], described: str) -> NDArray[Any]:
    missing = sum(label is None or label != label for label in target)
    if missing:
        raise UnusableDataset(f"{described} is missing in {missing} rows: remove those rows first")
    labels = np.array(target)
    if type_of_target(labels) == "continuous":
        raise UnusableDataset(f"{described} holds real numbers: a comparison needs classes")
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise UnusableDataset(f"{described} has {n_classes} class in {len(labels)} rows: at least 2 are needed")
    return labels


def _target_column(names: Sequence[str], target: str | None, path: Path) -> str:
    wanted = USUAL_TARGET if target is None else target
    if wanted not in names:
        hint = did_you_mean(wanted, names) or ": name the column of the class with --target"
        raise UnusableDataset(f"no column {wanted!r} in {path} (has {_listed(names[:12])}){hint}")
    return wanted


def _read_csv(path: Path, target: str | None) -> _Table:
    names, rows = _csv_lines(path)
    wanted = _target_column(names, target, path)
    columns = {name: _typed(words) for name, words in zip(names, zip(*rows))}
    classes = columns.pop(wanted)
    X = np.empty((len(rows), len(columns)), dtype=object)
    for index, column in enumerate(columns.values()):
        X[:, index] = column
    nominal = [index for index, column in enumerate(columns.values()) if str in map(type, column)]
    return _Table(X, nominal, wanted, classes)


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


def _read_parquet(path: Path, target: str | None) -> _Table:
    pyarrow, parquet = _import_pyarrow(path)
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise UnusableDataset(f"{path} cannot be read as Parquet: {error}") from error
    wanted = _target_column(table.column_names, target, path)
    return _Table(table.drop_columns([wanted]), "from_dtype", wanted, table.column(wanted).to_pylist())


def _import_pyarrow(path: Path) -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingLibrary(f"reading {path} needs pyarrow, which is not installed: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet


FILE_READERS: dict[str, Callable[[Path, str | None], _Table]] = {".csv": _read_csv, ".parquet": _read_parquet}
