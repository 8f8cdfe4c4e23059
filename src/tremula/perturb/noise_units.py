"""Units of the noise on an attribute: its standard deviation, or the bandwidth of a kernel density estimate.

A unit is never negative. The unit of a constant column is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

N_WIDTHS = 24  # number of bandwidths tried
NARROWEST, WIDEST = 0.005, 1.5  # the smallest and the largest of them, in standard deviations
MAX_VALUES = 400  # if there are more values, a sample of this size represents them
MIN_DENSITY = 1e-300


def deviation(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the sample standard deviation of numbers, which may have weights.

    Examples
    --------
    >>> import numpy as np
    >>> deviation(np.array([1.0, 2.0, 3.0]))
    1.0
    """
    largest = float(np.abs(values).max(initial=0.0))
    if len(values) < 2 or largest == 0.0:
        return 0.0
    scaled = values / largest  # squares of large numbers would overflow
    if (scaled == scaled[0]).all():
        return 0.0
    centre = np.average(scaled, weights=weights)
    variance = float(np.average((scaled - centre) ** 2, weights=weights))
    return largest * float(np.sqrt(variance * len(values) / (len(values) - 1)))


def rule_of_thumb(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return Silverman's bandwidth: 0.9 n^(-1/5) times the smaller of the deviation and the interquartile range / 1.34.

    It is 0 if half of the values are equal, as in counts that are mostly 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(rule_of_thumb(np.linspace(-1, 1, 101)), 2)
    0.21
    """
    if len(values) < 2:
        return 0.0
    low, high = np.quantile(values, [0.25, 0.75])
    return float(0.9 * min(deviation(values, weights), float(high - low) / 1.34) * len(values) ** -0.2)


def likeliest_bandwidth(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the bandwidth of maximum leave-one-out likelihood, at most 1.5 deviations.

    Repeated values pull it to 0, which is right for an attribute of few distinct values. Many values are represented by
    evenly spaced quantiles; the bandwidth is then scaled to the number of all values.

    Examples
    --------
    >>> import numpy as np
    >>> round(likeliest_bandwidth(np.random.default_rng(0).normal(size=300)), 1)
    0.3
    """
    spread = deviation(values, weights)
    if spread == 0.0:
        return 0.0
    ordered = np.sort(values)
    if len(ordered) > MAX_VALUES:
        ordered = ordered[np.linspace(0, len(ordered) - 1, MAX_VALUES).round().astype(np.intp)]
    squares = ((ordered[:, None] - ordered) / spread) ** 2
    np.fill_diagonal(squares, np.inf)
    widths = np.geomspace(NARROWEST, WIDEST, N_WIDTHS)
    log_likelihoods = [_log_likelihood(squares, width) for width in widths]
    best = int(np.argmax(log_likelihoods))
    return 0.0 if best == 0 else spread * float(widths[best]) * (len(ordered) / len(values)) ** 0.2


def _log_likelihood(squares: np.ndarray, width: float) -> float:
    """Return the mean leave-one-out log-density, up to a constant, from the squared distances between values."""
    densities = np.exp(squares / (-2.0 * width**2)).sum(axis=1) / width
    return float(np.log(np.maximum(densities, MIN_DENSITY)).mean())


UNITS: dict[str, Callable[[np.ndarray, np.ndarray | None], float]] = {
    "deviation": deviation,
    "rule_of_thumb": rule_of_thumb,
    "likelihood": likeliest_bandwidth,
}
