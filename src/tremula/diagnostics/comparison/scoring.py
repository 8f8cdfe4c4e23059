"""Losses of single rows, or a scikit-learn scorer on a split. Lower is always better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer_names

from tremula.errors import InvalidInput, InvalidParameter, did_you_mean
from tremula.losses import absolute_errors, brier_losses, log_losses, squared_errors, zero_one_losses

Floats = NDArray[np.float64]


# The truth of "log_loss" and "brier" is the number of the class among the columns of the probabilities.
OF_PREDICTIONS: dict[str, Callable[[NDArray[Any], NDArray[Any]], Floats]] = {
    "error": zero_one_losses,
    "squared_error": squared_errors,
    "absolute_error": absolute_errors,
}
OF_PROBABILITIES: dict[str, Callable[[NDArray[Any], NDArray[Any]], Floats]] = {
    "log_loss": log_losses,
    "brier": brier_losses,
}
FOR_CLASSIFIERS = {"error", *OF_PROBABILITIES}


def choose_scoring(scoring: Any, classification: bool) -> Any:
    """Return the scoring, by default the usual one for the task."""
    if scoring is None:
        return "error" if classification else "squared_error"
    if not isinstance(scoring, str) and not callable(scoring):
        raise InvalidParameter(f"scoring is {scoring!r}: give one name, or one scorer of scikit-learn")
    losses = {*OF_PREDICTIONS, *OF_PROBABILITIES}
    if scoring in losses and (scoring in FOR_CLASSIFIERS) != classification:
        kind, other = ("classifiers", "regressors") if classification else ("regressors", "classifiers")
        raise InvalidParameter(f"scoring is {scoring!r}, which is for {other}, but the estimators are {kind}")
    if isinstance(scoring, str) and scoring not in losses and scoring not in get_scorer_names():
        hint = did_you_mean(scoring, [*losses, *get_scorer_names()]) or ":"
        raise InvalidParameter(
            f"scoring is {scoring!r}{hint} give one of {sorted(losses)}, or a scorer of scikit-learn"
        )
    return scoring


def has_row_losses(scoring: Any) -> bool:
    """Whether the scoring is a mean over rows."""
    return isinstance(scoring, str) and (scoring in OF_PREDICTIONS or scoring in OF_PROBABILITIES)


def score_split(name: str, model: Any, scoring: Any, X: Any, y: NDArray[Any]) -> float:
    """Return the score of a scikit-learn scorer with its sign changed, so that lower is better."""
    try:
        score = float(check_scoring(model, scoring)(model, X, y))
    except AttributeError as error:
        raise InvalidInput(f"{name!r} cannot be judged by {scoring!r}: {error}") from error
    if not np.isfinite(score):
        raise InvalidInput(
            f"{scoring!r} of {name!r} is {score} on a split: its test rows may have one class only; take stratified or "
            "fewer folds, or another scoring"
        )
    return -score
