"""Rise of the error when the values of an attribute are shuffled: out of bag where members leave rows out.

Other models are trained on one half of the rows, and shuffled is the other half. The rise is a share of the rows, or
of the variance of the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tremula.errors import InvalidParameter
from tremula.lab.comparison.analyses.workbench import random_halves
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset

CONFIDENCE = 0.95
REPEATS = 3  # shuffles of an attribute


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, the rows it was trained on, and the rows that are shuffled; the same rows if it is out of bag."""

    model: Any
    train: NDArray[np.intp]
    shuffled: NDArray[np.intp]
    is_out_of_bag: bool


def train_for_shuffling(method: Method, dataset: Dataset, seed: int, most_rows: int) -> Trained:
    """Train on all rows if members leave rows out, else on one half; of the other half at most so many are shuffled."""
    X, y = dataset.X, dataset.y
    model = method.build(dataset.nominal, seed)
    if hasattr(model, "permutation_importances"):
        model.fit(X, y)
        if _leaves_rows_out(model, X, y):
            return Trained(model, np.arange(len(y)), np.arange(len(y)), True)
    train, others = random_halves(len(y), seed, 0)
    return Trained(method.build(dataset.nominal, seed).fit(X[train], y[train]), train, others[:most_rows], False)


def _leaves_rows_out(model: Any, X: NDArray[Any], y: NDArray[Any]) -> bool:
    try:
        return bool((model.count_inbag(X, y) == 0).any())
    except InvalidParameter:
        return False


def rises(trained: Trained, dataset: Dataset, seed: int) -> NDArray[np.float64]:
    """Return the mean rise of the error for each attribute and the ends of its interval, shape (3, n_attributes)."""
    by_unit = _by_member(trained, dataset, seed) if trained.is_out_of_bag else _by_row(trained, dataset, seed)
    mean, n_units = by_unit.mean(axis=0), len(by_unit)
    spread = by_unit.std(axis=0, ddof=1) if n_units > 1 else np.full(len(mean), np.nan)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, max(n_units - 1, 1)) * spread / np.sqrt(n_units)
    scale = 1.0 if dataset.task == "classification" else float(np.var(dataset.y)) or 1.0
    return np.array([mean, mean - half, mean + half]) / scale


def _by_member(trained: Trained, dataset: Dataset, seed: int) -> NDArray[np.float64]:
    """Return the rise of each member's out-of-bag error."""
    importances = trained.model.permutation_importances(dataset.X, dataset.y, random_state=seed, n_repeats=1)
    return np.asarray(importances.by_member[~np.isnan(importances.by_member).any(axis=1)])


def _by_row(trained: Trained, dataset: Dataset, seed: int) -> NDArray[np.float64]:
    """Return the rise of the loss of each held-out row, the mean over the shuffles."""
    X, y = dataset.X[trained.shuffled], dataset.y[trained.shuffled]
    random = np.random.default_rng([seed, 4])
    before = _losses(trained.model, X, y, dataset.task)
    rise = np.zeros(X.shape)
    for attribute in range(X.shape[1]):
        for _ in range(REPEATS):
            changed = X.copy()
            changed[:, attribute] = random.permutation(X[:, attribute])
            rise[:, attribute] += (_losses(trained.model, changed, y, dataset.task) - before) / REPEATS
    return rise


def _losses(model: Any, X: NDArray[Any], y: NDArray[Any], task: str) -> NDArray[np.float64]:
    answers = np.asarray(model.predict(X)).reshape(len(y))
    if task == "classification":
        return np.asarray(answers != y, dtype=float)
    return np.asarray((answers.astype(float) - y) ** 2)
