"""Datasets by name, file or database: one matrix and the target.

`reader.py` reads what a user names, `catalog.py` finds a name, `formats/` has a module for each kind of file.
Open `reader.py` first.
"""

from tremula.errors import MissingLibrary
from tremula.lab.datasets.catalog import BUNDLED, dataset_names
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.errors import (
    DamagedCopy,
    NotFetched,
    OtherContent,
    RowsLeftOut,
    UnknownDataset,
    UnusableDataset,
)
from tremula.lab.datasets.reader import load_dataset
from tremula.lab.datasets.registry import KnownDataset, known_datasets

__all__ = [
    "BUNDLED",
    "DamagedCopy",
    "Dataset",
    "KnownDataset",
    "MissingLibrary",
    "NotFetched",
    "OtherContent",
    "RowsLeftOut",
    "UnknownDataset",
    "UnusableDataset",
    "dataset_names",
    "known_datasets",
    "load_dataset",
]
