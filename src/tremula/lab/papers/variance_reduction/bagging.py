"""Breiman's bagging experiment, and the same question asked of nearest neighbours.

Every method of a division has the same learning and test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tremula import BaggingClassifier, CARTClassifier, prune_each
from tremula.folds import Split
from tremula.lab.datasets.generators import waveform
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
SINGLE, BAGGED = "tree pruned by cross-validation", "bagged trees pruned on the learning set"
TREE, BAGGED_TREES = "tree", "bagged trees"
NEIGHBOUR, BAGGED_NEIGHBOUR = "nearest neighbour", "bagged nearest neighbours"

# What the slides call a dataset, and ours; waveform is made anew for every division.
DATASETS = {
    "waveform": None,
    "breast cancer": "breast-w",
    "ionosphere": "ionosphere",
    "diabetes": "diabetes",
    "glass": "glass",
    "soybean": "soybean",
    "soybean, all rows": "soybean",
}
FIRST_ROWS = {"soybean": 307}
WAVEFORM_ROWS, WAVEFORM_LEARNING = 1800, 300
TEST_SHARE = 0.1
NUMERIC = ("waveform", "ionosphere", "diabetes", "glass")  # complete and numeric, as neighbours need it


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget: divisions, members and datasets."""

    divisions: int
    members: int
    datasets: Sequence[str]
    neighbour_divisions: int


SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(5, 10, ("waveform", "glass"), 5),
    "default": Sizes(100, 50, tuple(DATASETS), 50),
    "full": Sizes(100, 50, tuple(DATASETS), 100),
}


@dataclass(frozen=True)
class Division:
    """Rows of a dataset and which of them are learned from."""

    X: np.ndarray
    y: np.ndarray
    categorical_features: Any
    split: Split


def divide(name: str, number: int, seed: int) -> Division:
    """Return a division: a tenth of the rows to test on, or 300 and 1500 new rows of waveform."""
    seed = seed_of(seed, name, number)
    source = DATASETS[name]
    if source is None:
        made = waveform(WAVEFORM_ROWS, seed)
        rows = np.arange(WAVEFORM_ROWS)
        return Division(made.X, made.y, None, (rows[:WAVEFORM_LEARNING], rows[WAVEFORM_LEARNING:]))
    dataset = kept_dataset(source)
    n_rows = FIRST_ROWS.get(name, len(dataset.y))
    split = random_division(n_rows, round(TEST_SHARE * n_rows), seed)
    return Division(dataset.X[:n_rows], dataset.y[:n_rows], list(dataset.nominal) or None, split)


def _standardized_neighbour() -> Any:
    return make_pipeline(StandardScaler(), KNeighborsClassifier(1))


class _PrunedOnLearningSet(BaggingClassifier):
    """Bagging whose trees are each pruned with the learning set as test set."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Train, prune every tree on the rows of training, and take the pruned trees."""
        super().fit(X, y, sample_weight, groups)
        self.members_ = prune_each(self, X, y).members_
        return self


def _bagging(kind: type, estimator: Any, members: int, division: Division, seed: int) -> Any:
    columns = {} if division.categorical_features is None else {"categorical_features": division.categorical_features}
    return kind(estimator, members, combine="vote", random_state=seed, **columns)


def _tree(division: Division, seed: int, **options: Any) -> CARTClassifier:
    return CARTClassifier(categorical_features=division.categorical_features, random_state=seed, **options)


MAKERS: dict[str, Callable[[Division, int, int], Any]] = {
    SINGLE: lambda division, members, seed: _tree(division, seed, ccp_alpha="cv", cv=10),
    BAGGED: lambda division, members, seed: _bagging(_PrunedOnLearningSet, CARTClassifier(), members, division, seed),
    TREE: lambda division, members, seed: _tree(division, seed),
    BAGGED_TREES: lambda division, members, seed: _bagging(
        BaggingClassifier, CARTClassifier(), members, division, seed
    ),
    NEIGHBOUR: lambda division, members, seed: _standardized_neighbour(),
    BAGGED_NEIGHBOUR: lambda division, members, seed: _bagging(
        BaggingClassifier, _standardized_neighbour(), members, division, seed
    ),
}


@dataclass(frozen=True)
class MeasureDivision:
    """Trains and tests one method on one division."""

    members: int
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors on the test rows."""
        division = divide(cell.dataset, cell.split, self.seed)
        seed = seed_of(self.seed, cell.dataset, cell.split, "learner")
        model = MAKERS[cell.method](division, self.members, seed)
        model, outcome = try_classifier(model, division.X, division.y, division.split, seed)
        return replace(outcome, predictions=None, size=count_nodes(model))


def _experiment(name: str, members: int, cells: Sequence[Cell]) -> Experiment:
    settings = {"members": members, "seed": SEED, "test_share": TEST_SHARE}
    return Experiment(f"variance_reduction/{name}", settings, cells, MeasureDivision(members, SEED))


def bagging_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Breiman's table."""
    sizes = SIZES[budget]
    cells = [
        Cell(name, method, split)
        for name in sizes.datasets
        for method in (SINGLE, BAGGED)
        for split in range(sizes.divisions)
    ]
    return _experiment("bagging", sizes.members, cells)


def neighbours_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the comparison of trees and neighbours."""
    sizes = SIZES[budget]
    methods = (TREE, BAGGED_TREES, NEIGHBOUR, BAGGED_NEIGHBOUR)
    names = [name for name in NUMERIC if name in sizes.datasets]
    cells = [
        Cell(name, method, split) for name in names for method in methods for split in range(sizes.neighbour_divisions)
    ]
    return _experiment("neighbours", sizes.members, cells)
