"""In what the noise on an attribute is measured: its standard deviation, or the bandwidth of a kernel density.

A unit is a number of 0 or more for each column of values; a column that never varies has unit 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

N_WIDTHS = 24  # bandwidths tried
NARROWEST, WIDEST = 0.005, 1.5  # the first and last of them, in standard deviations
MOST_VALUES = 400  # beyond, so many stand for all
LEAST_LIKELIHOOD = 1e-300


def deviation(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the (sample) standard deviation of numbers, which may have weights.

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
    """Return Silverman's bandwidth: 0.9 times the lesser of the deviation and the interquartile range / 1.34.

    It is 0 where half of the values are the same, as with counts that are mostly 0.

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
    """Return the bandwidth under which every value is likeliest given all others, up to 1.5 deviations.

    Values that recur draw it to 0, which is right for an attribute of few distinct values. Of many values some stand
    for all, evenly spread over their order, and the bandwidth is scaled to the number of all.

    Examples
    --------
    >>> import numpy as np
    >>> round(likeliest_bandwidth(np.random.default_rng(0).normal(size=300)), 1)
    0.3
    """
    spread = deviation(values, weights)
    if spread == 0.0:
        return 0.0
    chosen = np.sort(values)
    if len(chosen) > MOST_VALUES:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MOST_VALUES).round().astype(np.intp)]
    squares = ((chosen[:, None] - chosen) / spread) ** 2
    np.fill_diagonal(squares, np.inf)
    widths = np.geomspace(NARROWEST, WIDEST, N_WIDTHS)
    worths = [_log_likelihood(squares, width) for width in widths]
    best = int(np.argmax(worths))
    return 0.0 if best == 0 else spread * float(widths[best]) * (len(chosen) / len(values)) ** 0.2


def _log_likelihood(squares: np.ndarray, width: float) -> float:
    """Return the mean log-density of values, each under a kernel on every other, up to a constant."""
    densities = np.exp(squares / (-2.0 * width**2)).sum(axis=1) / width
    return float(np.log(np.maximum(densities, LEAST_LIKELIHOOD)).mean())


UNITS: dict[str, Callable[[np.ndarray, np.ndarray | None], float]] = {
    "deviation": deviation,
    "rule_of_thumb": rule_of_thumb,
    "likelihood": likeliest_bandwidth,
}
