"""Methods compared over many datasets by their ranks: Friedman's test, then which pairs differ.

A dataset counts once, whatever its size; the best method of a dataset has rank 1, and methods that tie share the mean
of their ranks. SciPy has all that is needed: ranks, Friedman, Wilcoxon, and the studentized range of Nemenyi's test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tremula.diagnostics.comparison.error_table import read_results
from tremula.diagnostics.comparison.method_names import place_of
from tremula.diagnostics.frames import make_frame
from tremula.diagnostics.significance.incomplete_blocks import skillings_mack_test
from tremula.diagnostics.significance.intervals import check_confidence
from tremula.diagnostics.significance.multiple_testing import adjust_p_values
from tremula.diagnostics.significance.paired import say_p
from tremula.display import ShortTable, ShownAsTable
from tremula.parameters import check_choice

Floats = NDArray[np.float64]

MOST_EXACT = 50  # datasets; beyond it the normal approximation is as good


# --- the tests ---


def _without_rounding(errors: Floats) -> Floats:
    """Return errors rounded so that values of a dataset that differ only by rounding are tied."""
    scale = np.nanmax(np.abs(errors), axis=1, keepdims=True)
    scale[scale == 0] = 1.0
    return np.asarray(np.round(errors / scale, 12) * scale)


def _to_ten_digits(differences: Floats) -> Floats:
    """Return differences rounded so that those that differ only by rounding are equal, whatever their unit."""
    return np.array([float(f"{difference:.10g}") for difference in differences])


def _friedman(ranks: Floats) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p-value."""
    n_methods, least = ranks.shape[1], _least_p_value(*ranks.shape)
    if (ranks == ranks[:, :1]).all():
        return 0.0, 1.0
    if n_methods > 2:
        result = stats.friedmanchisquare(*ranks.T)
        return float(result.statistic), max(float(result.pvalue), least)
    wins = int((ranks[:, 0] < ranks[:, 1]).sum())
    losses = int((ranks[:, 0] > ranks[:, 1]).sum())
    statistic = (wins - losses) ** 2 / (wins + losses)  # what the formula comes to for two, which SciPy refuses
    return statistic, max(float(stats.chi2.sf(statistic, 1)), least)


def _iman_davenport(chi_square: float, n_datasets: int, n_methods: int) -> tuple[float, float]:
    """Return Iman and Davenport's F, which is less conservative than Friedman's chi-square."""
    room = n_datasets * (n_methods - 1) - chi_square
    statistic = (n_datasets - 1) * chi_square / room if room > 1e-9 else math.inf
    p_value = float(stats.f.sf(statistic, n_methods - 1, (n_methods - 1) * (n_datasets - 1)))
    return statistic, max(p_value, _least_p_value(n_datasets, n_methods))


def _least_p_value(n_datasets: int, n_methods: int) -> float:
    """Return the probability that equal methods have the same order on all datasets.

    No ranks are less probable, but F and chi-square go on falling: two methods on three datasets never have p < 0.25.
    """
    return math.exp((1 - n_datasets) * math.lgamma(n_methods + 1))


