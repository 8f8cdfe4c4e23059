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
MOST_ENTRIES = 2**26  # bytes: each split of levels has one for each level
STEPS_PER_TREE = 4  # of searches for places, which bytes save in following a tree


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
        or have splits that the form has no room for: more than 127 branches, more than 65,535 levels, or so many of
        levels that they take more than 64 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier().fit(X, y).tree_
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
    if int((n_nominal * (n_levels.astype(np.int64) + 1)).sum()) > MOST_ENTRIES:
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
    most_steps, most_nodes = STEPS_PER_TREE * len(trees), max(tree.n_nodes for tree in trees)
    # Sorting takes long in large trees, which have too many limits: some of the trees tell most of them apart.
    if len(attributes) <= min(MOST_ATTRIBUTES, most_steps) and _n_steps(_limits(trees[::4])[1]) <= most_steps:
        limits, starts = _limits(trees)
        most_places = np.diff(starts).max(initial=0)
        for form in ("words",) if is_nominal.any() else ("bytes", "words"):
            has_room = most_places <= MOST_PLACES[form] and most_nodes <= MOST_NODES[form]
            if has_room and _n_steps(starts) <= most_steps:
                return RowCells(form, attributes, n_levels, starts[np.append(attributes, len(starts) - 1)], limits)
    if not is_nominal.any() and 2 * len(attributes) >= len(is_nominal):  # rows need not be copied
        attributes = np.arange(len(is_nominal), dtype=np.int32)
        n_levels = np.zeros(len(attributes), dtype=np.int32)
    return RowCells("numbers", attributes, n_levels, np.zeros(1, np.int64), np.empty(0))


def _n_steps(starts: NDArray[np.int64]) -> float:
    """Return the steps of the search for all places of a row."""
    return float(np.log2(np.diff(starts) + 1).sum())


def _limits(trees: Sequence[Tree]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct limits of numeric splits by attribute, sorted, and where those of each attribute begin."""
    counts = np.zeros((2, trees[0].n_attributes), dtype=np.int64)
    for tree in trees:
        count_splits(tree._view, counts)
    starts = np.concatenate([[0], np.cumsum(counts[0])])
    limits, places = np.empty(starts[-1]), starts[:-1].copy()
    for tree in trees:
        take_limits(tree._view, places, limits)
    for first, last in pairwise(starts.tolist()):
        limits[first:last].sort()
    drop_repeats(limits, starts)
    return limits[: starts[-1]].copy(), starts
