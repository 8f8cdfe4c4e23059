"""Trains one method on the training rows of a split, tests it on the held-out rows, and measures both."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer

from tremula.diagnostics.decomposition.retraining import ask_probabilities
from tremula.errors import TremulaError
from tremula.folds import Split
from tremula.lab.comparison.calibration import count_answers
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import Metric
from tremula.lab.comparison.uncertainty_scores import score_uncertainty
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.losses import brier_losses, log_losses

Scores = tuple[dict[str, float], NDArray[Any]]


class MethodFailed(TremulaError, RuntimeError):
    """A method cannot learn from a dataset."""


@dataclass(frozen=True, eq=False)
class TrainAndTest:
    """Measures a cell of a cross-validation.

    The values are ``error`` (a share), ``log_loss`` and ``brier``, or ``rmse``, ``mae`` and ``r2``; ``coverage``, and
    ``set_size`` or ``width``, of an ensemble that leaves rows out; ``leaves`` of a single tree; and the counts that
    calibration needs.
    """

    methods: Mapping[str, Method]
    dataset: Dataset
    splits: Sequence[Split]
    seed: int
    metric: Metric | None = None  # measured too, if it has a scorer

    def __call__(self, cell: Cell) -> Outcome:
        """Train and test the method of the cell on its split."""
        train, test = self.splits[cell.split]
        method = self.methods[cell.method]
        X, y = self.dataset.X, self.dataset.y
        seed = (self.seed + cell.split) % 2**32
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of libraries about single folds
            begin = time.perf_counter()
            try:
                model = method.build(self.dataset.nominal, seed).fit(X[train], y[train])
            except ValueError as error:
                raise MethodFailed(f"method {method.name!r} cannot learn from {cell.dataset!r}: {error}") from error
            trained = time.perf_counter()
            answers = np.asarray(model.predict(X[test])).reshape(len(test))
            predicted = time.perf_counter()
            values, predictions = SCORERS[self.dataset.task](model, X[test], y[test], answers, np.unique(y))
            values |= score_uncertainty(model, X, y, (train, test), self.dataset.task)
            values |= score_metric(model, X[test], y[test], self.metric)
        values |= _leaves(model)
        stored = predictions.astype(np.float32)
        return Outcome(values, len(test), trained - begin, predicted - trained, seed=seed, predictions=stored)


def _score_classes(
    model: Any, X: NDArray[Any], y: NDArray[Any], answers: NDArray[Any], classes: NDArray[Any]
) -> Scores:
    values = {"error": float(np.mean(answers != y))}
    if not hasattr(model, "predict_proba"):
        return values, np.eye(len(classes))[np.searchsorted(classes, answers)]
    probabilities = ask_probabilities(model, X, classes)
    codes = np.searchsorted(classes, y)
    values["log_loss"] = float(log_losses(codes, probabilities).mean())
    values["brier"] = float(brier_losses(codes, probabilities).mean())
    return values | count_answers(codes, probabilities), probabilities


def _score_numbers(
    model: Any, X: NDArray[Any], y: NDArray[Any], answers: NDArray[Any], classes: NDArray[Any]
) -> Scores:
    residuals = answers - y
    spread = float(np.sum((y - y.mean()) ** 2))
    values = {"rmse": float(np.sqrt(np.mean(residuals**2))), "mae": float(np.mean(np.abs(residuals)))}
    if spread > 0:
        values["r2"] = 1 - float(np.sum(residuals**2)) / spread
    return values, answers


def score_metric(model: Any, X: NDArray[Any], y: NDArray[Any], metric: Metric | None) -> dict[str, float]:
    """Return the metric of the user's choice, by scikit-learn's scorer; empty if it is one that is always measured."""
    if metric is None or not metric.scorer:
        return {}
    try:
        score = float(get_scorer(metric.scorer)(model, X, y))
    except (AttributeError, TypeError, ValueError) as error:
        raise MethodFailed(f"{metric.label} cannot be measured: {error}") from error
    if not np.isfinite(score):
        raise MethodFailed(f"{metric.label} is {score} on a split: its test rows may have one class only")
    return {metric.name: metric.value(score)}


SCORERS: dict[str, Callable[..., Scores]] = {"classification": _score_classes, "regression": _score_numbers}


def _leaves(model: Any) -> dict[str, float]:
    """Count the leaves of a tree, or of the tree at the end of a pipeline."""
    tree = model[-1] if hasattr(model, "steps") else model
    return {"leaves": float(tree.get_n_leaves())} if hasattr(tree, "get_n_leaves") else {}
