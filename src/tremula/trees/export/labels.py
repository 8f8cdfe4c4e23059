"""Texts of a tree's splits and leaves, shared by all exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.names import attribute_name
from tremula.trees.structure import MULTIWAY_SPLIT, is_numeric, missing_branches
from tremula.trees.tree import Tree


def number_text(value: float, decimals: int | None) -> str:
    """Write a number with at most `decimals` decimals, more if it would round to 0, or all digits if None.

    Examples
    --------
    >>> number_text(0.80000001, 3), number_text(0.00001234, 3), number_text(50.0, 1), number_text(0.1, None)
    ('0.8', '1.234e-05', '50', '0.1')
    """
    if decimals is None:
        return repr(float(value))
    rounded = f"{value:.{decimals}f}"
    if value != 0 and abs(value) < 10.0**-decimals:
        return f"{value:.{decimals + 1}g}"
    if "." in rounded:
        rounded = rounded.rstrip("0").rstrip(".")
    return "0" if rounded == "-0" else rounded


@dataclass(frozen=True)
class Wording:
    """Names of a tree's attributes, classes and levels; if they are None, numbers are used.

    `answers` are texts of the predictions of the leaves, in the order of their `index`, if these are more than a class
    or a mean.
    """

    tree: Tree
    feature_names: Sequence[str] | None = None
    class_names: Sequence[Any] | None = None
    levels: Sequence[Sequence[Any] | None] | None = None
    decimals: int | None = 3
    answers: Sequence[str] | None = None

    def __post_init__(self) -> None:
        tree = self.tree
        for name, given, expected in (
            ("feature_names", self.feature_names, tree.n_attributes),
            ("levels", self.levels, tree.n_attributes),
            ("class_names", self.class_names, tree.n_outputs),
            ("answers", self.answers, len(tree.values)),
        ):
            if given is not None and len(given) != expected:
                raise ValueError(f"{name} has {len(given)} entries: give {expected} for this tree")

    @cached_property
    def node_values(self) -> NDArray[np.float64]:
        """Class distribution or mean of every node."""
        return self.tree.node_values()

    @cached_property
    def is_classifier(self) -> bool:
        """Whether values are class distributions; those of several targets are more than one distribution, or none."""
        is_distribution = bool(np.allclose(self.tree.values.sum(axis=1), 1.0))
        return self.class_names is not None or (self.tree.n_outputs > 1 and is_distribution)

    def attribute(self, node: int) -> str:
        """Return the name of the attribute tested at a split."""
        return attribute_name(self.feature_names, int(self.tree.attribute[node]))

    def attribute_levels(self, node: int) -> list[Any]:
        """Return the levels of the nominal attribute tested at a split."""
        attribute = int(self.tree.attribute[node])
        names = None if self.levels is None else self.levels[attribute]
        return list(range(self.tree.n_levels[attribute])) if names is None else list(names)

    def branch_levels(self, node: int, branch: int) -> list[Any]:
        """Return the levels that take a branch of a nominal split."""
        levels, index = self.attribute_levels(node), int(self.tree.nodes["index"][node])
        if index == MULTIWAY_SPLIT:
            return [levels[branch]]
        branches = self.tree.subsets[index : index + len(levels)]
        return [level for level, level_branch in zip(levels, branches, strict=True) if level_branch == branch]

    def test(self, node: int, branch: int) -> str:
        """Return the test of a branch, such as `<= 0.8`, `= sunny` or `in {overcast, rainy}`."""
        or_missing = " or missing" if self.missing_branch(node) == branch else ""
        threshold = float(self.tree.threshold[node])
        if self.is_numeric(node):
            if np.isinf(threshold):  # known values take one branch, missing ones the other
                return "is missing" if or_missing else "is not missing"
            sign = (("<=", ">"), ("<", ">="))[self.tree.strict][branch]
            return f"{sign} {number_text(threshold, self.decimals)}{or_missing}"
        texts = [str(level) for level in self.branch_levels(node, branch)]
        if not texts:
            return "is missing"
        if int(self.tree.nodes["index"][node]) == MULTIWAY_SPLIT or len(texts) == 1:
            return f"= {texts[0]}{or_missing}"
        return f"in {{{', '.join(texts)}}}{or_missing}"

    def is_numeric(self, node: int) -> bool:
        """Return whether a split compares a number with a threshold."""
        return bool(is_numeric(self.tree.nodes[[node]])[0])

    def missing_branch(self, node: int) -> int:
        """Return the branch that missing values take at a split, ALL_BRANCHES if they take all in shares."""
        return int(missing_branches(self.tree.nodes[[node]])[0])

    def class_name(self, code: int) -> str:
        """Return the name of a class."""
        return str(code) if self.class_names is None else str(self.class_names[code])

    def prediction(self, node: int) -> str:
        """Return the prediction of a node: its most probable class, of ties the first, or the mean of each output."""
        if self.answers is not None and self.tree.is_leaf[node]:
            return self.answers[int(self.tree.nodes["index"][node])]
        if self.is_classifier:
            return self.class_name(int(self.node_values[node].argmax()))
        return ", ".join(number_text(value, self.decimals) for value in self.node_values[node])

    def support(self, node: int) -> str:
        """Return the training weight of a node, and the share of the predicted class if it is below 1."""
        weight, share = number_text(self.tree.weight[node], 1), self.node_values[node].max()
        if not self.is_classifier or share == 1:
            return weight
        return f"{weight}, p={number_text(share, 3)}"


def count_leaves_below(tree: Tree) -> NDArray[np.int64]:
    """Return the number of leaves at or below every node."""
    counts = tree.is_leaf.astype(np.int64)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        counts[node] = counts[tree.first_child[node] : tree.first_child[node] + tree.n_branches[node]].sum()
    return counts
