"""How Frank and Pfahringer (2006) measured, and the sizes of each budget.

Every method of a split has the same rows to learn from and to test on: 90 % and 10 % at random, classes evenly spread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from tremula import (
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    M5Regressor,
    REPTreeClassifier,
    SmearedBaggingClassifier,
    SmearedBaggingRegressor,
)
from tremula.folds import Split
from tremula.lab.datasets import Dataset, known_datasets
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import (
    count_nodes,
    kept_dataset,
    random_division,
    seed_of,
    try_classifier,
)

SEED = 0
N_MEMBERS = 10
TEST_SHARE = 0.1
SMEARING, BAGGING, UNPRUNED, PRUNED = "smearing", "bagging", "unpruned tree", "pruned tree"

# The paper names few of its datasets. It has 22 of UCI with numeric attributes alone; in Weka's collection the pixels
# of mfeat are nominal, and vowel has nominal attributes.
CLASSES = (
    "balance-scale",
    "breast-w",
    "diabetes",
    "ecoli",
    "glass",
    "heart-statlog",
    "ionosphere",
    "iris",
    "letter",
    "mfeat-factors",
    "mfeat-fourier",
    "mfeat-karhunen",
    "mfeat-morphological",
    "mfeat-zernike",
    "optdigits",
    "page-blocks",
    "pendigits",
    "segment",
    "sonar",
    "spambase",
    "vehicle",
    "waveform-5000",
)
# 23 of Torgo's collection: those of numeric attributes alone are 24, of which one has 43 rows and is left out.
NUMBERS = (
    "2dplanes",
    "ailerons",
    "auto-price",
    "bank32nh",
    "bank8FM",
    "cal-housing",
    "cpu-act",
    "cpu-small",
    "delta-ailerons",
    "delta-elevators",
    "elevators",
    "fried",
    "house-16H",
    "house-8L",
    "kin8nm",
    "machine-cpu",
    "pol",
    "puma32H",
    "puma8NH",
    "pyrim",
    "stock",
    "triazines",
    "wisconsin",
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget.

    Attributes
    ----------
    splits : int
    classes, numbers : sequence of str
        Datasets.
    most_rows : tuple of two of int or None
        Maximum number of rows for classification and for regression; a larger dataset is replaced by a sample of this
        size, drawn once.
    models : int
        Learning sets of the bias and variance.
    option_splits : int
        Splits of what goes beyond the paper.
    """

    splits: int
    classes: Sequence[str]
    numbers: Sequence[str]
    most_rows: tuple[int | None, int | None]
    models: int
    option_splits: int


SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(3, ("iris", "glass", "sonar", "vehicle"), ("auto-price", "stock"), (1000, 500), 10, 2),
    "default": Sizes(25, CLASSES, NUMBERS, (None, None), 20, 3),
    "full": Sizes(100, CLASSES, NUMBERS, (None, None), 50, 25),
}
# Regression on fewer rows and splits, which stands in for what is not measured.
FEWER_SPLITS, FEWER_ROWS = 5, 1000


@lru_cache(maxsize=4)
def load_rows(name: str, most: int | None, seed: int) -> Dataset:
    """Load a dataset, or so many rows of it, the same each time."""
    dataset = kept_dataset(name)
    if most is None or len(dataset.y) <= most:
        return dataset
    rows = np.random.default_rng(seed_of(seed, name, "rows")).choice(len(dataset.y), most, replace=False)
    return dataset.take(np.sort(rows))


def divide(dataset: Dataset, number: int, seed: int) -> Split:
    """Return the training rows and the test rows."""
    seed = seed_of(seed, dataset.name, number)
    if dataset.task == "regression":
        return random_division(len(dataset.y), round(TEST_SHARE * len(dataset.y)), seed)
    splitter = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
    train, test = next(splitter.split(np.zeros(len(dataset.y)), dataset.y))
    return np.sort(train), np.sort(test)


def nominal_of(dataset: Dataset) -> Any:
    """Return what estimators call `categorical_features`."""
    return list(dataset.nominal) or None


