"""Hierarchical shrinkage (Agarwal et al., 2022): leaf values are pulled towards those of the larger nodes above them.

The value of a leaf is the value of the root plus the changes along the path. Each change is divided by
1 + strength / weight of the parent, so what a small node added counts little. Splits stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput
from tremula.smoothing.models import TreeModel
from tremula.smoothing.models.stored import TrainedTrees
from tremula.smoothing.models.tree_builder import nodes_by_depth
from tremula.trees.structure import children_and_parents, copy_nodes, depths_of
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

ROUNDING = 1e-6  # by which the weights of the branches may differ from that of their node


def shrink_tree(tree: Tree, weights: Floats, strength: float) -> Tree:
    """Shrink the values of a tree.

    Parameters
    ----------
    tree : Tree
    weights : float64 array (n_nodes,)
        Training weight of each node.
    strength : float
        0 leaves the tree as it is; with more and more every leaf has the value of the root.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import CARTRegressor
    >>> tree = CARTRegressor(max_depth=1).fit(*load_diabetes(return_X_y=True)).tree_
    >>> for strength in (0.0, 442.0):  # the root has 442 rows: the distance to its value is halved
    ...     print(shrink_tree(tree, tree.weight, strength).values.ravel().round())
    [110. 193.]
    [131. 173.]
    """
    means = node_means(tree, weights)
    shrunken = means.copy()
    children, parents = children_and_parents(tree.nodes)
    depths = depths_of(tree.nodes)[children]
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = weights / (weights + strength)
    factors = np.where(weights > 0, factors, 0.0 if strength > 0 else 1.0)
    for depth in range(1, int(depths.max(initial=0)) + 1):
        child, parent = children[depths == depth], parents[depths == depth]
        shrunken[child] = shrunken[parent] + (means[child] - means[parent]) * factors[parent, None]
    nodes = copy_nodes(tree.nodes)
    nodes["index"][tree.is_leaf] = np.arange(tree.n_leaves)
    return Tree(nodes, shrunken[tree.is_leaf], tree.subsets, tree.n_levels, tree.strict)


def node_means(tree: Tree, weights: Floats) -> Floats:
    """Return the mean value of every node, (n_nodes, n_outputs): that of its branches by weight, equal if none has any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import CARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = CARTRegressor(max_depth=3).fit(X, y).tree_
    >>> bool(abs(node_means(tree, tree.weight)[0, 0] - y.mean()) < 1e-9)
    True
    """
    means = np.zeros((tree.n_nodes, tree.n_outputs))
    means[tree.is_leaf] = tree.values[tree.nodes["index"][tree.is_leaf]]
    children, parents = children_and_parents(tree.nodes)
    totals = np.bincount(parents, weights=weights[children], minlength=tree.n_nodes)
    n_branches = np.maximum(tree.n_branches, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(totals[parents] > 0, weights[children] / totals[parents], 1.0 / n_branches[parents])
    depths = depths_of(tree.nodes)[children]
    for depth in range(int(depths.max(initial=0)), 0, -1):
        here = depths == depth
        np.add.at(means, parents[here], shares[here, None] * means[children[here]])
    return means


def shrink_sum(model: TreeSum, node_weights: Sequence[Floats], strength: float) -> TreeSum:
    """Shrink every tree of a sum towards its own root; missing values take their branches as before."""
    return replace(
        model,
        trees=tuple(shrink_tree(tree, weights, strength) for tree, weights in zip(model.trees, node_weights)),
    )


def shrunken_model(
    trees: TreeModel, node_weights: Sequence[Floats], strength: float, own_sum: TreeSum | None = None
) -> TreeModel:
    """Return a model with shrunken trees, which predicts by these, or by a sum with the model's own thresholds."""
    whole = shrink_sum(trees.sum, node_weights, strength)
    hard = whole if own_sum is None else own_sum
    return replace(trees, sum=whole, predictor=lambda X: hard.answers(trees.rows(X)))


# --- training weights of the nodes ---


def find_node_weights(trees: TreeModel, X: Any, y: Any, sample_weight: Floats | None) -> tuple[list[Floats], str]:
    """Return the training weight of every node of each tree, and where it comes from.

    tremula's and scikit-learn's trees store it. For others the rows given are sent down the trees: for each member
    those it was trained on, if that is known.
    """
    if _stores_weights(trees):
        return [np.array(tree.weight) for tree in trees.sum.trees], "stored in the trees"
    of_library = _weights_of_sklearn(trees)
    if of_library is not None:
        return of_library, "stored in the trees"
    if X is None:
        raise InvalidInput(
            f"shrinkage needs the training weight of every node, which {trees.name} does not hand over: give fit the "
            "training rows X, and y"
        )
    rows = trees.rows(X)
    weights = np.ones(len(rows)) if sample_weight is None else sample_weight
    counts = None if y is None else trees.inbag_counts(X, y, sample_weight)
    if counts is None:
        return [_routed(tree, rows, weights) for tree in trees.sum.trees], "all rows given to fit"
    inbag = np.maximum(counts, 0)
    members = zip(trees.sum.trees, trees.sum.tree_members)
    return [
        _routed(tree, rows, weights * inbag[member]) for tree, member in members
    ], "the training rows of each member"


def _weights_of_sklearn(trees: TreeModel) -> list[Floats] | None:
    """Return the node weights of scikit-learn's trees, in the order of our nodes; None if there are other trees."""
    estimator = trees.estimator
    members = np.ravel([estimator] if hasattr(estimator, "tree_") else getattr(estimator, "estimators_", []))
    given: list[Any] = [getattr(member, "tree_", None) for member in members]
    if len(given) != len(trees.sum.trees):
        return None
    node_weights = []
    for own, other in zip(trees.sum.trees, given):
        if not hasattr(other, "weighted_n_node_samples") or other.node_count != own.n_nodes:
            return None
        order = nodes_by_depth(other.children_left, other.children_right)
        node_weights.append(np.asarray(other.weighted_n_node_samples, dtype=np.float64)[order])
    return node_weights


def _routed(tree: Tree, rows: Floats, weights: Floats) -> Floats:
    return tree.moments(rows, np.zeros(len(rows)), weights)[:, 0]


def _stores_weights(trees: TreeModel) -> bool:
    """Whether the nodes of all trees hold training weights, as in tremula's trees; others hold where NaN goes."""
    estimator = trees.estimator
    is_own = hasattr(type(estimator), "as_tree_sum") and not isinstance(estimator, TrainedTrees)
    has_others = any(hasattr(member, "estimator") for member in getattr(estimator, "members_", []))
    return is_own and not has_others and all(map(_adds_up, trees.sum.trees))


def _adds_up(tree: Tree) -> bool:
    children, parents = children_and_parents(tree.nodes)
    totals = np.bincount(parents, weights=tree.weight[children], minlength=tree.n_nodes)
    splits = ~tree.is_leaf
    return bool(np.allclose(totals[splits], tree.weight[splits], rtol=ROUNDING, atol=0.0))
