"""A bar that tells how far an experiment is and how long it takes yet, by what its cells cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment

SPEED_SECONDS = 3600.0  # how far back to look for the speed: a cell may take minutes


class ProgressOfCells:
    """Which cells are left, what they cost, and someone to tell.

    Parameters
    ----------
    left : sequence of Cell
    cost : callable or None
        From a cell to about how long it takes; None is the same for all.
    tell : callable
        Called with the cost done, the number of cells done, and that of cells failed.

    Examples
    --------
    >>> cells = [Cell("iris", "bagging", split) for split in range(3)]
    >>> bar = ProgressOfCells(cells, lambda cell: 1 + cell.split, lambda *numbers: print(*numbers))
    >>> bar.advance(cells[2])
    3.0 1 0
    """

    def __init__(
        self,
        left: Sequence[Cell],
        cost: Callable[[Cell], float] | None,
        tell: Callable[[float, int, int], None],
    ) -> None:
        self._costs = {cell: float(cost(cell)) if cost else 1.0 for cell in left}
        self._tell = tell
        self.total = sum(self._costs.values())
        self._done = 0.0
        self._n_done = self._n_failed = 0

    def advance(self, cell: Cell, failed: bool = False) -> None:
        """One cell is done."""
        self._done += self._costs.pop(cell, 0.0)
        self._n_done += 1
        self._n_failed += failed
        self._tell(self._done, self._n_done, self._n_failed)

    def only_left(self, cells: Collection[Cell]) -> None:
        """All but these are done, some by others."""
        kept = set(cells)
        for cell in [cell for cell in self._costs if cell not in kept]:
            self.advance(cell)


@contextmanager
def show_progress(experiment: Experiment, wanting: Sequence[Cell], wanted: bool | None) -> Iterator[ProgressOfCells]:
    """Show a bar on standard error, if wanted, or with None if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield ProgressOfCells(wanting, experiment.cost, lambda *_: None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    n_cells, n_kept = len(experiment.cells), len(experiment.cells) - len(wanting)
    with Progress(*columns, console=console, transient=True, speed_estimate_period=SPEED_SECONDS) as progress:
        task: Any = progress.add_task(experiment.name, total=None, told=_told(n_kept, n_cells, 0))

        def tell(done: float, n_done: int, n_failed: int) -> None:
            progress.update(task, completed=done, told=_told(n_kept + n_done, n_cells, n_failed))

        bar = ProgressOfCells(wanting, experiment.cost, tell)
        progress.update(task, total=bar.total)
        yield bar


def _told(n_done: int, n_cells: int, n_failed: int) -> str:
    return f"{n_done}/{n_cells} cells" + (f", {n_failed} failed" if n_failed else "") + ", left:"
