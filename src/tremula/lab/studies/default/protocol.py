"""How the study measures: five times two-fold cross-validation, every method on the same rows.

Of a dataset with more rows than the budget pays for so many are drawn once, with the classes' shares kept. What is
measured first is one repetition of all methods on all datasets, so that a study that was stopped is one of fewer
repetitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tremula.data.take import take_rows
from tremula.folds import Split, shuffled_folds, stratified_order
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.registry import KnownDataset, known_datasets
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import count_nodes, kept_dataset, seed_of
from tremula.lab.studies.default.halves import half
from tremula.lab.studies.default.learners import ASPEN, CLASS_LEARNERS, FOREST, NUMBER_LEARNERS, READERS, SLOW, Learner
from tremula.losses import brier_losses, log_losses, squared_errors, zero_one_losses

SEED = 0
MOST_ROWS_OF_CLASSES = 25_000  # larger classification problems are left out
LEARNERS: Mapping[str, Mapping[str, Learner]] = {"classification": CLASS_LEARNERS, "regression": NUMBER_LEARNERS}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget.

    Attributes
    ----------
    most_rows : int or None
        Maximum number of rows; a larger dataset is replaced by a sample of this size, drawn once.
    repetitions : int
        Of two-fold cross-validation.
    slow : bool
        Whether methods take part that are slow to train.
    timed : sequence of str
        Datasets whose rows are all taken to compare times.
    datasets : sequence of str, optional
        Only these.
    """

    most_rows: int | None
    repetitions: int
    slow: bool
    timed: Sequence[str]
    datasets: Sequence[str] | None = None


QUICK = ("glass", "iris", "labor", "zoo", "cloud", "pyrim", "servo", "veteran")
TIMED = ("vehicle", "splice", "spambase", "letter", "housing", "abalone", "cpu-act", "cal-housing")
TIMED_METHODS = (ASPEN, FOREST, "random forest", "LightGBM")
SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(150, 1, False, ("iris", "cloud"), QUICK),
    "default": Sizes(2000, 5, True, TIMED),
    "full": Sizes(None, 5, True, TIMED),
}


def datasets_of(task: str, sizes: Sizes) -> list[KnownDataset]:
    """Return the datasets of a task, the deciding half first, small ones first within a half."""
    known = [dataset for dataset in known_datasets().values() if dataset.task == task and _takes_part(dataset, sizes)]
    return sorted(known, key=lambda known: (half(known.name), known.rows * (known.numeric + known.nominal)))


def _takes_part(dataset: KnownDataset, sizes: Sizes) -> bool:
    if sizes.datasets is not None:
        return dataset.name in sizes.datasets
    return dataset.task == "regression" or dataset.rows < MOST_ROWS_OF_CLASSES


def draw_rows(dataset: Dataset, most: int | None) -> Dataset:
    """Return a dataset, or so many rows of it, the same each time; each class keeps its share to within one row."""
    n_rows = len(dataset.y)
    if most is None or n_rows <= most:
        return dataset
    random = np.random.default_rng(seed_of(SEED, dataset.name, "rows"))
    order = stratified_order(np.arange(n_rows), dataset.y if dataset.task == "classification" else None, random)
    places = ((np.arange(most) + random.random()) * n_rows / most).astype(int)
    return dataset.take(np.sort(order[places]))


@lru_cache(maxsize=2)
def _load_rows(name: str, most: int | None) -> Dataset:
    return draw_rows(kept_dataset(name), most)


@lru_cache(maxsize=4)
def _attributes(name: str, most: int | None, reads: str) -> Any:
    return READERS[reads](_load_rows(name, most))


def divide(dataset: Dataset, number: int) -> Split:
    """Return the training rows and the test rows: splits 2k and 2k + 1 are the folds of repetition k."""
    repetition, fold = divmod(number, 2)
    seed = seed_of(SEED, dataset.name, repetition, "folds")
    return shuffled_folds(dataset.y, 2, seed, stratified=dataset.task == "classification")[fold]


# --- how wrong answers are ---


