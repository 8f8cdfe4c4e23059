"""Measures one cell in any process: one thread for linear algebra, and an error becomes part of the result."""

from __future__ import annotations

import os
import platform
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from threadpoolctl import threadpool_limits

from tremula.errors import TremulaError, is_interrupt
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.claims import this_host
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.stored_rows import PROCESSOR_SECONDS, pack

WATCH_SECONDS = 0.2  # how often a worker checks that its runner is alive
WATCHED = threading.Event()


def _describe(error: Exception) -> str:
    """Return the message; errors of other libraries are prefixed with their type."""
    return str(error) if isinstance(error, TremulaError) else f"{type(error).__name__}: {error}"


def _end_with_parent() -> None:
    """End this worker process soon after its runner was killed: nobody is left to store its result."""
    if not WATCHED.is_set():
        WATCHED.set()
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _checked(outcome: Outcome) -> Outcome:
    """Return the outcome with plain Python numbers; one that cannot be stored fails here and not in the store."""
    if not isinstance(outcome, Outcome):
        raise TypeError(f"measure returned {type(outcome).__name__}: return an Outcome")
    for name in outcome.values:
        if not isinstance(name, str):
            raise TypeError(f"measure returned a value with the name {name!r}: use strings as names")
        if name == PROCESSOR_SECONDS:
            raise ValueError(f"measure returned a value {name!r}, which the runner measures: use another name")
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
class Worker:
    """Measures cells on behalf of a runner, in the runner's process or in another one.

    Attributes
    ----------
    measure : callable from Cell to Outcome
    keep_predictions : bool
    host : str
        Machine of the runner.
    pid : int
        Process of the runner, which has already limited its own threads.
    """

    measure: Callable[[Cell], Outcome]
    keep_predictions: bool
    host: str
    pid: int

    def __call__(self, cell: Cell) -> Result:
        """Measure a cell; an error raised by the measurement becomes the failure of the result."""
        same_host = self.host == this_host()
        if same_host and os.getppid() == self.pid:
            _end_with_parent()
        origin: dict[str, Any] = {"host": platform.node(), "pid": os.getpid()}
        try:
            with nullcontext() if same_host and os.getpid() == self.pid else threadpool_limits(1):
                return Result(cell, self._measure(cell), **origin)
        except Exception as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            return Result(cell, failure=_describe(error), traceback=traceback.format_exc(), **origin)

    def _measure(self, cell: Cell) -> Outcome:
        start = processor_seconds()
        outcome = _checked(self.measure(cell))
        seconds = processor_seconds() - start
        outcome = replace(outcome, processor_seconds=seconds)
        if not outcome.fit_seconds and not outcome.predict_seconds:
            outcome = replace(outcome, fit_seconds=seconds)
        if not self.keep_predictions:
            return replace(outcome, predictions=None)
        if outcome.predictions is not None:
            pack(outcome.predictions)  # raises an error now if they cannot be stored
        return outcome
