"""Two classifiers on one test set: McNemar's test, the difference of two error rates, the interval of one.

As in `significance`, the difference is first minus second.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tremula.diagnostics.significance.intervals import check_confidence
from tremula.diagnostics.significance.paired import TestResult, effect_size
from tremula.errors import InvalidInput, counted
from tremula.parameters import check_choice

FEW_DISCORDANT = 25  # below it the chi-square approximation of McNemar's test is poor
INTERVALS = ("wilson", "exact", "normal")


def mcnemar_test(
    first_wrong: ArrayLike, second_wrong: ArrayLike, *, method: str = "auto", confidence: float = 0.95
) -> TestResult:
    """Compare two classifiers on one test set by the rows that only one of them gets wrong (McNemar).

    The interval is conditional on the number of those rows: it is that of their share (Clopper and Pearson's, or
    Wilson's with continuity for "chi-square"), written as a difference of error rates.

    Parameters
    ----------
    first_wrong, second_wrong : array-like of bool of shape (n_rows,)
        Whether each of the two classifiers is wrong on each row.
    method : {'auto', 'exact', 'chi-square'}, default='auto'
        The binomial distribution, or chi-square with continuity correction; "auto" takes the first if fewer than 25
        rows are wrong for only one of the classifiers.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    TestResult
        `difference` is the error rate of the first minus that of the second; `statistic` is the number of rows that
        only the first gets wrong (exact), or chi-square.

    Examples
    --------
    >>> first_wrong = [True] * 9 + [False] * 2 + [False] * 89
    >>> second_wrong = [False] * 9 + [True] * 2 + [False] * 89
    >>> result = mcnemar_test(first_wrong, second_wrong)
    >>> result.difference, round(result.p_value, 4)
    (0.07, 0.0654)
    """
    check_choice("method", method, ("auto", "exact", "chi-square"))
    first, second = _read_marks("first_wrong", first_wrong), _read_marks("second_wrong", second_wrong)
    if len(first) != len(second):
        raise InvalidInput(
            f"first_wrong has {counted(len(first), 'row')} and second_wrong has {len(second)}: both classifiers must "
            "predict the same rows"
        )
    differences = first.astype(np.float64) - second
    only_first, only_second = int((differences > 0).sum()), int((differences < 0).sum())
    exact = method == "exact" or (method == "auto" and only_first + only_second < FEW_DISCORDANT)
    statistic, freedom, p_value = (_exact if exact else _chi_square)(only_first, only_second)
    interval = _discordant_interval(only_first, only_second, len(first), check_confidence(confidence), exact)
    difference, effect = (only_first - only_second) / len(first), effect_size(differences)
    return TestResult("McNemar", statistic, p_value, freedom, difference, interval, confidence, effect)


def _exact(only_first: int, only_second: int) -> tuple[float, None, float]:
    if only_first + only_second == 0:
        return 0.0, None, 1.0
    return float(only_first), None, float(stats.binomtest(only_first, only_first + only_second).pvalue)


def _chi_square(only_first: int, only_second: int) -> tuple[float, float, float]:
    distance = max(abs(only_first - only_second) - 1, 0)
    statistic = distance**2 / max(only_first + only_second, 1)
    return statistic, 1.0, float(stats.chi2.sf(statistic, 1))


def _discordant_interval(
    only_first: int, only_second: int, n_rows: int, confidence: float, exact: bool
) -> tuple[float, float]:
    """Return the interval of the difference of error rates, given how many rows are wrong in one only."""
    discordant = only_first + only_second
    if discordant == 0:
        return 0.0, 0.0
    method = "exact" if exact else "wilsoncc"
    low, high = stats.binomtest(only_first, discordant).proportion_ci(confidence, method=method)
    return (2 * float(low) - 1) * discordant / n_rows, (2 * float(high) - 1) * discordant / n_rows


def _read_marks(name: str, marks: ArrayLike) -> NDArray[np.bool_]:
    try:
        array = np.asarray(marks)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or not len(array) or array.dtype.kind == "V" or not np.isin(array, (0, 1)).all():
        raise InvalidInput(
            f"{name} must be one True (wrong) or False (right) for each row, such as `model.predict(X) != y`"
        )
    return array.astype(np.bool_)


def difference_of_proportions(
    first_wrong: int, second_wrong: int, n_first: int, *, n_second: int | None = None, confidence: float = 0.95
) -> TestResult:
    """Compare two error rates by the normal approximation of two independent binomials.

    Dietterich (2000) uses this test where there is a fixed test set. On one test set the errors of two classifiers are
    correlated; `mcnemar_test` takes that into account and has more power.

    Parameters
    ----------
    first_wrong, second_wrong : int
        Number of rows that each classifier gets wrong.
    n_first : int
        Number of test rows of the first classifier.
    n_second : int or None, default=None
        Number of test rows of the second classifier; None means `n_first`.
    confidence : float, default=0.95
        Confidence of the interval.

    Examples
    --------
    >>> result = difference_of_proportions(303, 204, 2000)
    >>> result.difference, result.p_value < 0.05
    (0.0495, True)
    """
    confidence = check_confidence(confidence)
    n_second = n_first if n_second is None else n_second
    first, second = _share("first_wrong", first_wrong, n_first), _share("second_wrong", second_wrong, n_second)
    difference = first - second
    deviation = math.sqrt(first * (1 - first) / n_first + second * (1 - second) / n_second)
    effect = 2 * (math.asin(math.sqrt(first)) - math.asin(math.sqrt(second)))
    if deviation == 0:
        statistic = math.copysign(math.inf, difference) if difference else 0.0
    else:
        statistic = difference / deviation
    half = float(stats.norm.ppf((1 + confidence) / 2)) * deviation
    p_value = float(2 * stats.norm.sf(abs(statistic)))
    interval = (difference - half, difference + half)
    return TestResult("proportions", statistic, p_value, None, difference, interval, confidence, effect)


def _share(name: str, wrong: int, n_rows: int) -> float:
    whole = all(
        isinstance(count, Real) and abs(count) <= 2**53 and float(count).is_integer() for count in (wrong, n_rows)
    )
    if not (whole and 0 <= wrong <= n_rows and n_rows > 0):
        raise InvalidInput(
            f"{name} is {wrong!r} of {n_rows!r} rows: give whole numbers, with 0 <= {name} <= rows and rows > 0"
        )
    return wrong / n_rows


def binomial_interval(
    n_wrong: int, n_rows: int, *, confidence: float = 0.95, method: str = "wilson"
) -> tuple[float, float]:
    """Return the interval of an error rate measured on one test set.

    Parameters
    ----------
    n_wrong, n_rows : int
        Number of wrong predictions, and of all rows.
    confidence : float, default=0.95
        Confidence of the interval.
    method : {'wilson', 'exact', 'normal'}, default='wilson'
        Wilson's, Clopper and Pearson's, or the normal approximation, which is the ± of Dietterich (2000). The last is
        too short where few rows are wrong: it holds the error rate less often than `confidence` says.

    Examples
    --------
    >>> low, high = binomial_interval(303, 2000)
    >>> round(low, 4), round(high, 4)
    (0.1365, 0.1679)
    """
    check_choice("method", method, INTERVALS)
    confidence = check_confidence(confidence)
    rate = _share("n_wrong", n_wrong, n_rows)
    if method == "normal":
        half = float(stats.norm.ppf((1 + confidence) / 2)) * math.sqrt(rate * (1 - rate) / n_rows)
        return rate - half, rate + half
    low, high = stats.binomtest(int(n_wrong), int(n_rows)).proportion_ci(confidence, method=method)
    return float(low), float(high)
