"""The datasets of the papers: what each is, where it comes from, and the checksum by which a copy is known.

The table is the file ``datasets.csv`` beside this one.
"""

import csv
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHECKSUM_LETTERS = 32


@dataclass(frozen=True)
class KnownDataset:
    """One row of the table.

    Attributes
    ----------
    name : str
        As given to `load_dataset`.
    task : {'classification', 'regression'}
    rows, numeric, nominal : int
        How many rows, numeric and nominal attributes it has.
    classes : int or None
        How many classes occur in it; None in regression.
    missing : int
        How many attribute values are missing.
    papers : tuple of str
        The papers that use it.
    openml : int or None
        Its number at OpenML, where it can be fetched.
    origin : str
        Who collected it, or from where this copy of it came.
    licence : str
        Under which terms it may be used.
    official_split : str
        How its collectors divided it into training and test rows: empty where they did not; ``first 300`` are the
        training rows; ``sex is m`` are the rows with this value of this attribute.
    checksum : str
        See `content_checksum`.
    """

    name: str
    task: str
    rows: int
    numeric: int
    nominal: int
    classes: int | None
    missing: int
    papers: tuple[str, ...]
    openml: int | None
    origin: str
    licence: str
    official_split: str
    checksum: str


@cache
def known_datasets() -> Mapping[str, KnownDataset]:
    """Return the table by name.

    Examples
    --------
    >>> from tremula.lab.datasets import known_datasets
    >>> sonar = known_datasets()["sonar"]
    >>> sonar.rows, sonar.numeric, sonar.classes, sonar.papers
    (208, 60, 2, ('dietterich2000', 'frank2006'))
    """
    text = resources.files("tremula.lab.datasets").joinpath("datasets.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return MappingProxyType({row["name"]: _from_row(row) for row in rows})


def _from_row(row: Mapping[str, str]) -> KnownDataset:
    numbers = {name: int(row[name]) for name in ("rows", "numeric", "nominal", "missing")}
    maybe = {name: int(row[name]) if row[name] else None for name in ("classes", "openml")}
    words = {name: row[name] for name in ("name", "task", "origin", "licence", "official_split", "checksum")}
    return KnownDataset(**numbers, **maybe, **words, papers=tuple(row["papers"].split()))  # type: ignore[arg-type]


def content_checksum(X: NDArray[np.float64], nominal: Collection[int], y: NDArray[Any], task: str) -> str:
    """Return a checksum of what a dataset holds, the same whatever kind of file it was read from.

    It is SHA-256 over the number of rows, the kind of each attribute, and column by column, the target last, the
    values in the order of the rows. A numeric value counts with the 24 binary digits of a float32, because programs
    that read decimals differ in the last digit of a float64. A nominal value or a class counts as the number of
    levels that appeared in its column before its own. So names of columns, attributes, levels and classes and the
    order in which levels are declared have no part in it; the order of rows and of attributes has.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.5, 0.0], [np.nan, 1.0]])
    >>> content_checksum(X, [1], np.array(["yes", "no"]), "classification")[:8]
    'caafc8ab'
    """
    kinds = "".join("nominal," if index in nominal else "numeric," for index in range(X.shape[1]))
    digest = hashlib.sha256(f"{len(X)} rows: {kinds}{task}".encode())
    for index in range(X.shape[1]):
        digest.update(_by_appearance(X[:, index]) if index in nominal else _as_float32(X[:, index]))
    digest.update(_as_float32(y) if task == "regression" else _by_appearance(y))
    return digest.hexdigest()[:CHECKSUM_LETTERS]


def _as_float32(values: NDArray[Any]) -> bytes:
    floats = values.astype("<f4") + np.float32(0)  # adding 0 makes -0 into 0
    floats[np.isnan(floats)] = np.nan  # one bit pattern for all that is missing
    return floats.astype("<f4").tobytes()


def _by_appearance(values: NDArray[Any]) -> bytes:
    """Return the numbers of levels, counted in the order in which they appear; a missing value is -1."""
    present = values == values
    levels, first, codes = np.unique(values[present], return_index=True, return_inverse=True)
    numbers = np.empty(len(levels), dtype="<i4")
    numbers[np.argsort(first)] = np.arange(len(levels))
    result = np.full(len(values), -1, dtype="<i4")
    result[present] = numbers[codes]
    return result.tobytes()
