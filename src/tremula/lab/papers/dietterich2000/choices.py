"""From measured cells to one error a fold for each domain and method, with pruned or unpruned trees chosen.

"test" chooses the variant with fewer errors on the test rows, as the paper did; "training" chooses in each fold the one
with the lower error within the training rows. Ties go to pruned trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import TestResult, difference_of_proportions, paired_t_test
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.dietterich2000.domains import DOMAINS, NOISY_NAMES
from tremula.lab.papers.dietterich2000.protocol import CONFIDENCE, METHODS

PRUNED, UNPRUNED = CONFIDENCE
CHOICES = ("test", "training")


@dataclass(frozen=True)
class Folds:
    """One method on one domain: what happened in each fold.

    Attributes
    ----------
    domain : str
        As cells call it, with its noise.
    n_wrong, n_test : array (n_folds,)
    n_pruned : int
        Folds in which pruned trees were chosen.
    """

    domain: str
    n_wrong: NDArray[np.float64]
    n_test: NDArray[np.float64]
    n_pruned: int

    @property
    def error(self) -> float:
        """Share of all rows tested that were answered wrongly."""
        return float(self.n_wrong.sum() / self.n_test.sum())

    @property
    def limit(self) -> float:
        """The ± of the paper: 1.96 sqrt(e(1 - e) / n)."""
        return 1.96 * math.sqrt(self.error * (1 - self.error) / self.n_test.sum())

    @property
    def mark(self) -> str:
        """``*`` for pruned trees in most folds."""
        return "*" if 2 * self.n_pruned > len(self.n_wrong) else ""


def differ(first: Folds, second: Folds) -> TestResult:
    """Test the difference of two methods as the paper did: by folds, or by proportions on one test set."""
    if DOMAINS[NOISY_NAMES[first.domain][0]].has_test_set or len(first.n_wrong) == 1:
        n_test = int(first.n_test.sum())
        return difference_of_proportions(int(first.n_wrong.sum()), int(second.n_wrong.sum()), n_test)
    return paired_t_test(first.n_wrong / first.n_test, second.n_wrong / second.n_test)


def better_of(first: Folds, second: Folds) -> int:
    """Return -1 if the first is better by the test, 1 if the second is, 0 for a tie."""
    low, high = differ(first, second).interval
    return -1 if high < 0 else int(low > 0)


@dataclass(frozen=True)
class Measured:
    """Everything that was measured on one domain.

    Attributes
    ----------
    domain : str
        Its name in cells.
    variants : dict of str to list of Result
        By the variant's name, in the order of folds.
    """

    domain: str
    variants: dict[str, list[Result]]

    @property
    def methods(self) -> list[str]:
        """Methods of which both variants were measured."""
        return [name for name in METHODS if all(f"{name}, {pruning}" in self.variants for pruning in CONFIDENCE)]

    @property
    def n_tested(self) -> int:
        """Rows tested on."""
        return sum(result.n_test for result in next(iter(self.variants.values())))

    @property
    def n_folds(self) -> int:
        """Folds on which all variants were measured."""
        return len(next(iter(self.variants.values())))

    def variant(self, method: str, pruning: str) -> Folds:
        """Return one variant as it is, with nothing chosen."""
        results = self.variants[f"{method}, {pruning}"]
        return self._folds(results, [pruning == PRUNED] * len(results))

    def chosen(self, method: str, choice: str) -> Folds:
        """Return a method with pruned or unpruned trees, as chosen on test or on training rows."""
        pruned, unpruned = (self.variants[f"{method}, {pruning}"] for pruning in (PRUNED, UNPRUNED))
        if choice == "test":
            takes = [sum(_wrong(pruned)) <= sum(_wrong(unpruned))] * len(pruned)
        else:
            takes = [
                with_pruning.values["inner_error"] <= without.values["inner_error"]
                for with_pruning, without in zip(pruned, unpruned)
            ]
        taken = [with_pruning if take else without for with_pruning, without, take in zip(pruned, unpruned, takes)]
        return self._folds(taken, takes)

    def _folds(self, results: Sequence[Result], pruned: Sequence[bool]) -> Folds:
        n_test = np.array([result.n_test for result in results], dtype=float)
        return Folds(self.domain, np.array(_wrong(results)), n_test, sum(pruned))


def _wrong(results: Iterable[Result]) -> list[float]:
    return [result.values["n_wrong"] for result in results]


def gather(results: Sequence[Result]) -> tuple[dict[str, Measured], list[str]]:
    """Group results by domain; a fold counts if every variant that was tried has been measured on it.

    Returns
    -------
    measured : dict of str to Measured
        In the order of the first result of each domain.
    notes : list of str
        The first failure of each domain.
    """
    measured = {}
    for domain, variants in group_by_split(results, failed_methods=True).items():
        shared = shared_splits(variants)
        if shared:
            chosen = {name: [splits[split] for split in shared] for name, splits in variants.items()}
            measured[domain] = Measured(domain, chosen)
    return measured, first_failures(results)


def count_wins(measured: Iterable[Measured], choice: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return wins, losses and ties of every method against every other, over the domains."""
    counts = {(method, other): [0, 0, 0] for method in METHODS for other in METHODS if method != other}
    for domain in measured:
        for method, other in combinations(domain.methods, 2):
            verdict = better_of(domain.chosen(method, choice), domain.chosen(other, choice))
            counts[method, other][{-1: 0, 1: 1, 0: 2}[verdict]] += 1
            counts[other, method][{1: 0, -1: 1, 0: 2}[verdict]] += 1
    return {pair: (count[0], count[1], count[2]) for pair, count in counts.items()}


def count_pruning_differences(measured: Iterable[Measured]) -> dict[str, int]:
    """Return for each method on how many domains pruned and unpruned trees differ by the test."""
    counts = dict.fromkeys(METHODS, 0)
    for domain in measured:
        for method in domain.methods:
            counts[method] += better_of(domain.variant(method, PRUNED), domain.variant(method, UNPRUNED)) != 0
    return counts
