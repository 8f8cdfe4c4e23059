"""Rows with missing values in ONNX: such a row takes several branches of a tree, in shares, which TreeEnsemble cannot.

These rows are taken out, one after the other. For each row the branch of every split is found, then the share of the
row that reaches every node, depth by depth, and the values of the leaves are added in these shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tremula.export.onnx.graph import OnnxGraph
from tremula.export.thresholds import ThresholdRounding
from tremula.trees.export.branches import MIXTURE
from tremula.trees.structure import (
    LEVEL_UNSEEN,
    MULTIWAY_SPLIT,
    branch_shares,
    children_and_parents,
    depths_of,
    is_numeric,
    numeric_splits,
)
from tremula.trees.tree import Tree

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The nodes of many trees, by depth.

    Attributes
    ----------
    attribute, threshold, strict, first_branch : arrays (n_splits,)
        Of every split. `first_branch` is the place of the first level in `branch_of_level`, -1 for a numeric split.
    branch_of_level : int array
        Branches of the levels at nominal splits, MIXTURE for an unseen level.
    split, branch, share : arrays (n_nodes - n_trees,)
        Of every node but the roots: the split above it, its branch there, its share of rows without a value.
    parents : list of int arrays
        For each depth from 1 on, the place of each node's parent among the nodes of the depth above.
    n_roots : int
    leaf, target, weight : arrays
        For each value of a leaf that is not 0: the leaf, among all nodes by depth, the margin, and weight times value.
    """

    attribute: Whole
    threshold: NDArray[np.floating]
    strict: NDArray[np.bool_]
    first_branch: Whole
    branch_of_level: Whole
    split: Whole
    branch: Whole
    share: Floats
    parents: list[Whole]
    n_roots: int
    leaf: Whole
    target: Whole
    weight: Floats


def tabulate(trees: Sequence[Tree], weights: Floats, starts: Whole, rounding: ThresholdRounding) -> NodeTable:
    """Return the nodes of all trees, sorted by depth."""
    offsets = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    nodes = np.concatenate([tree.nodes for tree in trees])
    depth = np.concatenate([depths_of(tree.nodes) for tree in trees])
    order = np.argsort(depth, kind="stable")
    place = np.argsort(order, kind="stable")  # of each node among all, by depth
    is_split = nodes["n_branches"] > 0
    split_number = np.cumsum(is_split) - 1
    parent, share = np.full(len(nodes), -1), np.ones(len(nodes))
    for tree, offset in zip(trees, offsets):
        children, parents = children_and_parents(tree.nodes)
        parent[offset + children] = offset + parents
        share[offset : offset + tree.n_nodes] = branch_shares(tree.nodes)
    others = order[len(trees) :]
    ends = np.cumsum(np.bincount(depth))
    groups = [order[start:end] for start, end in pairwise(ends)]
    first_child = nodes["first_child"] + np.repeat(offsets[:-1], np.diff(offsets))
    first_branch, branch_of_level = _level_branches(trees)
    leaf, target, weight = _leaf_values(trees, weights, starts, offsets, place)
    return NodeTable(
        attribute=nodes["attribute"][is_split].astype(np.int64),
        threshold=np.concatenate([_thresholds(tree, rounding) for tree in trees]),
        strict=np.repeat([tree.strict for tree in trees], [int((~tree.is_leaf).sum()) for tree in trees]),
        first_branch=first_branch,
        branch_of_level=branch_of_level,
        split=split_number[parent[others]],
        branch=others - first_child[parent[others]],
        share=share[others],
        parents=[place[parent[group]] - before for group, before in zip(groups, [0, *ends[:-2]])],
        n_roots=len(trees),
        leaf=leaf,
        target=target,
        weight=weight,
    )


def _thresholds(tree: Tree, rounding: ThresholdRounding) -> NDArray[np.floating]:
    """Return the thresholds of all splits of a tree, 0 at nominal ones."""
    thresholds, numeric = np.zeros(tree.n_nodes, rounding.dtype), numeric_splits(tree.nodes)
    thresholds[numeric] = rounding.round(tree.attribute[numeric], tree.threshold[numeric], tree.strict)
    return thresholds[~tree.is_leaf]


def _level_branches(trees: Sequence[Tree]) -> tuple[Whole, Whole]:
    """Return for each split the place of its first level in the second array; -1 for numeric splits."""
    firsts, branches, n_branches = [], [np.zeros(1, np.int64)], 1  # one entry at least, for numeric splits
    for tree in trees:
        compares = is_numeric(tree.nodes)
        for node in np.flatnonzero(~tree.is_leaf):
            start, n_levels = int(tree.nodes["index"][node]), int(tree.n_levels[tree.attribute[node]])
            if compares[node]:
                firsts.append(-1)
                continue
            subset = np.arange(n_levels) if start == MULTIWAY_SPLIT else tree.subsets[start : start + n_levels]
            is_unseen = (start != MULTIWAY_SPLIT) & (subset == LEVEL_UNSEEN)
            firsts.append(n_branches)
            branches.append(np.where(is_unseen, MIXTURE, subset.astype(np.int64)))
            n_branches += n_levels
    return np.array(firsts, np.int64), np.concatenate(branches)


