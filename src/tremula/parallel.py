"""Spreads the training of members over threads, or over whatever joblib backend is in force.

Work is cut into a few chunks of consecutive members, so that a backend that sends data to other processes or machines
sends it once per worker and not once per member. The result never depends on how work was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

Result = TypeVar("Result")

CHUNKS_PER_THREAD = 4  # members differ in cost; threads get them in smaller portions


def cut(members: range, n_chunks: int) -> list[range]:
    """Cut into at most so many stretches of nearly equal length.

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
    train: Callable[[range], list[Result]], members: range, n_jobs: int | None, verbose: int = 0
) -> Iterator[Result]:
    """Yield ``train`` of all members in order, worked on in parallel.

    Parameters
    ----------
    train : callable
        From a stretch of member numbers to the list of their results; must be picklable for backends of processes.
    members : range
    n_jobs : int or None
        As in joblib: None is 1 unless a `joblib.parallel_config` says otherwise, -1 all processors.
    verbose : int, default=0
        With 1 or more a progress bar is shown.
    """
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1:
        chunks = cut(members, len(members))
        results: Iterator[list[Result]] = (train(chunk) for chunk in chunks)
    else:
        shares_memory = getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)
        chunks = cut(members, n_workers * (CHUNKS_PER_THREAD if shares_memory else 1))
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        results = parallel(delayed(train)(chunk) for chunk in chunks)
    for chunk, result in zip(_with_progress(chunks, len(members), verbose), results):
        del chunk
        yield from result


def _with_progress(chunks: list[range], n_members: int, verbose: int) -> Iterator[range]:
    """Yield the chunks, moving a bar on as each is done."""
    if not verbose:
        yield from chunks
        return
    from rich.progress import Progress

    with Progress(transient=True) as progress:
        task: Any = progress.add_task("members", total=n_members)
        for chunk in chunks:
            yield chunk
            progress.advance(task, len(chunk))
