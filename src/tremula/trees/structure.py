"""The shape of a tree read from its node records: parents, depths, shares of branches, and whether it is sound.

Children of a node are consecutive and always have larger numbers than it; the root is node 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.route as route

NODE_DTYPE = np.dtype(
    [
        ("threshold", np.float64),
        ("weight", np.float64),
        ("attribute", np.int32),
        ("first_child", np.int32),
        ("n_branches", np.int32),
        ("index", np.int32),
    ]
)
NUMERIC_SPLIT = -1
MULTIWAY_SPLIT = -2
LEVEL_UNSEEN = 2


def copy_nodes(nodes: NDArray[Any]) -> NDArray[Any]:
    """Copy of node records, made as plain bytes: NumPy's own goes field by field and is ten times slower."""
    return np.ascontiguousarray(nodes, dtype=NODE_DTYPE).view(np.void).copy().view(NODE_DTYPE)


def children_and_parents(nodes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every node below the root, grouped by parent, and its parent."""
    splits = np.flatnonzero(nodes["n_branches"])
    n_branches = nodes["n_branches"][splits].astype(np.int64)
    ends = np.cumsum(n_branches)
    offsets = np.repeat(nodes["first_child"][splits] - (ends - n_branches), n_branches)
    return offsets + np.arange(len(offsets)), np.repeat(splits, n_branches)


def parents_of(nodes: NDArray[Any]) -> NDArray[np.int64]:
    """Parent of every node, -1 for the root."""
    parents = np.full(len(nodes), -1)
    children, their_parents = children_and_parents(nodes)
    parents[children] = their_parents
    return parents


def depths_of(nodes: NDArray[Any]) -> NDArray[np.int32]:
    """Count the splits above every node."""
    depths = np.empty(len(nodes), dtype=np.int32)
    route.fill_depths(nodes, depths)
    return depths


def branch_shares(nodes: NDArray[Any]) -> NDArray[np.float64]:
    """Share of every node in what its parent passes on when the value tested is missing; 1 for the root."""
    children, parents = children_and_parents(nodes)
    totals = np.bincount(parents, weights=nodes["weight"][children], minlength=len(nodes))
    shares = np.ones(len(nodes))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_weight = nodes["weight"][children] / totals[parents]
    shares[children] = np.where(totals[parents] > 0, by_weight, 1.0 / nodes["n_branches"][parents])
    return shares


def nearest_reached(nodes: NDArray[Any], asked: NDArray[np.int64], is_reached: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For every node asked about, itself if training weight reached it, else its nearest ancestor that has some."""
    found = asked.copy()
    waiting = np.flatnonzero(~is_reached[found])
    if len(waiting):
        parents = parents_of(nodes)
    while len(waiting):
        found[waiting] = np.maximum(parents[found[waiting]], 0)
        waiting = waiting[~is_reached[found[waiting]] & (found[waiting] > 0)]
    return found


def check_structure(
    nodes: NDArray[Any],
    n_value_rows: int,
    subsets: NDArray[np.uint8],
    n_levels: NDArray[np.int32],
) -> None:
    """Raise ValueError unless every row of attribute values can be sent down the tree to one of its leaves."""
    is_split = nodes["n_branches"] != 0
    splits, leaves = nodes[is_split], nodes[~is_split]
    if not np.all((splits["attribute"] >= 0) & (splits["attribute"] < len(n_levels))):
        raise ValueError(f"a split tests an attribute outside 0..{len(n_levels) - 1}")
    levels = n_levels[splits["attribute"]]
    multiway, subset = splits["index"] == MULTIWAY_SPLIT, splits["index"] >= 0
    claims = {
        "a node has a negative number of branches": nodes["n_branches"] < 0,
        "a branch leads to a node that does not exist": (
            splits["first_child"].astype(np.int64) + splits["n_branches"] > len(nodes)
        ),
        "a child has a smaller number than its parent": splits["first_child"] <= np.flatnonzero(is_split),
        "a split is of no known kind": splits["index"] < MULTIWAY_SPLIT,
        "a numeric or subset split has other than two branches": ~multiway & (splits["n_branches"] != 2),
        "a multiway split has other than one branch per level": multiway & (splits["n_branches"] != levels),
        "a numeric split has no threshold": (splits["index"] == NUMERIC_SPLIT) & np.isnan(splits["threshold"]),
        "a subset split reads beyond the subsets": subset & (splits["index"].astype(np.int64) + levels > len(subsets)),
        "a leaf has an attribute": leaves["attribute"] != -1,
        "a leaf's value does not exist": (leaves["index"] < 0) | (leaves["index"] >= n_value_rows),
        "a subset names a third branch": subsets > LEVEL_UNSEEN,
        "a weight is negative or not a number": ~(nodes["weight"] >= 0),
    }
    for claim, broken in claims.items():
        if np.any(broken):
            raise ValueError(f"this is not a sound tree: {claim}")
    n_children = splits["n_branches"].sum(dtype=np.int64)
    if n_children != len(nodes) - 1 or not np.array_equal(
        np.sort(children_and_parents(nodes)[0]), np.arange(1, len(nodes))
    ):
        raise ValueError("this is not a sound tree: a node below the root has no parent or several")
