"""Converts trees of other libraries, given as arrays of children or nested dictionaries, to `Tree`.

A missing value takes one branch in these trees. The child on that branch has weight 1 and the other weight 0, so the
rule of tremula's trees (shares by weight) sends the value there. These are not training weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.trees.structure import NODE_DTYPE, NUMERIC_SPLIT, copy_nodes
from tremula.trees.tree import Tree


@dataclass(frozen=True)
class BinaryNodes:
    """A tree of two-way splits, its nodes in any order with the root first.

    Attributes
    ----------
    left, right : int arrays (n_nodes,)
        Children of every node, negative at leaves.
    attribute : int array (n_nodes,)
    threshold : float64 array (n_nodes,)
        Values up to it go left (below it, in a strict tree).
    missing_left : bool array (n_nodes,)
        Whether a missing value goes left.
    values : float64 array (n_nodes, n_outputs)
        Only used at leaves.
    groups : mapping of node to uint8 array, optional
        For a split of levels, the branch of each level: 0 left, 1 right.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    attribute: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    values: NDArray[np.float64]
    groups: Mapping[int, NDArray[np.uint8]] | None = None

    def order(self) -> NDArray[np.int64]:
        """Order the nodes by depth, with the two children of a node next to each other."""
        return nodes_by_depth(self.left, self.right)


def nodes_by_depth(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int64]:
    """Order nodes by depth, the two children of a node next to each other; the order of a converted tree.

    Examples
    --------
    >>> import numpy as np
    >>> nodes_by_depth(np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1]))
    array([0, 1, 4, 2, 3])
    """
    reached = np.zeros(1, dtype=np.int64)
    by_depth, n_reached = [reached], 1
    while len(reached):
        splits = reached[left[reached] >= 0]
        n_reached += 2 * len(splits)
        if n_reached > len(left):
            raise UnsupportedModel("the nodes are not a tree: one of them has several parents")
        reached = np.column_stack([left[splits], right[splits]]).ravel()
        by_depth.append(reached)
    return np.concatenate(by_depth)


def build_tree(given: BinaryNodes, n_levels: NDArray[np.int32], strict: bool) -> Tree:
    """Convert a tree.

    Examples
    --------
    >>> import numpy as np
    >>> leaves = np.array([0.0, -1.0, 1.0])[:, None]
    >>> children, tested = np.array([[1, -1, -1], [2, -1, -1]]), np.array([0, -1, -1])
    >>> stump = BinaryNodes(*children, tested, np.array([0.5, 0, 0]), np.array([False, False, False]), leaves)
    >>> tree = build_tree(stump, np.zeros(1, np.int32), strict=True)
    >>> tree.predict_values([[0.4], [0.5], [np.nan]]).ravel()
    array([-1.,  1.,  1.])
    """
    order = given.order()
    new = np.empty(len(given.left), dtype=np.int64)
    new[order] = np.arange(len(order))
    is_split = given.left[order] >= 0
    splits = order[is_split]
    nodes = np.zeros(len(order), dtype=NODE_DTYPE)
    nodes["attribute"] = np.where(is_split, given.attribute[order], -1)
    nodes["index"][is_split] = NUMERIC_SPLIT
    nodes["index"][~is_split] = np.arange(np.count_nonzero(~is_split))
    nodes["n_branches"][is_split] = 2
    first = new[given.left[splits]]
    nodes["first_child"][is_split] = first
    nodes["threshold"][is_split] = given.threshold[splits]
    nodes["weight"][0] = 1.0
    nodes["weight"][first], nodes["weight"][first + 1] = given.missing_left[splits], ~given.missing_left[splits]
    subsets: list[NDArray[np.uint8]] = []
    for node, branches in (given.groups or {}).items():
        nodes["index"][new[node]] = sum(map(len, subsets))
        nodes["threshold"][new[node]] = 0.0
        subsets.append(branches)
    values = given.values[order[~is_split]]
    return Tree(nodes, values, np.concatenate(subsets) if subsets else [], n_levels, strict)


def constant_tree(values: NDArray[np.float64], n_levels: NDArray[np.int32], strict: bool = False) -> Tree:
    """Return a tree of one leaf."""
    nodes = np.zeros(1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"] = -1, 1.0
    return Tree(nodes, np.reshape(values, (1, -1)), [], n_levels, strict)


def with_attributes(tree: Tree, attributes: NDArray[np.int64], n_levels: NDArray[np.int32]) -> Tree:
    """Return a tree grown on some of the attributes, with the numbers they have among all."""
    nodes = copy_nodes(tree.nodes)
    is_split = nodes["n_branches"] > 0
    nodes["attribute"][is_split] = attributes[nodes["attribute"][is_split]]
    return Tree(nodes, tree.values, tree.subsets, n_levels, tree.strict)


# --- trees that a library writes as nested dictionaries ---


@dataclass(frozen=True)
class Split:
    """The split of a node.

    Attributes
    ----------
    attribute : int
    threshold : float
    missing_left : bool
    left_levels : sequence of int or None
        Levels that go left, for a split of levels.
    """

    attribute: int
    threshold: float
    missing_left: bool
    left_levels: list[int] | None = None


def flatten(
    root: dict[str, Any],
    children: tuple[str, str],
    split_of: Callable[[dict[str, Any]], Split],
    value_of: Callable[[dict[str, Any]], Any],
    n_levels: NDArray[np.int32],
) -> BinaryNodes:
    """Convert nested nodes to arrays, the root first.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = lambda value: {"value": value}
    >>> root = {"no": leaf(1.0), "yes": leaf(2.0), "at": 0.5}
    >>> given = flatten(root, ("no", "yes"), lambda node: Split(0, node["at"], True), lambda node: node["value"], [0])
    >>> given.left.tolist(), given.values.ravel().tolist()
    ([1, -1, -1], [0.0, 1.0, 2.0])
    """
    nodes, left, right, splits = [root], [], [], []
    for node in nodes:  # the list grows in the loop
        is_split = children[0] in node
        left.append(len(nodes) if is_split else -1)
        right.append(len(nodes) + 1 if is_split else -1)
        splits.append(split_of(node) if is_split else Split(-1, 0.0, True))
        if is_split:
            nodes += [node[children[0]], node[children[1]]]
    leaf_values = [np.atleast_1d(value_of(node)) for node in nodes if children[0] not in node]
    values = np.zeros((len(nodes), len(leaf_values[0])))
    values[np.array(left) < 0] = leaf_values
    return BinaryNodes(
        left=np.array(left),
        right=np.array(right),
        attribute=np.array([split.attribute for split in splits]),
        threshold=np.array([split.threshold for split in splits], dtype=np.float64),
        missing_left=np.array([split.missing_left for split in splits]),
        values=values,
        groups={
            number: branches_of_levels(split.left_levels, int(n_levels[split.attribute]))
            for number, split in enumerate(splits)
            if split.left_levels is not None
        },
    )


def branches_of_levels(left: list[int], n_levels: int) -> NDArray[np.uint8]:
    """Return the branch of each level: 0 for those that go left, 1 for the others.

    Examples
    --------
    >>> branches_of_levels([0, 2], 4)
    array([0, 1, 0, 1], dtype=uint8)
    """
    branches = np.ones(n_levels, dtype=np.uint8)
    branches[left] = 0
    return branches
