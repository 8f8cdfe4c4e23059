"""The 33 domains of Dietterich (2000): which file each stands for, which rows of it, and how it is divided.

Names 11 to 33 are recalled and were not checked; the file of published names says so, and tables mark them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import add_class_noise
from tremula.folds import Split, shuffled_folds
from tremula.lab.papers.published import read_published
from tremula.lab.papers.shared_protocol import kept_dataset, official_split, seed_of

FOLDS = 10
NOISE_RATES = (0, 5, 10, 20)  # percent
# Nine domains on which methods differed; which nine is recalled and was not checked.
NOISE_DOMAINS = ("audiology", "hypo", "krkp", "satimage", "sick", "splice", "segment", "vehicle", "waveform")

FIRST_ROWS = {"soybean": 307}  # the published rates are of so many rows, which are those of the training file
LEVELS_AS_NUMBERS = {"krk"}  # files of the chess board are ordered like its ranks; as levels C4.5 errs on 31 %
# Rows of the training file where there is a fixed test set. That of phoneme is not known: a third is drawn.
TRAINING_ROWS: dict[str, int | None] = {"satimage": 4435, "phoneme": None, "shuttle": 43500}


@dataclass(frozen=True)
class Domain:
    """One of the 33.

    Attributes
    ----------
    name : str
        As in the paper.
    dataset : str
        As `load_dataset` knows it.
    confirmed : bool
        Whether its name is one of the ten that are published with their errors.
    has_test_set : bool
        Whether it is tested on rows of its own, not by cross-validation.
    """

    name: str
    dataset: str
    confirmed: bool
    has_test_set: bool

    @property
    def label(self) -> str:
        """The name as tables show it: marked if it is recalled."""
        return self.name if self.confirmed else f"{self.name} †"


DOMAINS = {
    row["domain"]: Domain(row["domain"], row["dataset"], row["confirmed"] == "yes", row["fixed_test_set"] == "yes")
    for row in read_published("dietterich2000_domains").rows
}
# Names of domains in cells, with and without noise, and their meaning.
NOISY_NAMES = {f"{name}, {rate} % noise" if rate else name: (name, rate) for name in DOMAINS for rate in NOISE_RATES}


def noisy_name(domain: str, rate: int) -> str:
    """Return the name of a domain with a percentage of class noise in cells."""
    return f"{domain}, {rate} % noise" if rate else domain


@dataclass(frozen=True)
class Table:
    """Rows of a domain, ready to be divided."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    categorical_features: Any
    corrupted: NDArray[np.bool_]


def load_table(noisy: str, seed: int) -> Table:
    """Load a domain; with noise, exactly so many percent of its labels are wrong, in training as in testing."""
    name, rate = NOISY_NAMES[noisy]
    dataset = kept_dataset(DOMAINS[name].dataset)
    n_rows = FIRST_ROWS.get(name, len(dataset.y))
    X, y = dataset.X[:n_rows], dataset.y[:n_rows]
    nominal = None if name in LEVELS_AS_NUMBERS else list(dataset.nominal) or None
    if not rate:
        return Table(X, y, nominal, np.zeros(n_rows, dtype=bool))
    noise, mask = add_class_noise(y, rate / 100, random_state=seed_of(seed, name, "noise", rate))
    return Table(X, noise, nominal, mask)


def split_of(noisy: str, y: NDArray[Any], number: int, seed: int) -> Split:
    """Return one of ten stratified folds, or the split into training and test file."""
    name, _ = NOISY_NAMES[noisy]
    if not DOMAINS[name].has_test_set:
        return shuffled_folds(y, FOLDS, seed_of(seed, name, "folds"))[number]
    n_train = TRAINING_ROWS[name]
    if n_train is None:
        return shuffled_folds(y, 3, seed_of(seed, name, "folds"))[number]
    return official_split(len(y), n_train)


def n_splits(name: str, n_folds: int = FOLDS) -> int:
    """Return the number of folds of a domain: one if there is a test set."""
    return 1 if DOMAINS[name].has_test_set else n_folds
