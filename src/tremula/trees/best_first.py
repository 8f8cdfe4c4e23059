"""Trees of a limited number of leaves: the splits that decrease the impurity most, taken one after the other.

The split of a node does not depend on when it is made. So the tree grows in full first, and the splits that growing
best first would have made are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np
from scipy.special import xlogy

from tremula.trees.criteria import Criterion
from tremula.trees.grown_tree import GrownTree
from tremula.trees.pruning import cut_at
from tremula.trees.structure import children_and_parents


def node_impurities(statistics: np.ndarray, criterion: Criterion) -> np.ndarray:
    """Return weight times impurity of every node, but for a term that nodes share with their branches.

    Parameters
    ----------
    statistics : float64 array (n_nodes, n_statistics)
        As `GrownTree` has them.
    criterion : Criterion

    Examples
    --------
    >>> from tremula.trees.criteria import CLASSIFICATION
    >>> node_impurities(np.array([[2.0, 2.0], [3.0, 1.0]]), CLASSIFICATION["gini"])
    array([2. , 1.5])
    """
    if criterion.impurity == "absolute_error":
        return np.asarray(statistics[:, 4])
    if criterion.impurity == "poisson":
        weight, total = statistics[:, 0], statistics[:, 1]
        return np.asarray(-xlogy(total, np.divide(total, weight, out=np.zeros(len(weight)), where=weight > 0)))
    if criterion.impurity == "variance":
        weight, total = statistics[:, 0], statistics[:, 1]
        return np.asarray(-np.divide(total**2, weight, out=np.zeros(len(weight)), where=weight > 0))
    weight = statistics.sum(axis=1, keepdims=True)
    shares = np.divide(statistics, weight, out=np.zeros_like(statistics), where=weight > 0)
    if criterion.impurity == "gini":
        return np.asarray((weight * shares * (1.0 - shares)).sum(axis=1))
    logarithms = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(statistics * logarithms).sum(axis=1))


def keep_best_splits(
    grown: GrownTree,
    max_leaf_nodes: int | None,
    criterion: Criterion,
    impurities_of: Callable[[np.ndarray, Criterion], np.ndarray] = node_impurities,
) -> GrownTree:
    """Return the tree that growing best first would have given, with at most so many leaves.

    Of the leaves that could be split, the one whose split decreases the impurity most is split next; of equals the one
    that was made first.

    Parameters
    ----------
    grown : GrownTree
        Of binary splits.
    max_leaf_nodes : int or None
        None keeps all splits.
    criterion : Criterion
    impurities_of : callable
        From the statistics of nodes to weight times impurity of each.

    Examples
    --------
    >>> from tremula.trees.criteria import REGRESSION
    >>> from tremula.trees.structure import NODE_DTYPE
    >>> nodes = np.zeros(5, NODE_DTYPE)
    >>> nodes["n_branches"][[0, 2]], nodes["first_child"][[0, 2]] = 2, [1, 3]
    >>> statistics = np.array([[4.0, 8.0, 32.0], [2.0, 0.0, 0.0], [2.0, 8.0, 32.0], [1.0, 4.0, 16.0], [1.0, 4.0, 16.0]])
    >>> grown = GrownTree(nodes, statistics, np.empty(0, np.uint8))
    >>> [len(keep_best_splits(grown, n, REGRESSION["variance"]).nodes) for n in (2, 3)]
    [3, 5]
    """
    nodes = grown.nodes
    if max_leaf_nodes is None or np.count_nonzero(nodes["n_branches"]) < max_leaf_nodes:
        return grown
    impurities = impurities_of(grown.statistics, criterion)
    children, parents = children_and_parents(nodes)
    decreases = impurities - np.bincount(parents, weights=impurities[children], minlength=len(nodes))
    is_cut = nodes["n_branches"] > 0
    waiting = [(-decreases[0], 0)]
    for _ in range(max_leaf_nodes - 1):
        node = heappop(waiting)[1]
        is_cut[node] = False
        for child in range(nodes["first_child"][node], nodes["first_child"][node] + nodes["n_branches"][node]):
            if nodes["n_branches"][child] > 0:
                heappush(waiting, (-decreases[child], child))
    return cut_at(grown, is_cut)
