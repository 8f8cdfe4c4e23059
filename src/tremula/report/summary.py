"""The results of a comparison as one plain dict: what the table, the page and ``--json`` all show.

Only numbers, strings, lists and dicts are inside, so it can be stored as JSON. Errors are in percent.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from tremula.lab.datasets import Dataset
from tremula.lab.methods import Method
from tremula.lab.protocol import Trial

SHOWN_VERSIONS = ("tremula", "scikit-learn", "numpy")
READING = (
    "± is the standard deviation over the folds and not a test: the folds share training rows, so a small difference "
    "of two means does not show which method is better."
)


def summarize(
    dataset: Dataset, methods: Sequence[Method], trials: Mapping[str, Sequence[Trial]], n_folds: int, seed: int
) -> dict[str, Any]:
    """Gather everything a reader needs to judge and repeat the comparison.

    Parameters
    ----------
    dataset : Dataset
        What was compared on.
    methods : sequence of Method
        What was compared.
    trials : mapping of str to sequence of Trial
        What came out, by the method's name.
    n_folds : int
        Number of folds.
    seed : int
        The seed of the folds and of the estimators.

    Returns
    -------
    dict
        With the keys ``dataset``, ``protocol``, ``methods``, ``notes`` and ``versions``.
    """
    rows = [_summarize_method(method, trials[method.name]) for method in methods]
    lowest = min(row["error_mean"] for row in rows)
    for row in rows:
        row["lowest"] = row["error_mean"] == lowest
    return {
        "dataset": _describe(dataset),
        "protocol": {"kind": "stratified cross-validation", "folds": n_folds, "seed": seed},
        "methods": rows,
        "notes": [READING, *_notes(dataset, n_folds)],
        "versions": {"python": platform.python_version(), **{name: version(name) for name in SHOWN_VERSIONS}},
    }


def _summarize_method(method: Method, trials: Sequence[Trial]) -> dict[str, Any]:
    errors = [100 * trial.error for trial in trials]
    leaves = [trial.n_leaves for trial in trials if trial.n_leaves is not None]
    return {
        "name": method.name,
        "label": method.label,
        "error_mean": float(np.mean(errors)),
        "error_sd": float(np.std(errors, ddof=1)),
        "errors": errors,
        "fit_milliseconds": 1000 * float(np.median([trial.fit_seconds for trial in trials])),
        "leaves_mean": float(np.mean(leaves)) if leaves else None,
    }


def _describe(dataset: Dataset) -> dict[str, Any]:
    n_rows, n_attributes = dataset.X.shape
    counts = np.unique(dataset.y, return_counts=True)[1]
    return {
        "name": dataset.name,
        "source": dataset.source,
        "rows": n_rows,
        "numeric": n_attributes - len(dataset.nominal),
        "nominal": len(dataset.nominal),
        "missing": int(np.isnan(dataset.X).sum()),
        "classes": len(counts),
        "majority_error": 100 * float(1 - counts.max() / n_rows),
    }


def _notes(dataset: Dataset, n_folds: int) -> list[str]:
    counts = np.unique(dataset.y, return_counts=True)[1]
    rare = int((counts < n_folds).sum())
    if not rare:
        return []
    return [f"{rare} of {len(counts)} classes have fewer than {n_folds} rows: some folds test none of them."]
