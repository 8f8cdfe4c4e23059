"""Confidence intervals of a mean over rows: for new rows, and for new models where models were drawn too."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter

FEWEST_FOR_INTERVALS = 3


def check_confidence(confidence: Any) -> float:
    """Check that the confidence lies strictly between 0 and 1, and return it."""
    is_number = isinstance(confidence, Real)
    if not (is_number and 0 < confidence < 1):
        raise InvalidParameter(
            f"confidence={confidence!r} was given; expected a number between 0 and 1, such as 0.95 for 95 %"
        )
    return float(confidence)


def interval_of(
    per_row: np.ndarray, left_out: np.ndarray, confidence: float, least: float = 0.0
) -> tuple[float, float]:
    """Return a two-sided interval of a mean over rows, for new rows and new models.

    The variance is that of a mean over rows, plus the jackknife's over models; the quantile is Student's, with one
    degree of freedom fewer than there are models (or rows). Neither end is below `least`. NaN with fewer than three
    models.
    """
    n_rows, n_models = len(per_row), len(left_out)
    if n_models < FEWEST_FOR_INTERVALS or n_rows < 2:
        return (np.nan, np.nan)
    over_rows = per_row.var(ddof=1) / n_rows
    over_models = (n_models - 1) / n_models * ((left_out - left_out.mean()) ** 2).sum()
    low, high = _around(per_row.mean(), over_rows + over_models, min(n_models, n_rows) - 1, confidence)
    return (max(low, least), max(high, least))


def interval_of_rows(per_row: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return a two-sided interval of a mean over rows, for new rows and the same models.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = interval_of_rows(np.array([1.0, 2.0, 3.0]), 0.95)
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    if len(per_row) < 2:
        return (np.nan, np.nan)
    return _around(per_row.mean(), per_row.var(ddof=1) / len(per_row), len(per_row) - 1, confidence)


def _around(centre: float, variance: float, degrees_of_freedom: int, confidence: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    reach = float(stdtrit(degrees_of_freedom, 0.5 + confidence / 2) * np.sqrt(variance))
    return (float(centre) - reach, float(centre) + reach)
