"""Turns a tree of tremula into one of binary splits.

A branch for each level becomes a few tests of sets. A level that training did not see at a split takes both branches in
tremula; here it gets a branch of its own, whose leaves hold the mixture, or one leaf that says so. A missing value
takes one branch: that of the value which is filled in, that which the split has for it, or the only one with a share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.export.binary_trees import BinaryTree
from tremula.export.expansion import Expansion
from tremula.trees.export.branches import only_branches
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


def binary_tree(
    tree: Tree,
    n_levels: NDArray[np.int32],
    filling: Floats,
    mixes: NDArray[np.bool_],
    leaves_open: bool = False,
) -> BinaryTree:
    """Return a tree of binary splits with the same values for all rows whose mixing attributes are known.

    Parameters
    ----------
    tree : Tree
        Codes of levels may be numbers to it.
    n_levels : int array
        Levels of each attribute; a level that stands for missing values is not included.
    filling : float array
        What replaces missing values of each attribute; NaN where they stay missing.
    mixes : bool array
        Attributes whose missing values take several branches of some tree.
    leaves_open : bool
        Whether rows with a level that training did not see at a split get an open leaf instead of the mixture.

    Raises
    ------
    TooManySplits
        The mixtures need too many splits: leave them open.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> from tremula.export.binary_trees import mixing_attributes
    >>> model = C45Classifier().fit(*load_iris(return_X_y=True))
    >>> whole = model.as_member_sum()
    >>> binary = binary_tree(model.tree_, whole.n_levels, whole.filling, mixing_attributes(whole))
    >>> binary.n_splits, len(binary.values)
    (4, 5)
    """
    tested = tree.attribute[~tree.is_leaf]
    if (n_levels[tested] > 0).any():
        return Expansion(tree, n_levels, filling, mixes, leaves_open).build()
    return _numeric(tree, filling)


def _numeric(tree: Tree, filling: Floats) -> BinaryTree:
    """Return a tree that tests numbers only; its splits and leaves keep their order."""
    splits, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    place = np.empty(tree.n_nodes, np.int64)
    place[splits], place[leaves] = np.arange(len(splits)), -1 - np.arange(len(leaves))
    attribute, threshold = tree.attribute[splits].astype(np.int64), tree.threshold[splits]
    filled = filling[attribute]
    is_left = filled < threshold if tree.strict else filled <= threshold
    return BinaryTree(
        attribute=attribute,
        threshold=threshold,
        levels=[None] * len(splits),
        strict=tree.strict,
        missing_left=np.where(np.isnan(filled), only_branches(tree)[splits] == 0, is_left),
        left=place[tree.first_child[splits]],
        right=place[tree.first_child[splits] + 1],
        values=tree.values[tree.nodes["index"][leaves]],
        is_open=np.zeros(len(leaves), bool),
    )
