"""What a run takes from its store, cells to measure, and what it gives back: results, at once, and a sign of life."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.claims import BEAT_SECONDS, Runner
from tremula.lab.experiments.store import Store
from tremula.lab.experiments.stored_rows import Measured

QUICK_SECONDS = 1.0  # where claimed cells are used up sooner, more are claimed at once


class Claiming(Iterator[Cell]):
    """Claims cells a few at a time, as they are asked for, so that other runners find some too."""

    def __init__(
        self,
        store: Store,
        experiment: Experiment,
        runner: Runner,
        cells: Sequence[Cell],
        n_workers: int,
        keep_predictions: bool,
    ) -> None:
        self._cells = cells
        self.ready: deque[Cell] = deque()
        self.handed: dict[Cell, None] = {}
        self.elsewhere: Sequence[Cell] = ()
        self._store, self._experiment, self._runner = store, experiment, runner
        self._keep_predictions = keep_predictions
        self._n_workers = self._limit = n_workers
        self._claimed_at = float("-inf")
        self._trouble: Exception | None = None

    def __next__(self) -> Cell:
        try:
            if not self.ready and not self.claim_more():
                raise StopIteration
        except StopIteration:
            raise
        except Exception as error:  # joblib asks in threads of its own, where an error would be lost
            self._trouble = error
            raise StopIteration from error
        cell = self.ready.popleft()
        self.handed[cell] = None
        return cell

    def claim_more(self) -> bool:
        """Claim some of the cells that are left, and tell whether there were any."""
        now = time.monotonic()
        self._limit = 2 * self._limit if now - self._claimed_at < QUICK_SECONDS else self._n_workers
        claimed = self._store.claim(
            self._experiment, self._cells, self._runner, self._limit, with_predictions=self._keep_predictions
        )
        own = set(claimed.own)
        if own:
            self._claimed_at = now
        self._cells = [cell for cell in self._cells if cell not in own]
        self.ready.extend(claimed.own)
        self.elsewhere = claimed.elsewhere
        return bool(claimed.own)

    def raise_trouble(self) -> None:
        """Raise what went wrong while joblib asked for cells."""
        if self._trouble:
            raise self._trouble


class Keeper:
    """Writes results to the store in a thread of its own: all that came during one transaction go into the next."""

    def __init__(self, store: Store, experiment: Experiment, runner: Runner, keep_predictions: bool) -> None:
        self._store, self._experiment, self._runner = store, experiment, runner
        self._keep_predictions = keep_predictions
        self._coming: queue.SimpleQueue[Measured | None] = queue.SimpleQueue()
        self._trouble: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="tremula-keeper", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._coming.put(None)
        self._thread.join()
        if kind is None:
            self.raise_trouble()

    def keep(self, measured: Measured) -> None:
        """Have a result kept; an error of an earlier one is raised here."""
        self.raise_trouble()
        self._coming.put(measured)

    def raise_trouble(self) -> None:
        """Raise what went wrong in the thread."""
        if self._trouble:
            raise self._trouble

    def _work(self) -> None:
        beaten = time.monotonic()
        try:
            while True:
                coming = self._next()
                measured = [one for one in coming if one is not None]
                if measured:
                    self._store.keep_all(self._experiment, measured, self._keep_predictions)
                if None in coming:
                    return
                if time.monotonic() - beaten >= BEAT_SECONDS:
                    self._store.beat(self._runner)
                    beaten = time.monotonic()
        except Exception as error:
            self._trouble = error

    def _next(self) -> list[Measured | None]:
        """Wait for something to keep, not longer than to the next beat, and take all there is."""
        try:
            coming = [self._coming.get(timeout=BEAT_SECONDS)]
        except queue.Empty:
            return []
        while not self._coming.empty():
            coming.append(self._coming.get())
        return coming