PAPERS_WAY: dict[str, Any] = {"tuning": "cv", "search": "grid", "n_estimators": N_MEMBERS}
CLASS_MAKERS: dict[str, Callable[[int], Any]] = {
    SMEARING: lambda seed: SmearedBaggingClassifier(**PAPERS_WAY, random_state=seed),
    BAGGING: lambda seed: BaggingClassifier(REPTreeClassifier(prune=False), N_MEMBERS, random_state=seed),
    UNPRUNED: lambda seed: REPTreeClassifier(prune=False),
    PRUNED: lambda seed: C45Classifier(release="J48"),
}
NUMBER_MAKERS: dict[str, Callable[[int], Any]] = {
    SMEARING: lambda seed: SmearedBaggingRegressor(**PAPERS_WAY, random_state=seed),
    BAGGING: lambda seed: BaggingRegressor(M5Regressor(prune=False), N_MEMBERS, random_state=seed),
    UNPRUNED: lambda seed: M5Regressor(prune=False),
    PRUNED: lambda seed: M5Regressor(),
}


def try_regressor(model: Any, X: np.ndarray, y: np.ndarray, split: Split, seed: int) -> tuple[Any, Outcome]:
    """Train a regressor on some rows and test it on others; the error is relative to that of the training mean."""
    train, test = split
    start = time.process_time()
    model.fit(X[train], y[train])
    fitted = time.process_time()
    squares = float(np.sum((model.predict(X[test]) - y[test]) ** 2))
    predicted = time.process_time()
    relative = squares / float(np.sum((y[train].mean() - y[test]) ** 2))
    values = {"rrse": 100.0 * np.sqrt(relative)}
    return model, Outcome(values, len(test), fitted - start, predicted - fitted, count_nodes(model), seed)


def try_on(model: Any, dataset: Dataset, number: int, seed: int) -> Outcome:
    """Train and test on a split; the outcome includes what the search for the noise amount found."""
    split = divide(dataset, number, SEED)
    model = model.set_params(categorical_features=nominal_of(dataset))
    attempt = try_regressor if dataset.task == "regression" else try_classifier
    model, outcome = attempt(model, dataset.X, dataset.y, split, seed)
    values = {**outcome.values, "n_train": float(len(split[0]))}
    if hasattr(model, "noise_"):
        curve = getattr(model, "noise_curve_", None)
        values |= {"noise": float(model.noise_), "n_trained": float(curve.n_trained if curve else 0)}
    return replace(outcome, values=values, predictions=None)


@dataclass(frozen=True)
class MeasureSplit:
    """Trains and tests one method on one split."""

    most_rows: int | None

    def __call__(self, cell: Cell) -> Outcome:
        """Measure the error and the chosen amount of noise."""
        dataset = load_rows(cell.dataset, self.most_rows, SEED)
        seed = seed_of(SEED, cell.dataset, cell.split, "learner")
        makers = NUMBER_MAKERS if dataset.task == "regression" else CLASS_MAKERS
        return try_on(makers[cell.method](seed), dataset, cell.split, seed)


@dataclass(frozen=True)
class CostOfSplit:
    """About how long a cell takes: as many rows and attributes as it has, and the search for the noise."""

    most_rows: int | None

    def __call__(self, cell: Cell) -> float:
        """Return it in no particular unit."""
        known = known_datasets()[cell.dataset]
        n_rows = known.rows if self.most_rows is None else min(known.rows, self.most_rows)
        return n_rows * (known.numeric + known.nominal) * (30.0 if cell.method == SMEARING else 1.0)


def _experiment(name: str, datasets: Sequence[str], splits: int, most_rows: int | None) -> Experiment:
    settings = {"members": N_MEMBERS, "seed": SEED, "test_share": TEST_SHARE, "most_rows": most_rows}
    methods = (SMEARING, BAGGING, UNPRUNED, PRUNED)
    cells = [Cell(dataset, method, split) for split in range(splits) for dataset in datasets for method in methods]
    return Experiment(f"frank2006/{name}", settings, cells, MeasureSplit(most_rows), CostOfSplit(most_rows))


def classes_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Table 1."""
    sizes = SIZES[budget]
    return _experiment("classes", sizes.classes, sizes.splits, sizes.most_rows[0])


def numbers_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Table 2."""
    sizes = SIZES[budget]
    experiment = _experiment("numbers", sizes.numbers, sizes.splits, sizes.most_rows[1])
    if budget == "quick":
        return experiment
    fewer = _experiment("numbers", sizes.numbers, FEWER_SPLITS, FEWER_ROWS)
    words = f"{FEWER_SPLITS} splits of at most {FEWER_ROWS} rows"
    return replace(experiment, stand_in=replace(fewer, sizes=words))