@lru_cache
def nemenyi_critical_difference(n_methods: int, n_datasets: int, confidence: float = 0.95) -> float:
    """Return the critical difference of two mean ranks in Nemenyi's test.

    Examples
    --------
    >>> round(nemenyi_critical_difference(4, 14), 2)
    1.25
    """
    quantile = float(stats.studentized_range.ppf(confidence, n_methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def _wilcoxon_p_value(differences: Floats) -> float:
    """Return the exact p-value for up to 50 different differences, else that of the normal approximation."""
    if not differences.any():
        return 1.0
    sizes = np.abs(differences)
    exact = len(sizes) <= MOST_EXACT and sizes.all() and len(np.unique(sizes)) == len(sizes)
    # "auto" may list all signs of tied differences, which takes seconds; "asymptotic" is "approx" in newer SciPy only.
    return float(stats.wilcoxon(differences, zero_method="zsplit", method="exact" if exact else "approx").pvalue)


def _wilcoxon(errors: Floats) -> Floats:
    """Return the matrix of p-values of Wilcoxon's signed-rank test, Holm-adjusted over all pairs."""
    n_methods = errors.shape[1]
    pairs = list(combinations(range(n_methods), 2))
    raw = [_wilcoxon_p_value(_shared_differences(errors[:, first], errors[:, second])) for first, second in pairs]
    matrix = np.ones((n_methods, n_methods))
    for (first, second), p_value in zip(pairs, adjust_p_values(raw, "holm")):
        matrix[first, second] = matrix[second, first] = p_value
    return matrix


def _shared_differences(first: Floats, second: Floats) -> Floats:
    """Return the differences on the datasets that both methods have; a single zero if there is none."""
    differences = (first - second)[~np.isnan(first - second)]
    return _to_ten_digits(differences) if len(differences) else np.zeros(1)


def _ranks(errors: Floats) -> Floats:
    """Return ranks within each dataset, NaN where an error is missing, stretched to the number of all methods."""
    ranks = np.full(errors.shape, np.nan)
    for row, place in zip(errors, range(len(errors))):
        known = ~np.isnan(row)
        ranks[place, known] = stats.rankdata(row[known]) * (errors.shape[1] + 1) / (known.sum() + 1)
    return ranks


def _fewest_shared(errors: Floats) -> int:
    """Return the fewest datasets that any two methods share."""
    known = (~np.isnan(errors)).astype(np.int64)
    return max(int((known.T @ known).min()), 1)


def compare_over_datasets(
    results: Any,
    *,
    names: Sequence[str] | None = None,
    dataset_names: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> Ranking:
    """Rank methods over many datasets, and test whether they differ, as recommended by Demšar (2006).

    Parameters
    ----------
    results : dict of str to Comparison, list of Comparison, or table of shape (n_datasets, n_methods)
        Results of `compare` for each dataset, or errors (lower is better) as an array or a frame; NaN where a method
        failed. The test is then that of Skillings and Mack in place of Friedman's, and each pair is compared on the
        datasets that it shares.
    names, dataset_names : sequence of str, default=None
        Names of methods and datasets; None takes those of the results.
    confidence : float, default=0.95
        Confidence of Nemenyi's critical difference, and of the groups that `Ranking.cliques` returns.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from tremula.diagnostics import compare_over_datasets
    >>> errors = [[0.20, 0.15, 0.14], [0.31, 0.25, 0.27], [0.12, 0.10, 0.08], [0.45, 0.40, 0.41], [0.05, 0.04, 0.03]]
    >>> ranking = compare_over_datasets(errors, names=["C4.5", "bagging", "boosting"])
    >>> print(ranking)
    3 methods over 5 datasets differ (Iman-Davenport F = 12.7, p = 0.0033).
    mean ranks: boosting 1.40, bagging 1.60, C4.5 3.00; critical difference 1.48
    >>> ranking.cliques()
    [['boosting', 'bagging'], ['bagging', 'C4.5']]
    """
    table = read_results(results, names, dataset_names)
    confidence = check_confidence(confidence)
    n_datasets, n_methods = table.errors.shape
    errors = _without_rounding(table.errors)
    ranks = _ranks(errors)
    if np.isnan(errors).any():
        (chi_square, p_value), (statistic, other_p_value) = skillings_mack_test(errors), (math.nan, math.nan)
    else:
        chi_square, p_value = _friedman(ranks)
        statistic, other_p_value = _iman_davenport(chi_square, n_datasets, n_methods)
    return Ranking(
        names=table.names,
        dataset_names=table.dataset_names,
        errors=table.errors,
        ranks=ranks,
        mean_ranks=np.nanmean(ranks, axis=0),
        friedman_statistic=chi_square,
        friedman_p_value=p_value,
        iman_davenport_statistic=statistic,
        iman_davenport_p_value=other_p_value,
        critical_difference=nemenyi_critical_difference(n_methods, _fewest_shared(errors), confidence),
        p_values=_wilcoxon(errors),
        confidence=confidence,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(ShownAsTable):
    """Methods ranked over many datasets; made by `compare_over_datasets`.

    Attributes
    ----------
    names, dataset_names : list of str
        Names of methods and datasets.
    errors, ranks : array of shape (n_datasets, n_methods)
        Errors as given, and their ranks within each dataset; 1 is best. Where methods are missing, ranks are multiplied
        by (methods + 1) / (methods of the dataset + 1).
    mean_ranks : array of shape (n_methods,)
    friedman_statistic, friedman_p_value : float
        Friedman's chi-square, corrected for ties; Skillings and Mack's if errors are missing.
    iman_davenport_statistic, iman_davenport_p_value : float
        The F statistic, which is the better approximation; NaN if errors are missing.
    critical_difference : float
        Critical difference of mean ranks in Nemenyi's test, for the fewest datasets that two methods share.
    p_values : array of shape (n_methods, n_methods)
        p-values of Wilcoxon's signed-rank test of each pair, Holm-adjusted over all pairs.
    confidence : float

    Examples
    --------
    >>> from tremula.diagnostics import compare_over_datasets
    >>> ranking = compare_over_datasets([[0.2, 0.1], [0.3, 0.2], [0.4, 0.4]], names=["C4.5", "bagging"])
    >>> ranking.mean_ranks.round(2).tolist()
    [1.83, 1.17]
    """

    names: list[str]
    dataset_names: list[str]
    errors: Floats
    ranks: Floats
    mean_ranks: Floats
    friedman_statistic: float
    friedman_p_value: float
    iman_davenport_statistic: float
    iman_davenport_p_value: float
    critical_difference: float
    p_values: Floats
    confidence: float

    def cliques(self, by: str = "nemenyi") -> list[list[str]]:
        """Return the groups of methods that are not shown to differ, best first; a method may be in several or none.

        Parameters
        ----------
        by : {'nemenyi', 'wilcoxon'}, default='nemenyi'
            Mean ranks within the critical difference, or Holm-adjusted p-values above one minus the confidence.
        """
        check_choice("by", by, ("nemenyi", "wilcoxon"))
        if by == "nemenyi":
            alike = np.abs(self.mean_ranks[:, None] - self.mean_ranks) < self.critical_difference
        else:
            alike = self.p_values > 1 - self.confidence + 1e-12
        order = np.argsort(self.mean_ranks, kind="stable")
        groups: list[list[str]] = []
        reached = 0
        for start in range(len(order)):
            stop = start + 1
            while stop < len(order) and alike[np.ix_(order[start : stop + 1], order[start : stop + 1])].all():
                stop += 1
            if stop > max(reached, start + 1):
                groups.append([self.names[place] for place in order[start:stop]])
                reached = stop
        return groups

    def against(self, baseline: str) -> dict[str, float]:
        """Return a p-value for each other method, of the difference of its mean rank from the baseline's.

        Only the pairs with the baseline are tested, so that this finds more than Nemenyi's test of all pairs. The
        p-values are two-sided, by the normal approximation of Friedman's ranks, and Holm-adjusted.

        Parameters
        ----------
        baseline : str
            Name of the method that all others are compared with.

        Examples
        --------
        >>> from tremula.diagnostics import compare_over_datasets
        >>> errors = [[0.20, 0.15, 0.14], [0.31, 0.25, 0.27], [0.12, 0.10, 0.08], [0.45, 0.40, 0.41], [0.5, 0.4, 0.3]]
        >>> ranking = compare_over_datasets(errors, names=["C4.5", "bagging", "boosting"])
        >>> {name: round(p_value, 3) for name, p_value in ranking.against("C4.5").items()}
        {'bagging': 0.027, 'boosting': 0.023}
        """
        place = place_of(baseline, self.names)
        n_datasets, n_methods = _fewest_shared(self.errors), len(self.names)
        deviation = math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))
        others = [name for name in self.names if name != baseline]
        distances = (np.delete(self.mean_ranks, place) - self.mean_ranks[place]) / deviation
        adjusted = adjust_p_values(2 * stats.norm.sf(np.abs(distances)), "holm")
        return dict(zip(others, adjusted.tolist()))

    def to_frame(self) -> Any:
        """Return the errors as a pandas frame, datasets in rows, methods in columns."""
        return make_frame(self.errors, index=self.dataset_names, columns=self.names)

    @property
    def _sentence(self) -> str:
        if np.isnan(self.errors).any():
            name, statistic, p_value = "Skillings-Mack chi-square", self.friedman_statistic, self.friedman_p_value
        else:
            name, statistic = "Iman-Davenport F", self.iman_davenport_statistic
            p_value = self.iman_davenport_p_value
        differ = "differ" if p_value <= 1 - self.confidence + 1e-12 else "are not shown to differ"
        return (
            f"{len(self.names)} methods over {len(self.dataset_names)} datasets {differ} ({name} = {statistic:.3g}, "
            f"p {say_p(p_value)})."
        )

    @property
    def _ranked(self) -> list[tuple[str, str]]:
        """Methods and their mean ranks, the best first."""
        order = np.argsort(self.mean_ranks, kind="stable")
        return [(self.names[place], f"{self.mean_ranks[place]:.2f}") for place in order]

    def _short_table(self) -> ShortTable:
        note = f"Critical difference of mean ranks by Nemenyi's test: {self.critical_difference:.2f}."
        return ShortTable(self._sentence, ["method", "mean rank"], self._ranked, [note])

    def __str__(self) -> str:
        ranks = ", ".join(" ".join(pair) for pair in self._ranked)
        return f"{self._sentence}\nmean ranks: {ranks}; critical difference {self.critical_difference:.2f}"
