"""Skillings and Mack's test: Friedman's for tables in which some methods have no error on some datasets."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tremula.diagnostics.significance.paired import Floats
from tremula.errors import InvalidInput


def skillings_mack_test(errors: Floats) -> tuple[float, float]:
    """Return the statistic of Skillings and Mack (1981), and its p-value by chi-square.

    A dataset counts with the methods that it has; one with fewer than two says nothing. Without missing errors and ties
    the statistic is Friedman's. Ties share their mean rank, which makes the test find less.

    Parameters
    ----------
    errors : array of shape (n_datasets, n_methods)
        NaN where a method failed.

    Examples
    --------
    >>> errors = np.array([[0.2, 0.1, 0.3], [0.2, 0.1, np.nan], [0.4, 0.3, 0.5], [np.nan, 0.1, 0.2], [0.3, 0.2, 0.4]])
    >>> statistic, p_value = skillings_mack_test(errors)
    >>> round(statistic, 2), round(p_value, 3)
    (7.82, 0.02)
    """
    try:
        errors = np.asarray(errors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"errors is {type(errors).__name__} without numbers: give datasets in rows") from error
    if errors.ndim != 2:
        raise InvalidInput(f"errors has {errors.ndim} dimensions: give a table, datasets in rows, methods in columns")
    known = np.isfinite(errors)
    known &= known.sum(axis=1, keepdims=True) > 1
    shared = known.T.astype(float) @ known
    if not _is_connected(shared):
        raise InvalidInput(
            "some methods share no dataset with the others, not even through a third: leave them out, or run them again"
        )
    sums = np.zeros(errors.shape[1])
    for row, having in zip(errors, known):
        size = int(having.sum())
        sums[having] += np.sqrt(12 / (size + 1)) * (stats.rankdata(row[having]) - (size + 1) / 2)
    np.fill_diagonal(shared, 0)
    covariance = np.diag(shared.sum(axis=1)) - shared
    statistic = float(sums @ np.linalg.pinv(covariance) @ sums)
    return statistic, float(stats.chi2.sf(statistic, errors.shape[1] - 1))


def _is_connected(shared: Floats) -> bool:
    """Whether each method is reached from the first through shared datasets."""
    reached = np.arange(len(shared)) == 0
    for _ in shared:
        reached |= (shared[reached] > 0).any(axis=0)
    return bool(reached.all())
