"""Decomposition of the mean loss of many models at each row: the loss of their mean prediction, and their spread.

Pure functions on arrays of answers. For every loss here the spread does not depend on the target, and
mean loss = loss of the central answer + spread, row by row and exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tremula.diagnostics.significance.intervals import FEWEST_FOR_INTERVALS

# What each correction subtracts from the loss to leave the bias, and what it calls variance: the spread as observed
# among the models, or what it would be in expectation among ever more of them.
CORRECTIONS: dict[str, tuple[str, str]] = {
    "both": ("corrected", "corrected"),
    "weka": ("corrected", "observed"),
    "none": ("observed", "observed"),
}


@dataclass(frozen=True)
class Spread:
    """Mean loss and spread of predictions at each row: of all models, and with each model left out in turn.

    `loss`, `observed` and `corrected` are (n_rows,); the arrays left out are (n_models, n_rows), and hold the value of
    all models where the model did not answer or too few others did.
    """

    loss: np.ndarray
    observed: np.ndarray
    corrected: np.ndarray
    loss_left_out: np.ndarray
    observed_left_out: np.ndarray
    corrected_left_out: np.ndarray


def _mean_without(values: np.ndarray, tested: np.ndarray, mean: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return, for each model, the mean over the other models that predicted the row."""
    others = np.maximum(count - 1, 1)
    return np.asarray(mean + (mean - values) * (tested / others))


def spread_of_squares(answers: np.ndarray, tested: np.ndarray, target: np.ndarray, scale: float) -> Spread:
    """Take the mean of ``scale * |answer - target|**2`` apart; the central answer is the mean.

    Half of it is the zero-one loss where answers and target are classes written as a one among zeros.

    Parameters
    ----------
    answers : array of shape (n_models, n_rows, width)
    tested : bool array of shape (n_models, n_rows)
        Which model answered which row; each row has two answers or more.
    target : array of shape (n_rows, width)
    scale : float

    Examples
    --------
    >>> import numpy as np
    >>> spread = spread_of_squares(np.array([[[1.0]], [[3.0]]]), np.ones((2, 1), bool), np.array([[0.0]]), 1.0)
    >>> spread.loss, spread.observed, spread.corrected
    (array([5.]), array([1.]), array([2.]))
    """
    count = tested.sum(axis=0)
    losses = scale * ((answers - target) ** 2).sum(axis=2) * tested
    loss = losses.sum(axis=0) / count
    mean = (answers * tested[:, :, None]).sum(axis=0) / count[:, None]
    deviations = scale * ((answers - mean) ** 2).sum(axis=2) * tested
    total = deviations.sum(axis=0)
    observed, corrected = total / count, total / (count - 1)
    # Without one of n answers their sum of squared deviations falls by n / (n - 1) times its own.
    remaining = np.maximum(total - deviations * (count / np.maximum(count - 1, 1)), 0.0)
    can_leave_out = tested & (count >= FEWEST_FOR_INTERVALS)
    return Spread(
        loss,
        observed,
        corrected,
        np.where(can_leave_out, _mean_without(losses, tested, loss, count), loss),
        np.where(can_leave_out, remaining / np.maximum(count - 1, 1), observed),
        np.where(can_leave_out, remaining / np.maximum(count - 2, 1), corrected),
    )


def spread_of_logs(answers: np.ndarray, tested: np.ndarray, target: np.ndarray, scale: float) -> Spread:
    """Take the mean of ``-sum(target * log(answer))`` apart; the central answer is the normalised geometric mean.

    The spread is the mean Kullback-Leibler divergence of the answers from that centre (Heskes 1998), which is minus the
    logarithm of what the geometric mean sums to. Its correction is the jackknife's, exact to the first order in one
    over the number of models.
    """
    count = tested.sum(axis=0)
    logs = scale * np.log(np.where(tested[:, :, None], answers, 1.0))
    mean = logs.sum(axis=0) / count[:, None]
    loss = -(target * mean).sum(axis=1)
    observed = _log_shortfall(mean)
    can_leave_out = tested & (count >= FEWEST_FOR_INTERVALS)
    mean_left_out = _mean_without(logs, tested[:, :, None], mean, count[:, None])
    shortfall_left_out = _log_shortfall(mean_left_out)
    corrected = count * observed - (count - 1) * (shortfall_left_out * tested).sum(axis=0) / count
    return Spread(
        loss,
        observed,
        corrected,
        np.where(can_leave_out, -(target * mean_left_out).sum(axis=2), loss),
        np.where(can_leave_out, shortfall_left_out, observed),
        np.where(can_leave_out, shortfall_left_out + (corrected - observed), corrected),
    )


def _log_shortfall(mean_logs: np.ndarray) -> np.ndarray:
    """Return minus the logarithm of the sum of a geometric mean of distributions, which is never negative."""
    highest = mean_logs.max(axis=-1, keepdims=True)
    return np.asarray(np.maximum(-(highest[..., 0] + np.log(np.exp(mean_logs - highest).sum(axis=-1))), 0.0))


SpreadOf = Callable[[np.ndarray, np.ndarray, np.ndarray, float], Spread]


def terms_of(spread: Spread, noise: np.ndarray, in_loss: bool, bias_correction: str) -> dict[str, np.ndarray]:
    """Return error, bias, variance and noise of each row.

    `in_loss` says whether the loss was taken to the observed target, noise and all, or to the truth without it.
    """
    return _terms(spread.loss, spread.observed, spread.corrected, noise, in_loss, bias_correction)


def terms_left_out(spread: Spread, noise: np.ndarray, in_loss: bool, bias_correction: str) -> dict[str, np.ndarray]:
    """Return the same terms with each model left out, each averaged over rows: arrays of shape (n_models,)."""
    parts = spread.loss_left_out, spread.observed_left_out, spread.corrected_left_out
    terms = _terms(*parts, noise, in_loss, bias_correction)
    return {name: np.broadcast_to(values, parts[0].shape).mean(axis=1) for name, values in terms.items()}


def _terms(
    loss: np.ndarray,
    observed: np.ndarray,
    corrected: np.ndarray,
    noise: np.ndarray,
    in_loss: bool,
    bias_correction: str,
) -> dict[str, np.ndarray]:
    spreads = {"observed": observed, "corrected": corrected}
    for_bias, for_variance = CORRECTIONS[bias_correction]
    return {
        "error": loss if in_loss else loss + noise,
        "bias": loss - spreads[for_bias] - (noise if in_loss else 0.0),
        "variance": spreads[for_variance],
        "noise": noise,
    }
