"""How Van Assche and Blockeel (2006) measured, and the sizes of each budget.

Every method of a fold has the same rows to learn from and to test on, prepared in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tremula import BaggingClassifier, ID3Classifier, SimulatedBaggingClassifier
from tremula.folds import Split, shuffled_folds
from tremula.lab.datasets import known_datasets
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import kept_dataset, seed_of, try_classifier
from tremula.lab.papers.vanassche2006.preparation import class_aware_cuts, equal_frequency_cuts, prepare

SEED = 0
N_MEMBERS = 20
FOLDS, REPETITIONS = 10, 5
MIN_ROWS = 2  # a node with fewer is a leaf: with it our trees have the published sizes
SB, SB_STOP, BAG = "SB", "SB_stop", "Bag"
DATASETS = (
    "breast-cancer",
    "kr-vs-kp",
    "primary-tumor",
    "soybean",
    "splice",
    "waveform-5000",
    "credit-a",
    "hypothyroid",
    "mushroom",
    "vote",
    "nursery",
    "connect-4",
)
WITH_NUMBERS = ("waveform-5000", "credit-a", "hypothyroid")
EQUAL, AWARE, LEAKING = "equal frequency", "class-aware", "class-aware on all rows"


@dataclass(frozen=True)
class Binning:
    """How numbers become bins: by which cuts, and whether test rows are looked at."""

    cuts_of: Callable[..., Any]
    on_all_rows: bool = False


BINNINGS = {
    EQUAL: Binning(equal_frequency_cuts),
    AWARE: Binning(class_aware_cuts),
    LEAKING: Binning(class_aware_cuts, on_all_rows=True),
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget: datasets, and folds of each, of the fifty there are."""

    datasets: Sequence[str]
    folds: int
    fewer_folds: Mapping[str, int]

    def folds_of(self, dataset: str) -> int:
        """Return the number of folds of a dataset that are measured."""
        return self.fewer_folds.get(dataset, self.folds)


SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(("breast-cancer", "vote", "credit-a"), FOLDS, {}),
    "default": Sizes(DATASETS, FOLDS * REPETITIONS, {}),
    "full": Sizes(DATASETS, FOLDS * REPETITIONS, {}),
}
MAKERS: dict[str, Callable[[int], Any]] = {
    SB: lambda seed: SimulatedBaggingClassifier(
        N_MEMBERS, min_samples_split=MIN_ROWS, categorical_features="all", random_state=seed
    ),
    SB_STOP: lambda seed: SimulatedBaggingClassifier(
        N_MEMBERS, min_samples_split=MIN_ROWS, stop="bootstrap", categorical_features="all", random_state=seed
    ),
    BAG: lambda seed: BaggingClassifier(
        ID3Classifier(min_weight_split=MIN_ROWS), N_MEMBERS, categorical_features="all", random_state=seed
    ),
}


def cell_name(dataset: str, binning: str) -> str:
    """Return the name in cells of a dataset with a kind of bins.

    Examples
    --------
    >>> cell_name("vote", EQUAL), cell_name("credit-a", AWARE)
    ('vote', 'credit-a, class-aware')
    """
    return f"{dataset}, {binning}" if dataset in WITH_NUMBERS else dataset


# Names of datasets in cells, and their meaning.
CELL_NAMES = {cell_name(dataset, binning): (dataset, binning) for dataset in DATASETS for binning in BINNINGS}


def split_of(dataset: str, number: int) -> Split:
    """Return one of the ten folds of one of the cross-validations."""
    repetition, fold = divmod(number, FOLDS)
    return shuffled_folds(kept_dataset(dataset).y, FOLDS, seed_of(SEED, dataset, repetition))[fold]


@lru_cache(maxsize=2)
def prepared(name: str, number: int) -> tuple[np.ndarray, Split]:
    """Return the codes of all rows for a fold, and the fold: once for the methods that follow one another."""
    dataset, binning = CELL_NAMES[name]
    split = split_of(dataset, number)
    rows = np.sort(np.concatenate(split)) if BINNINGS[binning].on_all_rows else split[0]
    return prepare(kept_dataset(dataset), rows, BINNINGS[binning].cuts_of), split


def measure_fold(cell: Cell) -> Outcome:
    """Train and test one method on one fold; the time is that of training, without the preparation."""
    X, split = prepared(cell.dataset, cell.split)
    seed = seed_of(SEED, cell.dataset, cell.split, "learner")
    y = kept_dataset(CELL_NAMES[cell.dataset][0]).y
    _, outcome = try_classifier(MAKERS[cell.method](seed), X, y, split, seed)
    return replace(outcome, values={**outcome.values, "n_train": float(len(split[0]))}, predictions=None)


def cost_of(cell: Cell) -> float:
    """Return the approximate cost of a cell."""
    known = known_datasets()[CELL_NAMES[cell.dataset][0]]
    return known.rows * (known.numeric + known.nominal) * (1.0 if cell.method == BAG else 10.0)


def table1_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Table 1."""
    sizes = SIZES[budget]
    settings = {"members": N_MEMBERS, "seed": SEED, "folds": FOLDS, "min_rows": MIN_ROWS}
    cells = [
        Cell(name, method, split)
        for name, (dataset, _) in CELL_NAMES.items()
        if dataset in sizes.datasets
        for split in range(sizes.folds_of(dataset))
        for method in MAKERS
    ]
    return Experiment("vanassche2006/table1", settings, cells, measure_fold, cost_of)
