"""Where a dataset of a given name is: with scikit-learn, in the data folder, in the cache, or at OpenML."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from tremula.errors import did_you_mean, listed
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.errors import UnknownDataset, UnusableDataset
from tremula.lab.datasets.openml import DATA_FOLDER_VARIABLE, cached_file
from tremula.lab.datasets.registry import KnownDataset, known_datasets

BUNDLED: dict[str, Callable[[], Any]] = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast-cancer-wisconsin": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
}
BUNDLED_NUMBERS: dict[str, Callable[[], Any]] = {"diabetes-progression": sklearn_datasets.load_diabetes}


def dataset_names() -> list[str]:
    """Names that `load_dataset` finds without a network: the bundled ones, then those in the data folder."""
    folder = _data_folder()
    stored = sorted(path.stem for path in folder.glob("*.parquet")) if folder else []
    bundled = [*BUNDLED, *BUNDLED_NUMBERS]
    return [*bundled, *(name for name in stored if name not in bundled)]


def bundled_dataset(name: str, target: str | None) -> Dataset | None:
    """Return a dataset that comes with scikit-learn, or None."""
    if name not in BUNDLED and name not in BUNDLED_NUMBERS:
        return None
    if target is not None:
        raise UnusableDataset(f"dataset {name!r} comes with its target, but target={target!r} was given: leave it out")
    bunch = {**BUNDLED, **BUNDLED_NUMBERS}[name]()
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    attributes = tuple(map(str, bunch.feature_names))
    if name in BUNDLED_NUMBERS:
        return Dataset(name, "scikit-learn", X, bunch.target.astype(np.float64), (), "regression", attributes)
    return Dataset(name, "scikit-learn", X, np.asarray(bunch.target_names)[bunch.target], attributes=attributes)


def find_file(name: str, fetch: bool) -> tuple[Path, KnownDataset | None]:
    """Return the file of a dataset, and what is known of it.

    Parameters
    ----------
    name : str
    fetch : bool
        Whether a known dataset that is not on this machine may be fetched.
    """
    known, folder = known_datasets().get(name), _data_folder()
    if folder and Path(name).name == name and (folder / f"{name}.parquet").is_file():
        return folder / f"{name}.parquet", known
    if known is None:
        raise UnknownDataset(_unknown_name(name))
    return cached_file(known, fetch), known


def _data_folder() -> Path | None:
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    return Path(folder) if folder else None


def _unknown_name(name: str) -> str:
    names = dict.fromkeys([*dataset_names(), *known_datasets()])
    hint = did_you_mean(name, names) or ": give one of these, or the path of a file"
    folder = "" if _data_folder() else f"; more are found when {DATA_FOLDER_VARIABLE} names a folder of Parquet files"
    return f"no dataset {name!r} (scikit-learn brings {listed([*BUNDLED, *BUNDLED_NUMBERS])}{folder}){hint}"
