"""Impurity-based importances of attributes, computed from the weights and values of a tree alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tremula.trees.structure import children_and_parents
from tremula.trees.tree import Tree

FloatArray = NDArray[np.float64]


def entropy(distributions: FloatArray) -> FloatArray:
    """Return the entropy, in bits, of the class distribution in each row."""
    logarithms = np.log2(distributions, out=np.zeros_like(distributions), where=distributions > 0)
    return np.asarray(-(distributions * logarithms).sum(axis=1))


def gini(distributions: FloatArray) -> FloatArray:
    """Return the Gini index of the class distribution in each row."""
    return np.asarray(1.0 - (distributions**2).sum(axis=1))


def negative_square(means: FloatArray) -> FloatArray:
    """Return the variance without a term that cancels in the comparison of a node with its branches."""
    return np.asarray(-(means**2).sum(axis=1))


def negative_x_log_x(means: FloatArray) -> FloatArray:
    """Return the Poisson deviance without a term that cancels in the comparison of a node with its branches."""
    return np.asarray(-xlogy(means, means).sum(axis=1))


IMPURITIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "entropy": entropy,
    "gini": gini,
    "variance": negative_square,
    "poisson": negative_x_log_x,
}


def attribute_importances(tree: Tree, impurity: str) -> FloatArray:
    """Return the total decrease of impurity by the splits of each attribute, normalized to sum 1.

    All are 0 if no split decreases the impurity.

    Parameters
    ----------
    tree : Tree
    impurity : {"entropy", "gini", "variance", "poisson"}
        "entropy" and "gini" are for class distributions, "variance" and "poisson" for mean targets. The decrease of the
        absolute error does not follow from the medians in leaves, and is refused.

    Examples
    --------
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.5, 3, 1, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0, 1]], subsets=[], n_levels=[0, 0], strict=False)
    >>> attribute_importances(tree, "gini")
    array([0., 1.])
    """
    if impurity == "absolute_error":
        raise AttributeError(
            "a tree with criterion='absolute_error' has no impurity importances, since the medians in its leaves do "
            "not say how much its splits decreased the error: use permutation importances"
        )
    if impurity not in IMPURITIES:
        raise ValueError(f"impurity is {impurity!r}: choose one of {', '.join(map(repr, IMPURITIES))}")
    values = tree.node_values()
    # Variances are differences of squares; with the root's mean subtracted, they do not cancel.
    impurities = IMPURITIES[impurity](values - values[0] if impurity == "variance" else values)
    children, parents = children_and_parents(tree.nodes)
    decreases = tree.weight[children] * (impurities[parents] - impurities[children])
    totals = np.bincount(tree.attribute[parents], weights=decreases, minlength=tree.n_attributes)
    totals = np.maximum(totals.astype(np.float64), 0.0)
    return totals / (totals.sum() or 1.0)
