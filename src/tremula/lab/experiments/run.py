"""Measures the pending cells of an experiment in parallel and stores each result immediately.

Results never depend on how the work was distributed: each cell is measured independently by one process, with one
thread for linear algebra. An interrupted run resumes where it stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.claims import RUNNING, Runner
from tremula.lab.experiments.duckdb_file import StoreError
from tremula.lab.experiments.progress import CellProgress, show_progress
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.store import PathLike, Store, open_store
from tremula.lab.experiments.work_queue import ClaimedCells, ResultWriter
from tremula.lab.experiments.worker import Worker

POLL_SECONDS = 0.5  # how often to check whether cells of other runners are finished


def run_experiment(
    experiment: Experiment,
    store: Store | PathLike | None = None,
    n_jobs: int | None = None,
    keep_predictions: bool = False,
    retry_failed: bool = False,
    progress: bool | None = None,
) -> list[Result]:
    """Measure the cells of an experiment that are not in the store yet.

    A cell that fails is stored with its error, and the run continues. Several runs, also in several processes, may use
    the same store; they share the work. An interrupted run resumes when it is started again.

    Parameters
    ----------
    experiment : Experiment
    store : Store or path, default=None
        Where results are stored; None stores nothing.
    n_jobs : int or None, default=None
        Number of cells measured at a time, as in joblib: None means 1 unless a `joblib.parallel_config` is active, -1
        means all processors. Cells run in processes, or on the active backend (Dask, ...), with the same results.
    keep_predictions : bool, default=False
        Store the predictions for the test rows too. Results stored without predictions are measured again.
    retry_failed : bool, default=False
        Measure cells again that failed in an earlier run.
    progress : bool or None, default=None
        Show a progress bar on standard error; None shows it if standard error is a terminal.

    Returns
    -------
    list of Result
        In the order of the experiment's cells, including those that failed.

    Examples
    --------
    >>> from tremula.lab.experiments.cell import Cell, Experiment, Outcome
    >>> from tremula.lab.experiments.run import run_experiment
    >>> cells = [Cell("coin", "guessing", toss) for toss in range(3)]
    >>> experiment = Experiment("tosses", {}, cells, measure=lambda cell: Outcome({"heads": cell.split % 2}))
    >>> [result.values for result in run_experiment(experiment)]
    [{'heads': 0.0}, {'heads': 1.0}, {'heads': 0.0}]
    """
    if n_jobs == 0:
        raise InvalidParameter("n_jobs=0: give a number of workers, or -1 for as many as there are processors")
    experiment = replace(experiment, cells=tuple(dict.fromkeys(experiment.cells)))
    with open_store(store) as opened:
        if retry_failed:
            opened.forget_failures(experiment)
        pending = opened.pending(experiment, keep_predictions)
        if pending:
            _measure_pending(experiment, opened, pending, n_jobs, keep_predictions, progress)
        return opened.results(experiment)


def _measure_pending(
    experiment: Experiment,
    store: Store,
    pending: Sequence[Cell],
    n_jobs: int | None,
    keep_predictions: bool,
    progress: bool | None,
) -> None:
    runner = Runner()
    worker = Worker(experiment.measure, keep_predictions, runner.host, runner.pid)
    order = sorted(pending, key=experiment.cost, reverse=True) if experiment.cost else list(pending)
    cells = ClaimedCells(store, experiment, runner, order, effective_n_jobs(n_jobs), keep_predictions)
    writer = ResultWriter(store, experiment, runner, keep_predictions)
    RUNNING.add(runner.name)
    try:
        with show_progress(experiment, pending, progress) as bar, writer, threadpool_limits(1):
            _measure_and_write(worker, cells, writer, bar, n_jobs)
    finally:
        RUNNING.discard(runner.name)
        with suppress(StoreError):  # claims of a runner that has ended are void anyway
            store.release(runner)


def _measure_and_write(
    worker: Worker, cells: ClaimedCells, writer: ResultWriter, bar: CellProgress, n_jobs: int | None
) -> None:
    while cells.claim_more() or cells.elsewhere:
        if not cells.ready:
            bar.only_left(cells.elsewhere)
            writer.raise_error()
            time.sleep(POLL_SECONDS)
            continue
        with closing(_survive_dead_workers(worker, cells, n_jobs)) as results:
            for result in results:
                writer.write(result)
                cells.started.pop(result.cell, None)
                bar.advance(result.cell, failed=result.failure is not None)
        cells.raise_error()


def _survive_dead_workers(worker: Worker, cells: ClaimedCells, n_jobs: int | None) -> Generator[Result, None, None]:
    """Yield results; if a worker process dies, measure each cell that may have killed it in a process of its own."""
    while True:
        try:
            yield from _in_parallel(worker, cells, n_jobs)
            return
        except BrokenExecutor:
            for cell in tuple(cells.started):
                yield _measure_alone(worker, cell)


def _measure_alone(worker: Worker, cell: Cell) -> Result:
    try:
        # With one job joblib would use this process, which must survive.
        result: Result
        (result,) = Parallel(n_jobs=2, backend="loky")([delayed(worker)(cell)])
        return result
    except BrokenExecutor as error:
        first_line = str(error).strip().split("\n")[0]
        return Result(cell, failure=f"the process that measured it died: {first_line}")


def _in_parallel(worker: Worker, cells: Iterable[Cell], n_jobs: int | None) -> Generator[Result, None, None]:
    """Yield results as they arrive, in any order."""
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1:
        yield from map(worker, cells)
    elif getattr(get_active_backend(prefer="processes")[0], "supports_return_generator", False):
        options = {"batch_size": 1, "pre_dispatch": n_workers + 1, "return_as": "generator_unordered"}
        parallel = Parallel(n_jobs=n_jobs, prefer="processes", **options)
        yield from _close_quietly(parallel(delayed(_measure)(worker, cell) for cell in cells))
    else:
        # Ray and joblib's own process pool return all results of a call together.
        remaining = iter(cells)
        while batch := list(islice(remaining, n_workers)):
            yield from Parallel(n_jobs=n_jobs, prefer="processes")(delayed(_measure)(worker, cell) for cell in batch)


def _close_quietly(results: Generator[Result, None, None]) -> Generator[Result, None, None]:
    """Yield results; if the consumer stops early, drop the unfinished ones without joblib's warning."""
    try:
        while (result := next(results, None)) is not None:
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _measure(worker: Worker, cell: Cell) -> Result:
    """Measure a cell; the worker is an argument because Dask keeps large arguments on its machines."""
    return worker(cell)
