"""Losses of a decomposition: the predictions they need, the target they compare with, and the noise.

Without the truth the target is what was observed, and what noise is not told stays in the bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor

from tremula.data.take import take_rows
from tremula.diagnostics.decomposition.retraining import (
    Ask,
    Task,
    ask_labels,
    ask_numbers,
    ask_probabilities,
    check_probabilities,
)
from tremula.diagnostics.decomposition.terms import SpreadOf, spread_of_logs, spread_of_squares
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_choice, check_number

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Loss:
    """One loss: the predictions it needs, the decomposition of its mean, and the noise of known probabilities."""

    ask: Ask
    spread_of: SpreadOf
    scale: Callable[[int], float]
    noise_of: Callable[[np.ndarray], np.ndarray] | None = None
    needs_probabilities: bool = False


def _impurity(probabilities: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - (probabilities**2).sum(axis=1))


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    return np.asarray(-(probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))).sum(axis=1))


LOSSES: dict[str, Loss] = {
    "error": Loss(ask_labels, spread_of_squares, lambda n_classes: 0.5, _impurity),
    "class_probability": Loss(ask_probabilities, spread_of_squares, lambda n_classes: 1 / n_classes, _impurity, True),
    "squared_error": Loss(ask_numbers, spread_of_squares, lambda width: 1.0),
    "log_loss": Loss(ask_probabilities, spread_of_logs, lambda n_classes: 1.0, _entropy, True),
}


def choose_loss(estimator: Any, loss: str) -> str:
    """Return the name of the loss, with "auto" resolved; raise an error if the estimator cannot have this loss."""
    check_choice("loss", loss, ["auto", *LOSSES])
    chosen = ("squared_error" if is_regressor(estimator) else "error") if loss == "auto" else loss
    if chosen == "squared_error" and is_classifier(estimator):
        raise InvalidParameter(
            f"loss='squared_error' is for numbers, but {type(estimator).__name__} is a classifier: take 'error', "
            "'class_probability' or 'log_loss'"
        )
    if chosen != "squared_error" and is_regressor(estimator):
        raise InvalidParameter(
            f"loss={chosen!r} is for classes, but {type(estimator).__name__} is a regressor: take 'squared_error'"
        )
    if LOSSES[chosen].needs_probabilities:
        check_probabilities(estimator, f"loss={chosen!r}")
    return chosen


def observed_target(task: Task, rows: np.ndarray) -> np.ndarray:
    """Return the target of some rows in the form of predictions: one-hot encoded, or a number."""
    if task.classes is None:
        return np.asarray(task.target[rows][:, None])
    return np.asarray(np.eye(len(task.classes))[task.target[rows]])


@dataclass(frozen=True)
class Truth:
    """Target of the test rows, (n_test, width), noise of each row, and whether the target contains that noise."""

    target: np.ndarray
    noise: np.ndarray
    in_loss: bool


def read_truth(loss: str, task: Task, rows: np.ndarray, truth: Any, noise: Any, generated: bool) -> Truth:
    """Return the true target, the amount of noise, or neither, as far as they are known."""
    observed = observed_target(task, rows)
    if truth is None:
        return Truth(observed, np.full(len(rows), _amount_of_noise(loss, task, noise)), True)
    target = _true_target(task, rows, truth, generated)
    if task.classes is None:
        if noise is None:
            return Truth(target, ((observed - target) ** 2)[:, 0], False)
        return Truth(target, np.full(len(rows), _amount_of_noise(loss, task, noise)), False)
    if noise is not None:
        raise InvalidParameter(
            f"truth and noise={noise!r} were both given, but class probabilities tell the noise: leave noise out"
        )
    noise_of = LOSSES[loss].noise_of
    assert noise_of is not None
    return Truth(target, LOSSES[loss].scale(task.width) * noise_of(target), False)


def _read_truth(given: Any) -> np.ndarray:
    try:
        known = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"truth is {type(given).__name__} without numbers: give numbers for each row") from error
    if known.ndim == 0:
        raise InvalidInput(f"truth is the number {known}: give numbers for each row")
    return known


def _true_target(task: Task, rows: np.ndarray, truth: Any, generated: bool) -> np.ndarray:
    """Return the true means, or class probabilities, of the test rows."""
    if callable(truth):
        known = _read_truth(truth(take_rows(task.X, rows)))
    elif generated:
        raise InvalidParameter("truth must be a function of X where X is a generator: its rows are not known before")
    else:
        known = _read_truth(truth)
        if len(known) != len(task.target):
            raise InvalidInput(f"truth has {len(known)} rows, but X has {len(task.target)}: give one for each row of X")
        known = known[rows]
    known = known.reshape(len(known), -1)
    if known.shape != (len(rows), task.width):
        wanted = (
            "one number" if task.classes is None else f"probabilities of the {task.width} classes, in sorted order,"
        )
        raise InvalidInput(
            f"truth gives {known.shape[1]} numbers for each of {len(known)} rows; expected {wanted} for each of the "
            f"{len(rows)} rows it is asked for"
        )
    if not np.isfinite(known).all():
        raise InvalidInput("truth holds a number that is missing or infinite: give finite ones")
    if task.classes is not None and (known.min() < 0 or np.abs(known.sum(axis=1) - 1).max() > SUM_TOLERANCE):
        raise InvalidInput("truth holds class probabilities that are negative or do not sum to 1")
    return known


def _amount_of_noise(loss: str, task: Task, noise: Any) -> float:
    if noise is None:
        return 0.0
    if isinstance(noise, str):
        check_choice("noise", noise, ["replicates"])
        return noise_of_replicates(loss, task)
    check_number("noise", noise, 0.0)
    return float(noise)


def noise_of_replicates(loss: str, task: Task) -> float:
    """Estimate the noise from rows that have the same attributes: the variance of the target within them, pooled."""
    if loss == "log_loss":
        raise InvalidParameter(
            "noise='replicates' is for squares; with loss='log_loss' give the noise as a number, or truth"
        )
    target = observed_target(task, np.arange(len(task.target)))
    groups = _groups_of_equal_rows(task.X)
    counts = np.bincount(groups)
    n_to_spare = len(target) - len(counts)
    if n_to_spare == 0:
        raise InvalidInput(
            "noise='replicates' was given, but no two rows of X are the same: give the noise as a number, or truth"
        )
    means = np.stack([np.bincount(groups, column) / counts for column in target.T], axis=1)
    return float(LOSSES[loss].scale(task.width) * ((target - means[groups]) ** 2).sum() / n_to_spare)


def _groups_of_equal_rows(X: Any) -> np.ndarray:
    """Return a group number for each row, the same for rows that hold the same values."""
    frame = nw.from_native(X.toarray() if hasattr(X, "toarray") else X, eager_only=True, pass_through=True)
    rows = frame.iter_rows() if isinstance(frame, nw.DataFrame) else map(tuple, np.asarray(frame).tolist())
    numbers: dict[tuple[Any, ...], int] = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows])
