"""Constraints of order, `monotonic_cst`: what was given as a direction for each column, and values that keep to it.

The kernel keeps the order in splits by constrained attributes (`_kernels/monotonic.pxd`). Splits by others below them
may send leaves out of bounds; `keep_order` cuts their values off there, as scikit-learn does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter, did_you_mean
from tremula.trees.structure import depths_of
from tremula.trees.tree import Tree


def read_directions(given: Any, n_levels: np.ndarray, names: np.ndarray | None) -> np.ndarray | None:
    """Return the direction of each column, or None if no column has one.

    Parameters
    ----------
    given : array of shape (n_attributes,), dict or None
        1, 0 or -1 for each column, or for some by name.
    n_levels : int32 array (n_attributes,)
        0 for a numeric attribute.
    names : array of str or None
        The names of the columns, if they have any.

    Examples
    --------
    >>> read_directions({"size": -1}, np.zeros(2, np.int32), np.array(["age", "size"]))
    array([ 0, -1], dtype=int8)
    """
    if given is None:
        return None
    directions = _by_name(given, names) if isinstance(given, Mapping) else np.asarray(given, np.int8)
    if len(directions) != len(n_levels):
        raise InvalidParameter(
            f"monotonic_cst has {len(directions)} directions, but X has {len(n_levels)} columns: give 1, 0 or -1 for "
            "each column, or a dict by column name"
        )
    nominal = np.flatnonzero((directions != 0) & (n_levels > 0))
    if len(nominal):
        name = f"column {nominal[0]}" if names is None else repr(str(names[nominal[0]]))
        raise InvalidParameter(
            f"monotonic_cst constrains {name}, which is nominal and has no order: set its entry to 0"
        )
    return directions if directions.any() else None


def _by_name(given: Mapping[str, int], names: np.ndarray | None) -> np.ndarray:
    if names is None:
        raise InvalidParameter(
            "monotonic_cst is a dict by column name, but the columns of X have no names: give a data frame, or 1, 0 or "
            "-1 for each column"
        )
    known = {str(name): place for place, name in enumerate(names)}
    unknown = [name for name in given if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], list(known))
        raise InvalidParameter(f"monotonic_cst names the column {unknown[0]!r}, which X does not have{hint}")
    directions = np.zeros(len(names), np.int8)
    for name, direction in given.items():
        directions[known[name]] = direction
    return directions


def value_bounds(tree: Tree, values: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value that the leaves below each node may have.

    Parameters
    ----------
    tree : Tree
        Of binary splits.
    values : float64 array (n_nodes,)
        The value of each node: what it would predict as a leaf.
    directions : int8 array (n_attributes,)
    """
    nodes = tree.nodes
    lower, upper = np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    depths = depths_of(nodes)
    for depth in range(int(depths.max())):
        splits = np.flatnonzero((depths == depth) & (nodes["n_branches"] > 0))
        first = nodes["first_child"][splits]
        for child in (first, first + 1):
            lower[child], upper[child] = lower[splits], upper[splits]
        is_ordered = (tree.n_levels[nodes["attribute"][splits]] == 0) & np.isfinite(nodes["threshold"][splits])
        direction = np.where(is_ordered, directions[nodes["attribute"][splits]], 0)
        # In bounds as trees are grown; other values of nodes, such as steps of boosting, may be beyond them.
        middle = np.clip(values[first] / 2 + values[first + 1] / 2, lower[splits], upper[splits])
        for sign, low, high in ((1, first, first + 1), (-1, first + 1, first)):
            chosen = direction == sign
            upper[low[chosen]] = np.minimum(upper[low[chosen]], middle[chosen])
            lower[high[chosen]] = np.maximum(lower[high[chosen]], middle[chosen])
    return lower, upper


def keep_order(tree: Tree, values: np.ndarray, directions: np.ndarray) -> Tree:
    """Return the tree with the values of leaves cut off at their bounds, which keeps the order to the last bit.

    Parameters are those of `value_bounds`. The value of a tree of two classes is the share of the second.
    """
    lower, upper = value_bounds(tree, values, directions)
    leaves = np.flatnonzero(tree.is_leaf)
    before = tree.values[tree.nodes["index"][leaves], -1]
    kept = np.clip(before, lower[leaves], upper[leaves])
    if np.array_equal(kept, before):
        return tree
    nodes = tree.nodes.copy()
    nodes["index"][leaves] = np.arange(len(leaves))
    outputs = kept[:, None] if tree.n_outputs == 1 else np.column_stack([1.0 - kept, kept])
    return Tree(nodes, outputs, tree.subsets, tree.n_levels, tree.strict)
