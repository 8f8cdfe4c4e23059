"""The share of every row in every leaf of a tree: one leaf for most rows, several where a tested value is missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tremula.trees.structure import LEVEL_UNSEEN, branch_shares, parents_of
from tremula.trees.tree import Tree


def leaf_shares(tree: Tree, X: ArrayLike) -> csr_array:
    """Return the share of every row in every leaf.

    Parameters
    ----------
    tree : Tree
    X : float64 array of shape (n_rows, n_attributes)
        Numbers and codes of levels, NaN where missing.

    Returns
    -------
    sparse array of shape (n_rows, n_nodes)
        The shares of a row sum to 1; the prediction of the tree is the mean of its leaves' values with these weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.5, 4, 0, 1, 2, -1), (0, 3, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0, 1]], subsets=[], n_levels=[0], strict=False)
    >>> leaf_shares(tree, np.array([[0.2], [np.nan]])).toarray()
    array([[0.  , 1.  , 0.  ],
           [0.  , 0.75, 0.25]])
    """
    rows = np.asarray(X, dtype=np.float64)
    leaves, may_part = tree.apply(rows), _may_part(tree, rows)
    if not may_part.any():
        return csr_array((np.ones(len(rows)), leaves, np.arange(len(rows) + 1)), shape=(len(rows), tree.n_nodes))
    parted, whole = np.flatnonzero(may_part), np.flatnonzero(~may_part)
    parted_rows, parted_leaves, shares = _shares_on_paths(tree, rows[parted])
    places = np.concatenate([whole, parted[parted_rows]]), np.concatenate([leaves[whole], parted_leaves])
    return csr_array((np.concatenate([np.ones(len(whole)), shares]), places), shape=(len(rows), tree.n_nodes))


def _may_part(tree: Tree, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each row may reach several leaves: a tested value is missing, or its level may be unseen at a split."""
    if (tree.subsets == LEVEL_UNSEEN).any():
        return np.ones(len(rows), np.bool_)
    return np.asarray(np.isnan(rows[:, np.unique(tree.attribute[~tree.is_leaf])]).any(axis=1))


def _shares_on_paths(
    tree: Tree, rows: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows, leaves and shares, for every leaf that a row reaches with a positive share."""
    paths = tree.decision_path(rows)
    row_of = np.repeat(np.arange(len(rows)), np.diff(paths.indptr))
    node_of = paths.indices.astype(np.int64)
    # A row whose value is known takes one branch as a whole; the branches of a missing value have shares that sum to 1.
    key = row_of * tree.n_nodes + node_of
    parents = parents_of(tree.nodes)[node_of]
    place_of_parent = np.searchsorted(key, row_of * tree.n_nodes + np.maximum(parents, 0))
    is_child = parents >= 0
    n_branches = np.bincount(place_of_parent[is_child], minlength=len(key))
    is_parted = is_child & (n_branches[place_of_parent] > 1)
    factors = np.ones(len(key))
    factors[is_parted] = branch_shares(tree.nodes)[node_of[is_parted]]
    shares = _products_along_paths(factors, place_of_parent, is_child)
    is_leaf = tree.is_leaf[node_of]
    return row_of[is_leaf], node_of[is_leaf], shares[is_leaf]


def _products_along_paths(
    factors: NDArray[np.float64], parents: NDArray[np.int64], is_child: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Multiply every factor by those of all its ancestors, by doubling the distance that is covered."""
    products, ancestor = factors.copy(), np.where(is_child, parents, np.arange(len(parents)))
    is_open = is_child.copy()
    while is_open.any():
        before = products.copy()
        products[is_open] *= before[ancestor[is_open]]
        is_open = is_open & is_open[ancestor]
        ancestor = ancestor[ancestor]
    return products
