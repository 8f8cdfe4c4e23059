"""The distribution of noisy rows over the leaves of a smoothed model: equation 4 of Geurts (2001), for every tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.errors import UnsupportedModel
from tremula.explanations.leaf_factors import LeafFactors
from tremula.explanations.smoothed_factors import Floats, SmoothedFactors, smoothed_factors
from tremula.smoothing.base import DualPerturb
from tremula.smoothing.exact import leaf_weights
from tremula.trees.tree_sum import TreeSum


def leaf_distribution(model: DualPerturb, X: Any) -> list[Floats]:
    """Return the probability that each row reaches each leaf under the noise of a smoothed model.

    Parameters
    ----------
    model : fitted DualPerturbClassifier or DualPerturbRegressor
        Of trees, smoothed with `method` "exact" or "path".
    X : array, data frame or table of shape (n_rows, n_attributes)

    Returns
    -------
    list of float arrays of shape (n_rows, n_leaves)
        One for each tree. Leaves are in the order of their nodes; probabilities of a row sum to 1.

    Raises
    ------
    UnsupportedModel
        The model is not smoothed, or not by a closed form for trees.

    Notes
    -----
    In the path form a probability is the product of those of all tests on the path, which is the formula of the paper.
    In the exact form tests of the same attribute share their noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier, DualPerturbClassifier, leaf_distribution
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier(max_depth=2).fit(X, y)
    >>> smooth = DualPerturbClassifier(tree, noise=0.2).fit(X, y)
    >>> leaf_distribution(smooth, X[70:71])[0].round(3)
    array([[0.   , 0.371, 0.629]])
    """
    if not isinstance(model, DualPerturb):
        raise UnsupportedModel(
            f"{type(model).__name__} is not smoothed, so each row reaches one leaf: wrap it in DualPerturbClassifier "
            "or DualPerturbRegressor, or use its `apply`"
        )
    trees, factors, rows = smoothed_factors(model, X)
    return [_of_tree(trees.sum, factors, number, rows) for number in range(len(trees.sum.trees))]


def _of_tree(model: TreeSum, factors: LeafFactors, number: int, rows: Floats) -> Floats:
    if isinstance(factors, SmoothedFactors):
        leaves = np.flatnonzero(factors.model.trees[number].is_leaf)
        return np.asarray(factors.leaf_probabilities(number, rows).toarray()[:, leaves])
    return leaf_weights(model, number, rows, np.zeros(model.n_attributes))
