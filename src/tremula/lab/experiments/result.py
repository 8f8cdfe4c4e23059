"""A measured cell as the store keeps it, and results grouped by dataset, method and split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tremula import __version__
from tremula.lab.experiments.cell import Cell, Outcome


@dataclass(frozen=True)
class Result:
    """A cell with its outcome, or with the reason why it failed.

    Attributes
    ----------
    cell : Cell
    outcome : Outcome
        Without values if the cell failed.
    failure : str or None
        The error message of a cell that failed.
    traceback : str or None
    tremula : str
        The version of tremula that measured the cell.
    host : str
    pid : int
        The machine and the process that measured the cell.
    stands_in : bool
        Whether it was measured with smaller sizes than those of the experiment, see `Experiment.stand_in`.

    Examples
    --------
    >>> from tremula.lab.experiments.cell import Cell, Outcome
    >>> from tremula.lab.experiments.result import Result
    >>> result = Result(Cell("iris", "bagging", 3), Outcome({"error": 0.04}, n_test=50))
    >>> result.method, result.split, result.values["error"], result.failure
    ('bagging', 3, 0.04, None)
    """

    cell: Cell
    outcome: Outcome = field(default_factory=lambda: Outcome({}))
    failure: str | None = None
    traceback: str | None = field(default=None, repr=False, compare=False)
    tremula: str = field(default=__version__, repr=False)
    host: str = field(default="", repr=False, compare=False)
    pid: int = field(default=0, repr=False, compare=False)
    stands_in: bool = field(default=False, repr=False, compare=False)

    @property
    def dataset(self) -> str:
        """Dataset of the cell."""
        return self.cell.dataset

    @property
    def method(self) -> str:
        """Method of the cell."""
        return self.cell.method

    @property
    def split(self) -> int:
        """Split of the cell."""
        return self.cell.split

    @property
    def values(self) -> Mapping[str, float]:
        """Named numbers of the outcome; empty if the cell failed."""
        return self.outcome.values

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return self.outcome.n_test

    @property
    def fit_seconds(self) -> float:
        """Seconds spent in ``fit``."""
        return self.outcome.fit_seconds

    @property
    def predict_seconds(self) -> float:
        """Seconds spent in ``predict``."""
        return self.outcome.predict_seconds

    @property
    def seconds(self) -> float:
        """Processor time of the cell; of a cell of an earlier version the seconds of fit and predict by the clock."""
        by_clock = self.fit_seconds + self.predict_seconds
        return by_clock if self.outcome.processor_seconds is None else self.outcome.processor_seconds

    @property
    def size(self) -> int | None:
        """Number of nodes of all trees, if there are trees."""
        return self.outcome.size

    @property
    def failure_note(self) -> str:
        """The failure as a note for a table."""
        return f"{self.dataset}, {self.method} failed: {self.failure}"


ResultsBySplit = dict[str, dict[str, dict[int, Result]]]


def group_by_split(results: Iterable[Result], failed_methods: bool = False) -> ResultsBySplit:
    """Return the results that did not fail, by dataset, method and split.

    Parameters
    ----------
    results : iterable of Result
    failed_methods : bool, default=False
        Keep methods of which every cell failed, without splits.
    """
    grouped: ResultsBySplit = {}
    for result in results:
        if result.failure is None:
            grouped.setdefault(result.dataset, {}).setdefault(result.method, {})[result.split] = result
        elif failed_methods:
            grouped.setdefault(result.dataset, {}).setdefault(result.method, {})
    return grouped


def shared_splits(methods: Mapping[str, Mapping[int, Result]]) -> list[int]:
    """Return the splits on which every method was measured, in ascending order.

    Examples
    --------
    >>> from tremula.lab.experiments.cell import Cell
    >>> cells = [Cell("iris", "bagging", 0), Cell("iris", "bagging", 1), Cell("iris", "c45", 1)]
    >>> results = [Result(cell) for cell in cells]
    >>> shared_splits(group_by_split(results)["iris"])
    [1]
    """
    return sorted(set.intersection(*map(set, methods.values()))) if methods else []


def first_failures(results: Iterable[Result]) -> list[str]:
    """Return the first failure of each dataset as a note."""
    notes: dict[str, str] = {}
    for result in results:
        if result.failure is not None:
            notes.setdefault(result.dataset, result.failure_note)
    return list(notes.values())
