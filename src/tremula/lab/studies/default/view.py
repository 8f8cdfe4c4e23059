"""What the study looks at: measures, the halves of the datasets, and the methods that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.diagnostics import Ranking
from tremula.lab.datasets.registry import known_datasets
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Budget, ShownFigure, ShownTable
from tremula.lab.studies.default.comparing import Measured, rank
from tremula.lab.studies.default.halves import DECIDING, JUDGED, half
from tremula.lab.studies.default.protocol import LEARNERS, SIZES, datasets_of

Shown = ShownTable | ShownFigure
HALVES = (JUDGED, DECIDING)
KINDS = ("numeric", "mixed", "nominal")


def kind_of(name: str) -> str:
    """Say which attributes a dataset has.

    Examples
    --------
    >>> kind_of("iris"), kind_of("vote"), kind_of("autos")
    ('numeric', 'nominal', 'mixed')
    """
    known = known_datasets()[name]
    if known.nominal == 0:
        return "numeric"
    return "nominal" if known.numeric == 0 else "mixed"


@dataclass(frozen=True)
class Measure:
    """A number to compare methods by; less is better.

    Attributes
    ----------
    name : str
        As cells and file names have it.
    label : str
        As captions have it.
    unit : str
        To be added to the label.
    factor : float
        By which it is shown.
    form : str
        How it is written.
    """

    name: str
    label: str
    unit: str = ""
    factor: float = 1.0
    form: str = ".3f"

    @property
    def caption(self) -> str:
        """Label and unit."""
        return f"{self.label} {self.unit}".strip()

    def show(self, value: float) -> str:
        """Return a value as tables have it, large ones without an exponent."""
        text = format(self.factor * value, self.form)
        return f"{float(text):g}" if "e+" in text else text


ERROR = Measure("error", "error", "in percent", 100.0, ".2f")
LOG_LOSS = Measure("log_loss", "log loss")
BRIER = Measure("brier", "Brier score")
RMSE = Measure("rmse", "root mean squared error", form=".4g")


@dataclass(frozen=True, eq=False)
class View:
    """What is shown of a task.

    Attributes
    ----------
    task, file : str
        What is predicted, and how names of files begin.
    measured : Measured
        The measured cells.
    methods : sequence of str
        Those that were measured.
    datasets : mapping of a half to names
    """

    task: str
    file: str
    measured: Measured
    methods: Sequence[str]
    datasets: dict[str, list[str]]

    @classmethod
    def of(cls, task: str, file: str, results: Sequence[Result], budget: Budget) -> View:
        """Sort the results of a task."""
        measured = Measured.of(results)
        methods = measured.methods(LEARNERS[task])
        names = [dataset.name for dataset in datasets_of(task, SIZES[budget])]
        return cls(task, file, measured, methods, {which: [n for n in names if half(n) == which] for which in HALVES})

    @property
    def every_dataset(self) -> list[str]:
        """Datasets of both halves."""
        return [name for which in HALVES for name in self.datasets[which]]

    def rank(self, which: str, measure: Measure) -> Ranking | None:
        """Rank methods over a half; None where it has too few datasets."""
        return rank(self.measured, self.datasets[which], self.methods, measure.name)


def rank_of(ranking: Ranking | None, method: str) -> float | None:
    """Return the mean rank of a method, None where nothing was ranked."""
    return None if ranking is None else float(ranking.mean_ranks[ranking.names.index(method)])


def show_number(value: float | None) -> str | None:
    """Return a number with two digits, nothing for None."""
    return None if value is None else f"{value:.2f}"
