"""Three closer looks at a method on a dataset: how its members differ, of what its error is made, what noise does.

Each is the measuring half of an `Experiment`: what it finds depends on the cell, the data and the seed alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import add_class_noise, bias_variance, kappa_error
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Outcome

MOST_ROWS = 4000  # more would not change the picture, only the time
MOST_MEMBERS = 50
TERMS = ("error", "bias", "variance")


def draw_rows(dataset: Dataset, seed: int, most: int = MOST_ROWS) -> Dataset:
    """Return the dataset, or so many of its rows where it has more."""
    if len(dataset.y) <= most:
        return dataset
    return dataset.take(np.sort(np.random.default_rng([seed, 1]).choice(len(dataset.y), most, replace=False)))


def halves(n_rows: int, seed: int, repetition: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows to learn from and as many to test on, divided by chance.

    Examples
    --------
    >>> [len(half) for half in halves(5, seed=0, repetition=0)]
    [2, 3]
    """
    shuffled = np.random.default_rng([seed, 2, repetition]).permutation(n_rows)
    return np.sort(shuffled[: n_rows // 2]), np.sort(shuffled[n_rows // 2 :])


@contextmanager
def _quiet() -> Iterator[None]:
    """Let libraries say nothing of single fits: what matters is what comes out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, eq=False)
class MembersLook:
    """Agreement and error of the members of an ensemble that learned from one half, on the other half."""

    methods: Mapping[str, Method]
    dataset: Dataset
    seed: int

    @_quiet()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure; a number for each pair is named ``kappa 3 7``."""
        X, y = self.dataset.X, self.dataset.y
        learn, test = halves(len(y), self.seed, cell.split)
        begin = time.perf_counter()
        model = self.methods[cell.method].build(self.dataset.nominal, self.seed).fit(X[learn], y[learn])
        trained = time.perf_counter()
        found = kappa_error(model, X[test], y[test])
        shown = min(found.n_members, MOST_MEMBERS)
        values = {"ensemble error": found.ensemble_error, "members": float(found.n_members)}
        for member in range(shown):
            values[f"error {member}"] = found.member_error[member]
            values[f"with ensemble {member}"] = found.ensemble_kappa[member]
        pairs = zip(found.pairs.tolist(), found.kappa)
        values |= {f"kappa {first} {second}": kappa for (first, second), kappa in pairs if second < shown}
        return Outcome(values, len(test), trained - begin, time.perf_counter() - trained, seed=self.seed)


@dataclass(frozen=True, eq=False)
class PartsLook:
    """Error, bias and variance of a method, from models that each learned from a quarter of the rows."""

    methods: Mapping[str, Method]
    dataset: Dataset
    seed: int
    n_models: int

    @_quiet()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure; the intervals are those of `bias_variance`."""
        X, y = self.dataset.X, self.dataset.y
        estimator = _unseeded(self.methods[cell.method].build(self.dataset.nominal, self.seed))
        begin = time.perf_counter()
        found = bias_variance(estimator, X, y, n_models=self.n_models, random_state=self.seed)
        values = {term: getattr(found, term) for term in TERMS}
        for term in TERMS:
            values[f"{term} low"], values[f"{term} high"] = found.intervals[term]
        return Outcome(values, len(found.test_rows), time.perf_counter() - begin, seed=self.seed)


def _unseeded(estimator: Any) -> Any:
    """Return the estimator without a seed, so that each model of many draws anew and their spread is seen."""
    seeds = [name for name in estimator.get_params(deep=True) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(seeds)) if seeds else estimator


@dataclass(frozen=True, eq=False)
class NoiseLook:
    """Error on the true targets of one half, after learning from the other half with noise in its targets."""

    methods: Mapping[str, Method]
    variants: Mapping[str, tuple[str, float]]
    dataset: Dataset
    seed: int

    @_quiet()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure one variant: a method at a level of noise."""
        name, level = self.variants[cell.method]
        X, y = self.dataset.X, self.dataset.y
        learn, test = halves(len(y), self.seed, cell.split)
        add_noise, loss = TARGETS[self.dataset.task]
        target = add_noise(y[learn], level, np.random.default_rng([self.seed, 3, cell.split]))
        begin = time.perf_counter()
        model = self.methods[name].build(self.dataset.nominal, self.seed).fit(X[learn], target)
        trained = time.perf_counter()
        values = {"error": loss(y[test], model.predict(X[test]))}
        return Outcome(values, len(test), trained - begin, time.perf_counter() - trained, seed=self.seed)


def _wrong_classes(y: NDArray[Any], level: float, random: np.random.Generator) -> NDArray[Any]:
    return add_class_noise(y, level, random_state=random)[0]


def _wrong_numbers(y: NDArray[Any], level: float, random: np.random.Generator) -> NDArray[Any]:
    return y + level * np.std(y) * random.standard_normal(len(y))


def _share_wrong(truth: NDArray[Any], answers: Any) -> float:
    return float(np.mean(np.asarray(answers) != truth))


def _root_mean_square(truth: NDArray[Any], answers: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(answers, dtype=float) - truth) ** 2)))


TARGETS = {"classification": (_wrong_classes, _share_wrong), "regression": (_wrong_numbers, _root_mean_square)}
