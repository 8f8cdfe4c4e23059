"""A progress bar for experiments; it estimates the remaining time from the costs of the cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment

SPEED_SECONDS = 3600.0  # window of the speed estimate: one cell may take minutes


class CellProgress:
    """Counts the finished cells and their cost, and reports both.

    Parameters
    ----------
    pending : sequence of Cell
    cost : callable or None
        Approximate relative duration of a cell; None if all cells take equally long.
    report : callable
        Called with the cost of the finished cells, their number, and the number of failed cells.

    Examples
    --------
    >>> cells = [Cell("iris", "bagging", split) for split in range(3)]
    >>> bar = CellProgress(cells, lambda cell: 1 + cell.split, lambda *numbers: print(*numbers))
    >>> bar.advance(cells[2])
    3.0 1 0
    """

    def __init__(
        self,
        pending: Sequence[Cell],
        cost: Callable[[Cell], float] | None,
        report: Callable[[float, int, int], None],
    ) -> None:
        self._costs = {cell: float(cost(cell)) if cost else 1.0 for cell in pending}
        self._report = report
        self.total = sum(self._costs.values())
        self._done = 0.0
        self._n_done = self._n_failed = 0

    def advance(self, cell: Cell, failed: bool = False) -> None:
        """Count one cell as finished."""
        self._done += self._costs.pop(cell, 0.0)
        self._n_done += 1
        self._n_failed += failed
        self._report(self._done, self._n_done, self._n_failed)

    def only_left(self, cells: Collection[Cell]) -> None:
        """Count all cells but these as finished, by this runner or others."""
        unfinished = set(cells)
        for cell in [cell for cell in self._costs if cell not in unfinished]:
            self.advance(cell)


@contextmanager
def show_progress(experiment: Experiment, pending: Sequence[Cell], wanted: bool | None) -> Iterator[CellProgress]:
    """Show a progress bar on standard error if wanted; None shows it if standard error is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield CellProgress(pending, experiment.cost, lambda *_: None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[status]},", markup=False),
        TimeElapsedColumn(),
        TextColumn("elapsed,", markup=False),
        TimeRemainingColumn(),
        TextColumn("left", markup=False),
    )
    n_cells, n_stored = len(experiment.cells), len(experiment.cells) - len(pending)
    with Progress(*columns, console=console, transient=True, speed_estimate_period=SPEED_SECONDS) as progress:
        task: Any = progress.add_task(experiment.name, total=None, status=_status(n_stored, n_cells, 0))

        def report(done: float, n_done: int, n_failed: int) -> None:
            progress.update(task, completed=done, status=_status(n_stored + n_done, n_cells, n_failed))

        bar = CellProgress(pending, experiment.cost, report)
        progress.update(task, total=bar.total)
        yield bar


def _status(n_done: int, n_cells: int, n_failed: int) -> str:
    return f"{n_done}/{n_cells} cells" + (f", {n_failed} failed" if n_failed else "")