def class_losses(shares: Any, classes: Any, y: NDArray[Any]) -> dict[str, float]:
    """Return error, log loss and Brier score of class distributions.

    A class that the training rows did not have has the probability 0.

    Examples
    --------
    >>> import numpy as np
    >>> losses = class_losses(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array(["a", "b"]), np.array(["a", "a"]))
    >>> {name: round(loss, 3) for name, loss in losses.items()}
    {'error': 0.0, 'log_loss': 0.347, 'brier': 0.25}
    """
    shares = np.asarray(shares, dtype=np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    is_class = np.asarray(classes)[None, :] == y[:, None]
    codes = np.where(is_class.any(axis=1), is_class.argmax(axis=1), -1)
    losses = {
        "error": zero_one_losses(codes, shares.argmax(axis=1)),
        "log_loss": log_losses(codes, shares),
        "brier": brier_losses(codes, shares),
    }
    return {name: float(each.mean()) for name, each in losses.items()}


def _class_answers(model: Any, X: Any) -> Any:
    return model.predict_proba(X)


def _number_answers(model: Any, X: Any) -> Any:
    return model.predict(X)


def _number_losses(model: Any, answers: Any, y: NDArray[Any]) -> dict[str, float]:
    return {"rmse": float(np.sqrt(squared_errors(y, np.asarray(answers, dtype=np.float64)).mean()))}


ANSWERS: dict[str, Callable[[Any, Any], Any]] = {"classification": _class_answers, "regression": _number_answers}
LOSSES: dict[str, Callable[[Any, Any, NDArray[Any]], dict[str, float]]] = {
    "classification": lambda model, answers, y: class_losses(answers, model.classes_, y),
    "regression": _number_losses,
}


@dataclass(frozen=True)
class MeasureSplit:
    """Trains and tests one method on one split, with one thread."""

    most_rows: int | None

    def __call__(self, cell: Cell) -> Outcome:
        """Measure losses and seconds of processor time, which do not grow when others use the machine."""
        dataset = _load_rows(cell.dataset, self.most_rows)
        task, seed = dataset.task, seed_of(SEED, cell.dataset, cell.split, "learner")
        learner = LEARNERS[task][cell.method]
        X, (train, test) = _attributes(cell.dataset, self.most_rows, learner.reads), divide(dataset, cell.split)
        learn, ask = take_rows(X, train), take_rows(X, test)
        model = learner.make(dataset.nominal, seed)
        with threadpool_limits(1):
            start = time.process_time()
            model.fit(learn, dataset.y[train])
            fitted = time.process_time()
            answers = ANSWERS[task](model, ask)
            predicted = time.process_time()
        values = {**LOSSES[task](model, answers, dataset.y[test]), "n_train": float(len(train))}
        times = (fitted - start, predicted - fitted)
        return Outcome(values, len(test), *times, size=count_nodes(model), seed=seed)


def _experiment(task: str, budget: Budget) -> Experiment:
    sizes = SIZES[budget]
    cells = [
        Cell(dataset.name, method, 2 * repetition + fold)
        for repetition in range(sizes.repetitions)
        for dataset in datasets_of(task, sizes)
        for fold in (0, 1)
        for method in LEARNERS[task]
        if sizes.slow or method not in SLOW
    ]
    settings = {"seed": SEED, "most_rows": sizes.most_rows}
    return Experiment(f"default/{task}", settings, cells, MeasureSplit(sizes.most_rows))


def classes_experiment(budget: Budget) -> Experiment:
    """Return every method on every classification problem."""
    return _experiment("classification", budget)


def numbers_experiment(budget: Budget) -> Experiment:
    """Return every method on every regression problem."""
    return _experiment("regression", budget)


def times_experiment(budget: Budget) -> Experiment:
    """Return few methods on all rows of few datasets, taking turns: to be run while the machine does nothing else."""
    cells = [
        Cell(name, method, 2 * repetition)
        for repetition in range(3)
        for name in SIZES[budget].timed
        for method in TIMED_METHODS
    ]
    return Experiment("default/times", {"seed": SEED}, cells, MeasureSplit(None))
