"""When smoothing works: its gain on all numeric datasets, and what a user can know of them beforehand.

One tree, pruned on validation rows, and bagged trees are smoothed with the default choice of the noise. The loss is the
squared error, of numbers or of class shares, so that datasets of both kinds have one scale.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from tremula import (
    BaggingClassifier,
    BaggingRegressor,
    CARTClassifier,
    CARTRegressor,
    DualPerturbClassifier,
    DualPerturbRegressor,
)
from tremula.lab.datasets import known_datasets
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.geurts2001.threshold_share import threshold_share
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import count_nodes, kept_dataset, seed_of

SEED = 0
TREE, BAGGED = "tree", "bagged trees"
MEMBERS = 25
LEAST_ROWS = 150
MOST_ROWS = {"growing": 600, "validation": 300, "test": 2000}
SHARES = (0.4, 0.2)  # of a small dataset: growing, validation
SPLITS: dict[Budget, int] = {"quick": 1, "default": 5, "full": 10}
QUICK = ("iris", "auto-price")
PREDICTORS = {
    "threshold_share": "share of threshold variance",
    "boundary": "boundary length",
    "noise": "out-of-bag error",
    "attributes": "number of attributes",
    "distinct": "share of distinct values",
    "leaves": "number of leaves",
}

Floats = NDArray[np.float64]


def numeric_datasets() -> list[str]:
    """List the known datasets whose attributes are all numeric, without missing values, and not tiny."""
    return [
        name
        for name, known in known_datasets().items()
        if known.nominal == 0 and known.missing == 0 and known.numeric > 1 and known.rows >= LEAST_ROWS
    ]


@dataclass(frozen=True)
class Parts:
    """Rows of a dataset: those to grow on, to prune and choose the noise on, and to test on."""

    is_classes: bool
    X: dict[str, Floats]
    y: dict[str, NDArray[Any]]
    levels: NDArray[Any]

    def outputs(self, y: NDArray[Any]) -> Floats:
        """Return numbers as a column, and classes as an indicator of each."""
        return (y[:, None] == self.levels).astype(float) if self.is_classes else y.astype(float)[:, None]

    def answers(self, model: Any, X: Floats) -> Floats:
        """Return the predicted outputs; a class that the model has not seen has share 0."""
        if not self.is_classes:
            return np.asarray(model.predict(X), dtype=float)[:, None]
        answers = np.zeros((len(X), len(self.levels)))
        answers[:, np.searchsorted(self.levels, model.classes_)] = model.predict_proba(X)
        return answers


def divide_rows(name: str, number: int) -> Parts:
    """Return the rows of one split."""
    dataset = kept_dataset(name)
    order = np.random.default_rng(seed_of(SEED, name, number, "study")).permutation(len(dataset.y))
    n_growing, n_validation = (
        min(most, int(share * len(order))) for share, most in zip(SHARES, MOST_ROWS.values(), strict=False)
    )
    ends = np.cumsum([n_growing, n_validation, MOST_ROWS["test"]])
    rows = dict(zip(MOST_ROWS, np.split(order[: ends[-1]], ends[:-1]), strict=True))
    X = np.asarray(dataset.X, dtype=float)
    is_classes = dataset.task == "classification"
    levels = np.unique(dataset.y) if is_classes else np.empty(0)
    return Parts(
        is_classes,
        {kind: X[chosen] for kind, chosen in rows.items()},
        {kind: dataset.y[chosen] for kind, chosen in rows.items()},
        levels,
    )


def _fit(parts: Parts, method: str, seed: int) -> Any:
    cart, bagging = (CARTClassifier, BaggingClassifier) if parts.is_classes else (CARTRegressor, BaggingRegressor)
    if method == BAGGED:
        with warnings.catch_warnings():  # of rows that every member has drawn
            warnings.simplefilter("ignore", UserWarning)
            model: Any = bagging(cart(), MEMBERS, oob_score=True, random_state=seed)
            return model.fit(parts.X["growing"], parts.y["growing"])
    validation = {"X_val": parts.X["validation"], "y_val": parts.y["validation"]}
    return cart(ccp_alpha="validation").fit(parts.X["growing"], parts.y["growing"], **validation)


def _soften(parts: Parts, model: Any) -> Any:
    wrapper = DualPerturbClassifier if parts.is_classes else DualPerturbRegressor
    validation = {"X_val": parts.X["validation"], "y_val": parts.y["validation"]}
    return wrapper(model, tuning="validation").fit(parts.X["growing"], **validation)


def nearest_disagreement(X: Floats, outputs: Floats) -> float:
    """Return how much the nearest other row differs: 0 if it never does, about 1 if it tells nothing.

    Of classes this is the share of rows with a neighbour of another class, divided by that of two rows at random.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> nearest_disagreement(X, np.array([[0.0], [0.0], [1.0], [1.0]]))
    0.0
    """
    scaled = StandardScaler().fit_transform(X)
    _, neighbours = NearestNeighbors(n_neighbors=2).fit(scaled).kneighbors(scaled)
    other = np.where(neighbours[:, 0] == np.arange(len(X)), neighbours[:, 1], neighbours[:, 0])
    spread = 2 * float(outputs.var(axis=0).sum())
    return float(((outputs - outputs[other]) ** 2).sum(axis=1).mean()) / spread if spread > 0.0 else 0.0


def _known_beforehand(parts: Parts, model: Any, seed: int) -> dict[str, float]:
    """Measure the predictors on growing and validation rows alone."""
    X, y = parts.X["growing"], parts.y["growing"]
    n_leaves = max(int(model.tree_.n_leaves), 2)
    cart = CARTClassifier if parts.is_classes else CARTRegressor

    def grow(sample: Floats, outputs: Floats) -> Floats:
        target = parts.levels[outputs.argmax(axis=1)] if parts.is_classes else outputs[:, 0]
        return parts.answers(cart(max_leaf_nodes=n_leaves).fit(sample, target), parts.X["validation"])

    share = threshold_share(model.tree_, grow, X, parts.outputs(y), parts.X["validation"], seed)
    return {
        "threshold_share": share,
        "boundary": nearest_disagreement(X, parts.outputs(y)),
        "noise": 1.0 - float(_fit(parts, BAGGED, seed).oob_score_),
        "attributes": float(X.shape[1]),
        "distinct": float(np.median([len(np.unique(column)) / len(column) for column in X.T])),
        "leaves": float(model.tree_.n_leaves),
    }


@dataclass(frozen=True)
class MeasureGain:
    """Trains one model on one split, tests it without noise and with, and measures what is known beforehand."""

    def __call__(self, cell: Cell) -> Outcome:
        """Measure squared errors, and of classes the share of wrong rows."""
        parts, seed = divide_rows(cell.dataset, cell.split), seed_of(SEED, cell.dataset, cell.split, "study learner")
        start = time.process_time()
        model = _fit(parts, cell.method, seed)
        soft = _soften(parts, model)
        fitted = time.process_time()
        outputs = parts.outputs(parts.y["test"])
        values = {"amount": float(np.mean(soft.noise_))}
        for name, each in (("plain", model), ("smoothed", soft)):
            answers = parts.answers(each, parts.X["test"])
            values[name] = float(((answers - outputs) ** 2).sum(axis=1).mean())
            if parts.is_classes:
                values[f"{name}_wrong"] = float(np.mean(answers.argmax(axis=1) != outputs.argmax(axis=1)))
        if cell.method == TREE:
            values |= _known_beforehand(parts, model, seed)
        tested = time.process_time()
        return Outcome(values, len(outputs), fitted - start, tested - fitted, count_nodes(model), seed)


def study_experiment(budget: Budget) -> Experiment:
    """Return one tree and bagged trees on every numeric dataset."""
    datasets = QUICK if budget == "quick" else numeric_datasets()
    cells = [
        Cell(dataset, method, split)
        for split in range(SPLITS[budget])
        for dataset in datasets
        for method in (TREE, BAGGED)
    ]
    settings = {"members": MEMBERS, "most_rows": MOST_ROWS, "shares": list(SHARES), "seed": SEED}
    return Experiment("geurts2001/study", settings, cells, MeasureGain())
