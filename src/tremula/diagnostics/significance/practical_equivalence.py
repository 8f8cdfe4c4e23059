"""Probabilities that one method is better, equal for practical purposes, or worse: the Bayesian correlated t test."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Real

from numpy.typing import ArrayLike
from scipy import stats

from tremula.diagnostics.significance.paired import ratio_of_sizes, read_pairs
from tremula.errors import InvalidParameter


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of what the difference of two methods is; they add up to 1.

    Attributes
    ----------
    better : float
        That the first method has the lower error, by more than the region.
    equal : float
        That the difference is within the region of practical equivalence.
    worse : float
        That the first method has the higher error, by more than the region.
    region : float
        Half the width of the region of practical equivalence, in the units of the errors.

    Examples
    --------
    >>> Probabilities(0.01, 0.06, 0.93, 0.01).worse
    0.93
    """

    better: float
    equal: float
    worse: float
    region: float


def correlated_t_probabilities(
    a: ArrayLike, b: ArrayLike, *, n_train: ArrayLike, n_test: ArrayLike, region: float
) -> Probabilities:
    """Return the probabilities that method a is better than b, equal for practical purposes, or worse.

    Corani and Benavoli (2015): without prior knowledge, the mean difference given the errors of the splits has
    Student's t distribution, with the variance of Nadeau and Bengio.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors of the two methods on the same splits, lower is better.
    n_train, n_test : float or array-like of shape (n_splits,)
        Number of training and test rows.
    region : float
        Differences up to this size do not matter in practice; 0 for none.

    Returns
    -------
    Probabilities

    Examples
    --------
    >>> a, b = [0.30, 0.25, 0.28, 0.31], [0.27, 0.23, 0.27, 0.25]
    >>> probabilities = correlated_t_probabilities(a, b, n_train=75, n_test=25, region=0.01)
    >>> round(probabilities.worse, 3), round(probabilities.equal, 3)
    (0.844, 0.109)
    """
    if not isinstance(region, Real) or not 0 <= region <= sys.float_info.max:
        raise InvalidParameter(f"region={region!r} was given; expected a number of 0 or more, such as 0.01 for a point")
    differences = read_pairs(a, b)
    mean, n_splits = float(differences.mean()), len(differences)
    variance = float(differences.var(ddof=1)) * (1 / n_splits + ratio_of_sizes(n_train, n_test, n_splits))
    if variance == 0:
        better, worse = float(mean < -region), float(mean > region)
    else:
        better = float(stats.t.cdf((-region - mean) / math.sqrt(variance), n_splits - 1))
        worse = float(stats.t.sf((region - mean) / math.sqrt(variance), n_splits - 1))
    return Probabilities(better, max(1 - better - worse, 0.0), worse, float(region))
