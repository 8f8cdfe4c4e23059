"""Rows to ask a model about: on the thresholds of its trees and around them, where answers change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.trees.tree_sum import TreeSum

# LightGBM puts thresholds of about 1e-35 around 0, and takes values as small as that for 0.
TINY = 1e-30


def probes(model: TreeSum, n_rows: int = 32) -> NDArray[np.float64]:
    """Rows without missing values: half of them on thresholds, half a little away; levels at random, as codes.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tremula.smoothing.models import read_model
    >>> probes(read_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])).sum, n_rows=4)[:2]
    array([[0.5],
           [0.5]])
    """
    random = np.random.default_rng(0)
    rows = np.zeros((n_rows, model.n_attributes))
    tested = np.concatenate([tree.attribute[~tree.is_leaf] for tree in model.trees])
    thresholds = np.concatenate([tree.threshold[~tree.is_leaf] for tree in model.trees])
    is_finite = np.isfinite(thresholds)
    for attribute in np.unique(tested[is_finite]):
        if model.n_levels[attribute]:
            rows[:, attribute] = random.integers(0, model.n_levels[attribute], n_rows)
            continue
        known = thresholds[is_finite & (tested == attribute)]
        away = random.normal(0.0, known.std() + 1e-3 * np.abs(known).max(), n_rows)
        rows[:, attribute] = random.choice(known, n_rows) + np.where(np.arange(n_rows) < n_rows // 2, 0.0, away)
    return np.where(np.abs(rows) < TINY, 0.0, rows)
