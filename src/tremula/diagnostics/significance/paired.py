"""Paired tests of the difference between two methods, as pure functions of numbers.

Each gives the difference first minus second, its interval, and a p-value; the p-value is below one minus the confidence
where the interval leaves out zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tremula.diagnostics.significance.intervals import check_confidence
from tremula.errors import InvalidInput

Floats = NDArray[np.float64]

ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class TestResult:
    """Result of a paired test of two methods.

    Attributes
    ----------
    test : str
        Name of the test.
    statistic : float
        Test statistic.
    p_value : float
        Two-sided p-value.
    degrees_of_freedom : float, tuple of two floats or None
        Degrees of freedom of Student's t or of F; None for other tests.
    difference : float
        Mean of first minus second, in the units given.
    interval : tuple of two floats
        Confidence interval of the difference.
    confidence : float
        Confidence of the interval, between 0 and 1.
    effect_size : float or None
        The mean difference in standard deviations of the differences (Cohen's d_z); of two proportions, Cohen's h.

    Examples
    --------
    >>> result = paired_t_test([0.20, 0.24, 0.22], [0.17, 0.20, 0.20])
    >>> print(result.sentence("C4.5", "bagging"))
    C4.5 minus bagging is 0.03 (95 % interval 0.00516 to 0.0548), p = 0.035 by the paired t test.
    """

    __test__ = False  # not one of pytest's, whatever its name

    test: str
    statistic: float
    p_value: float
    degrees_of_freedom: float | tuple[float, float] | None
    difference: float
    interval: tuple[float, float]
    confidence: float
    effect_size: float | None

    def sentence(self, first: str = "first", second: str = "second") -> str:
        """Say the difference, its interval and the p-value in words."""
        low, high = self.interval
        interval = f"{100 * self.confidence:g} % interval {low:.3g} to {high:.3g}"
        p_value = f"p {say_p(self.p_value)} by the {self.test} test"
        return f"{first} minus {second} is {self.difference:.3g} ({interval}), {p_value}."

    def __str__(self) -> str:
        return self.sentence()


def say_p(p_value: float) -> str:
    """Write a p-value with its sign, as ``= 0.035``."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.2g}"


# --- the border ---


def read_floats(name: str, values: ArrayLike) -> Floats:
    """Return numbers as an array; raise if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} holds something that is not a number ({error}): give a list of numbers") from error


def _read_numbers(name: str, values: ArrayLike) -> Floats:
    numbers = read_floats(name, values)
    if numbers.ndim != 1:
        raise InvalidInput(f"{name} has {numbers.ndim} dimensions: give a list of numbers, one for each split")
    if not np.isfinite(numbers).all():
        place = int(np.argmin(np.isfinite(numbers)))
        raise InvalidInput(
            f"{name} is {numbers[place]} at split {place}: a paired test needs a finite number for each split; "
            "leave the split out of both methods, or find out why it has no value"
        )
    return numbers


def read_pairs(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the differences a - b, exactly zero where they are nothing but rounding."""
    first, second = _read_numbers("a", a), _read_numbers("b", b)
    if len(first) != len(second):
        raise InvalidInput(
            f"a has {len(first)} values and b has {len(second)}: a paired test compares both methods on the same "
            "splits, in the same order"
        )
    if len(first) < 2:
        raise InvalidInput(
            f"{len(first)} split was given: a paired test needs at least 2; on one test set use mcnemar_test"
        )
    differences = first - second
    scale = np.maximum(np.abs(first), np.abs(second)).max()
    differences[np.abs(differences) <= ROUNDING * scale] = 0.0
    if np.ptp(differences) <= ROUNDING * scale:
        differences[:] = differences[0]
    return differences


def effect_size(differences: Floats) -> float:
    """Return the mean in standard deviations, infinite where all differences are the same and not zero."""
    mean = float(np.mean(differences))
    if np.ptp(differences) == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / float(np.std(differences, ddof=1))


# --- Student's t ---


def _t_test(name: str, differences: Floats, inflation: float, confidence: float) -> TestResult:
    """Compare the mean with zero, its variance being `inflation` times that of the differences."""
    confidence = check_confidence(confidence)
    freedom, mean, effect = len(differences) - 1, float(np.mean(differences)), effect_size(differences)
    if not math.isfinite(effect) or not differences.any():
        return TestResult(name, effect, float(effect == 0), freedom, mean, (mean, mean), confidence, effect)
    statistic = effect / math.sqrt(inflation)
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * float(np.std(differences, ddof=1)) * math.sqrt(inflation)
    p_value = float(2 * stats.t.sf(abs(statistic), freedom))
    return TestResult(name, statistic, p_value, freedom, mean, (mean - half, mean + half), confidence, effect)


def paired_t_test(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> TestResult:
    """Compare two methods by Student's t of their paired differences.

    Dietterich (2000) uses it over the ten folds of a cross-validation. It assumes that the differences are independent.
    If splits share training rows, they are not, and the test has too many false positives: slightly too many over ten
    folds, and very many over many random splits. See `corrected_t_test`.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors or scores of the two methods on the same splits.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    TestResult
        Where all differences are equal, p is 1 if they are zero and 0 otherwise.

    Examples
    --------
    >>> paired_t_test([0.30, 0.25, 0.28, 0.31], [0.27, 0.23, 0.27, 0.25]).p_value
    0.0691...
    """
    differences = read_pairs(a, b)
    return _t_test("paired t", differences, 1 / len(differences), confidence)


def corrected_t_test(
    a: ArrayLike, b: ArrayLike, *, n_train: ArrayLike, n_test: ArrayLike, confidence: float = 0.95
) -> TestResult:
    """Compare two methods on splits that share training rows: the corrected resampled t test.

    Nadeau and Bengio (2003) use (1/J + n_test/n_train) s² for the variance of the mean difference instead of s²/J,
    because the J training sets overlap and their differences are correlated.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors or scores of the two methods on the same splits.
    n_train, n_test : float or array-like of shape (n_splits,)
        Number of training and test rows; if splits differ, the mean of their ratio is used.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    TestResult
        Where all differences are equal, p is 1 if they are zero and 0 otherwise.

    Examples
    --------
    >>> result = corrected_t_test([0.30, 0.25, 0.28, 0.31], [0.27, 0.23, 0.27, 0.25], n_train=75, n_test=25)
    >>> round(result.p_value, 3)
    0.167
    """
    differences = read_pairs(a, b)
    ratio = ratio_of_sizes(n_train, n_test, len(differences))
    return _t_test("corrected t", differences, 1 / len(differences) + ratio, confidence)


def ratio_of_sizes(n_train: ArrayLike, n_test: ArrayLike, n_splits: int) -> float:
    """Return the mean of test rows to training rows."""
    train, test = read_floats("n_train", n_train), read_floats("n_test", n_test)
    for name, sizes in (("n_train", train), ("n_test", test)):
        if sizes.shape not in ((), (n_splits,)):
            raise InvalidInput(
                f"{name} has shape {sizes.shape}: give one number, or one for each of the {n_splits} splits"
            )
        if not (sizes > 0).all():
            bad = sizes[~(sizes > 0)].flat[0]
            raise InvalidInput(f"{name} is {bad:g}: give the number of rows of each split, which is above 0")
    return float(np.mean(test / train))


# --- F over five repetitions of two folds ---


def five_by_two_f_test(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> TestResult:
    """Compare two methods by Alpaydin's combined F over five repetitions of two-fold cross-validation.

    The interval contains every difference that the test would not reject; it is NaN to NaN in the rare case that it
    rejects them all, which happens when the repetitions differ far more than the folds within them.

    Parameters
    ----------
    a, b : array-like of shape (10,) or (5, 2)
        Errors or scores; the two folds of a repetition are adjacent.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    TestResult
        Degrees of freedom are (10, 5). Where the folds agree in every repetition, p is 1 if all differences are zero
        and 0 otherwise.

    Examples
    --------
    >>> first = [0.20, 0.24, 0.22, 0.21, 0.25, 0.20, 0.23, 0.22, 0.21, 0.24]
    >>> second = [0.17, 0.20, 0.20, 0.18, 0.20, 0.19, 0.19, 0.20, 0.18, 0.20]
    >>> result = five_by_two_f_test(first, second)
    >>> round(result.statistic, 2), round(result.p_value, 3)
    (4.74, 0.05)
    """
    confidence = check_confidence(confidence)
    differences = read_pairs(_read_ten("a", a), _read_ten("b", b))
    mean, effect = float(np.mean(differences)), effect_size(differences)
    within = float((np.diff(differences.reshape(5, 2)) ** 2).sum() / 2)
    if within == 0:
        statistic = math.inf if differences.any() else 0.0
        return TestResult("5x2 F", statistic, float(statistic == 0), (10, 5), mean, (mean, mean), confidence, effect)
    statistic = float((differences**2).sum() / (2 * within))
    room = 2 * within * float(stats.f.ppf(confidence, 10, 5)) - float(((differences - mean) ** 2).sum())
    half = math.sqrt(room / 10) if room >= 0 else math.nan
    p_value = float(stats.f.sf(statistic, 10, 5))
    return TestResult("5x2 F", statistic, p_value, (10, 5), mean, (mean - half, mean + half), confidence, effect)


def _read_ten(name: str, values: ArrayLike) -> Floats:
    numbers = read_floats(name, values)
    if numbers.shape not in ((10,), (5, 2)):
        raise InvalidInput(
            f"{name} has shape {numbers.shape}: the 5x2 F test needs 10 values, two folds of each of five repetitions, "
            "as RepeatedStratifiedKFold(n_splits=2, n_repeats=5) gives them"
        )
    return numbers.reshape(10)
