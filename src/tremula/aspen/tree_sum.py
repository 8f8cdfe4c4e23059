"""Aspen as a sum of trees: the members and the corrections as two stretches of margins, and the link of the blend.

The members are trained on tables in which missing values are filled in. Here a missing value stays missing, and takes
the branch of the value that would be filled in: noise does not change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.aspen.missing_values import Filling
from tremula.aspen.task import PRIOR_SHARE, ClassTask
from tremula.errors import UnsupportedModel
from tremula.losses import MIN_PROBABILITY, log_probabilities
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.trees.composite_links import blend_link
from tremula.trees.links import IDENTITY, SOFTMAX, Link
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.member_sum import MemberSum, sum_of_members
from tremula.trees.structure import ALL_BRANCHES, LEVEL_UNSEEN, NODE_DTYPE, copy_nodes, is_numeric, missing_branches
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, sum_of_trees, tree_with_values

Floats = NDArray[np.float64]

MAX_COPIES = 100  # of each node, on average


@storable
@dataclass(frozen=True, eq=False)
class LogShareLink(Link):
    """Turns mean class probabilities into the margins of Aspen: logarithms, times a power, after the prior is mixed in.

    Attributes
    ----------
    prior : float64 array (n_classes,)
    power : float

    Examples
    --------
    >>> LogShareLink(np.array([0.5, 0.5]), 2.0).answers(np.array([[0.5, 0.5]])).round(2)
    array([[-1.39, -1.39]])
    """

    prior: Floats
    power: float
    name = "logarithm"

    def _check_stored(self) -> None:
        require_numbers("the prior", self.prior, (None,), low=0.0)
        require(0.0 <= self.power < np.inf, "the power is no number")

    @property
    def _task(self) -> ClassTask:
        return ClassTask(self.prior, self.power)

    def answers(self, margins: Floats) -> Floats:
        """Return the margins of the task."""
        return self._task.margins(margins)

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Divide by the probabilities."""
        shares = np.exp(log_probabilities(self._task.with_prior(margins)))
        return np.asarray(self.power * (1.0 - PRIOR_SHARE) * margin_slopes / shares[:, :, None])

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return the change of the logarithm of the least probability; none is below its share of the prior."""
        shares = self._task.with_prior(margins)
        least = np.maximum(shares - (1.0 - PRIOR_SHARE) * bound[:, None], PRIOR_SHARE * self.prior)
        floors = np.clip(least, MIN_PROBABILITY, None)
        return np.asarray(self.power * np.log(np.maximum(shares, floors) / floors).max(axis=1))


def tree_sum_of_blend(
    members: Sequence[Any],
    weights: NDArray[np.float64],
    corrections: Sequence[Tree],
    filling: Filling,
    n_levels: NDArray[np.int32],
    task: Any,
) -> TreeSum:
    """Return the sum whose answers are those of the blend, for rows in which missing values are not filled in.

    For numbers this is one sum. For classes the first stretch of margins are mean probabilities of the members, and
    the second the corrections of their logarithms.
    """
    others = [member for member in members if not isinstance(member, Tree)]
    if others:
        raise UnsupportedModel(
            f"the blend has members of type {type(others[0]).__name__}, which are not trees with a constant in every "
            "leaf"
        )
    trees = [unfilled_tree(tree, filling, n_levels) for tree in (*members, *corrections)]
    shares = np.concatenate([np.asarray(weights) / np.sum(weights), np.ones(len(corrections))])
    numbers = np.minimum(np.arange(len(trees)), len(members))
    if not isinstance(task, ClassTask):
        return sum_of_trees(trees, weights=shares, tree_members=numbers)
    n_classes = len(task.prior)
    wide = [tree_with_values(tree, _padded(tree.values, k >= len(members))) for k, tree in enumerate(trees)]
    return sum_of_trees(wide, np.zeros(2 * n_classes), _class_link(task), weights=shares, tree_members=numbers)


def _padded(values: Floats, is_second: bool) -> Floats:
    """Put values into the first or second of two stretches of margins."""
    zeros = np.zeros_like(values)
    return np.hstack([zeros, values] if is_second else [values, zeros])


def member_sum_of_blend(
    members: Sequence[Tree | ModelTree],
    weights: NDArray[np.float64],
    corrections: Sequence[Tree],
    filling: Filling,
    n_levels: NDArray[np.int32],
    task: Any,
) -> MemberSum:
    """Return the sum of members and corrections, which see rows in which missing values are filled in."""
    shares = np.concatenate([np.asarray(weights) / np.sum(weights), np.ones(len(corrections))])
    everything = [*members, *corrections]
    if not isinstance(task, ClassTask):
        return sum_of_members(everything, shares, 1, n_levels=n_levels, filling=filling.values)
    n_classes = len(task.prior)
    starts = np.repeat([0, n_classes], [len(members), len(corrections)])
    return sum_of_members(
        everything,
        shares,
        2 * n_classes,
        starts=starts,
        link=_class_link(task),
        n_levels=n_levels,
        filling=filling.values,
    )


def _class_link(task: ClassTask) -> Link:
    """Return the link of mean probabilities, in the first stretch of margins, and corrections, in the second."""
    n_classes = len(task.prior)
    inner = LogShareLink(np.asarray(task.prior, dtype=np.float64), float(task.power))
    return blend_link([inner, IDENTITY], [n_classes, n_classes], [1.0, 1.0], n_classes, SOFTMAX)


# --- trees for rows with missing values ---


def unfilled_tree(tree: Tree, filling: Filling, n_levels: NDArray[np.int32]) -> Tree:
    """Return a tree that treats a missing value as the given tree treats the value that is filled in.

    Parameters
    ----------
    tree : Tree
        Trained on filled values; codes of levels may be numbers to it.
    filling : Filling
    n_levels : int array
        Levels of each attribute, that of missing values not included.
    """
    return _Unfilled(tree, filling.values, np.asarray(n_levels, dtype=np.int32)).build()


@dataclass(frozen=True)
class _Place:
    """A node to write, and for each nominal attribute which levels can reach it; the last stands for missing values."""

    node: int
    reach: dict[int, NDArray[np.bool_]]


class _Unfilled:
    """Writes the new tree node by node.

    A level unseen at a node goes down both branches by their weights. If missing values take one branch there, the two
    need nodes of their own: a split before the node separates the unseen levels from the others.
    """

    def __init__(self, tree: Tree, filled: Floats, n_levels: NDArray[np.int32]) -> None:
        self.tree, self.filled, self.n_levels = tree, filled, n_levels
        self.records: list[Any] = []
        self.subsets: list[NDArray[np.uint8]] = []
        self.places: list[_Place] = []
        self.n_branch_codes = 0

    def build(self) -> Tree:
        """Return the tree."""
        tested = self.tree.attribute[~self.tree.is_leaf]
        if not (self.n_levels[tested] > 0).any():
            return self._numeric()
        self._append(_Place(0, {}), float(self.tree.weight[0]))
        number = 0
        while number < len(self.places):
            self._write(number)
            number += 1
            if number > MAX_COPIES * self.tree.n_nodes:
                raise UnsupportedModel(
                    f"a tree of {self.tree.n_nodes} nodes would need more than {MAX_COPIES} times as many to send "
                    "missing values and unseen levels down different branches"
                )
        nodes = np.array(self.records, dtype=NODE_DTYPE)
        subsets = np.concatenate(self.subsets) if self.subsets else np.empty(0, np.uint8)
        return Tree(nodes, self.tree.values, subsets, self.n_levels, self.tree.strict)

    def _numeric(self) -> Tree:
        """Return the tree if only numbers are tested: no node is added."""
        tree = self.tree
        splits = np.flatnonzero(~tree.is_leaf)
        splits = splits[~np.isnan(self.filled[tree.attribute[splits]])]
        nodes = copy_nodes(tree.nodes)
        values = self.filled[tree.attribute[splits]]
        is_left = values < tree.threshold[splits] if tree.strict else values <= tree.threshold[splits]
        first = tree.first_child[splits]
        nodes["weight"][first], nodes["weight"][first + 1] = is_left, ~is_left
        return Tree(nodes, tree.values, tree.subsets, self.n_levels, tree.strict)

    def _append(self, place: _Place, weight: float) -> None:
        record = self.tree.nodes[place.node].copy()
        record["weight"] = weight
        self.records.append(record)
        self.places.append(place)

    def _branches(self, node: int, attribute: int) -> NDArray[np.uint8]:
        """Return the branch of each level, and of the one that stands for a missing value if there is one."""
        tree, n_levels = self.tree, int(self.n_levels[attribute])
        n_codes = n_levels + (not np.isnan(self.filled[attribute]))
        start = int(tree.nodes["index"][node])
        if is_numeric(tree.nodes[[node]])[0]:
            codes, threshold = np.arange(n_codes), float(tree.threshold[node])
            goes_left = codes < threshold if tree.strict else codes <= threshold
            return np.where(goes_left, 0, 1).astype(np.uint8)
        if start < 0:
            raise UnsupportedModel("the blend has trees with a branch for each level")
        return np.asarray(tree.subsets[start : start + n_codes])

    def _write(self, number: int) -> None:
        """Write the split of a node, and append its children."""
        place, record = self.places[number], self.records[number]
        node = place.node
        if self.tree.is_leaf[node]:
            return
        attribute, first = int(self.tree.attribute[node]), int(self.tree.first_child[node])
        weights = self.tree.weight[[first, first + 1]]
        record["first_child"] = len(self.records)
        n_levels, filled = int(self.n_levels[attribute]), float(self.filled[attribute])
        if not n_levels:
            if not np.isnan(filled):
                threshold = float(self.tree.threshold[node])
                is_left = filled < threshold if self.tree.strict else filled <= threshold
                weights = np.array([is_left, not is_left], dtype=np.float64)
            for branch in range(2):
                self._append(_Place(first + branch, place.reach), float(weights[branch]))
            return
        branches, own = self._branches(node, attribute), int(missing_branches(self.tree.nodes[[node]])[0])
        if own != ALL_BRANCHES:  # also taken by levels that the split did not see
            branches = np.append(np.where(branches[:n_levels] == LEVEL_UNSEEN, own, branches[:n_levels]), own)
        levels = branches[:n_levels].astype(np.uint8)
        reach = place.reach.get(attribute, np.ones(n_levels + 1, dtype=bool))
        missing = int(branches[n_levels]) if len(branches) > n_levels else LEVEL_UNSEEN
        unseen = reach[:n_levels] & (levels == LEVEL_UNSEEN)
        record["threshold"], record["n_branches"] = 0.0, 2
        if reach[n_levels] and missing != LEVEL_UNSEEN and unseen.any():
            # Unseen levels go right to a copy of the node, all others and missing values left to another.
            self._add_subset(record, unseen.astype(np.uint8))
            others = np.append(reach[:n_levels] & ~unseen, True)
            self._append(_Place(node, place.reach | {attribute: others}), 1.0)
            self._append(_Place(node, place.reach | {attribute: np.append(unseen, False)}), 0.0)
            return
        self._add_subset(record, levels)
        if reach[n_levels] and missing != LEVEL_UNSEEN:
            weights = np.array([missing == 0, missing == 1], dtype=np.float64)
        codes = np.append(levels, np.uint8(missing))
        for branch in range(2):
            left = reach & ((codes == branch) | (codes == LEVEL_UNSEEN))
            self._append(_Place(first + branch, place.reach | {attribute: left}), float(weights[branch]))

    def _add_subset(self, record: Any, branches: NDArray[np.uint8]) -> None:
        record["index"] = self.n_branch_codes
        self.subsets.append(np.ascontiguousarray(branches, dtype=np.uint8))
        self.n_branch_codes += len(branches)
