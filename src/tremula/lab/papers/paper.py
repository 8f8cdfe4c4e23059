"""A paper: parts (tables and figures), each with an experiment and a function that shows its results.

A package of `lab/papers/` defines one `Paper`, and `tremula reproduce` uses nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tremula.display import ShortTable, ShownAsTable
from tremula.lab.experiments.cell import Experiment
from tremula.lab.experiments.result import Result

Budget = Literal["quick", "default", "full"]


@dataclass(frozen=True, repr=False)
class ShownTable(ShownAsTable):
    """A table to print and to write, with our numbers and the published ones.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
    columns : sequence of str
    rows : sequence of sequences
        Strings and numbers; None is an empty cell.
    notes : sequence of str
        Notes for the reader, such as what was chosen on test data, or what is not comparable and why.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def _short_table(self) -> ShortTable:
        rows = [["" if cell is None else str(cell) for cell in row] for row in self.rows]
        return ShortTable(self.caption, self.columns, rows, self.notes)


@dataclass(frozen=True)
class ShownFigure:
    """A figure; `draw` returns a matplotlib Figure."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Part:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        "table1", "figure3", ... as given to ``tremula reproduce --only``.
    title : str
    experiment : callable from Budget to Experiment
    show : callable from (results, budget) to a list of ShownTable and ShownFigure
    """

    name: str
    title: str
    experiment: Callable[[Budget], Experiment]
    show: Callable[[Sequence[Result], Budget], Sequence[ShownTable | ShownFigure]]


@dataclass(frozen=True)
class Paper:
    """A paper, its citation and its parts."""

    name: str
    citation: str
    parts: Sequence[Part] = field(default_factory=tuple)
