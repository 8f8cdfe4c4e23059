"""Training of members in parallel, in threads or in the active joblib backend.

Work is cut into a few chunks of consecutive members, so that a backend that sends data to other processes or machines
sends it once per worker and not once per member. The result never depends on how work was cut. Where the work is given
up (Ctrl-C, an error) threads end with the member they are at.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from threading import Event
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

Result = TypeVar("Result")

MIN_ROWS_PER_THREAD = 500  # fewer are not worth a thread when predicting
CHUNKS_PER_THREAD = 4  # members differ in cost; threads get them in smaller portions


def cut(members: range, n_chunks: int) -> list[range]:
    """Divide into at most `n_chunks` ranges of nearly equal length.

    Examples
    --------
    >>> cut(range(5), 2)
    [range(0, 3), range(3, 5)]
    """
    n_chunks = max(1, min(n_chunks, len(members)))
    size, rest = divmod(len(members), n_chunks)
    ends = [size * i + min(i, rest) for i in range(n_chunks + 1)]
    return [members[first:last] for first, last in pairwise(ends) if last > first]


def train_members(
    train: Callable[[range], list[Result]],
    members: range,
    n_jobs: int | None,
    verbose: int = 0,
    batch: int | None = None,
) -> Generator[Result, None, None]:
    """Train members in parallel and yield the results in order.

    Parameters
    ----------
    train : callable
        From a stretch of member numbers to the list of their results; must be picklable for backends of processes.
    members : range
    n_jobs : int or None
        As in joblib: None is 1 unless a `joblib.parallel_config` says otherwise, -1 all processors.
    verbose : int, default=0
        With 1 or more a progress bar is shown.
    batch : int, optional
        After how many members results may turn out to be enough: work is cut so that each so many members are spread
        over all workers. By default all are wanted.
    """
    n_workers = effective_n_jobs(n_jobs)
    given_up = Event()
    if n_workers == 1:
        chunks = cut(members, len(members))
        results: Iterable[list[Result]] = (train(chunk) for chunk in chunks)
    else:
        backend = get_active_backend(prefer="threads")[0]
        shares_memory = getattr(backend, "supports_sharedmem", False)
        n_chunks = n_workers * (CHUNKS_PER_THREAD if shares_memory else 1)
        batches = [cut(part, n_chunks) for part in _batches(members, batch)]
        chunks = list(chain.from_iterable(batches))
        work = _one_by_one(train, given_up) if shares_memory else train
        if getattr(backend, "supports_return_generator", False):
            # All in one call: what a call sends to other machines is sent once.
            results = _results(Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator"), work, [chunks])
        else:
            # Ray's and joblib's own pool of processes give all results of a call at its end.
            results = _results(Parallel(n_jobs=n_jobs, prefer="threads"), work, batches)
    try:
        with _progress_bar(len(members), verbose) as advance:
            # To the very end of the results: joblib warns where they are left before it.
            for chunk, result in zip(chunks, results, strict=True):
                yield from result
                advance(len(chunk))
    finally:
        given_up.set()
        _leave(results)


def map_members(work: Callable[[int], Result], n_members: int, n_jobs: int | None) -> Generator[Result, None, None]:
    """Apply a function to the number of every member, in threads, and yield the results in order.

    Parameters
    ----------
    work : callable
        From the number of a member to its result; only a few results wait at a time.
    n_members : int
    n_jobs : int or None
        As in joblib.

    Examples
    --------
    >>> list(map_members(lambda number: number**2, 4, n_jobs=2))
    [0, 1, 4, 9]
    """
    if effective_n_jobs(n_jobs) == 1 or n_members < 2:
        yield from map(work, range(n_members))
        return
    threads = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    results = threads(delayed(work)(number) for number in range(n_members))
    try:
        yield from results
    finally:
        _leave(results)


def map_row_blocks(
    predict: Callable[[NDArray[Any]], NDArray[Any]], rows: NDArray[Any], n_jobs: int | None
) -> NDArray[Any]:
    """Apply a function of rows to blocks of them in threads, and join its results.

    Parameters
    ----------
    predict : callable
        From some rows to an array with as many; the result for a row must not depend on the others.
    rows : array (n_rows, n_attributes)
    n_jobs : int or None
        As in joblib. Few rows are one block, whatever it says.
    """
    n_blocks = min(effective_n_jobs(n_jobs), len(rows) // MIN_ROWS_PER_THREAD)
    if n_blocks < 2:
        return predict(rows)
    blocks = [rows[stretch.start : stretch.stop] for stretch in cut(range(len(rows)), n_blocks)]
    return np.concatenate(Parallel(n_jobs=n_blocks, require="sharedmem")(delayed(predict)(block) for block in blocks))


def _results(
    parallel: Parallel, work: Callable[[range], list[Result]], calls: list[list[range]]
) -> Generator[list[Result], None, None]:
    """Yield the results of chunks, in one or several calls of joblib."""
    for chunks in calls:
        # As an argument: Dask keeps large arguments on its workers, and asks for functions that can be hashed.
        yield from parallel(delayed(_train_chunk)(work, chunk) for chunk in chunks)


def _batches(members: range, size: int | None) -> list[range]:
    """Divide into ranges of this length, the last one shorter."""
    step = size or max(1, len(members))
    return [members[first : first + step] for first in range(0, len(members), step)]


def _leave(results: Iterable[Any]) -> None:
    """Stop work whose results are not needed, without joblib's warning about it."""
    if isinstance(results, Generator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _train_chunk(train: Callable[[range], list[Result]], members: range) -> list[Result]:
    return train(members)


def _one_by_one(train: Callable[[range], list[Result]], given_up: Event) -> Callable[[range], list[Result]]:
    """Return `train` with a check, before each member, that its result is still needed."""

    def train_while_wanted(members: range) -> list[Result]:
        results: list[Result] = []
        for chunk in cut(members, len(members)):
            if given_up.is_set():
                break
            results += train(chunk)
        return results

    return train_while_wanted


@contextmanager
def _progress_bar(n_members: int, verbose: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if verbose, and yield a function that advances it by a number of members."""
    if not verbose:
        yield lambda n_done: None
        return
    from rich.progress import Progress

    with Progress(transient=True) as progress:
        task: Any = progress.add_task("members", total=n_members)
        yield lambda n_done: progress.advance(task, n_done)
