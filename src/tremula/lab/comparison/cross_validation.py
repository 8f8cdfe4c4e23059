"""How methods are compared: cross-validation, once or repeated, every method on the same splits.

Splits and every estimator's `random_state` come from one seed: the errors are the same each time, the times are not.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics.decomposition.retraining import ask_probabilities
from tremula.errors import TremulaError
from tremula.folds import Split, max_folds, shuffled_folds
from tremula.lab.comparison.calibration import count_answers
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store
from tremula.lab.papers.paper import Result
from tremula.lab.papers.shared_protocol import seed_of
from tremula.losses import brier_losses, log_losses

PROTOCOL = 2  # what a trial is; results of an earlier kind are not mixed with these
USUAL_FOLDS = 10


class UnusableProtocol(TremulaError, ValueError):
    """The folds asked for cannot be made from this dataset."""


class MethodFailed(TremulaError, RuntimeError):
    """A method refused a dataset."""


# --- which splits ---


@dataclass(frozen=True)
class Folds:
    """A cross-validation: its folds, and how often it is repeated with other folds."""

    folds: int = USUAL_FOLDS
    repeats: int = 1

    @property
    def n_splits(self) -> int:
        """All trainings of one method."""
        return self.folds * self.repeats

    def __str__(self) -> str:
        return str(self.folds) if self.repeats == 1 else f"{self.repeats}x{self.folds}"


def read_folds(words: str) -> Folds:
    """Read ``10`` as ten folds, and ``5x2`` as five repetitions of two.

    Examples
    --------
    >>> read_folds("5x2")
    Folds(folds=2, repeats=5)
    """
    found = re.fullmatch(r"(?:(\d+)\s*x\s*)?(\d+)", words.strip().lower())
    if not found or int(found[2]) < 2 or int(found[1] or 1) < 1:
        raise UnusableProtocol(
            f"cv {words!r} is no cross-validation: give a number of folds such as 10 (at least 2), or repetitions and "
            "folds such as 5x2 or 10x10"
        )
    return Folds(int(found[2]), int(found[1] or 1))


def most_folds(dataset: Dataset) -> int:
    """Return how many folds there can be: the rows of the largest class, or all rows in regression."""
    return max_folds(dataset.y, stratified=dataset.task == "classification")


def make_splits(dataset: Dataset, folds: Folds, seed: int) -> list[Split]:
    """Return the rows to learn from and to test on; more repetitions go on where fewer end."""
    check_folds(dataset, folds)
    stratified = dataset.task == "classification"
    splits: list[Split] = []
    for repeat in range(folds.repeats):
        # A class with fewer rows than folds is in the notes of the summary.
        drawn = seed if repeat == 0 else seed_of(seed, "repetition", repeat)
        splits += shuffled_folds(dataset.y, folds.folds, drawn, stratified)
    return splits


def check_folds(dataset: Dataset, folds: Folds) -> None:
    """Refuse folds that cannot be made from the rows."""
    if folds.folds < 2:
        raise UnusableProtocol(f"{folds.folds} folds were asked for: at least 2 are needed")
    most = most_folds(dataset)
    if folds.folds > most:
        what = "the largest class has" if dataset.task == "classification" else "there are"
        rows = "1 row" if most == 1 else f"{most} rows"
        advice = "more rows are needed" if most < 2 else f"ask for at most {most}"
        raise UnusableProtocol(f"{folds.folds} folds, but {what} {rows}: {advice}")


# --- one trial ---


@dataclass(frozen=True)
class Trial:
    """One method trained and tested on one split.

    Attributes
    ----------
    values : mapping of str to float
        ``error`` (a share), ``log_loss`` and ``brier``, or ``rmse``, ``mae`` and ``r2``; ``leaves`` of a tree, and the
        sums that calibration needs.
    n_test : int
        Rows tested on.
    fit_seconds, predict_seconds : float
    answers : array or None
        In regression, what was answered for the test rows.
    """

    values: Mapping[str, float]
    n_test: int
    fit_seconds: float
    predict_seconds: float
    answers: NDArray[Any] | None = field(default=None, compare=False)

    @property
    def error(self) -> float:
        """Share of rows answered wrongly."""
        return self.values["error"]

    @property
    def n_leaves(self) -> int | None:
        """Leaves, of a single tree."""
        leaves = self.values.get("leaves")
        return None if leaves is None else int(leaves)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What came out of it.

    Attributes
    ----------
    trials : dict of str to list of Trial
        By the method's name, one trial a split; without the methods that failed.
    failures : dict of str to str
        Why a method could not be measured, by its name.
    splits : list of pairs of arrays
        Rows learned from and rows tested on.
    folds : Folds
    seed : int
    """

    trials: dict[str, list[Trial]]
    failures: dict[str, str]
    splits: list[Split]
    folds: Folds
    seed: int


