"""How methods are compared: stratified cross-validation, every method on the same folds.

The folds and every estimator's `random_state` come from one seed: the errors are the same each time, the times are not.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from tremula.errors import TremulaError
from tremula.lab.cells import Cell, Experiment, Outcome
from tremula.lab.datasets import Dataset
from tremula.lab.methods import Method
from tremula.lab.paper import Result
from tremula.lab.run import run_experiment
from tremula.lab.store import Store


class UnusableProtocol(TremulaError, ValueError):
    """The folds asked for cannot be made from this dataset."""


class MethodFailed(TremulaError, RuntimeError):
    """A method refused a dataset."""


@dataclass(frozen=True)
class Trial:
    """One method trained and tested on one fold."""

    error: float
    fit_seconds: float
    n_leaves: int | None


def cross_validate(
    methods: Sequence[Method],
    dataset: Dataset,
    n_folds: int = 10,
    seed: int = 0,
    store: Store | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> dict[str, list[Trial]]:
    """Train and test every method on every fold.

    The methods take turns within a fold, so that a machine that slows down slows all of them.

    Parameters
    ----------
    methods : sequence of Method
        What is compared.
    dataset : Dataset
        On what.
    n_folds : int, default=10
        Parts of the data; each is the test set once.
    seed : int, default=0
        Decides the folds and is every estimator's `random_state`.
    store : Store or path, default=None
        Where each trial is kept, to be measured only once; None keeps nothing.
    n_jobs : int or None, default=None
        Trials at a time, as in joblib. The errors are the same for any number; the times are longer where trials
        compete for a processor.
    progress : bool or None, default=None
        Show a bar on standard error; None does where that is a terminal.

    Returns
    -------
    dict of str to list of Trial
        By the method's name, one trial a fold.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.methods import choose_methods
    >>> from tremula.lab.protocol import cross_validate
    >>> trials = cross_validate(choose_methods(["c45"]), load_dataset("iris"), n_folds=3)
    >>> [trial.n_leaves for trial in trials["c45"]]
    [4, 5, 4]
    """
    experiment = cross_validation(methods, dataset, n_folds, seed)
    # A failure is tried again each time: it may have been one of the machine.
    results = run_experiment(experiment, store, n_jobs, retry_failed=True, progress=progress)
    trials: dict[str, list[Trial]] = {method.name: [] for method in methods}
    for result in results:
        trials[result.method].append(_as_trial(result))
    return trials


def cross_validation(methods: Sequence[Method], dataset: Dataset, n_folds: int, seed: int) -> Experiment:
    """Return the experiment: a cell is a method on a fold; other data, folds or seed are another experiment."""
    folds = _folds(dataset.y, n_folds, seed)
    return Experiment(
        name="cross-validation",
        settings={"data": checksum(dataset), "folds": n_folds, "seed": seed},
        cells=[Cell(dataset.name, method.name, fold) for fold in range(n_folds) for method in methods],
        measure=_TrainAndTest({method.name: method for method in methods}, dataset, folds, seed),
    )


def checksum(dataset: Dataset) -> str:
    """Return a checksum of the rows: of each value of each attribute, its kind, and the target.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> checksum(load_dataset("iris")) == checksum(load_dataset("wine"))
    False
    """
    digest = hashlib.sha256(repr((dataset.X.shape, dataset.nominal, dataset.y.dtype.kind)).encode())
    digest.update(np.ascontiguousarray(dataset.X).tobytes())
    digest.update("\0".join(map(str, dataset.y.tolist())).encode())
    return digest.hexdigest()[:16]


def _folds(y: NDArray[Any], n_folds: int, seed: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    if n_folds < 2:
        raise UnusableProtocol(f"{n_folds} folds were asked for: at least 2 are needed")
    largest = int(np.unique(y, return_counts=True)[1].max())
    if n_folds > largest:
        raise UnusableProtocol(f"{n_folds} folds, but the largest class has {largest} rows: ask for at most {largest}")
    with warnings.catch_warnings():
        # Classes with fewer rows than folds: the summary says so in its notes.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


@dataclass(frozen=True, eq=False)
class _TrainAndTest:
    methods: Mapping[str, Method]
    dataset: Dataset
    folds: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        train, test = self.folds[cell.split]
        X, y = self.dataset.X, self.dataset.y
        begin = time.perf_counter()
        try:
            model = self.methods[cell.method].build(self.dataset.nominal, self.seed).fit(X[train], y[train])
        except ValueError as error:
            raise MethodFailed(f"method {cell.method!r} cannot learn from {cell.dataset!r}: {error}") from error
        trained = time.perf_counter()
        wrong = model.predict(X[test]) != y[test]
        values = {"error": float(np.mean(wrong)), **_leaves(model)}
        return Outcome(values, len(test), trained - begin, time.perf_counter() - trained, seed=self.seed)


def _leaves(model: Any) -> dict[str, float]:
    """Count the leaves of a tree, or of the tree at the end of a pipeline."""
    tree = model[-1] if hasattr(model, "steps") else model
    return {"leaves": float(tree.get_n_leaves())} if hasattr(tree, "get_n_leaves") else {}


def _as_trial(result: Result) -> Trial:
    if result.error is not None:
        raise MethodFailed(result.error)
    leaves = result.values.get("leaves")
    return Trial(result.values["error"], result.fit_seconds, None if leaves is None else int(leaves))
