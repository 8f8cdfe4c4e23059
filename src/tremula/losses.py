"""Losses of single rows: what is wrong with each prediction. Less is always better, 0 is perfect.

A class code is the column of the row's class among the predicted probabilities; -1 is a class without a column, which
has probability 0. No logarithm is taken of less than `MIN_PROBABILITY`, so that one row cannot make a mean infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The rounding error of a float64, about 2.2e-16, as in scikit-learn's log_loss: no row loses more than 36.04.
MIN_PROBABILITY = float(np.finfo(np.float64).eps)


def log_probabilities(probabilities: NDArray[Any]) -> Floats:
    """Logarithms of probabilities, none below that of `MIN_PROBABILITY` or above 0.

    Examples
    --------
    >>> log_probabilities(np.array([1.0, 0.0])).round(2)
    array([  0.  , -36.04])
    """
    return np.asarray(np.log(np.clip(probabilities, MIN_PROBABILITY, 1.0)))


def log_losses(codes: NDArray[Any], probabilities: NDArray[Any]) -> Floats:
    """Log loss of each row.

    Parameters
    ----------
    codes : int array (n_rows,)
        Class codes; -1 for a class without a column.
    probabilities : float array (n_rows, n_classes)

    Examples
    --------
    >>> log_losses(np.array([0, 1, -1]), np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])).round(2)
    array([ 0.69, 36.04, 36.04])
    """
    return -log_probabilities(np.where(codes >= 0, probabilities[np.arange(len(codes)), codes], 0.0))


def brier_losses(codes: NDArray[Any], probabilities: NDArray[Any]) -> Floats:
    """Squared distance of the predicted distribution to the true class, from 0 to 2.

    Parameters
    ----------
    codes, probabilities : as for `log_losses`

    Examples
    --------
    >>> brier_losses(np.array([0, 1, -1]), np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]))
    array([0.5, 2. , 1.5])
    """
    has_column = codes >= 0
    truth = np.eye(probabilities.shape[1])[codes] * has_column[:, None]
    return np.asarray(((probabilities - truth) ** 2).sum(axis=1) + ~has_column)


def zero_one_losses(target: NDArray[Any], predictions: NDArray[Any]) -> Floats:
    """1 where the predicted class is wrong.

    Examples
    --------
    >>> zero_one_losses(np.array(["a", "b"]), np.array(["a", "a"]))
    array([0., 1.])
    """
    return np.asarray(predictions != target, dtype=np.float64)


def squared_errors(target: NDArray[Any], predictions: NDArray[Any]) -> Floats:
    """Squared difference of each predicted number to the true one.

    Examples
    --------
    >>> squared_errors(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array([0., 4.])
    """
    return np.asarray((predictions - target) ** 2, dtype=np.float64)


def absolute_errors(target: NDArray[Any], predictions: NDArray[Any]) -> Floats:
    """Absolute difference of each predicted number to the true one.

    Examples
    --------
    >>> absolute_errors(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array([0., 2.])
    """
    return np.asarray(np.abs(predictions - target), dtype=np.float64)
