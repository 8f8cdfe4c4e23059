"""Calibration of probabilities: whether predictions with confidence 0.8 are correct in 80 of 100 rows.

A test set is reduced to three sums for each bin of confidence, so that sums over folds are exact and no probabilities
need be stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

N_BINS = 10
COUNTED = ("rows", "confidence", "right")
COLUMN = "calibration {bin} {counted}"


def count_answers(truth: np.ndarray, probabilities: np.ndarray, n_bins: int = N_BINS) -> dict[str, float]:
    """Count rows and correct predictions by the confidence of the predicted class.

    Parameters
    ----------
    truth : array of int (n_rows,)
        Codes of the true classes, as columns of the probabilities; -1 for a class without a column.
    probabilities : array of shape (n_rows, n_classes)
    n_bins : int, default=10
        Bins of equal width between 0 and 1.

    Returns
    -------
    dict of str to float
        Named numbers for `Outcome.values`, without empty bins.

    Examples
    --------
    >>> count_answers(np.array([0, 1]), np.array([[0.75, 0.25], [0.75, 0.25]]))
    {'calibration 7 rows': 2.0, 'calibration 7 confidence': 1.5, 'calibration 7 right': 1.0}
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    counts = {}
    for number in np.unique(bins):
        inside = bins == number
        sums = (inside.sum(), confidence[inside].sum(), right[inside].sum())
        for counted, value in zip(COUNTED, sums):
            counts[COLUMN.format(bin=number, counted=counted)] = float(value)
    return counts


def reliability(folds: Iterable[Mapping[str, float]], n_bins: int = N_BINS) -> dict[str, Any]:
    """Add the counts of several test sets, and compare confidence with accuracy in each bin.

    Parameters
    ----------
    folds : iterable of mappings
        Return values of `count_answers`, possibly with other numbers.
    n_bins : int, default=10
        As given to `count_answers`.

    Returns
    -------
    dict
        ``rows``, ``bins`` (each with ``low``, ``high``, ``predicted``, ``observed``, ``rows``), and
        ``expected_error``: the mean distance between confidence and accuracy over rows, None without rows.

    Examples
    --------
    >>> calibration = reliability([count_answers(np.array([0, 1]), np.array([[0.75, 0.25], [0.75, 0.25]]))])
    >>> calibration["bins"], calibration["expected_error"]
    ([{'low': 0.7, 'high': 0.8, 'predicted': 0.75, 'observed': 0.5, 'rows': 2}], 0.25)
    """
    counts = list(folds)
    bins = []
    for number in range(n_bins):
        names = [COLUMN.format(bin=number, counted=counted) for counted in COUNTED]
        rows, confidence, right = (sum(fold.get(name, 0.0) for fold in counts) for name in names)
        if rows:
            ends = {"low": number / n_bins, "high": (number + 1) / n_bins}
            bins.append({**ends, "predicted": confidence / rows, "observed": right / rows, "rows": int(rows)})
    total = sum(row["rows"] for row in bins)
    distance = sum(row["rows"] * abs(row["predicted"] - row["observed"]) for row in bins)
    return {"rows": total, "bins": bins, "expected_error": distance / total if total else None}
