"""Compares our number with a published one: the difference, the tolerated interval, and a verdict with its reason.

The interval follows from the definition of the published number and from sampling error, before our number is known.
It has no parameter that could be tuned to make a number fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

Word = Literal["within", "better", "worse", "not comparable"]

TWO_SIDED = 1.96  # 95 % of a normal distribution, as the papers write it
FOLDS = 10
MOST_ADDED = 5  # at most half a row a fold was added to the wrong ones, see `raw_band`


@dataclass(frozen=True)
class Judgement:
    """The verdict on one number.

    Attributes
    ----------
    ours, published : float
        Two values of the same quantity; less is better.
    difference : float
        Our value minus the published one.
    interval : tuple of two floats
        Values that count as equal to the published one; NaN if the two cannot be compared.
    verdict : {"within", "better", "worse", "not comparable"}
    reason : str
        The rule behind the verdict.

    Examples
    --------
    >>> from tremula.lab.papers.verdict import judge_cross_validated
    >>> judgement = judge_cross_validated(0.2596, 208, 0.3257, 208)
    >>> judgement.verdict, [round(end, 3) for end in judgement.interval]
    ('within', [0.254, 0.405])
    """

    ours: float
    published: float
    difference: float
    interval: tuple[float, float]
    verdict: Word
    reason: str

    @property
    def is_miss(self) -> bool:
        """Whether our value is outside the interval."""
        return self.verdict in ("better", "worse")

    def power(self, others: Sequence[float]) -> str | None:
        """Return how many of some other published numbers the interval would reject in place of ours.

        Parameters
        ----------
        others : sequence of float
            Numbers that a wrong program might give, such as those of the other methods on the same dataset.

        Examples
        --------
        >>> from tremula.lab.papers.verdict import judge_on_test_set
        >>> judge_on_test_set(0.0935, 2000, 0.0890, 2000).power([0.0850, 0.1515])
        '1 of 2'
        """
        low, high = self.interval
        if math.isnan(low) or not others:
            return None
        return f"{sum(not low <= other <= high for other in others)} of {len(others)}"


def not_comparable(ours: float, published: float, reason: str) -> Judgement:
    """Return the verdict on a published number that measures something else.

    Examples
    --------
    >>> not_comparable(0.18, 0.049, "copies of rows in learning and test set").verdict
    'not comparable'
    """
    return Judgement(ours, published, ours - published, (math.nan, math.nan), "not comparable", reason)


def judge_by_interval(
    ours: float, published: float, low: float, high: float, reason: str, signed: bool = False
) -> Judgement:
    """Return the verdict on a number that counts as equal to the published one from `low` to `high`."""
    if math.isnan(ours):
        return not_comparable(ours, published, "not measured")
    low = low if signed else max(low, 0.0)  # errors are not negative, differences may be
    verdict: Word = "better" if ours < low else "worse" if ours > high else "within"
    return Judgement(ours, published, ours - published, (low, high), verdict, reason)


def raw_band(published: float, n_rows: int) -> tuple[float, float]:
    """Return the range of raw error rates behind a cross-validated rate of Dietterich (2000).

    Every rate of his Table 1 is a whole number over n + 10: one row too many in each of ten folds, of which some part
    up to a half counts as wrong. So the raw error lies in [(e(n + 10) - 5) / n, e(n + 10) / n].

    Parameters
    ----------
    published : float
        The rate as printed.
    n_rows : int
        Rows of the dataset.

    Examples
    --------
    >>> from tremula.lab.papers.verdict import raw_band
    >>> low, high = raw_band(0.3257, 208)
    >>> round(low, 3), round(high, 3)
    (0.317, 0.341)
    """
    counted = published * (n_rows + FOLDS)
    return max(0.0, (counted - MOST_ADDED) / n_rows), counted / n_rows


def _sampling_error(rate: float, n_rows: int) -> float:
    return TWO_SIDED * math.sqrt(rate * (1 - rate) / n_rows)


def judge_cross_validated(ours: float, n_tested: int, published: float, n_published: int) -> Judgement:
    """Judge an error of ten-fold cross-validation against one of Table 1 of Dietterich (2000).

    Parameters
    ----------
    ours : float
        Error rate.
    n_tested : int
        Number of test rows: the whole dataset, or the rows of some folds.
    published : float
        The rate as printed.
    n_published : int
        Rows of the dataset.

    Returns
    -------
    Judgement
        Within if our value is in the band of `raw_band`, extended by the sampling error of the test rows.

    Examples
    --------
    >>> from tremula.lab.papers.verdict import judge_cross_validated
    >>> judge_cross_validated(0.0615, 20000, 0.0552, 20000).verdict
    'worse'
    """
    low, high = raw_band(published, n_published)
    margin = _sampling_error(published, min(n_tested, n_published)) if n_tested else math.nan
    reason = f"band {100 * low:.2f} to {100 * high:.2f} of the rate over n + 10, and sampling error {100 * margin:.2f}"
    return judge_by_interval(ours, published, low - margin, high + margin, reason)


def judge_on_test_set(ours: float, n_tested: int, published: float, n_published: int) -> Judgement:
    """Judge an error on a fixed test set.

    Parameters
    ----------
    ours : float
        Error rate.
    n_tested : int
    published : float
    n_published : int
        Number of rows of the published test set.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> from tremula.lab.papers.verdict import judge_on_test_set
    >>> judge_on_test_set(0.0935, 2000, 0.0890, 2000).verdict
    'within'
    """
    margin = _sampling_error(published, min(n_tested, n_published)) if n_tested else math.nan
    return judge_by_interval(
        ours, published, published - margin, published + margin, f"sampling error {100 * margin:.2f}"
    )


def judge_mean(
    ours: ArrayLike, published: float, n_published: int, rounding: float = 0.0, signed: bool = False
) -> Judgement:
    """Judge a mean over random divisions against a published mean, whose spread is taken to be that of ours.

    Parameters
    ----------
    ours : sequence of float
        One value for each division.
    published : float
        A mean over `n_published` divisions.
    n_published : int
    rounding : float, default=0.0
        Half a unit of the last printed digit.
    signed : bool, default=False
        Whether the values may be negative, as differences of errors may.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> from tremula.lab.papers.verdict import judge_mean
    >>> judge_mean([0.20, 0.24, 0.19, 0.21], 0.193, 100).verdict
    'within'
    """
    values = np.asarray(ours, dtype=float)
    if len(values) < 2:
        mean = float(values.mean()) if len(values) else math.nan
        return not_comparable(mean, published, f"{len(values)} division measured: a spread needs two")
    reach = float(stats.t.ppf(0.975, len(values) - 1))
    margin = reach * float(values.std(ddof=1)) * math.sqrt(1 / len(values) + 1 / n_published) + rounding
    reason = f"spread of {len(values)} divisions of ours and as many as {n_published} of theirs"
    return judge_by_interval(float(values.mean()), published, published - margin, published + margin, reason, signed)


def judge_means(ours: ArrayLike, published: float, spread: float, n_published: int, rounding: float = 0.0) -> Judgement:
    """Judge a mean over random divisions against a published mean with its standard deviation, by Welch's interval.

    Parameters
    ----------
    ours : sequence of float
        One value for each division.
    published, spread : float
        Mean and standard deviation over `n_published` divisions.
    n_published : int
    rounding : float, default=0.0
        Half a unit of the last printed digit.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> from tremula.lab.papers.verdict import judge_means
    >>> judge_means([0.20, 0.24, 0.19, 0.21], 0.29, 0.06, 10).verdict
    'better'
    """
    values = np.asarray(ours, dtype=float)
    if len(values) < 2:
        mean = float(values.mean()) if len(values) else math.nan
        return not_comparable(mean, published, f"{len(values)} division measured: a spread needs two")
    parts = float(values.var(ddof=1)) / len(values), spread**2 / n_published
    total = sum(parts)
    freedom = total**2 / (parts[0] ** 2 / (len(values) - 1) + parts[1] ** 2 / (n_published - 1)) if total else 1.0
    margin = float(stats.t.ppf(0.975, freedom)) * math.sqrt(total) + rounding
    reason = f"Welch's interval of {len(values)} divisions of ours and {n_published} of theirs"
    return judge_by_interval(float(values.mean()), published, published - margin, published + margin, reason)
