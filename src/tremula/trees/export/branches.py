"""Which branch a value takes at a split: of each level, and of a missing value; or that it takes several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.trees.structure import (
    ALL_BRANCHES,
    LEVEL_UNSEEN,
    MULTIWAY_SPLIT,
    branch_shares,
    is_numeric,
    missing_branches,
)
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

MIXTURE = -1  # instead of the number of a branch: the value takes all, in their shares


def only_branches(tree: Tree) -> NDArray[np.int64]:
    """Return for each split the branch that gets all rows whose value is missing; MIXTURE if several have a share."""
    shares, branches = branch_shares(tree.nodes), np.full(tree.n_nodes, MIXTURE)
    splits = np.flatnonzero(~tree.is_leaf)
    first, n_branches = tree.first_child[splits], tree.n_branches[splits]
    for branch in range(int(n_branches.max(initial=0))):
        has_branch = branch < n_branches
        takes_all = splits[has_branch][shares[first[has_branch] + branch] == 1.0]
        branches[takes_all] = branch
    return branches


class NodeBranches:
    """Branches at the splits of one tree.

    Parameters
    ----------
    tree : Tree
        Codes of levels may be numbers to it.
    n_levels : int array (n_attributes,)
        Levels of each attribute; a level that stands for missing values is not included.
    filling : float array (n_attributes,)
        What replaces missing values of each attribute; NaN where they stay missing.
    """

    def __init__(self, tree: Tree, n_levels: NDArray[np.int32], filling: Floats) -> None:
        self.tree, self.n_levels, self.filling = tree, n_levels, filling
        self.only = only_branches(tree)
        self.is_numeric, self.own = is_numeric(tree.nodes), missing_branches(tree.nodes)

    def of_codes(self, node: int) -> NDArray[np.int64]:
        """Return the branch of each level and, last, of missing values; MIXTURE where they take several.

        A level that is unseen at the node takes the branch of missing values if the split has one.
        """
        tree, attribute = self.tree, int(self.tree.attribute[node])
        filled = self.filling[attribute]
        n_codes = int(self.n_levels[attribute]) + 1
        start, codes = int(tree.nodes["index"][node]), np.arange(n_codes)
        if self.is_numeric[node]:
            threshold = float(tree.threshold[node])
            branches = np.where(codes < threshold if tree.strict else codes <= threshold, 0, 1)
        elif start == MULTIWAY_SPLIT:
            branches = codes.copy()
        else:
            subset = tree.subsets[start : start + min(n_codes, int(tree.n_levels[attribute]))]
            unseen = MIXTURE if self.own[node] == ALL_BRANCHES else int(self.own[node])
            branches = np.full(n_codes, unseen)
            branches[: len(subset)] = np.where(subset == LEVEL_UNSEEN, unseen, subset.astype(np.int64))
        branches[-1] = self.only[node] if np.isnan(filled) else branches[int(filled)]
        return branches

    def of_missing(self, node: int) -> int:
        """Return the branch of a missing number."""
        filled, threshold = self.filling[self.tree.attribute[node]], self.tree.threshold[node]
        if np.isnan(filled):
            return int(self.only[node])
        return 0 if (filled < threshold if self.tree.strict else filled <= threshold) else 1
