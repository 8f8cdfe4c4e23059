"""Weighs families by what they say of rows they have not seen: weights are 0 or more and sum to 1.

Every weight is drawn towards an even one as if by a few rows more, so that little data chooses little.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar, nnls
from scipy.special import softmax

from tremula.losses import log_losses, log_probabilities

N_STEPS = 200
ROWS_FOR_EVEN = 10.0  # rows that each family gets for nothing
SHARE_FOR_EVEN = 0.02  # and the share of all rows that is spread evenly, for classes
LEAST_LIKELIHOOD = 1e-12  # added to each, for rows that no family explains
LEAST_WEIGHT = 1e-100  # next to nothing, yet stages of the answers may begin with a family of this weight
POWERS = (0.5, 5.0)
ROWS_FOR_POWER = 3.0  # rows that want a power of 1


def class_weights(answers: np.ndarray, codes: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """Weigh families by the log loss of their mixture.

    Each step of the EM algorithm gives a family the share of the rows that it explains; the loss is convex, so the
    weights are the best there are.

    Parameters
    ----------
    answers : array (n_families, n_rows, n_classes)
    codes : array (n_rows,)
        Classes of the rows.
    row_weights : array (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> good, bad = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> answers = np.repeat(np.array([good, bad]), 500, axis=1)
    >>> class_weights(answers, np.repeat([0, 1], 500), np.ones(1000)).round(2)
    array([0.96, 0.04])
    """
    likelihoods = answers[:, np.arange(len(codes)), codes].T + LEAST_LIKELIHOOD
    n_families = likelihoods.shape[1]
    row_weights = row_weights * (len(row_weights) / row_weights.sum())
    for_nothing = ROWS_FOR_EVEN + SHARE_FOR_EVEN * len(codes) / n_families
    weights = np.full(n_families, 1.0 / n_families)
    for _ in range(N_STEPS):
        explained = weights * likelihoods
        explained *= (row_weights / explained.sum(axis=1))[:, None]
        weights = explained.sum(axis=0) + for_nothing
        weights /= weights.sum()
    return weights


def number_weights(answers: np.ndarray, target: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """Weigh families by the squared error of their weighted mean; evenly where errors are too large for numbers.

    Parameters
    ----------
    answers : array (n_families, n_rows, 1)
    target, row_weights : arrays (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> target = np.linspace(0.0, 1.0, 1000)
    >>> answers = np.stack([target + 0.1, np.full(1000, 0.5)])[:, :, None]
    >>> number_weights(answers, target, np.ones(1000)).round(2)
    array([0.89, 0.11])
    """
    roots = np.sqrt(row_weights * (len(row_weights) / row_weights.sum()))
    errors = (answers[:, :, 0] - target) * roots
    n_families = len(errors)
    # Least squares of the errors themselves, with weights that sum to 1 by a row of great weight.
    products = _products(errors)
    if not np.isfinite(products).all():
        return np.full(n_families, 1.0 / n_families)
    mean = np.trace(products) / n_families
    products = products / (mean or 1.0) + ROWS_FOR_EVEN / len(target) * np.eye(n_families)
    factor = np.linalg.cholesky(products).T
    heavy = 1e3
    solution, _ = nnls(np.vstack([factor, np.full(n_families, heavy)]), np.append(np.zeros(n_families), heavy))
    return np.maximum(solution / solution.sum(), LEAST_WEIGHT)


def _products(errors: np.ndarray) -> np.ndarray:
    """Multiply the errors of all families; in units of the largest where their products are too large for numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = errors @ errors.T
        if np.isfinite(products).all() and np.isfinite(np.trace(products)):
            return products
        scaled = errors / np.abs(errors).max()
        return scaled @ scaled.T


def find_power(shares: np.ndarray, codes: np.ndarray, row_weights: np.ndarray) -> float:
    """Find the power of class shares with the least log loss: above 1 they are made surer, below less sure.

    Examples
    --------
    >>> import numpy as np
    >>> find_power(np.tile([0.6, 0.4], (1000, 1)), np.repeat([0, 0, 0, 0, 1], 200), np.ones(1000)) > 2
    True
    """
    margins, tameness = log_probabilities(shares), ROWS_FOR_POWER / len(codes)

    def loss(power: float) -> float:
        losses = log_losses(codes, softmax(power * margins, axis=1))
        return float(np.average(losses, weights=row_weights)) + tameness * np.log(power) ** 2

    return float(minimize_scalar(loss, bounds=POWERS, method="bounded", options={"xatol": 1e-2}).x)
