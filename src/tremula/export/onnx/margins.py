"""Margins of a model in ONNX: the sum of its trees, and of the linear models in the leaves of its model trees.

A linear model is written as the coefficients of its terms: trees add them up, and one operation multiplies the sums by
the terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.export.binary_trees import BinaryTree, TooManySplits, mixing_attributes
from tremula.export.conversion import binary_tree
from tremula.export.linear_basis import NUMBER, basis_of
from tremula.export.model import ExportedModel
from tremula.export.onnx.graph import OnnxGraph
from tremula.export.onnx.inputs import encoded_rows
from tremula.export.onnx.mixtures import replace_mixed_rows, tabulate
from tremula.export.onnx.trees import PlacedTree, sum_trees
from tremula.export.thresholds import ThresholdRounding
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import tree_with_values

Floats = NDArray[np.float64]


class Margins:
    """Writes the margins of a model.

    Parameters
    ----------
    graph : OnnxGraph
    exported : ExportedModel
    rounding : ThresholdRounding
    follows_shares : bool
        Whether rows with missing values take several branches; else they are refused.
    """

    def __init__(
        self, graph: OnnxGraph, exported: ExportedModel, rounding: ThresholdRounding, follows_shares: bool
    ) -> None:
        self.graph, self.rounding, self.whole = graph, rounding, exported.whole
        self.basis, self.term_filling = basis_of(exported.whole), _common_filling(exported)
        self.mixes = mixing_attributes(self.whole)
        if follows_shares and self.whole.votes and self.mixes.any():
            raise UnsupportedModel(
                f"the members of {exported.name} vote, and votes on rows with missing values are not written to ONNX: "
                "use missing='none', which gives such rows NaN, or export SQL or a page"
            )
        self.follows_shares = follows_shares and not exported.no_missing
        self.refuses = np.zeros_like(self.mixes) if self.follows_shares else self.mixes.copy()
        self.refuses[self.basis.attribute[np.isnan(self.term_filling[self.basis.attribute])]] = True
        self.refuses |= bool(exported.no_missing)
        self.rows = encoded_rows(graph, exported)

    def write(self) -> str:
        """Return the name of the margins."""
        graph = self.graph
        constant, linear = self._constant_margins(), self._linear_margins()
        names = [name for name in (constant[0], linear) if name is not None]
        offset = self.whole.offset + constant[1]
        if not names:
            return graph.add("Add", graph.filled(self.rows, len(offset), 0.0), graph.constant(offset))
        margins = names[0] if len(names) == 1 else graph.add("Add", *names)
        return graph.add("Add", margins, graph.constant(offset)) if offset.any() else margins

    def refused_rows(self) -> str | None:
        """Return the name of a column that is true for rows without an answer; None if all have one."""
        refused = np.flatnonzero(self.refuses)
        return self._any_missing(refused, keepdims=1) if len(refused) else None

    # --- trees ---

    def _constant_margins(self) -> tuple[str | None, Floats]:
        """Return the sum of trees that have a split, and the values of those that have none."""
        n_margins = self.whole.n_margins
        placed, numbers, offset = [], [], np.zeros(n_margins)
        for number, member in enumerate(self.whole.members):
            if not isinstance(member, Tree):
                continue
            weight, start = float(self.whole.weights[number]), int(self.whole.starts[number])
            tree = self._binary(member)
            if self.follows_shares and not tree.n_splits and member.n_nodes > 1:
                tree = _with_a_split(tree)  # known values take one path, missing ones may not
            if tree.n_splits:
                placed.append(PlacedTree(tree, weight, start, n_margins))
                numbers.append(number)
            else:
                offset[start : start + tree.values.shape[1]] += weight * tree.values[0]
        if not placed:
            return None, offset
        has_open = any(part.tree.is_open.any() for part in placed)
        sums = sum_trees(self.graph, self.rows, placed, n_margins + has_open, self.whole.n_levels, self.rounding)
        return self._with_mixtures(sums, numbers, has_open), offset

    def _binary(self, tree: Tree) -> BinaryTree:
        arguments = tree, self.whole.n_levels, self.whole.filling, self.mixes
        if self.whole.votes:
            binary = binary_tree(*arguments)
            return replace(binary, values=np.eye(tree.n_outputs)[binary.values.argmax(axis=1)])
        try:
            return binary_tree(*arguments)
        except TooManySplits:
            return binary_tree(*arguments, leaves_open=True)

    def _with_mixtures(self, sums: str, numbers: list[int], has_open: bool) -> str:
        """Return the margins, those of rows that take several branches too.

        Open leaves have counted rows with an unseen level, in one more column.
        """
        graph, are_mixed = self.graph, []
        if self.follows_shares and self.mixes.any():
            are_mixed.append(self._any_missing(np.flatnonzero(self.mixes), keepdims=0))
        if has_open:
            n_margins = self.whole.n_margins
            n_open = graph.add("Squeeze", graph.column(sums, n_margins), graph.whole_numbers(1))
            are_mixed.append(graph.add("Greater", n_open, graph.constant(0.0)))
            sums = graph.column(sums, *range(n_margins))
        if not are_mixed:
            return sums
        is_mixed = are_mixed[0] if len(are_mixed) == 1 else graph.add("Or", *are_mixed)
        trees: list[Any] = [self.whole.members[number] for number in numbers]
        table = tabulate(trees, self.whole.weights[numbers], self.whole.starts[numbers], self.rounding)
        return replace_mixed_rows(graph, table, self._filled(self.whole.filling), is_mixed, sums)

    # --- linear models ---

    def _linear_margins(self) -> str | None:
        """Return the sum of the linear models in the leaves of model trees."""
        graph, width = self.graph, len(self.basis) + 1
        placed, offset = [], np.zeros(self.whole.n_margins * width)
        for member, weight, start in zip(self.whole.members, self.whole.weights, self.whole.starts):
            if not isinstance(member, ModelTree):
                continue
            filling = np.where(np.isnan(self.whole.filling), member.terms.fill, self.whole.filling)
            rules = tree_with_values(member.rules, self.basis.coefficients(member))
            tree = binary_tree(rules, self.whole.n_levels, filling, np.zeros_like(self.mixes))
            if tree.n_splits:
                placed.append(PlacedTree(tree, float(weight), int(start) * width))
            else:
                offset[start * width : (start + 1) * width] += weight * tree.values[0]
        if not placed and not offset.any():
            return None
        if not placed:
            coefficients = graph.constant(offset[None])
        else:
            coefficients = sum_trees(graph, self.rows, placed, len(offset), self.whole.n_levels, self.rounding)
            if offset.any():
                coefficients = graph.add("Add", coefficients, graph.constant(offset[None]))
        shaped = graph.add("Reshape", coefficients, graph.whole_numbers(-1, self.whole.n_margins, width))
        terms = graph.add("Unsqueeze", self._terms(), graph.whole_numbers(1))
        return graph.add("ReduceSum", graph.add("Mul", shaped, terms), graph.whole_numbers(2), keepdims=0)

    def _terms(self) -> str:
        """Return the terms of every row, the constant last."""
        graph, is_level = self.graph, self.basis.code != NUMBER
        rows = self._filled(self.term_filling)
        ones = graph.filled(rows, 1, 1.0)
        if not len(self.basis):
            return ones
        terms = graph.column(rows, *self.basis.attribute.tolist())
        if is_level.any():
            is_same = graph.add("Equal", terms, graph.constant(self.basis.code[None]))
            indicators = graph.add("Cast", is_same, to=graph.number_type)
            terms = graph.add("Where", graph.constant(is_level[None], "is_level", bool), indicators, terms)
        return graph.add("Concat", terms, ones, axis=1)

    # --- missing values ---

    def _filled(self, filling: Floats) -> str:
        """Return the rows with missing values replaced where there is something to replace them by."""
        if np.isnan(filling).all():
            return self.rows
        return self.graph.add(
            "Where", self.graph.add("IsNaN", self.rows), self.graph.constant(filling[None]), self.rows
        )

    def _any_missing(self, attributes: NDArray[np.int64], keepdims: int) -> str:
        """Return whether a row has a missing value of some attribute."""
        graph, types = self.graph, self.graph.onnx.TensorProto
        is_missing = graph.add("IsNaN", graph.column(self.rows, *attributes.tolist()))
        as_numbers = graph.add("Cast", is_missing, to=types.INT32)
        return graph.add(
            "Cast", graph.add("ReduceMax", as_numbers, graph.whole_numbers(1), keepdims=keepdims), to=types.BOOL
        )


def _with_a_split(leaf: BinaryTree) -> BinaryTree:
    """Return a tree with a split whose branches have the same values."""
    zero, no = np.zeros(1, np.int64), np.zeros(1, bool)
    return replace(
        leaf,
        attribute=zero,
        threshold=np.zeros(1),
        levels=[None],
        missing_left=no,
        left=zero - 1,
        right=zero - 2,
        values=np.repeat(leaf.values, 2, axis=0),
        is_open=np.repeat(leaf.is_open, 2),
    )


def _common_filling(exported: ExportedModel) -> Floats:
    """Return what replaces missing values in linear models, NaN where members differ."""
    fills = [member.terms.fill for member in exported.whole.members if isinstance(member, ModelTree)]
    if not fills:
        return exported.whole.filling
    is_common = (np.array(fills) == fills[0]).all(axis=0)
    own = np.where(is_common, fills[0], np.nan)
    return np.where(np.isnan(exported.whole.filling), own, exported.whole.filling)
