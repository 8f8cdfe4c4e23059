"""How much of the variance of a tree comes from its thresholds: its tests stay, their thresholds are chosen anew.

Both variances are over the same bootstrap samples: of trees with the attributes of one tree and new thresholds, and of
trees grown anew with as many leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N_SAMPLES = 10


def best_threshold(values: Floats, outputs: Floats) -> float | None:
    """Return the threshold with the least squared error of outputs, None if all values are equal.

    Parameters
    ----------
    values : array (n_rows,)
    outputs : array (n_rows, n_outputs)

    Examples
    --------
    >>> best_threshold(np.array([1.0, 2.0, 4.0, 5.0]), np.array([[0.0], [0.0], [1.0], [1.0]]))
    3.0
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    cuts = np.flatnonzero(np.diff(ordered) > 0)
    if not len(cuts):
        return None
    sums = np.cumsum(outputs[order], axis=0)
    n_left = (cuts + 1)[:, None]
    left, total = sums[cuts], sums[-1]
    between = (left**2 / n_left + (total - left) ** 2 / (len(values) - n_left)).sum(axis=1)
    place = cuts[int(np.argmax(between))]
    return float((ordered[place] + ordered[place + 1]) / 2)


def refitted(tree: Any, X: Floats, outputs: Floats, X_new: Floats, node: int = 0) -> Floats:
    """Return outputs for new rows by a tree with the same attributes and with thresholds chosen on these rows."""
    mean = np.broadcast_to(outputs.mean(axis=0), (len(X_new), outputs.shape[1]))
    if tree.is_leaf[node]:
        return mean
    attribute = int(tree.attribute[node])
    threshold = best_threshold(X[:, attribute], outputs)
    if threshold is None:
        return mean
    answers = np.empty((len(X_new), outputs.shape[1]))
    for branch, low in enumerate((True, False)):
        rows, new = ((table[:, attribute] <= threshold) == low for table in (X, X_new))
        child = int(tree.first_child[node]) + branch
        answers[new] = refitted(tree, X[rows], outputs[rows], X_new[new], child)
    return answers


def threshold_share(
    tree: Any, grow: Callable[[Floats, Floats], Floats], X: Floats, outputs: Floats, X_new: Floats, seed: int
) -> float:
    """Return the variance of a tree with new thresholds as a share of that of trees grown anew.

    Parameters
    ----------
    tree : Tree
    grow : callable from (rows of a sample, their outputs) to outputs for `X_new`
        Grows a tree with as many leaves.
    X, outputs : arrays
        Rows and their outputs: a number, or an indicator of each class.
    X_new : array
        Rows on which the predictions vary.
    seed : int
    """
    draw = np.random.default_rng(seed)
    samples = [draw.integers(len(X), size=len(X)) for _ in range(N_SAMPLES)]
    same = np.array([refitted(tree, X[sample], outputs[sample], X_new) for sample in samples])
    anew = np.array([grow(X[sample], outputs[sample]) for sample in samples])
    total = float(anew.var(axis=0).sum())
    return float(same.var(axis=0).sum()) / total if total > 0.0 else 0.0
