"""The data of Geurts (2001): which file or generator each set stands for, and how it is divided.

The test rows of a set are drawn once; its divisions into growing and pruning rows share them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.lab.datasets import Dataset
from tremula.lab.datasets.generators import one_machine_proxy, two_norm, waveform
from tremula.lab.papers.published import read_published
from tremula.lab.papers.shared_protocol import kept_dataset, seed_of

SEED = 0
PROXY = "one machine (a proxy)"


@dataclass(frozen=True)
class Problem:
    """A set by its name in cells.

    Attributes
    ----------
    published : str or None
        Its name in the paper; None where it is not there.
    source : str or callable
        A dataset's name, or what makes so many rows of a seed.
    n_growing, n_pruning, n_test : int
    official : bool
        Whether the test rows are those of the official test file, instead of rows drawn.
    """

    published: str | None
    source: str | Callable[[int, int], Dataset]
    n_growing: int
    n_pruning: int
    n_test: int
    official: bool = False


def _problem(published: str, source: str | Callable[[int, int], Dataset], official: bool = False) -> Problem:
    sizes = {row["dataset"]: row for row in read_published("geurts2001_table1").rows}[published]
    return Problem(published, source, int(sizes["gs_size"]), int(sizes["ps_size"]), int(sizes["ts_size"]), official)


PROBLEMS: dict[str, Problem] = {
    "waveform": _problem("waveform", waveform),
    "two-norm": _problem("two-norm", two_norm),
    "letter": _problem("letter", "letter"),
    "segment": _problem("segment", "segment"),
    "satellite, official test set": _problem("satellite", "satimage", official=True),
    "satellite, random test set": _problem("satellite", "satimage"),
    "pendigits, official test set": _problem("pendigits", "pendigits", official=True),
    "pendigits, random test set": _problem("pendigits", "pendigits"),
    PROXY: Problem(None, one_machine_proxy, 2000, 1000, 1000),
}


@dataclass(frozen=True)
class Division:
    """Rows to grow on, to prune and tune on, and to test on."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    growing: NDArray[np.intp]
    pruning: NDArray[np.intp]
    test: NDArray[np.intp]

    def rows(self, kind: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Attributes and classes of the rows of a kind: "growing", "pruning" or "test"."""
        chosen = getattr(self, kind)
        return self.X[chosen], self.y[chosen]


@lru_cache(maxsize=2)
def _table(name: str, draw: tuple[int, ...]) -> Dataset:
    problem = PROBLEMS[name]
    if callable(problem.source):
        n_rows = problem.n_growing + problem.n_pruning + problem.n_test
        return problem.source(n_rows, seed_of(SEED, name, "rows", *draw))
    return kept_dataset(problem.source)


def divide(name: str, number: int, *draw: int) -> Division:
    """Return one division of a set: the test rows stay, the others are grown on or pruned on.

    Parameters
    ----------
    name : str
    number : int
        Number of the division.
    *draw : int
        A number that stands for other rows, or other test rows; none of the official test sets.

    Examples
    --------
    >>> first, second = divide("two-norm", 0), divide("two-norm", 1)
    >>> len(first.growing), len(first.pruning), len(first.test)
    (1000, 1000, 2000)
    >>> bool((first.test == second.test).all()), bool((first.growing == second.growing).all())
    (True, False)
    """
    problem, table = PROBLEMS[name], _table(name, draw)
    n_learning = problem.n_growing + problem.n_pruning
    if problem.official:
        order = np.arange(len(table.y))
    else:
        order = np.random.default_rng(seed_of(SEED, name, "test", *draw)).permutation(len(table.y))
    learning, test = order[:n_learning], order[n_learning : n_learning + problem.n_test]
    shuffled = np.random.default_rng(seed_of(SEED, name, "division", number)).permutation(learning)
    return Division(table.X, table.y, shuffled[: problem.n_growing], shuffled[problem.n_growing :], test)