def _leaf_values(
    trees: Sequence[Tree], weights: Floats, starts: Whole, offsets: Whole, place: Whole
) -> tuple[Whole, Whole, Floats]:
    parts = []
    for tree, weight, start, offset in zip(trees, weights, starts, offsets):
        leaves = np.flatnonzero(tree.is_leaf)
        values = weight * tree.values[tree.nodes["index"][leaves]]
        row, column = np.nonzero(values)
        parts.append((place[offset + leaves[row]], start + column, values[row, column]))
    leaf, target, weight = (np.concatenate(part) for part in zip(*parts))
    return leaf, target.astype(np.int64), weight


# --- the graph ---


def replace_mixed_rows(graph: OnnxGraph, table: NodeTable, rows: str, is_mixed: str, margins: str) -> str:
    """Return the margins, with those of the rows that take several branches computed anew."""
    onnx, helper = graph.onnx, graph.onnx.helper
    n_margins = graph.add("Slice", graph.add("Shape", margins), *(graph.whole_numbers(end) for end in (1, 2)))
    zeros = graph.add("ConstantOfShape", n_margins, value=graph.tensor(np.zeros(1, graph.dtype)))
    body = OnnxGraph(graph.dtype, tuple(graph.taken))
    total = _row_margins(body, table, "row", zeros)
    row_margins = body.add("Identity", total)
    scan_body = helper.make_graph(
        body.nodes,
        "one_row",
        [helper.make_tensor_value_info("row", graph.number_type, None)],
        [helper.make_tensor_value_info(row_margins, graph.number_type, None)],
        body.constants,
    )
    then = OnnxGraph(graph.dtype, tuple(body.taken))
    places = then.add("Transpose", then.add("NonZero", is_mixed), perm=[1, 0])
    chosen = then.add("GatherND", rows, places)
    sums = then.add("Scan", chosen, body=scan_body, num_scan_inputs=1)
    replaced = then.add("ScatterND", margins, places, sums)
    otherwise = OnnxGraph(graph.dtype, tuple(then.taken))
    unchanged = otherwise.add("Identity", margins)
    branches = [
        helper.make_graph(
            part.nodes,
            name,
            [],
            [helper.make_tensor_value_info(result, graph.number_type, None)],
            part.constants,
        )
        for part, name, result in ((then, "mixed_rows", replaced), (otherwise, "no_mixed_rows", unchanged))
    ]
    graph.taken |= otherwise.taken
    as_numbers = graph.add("Cast", is_mixed, to=onnx.TensorProto.INT32)
    any_mixed = graph.add("Cast", graph.add("ReduceMax", as_numbers, keepdims=0), to=onnx.TensorProto.BOOL)
    return graph.add("If", any_mixed, then_branch=branches[0], else_branch=branches[1])


def _row_margins(graph: OnnxGraph, table: NodeTable, row: str, zeros: str) -> str:
    """Return the margins of one row."""
    int64 = np.int64
    branches = _branches(graph, table, row)
    taken = graph.add("Gather", branches, graph.constant(table.split, "splits", int64))
    is_taken = graph.add("Equal", taken, graph.constant(table.branch, "branches", int64))
    is_open = graph.add("Equal", taken, graph.whole_numbers(MIXTURE))
    certain = graph.add("Cast", is_taken, to=graph.number_type)
    factors = graph.add("Where", is_open, graph.constant(table.share, "shares"), certain)
    reached = graph.constant(np.ones(table.n_roots))
    by_depth, start = [reached], 0
    for parents in table.parents:
        ends = (graph.whole_numbers(end) for end in (start, start + len(parents)))
        above = graph.add("Gather", reached, graph.constant(parents, "parents", int64))
        reached = graph.add("Mul", above, graph.add("Slice", factors, *ends))
        by_depth.append(reached)
        start += len(parents)
    everywhere = graph.add("Concat", *by_depth, axis=0)
    shares = graph.add("Gather", everywhere, graph.constant(table.leaf, "leaves", int64))
    values = graph.add("Mul", shares, graph.constant(table.weight, "values"))
    targets = graph.constant(table.target, "targets", int64)
    return graph.add("ScatterElements", zeros, targets, values, axis=0, reduction="add")


def _branches(graph: OnnxGraph, table: NodeTable, row: str) -> str:
    """Return the branch of the row at every split, MIXTURE where its value is missing or its level unseen."""
    int64, whole = np.int64, graph.onnx.TensorProto.INT64
    values = graph.add("Gather", row, graph.constant(table.attribute, "attributes", int64))
    thresholds = graph.constant(table.threshold, "thresholds")
    is_left = graph.add("LessOrEqual", values, thresholds)
    if table.strict.any():
        allows_equal = graph.constant(~table.strict, "allows_equal", bool)
        is_left = graph.add("Or", graph.add("Less", values, thresholds), graph.add("And", is_left, allows_equal))
    branches = graph.add("Where", is_left, graph.whole_numbers(0), graph.whole_numbers(1))
    is_missing = graph.add("IsNaN", values)
    if (table.first_branch >= 0).any():
        is_nominal = graph.constant(table.first_branch >= 0, "nominal", bool)
        has_code = graph.add("And", is_nominal, graph.add("Not", is_missing))
        codes = graph.add("Where", has_code, values, graph.constant(0.0))
        first = graph.constant(np.maximum(table.first_branch, 0), "first_branches", int64)
        places = graph.add("Add", first, graph.add("Cast", codes, to=whole))
        of_level = graph.add("Gather", graph.constant(table.branch_of_level, "level_branches", int64), places)
        branches = graph.add("Where", is_nominal, of_level, branches)
    return graph.add("Where", is_missing, graph.whole_numbers(MIXTURE), branches)
