"""The interval of an error rate measured out of bag: for new rows, by a model that other rows might have trained."""

from __future__ import annotations

import math

from scipy import stats

from tremula.diagnostics.significance.intervals import check_confidence
from tremula.errors import InvalidParameter

SHARE_TRAINED = 1 - math.exp(-1)  # of the rows in a bootstrap sample


def out_of_bag_interval(n_wrong: int, n_rows: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of an error rate measured on out-of-bag rows.

    Parameters
    ----------
    n_wrong, n_rows : int
        Number of rows that the members not trained on them predict wrongly, and of all such rows.
    confidence : float, default=0.95
        Confidence of the interval.

    Notes
    -----
    Out-of-bag predictions of different rows depend on each other, since they share training rows: an interval of as
    many independent rows is too short. The correction of Nadeau and Bengio (2003) for repeated splits adds the ratio of
    test to training rows to the variance. With many bootstrap samples, which leave out 37 % of the rows, the variance
    is that of 63 % as many independent rows. The interval is Wilson's for so many.

    Examples
    --------
    >>> low, high = out_of_bag_interval(42, 150)
    >>> round(low, 3), round(high, 3)
    (0.2, 0.378)
    """
    if not 0 <= n_wrong <= n_rows or n_rows < 1:
        raise InvalidParameter(f"{n_wrong!r} wrong of {n_rows!r} rows were given: give 0 to n_rows, and at least 1 row")
    z = float(stats.norm.ppf(0.5 + check_confidence(confidence) / 2))
    rate, n_independent = n_wrong / n_rows, SHARE_TRAINED * n_rows
    shrunk = 1 + z**2 / n_independent
    centre = (rate + z**2 / (2 * n_independent)) / shrunk
    reach = z * math.sqrt(rate * (1 - rate) / n_independent + z**2 / (4 * n_independent**2)) / shrunk
    return max(centre - reach, 0.0), min(centre + reach, 1.0)
