"""The metrics of a comparison: those that are always measured, and one of the user's choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names

from tremula.errors import InvalidParameter, did_you_mean
from tremula.lab.comparison.uncertainty_scores import COVERAGE
from tremula.lab.datasets import Dataset

IMBALANCED = 0.8  # share of the most frequent class


@dataclass(frozen=True)
class Metric:
    """A metric: its name in the values of a result, how it is shown, and its name in verdicts."""

    name: str
    label: str
    unit: str = ""
    scale: float = 1.0
    less_is_better: bool = True
    scoring: str = ""
    aim: float | None = None  # the best value, where neither less nor more is better
    is_optional: bool = False  # left out if no method has it
    scorer: str = ""  # name of a scikit-learn scorer; empty if it is always measured
    of_target: bool = False  # whether it is in the units of the target

    @property
    def sign(self) -> float:
        """1 if less is better, -1 if more is."""
        return 1.0 if self.less_is_better else -1.0

    def value(self, score: float) -> float:
        """Return the metric from the score of scikit-learn's scorer."""
        return 1 - score if self.name == "balanced_error" else self.sign * -score

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the summary."""
        entry = {"name": self.name, "label": self.label, "unit": self.unit, "less_is_better": self.less_is_better}
        return entry if self.aim is None else {**entry, "aim": self.aim}


COVERED = Metric("coverage", "coverage", "%", 100.0, aim=100 * COVERAGE, is_optional=True)
METRICS: dict[str, tuple[Metric, ...]] = {
    "classification": (
        Metric("error", "error", "%", 100.0, scoring="error"),
        Metric("log_loss", "log loss", scoring="log_loss"),
        Metric("brier", "Brier score", scoring="Brier score"),
        COVERED,
        Metric("set_size", "set size", scoring="set size", is_optional=True),
    ),
    "regression": (
        Metric("rmse", "RMSE", scoring="RMSE", of_target=True),
        Metric("mae", "MAE", scoring="MAE", of_target=True),
        Metric("r2", "R²", less_is_better=False, scoring="R²"),
        COVERED,
        Metric("width", "interval width", scoring="interval width", is_optional=True, of_target=True),
    ),
}
MORE_METRICS: dict[str, tuple[Metric, ...]] = {
    "classification": (
        Metric("auc", "AUC", less_is_better=False, scoring="AUC", scorer="roc_auc"),
        Metric("f1", "F1", less_is_better=False, scoring="F1", scorer="f1_macro"),
        Metric("balanced_error", "balanced error", "%", 100.0, scoring="balanced error", scorer="balanced_accuracy"),
    ),
    "regression": (),
}
OF_MANY_CLASSES = {"roc_auc": "roc_auc_ovr"}


def choose_metric(name: str | None, dataset: Dataset) -> Metric:
    """Return the metric that methods are ranked by.

    Parameters
    ----------
    name : str or None
        A metric of tremula, or the name of a scikit-learn scorer; None is the error, or the RMSE.
    dataset : Dataset

    Returns
    -------
    Metric

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> choose_metric("auc", load_dataset("iris")).scorer
    'roc_auc_ovr'
    """
    metrics = METRICS[dataset.task]
    if name is None:
        return metrics[0]
    named = {metric.name: metric for metric in (*metrics, *MORE_METRICS[dataset.task]) if not metric.is_optional}
    if name in named:
        metric = named[name]
        many = dataset.task == "classification" and len(np.unique(dataset.y)) > 2
        return replace(metric, scorer=OF_MANY_CLASSES.get(metric.scorer, metric.scorer)) if many else metric
    if name in get_scorer_names():
        return _of_scorer(name)
    hint = did_you_mean(name, [*named, *get_scorer_names()]) or ":"
    raise InvalidParameter(
        f"--metric {name!r} is not a metric for {dataset.task}{hint} give one of {', '.join(named)}, or the name of a "
        "scorer of scikit-learn"
    )


def _of_scorer(name: str) -> Metric:
    label = name.removeprefix("neg_").replace("_", " ")
    is_loss = name.startswith("neg_")
    return Metric(name, label, less_is_better=is_loss, scoring=label, scorer=name, of_target=is_loss)


def measured_metrics(chosen: Metric, dataset: Dataset) -> list[Metric]:
    """Return the chosen metric and those that are always measured."""
    return [chosen, *(metric for metric in METRICS[dataset.task] if metric.name != chosen.name)]


def say_imbalance(dataset: Dataset, chosen: Metric) -> list[str]:
    """Return a note that proposes another metric if the error hides the rare classes."""
    if dataset.task != "classification" or chosen.name not in ("error", "accuracy"):
        return []
    classes, counts = np.unique(dataset.y, return_counts=True)
    share = counts.max() / counts.sum()
    if share < IMBALANCED or len(classes) < 2:
        return []
    return [
        f"{100 * share:.0f} % of the rows are of class {str(classes[counts.argmax()])!r}, so the {chosen.label} says "
        "little about the other classes: --metric balanced_error, auc or f1 counts all classes alike."
    ]
