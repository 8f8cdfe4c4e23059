"""Compares methods by cross-validation, once or repeated, every method on the same splits.

The splits and every estimator's `random_state` follow from one seed: errors are reproducible, times are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from tremula.folds import Split
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import Metric
from tremula.lab.comparison.splits import DEFAULT_FOLDS, Folds, make_splits
from tremula.lab.comparison.trial import MethodFailed, TrainAndTest
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import PathLike, Store, open_store

PROTOCOL = 2  # version of the measurements; results of an earlier version are not mixed with these


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Results of a cross-validation.

    Attributes
    ----------
    results : dict of str to list of Result
        By the name of the method, one result per split; without the methods that failed. ``outcome.predictions``
        holds the numbers or the class probabilities predicted for the test rows.
    failures : dict of str to str
        Error messages by the name of the method that failed.
    splits : list of pairs of arrays
        Training rows and test rows.
    folds : Folds
    seed : int
    unfinished : dict of str to list of Result
        Results of the methods that failed on some splits, for the other splits.
    n_reused : int
        Results that were in the store before.
    """

    results: dict[str, list[Result]]
    failures: dict[str, str]
    splits: list[Split]
    folds: Folds
    seed: int
    unfinished: dict[str, list[Result]] = field(default_factory=dict)
    n_reused: int = 0

    @property
    def n_results(self) -> int:
        """Number of results, without failures."""
        return sum(map(len, (*self.results.values(), *self.unfinished.values())))


def cross_validate(
    methods: Sequence[Method],
    dataset: Dataset,
    folds: Folds | int = DEFAULT_FOLDS,
    seed: int = 0,
    store: Store | PathLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    metric: Metric | None = None,
) -> CrossValidation:
    """Train and test every method on every split.

    The methods take turns within a split, so a machine that slows down affects all of them alike.

    Parameters
    ----------
    methods : sequence of Method
        Methods to compare.
    dataset : Dataset
    folds : Folds or int, default=10
        Number of folds, and of repetitions.
    seed : int, default=0
        Determines the splits; seed plus split number is every estimator's `random_state`.
    store : Store or path, default=None
        Where results are stored, so that nothing is measured twice; None stores nothing.
    n_jobs : int or None, default=None
        Number of fits at a time, as in joblib. Errors do not depend on it; times are longer when fits compete for a
        processor.
    progress : bool or None, default=None
        Show a progress bar on standard error; None shows it if standard error is a terminal.
    metric : Metric, default=None
        Measured too, if it is not one of those that are always measured.

    Returns
    -------
    CrossValidation

    Raises
    ------
    MethodFailed
        All methods failed; the message is that of the first one.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> from tremula.lab.comparison.cross_validation import cross_validate
    >>> validation = cross_validate(choose_methods(["c45"]), load_dataset("iris"), folds=3)
    >>> [result.values["leaves"] for result in validation.results["c45"]]
    [4.0, 5.0, 4.0]
    """
    folds = folds if isinstance(folds, Folds) else Folds(folds)
    splits = make_splits(dataset, folds, seed)
    experiment = cross_validation(methods, dataset, folds, seed, splits, metric)
    with open_store(store) as opened:
        n_reused = sum(result.failure is None for result in opened.results(experiment))
        # Failures are always retried: the machine may have been the cause.
        run_experiment(experiment, opened, n_jobs, keep_predictions=True, retry_failed=True, progress=progress)
        measured = opened.results(experiment, with_predictions=True)
    names = {stored_name(method): method.name for method in methods}
    results, failures = _by_method(measured, names)
    unfinished = _unfinished(measured, names, failures)
    if not results:
        raise MethodFailed(next(iter(failures.values())))
    return CrossValidation(results, failures, splits, folds, seed, unfinished, n_reused)


def _by_method(measured: Sequence[Result], names: Mapping[str, str]) -> tuple[dict[str, list[Result]], dict[str, str]]:
    """Return the results of the methods that never failed, and the first failure of each of the others."""
    failures: dict[str, str] = {}
    for result in measured:
        if result.failure is not None:
            failures.setdefault(names[result.method], result.failure)
    results: dict[str, list[Result]] = {name: [] for name in names.values() if name not in failures}
    for result in measured:
        if names[result.method] in results:
            results[names[result.method]].append(result)
    return results, failures


def _unfinished(
    measured: Sequence[Result], names: Mapping[str, str], failures: Mapping[str, str]
) -> dict[str, list[Result]]:
    """Return what the methods that failed on some splits gave on the others."""
    known: dict[str, list[Result]] = {}
    for result in measured:
        if result.failure is None and names[result.method] in failures:
            known.setdefault(names[result.method], []).append(result)
    return known


def cross_validation(
    methods: Sequence[Method],
    dataset: Dataset,
    folds: Folds,
    seed: int,
    splits: Sequence[Split],
    metric: Metric | None = None,
) -> Experiment:
    """Return the experiment: a cell is a method on a split; other data, folds or seeds make another experiment."""
    by_name = {stored_name(method): method for method in methods}
    order = {"order": "time"} if folds.in_time else {}
    scorer = {"scorer": metric.scorer} if metric is not None and metric.scorer else {}
    return Experiment(
        name="cross-validation",
        settings={
            "data": checksum(dataset),
            "folds": folds.folds,
            "seed": seed,
            "protocol": PROTOCOL,
            **scorer,
            **order,
        },
        cells=[Cell(dataset.name, stored_name(method), split) for split in range(folds.n_splits) for method in methods],
        measure=TrainAndTest(by_name, dataset, splits, seed, metric),
    )


def stored_name(method: Method) -> str:
    """Return the name of a method in a store; it includes the version of another library.

    Examples
    --------
    >>> from tremula.lab.comparison.methods import METHODS
    >>> stored_name(METHODS["c45"])
    'c45'
    """
    if method.library == "tremula":  # the store records the version of tremula
        return method.name
    for distribution in (method.library, f"{method.library}-cpu"):  # XGBoost has two distributions
        with suppress(PackageNotFoundError):
            return f"{method.name}, {method.library} {version(distribution)}"
    return method.name


def checksum(dataset: Dataset) -> str:
    """Return a checksum of all values, the kinds of the attributes, and the target.

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
