"""What all analyses share: rows, methods, a time budget, and the choice of methods that fit into it.

The budget decides how many methods and repetitions are measured. What is measured follows from the seed alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.lab.comparison.cross_validation import checksum, stored_name
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Experiment
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.run import run_experiment

MOST_ROWS = 4000  # more rows would not change the picture, only the time
SCALES = {"classification": 100.0, "regression": 1.0}  # errors in percent, or in units of the target
METHOD_COUNTS = (4, 3, 2, 1)
FIXED_COST_ROWS = 500  # fixed cost of a fit, expressed in rows
PREDICTION_FACTOR = 1.3  # time to fit and predict, relative to the time to fit
LARGEST_SHARE = 0.6  # of the budget, for one method


class Skipped(Exception):
    """An analysis is not run; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class Workbench:
    """The rows, the methods from the best to the worst, and how experiments are run."""

    dataset: Dataset
    methods: Sequence[Method]
    seed: int
    fit_seconds: Mapping[str, float]
    all_rows: int
    run_options: Mapping[str, Any]
    predict_seconds: Mapping[str, float] = field(default_factory=dict)  # for one row
    row_numbers: NDArray[np.intp] | None = None  # of these rows among all rows; None if they are all rows

    @property
    def by_name(self) -> dict[str, Method]:
        """Methods by name."""
        return {method.name: method for method in self.methods}

    def numbers_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the numbers of some of these rows among all rows."""
        return rows if self.row_numbers is None else self.row_numbers[rows]

    def settings(self, **others: Any) -> dict[str, Any]:
        """Return the settings of an experiment on these rows."""
        peers = [stored_name(method) for method in self.methods if method.library != "tremula"]
        versions = {"peers": sorted(peers)} if peers else {}
        return {"data": checksum(self.dataset), "seed": self.seed, **versions, **others}

    def seconds(self, methods: Sequence[Method], share: float) -> float:
        """Estimate the time to fit each method once on a share of the rows and to predict."""
        rows = (share * len(self.dataset.y) + FIXED_COST_ROWS) / (self.all_rows + FIXED_COST_ROWS)
        return PREDICTION_FACTOR * rows * sum(self.fit_seconds.get(method.name, 0.0) for method in methods)

    def measure(self, experiment: Experiment) -> list[Result]:
        """Run an experiment; if a cell failed, the analysis is skipped."""
        results = run_experiment(experiment, retry_failed=True, **self.run_options)
        for result in results:
            if result.failure is not None:
                raise Skipped(f"{result.method} failed on a part of the rows: {result.failure}")
        return results


def drawn_rows(n_rows: int, seed: int, most: int = MOST_ROWS) -> NDArray[np.intp]:
    """Return the numbers of all rows, or of a random sample if there are more."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, 1]).choice(n_rows, most, replace=False))


def draw_rows(dataset: Dataset, seed: int, most: int = MOST_ROWS) -> Dataset:
    """Return the dataset, or a random sample of its rows if it has more."""
    return dataset if len(dataset.y) <= most else dataset.take(drawn_rows(len(dataset.y), seed, most))


def random_halves(n_rows: int, seed: int, repetition: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a random half of the rows for training and the other half for testing.

    Examples
    --------
    >>> [len(half) for half in random_halves(5, seed=0, repetition=0)]
    [2, 3]
    """
    shuffled = np.random.default_rng([seed, 2, repetition]).permutation(n_rows)
    return np.sort(shuffled[: n_rows // 2]), np.sort(shuffled[n_rows // 2 :])


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings of libraries about single fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def estimator_of(method: Method, dataset: Dataset) -> Any:
    """Return the estimator of a method, the last step if it is a pipeline."""
    built = method.build(dataset.nominal, 0)
    return built[-1] if hasattr(built, "steps") else built


def choose_contrast(methods: Sequence[Method], dataset: Dataset, most: int) -> list[Method]:
    """Choose methods that differ: the best, the best single tree, then one of each further kind of estimator.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> methods = choose_methods(["bagging", "adaboost", "c45", "cart", "cart-unpruned"])
    >>> [method.name for method in choose_contrast(methods, load_dataset("iris"), 3)]
    ['bagging', 'c45', 'adaboost']
    """
    estimators = {method.name: estimator_of(method, dataset) for method in methods}
    single = [method for method in methods if method.family == "tree"]
    chosen: list[Method] = []
    for method in [*methods[:1], *single[:1], *methods]:
        kinds = {type(estimators[other.name]) for other in chosen}
        if len(chosen) < most and type(estimators[method.name]) not in kinds:
            chosen.append(method)
    return sorted(chosen[:2], key=list(methods).index) + chosen[2:]


def plan(bench: Workbench, counts: Sequence[int], share: float, times: int, budget: float) -> tuple[list[Method], int]:
    """Choose as many methods, and then repetitions, as fit into the budget; methods that need most of it are skipped.

    Parameters
    ----------
    bench : Workbench
    counts : sequence of int
        Possible numbers of repetitions, the largest first.
    share : float
        Share of the rows that each fit gets.
    times : int
        Number of fits in one repetition.
    budget : float
        Seconds.
    """

    def cost(methods: Sequence[Method], count: int) -> float:
        return bench.seconds(methods, share) * times * count

    least = min(cost([method], counts[-1]) for method in bench.methods)
    if least > budget:
        raise Skipped(f"it would take about {least:,.0f} s, more than its budget of {budget:,.0f} s")
    affordable = [method for method in bench.methods if cost([method], counts[-1]) <= LARGEST_SHARE * budget]
    for n_methods in METHOD_COUNTS:
        methods = choose_contrast(affordable or bench.methods, bench.dataset, n_methods)
        for count in counts:
            if cost(methods, count) <= budget:
                return methods, count
    cheapest = min(bench.methods, key=lambda method: cost([method], counts[-1]))
    return [cheapest], counts[-1]


def too_slow(bench: Workbench, methods: Sequence[Method]) -> list[str]:
    """Return the labels of the methods that rank before all of these but took too long, for the caption."""
    names = {method.name for method in methods}
    places = [place for place, method in enumerate(bench.methods) if method.name in names]
    return [method.label for method in bench.methods[: min(places)]]
