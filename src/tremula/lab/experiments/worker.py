"""Measures one cell, in whatever process: one thread for linear algebra, and an error becomes part of the result."""

from __future__ import annotations

import os
import platform
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

from threadpoolctl import threadpool_limits

from tremula.errors import TremulaError
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.claims import this_host
from tremula.lab.experiments.stored_rows import Measured, pack

WATCH_SECONDS = 0.2  # how soon a worker sees that its runner was killed
WATCHED = threading.Event()


def _in_words(error: Exception) -> str:
    """Return the message; errors of tremula tell what to do, others at least their kind."""
    return str(error) if isinstance(error, TremulaError) else f"{type(error).__name__}: {error}"


def _end_with_parent() -> None:
    """Make this process, a worker, end soon after the runner was killed: nobody waits for what it measures."""
    if not WATCHED.is_set():
        WATCHED.set()
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _plain(outcome: Outcome) -> Outcome:
    """Return an outcome of plain numbers: what cannot be kept fails here, and not in the store."""
    if not isinstance(outcome, Outcome):
        raise TypeError(f"measure returned {type(outcome).__name__}: return an Outcome")
    for name in outcome.values:
        if not isinstance(name, str):
            raise TypeError(f"measure named a number {name!r}: name numbers by strings")
    if outcome.seed is not None and not 0 <= outcome.seed < 2**64:
        raise ValueError(f"measure used the seed {outcome.seed}: use one from 0 to 2**64 - 1")
    return replace(
        outcome,
        values={name: float(number) for name, number in outcome.values.items()},
        n_test=int(outcome.n_test),
        fit_seconds=float(outcome.fit_seconds),
        predict_seconds=float(outcome.predict_seconds),
        size=None if outcome.size is None else int(outcome.size),
        seed=None if outcome.seed is None else int(outcome.seed),
    )


@dataclass(frozen=True)
class Work:
    """How a cell is measured, wherever that is.

    Attributes
    ----------
    measure : callable from Cell to Outcome
    keep_predictions : bool
    host : str
        Where the runner is.
    pid : int
        The process of the runner, which has limited its own threads.
    """

    measure: Callable[[Cell], Outcome]
    keep_predictions: bool
    host: str
    pid: int

    def __call__(self, cell: Cell) -> Measured:
        """Measure; never raise an error that is one of the cell."""
        here = self.host == this_host()
        if here and os.getppid() == self.pid:
            _end_with_parent()
        try:
            with nullcontext() if here and os.getpid() == self.pid else threadpool_limits(1):
                outcome = self._measure(cell)
        except Exception as error:
            return Measured(cell, None, _in_words(error), traceback.format_exc(), platform.node(), os.getpid())
        return Measured(cell, outcome, host=platform.node(), pid=os.getpid())

    def _measure(self, cell: Cell) -> Outcome:
        outcome = _plain(self.measure(cell))
        if not self.keep_predictions:
            return replace(outcome, predictions=None)
        if outcome.predictions is not None:
            pack(outcome.predictions)
        return outcome
