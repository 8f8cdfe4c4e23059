"""Scores out-of-bag predictions by any scorer or metric of scikit-learn.

A scorer asks an estimator for predictions. It is given one that answers with the out-of-bag predictions of the rows
asked for, so that scorers of probabilities work as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from tremula.errors import InvalidParameter
from tremula.prediction import by_target, labels_of


class OutOfBagClassifier(ClassifierMixin, BaseEstimator):
    """Answers with known class probabilities of rows, which are given by their numbers."""

    def __init__(self, classes: Any, shares: NDArray[np.float64]) -> None:
        self.classes = self.classes_ = classes
        self.shares = shares

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        """Class of each row."""
        return labels_of(self.classes_, self.shares[X])

    def predict_proba(self, X: NDArray[np.intp]) -> Any:
        """Class probabilities of each row."""
        return by_target(self.classes_, self.shares[X])


class OutOfBagRegressor(RegressorMixin, BaseEstimator):
    """Answers with known numbers of rows, which are given by their numbers."""

    def __init__(self, predictions: NDArray[np.float64]) -> None:
        self.predictions = predictions

    def predict(self, X: NDArray[np.intp]) -> NDArray[np.float64]:
        """Prediction of each row."""
        return self.predictions[X]


def stack_targets(shares: Any) -> NDArray[np.float64]:
    """Return class probabilities of several targets as one array (n_rows, n_classes, n_targets), as scikit-learn does.

    Classes that a target does not have are 0. Probabilities of one target are returned as they are.

    Examples
    --------
    >>> stack_targets([np.array([[0.2, 0.8]]), np.array([[0.5, 0.3, 0.2]])])
    array([[[0.2, 0.5],
            [0.8, 0.3],
            [0. , 0.2]]])
    """
    if not isinstance(shares, list):
        return np.asarray(shares)
    stacked = np.zeros((len(shares[0]), max(each.shape[1] for each in shares), len(shares)))
    for number, each in enumerate(shares):
        stacked[:, : each.shape[1], number] = each
    return stacked


def score_rows(scoring: Any, answers: Any, rows: NDArray[np.intp], target: NDArray[Any]) -> float:
    """Score the answers for rows.

    Parameters
    ----------
    scoring : str or callable
        Name of a scorer, a scorer ``(estimator, X, y)``, or a metric ``(y_true, y_pred)``.
    answers : OutOfBagClassifier or OutOfBagRegressor
    rows : int array (n_scored,)
        Numbers of the rows to score.
    target : array (n_rows,)
        Class labels or numbers of all rows.

    Examples
    --------
    >>> answers = OutOfBagRegressor(np.array([1.0, 2.0, 4.0]))
    >>> float(score_rows("neg_mean_absolute_error", answers, np.array([0, 2]), np.array([1.0, 0.0, 3.0])))
    -0.5
    """
    if isinstance(scoring, str) or is_scorer(scoring):
        from sklearn.metrics import get_scorer

        score = get_scorer(scoring)(answers, rows, target[rows])
    else:
        score = scoring(target[rows], answers.predict(rows))
    if np.ndim(score) != 0 or not np.issubdtype(np.asarray(score).dtype, np.number):
        raise InvalidParameter(f"oob_score={scoring!r} gives {score!r}, expected one number")
    return float(score)


def is_scorer(scoring: Callable[..., Any]) -> bool:
    """Whether a callable takes an estimator, rows and targets, as scikit-learn's scorers do.

    Examples
    --------
    >>> from sklearn.metrics import accuracy_score, get_scorer
    >>> is_scorer(get_scorer("accuracy")), is_scorer(accuracy_score)
    (True, False)
    """
    try:
        parameters = inspect.signature(scoring).parameters.values()
    except ValueError:  # some compiled functions
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([each for each in parameters if each.kind in positional and each.default is each.empty]) == 3
