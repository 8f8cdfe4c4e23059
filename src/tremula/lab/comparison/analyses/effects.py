"""Partial effect of an attribute: the mean prediction for some rows if the attribute had one value in all of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics.decomposition.retraining import ask_probabilities
from tremula.lab.datasets.dataset import Dataset

MOST_VALUES = 16
MOST_CLASSES = 6
ENDS = (0.1, 0.9)  # quantiles over the rows


def values_to_try(dataset: Dataset, attribute: int) -> NDArray[np.float64]:
    """Return quantiles of a numeric attribute, or the most frequent levels of a nominal one.

    Examples
    --------
    >>> X = np.array([[1.0], [1.0], [2.0], [np.nan]])
    >>> values_to_try(Dataset("made", "here", X, np.zeros(4)), 0)
    array([1., 2.])
    """
    present = dataset.X[~np.isnan(dataset.X[:, attribute]), attribute]
    values, counts = np.unique(present, return_counts=True)
    if attribute in dataset.nominal:
        return np.sort(values[np.argsort(-counts, kind="stable")[:MOST_VALUES]])
    if len(values) <= MOST_VALUES:
        return values
    # A date between two days would be none of the column's.
    between: Literal["nearest", "linear"] = "nearest" if attribute in dataset.dates else "linear"
    return np.unique(np.quantile(present, np.linspace(0.02, 0.98, MOST_VALUES), method=between))


def shown_classes(dataset: Dataset) -> NDArray[Any]:
    """Return the classes whose probability is drawn: of two, the second; of many, the most frequent."""
    classes, counts = np.unique(dataset.y, return_counts=True)
    if len(classes) <= 2:
        return classes[-1:]
    return np.sort(classes[np.argsort(-counts, kind="stable")[:MOST_CLASSES]])


def partial_effect(
    model: Any, dataset: Dataset, rows: NDArray[np.intp], attribute: int, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return mean and quantiles of the predictions, shape (3, n_values, n_outputs)."""
    X = np.repeat(dataset.X[None, rows], len(values), axis=0)
    X[:, :, attribute] = values[:, None]
    outputs = _outputs(model, X.reshape(-1, X.shape[2]), dataset).reshape(len(values), len(rows), -1)
    low, high = np.quantile(outputs, ENDS, axis=1)
    return np.array([outputs.mean(axis=1), low, high])


def _outputs(model: Any, X: NDArray[Any], dataset: Dataset) -> NDArray[np.float64]:
    """Return the number predicted, or the probability of each class shown; without probabilities, 0 and 1."""
    if dataset.task == "regression":
        return np.asarray(model.predict(X), dtype=float).reshape(-1, 1)
    shown = shown_classes(dataset)
    if not hasattr(model, "predict_proba"):
        return np.asarray(np.asarray(model.predict(X)).reshape(-1, 1) == shown, dtype=float)
    classes = np.unique(dataset.y)
    return np.asarray(ask_probabilities(model, X, classes)[:, np.searchsorted(classes, shown)])
