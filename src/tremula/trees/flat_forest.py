"""Many trees in a small form that answers many rows, or one row, in a fraction of the time of tree after tree.

The sums are those of `Tree.add_values`, tree after tree, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula._kernels.flat_forest import FlatForest
from tremula._kernels.row_cells import MOST_NODES, MOST_PLACES, RowCells, count_splits, drop_repeats, take_limits
from tremula.trees.tree import Tree

__all__ = ["FlatForest", "flatten"]

MOST_ATTRIBUTES = 256  # where numbers are coded
MOST_LEVELS = 2**16
STEPS_PER_TREE = 6  # of searches for places, which bytes save in following a tree


def flatten(trees: Sequence[Tree], outputs: ArrayLike | None = None, *, votes: bool = False) -> FlatForest | None:
    """Copy trees into a small form.

    Parameters
    ----------
    trees : sequence of Tree
        All valid and with the same attributes.
    outputs : array of int, optional
        For each tree the output that its first value is added to; 0 by default.
    votes : bool, default=False
        Whether a tree gives its weight to its most probable class, instead of its values to all.

    Returns
    -------
    FlatForest or None
        Its ``add_values(rows, weights, total)`` adds the answers of all trees. None if trees differ in their attributes
        or have splits that the form has no room for: more than 127 branches, or more than 65,535 levels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = C45Classifier().fit(X, y).tree_
    >>> total = np.zeros((2, 3))
    >>> flatten([tree, tree]).add_values(X[[0, 99]], np.ones(2), total)
    >>> total
    array([[2., 0., 0.],
           [0., 2., 0.]])
    """
    n_levels = trees[0].n_levels
    if not all(tree.n_levels is n_levels or np.array_equal(tree.n_levels, n_levels) for tree in trees):
        return None
    counts = np.zeros((2, len(n_levels)), dtype=np.int64)
    fits = all([count_splits(tree._view, counts) for tree in trees])
    n_numeric, n_nominal = counts
    if not fits or (n_nominal & n_numeric).any() or (n_levels[n_nominal > 0] > MOST_LEVELS).any():
        return None
    return FlatForest(
        _cells_of(trees, n_numeric, n_nominal > 0),
        [tree._view for tree in trees],
        np.zeros(len(trees), np.int32) if outputs is None else np.asarray(outputs, np.int32),
        max(tree.depth for tree in trees),
        votes,
    )


def _cells_of(trees: Sequence[Tree], n_numeric: NDArray[np.int64], is_nominal: NDArray[np.bool_]) -> Any:
    """Return how rows become cells: by places among limits if they have room and finding them pays, or by numbers."""
    attributes = np.flatnonzero((n_numeric > 0) | is_nominal).astype(np.int32)
    n_levels = np.where(is_nominal, trees[0].n_levels, 0)[attributes].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(n_numeric[attributes])])
    if len(attributes) <= min(MOST_ATTRIBUTES, STEPS_PER_TREE * len(trees)):
        limits = _sorted_limits(trees, attributes, starts, len(n_numeric))
        most_places, most_nodes = np.diff(starts).max(initial=0), max(tree.n_nodes for tree in trees)
        for form in ("words",) if is_nominal.any() else ("bytes", "words"):
            has_room = most_places <= MOST_PLACES[form] and most_nodes <= MOST_NODES[form]
            if has_room and np.log2(np.diff(starts) + 1).sum() <= STEPS_PER_TREE * len(trees):
                return RowCells(form, attributes, n_levels, starts, limits)
    return RowCells("numbers", attributes, n_levels, np.zeros(1, np.int64), np.empty(0))


def _sorted_limits(
    trees: Sequence[Tree], attributes: NDArray[np.int32], starts: NDArray[np.int64], n_attributes: int
) -> NDArray[np.float64]:
    """Return the distinct limits of numeric splits by attribute, `starts` set to where each begins."""
    limits, places = np.empty(starts[-1]), np.zeros(n_attributes, np.int64)
    places[attributes] = starts[:-1]
    for tree in trees:
        take_limits(tree._view, places, limits)
    for first, last in pairwise(starts):
        limits[first:last].sort()
    drop_repeats(limits, starts)
    return limits[: starts[-1]].copy()
