"""Prunes trees: useless splits, C4.5's error-based pruning, reduced-error pruning, weakest-link pruning.

Pruning functions take a grown tree and return a new one with the statistics of the remaining nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

import tremula._kernels.prune as kernel
from tremula.errors import InvalidInput
from tremula.trees.grown_tree import GrownTree
from tremula.trees.structure import copy_nodes, depths_of, parents_of
from tremula.trees.tree import Tree

# C4.5 interpolates the normal deviate of a confidence linearly in this table.
QUINLAN_CONFIDENCES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
QUINLAN_DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)


@dataclass(frozen=True)
class ErrorEstimate:
    """Parameters of the upper confidence limit of the number of errors in a leaf.

    `tail` is the share of the correct rows that counts as errors if nearly all rows are wrong.
    """

    confidence: float
    z_squared: float
    tail: float


def quinlan_estimate(confidence: float) -> ErrorEstimate:
    """Return C4.5's own estimate, with a deviate from its table.

    Examples
    --------
    >>> round(quinlan_estimate(0.25).z_squared ** 0.5, 4)
    0.6925
    """
    deviate = float(np.interp(confidence, QUINLAN_CONFIDENCES, QUINLAN_DEVIATES))
    return ErrorEstimate(confidence, deviate**2, 0.67)


def normal_estimate(confidence: float) -> ErrorEstimate:
    """Return Weka's estimate, with the exact normal deviate and without a discount if nearly all rows are wrong.

    Examples
    --------
    >>> round(normal_estimate(0.25).z_squared ** 0.5, 4)
    0.6745
    """
    return ErrorEstimate(confidence, float(ndtri(1.0 - confidence)) ** 2, 1.0)


def training_errors(grown: GrownTree) -> np.ndarray:
    """Return the weight of the training rows that each node would misclassify as a leaf."""
    return np.asarray(grown.statistics.sum(axis=1) - grown.statistics.max(axis=1))


def _compact(nodes: np.ndarray, grown: GrownTree) -> tuple[GrownTree, np.ndarray]:
    """Drop the nodes that can no longer be reached; return the tree and the former numbers of its nodes."""
    kept, origin = np.empty_like(nodes), np.empty(len(nodes), np.int32)
    n_kept = kernel.compact(nodes, kept, origin)
    origin = origin[:n_kept]
    return GrownTree(copy_nodes(kept[:n_kept]), grown.statistics[origin], grown.subsets), origin


def collapse_useless_splits(grown: GrownTree) -> GrownTree:
    """Turn splits that do not reduce the training errors into leaves, as C4.5 does even in unpruned trees."""
    nodes = copy_nodes(grown.nodes)
    kernel.collapse(nodes, training_errors(grown), np.empty(len(nodes)), 1e-3)
    return _compact(nodes, grown)[0]


def prune_by_error(
    grown: GrownTree,
    values: np.ndarray,
    n_levels: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    estimate: ErrorEstimate,
    raising: bool = True,
    strict: bool = False,
) -> GrownTree:
    """Prune as C4.5 does: replace a node by a leaf, or by its heaviest branch, if that has fewer estimated errors.

    Parameters
    ----------
    grown : GrownTree
    values, n_levels, codes, weights : arrays
        The rows that the tree was grown from.
    estimate : ErrorEstimate
    raising : bool, default=True
        Whether a branch may replace its parent (subtree raising).
    strict : bool, default=False
        Whether tests are value < threshold, instead of value <= threshold.

    Returns
    -------
    GrownTree
    """
    nodes, statistics = copy_nodes(grown.nodes), np.ascontiguousarray(grown.statistics).copy()
    real_weights = np.ones(len(codes)) if weights is None else np.ascontiguousarray(weights, np.float64)
    rows = (values, np.ascontiguousarray(codes, np.int32), real_weights)
    limit = {"confidence": estimate.confidence, "z_squared": estimate.z_squared, "tail": estimate.tail}
    depth = int(depths_of(nodes).max())
    try:
        kernel.prune_by_error(nodes, statistics, (grown.subsets, n_levels), strict, rows, limit, raising, depth)
    except RecursionError as error:
        raise InvalidInput(str(error)) from error
    return _compact(nodes, GrownTree(nodes, statistics, grown.subsets))[0]


def prune_by_reduced_error(grown: GrownTree, errors: np.ndarray) -> tuple[GrownTree, np.ndarray]:
    """Keep a split only if its branches make fewer errors on held-out rows than the node would as a leaf.

    Parameters
    ----------
    grown : GrownTree
    errors : array (n_nodes,)
        Errors of each node as a leaf, on the held-out rows that reach it.

    Returns
    -------
    GrownTree
    origin : array
        The former number of each remaining node.
    """
    nodes = copy_nodes(grown.nodes)
    rounding = 1e-9 * float(errors[0])
    kernel.reduce_errors(nodes, np.ascontiguousarray(errors), np.empty(len(nodes)), rounding)
    return _compact(nodes, grown)


def cut_at(grown: GrownTree, chosen: np.ndarray) -> GrownTree:
    """Turn the chosen nodes into leaves, and drop the nodes below them."""
    nodes = copy_nodes(grown.nodes)
    kernel.make_leaves(nodes, np.ascontiguousarray(chosen, np.uint8))
    return _compact(nodes, grown)[0]


def distributions_of_nodes(tree: Tree) -> np.ndarray:
    """Return the value of every node of a finished tree: the class distribution, or mean, of its training rows.

    Values of splits are means of their branches. If class counts are integers, the values are recomputed from them, so
    that rounding errors do not decide between classes with equal counts.
    """
    values = tree.node_values()
    if tree.n_outputs == 1:
        return values
    counts = values * tree.weight[:, None]
    rounded = np.rint(counts)
    is_integer = (np.abs(counts - rounded).max(axis=1) <= 1e-12 * tree.weight[0]) & (rounded.max(axis=1) > 0)
    values[is_integer] = rounded[is_integer] / rounded[is_integer].sum(axis=1, keepdims=True)
    return values


def cut_tree(tree: Tree, chosen: np.ndarray) -> Tree:
    """Return a finished tree with the chosen nodes as leaves, without the nodes below them."""
    is_new = chosen & ~tree.is_leaf
    nodes = copy_nodes(tree.nodes)
    kernel.make_leaves(nodes, is_new.view(np.uint8))
    nodes["index"][is_new] = len(tree.values) + np.arange(np.count_nonzero(is_new))
    kept = np.empty_like(nodes)
    kept = copy_nodes(kept[: kernel.compact(nodes, kept, np.empty(len(nodes), np.int32))])
    leaves = np.flatnonzero(kept["n_branches"] == 0)
    used, rows = np.unique(kept["index"][leaves], return_inverse=True)
    kept["index"][leaves] = rows
    values = np.concatenate([tree.values, distributions_of_nodes(tree)[is_new]])[used]
    return Tree(kept, values, tree.subsets, tree.n_levels, tree.strict)


def held_out_errors(class_weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the weight of the held-out rows that each node gets wrong as a leaf, from their classes at it."""
    return np.asarray(class_weights.sum(axis=1) - class_weights[np.arange(len(class_weights)), labels])


