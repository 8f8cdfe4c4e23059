"""The predictions of one method for held-out rows: each row once, by the model that was not trained on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.datasets.dataset import Dataset


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for the test rows of the first repetition.

    Attributes
    ----------
    rows : int array (n_rows,)
        Numbers of the rows in the dataset, ascending.
    truth, answers : arrays (n_rows,)
        True and predicted classes or numbers. The predicted class is that of the largest probability.
    probabilities : array (n_rows, n_classes) or None
        None for numbers, and for a method that predicts no probabilities.
    classes : array (n_classes,) or None
    n_other : int
        Rows by which the number of wrong predictions differs from that of the method's own `predict`.
    """

    rows: NDArray[np.intp]
    truth: NDArray[Any]
    answers: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None
    classes: NDArray[Any] | None = None
    n_other: int = 0


def held_out_predictions(dataset: Dataset, validation: CrossValidation, name: str) -> HeldOut | None:
    """Return the predictions of a method for the test rows of the first repetition; None if none were stored."""
    first = [result for result in validation.results[name] if result.split < validation.folds.folds]
    stored = [(validation.splits[result.split][1], result.outcome.predictions) for result in first]
    if any(predictions is None for _, predictions in stored):
        return None
    rows = np.concatenate([test for test, _ in stored])
    order = np.argsort(rows, kind="stable")
    predictions = np.concatenate([np.asarray(given, dtype=float) for _, given in stored])[order]
    rows = rows[order]
    truth = dataset.y[rows]
    if dataset.task == "regression":
        return HeldOut(rows, truth, predictions)
    classes = np.unique(dataset.y)
    answers = classes[predictions.argmax(axis=1)]
    n_wrong = sum(round(result.n_test * result.values["error"]) for result in first)
    has_probabilities = all("log_loss" in result.values for result in first)
    return HeldOut(
        rows,
        truth,
        answers,
        predictions if has_probabilities else None,
        classes,
        abs(n_wrong - int((answers != truth).sum())),
    )
