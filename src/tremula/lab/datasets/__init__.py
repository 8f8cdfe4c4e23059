"""Datasets by name, file or database, as one matrix and the target.

`reader.py` reads what a user names, `registry.py` lists the known datasets, `openml.py` fetches them.
Open `reader.py` first.
"""

from tremula.errors import MissingLibrary
from tremula.lab.datasets.by_name import BUNDLED, dataset_names, load_dataset
from tremula.lab.datasets.checksums import OtherContent
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.formats.delimited import UnusableDataset
from tremula.lab.datasets.openml import DamagedCopy, NotFetched, UnknownDataset
from tremula.lab.datasets.registry import KnownDataset, known_datasets

__all__ = [
    "BUNDLED",
    "DamagedCopy",
    "Dataset",
    "KnownDataset",
    "MissingLibrary",
    "NotFetched",
    "OtherContent",
    "UnknownDataset",
    "UnusableDataset",
    "dataset_names",
    "known_datasets",
    "load_dataset",
]
