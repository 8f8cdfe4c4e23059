"""What the measured cells say: mean ranks, wins and losses by tests made for shared rows, and times compared.

Methods are compared on splits that all of them have; a dataset that a method lacks is left out of its comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import Ranking, WinLossTie, compare_over_datasets, corrected_t_test, five_by_two_f_test
from tremula.lab.papers.paper import Result

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
ALL_SPLITS = 10  # of five repetitions of two folds: with fewer, tests mean little


@dataclass(frozen=True, eq=False)
class Found:
    """Measured cells, by dataset, method and split.

    Attributes
    ----------
    cells : mapping
        Of a dataset to methods, of these to splits, of these to results.
    failures : sequence of str
        What is to be told of cells that failed.
    """

    cells: Mapping[str, Mapping[str, Mapping[int, Result]]]
    failures: Sequence[str]

    @classmethod
    def of(cls, results: Iterable[Result]) -> Found:
        """Sort results; those that failed are told once for a dataset and method."""
        cells: dict[str, dict[str, dict[int, Result]]] = {}
        failures = []
        for one in results:
            if one.error is None:
                cells.setdefault(one.dataset, {}).setdefault(one.method, {})[one.split] = one
            else:
                failures.append(f"{one.dataset}, {one.method} failed: {one.error}")
        return cls(cells, list(dict.fromkeys(failures)))

    def methods(self, names: Iterable[str]) -> list[str]:
        """Return those of these methods that were measured at all, in this order."""
        there = {method for methods in self.cells.values() for method in methods}
        return [name for name in names if name in there]

    def splits(self, dataset: str, methods: Iterable[str]) -> list[int]:
        """Return the splits that all methods have."""
        sets = [set(self.cells.get(dataset, {}).get(method, {})) for method in methods]
        return sorted(set.intersection(*sets)) if sets else []

    def datasets(self, names: Iterable[str], methods: Sequence[str]) -> list[str]:
        """Return those of these datasets on which all methods have at least two splits in common."""
        return [name for name in names if len(self.splits(name, methods)) >= 2]

    def tested(self, names: Iterable[str], methods: Sequence[str]) -> list[str]:
        """Return those of these datasets on which all methods have all splits, so that tests can tell them apart."""
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


def rank(found: Found, datasets: Sequence[str], methods: Sequence[str], measure: str) -> Ranking | None:
    """Rank methods over datasets; None where there are fewer than two of either."""
    there = found.datasets(datasets, methods)
    if len(there) < 2 or len(methods) < 2:
        return None
    return compare_over_datasets(found.means(there, methods, measure), names=list(methods), dataset_names=there)


@dataclass(frozen=True)
class Verdict:
    """Whether one method differs from another on a dataset: -1 is less of the measure, which is better, 1 more."""

    by_t: int
    by_f: int


def judge(found: Found, dataset: str, one: str, other: str, measure: str) -> Verdict:
    """Compare two methods on a dataset by the corrected resampled t test and by the combined 5 × 2 F test."""
    splits = found.splits(dataset, (one, other))
    a, b = (found.values(dataset, method, measure, splits) for method in (one, other))
    sizes = {name: found.values(dataset, one, name, splits) for name in ("n_train", "n_test")}
    sign = int(np.sign((a - b).mean()))
    by_t = corrected_t_test(a, b, n_train=sizes["n_train"], n_test=sizes["n_test"]).p_value <= 1 - CONFIDENCE
    by_f = five_by_two_f_test(a, b).p_value <= 1 - CONFIDENCE
    return Verdict(sign * by_t, sign * by_f)


def count_wins(found: Found, datasets: Sequence[str], methods: Sequence[str], measure: str) -> WinLossTie | None:
    """Count significant wins of all pairs by the corrected t test; None where there is nothing to compare."""
    there = found.tested(datasets, methods)
    if not there or len(methods) < 2:
        return None
    wins = np.zeros((len(methods), len(methods)), dtype=np.int64)
    for dataset in there:
        for i, one in enumerate(methods):
            for j, other in enumerate(methods[:i]):
                by_t = judge(found, dataset, one, other, measure).by_t
                wins[i, j] += by_t < 0
                wins[j, i] += by_t > 0
    return WinLossTie(list(methods), wins, len(there), {}, "corrected t", CONFIDENCE)


def times_of(found: Found, datasets: Sequence[str], method: str, base: str, measure: str) -> float | None:
    """Return how many times as long as the base a method takes: the median over datasets of ratios of medians."""
    there = found.datasets(datasets, (method, base))
    if not there:
        return None
    ratios = []
    for dataset in there:
        splits = found.splits(dataset, (method, base))
        ours, theirs = (np.median(found.values(dataset, name, measure, splits)) for name in (method, base))
        ratios.append(ours / max(theirs, 1e-9))
    return float(np.median(ratios))
