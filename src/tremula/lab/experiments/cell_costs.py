"""What measured cells cost, and what missing ones will: processor time, or the clock for cells of earlier versions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.result import Result


@dataclass(frozen=True)
class Cost:
    """Hours of measured cells.

    Attributes
    ----------
    hours : float
        Processor time; of cells of earlier versions the seconds of fit and predict by the clock.
    n_cells, n_by_clock : int
        Number of cells, and of those whose seconds are by the clock.
    """

    hours: float
    n_cells: int
    n_by_clock: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.hours + other.hours, self.n_cells + other.n_cells, self.n_by_clock + other.n_by_clock)

    @property
    def clock(self) -> str:
        """Say by which clock the hours are."""
        if not self.n_by_clock:
            return "by processor time"
        if self.n_by_clock == self.n_cells:
            return "by the clock"
        return f"{self.n_by_clock} of {self.n_cells} cells by the clock, the others by processor time"


def cost_of(results: Iterable[Result]) -> Cost:
    """Return the cost of the cells that did not fail."""
    measured = [result for result in results if result.failure is None]
    n_by_clock = sum(result.outcome.processor_seconds is None for result in measured)
    return Cost(math.fsum(result.seconds for result in measured) / 3600, len(measured), n_by_clock)


@dataclass(frozen=True)
class HoursLeft:
    """An estimate of what missing cells will take.

    Attributes
    ----------
    hours : float
        Of the cells whose dataset has measured cells.
    n_unknown : int
        Number of cells whose dataset has none; they are not in `hours`.
    """

    hours: float
    n_unknown: int

    def __add__(self, other: HoursLeft) -> HoursLeft:
        return HoursLeft(self.hours + other.hours, self.n_unknown + other.n_unknown)

    def __str__(self) -> str:
        unknown = f", and {self.n_unknown} cells of datasets with no measured cell" if self.n_unknown else ""
        return f"{self.hours:.2f} core-hours{unknown}"


def mean_seconds(results: Iterable[Result]) -> dict[tuple[str, ...], float]:
    """Return the mean seconds of the cells of each dataset and method, and of each dataset."""
    seconds: dict[tuple[str, ...], list[float]] = {}
    for result in results:
        for kind in ((result.dataset, result.method), (result.dataset,)):
            seconds.setdefault(kind, []).append(result.seconds)
    return {kind: math.fsum(like) / len(like) for kind, like in seconds.items()}


def expected_hours(cell: Cell, seconds: Mapping[tuple[str, ...], float], ratio: float = 1.0) -> HoursLeft:
    """Return what a cell will take by `mean_seconds`: its own kind, or its dataset, times a ratio."""
    like = seconds.get((cell.dataset, cell.method), seconds.get((cell.dataset,)))
    return HoursLeft(0.0, 1) if like is None else HoursLeft(ratio * like / 3600, 0)


def settings_text(experiment: Experiment) -> str:
    """Return the settings as a store and a file of cells hold them."""
    return json.dumps(dict(experiment.settings), sort_keys=True, ensure_ascii=False)


def cost_ratio(smaller: Experiment | None, larger: Experiment, cell: Cell) -> float:
    """Return how many times as long a cell takes with larger sizes, by the costs that both experiments expect."""
    if smaller is None or settings_text(smaller) == settings_text(larger):
        return 1.0
    if larger.cost is None or smaller.cost is None:
        raise InvalidParameter(f"experiment {larger.name!r} has no cost: give it one that grows with its settings")
    return larger.cost(cell) / smaller.cost(cell)
