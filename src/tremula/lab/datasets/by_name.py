"""Datasets by name or by file, as one matrix and the target.

Numeric attributes hold their numbers, nominal ones the codes of their levels, and NaN is a missing value, so that
every method of a comparison is given the same rows.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.utils.multiclass import type_of_target

from tremula.data.encoding import ColumnEncoder
from tremula.errors import InvalidInput, InvalidParameter, did_you_mean
from tremula.lab.datasets.checksums import confirm
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.formats.table_files import FILE_READERS, Table, UnusableDataset, listed, read_table_file
from tremula.lab.datasets.openml import DATA_FOLDER_VARIABLE, UnknownDataset, read_or_fetch
from tremula.lab.datasets.registry import KnownDataset, known_datasets

TASKS = ("classification", "regression", None)

BUNDLED: dict[str, Callable[[], Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast-cancer-wisconsin": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
}
BUNDLED_NUMBERS: dict[str, Callable[[], Any]] = {"diabetes-progression": sklearn_datasets.load_diabetes}


def load_dataset(
    name: str, target: str | None = None, *, task: str | None = "classification", fetch: bool = True
) -> Dataset:
    """Find a dataset: bundled with scikit-learn, in a folder, in the cache, at OpenML, or a CSV or Parquet file.

    A name is looked for among those bundled with scikit-learn, then in the folder that the environment variable
    ``TREMULA_DATA`` names, in the cache (``TREMULA_CACHE``), and at OpenML, from where it goes into the cache.

    Parameters
    ----------
    name : str
        A name of `dataset_names` or `known_datasets`, or a path.
    target : str, default=None
        The column to predict; ``None`` is the column called ``target``. Bundled datasets have no choice.
    task : {'classification', 'regression', None}, default='classification'
        Which kind of target is wanted; ``None`` takes what is there.
    fetch : bool, default=True
        Whether a dataset that is not on this machine may be fetched.

    Returns
    -------
    Dataset

    Warns
    -----
    OtherContent
        A dataset of this name is known, but this copy differs from it.
    DamagedCopy
        A file of the cache is broken; the dataset is fetched again.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, len(set(wine.y))
    ((178, 13), 3)
    """
    if task not in TASKS:
        raise InvalidParameter(f"task={task!r}: give 'classification', 'regression' or None")
    if name in BUNDLED or name in BUNDLED_NUMBERS:
        return _bundled(name, target, task)
    known = known_datasets().get(name)
    path, table = _read(name, known, target, fetch)
    if known is None or target is not None:
        return _from_table(path, table, task)
    if task not in (known.task, None):
        raise UnusableDataset(_wrong_task(f"dataset {name!r}", known.task))
    return confirm(_from_table(path, table, known.task), known)


def dataset_names() -> list[str]:
    """Names that `load_dataset` finds without a network: the bundled ones, then those in the data folder."""
    folder = _data_folder()
    stored = sorted(path.stem for path in folder.glob("*.parquet")) if folder else []
    bundled = [*BUNDLED, *BUNDLED_NUMBERS]
    return [*bundled, *(name for name in stored if name not in bundled)]


def _bundled(name: str, target: str | None, task: str | None) -> Dataset:
    if target is not None:
        raise UnusableDataset(f"dataset {name!r} comes with its target, but target={target!r} was given: leave it out")
    found = "classification" if name in BUNDLED else "regression"
    if task not in (found, None):
        raise UnusableDataset(_wrong_task(f"dataset {name!r}", found))
    bunch = {**BUNDLED, **BUNDLED_NUMBERS}[name]()
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    y = np.asarray(bunch.target_names)[bunch.target] if found == "classification" else bunch.target.astype(np.float64)
    return Dataset(name, "scikit-learn", X, y, task=found, attributes=tuple(map(str, bunch.feature_names)))


# --- where it is ---


def _data_folder() -> Path | None:
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    return Path(folder) if folder else None


def _read(name: str, known: KnownDataset | None, target: str | None, fetch: bool) -> tuple[Path, Table]:
    path = _find_file(name)
    if path is None and known is None:
        raise UnknownDataset(_unknown_name(name))
    if path is None:
        assert known is not None
        path, table = read_or_fetch(known, fetch)
        return path, table if target is None else read_table_file(path, target)
    return path, read_table_file(path, target)


def _find_file(name: str) -> Path | None:
    path = Path(name)
    if path.suffix.lower() in FILE_READERS:
        if not path.is_file():
            raise UnknownDataset(f"no file {name!r}: give the path of a CSV or Parquet file that exists")
        return path
    folder = _data_folder()
    if folder and path.name == name and (folder / f"{name}.parquet").is_file():
        return folder / f"{name}.parquet"
    if path.is_file():
        raise UnusableDataset(f"file {name!r} ends in {path.suffix!r}: files ending in {listed(FILE_READERS)} are read")
    return None


def _unknown_name(name: str) -> str:
    names = dict.fromkeys([*dataset_names(), *known_datasets()])
    hint = did_you_mean(name, names) or f": give one of these or the path of a file ({listed(FILE_READERS)})"
    folder = "" if _data_folder() else f"; more are found when {DATA_FOLDER_VARIABLE} names a folder of Parquet files"
    return f"no dataset {name!r} (scikit-learn brings {listed([*BUNDLED, *BUNDLED_NUMBERS])}{folder}){hint}"


# --- what it holds ---


def _from_table(path: Path, table: Table, task: str | None) -> Dataset:
    try:
        encoder, values = ColumnEncoder.learn(table.X, table.categorical_features)
    except InvalidInput as error:
        raise UnusableDataset(f"{path}: {error}") from error
    nominal = tuple(index for index, levels in enumerate(encoder.levels) if levels is not None)
    found, y = _read_target(table.target, f"target {table.target_name!r} of {path}", task)
    return Dataset(path.stem, str(path), values, y, nominal, found, table.names, encoder.levels if nominal else ())


def _read_target(target: list[Any], described: str, task: str | None) -> tuple[str, NDArray[Any]]:
    missing = sum(label is None or label != label for label in target)
    if missing:
        raise UnusableDataset(f"{described} is missing in {missing} rows: remove those rows first")
    values = np.array(target)
    if task is None:
        task = "regression" if type_of_target(values) == "continuous" else "classification"
    return task, TARGET_READERS[task](values, described)


def _class_labels(labels: NDArray[Any], described: str) -> NDArray[Any]:
    if type_of_target(labels) == "continuous":
        raise UnusableDataset(_wrong_task(described, "regression"))
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise UnusableDataset(f"{described} has {n_classes} class in {len(labels)} rows: at least 2 are needed")
    return labels


def _numbers(values: NDArray[Any], described: str) -> NDArray[np.float64]:
    if values.dtype.kind not in "iuf":
        raise UnusableDataset(_wrong_task(described, "classification"))
    if not np.isfinite(values).all():
        raise UnusableDataset(f"{described} holds an infinite value: remove those rows first")
    return values.astype(np.float64)


TARGET_READERS: dict[str, Callable[[NDArray[Any], str], NDArray[Any]]] = {
    "classification": _class_labels,
    "regression": _numbers,
}


def _wrong_task(described: str, task: str) -> str:
    return {
        "regression": f"{described} holds real numbers: a comparison needs classes (task='regression' loads numbers)",
        "classification": f"{described} holds classes, but task='regression' was asked for: it needs numbers",
    }[task]
