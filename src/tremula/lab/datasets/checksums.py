"""Whether a copy of a known dataset has the content that its checksum is of; only then its official split is used."""

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.errors import OtherContent
from tremula.lab.datasets.registry import KnownDataset, content_checksum


def confirm(dataset: Dataset, known: KnownDataset) -> Dataset:
    """Add the official split; a copy with other content has none, because its rows may stand in another order."""
    if content_checksum(dataset.X, dataset.nominal, dataset.y, dataset.task) == known.checksum:
        return replace(dataset, official_split=_official_split(dataset, known.official_split))
    differences = _differences(dataset, known)
    described = f"{dataset.source} is not the dataset {known.name!r} that tremula knows"
    reason = "; ".join(differences) or "the same shape, but other values or another order of rows or attributes"
    warnings.warn(f"{described}: {reason}; results may differ, and its official split is not used", OtherContent, 4)
    return dataset


def _differences(dataset: Dataset, known: KnownDataset) -> list[str]:
    """Say how the shape differs."""
    n_rows, n_attributes = dataset.X.shape
    n_classes = len(np.unique(dataset.y)) if dataset.task == "classification" else None
    pairs = {
        "rows": (n_rows, known.rows),
        "attributes": (n_attributes, known.numeric + known.nominal),
        "classes": (n_classes, known.classes),
        "nominal attributes": (len(dataset.nominal), known.nominal),
        "missing values": (int(np.isnan(dataset.X).sum()), known.missing),
    }
    return [f"{name}: {given}, not {expected}" for name, (given, expected) in pairs.items() if given != expected]


def _official_split(dataset: Dataset, rule: str) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Read a rule of the table: ``first 300``, or ``sex is m``."""
    if not rule:
        return None
    if rule.startswith("first "):
        train = np.arange(len(dataset.y)) < int(rule.removeprefix("first "))
    else:
        attribute, level = rule.split(" is ")
        index = dataset.attributes.index(attribute)
        train = dataset.X[:, index] == dataset.level_names(index).index(level)
    return np.flatnonzero(train), np.flatnonzero(~train)
