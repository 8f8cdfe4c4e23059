"""The splits of a comparison: cross-validation, once or repeated, from one seed; or folds that keep the order of time.

In time order, each fold is tested by models of all rows before it, so that nothing is predicted from its future.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tremula.errors import TremulaError, counted
from tremula.folds import Split, max_folds, shuffled_folds
from tremula.lab.datasets import Dataset
from tremula.lab.papers.shared_protocol import seed_of

DEFAULT_FOLDS = 10
DEFAULT_TIME_FOLDS = 5
FEWEST_ROWS_OF_TIME = 2  # in a fold


class InvalidFolds(TremulaError, ValueError):
    """The requested folds cannot be made from the dataset."""


@dataclass(frozen=True)
class Folds:
    """The number of folds of a cross-validation, how often it is repeated, and whether they keep the order of rows."""

    folds: int = DEFAULT_FOLDS
    repeats: int = 1
    in_time: bool = False

    @property
    def n_splits(self) -> int:
        """Number of times each method is trained."""
        return self.folds * self.repeats

    def __str__(self) -> str:
        if self.in_time:
            return f"time:{self.folds}"
        return str(self.folds) if self.repeats == 1 else f"{self.repeats}x{self.folds}"


def read_folds(text: str) -> Folds:
    """Read ``10`` as ten folds, ``5x2`` as five repetitions of two folds, and ``time:4`` as four in time order.

    Examples
    --------
    >>> read_folds("5x2")
    Folds(folds=2, repeats=5, in_time=False)
    >>> read_folds("time")
    Folds(folds=5, repeats=1, in_time=True)
    """
    in_time = re.fullmatch(r"time(?::(\d+))?", text.strip().lower())
    if in_time and int(in_time[1] or DEFAULT_TIME_FOLDS) >= 2:
        return Folds(int(in_time[1] or DEFAULT_TIME_FOLDS), in_time=True)
    match = re.fullmatch(r"(?:(\d+)\s*x\s*)?(\d+)", text.strip().lower())
    if not match or int(match[2]) < 2 or int(match[1] or 1) < 1:
        raise InvalidFolds(
            f"cv {text!r} is not a cross-validation: give a number of folds such as 10 (at least 2), repetitions "
            "and folds such as 5x2 or 10x10, or time for folds in the order of time"
        )
    return Folds(int(match[2]), int(match[1] or 1))


def most_folds(dataset: Dataset) -> int:
    """Return the largest possible number of folds: the rows of the largest class, or all rows in regression."""
    return max_folds(dataset.y, stratified=dataset.task == "classification")


def make_splits(dataset: Dataset, folds: Folds, seed: int) -> list[Split]:
    """Return training and test rows of every split; the first splits do not depend on the number of repetitions."""
    check_folds(dataset, folds)
    if folds.in_time:
        return _folds_of_time(len(dataset.y), folds.folds)
    stratified = dataset.task == "classification"
    splits: list[Split] = []
    for repeat in range(folds.repeats):
        # The notes of the summary mention a class with fewer rows than folds.
        repeat_seed = seed if repeat == 0 else seed_of(seed, "repetition", repeat)
        splits += shuffled_folds(dataset.y, folds.folds, repeat_seed, stratified)
    return splits


def _folds_of_time(n_rows: int, n_folds: int) -> list[Split]:
    """Cut rows into parts of one size, in their order; each but the first is tested after training on all before.

    Examples
    --------
    >>> [(train.tolist(), test.tolist()) for train, test in _folds_of_time(6, 2)]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    parts = np.array_split(np.arange(n_rows), n_folds + 1)
    return [(np.arange(part[0]), part) for part in parts[1:]]


def check_folds(dataset: Dataset, folds: Folds) -> None:
    """Raise an error if the folds cannot be made from the rows."""
    if folds.folds < 2:
        raise InvalidFolds(f"{folds.folds} folds were requested: at least 2 are needed")
    if folds.in_time:
        _check_folds_of_time(dataset, folds)
        return
    most = most_folds(dataset)
    if folds.folds > most:
        subject = "the largest class has" if dataset.task == "classification" else "there are"
        advice = "more rows are needed" if most < 2 else f"request at most {most}"
        raise InvalidFolds(f"{folds.folds} folds, but {subject} {counted(most, 'row')}: {advice}")


def _check_folds_of_time(dataset: Dataset, folds: Folds) -> None:
    n_rows, fewest = len(dataset.y), FEWEST_ROWS_OF_TIME * (folds.folds + 1)
    if n_rows < fewest:
        raise InvalidFolds(
            f"{folds.folds} folds in time order need {fewest} rows, but there are {counted(n_rows, 'row')}: request "
            "fewer"
        )
    first = _folds_of_time(n_rows, folds.folds)[0][0]
    if dataset.task == "classification" and len(np.unique(dataset.y[first])) < 2:
        raise InvalidFolds(
            f"the first {counted(len(first), 'row')}, on which the first model is trained, are all of class "
            f"{str(dataset.y[0])!r}: request fewer folds, such as --cv time:2"
        )
