"""How methods are compared: stratified cross-validation, every method on the same folds.

The folds and every estimator's `random_state` come from one seed: the errors are the same each time, the times are not.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from tremula.errors import TremulaError
from tremula.lab.datasets import Dataset
from tremula.lab.methods import Method


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
    after_trial: Callable[[], None] = lambda: None,
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
    after_trial : callable, default=<nothing>
        Called after each trial, for showing progress.

    Returns
    -------
    dict of str to list of Trial
        By the method's name, one trial a fold.
    """
    trials: dict[str, list[Trial]] = {method.name: [] for method in methods}
    for train, test in _folds(dataset.y, n_folds, seed):
        for method in methods:
            trials[method.name].append(_try_method(method, dataset, train, test, seed))
            after_trial()
    return trials


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


def _try_method(method: Method, dataset: Dataset, train: NDArray[Any], test: NDArray[Any], seed: int) -> Trial:
    X_train, y_train, X_test = dataset.X[train], dataset.y[train], dataset.X[test]
    start = time.perf_counter()
    try:
        model = method.build(dataset.nominal, seed).fit(X_train, y_train)
    except ValueError as error:
        raise MethodFailed(f"method {method.name!r} cannot learn from {dataset.name!r}: {error}") from error
    seconds = time.perf_counter() - start
    return Trial(float(np.mean(model.predict(X_test) != dataset.y[test])), seconds, _count_leaves(model))


def _count_leaves(model: Any) -> int | None:
    """Count the leaves of a tree, or of the tree at the end of a pipeline."""
    tree = model[-1] if hasattr(model, "steps") else model
    return int(tree.get_n_leaves()) if hasattr(tree, "get_n_leaves") else None
