"""The nodes of all trees of a model as columns of one table, which a query can join its rows with, level by level."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.trees.export.branches import MIXTURE, NodeBranches
from tremula.trees.member_sum import MemberSum
from tremula.trees.structure import MULTIWAY_SPLIT, branch_shares, children_and_parents
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

LEAF = -1  # instead of an attribute
NO_SET = -1  # instead of the number of a set: one branch for each level, in their order
MIXED = "-"  # in a set: the level takes all branches, in their shares


@dataclass(eq=False)
class NodeArrays:
    """The nodes of a model, numbered through all of its trees.

    Attributes
    ----------
    attribute : list of int
        Attribute that each node tests; LEAF for a leaf.
    threshold : list of float
        Numbers up to it take the first branch; for a nominal attribute the number of a set in `sets`, or NO_SET.
    first : list of int
        First child of a split, or the row of a leaf in `values`.
    parent : list of int
        -1 for a root.
    weight : list of float
        Share of the parent's rows, up to a factor; 0 where the parent never divides a row.
    missing : list of int
        Branch of missing values; MIXTURE if they take all branches.
    sets : list of str
        For each distinct set of levels the branch of every level, a digit each.
    values : list of tuples of float
        Distinct values of leaves.
    roots : list of int
    depth : int
        Largest depth of a tree.
    """

    attribute: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    depth: int = 0

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.attribute)


def node_arrays(whole: MemberSum) -> NodeArrays:
    """Return the nodes of a sum of trees; members must not be model trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> nodes = node_arrays(CARTClassifier(max_depth=1).fit(X[:, 3:], y).as_member_sum())
    >>> nodes.attribute, nodes.threshold, nodes.first, nodes.parent
    ([0, -1, -1], [0.8, 0.0, 0.0], [1, 0, 1], [-1, 0, 0])
    >>> nodes.values
    [(1.0, 0.0, 0.0), (0.0, 0.5, 0.5)]
    """
    arrays = NodeArrays()
    set_numbers: dict[str, int] = {}
    value_numbers: dict[tuple[float, ...], int] = {}
    trees = [member for member in whole.members if isinstance(member, Tree)]
    if len(trees) < len(whole.members):
        raise UnsupportedModel("a model tree has linear models in its leaves, which are no values: use form='case'")
    width = max(tree.n_outputs for tree in trees)
    for tree in trees:
        _add_tree(arrays, tree, NodeBranches(tree, whole.n_levels, whole.filling), set_numbers, value_numbers, width)
    arrays.sets, arrays.values = list(set_numbers), list(value_numbers)
    return arrays


def _add_tree(
    arrays: NodeArrays,
    tree: Tree,
    branches: NodeBranches,
    set_numbers: dict[str, int],
    value_numbers: dict[tuple[float, ...], int],
    width: int,
) -> None:
    start, is_leaf = arrays.n_nodes, tree.is_leaf
    first = np.where(is_leaf, 0, tree.first_child + start)
    padded = np.pad(tree.values, ((0, 0), (0, width - tree.n_outputs)))
    rows = [value_numbers.setdefault(tuple(row), len(value_numbers)) for row in padded.tolist()]
    first[is_leaf] = np.array(rows)[tree.nodes["index"][is_leaf]]
    threshold, missing, mixes = _splits(tree, branches, set_numbers)
    children, parents = children_and_parents(tree.nodes)
    parent = np.full(tree.n_nodes, -1)
    parent[children] = parents + start
    weight = np.zeros(tree.n_nodes)
    weight[children] = np.where(mixes[parents], _short_shares(tree)[children], 0.0)
    arrays.attribute += np.where(is_leaf, LEAF, tree.attribute).tolist()
    arrays.threshold += threshold.tolist()
    arrays.first += first.tolist()
    arrays.parent += parent.tolist()
    arrays.weight += weight.tolist()
    arrays.missing += missing.tolist()
    arrays.roots.append(start)
    arrays.depth = max(arrays.depth, tree.depth)


def _splits(
    tree: Tree, branches: NodeBranches, set_numbers: dict[str, int]
) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the threshold or set of every node, its branch of missing values, and whether it may divide a row."""
    # A number below a threshold is one up to the number before it.
    threshold = np.nextafter(tree.threshold, -np.inf) if tree.strict else tree.threshold.astype(np.float64)
    threshold = np.where(tree.is_leaf, 0.0, threshold)
    missing = np.full(tree.n_nodes, MIXTURE)
    mixes = np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        attribute = int(tree.attribute[node])
        if not branches.n_levels[attribute]:
            missing[node] = branches.of_missing(node)
            mixes[node] = missing[node] == MIXTURE
            continue
        if int(tree.nodes["index"][node]) == MULTIWAY_SPLIT:
            filled = branches.filling[attribute]
            missing[node] = branches.only[node] if np.isnan(filled) else int(filled)
            threshold[node], mixes[node] = NO_SET, missing[node] == MIXTURE
            continue
        *of_levels, missing[node] = branches.of_codes(node).tolist()
        text = "".join(MIXED if branch == MIXTURE else str(branch) for branch in of_levels)
        threshold[node] = set_numbers.setdefault(text, len(set_numbers))
        mixes[node] = MIXED in text or missing[node] == MIXTURE
    return threshold, missing, mixes


def _short_shares(tree: Tree) -> Floats:
    """Return the share of every branch times a factor of its split: whole weights, if these give the same shares."""
    weights = tree.nodes["weight"]
    shares = branch_shares(tree.nodes)
    children, parents = children_and_parents(tree.nodes)
    totals = np.bincount(parents, weights=weights[children], minlength=tree.n_nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_same = (weights[children] / totals[parents] == shares[children]) & (weights[children] % 1 == 0)
    differs = np.bincount(parents, weights=~is_same, minlength=tree.n_nodes) > 0
    short = shares.copy()
    short[children] = np.where(differs[parents], shares[children], weights[children])
    return short
