"""Multiple comparisons with the best: which methods may have the lowest error, and which are worse.

A method is worse if its difference from the leader is larger than the largest difference from any other method would be
by chance, were this method itself the best. The best method is so called worse with at most the level of the test.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import stats

from tremula.diagnostics.significance.paired import ROUNDING, Floats

N_DRAWS = 20_000  # a p-value of 0.05 has a standard error of 0.0015
LEAST_SHARE = 0.002  # smaller shares of draws are too uncertain; Bonferroni's bound takes over


def p_values_with_the_best(errors: Floats, ratio: float) -> Floats:
    """Return a p-value of each method but the leader, in the order of the methods, NaN for the leader.

    The procedure is that of Edwards and Hsu (1983), two-sided, so that with two methods it is the corrected t test. The
    variance of a difference of means is that of Nadeau and Bengio. The statistics of a method against all others are
    jointly Student's t, with the correlations seen; their probability is simulated, with the same draws for each call.

    Parameters
    ----------
    errors : array of shape (n_methods, n_splits)
        Lower is better.
    ratio : float
        Test rows to training rows; the mean over the splits.

    Examples
    --------
    >>> errors = np.array([[0.1, 0.2, 0.1, 0.2], [0.1, 0.2, 0.2, 0.2], [0.5, 0.4, 0.5, 0.7]])
    >>> p_values_with_the_best(errors, 1 / 3).round(1).tolist()
    [nan, 0.8, 0.0]
    """
    leader = int(np.argmin(errors.mean(axis=1)))
    p_values = np.full(len(errors), np.nan)
    for method in range(len(errors)):
        if method != leader:
            p_values[method] = _p_value(errors, method, leader, ratio)
    return p_values


def _p_value(errors: Floats, method: int, leader: int, ratio: float) -> float:
    """Return the probability that some difference of a best method from the others is as large as that seen."""
    n_splits = errors.shape[1]
    differences = errors[method] - errors
    differences[np.abs(differences) <= ROUNDING * np.abs(errors).max()] = 0.0
    varying = np.ptp(differences, axis=1) > ROUNDING * np.abs(errors).max()
    if not varying[leader]:
        return float(not differences[leader].any())
    seen = differences[leader]
    statistic = float(seen.mean() / (seen.std(ddof=1) * np.sqrt(1 / n_splits + ratio)))
    correlations = np.atleast_2d(np.corrcoef(differences[varying]))
    return _beyond(abs(statistic), correlations, n_splits - 1)


def _beyond(statistic: float, correlations: Floats, freedom: int) -> float:
    """Return the probability that the largest of several absolute t is at least the statistic."""
    alone = float(2 * stats.t.sf(statistic, freedom))
    together = min(alone * len(correlations), 1.0)  # Bonferroni's bound
    if len(correlations) == 1:
        return alone
    values, vectors = np.linalg.eigh(correlations)
    normal, scale = _draws(len(correlations), freedom)
    largest = np.abs(normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T).max(axis=1) / scale
    share = float((largest >= statistic).mean())
    return float(np.clip(max(share, LEAST_SHARE), alone, together))


@lru_cache(maxsize=16)
def _draws(n_statistics: int, freedom: int) -> tuple[Floats, Floats]:
    """Return independent normal numbers, and the common scale that makes them Student's t."""
    generator = np.random.default_rng(0)
    normal = generator.standard_normal((N_DRAWS, n_statistics))
    return normal, np.sqrt(generator.chisquare(freedom, N_DRAWS) / freedom)
