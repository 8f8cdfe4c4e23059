"""Coverage and size of the intervals, or sets of classes, that a trained ensemble gives for test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.folds import Split

COVERAGE = 0.9


def score_uncertainty(model: Any, X: NDArray[Any], y: NDArray[Any], split: Split, task: str) -> dict[str, float]:
    """Return the coverage and the mean size of 90 % intervals or sets.

    Parameters
    ----------
    model : estimator
        Fitted to the training rows of the split.
    X, y : arrays
        All rows and targets.
    split : pair of int arrays
        Training and test rows.
    task : {"classification", "regression"}

    Returns
    -------
    dict
        ``coverage`` (a share), and ``width`` of intervals or ``set_size``. Empty for a model whose members leave no
        rows out, and for too few rows to calibrate on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> split = np.arange(0, 150, 2), np.arange(1, 150, 2)
    >>> model = tm.RandomForestClassifier(random_state=0).fit(X[split[0]], y[split[0]])
    >>> scores = score_uncertainty(model, X, y, split, "classification")
    >>> {name: round(score, 2) for name, score in scores.items()}
    {'coverage': 0.88, 'set_size': 0.88}
    """
    train, test = split
    try:
        uncertainty = tm.Uncertainty(model, X[train], y[train])
    except UnsupportedModel:
        return {}
    try:
        if task == "classification":
            return _score_sets(uncertainty.predict_set(X[test], COVERAGE), np.asarray(model.classes_), y[test])
        return _score_intervals(uncertainty.predict_interval(X[test], COVERAGE), y[test])
    except InvalidParameter:  # too few rows for this coverage
        return {}


def _score_intervals(intervals: NDArray[np.float64], truth: NDArray[Any]) -> dict[str, float]:
    low, high = intervals.T
    return {"coverage": float(np.mean((low <= truth) & (truth <= high))), "width": float(np.mean(high - low))}


def _score_sets(sets: NDArray[np.bool_], classes: NDArray[Any], truth: NDArray[Any]) -> dict[str, float]:
    is_true = truth[:, None] == classes  # no class of a row whose class has no training row
    return {"coverage": float((sets & is_true).any(axis=1).mean()), "set_size": float(sets.sum(axis=1).mean())}
