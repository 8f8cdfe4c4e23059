"""A model in the form that `shap.TreeExplainer` takes, for comparisons with the package shap."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.errors import UnsupportedModel
from tremula.explanations.tree_reader import read_trees
from tremula.smoothing.shrinkage import find_node_weights, node_means
from tremula.trees.structure import is_numeric


def shap_trees(model: Any) -> dict[str, Any]:
    """Return a model of binary trees on numbers as a dictionary that `shap.TreeExplainer` takes.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble that averages trees, without nominal attributes.

    Returns
    -------
    dict
        For ``shap.TreeExplainer(shap_trees(model))``. Missing values are not described.

    Raises
    ------
    UnsupportedModel
        A split has levels, a value on a threshold takes the second branch, or the model applies a link.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.explanations.shap_trees import shap_trees
    >>> tree = CARTClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
    >>> shap_trees(tree)["trees"][0]["children_left"].tolist()
    [1, -1, 3, -1, -1]
    """
    trees = read_trees(model)
    whole = trees.sum
    is_plain = whole.link.is_identity and not whole.offset.any() and (whole.outputs < 0).all()
    if not is_plain or any(tree.strict or not is_numeric(tree.nodes[~tree.is_leaf]).all() for tree in whole.trees):
        raise UnsupportedModel(
            f"{trees.name} is no mean of trees that compare numbers with thresholds, which shap takes: use `explain`"
        )
    weights = find_node_weights(trees, None, None, None)[0]
    parts = []
    for tree, factor, node_weights in zip(whole.trees, whole.weights, weights):
        left = np.where(tree.is_leaf, -1, tree.first_child)
        parts.append(
            {
                "children_left": left,
                "children_right": np.where(tree.is_leaf, -1, tree.first_child + 1),
                "children_default": left,
                "features": tree.attribute.copy(),
                "thresholds": np.where(tree.is_leaf, 0.0, tree.threshold),
                "values": factor * node_means(tree, node_weights),
                "node_sample_weight": np.asarray(node_weights, dtype=np.float64),
            }
        )
    return {"trees": parts}
