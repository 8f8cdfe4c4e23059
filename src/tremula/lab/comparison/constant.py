"""The constant prediction, measured on the same splits as the methods: what a method must beat to be of use."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from tremula.folds import Split
from tremula.lab.comparison.metrics import Metric
from tremula.lab.comparison.trial import SCORERS, score_metric
from tremula.lab.datasets import Dataset

LABELS = {
    "classification": "always predicting the most frequent class",
    "regression": "always predicting the mean",
}


def measure_constant(dataset: Dataset, splits: list[Split], metric: Metric) -> list[dict[str, float]]:
    """Return the values of the constant prediction, by split.

    For classes it predicts the most frequent one, with the shares of the training rows as probabilities; for numbers,
    the mean of the training rows.

    Parameters
    ----------
    dataset : Dataset
    splits : list of pairs of arrays
        Training and test rows.
    metric : Metric
        The metric chosen, which is measured too.

    Examples
    --------
    >>> from tremula.lab.comparison.metrics import choose_metric
    >>> from tremula.lab.datasets import load_dataset
    >>> iris = load_dataset("iris")
    >>> splits = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    >>> round(measure_constant(iris, splits, choose_metric("auc", iris))[0]["auc"], 2)
    0.5
    """
    return [_measure(dataset, split, metric) for split in splits]


def _measure(dataset: Dataset, split: Split, metric: Metric) -> dict[str, float]:
    train, test = split
    y, nothing = dataset.y, np.zeros((len(dataset.y), 1))
    model = DummyClassifier(strategy="prior") if dataset.task == "classification" else DummyRegressor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of metrics that are undefined for a class that is never predicted
        model.fit(nothing[train], y[train])
        answers = model.predict(nothing[test])
        values, _ = SCORERS[dataset.task](model, nothing[test], y[test], answers, np.unique(y))
        return values | score_metric(model, nothing[test], y[test], metric)
