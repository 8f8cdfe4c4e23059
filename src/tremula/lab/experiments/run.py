"""Measures the cells of an experiment that are wanting, in parallel, and keeps each as soon as it is measured.

What is measured never depends on how work was spread: a cell is measured by one process, with one thread for linear
algebra, and knows nothing of the others. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.claims import RUNNING, Runner
from tremula.lab.experiments.duckdb_file import StoreTrouble
from tremula.lab.experiments.progress import ProgressOfCells, show_progress
from tremula.lab.experiments.store import Store
from tremula.lab.experiments.stored_rows import Measured
from tremula.lab.experiments.work_queue import Claiming, Keeper
from tremula.lab.experiments.worker import Work
from tremula.lab.papers.paper import Result

POLL_SECONDS = 0.5  # how often to look whether cells that others measure are done


def run_experiment(
    experiment: Experiment,
    store: Store | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    keep_predictions: bool = False,
    retry_failed: bool = False,
    progress: bool | None = None,
) -> list[Result]:
    """Measure the cells of an experiment that are not in the store yet.

    A cell that fails is kept with its error and the others go on. Several runs, also of several processes, may share
    a store: they share the work. A run that is stopped, by whatever means, can be started again and goes on.

    Parameters
    ----------
    experiment : Experiment
    store : Store or path, default=None
        Where results are kept; None keeps nothing.
    n_jobs : int or None, default=None
        As in joblib: None is 1 unless a `joblib.parallel_config` says otherwise, -1 all processors. Cells are measured
        by processes, or by the backend in force (Dask, ...); the outcome is always the same.
    keep_predictions : bool, default=False
        Keep also the answers on the test rows; results that were kept without are measured again.
    retry_failed : bool, default=False
        Measure cells again that failed in an earlier run.
    progress : bool or None, default=None
        Show a bar with the time left on standard error; None does where that is a terminal.

    Returns
    -------
    list of Result
        In the order of the experiment's cells, those that failed too.

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
    with _opened(store) as opened:
        if retry_failed:
            opened.forget_failures(experiment)
        wanting = opened.wanting(experiment, keep_predictions)
        if wanting:
            _measure_wanting(experiment, opened, wanting, n_jobs, keep_predictions, progress)
        return opened.results(experiment)


@contextmanager
def _opened(store: Store | str | os.PathLike[str] | None) -> Iterator[Store]:
    if store is None:
        with tempfile.TemporaryDirectory(prefix="tremula-") as folder:
            yield Store(Path(folder) / "results.duckdb")
    else:
        yield store if isinstance(store, Store) else Store(store)


def _measure_wanting(
    experiment: Experiment,
    store: Store,
    wanting: Sequence[Cell],
    n_jobs: int | None,
    keep_predictions: bool,
    progress: bool | None,
) -> None:
    runner = Runner()
    work = Work(experiment.measure, keep_predictions, runner.host, runner.pid)
    order = sorted(wanting, key=experiment.cost, reverse=True) if experiment.cost else list(wanting)
    claiming = Claiming(store, experiment, runner, order, effective_n_jobs(n_jobs), keep_predictions)
    keeper = Keeper(store, experiment, runner, keep_predictions)
    RUNNING.add(runner.name)
    try:
        with show_progress(experiment, wanting, progress) as bar, keeper, threadpool_limits(1):
            _measure_and_keep(work, claiming, keeper, bar, n_jobs)
    finally:
        RUNNING.discard(runner.name)
        with suppress(StoreTrouble):  # a run that is no more has no claims, whatever the file says
            store.release(runner)


def _measure_and_keep(work: Work, claiming: Claiming, keeper: Keeper, bar: ProgressOfCells, n_jobs: int | None) -> None:
    while claiming.claim_more() or claiming.elsewhere:
        if not claiming.ready:
            bar.only_left(claiming.elsewhere)
            keeper.raise_trouble()
            time.sleep(POLL_SECONDS)
            continue
        with closing(_surviving(work, claiming, n_jobs)) as results:
            for measured in results:
                keeper.keep(measured)
                claiming.handed.pop(measured.cell, None)
                bar.advance(measured.cell, failed=measured.failure is not None)
        claiming.raise_trouble()


def _surviving(work: Work, claiming: Claiming, n_jobs: int | None) -> Generator[Measured, None, None]:
    """Yield what is measured, also when a worker process dies: then each cell it may have been is tried alone."""
    while True:
        try:
            yield from _in_parallel(work, claiming, n_jobs)
            return
        except BrokenExecutor:
            for cell in tuple(claiming.handed):
                yield _measure_alone(work, cell)


def _measure_alone(work: Work, cell: Cell) -> Measured:
    try:
        # One job would be done by this process, which is to live on.
        (measured,) = Parallel(n_jobs=2, backend="loky")([delayed(work)(cell)])
        return measured
    except BrokenExecutor as error:
        first_line = str(error).strip().split("\n")[0]
        return Measured(cell, None, f"the process that measured it died: {first_line}")


def _in_parallel(work: Work, cells: Iterable[Cell], n_jobs: int | None) -> Generator[Measured, None, None]:
    """Yield cells as they are measured, in any order."""
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1:
        yield from map(work, cells)
    elif getattr(get_active_backend(prefer="processes")[0], "supports_return_generator", False):
        options = {"batch_size": 1, "pre_dispatch": n_workers + 1, "return_as": "generator_unordered"}
        parallel = Parallel(n_jobs=n_jobs, prefer="processes", **options)
        yield from _till_left(parallel(delayed(_measure)(work, cell) for cell in cells))
    else:
        # Ray's and joblib's own pool of processes give all results of a call at its end.
        coming = iter(cells)
        while some := list(islice(coming, n_workers)):
            yield from Parallel(n_jobs=n_jobs, prefer="processes")(delayed(_measure)(work, cell) for cell in some)


def _till_left(results: Generator[Measured, None, None]) -> Generator[Measured, None, None]:
    """Yield results; who leaves them before their end does not want what is under way, and joblib would warn of it."""
    try:
        while (measured := next(results, None)) is not None:
            yield measured
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _measure(work: Work, cell: Cell) -> Measured:
    """Measure; the work is an argument, since Dask keeps large arguments on its workers."""
    return work(cell)
