"""Fills the nodes of a grown tree anew, with the rows that its splits send there.

Rows that take one path are added up at their leaves, and from there upwards. Those divided between branches, as missing
values may be, come last: their shares follow the weights of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tremula._kernels import route
from tremula._kernels.refill import find_leaves
from tremula.trees.columns import Columns
from tremula.trees.grown_tree import GrownTree
from tremula.trees.structure import copy_nodes
from tremula.trees.tree import Tree


def refill_classes(grown: GrownTree, columns: Columns, codes: np.ndarray, weights: np.ndarray) -> GrownTree:
    """Return the tree with the class weights of the rows that reach each node."""
    n_classes = grown.statistics.shape[1]
    tree = _tree_of(grown.nodes, grown, columns)
    leaves, whole, divided = _leaves_of(tree, columns.values, weights)
    cells = leaves * n_classes + codes[whole]
    sums = np.bincount(cells, weights[whole], tree.n_nodes * n_classes).reshape(-1, n_classes)

    def count_divided(tree: Tree) -> np.ndarray:
        return tree.class_weights(columns.values[divided], codes[divided], weights[divided])

    return _refill(grown, columns, sums, count_divided if len(divided) else None)


def refill_targets(grown: GrownTree, columns: Columns, target: np.ndarray, weights: np.ndarray) -> GrownTree:
    """Return the tree with weight, sum and sum of squares of the targets of the rows that reach each node."""
    tree = _tree_of(grown.nodes, grown, columns)
    leaves, whole, divided = _leaves_of(tree, columns.values, weights)
    weighted = weights[whole] * target[whole]
    moments = (weights[whole], weighted, weighted * target[whole])
    sums = np.column_stack([np.bincount(leaves, moment, tree.n_nodes) for moment in moments])

    def sum_divided(tree: Tree) -> np.ndarray:
        return tree.moments(columns.values[divided], target[divided], weights[divided])

    return _refill(grown, columns, sums, sum_divided if len(divided) else None, is_target=True)


def refill_several(grown: GrownTree, columns: Columns, sums: np.ndarray, weights: np.ndarray) -> GrownTree:
    """Return the tree with the statistics of several targets of the rows that reach each node.

    Parameters
    ----------
    grown : GrownTree
    columns : Columns
    sums : float64 array (n_rows, n_statistics)
        What a row of weight 1 adds to the statistics; 1 in the first column.
    weights : array (n_rows,)
    """
    tree = _tree_of(grown.nodes, grown, columns)
    leaves, whole, divided = _leaves_of(tree, columns.values, weights)
    added = [np.bincount(leaves, weights[whole] * column, tree.n_nodes) for column in sums[whole].T]

    def sum_divided(tree: Tree) -> np.ndarray:
        rows, of_rows = columns.values[divided], weights[divided]
        return np.column_stack([tree.moments(rows, column, of_rows)[:, 1] for column in sums[divided].T])

    return _refill(grown, columns, np.column_stack(added), sum_divided if len(divided) else None, is_target=True)


def _tree_of(nodes: np.ndarray, grown: GrownTree, columns: Columns) -> Tree:
    """Return a tree that sends rows to nodes, without values."""
    return Tree(nodes, np.zeros((1, grown.statistics.shape[1])), grown.subsets, columns.n_levels, strict=False)


def _leaves_of(tree: Tree, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leaves of rows that take one path, these rows, and those divided; all of positive weight.

    Rows of one leaf are in ascending order, and so are those divided.
    """
    rows = np.flatnonzero(weights > 0).astype(np.uint32)
    leaves = np.empty(len(rows), np.int32)
    find_leaves(tree._view, values, rows, leaves)
    is_whole = leaves >= 0
    if is_whole.all():
        return leaves.astype(np.int64), rows, rows[:0]
    return leaves[is_whole].astype(np.int64), rows[is_whole], np.sort(rows[~is_whole])


def _refill(
    grown: GrownTree,
    columns: Columns,
    sums: np.ndarray,
    sum_divided: Callable[[Tree], np.ndarray] | None,
    is_target: bool = False,
) -> GrownTree:
    """Return the tree with the sums of rows that take one path, given at their leaves, and of those divided."""

    def weigh(sums: np.ndarray) -> np.ndarray:
        return sums[:, 0] if is_target else sums.sum(axis=1)

    nodes = copy_nodes(grown.nodes)
    route.add_up(nodes, sums)
    nodes["weight"] = weigh(sums)
    if sum_divided is not None:
        nodes["weight"] = weigh(sums + sum_divided(_tree_of(grown.nodes, grown, columns)))
        # The new weights are the shares of the branches.
        sums = sums + sum_divided(_tree_of(nodes, grown, columns))
    return replace(grown, nodes=nodes, statistics=sums)