def cross_validate(
    methods: Sequence[Method],
    dataset: Dataset,
    folds: Folds | int = USUAL_FOLDS,
    seed: int = 0,
    store: Store | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> CrossValidation:
    """Train and test every method on every split.

    The methods take turns within a split, so that a machine that slows down slows all of them.

    Parameters
    ----------
    methods : sequence of Method
        What is compared.
    dataset : Dataset
        On what.
    folds : Folds or int, default=10
        Parts of the data, each of which is the test set once, and repetitions.
    seed : int, default=0
        Decides the splits; with the number of the split it is every estimator's `random_state`.
    store : Store or path, default=None
        Where each trial is kept, to be measured only once; None keeps nothing.
    n_jobs : int or None, default=None
        Trials at a time, as in joblib. The errors are the same for any number; the times are longer where trials
        compete for a processor.
    progress : bool or None, default=None
        Show a bar on standard error; None does where that is a terminal.

    Returns
    -------
    CrossValidation

    Raises
    ------
    MethodFailed
        No method could learn; the message is that of the first.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> from tremula.lab.comparison.cross_validation import cross_validate
    >>> found = cross_validate(choose_methods(["c45"]), load_dataset("iris"), folds=3)
    >>> [trial.n_leaves for trial in found.trials["c45"]]
    [4, 5, 4]
    """
    wanted = folds if isinstance(folds, Folds) else Folds(folds)
    splits = make_splits(dataset, wanted, seed)
    experiment = cross_validation(methods, dataset, wanted, seed, splits)
    with _store_for_now(store) as kept:
        # A failure is tried again each time: it may have been one of the machine.
        results = run_experiment(experiment, kept, n_jobs, keep_predictions=True, retry_failed=True, progress=progress)
        names = {kept_as(method): method.name for method in methods}
        failures = {names[result.method]: result.error for result in reversed(results) if result.error is not None}
        trials: dict[str, list[Trial]] = {method.name: [] for method in methods if method.name not in failures}
        for result in results:
            if names[result.method] in trials:
                answers = _answers(kept, experiment, result) if dataset.task == "regression" else None
                trials[names[result.method]].append(_as_trial(result, answers))
    if not trials:
        raise MethodFailed(next(reversed(failures.values())))
    return CrossValidation(trials, dict(reversed(failures.items())), splits, wanted, seed)


def _answers(store: Store, experiment: Experiment, result: Result) -> NDArray[Any] | None:
    return store.predictions(experiment, Cell(result.dataset, result.method, result.split))


@contextmanager
def _store_for_now(store: Store | str | os.PathLike[str] | None) -> Iterator[Store]:
    if store is None:
        with tempfile.TemporaryDirectory(prefix="tremula-") as folder:
            yield Store(Path(folder) / "results.duckdb")
    else:
        yield store if isinstance(store, Store) else Store(store)


def cross_validation(
    methods: Sequence[Method], dataset: Dataset, folds: Folds, seed: int, splits: Sequence[Split]
) -> Experiment:
    """Return the experiment: a cell is a method on a split; other data, folds or seed are another experiment."""
    return Experiment(
        name="cross-validation",
        settings={"data": checksum(dataset), "folds": folds.folds, "seed": seed, "protocol": PROTOCOL},
        cells=[Cell(dataset.name, kept_as(method), split) for split in range(folds.n_splits) for method in methods],
        measure=_TrainAndTest({kept_as(method): method for method in methods}, dataset, splits, seed),
    )


def kept_as(method: Method) -> str:
    """Return the name a method's trials are kept under: another release of another library is another method.

    Examples
    --------
    >>> from tremula.lab.comparison.methods import METHODS
    >>> kept_as(METHODS["c45"])
    'c45'
    """
    if method.library == "tremula":  # the store itself knows its version
        return method.name
    for distribution in (method.library, f"{method.library}-cpu"):  # XGBoost comes as either
        with suppress(PackageNotFoundError):
            return f"{method.name}, {method.library} {version(distribution)}"
    return method.name


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


@dataclass(frozen=True, eq=False)
class _TrainAndTest:
    methods: Mapping[str, Method]
    dataset: Dataset
    splits: Sequence[Split]
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        train, test = self.splits[cell.split]
        method = self.methods[cell.method]
        X, y = self.dataset.X, self.dataset.y
        seed = (self.seed + cell.split) % 2**32
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries say of single folds: what matters is what comes out
            begin = time.perf_counter()
            try:
                model = method.build(self.dataset.nominal, seed).fit(X[train], y[train])
            except ValueError as error:
                raise MethodFailed(f"method {method.name!r} cannot learn from {cell.dataset!r}: {error}") from error
            trained = time.perf_counter()
            predictions = np.asarray(model.predict(X[test])).reshape(len(test))
            predicted = time.perf_counter()
            values, answers = JUDGES[self.dataset.task](model, X[test], y[test], predictions, np.unique(y))
        values |= _leaves(model)
        return Outcome(
            values, len(test), trained - begin, predicted - trained, seed=seed, predictions=answers.astype(np.float32)
        )


def _judge_classes(
    model: Any, X: NDArray[Any], y: NDArray[Any], predictions: NDArray[Any], classes: NDArray[Any]
) -> tuple[dict[str, float], NDArray[Any]]:
    values = {"error": float(np.mean(predictions != y))}
    if not hasattr(model, "predict_proba"):
        return values, np.eye(len(classes))[np.searchsorted(classes, predictions)]
    probabilities = ask_probabilities(model, X, classes)
    codes = np.searchsorted(classes, y)
    values["log_loss"] = float(log_losses(codes, probabilities).mean())
    values["brier"] = float(brier_losses(codes, probabilities).mean())
    return values | count_answers(codes, probabilities), probabilities


def _judge_numbers(
    model: Any, X: NDArray[Any], y: NDArray[Any], predictions: NDArray[Any], classes: NDArray[Any]
) -> tuple[dict[str, float], NDArray[Any]]:
    wrong = predictions - y
    spread = float(np.sum((y - y.mean()) ** 2))
    values = {"rmse": float(np.sqrt(np.mean(wrong**2))), "mae": float(np.mean(np.abs(wrong)))}
    if spread > 0:
        values["r2"] = 1 - float(np.sum(wrong**2)) / spread
    return values, predictions


Judge = Callable[..., tuple[dict[str, float], NDArray[Any]]]
JUDGES: dict[str, Judge] = {"classification": _judge_classes, "regression": _judge_numbers}


def _leaves(model: Any) -> dict[str, float]:
    """Count the leaves of a tree, or of the tree at the end of a pipeline."""
    tree = model[-1] if hasattr(model, "steps") else model
    return {"leaves": float(tree.get_n_leaves())} if hasattr(tree, "get_n_leaves") else {}


def _as_trial(result: Result, answers: NDArray[Any] | None) -> Trial:
    return Trial(result.values, result.n_test, result.fit_seconds, result.predict_seconds, answers)
