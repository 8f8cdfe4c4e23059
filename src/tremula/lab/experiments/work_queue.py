"""The two ends of a run at its store: claims cells to measure, and writes results with a regular heartbeat."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.claims import BEAT_SECONDS, Runner
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.store import Store

QUICK_SECONDS = 1.0  # if the claimed cells are finished sooner, the next claim is larger


class ClaimedCells(Iterator[Cell]):
    """Claims cells a few at a time, on demand, so that other runners get some too."""

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
        self.started: dict[Cell, None] = {}
        self.elsewhere: Sequence[Cell] = ()
        self._store, self._experiment, self._runner = store, experiment, runner
        self._keep_predictions = keep_predictions
        self._n_workers = self._limit = n_workers
        self._claimed_at = float("-inf")
        self._error: Exception | None = None

    def __next__(self) -> Cell:
        try:
            if not self.ready and not self.claim_more():
                raise StopIteration
        except StopIteration:
            raise
        except Exception as error:  # joblib iterates in its own threads, where an error would be lost
            self._error = error
            raise StopIteration from error
        cell = self.ready.popleft()
        self.started[cell] = None
        return cell

    def claim_more(self) -> bool:
        """Claim some of the remaining cells and return whether there were any."""
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

    def raise_error(self) -> None:
        """Raise the error that occurred while joblib asked for cells, if any."""
        if self._error:
            raise self._error


class ResultWriter:
    """Writes results to the store in a thread; all that arrive during one transaction go into the next one."""

    def __init__(self, store: Store, experiment: Experiment, runner: Runner, keep_predictions: bool) -> None:
        self._store, self._experiment, self._runner = store, experiment, runner
        self._keep_predictions = keep_predictions
        self._queue: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tremula-result-writer", daemon=True)

    def __enter__(self) -> ResultWriter:
        self._thread.start()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._queue.put(None)
        self._thread.join()
        if kind is None:
            self.raise_error()

    def write(self, result: Result) -> None:
        """Queue a result; the error of an earlier one is raised here."""
        self.raise_error()
        self._queue.put(result)

    def raise_error(self) -> None:
        """Raise the error that occurred in the thread, if any."""
        if self._error:
            raise self._error

    def _run(self) -> None:
        last_beat = time.monotonic()
        try:
            while True:
                batch = self._next_batch()
                results = [result for result in batch if result is not None]
                if results:
                    self._store.keep_all(self._experiment, results, self._keep_predictions)
                if None in batch:
                    return
                if time.monotonic() - last_beat >= BEAT_SECONDS:
                    self._store.beat(self._runner)
                    last_beat = time.monotonic()
        except Exception as error:
            self._error = error

    def _next_batch(self) -> list[Result | None]:
        """Wait for a result, at most until the next heartbeat, and return everything in the queue."""
        try:
            batch = [self._queue.get(timeout=BEAT_SECONDS)]
        except queue.Empty:
            return []
        while not self._queue.empty():
            batch.append(self._queue.get())
        return batch
