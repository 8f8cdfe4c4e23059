"""Moves thresholds that lie on training values into the middle of the gap next to that value.

Some learners take data values for thresholds: C4.5, XGBoost, and LightGBM beside 0. Half of all noise, however little,
sends a row with such a value to the other branch. In the middle of the gap it needs as much noise as on other
thresholds, and with less and less noise the answers tend to those without noise.

At the lowest and the highest value, where a model separates missing values from all others, the gap beyond counts as
wide as the one before. No training row changes its branch. A row that lies between the old and the new place of a
threshold does; without noise on that attribute thresholds stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tremula.trees.structure import copy_nodes, numeric_splits
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

NEAR = 1e-3  # a threshold is on a value if their distance is at most this part of the gap
LARGEST = np.finfo(np.float64).max / 4  # differences of such numbers are still finite


def _all_tests(model: TreeSum) -> tuple[NDArray[np.int32], Floats, NDArray[np.int64]]:
    """Return attribute and largest value of the first branch of all numeric splits, and where each tree's end."""
    splits = [numeric_splits(tree.nodes) for tree in model.trees]
    last = [
        np.nextafter(tree.threshold[which], -np.inf) if tree.strict else tree.threshold[which]
        for tree, which in zip(model.trees, splits)
    ]
    attributes = [tree.attribute[which] for tree, which in zip(model.trees, splits)]
    return np.concatenate(attributes), np.concatenate(last), np.cumsum([len(which) for which in splits])


def find_ties(model: TreeSum, rows: Floats) -> Floats:
    """Find the thresholds that lie on values of training rows, and the middle of the gap next to each.

    Parameters
    ----------
    model : TreeSum
    rows : float64 array (n_rows, n_attributes)
        Training rows, encoded.

    Returns
    -------
    float64 array (n_ties, 3)
        Attribute, largest value of the first branch, and the largest after the move; sorted by attribute and value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> find_ties(mean_of_trees([C45Classifier().fit(X, y).tree_]), X).round(2)
    array([[2.  , 4.9 , 4.95],
           [3.  , 0.6 , 0.8 ],
           [3.  , 1.5 , 1.55],
           [3.  , 1.7 , 1.75]])
    """
    attributes, last, _ = _all_tests(model)
    ties = [np.empty((0, 3))]
    for attribute, places in _by_attribute(attributes):
        old, new = _moves_in_column(np.unique(last[places]), rows[:, attribute])
        ties.append(np.column_stack([np.full(len(old), float(attribute)), old, new]))
    return np.concatenate(ties)


def _by_attribute(attributes: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    order = np.argsort(attributes, kind="stable")
    distinct, starts = np.unique(attributes[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]))


def _with_neighbours(values: Floats) -> Floats:
    """Add a value at either end, as far away as the next: models may separate missing values there."""
    if len(values) < 2:
        return values
    return np.concatenate([[2.0 * values[0] - values[1]], values, [2.0 * values[-1] - values[-2]]])


def _moves_in_column(last: Floats, column: Floats) -> tuple[Floats, Floats]:
    """Return those of the distinct thresholds of one attribute that lie on a value, and their new places."""
    values = _with_neighbours(np.unique(column[np.abs(column) < LARGEST]))
    n_below = np.searchsorted(values, last, side="right")
    is_inside = (n_below > 0) & (n_below < len(values))
    last, n_below = last[is_inside], n_below[is_inside]
    low, high = values[n_below - 1], values[n_below]
    middle = low + 0.5 * (high - low)
    is_tie = np.minimum(last - low, high - last) <= NEAR * (high - low)
    # Between neighbouring numbers there is no middle, and the sum may be rounded up to the next value.
    keeps_rows = np.searchsorted(values, middle, side="right") == n_below
    is_moved = is_tie & keeps_rows & (middle != last)
    return last[is_moved], middle[is_moved]


def move_thresholds(model: TreeSum, ties: Floats) -> TreeSum:
    """Return the model with the given thresholds moved, in all trees.

    Parameters
    ----------
    model : TreeSum
    ties : float64 array (n_ties, 3)
        As `find_ties` returns them, or some of these rows.
    """
    if not len(ties):
        return model
    attributes, moved, ends = _all_tests(model)
    is_moved = np.zeros(len(moved), dtype=bool)
    for attribute, places in _by_attribute(attributes):
        _, old, new = ties[ties[:, 0] == attribute].T
        if len(old):
            nearest = np.minimum(np.searchsorted(old, moved[places]), len(old) - 1)
            is_hit = old[nearest] == moved[places]
            moved[places[is_hit]], is_moved[places[is_hit]] = new[nearest[is_hit]], True
    parts = zip(model.trees, np.split(moved, ends[:-1]), np.split(is_moved, ends[:-1]))
    return replace(model, trees=tuple(_with_last_values(tree, last, which) for tree, last, which in parts))


def _with_last_values(tree: Tree, last: Floats, which: NDArray[np.bool_]) -> Tree:
    if not which.any():
        return tree
    nodes = copy_nodes(tree.nodes)
    splits = numeric_splits(nodes)[which]
    nodes["threshold"][splits] = np.nextafter(last[which], np.inf) if tree.strict else last[which]
    return Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict)
