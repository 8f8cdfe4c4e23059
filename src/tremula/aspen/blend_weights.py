"""Weights of families in the blend, from their out-of-bag predictions: not negative, with a sum of 1.

Weights are shrunk towards equal ones as if by a few more rows, so that little data changes them little.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar, nnls

from tremula._kernels.row_sums import add_explained
from tremula.aspen.softmax import row_maxima
from tremula.losses import MIN_PROBABILITY, log_probabilities

N_STEPS = 200
ROWS_FOR_EVEN = 10.0  # pseudo-rows in favour of each family
SHARE_FOR_EVEN = 0.02  # for classes, this share of all rows as well
LEAST_LIKELIHOOD = 1e-12  # added to each likelihood: some row may have none in any family
LEAST_WEIGHT = 1e-100  # not 0: staged predictions may begin with a family of this weight
POWERS = (0.5, 5.0)
ROWS_FOR_POWER = 3.0  # pseudo-rows in favour of a power of 1
LARGEST_LOG_LOSS = -np.log(MIN_PROBABILITY)  # of one row


def class_weights(predictions: np.ndarray, codes: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """Weigh families by the log loss of their mixture.

    Each step of the EM algorithm gives a family the share of the rows that it explains. The loss is convex, so the
    steps converge to the best weights.

    Parameters
    ----------
    predictions : array (n_families, n_rows, n_classes)
    codes : array (n_rows,)
        Classes of the rows.
    row_weights : array (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> good, bad = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> predictions = np.repeat(np.array([good, bad]), 500, axis=1)
    >>> class_weights(predictions, np.repeat([0, 1], 500), np.ones(1000)).round(2)
    array([0.96, 0.04])
    """
    likelihoods = np.ascontiguousarray(predictions[:, np.arange(len(codes)), codes].T + LEAST_LIKELIHOOD)
    n_families = likelihoods.shape[1]
    row_weights = row_weights * (len(row_weights) / row_weights.sum())
    pseudo_rows = ROWS_FOR_EVEN + SHARE_FOR_EVEN * len(codes) / n_families
    weights = np.full(n_families, 1.0 / n_families)
    for _ in range(N_STEPS):
        explained = np.zeros(n_families)
        add_explained(likelihoods, row_weights, weights, explained)
        weights = explained + pseudo_rows
        weights /= weights.sum()
    return weights


def number_weights(predictions: np.ndarray, target: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """Weigh families by the squared error of their weighted mean; equally where squares of errors overflow.

    Parameters
    ----------
    predictions : array (n_families, n_rows, 1)
    target, row_weights : arrays (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> target = np.linspace(0.0, 1.0, 1000)
    >>> predictions = np.stack([target + 0.1, np.full(1000, 0.5)])[:, :, None]
    >>> number_weights(predictions, target, np.ones(1000)).round(2)
    array([0.89, 0.11])
    """
    roots = np.sqrt(row_weights * (len(row_weights) / row_weights.sum()))
    errors = (predictions[:, :, 0] - target) * roots
    n_families = len(errors)
    # Least squares of the errors; a row of large weight makes the weights sum to 1.
    products = _products(errors)
    if not np.isfinite(products).all():
        return np.full(n_families, 1.0 / n_families)
    mean = np.trace(products) / n_families
    products = products / (mean or 1.0) + ROWS_FOR_EVEN / len(target) * np.eye(n_families)
    factor = np.linalg.cholesky(products).T
    heavy = 1e3
    solution, _ = nnls(np.vstack([factor, np.full(n_families, heavy)]), np.append(np.zeros(n_families), heavy))
    return np.asarray(np.maximum(solution / solution.sum(), LEAST_WEIGHT))


def _products(errors: np.ndarray) -> np.ndarray:
    """Multiply the errors of all pairs of families; in units of the largest error where the products overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = errors @ errors.T
        if np.isfinite(products).all() and np.isfinite(np.trace(products)):
            return np.asarray(products)
        scaled = errors / np.abs(errors).max()
        return np.asarray(scaled @ scaled.T)


def find_power(probabilities: np.ndarray, codes: np.ndarray, row_weights: np.ndarray) -> float:
    """Find the power of class probabilities with the least log loss: above 1 they get more confident, below 1 less.

    Examples
    --------
    >>> import numpy as np
    >>> find_power(np.tile([0.6, 0.4], (1000, 1)), np.repeat([0, 0, 0, 0, 1], 200), np.ones(1000)) > 2
    True
    """
    margins, penalty = log_probabilities(probabilities), ROWS_FOR_POWER / len(codes)
    margins -= row_maxima(margins)
    own, terms = margins[np.arange(len(codes)), codes], np.empty_like(margins)

    def loss(power: float) -> float:
        np.exp(np.multiply(margins, power, out=terms), out=terms)
        losses = np.minimum(np.log(terms.sum(axis=1)) - power * own, LARGEST_LOG_LOSS)
        return float(np.average(losses, weights=row_weights) + penalty * np.log(power) ** 2)

    return float(minimize_scalar(loss, bounds=POWERS, method="bounded", options={"xatol": 1e-2}).x)