def held_out_squared_errors(moments: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the squared error of the held-out rows at each node as a leaf, from their weights, sums and squares."""
    weight, total, squares = moments.T
    return np.asarray(squares - 2 * means * total + means**2 * weight)


def weakest_link_alphas(nodes: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """Return the alpha, the cost of a leaf, at which minimal cost-complexity pruning removes each split.

    Parameters
    ----------
    nodes : node records
    risk : array (n_nodes,)
        Training risk of each node as a leaf.

    Returns
    -------
    array (n_nodes,)
        Infinite for leaves. A split below another never has a larger alpha.
    """
    scratch = np.empty((3, len(nodes)))
    alphas = np.empty(len(nodes))
    tolerance = 1e-12 * abs(float(risk[0]))  # weights of a changed file may make a risk negative
    kernel.weakest_links(nodes, parents_of(nodes), np.ascontiguousarray(risk), *scratch, alphas, tolerance)
    return alphas


def subtree_losses(nodes: np.ndarray, node_alphas: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of each subtree of the weakest-link sequence.

    Parameters
    ----------
    nodes : node records
    node_alphas : array (n_nodes,)
        From `weakest_link_alphas`.
    losses : array (n_nodes,)
        Loss of each node as a leaf, for example on held-out rows.

    Returns
    -------
    alphas : array
        0 and the distinct alphas above it, increasing. The subtree of an alpha lacks the splits of at most that alpha.
    totals : array
        Loss of the subtree of each alpha.
    """
    splits = np.flatnonzero(nodes["n_branches"])
    below = np.zeros(len(nodes))
    children = np.arange(1, len(nodes))
    np.add.at(below, parents_of(nodes)[children], losses[children])
    saved = losses[splits] - below[splits]
    alphas = np.union1d([0.0], node_alphas[splits])
    alphas = alphas[alphas >= 0.0]
    order = np.argsort(node_alphas[splits], kind="stable")
    saved_from = np.append(np.cumsum(saved[order][::-1])[::-1], 0.0)
    kept_from = np.searchsorted(node_alphas[splits][order], alphas, side="right")
    return alphas, losses[0] - saved_from[kept_from]
