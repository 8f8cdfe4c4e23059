"""What a dataset looks like: its columns, what is missing in them, and how the target is distributed.

Plain dictionaries, ready for JSON or a page.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import date_text
from tremula.lab.datasets.dataset import Dataset

PARTS = {"smallest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "largest": 1.0}
MOST_LEVELS = 12  # that are listed; the others are only counted


def describe_dataset(data: Dataset) -> dict[str, Any]:
    """Describe the rows, every attribute and the target of a dataset.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> described = describe_dataset(load_dataset("iris"))
    >>> described["rows"], described["attributes"][2]["name"], described["attributes"][2]["median"]
    (150, 'petal length (cm)', 4.35)
    >>> described["target"]["classes"]
    {'setosa': 50, 'versicolor': 50, 'virginica': 50}
    """
    return {
        "name": data.name,
        "source": data.source,
        "task": data.task,
        "rows": len(data.X),
        "missing": int(np.isnan(data.X).sum()),
        "target": describe_target(data),
        "attributes": [describe_attribute(data, place, name) for place, name in enumerate(data.attribute_names)],
    }


def describe_target(data: Dataset) -> dict[str, Any]:
    """Count the classes, the most frequent first; of numbers return the quartiles."""
    if data.task == "regression":
        return {"kind": "numeric", **_quartiles(data.y)}
    labels, counts = np.unique(data.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    classes = {str(labels[place]): int(counts[place]) for place in order}
    return {"kind": "nominal", "classes": classes, "largest_share": float(counts.max() / counts.sum())}


def describe_attribute(data: Dataset, place: int, name: str) -> dict[str, Any]:
    """Return the kind, the number of missing values, and the levels or quartiles of a column."""
    values = data.X[:, place]
    known = values[~np.isnan(values)]
    described: dict[str, Any] = {"name": name, "missing": int(len(values) - len(known))}
    if place in data.nominal:
        return described | {"kind": "nominal"} | _levels(data, place, known)
    described["different"] = len(np.unique(known))
    if place not in data.dates:
        return described | {"kind": "numeric"} | _quartiles(known)
    days = _quartiles(known, "nearest")
    return described | {"kind": "date"} | {part: None if day is None else date_text(day) for part, day in days.items()}


def _levels(data: Dataset, place: int, known: NDArray[np.float64]) -> dict[str, Any]:
    levels = [str(level) for level in data.level_names(place)]
    counts = np.bincount(known.astype(np.int64), minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    return {"n_levels": len(levels), "levels": {levels[code]: int(counts[code]) for code in order}}


def _quartiles(values: NDArray[np.float64], method: Literal["linear", "nearest"] = "linear") -> dict[str, float | None]:
    if not len(values):
        return dict.fromkeys(PARTS, None)
    quartiles = np.quantile(values, list(PARTS.values()), method=method)
    return {name: float(value) for name, value in zip(PARTS, quartiles)}
