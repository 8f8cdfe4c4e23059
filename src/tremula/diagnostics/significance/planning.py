"""How many repetitions of a cross-validation would show a difference, from the variance seen."""

from __future__ import annotations

import math

from scipy import stats

from tremula.diagnostics.significance.intervals import check_confidence
from tremula.parameters import check_number

MOST_REPETITIONS = 20
MOST_SPLITS = 1_000_000_000
LARGEST = 1e300
POWER = 0.8


def detectable_difference(
    deviation: float, ratio: float, n_splits: int, *, confidence: float = 0.95, power: float = POWER
) -> float:
    """Return the smallest true difference that the corrected t test shows with this power.

    Parameters
    ----------
    deviation : float
        Standard deviation of the differences over the splits.
    ratio : float
        Test rows to training rows.
    n_splits : int
        Number of splits, of all repetitions.
    confidence : float, default=0.95
        A difference counts as shown if the p-value of the pair is at most 1 - confidence.
    power : float, default=0.8
        Probability with which the difference is to be shown.

    Examples
    --------
    >>> round(detectable_difference(0.02, 1 / 9, 10), 4), round(detectable_difference(0.02, 1 / 9, 100), 4)
    (0.0289, 0.0197)
    """
    check_number("deviation", deviation, 0.0, LARGEST)
    check_number("ratio", ratio, 0.0, LARGEST)
    check_number("n_splits", n_splits, 2, MOST_SPLITS, whole=True)
    check_number("power", power, 0.0, 1.0, above=True)
    error = deviation * math.sqrt(1 / n_splits + ratio)
    freedom = n_splits - 1
    return error * float(stats.t.ppf((1 + check_confidence(confidence)) / 2, freedom) + stats.t.ppf(power, freedom))


def planned_repetitions(
    deviation: float, ratio: float, *, cv: int, difference: float, confidence: float = 0.95, power: float = POWER
) -> int | None:
    """Return the fewest repetitions that show a difference, or None if 20 do not.

    Repetitions use the same rows again. Their number lowers the variance to `ratio` times that of the differences, not
    to zero: a difference below that needs more rows.

    Parameters
    ----------
    deviation : float
        Standard deviation of the differences over the splits.
    ratio : float
        Test rows to training rows.
    cv : int
        Number of folds in each repetition.
    difference : float
        The true difference that is to be shown.
    confidence : float, default=0.95
        As in `detectable_difference`.
    power : float, default=0.8
        Probability with which the difference is to be shown.

    Examples
    --------
    >>> [planned_repetitions(0.02, 1 / 9, cv=10, difference=difference) for difference in (0.022, 0.01)]
    [4, None]
    """
    check_number("cv", cv, 2, MOST_SPLITS // MOST_REPETITIONS, whole=True)
    check_number("difference", difference, 0.0)
    for repetitions in range(1, MOST_REPETITIONS + 1):
        splits = repetitions * cv
        if detectable_difference(deviation, ratio, splits, confidence=confidence, power=power) <= difference:
            return repetitions
    return None
