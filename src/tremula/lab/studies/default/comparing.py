"""Comparisons of the results: mean ranks, wins and losses by tests that account for shared rows, and times.

Methods are compared on splits that all of them have; a dataset that a method lacks is left out of its comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import Ranking, WinLossTie, compare_over_datasets, corrected_t_test, five_by_two_f_test
from tremula.lab.experiments.result import Result, group_by_split, shared_splits

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
ALL_SPLITS = 10  # of five repetitions of two folds: with fewer, tests mean little


@dataclass(frozen=True, eq=False)
class Measured:
    """Results by dataset, method and split.

    Attributes
    ----------
    cells : mapping
        From dataset to method to split to result.
    failures : sequence of str
        Notes on the cells that failed, each once.
    """

    cells: Mapping[str, Mapping[str, Mapping[int, Result]]]
    failures: Sequence[str]

    @classmethod
    def of(cls, results: Sequence[Result]) -> Measured:
        """Group results."""
        failures = [result.failure_note for result in results if result.failure is not None]
        return cls(group_by_split(results), list(dict.fromkeys(failures)))

    def methods(self, names: Iterable[str]) -> list[str]:
        """Return the names of the methods that were measured at all, in this order."""
        measured = {method for methods in self.cells.values() for method in methods}
        return [name for name in names if name in measured]

    def splits(self, dataset: str, methods: Iterable[str]) -> list[int]:
        """Return the splits on which all these methods were measured."""
        return shared_splits({method: self.cells.get(dataset, {}).get(method, {}) for method in methods})

    def datasets(self, names: Iterable[str], methods: Sequence[str]) -> list[str]:
        """Return the datasets on which all methods share at least two splits."""
        return [name for name in names if len(self.splits(name, methods)) >= 2]

    def tested(self, names: Iterable[str], methods: Sequence[str]) -> list[str]:
        """Return the datasets on which all methods have all splits, as the tests need."""
        return [name for name in names if len(self.splits(name, methods)) >= ALL_SPLITS]

    def values(self, dataset: str, method: str, measure: str, splits: Iterable[int]) -> Floats:
        """Return a measure on some splits; "fit_seconds", "predict_seconds" and "n_test" are measures too."""
        cells = self.cells[dataset][method]
        return np.array([_value(cells[split], measure) for split in splits])

    def means(self, datasets: Sequence[str], methods: Sequence[str], measure: str) -> Floats:
        """Return the mean over splits, datasets in rows and methods in columns."""
        splits = {dataset: self.splits(dataset, methods) for dataset in datasets}
        return np.array(
            [[self.values(d, method, measure, splits[d]).mean() for method in methods] for d in datasets]
        ).reshape(len(datasets), len(methods))


def _value(result: Result, measure: str) -> float:
    return float(result.values[measure] if measure in result.values else getattr(result, measure))


def rank(measured: Measured, datasets: Sequence[str], methods: Sequence[str], measure: str) -> Ranking | None:
    """Rank methods over datasets; None where there are fewer than two of either."""
    there = measured.datasets(datasets, methods)
    if len(there) < 2 or len(methods) < 2:
        return None
    return compare_over_datasets(measured.means(there, methods, measure), names=list(methods), dataset_names=there)


@dataclass(frozen=True)
class Verdict:
    """Whether one method differs from another on a dataset: -1 is less of the measure, which is better, 1 more."""

    by_t: int
    by_f: int


def judge(measured: Measured, dataset: str, first: str, second: str, measure: str) -> Verdict:
    """Compare two methods on a dataset by the corrected resampled t test and by the combined 5 × 2 F test."""
    splits = measured.splits(dataset, (first, second))
    a, b = (measured.values(dataset, method, measure, splits) for method in (first, second))
    sizes = {name: measured.values(dataset, first, name, splits) for name in ("n_train", "n_test")}
    sign = int(np.sign((a - b).mean()))
    by_t = corrected_t_test(a, b, n_train=sizes["n_train"], n_test=sizes["n_test"]).p_value <= 1 - CONFIDENCE
    by_f = five_by_two_f_test(a, b).p_value <= 1 - CONFIDENCE
    return Verdict(sign * by_t, sign * by_f)


def count_wins(measured: Measured, datasets: Sequence[str], methods: Sequence[str], measure: str) -> WinLossTie | None:
    """Count significant wins of all pairs by the corrected t test; None where there is nothing to compare."""
    there = measured.tested(datasets, methods)
    if not there or len(methods) < 2:
        return None
    wins = np.zeros((len(methods), len(methods)), dtype=np.int64)
    for dataset in there:
        for i, first in enumerate(methods):
            for j, second in enumerate(methods[:i]):
                by_t = judge(measured, dataset, first, second, measure).by_t
                wins[i, j] += by_t < 0
                wins[j, i] += by_t > 0
    return WinLossTie(list(methods), wins, len(there), {}, "corrected t", CONFIDENCE)


def times_of(measured: Measured, datasets: Sequence[str], method: str, base: str, measure: str) -> float | None:
    """Return the time of a method relative to the base: the median over datasets of ratios of medians."""
    there = measured.datasets(datasets, (method, base))
    if not there:
        return None
    ratios = []
    for dataset in there:
        splits = measured.splits(dataset, (method, base))
        ours, theirs = (np.median(measured.values(dataset, name, measure, splits)) for name in (method, base))
        ratios.append(ours / max(theirs, 1e-9))
    return float(np.median(ratios))
