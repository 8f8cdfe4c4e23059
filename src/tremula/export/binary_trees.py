"""Trees with two branches at every split, as other programs have them: a threshold for a number, or a set of levels.

A missing value takes one branch. Attributes whose missing values take several branches of some tree are listed by
`mixing_attributes`; a program that runs these trees must not be given them. `conversion.py` makes such trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.trees.export.branches import MIXTURE, only_branches
from tremula.trees.member_sum import MemberSum
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


class TooManySplits(UnsupportedModel):
    """A tree whose mixtures of unseen levels need too many binary splits."""


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A tree of binary splits.

    Attributes
    ----------
    attribute : int array (n_splits,)
    threshold : float64 array (n_splits,)
        0 where a set of levels is tested.
    levels : list of (int array or None)
        Codes of the levels that go left; None where a number is compared with the threshold.
    strict : bool
        Whether a number equal to the threshold goes right.
    missing_left : bool array (n_splits,)
    left, right : int arrays (n_splits,)
        Number of a split, or -1 - the number of a leaf. The root is split 0; a tree without splits is leaf 0.
    values : float64 array (n_leaves, n_outputs)
    is_open : bool array (n_leaves,)
        Leaves for rows with an unseen level, if these are left open; their values are 0.
    """

    attribute: NDArray[np.int64]
    threshold: Floats
    levels: list[NDArray[np.int64] | None]
    strict: bool
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: Floats
    is_open: NDArray[np.bool_]

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.attribute)


def mixing_attributes(whole: MemberSum) -> NDArray[np.bool_]:
    """Return for each attribute whether some tree sends its missing values down several branches."""
    mixes = np.zeros(whole.n_attributes, bool)
    for member in whole.members:
        if isinstance(member, Tree):
            splits = np.flatnonzero(~member.is_leaf)
            mixes[member.attribute[splits][only_branches(member)[splits] == MIXTURE]] = True
    return mixes & np.isnan(whole.filling)
