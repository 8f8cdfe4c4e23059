"""The splits of a comparison: cross-validation, once or repeated, from one seed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tremula.errors import TremulaError, counted
from tremula.folds import Split, max_folds, shuffled_folds
from tremula.lab.datasets import Dataset
from tremula.lab.papers.shared_protocol import seed_of

DEFAULT_FOLDS = 10


class InvalidFolds(TremulaError, ValueError):
    """The requested folds cannot be made from the dataset."""


@dataclass(frozen=True)
class Folds:
    """The number of folds of a cross-validation, and how often it is repeated with other folds."""

    folds: int = DEFAULT_FOLDS
    repeats: int = 1

    @property
    def n_splits(self) -> int:
        """Number of times each method is trained."""
        return self.folds * self.repeats

    def __str__(self) -> str:
        return str(self.folds) if self.repeats == 1 else f"{self.repeats}x{self.folds}"


def read_folds(text: str) -> Folds:
    """Read ``10`` as ten folds, and ``5x2`` as five repetitions of two folds.

    Examples
    --------
    >>> read_folds("5x2")
    Folds(folds=2, repeats=5)
    """
    match = re.fullmatch(r"(?:(\d+)\s*x\s*)?(\d+)", text.strip().lower())
    if not match or int(match[2]) < 2 or int(match[1] or 1) < 1:
        raise InvalidFolds(
            f"cv {text!r} is not a cross-validation: give a number of folds such as 10 (at least 2), or repetitions "
            "and folds such as 5x2 or 10x10"
        )
    return Folds(int(match[2]), int(match[1] or 1))


def most_folds(dataset: Dataset) -> int:
    """Return the largest possible number of folds: the rows of the largest class, or all rows in regression."""
    return max_folds(dataset.y, stratified=dataset.task == "classification")


def make_splits(dataset: Dataset, folds: Folds, seed: int) -> list[Split]:
    """Return training and test rows of every split; the first splits do not depend on the number of repetitions."""
    check_folds(dataset, folds)
    stratified = dataset.task == "classification"
    splits: list[Split] = []
    for repeat in range(folds.repeats):
        # The notes of the summary mention a class with fewer rows than folds.
        repeat_seed = seed if repeat == 0 else seed_of(seed, "repetition", repeat)
        splits += shuffled_folds(dataset.y, folds.folds, repeat_seed, stratified)
    return splits


def check_folds(dataset: Dataset, folds: Folds) -> None:
    """Raise an error if the folds cannot be made from the rows."""
    if folds.folds < 2:
        raise InvalidFolds(f"{folds.folds} folds were requested: at least 2 are needed")
    most = most_folds(dataset)
    if folds.folds > most:
        subject = "the largest class has" if dataset.task == "classification" else "there are"
        advice = "more rows are needed" if most < 2 else f"request at most {most}"
        raise InvalidFolds(f"{folds.folds} folds, but {subject} {counted(most, 'row')}: {advice}")
