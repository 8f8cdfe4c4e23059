"""The data of a comparison as a plain dict: its shape, columns and target, and the error of the simplest prediction."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import date_text
from tremula.lab.datasets import Dataset

MOST_COLUMNS, MOST_CLASSES = 200, 30


def describe(dataset: Dataset, target: str | None) -> dict[str, Any]:
    """Return the shape of a dataset, its columns and its target."""
    n_rows, n_attributes = dataset.X.shape
    names = dataset.attribute_names[:MOST_COLUMNS]
    description = {
        "name": dataset.name,
        "source": dataset.source,
        "target": target,
        "rows": n_rows,
        "attributes": n_attributes,
        "numeric": n_attributes - len(dataset.nominal),
        "nominal": len(dataset.nominal),
        "missing": int(np.isnan(dataset.X).sum()),
        "columns": [_column(dataset, place, name) for place, name in enumerate(names)],
    }
    return description | (
        _target_classes(dataset.y) if dataset.task == "classification" else _target_numbers(dataset.y)
    )


def _target_classes(y: NDArray[Any]) -> dict[str, Any]:
    labels, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    error = 100 * float(1 - counts.max() / len(y))
    return {
        "classes": len(labels),
        "majority_error": error,
        "baseline": {"label": "always predicting the most frequent class", "error": error},
        "class_counts": [{"label": str(labels[place]), "rows": int(counts[place])} for place in order],
        "target_range": None,
    }


def _target_numbers(y: NDArray[Any]) -> dict[str, Any]:
    return {
        "classes": None,
        "majority_error": None,
        "baseline": {"label": "always predicting the mean", "error": float(y.std())},
        "class_counts": None,
        "target_range": {"low": float(y.min()), "mean": float(y.mean()), "high": float(y.max()), "sd": float(y.std())},
    }


def _column(dataset: Dataset, place: int, name: str) -> dict[str, Any]:
    values = dataset.X[:, place]
    present = values[~np.isnan(values)]
    nominal, is_date = place in dataset.nominal, place in dataset.dates
    description = {
        "name": name,
        "kind": "nominal" if nominal else "date" if is_date else "numeric",
        "missing": len(values) - len(present),
        "distinct": len(np.unique(present)),
    }
    if nominal or not len(present):
        return description
    parts = {"low": present.min(), "middle": np.median(present), "high": present.max()}
    if is_date:
        parts["middle"] = np.quantile(present, 0.5, method="nearest")
    return description | {part: date_text(value) if is_date else float(value) for part, value in parts.items()}
