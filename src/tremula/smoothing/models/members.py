"""Members of an ensemble as one sum: with their weights, in the attributes and classes of the ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.tree_builder import constant_tree, with_attributes
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, sum_of_trees, tree_with_values

USE_SAMPLE = 'give a model of a supported kind, or use method="sample", which takes any model'


@dataclass(frozen=True)
class PlacedMember:
    """A member of an ensemble.

    Attributes
    ----------
    part : TreeSum
        The member as a sum of trees.
    columns : int array (n_margins of the part,)
        The output of the ensemble for each output of the member.
    attributes : int array or None
        The attribute of the ensemble for each attribute of the member; None if they are the same.
    """

    part: TreeSum
    columns: NDArray[np.int64]
    attributes: NDArray[np.int64] | None = None


def check_members(name: str, members: Sequence[PlacedMember]) -> None:
    """Refuse members whose mean is not a sum of trees."""
    if not all(member.part.link.is_identity for member in members):
        raise UnsupportedModel(
            f"{name} averages members that apply a link to their sums of trees, and that is not a sum of trees: "
            f"{USE_SAMPLE}"
        )
    if any(member.part.n_levels.any() for member in members):
        raise UnsupportedModel(
            f"{name} has members with nominal attributes, and each may have other codes for the levels: {USE_SAMPLE}"
        )


def mean_of_members(
    name: str, members: Sequence[PlacedMember], weights: NDArray[np.float64], n_outputs: int, n_attributes: int
) -> TreeSum:
    """Return the weighted mean of members."""
    check_members(name, members)
    shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    n_levels = np.zeros(n_attributes, dtype=np.int32)
    trees: list[Tree] = []
    tree_weights, outputs, tree_members = [], [], []
    offset = np.zeros(n_outputs)
    for number, (member, share) in enumerate(zip(members, shares)):
        part = member.part
        offset[member.columns] += share * part.offset
        trees += [_placed_tree(*given, member, n_outputs, n_levels) for given in zip(part.trees, part.outputs)]
        outputs.append(np.where(part.outputs < 0, -1, member.columns[part.outputs]))
        tree_weights.append(share * part.weights)
        tree_members.append(np.full(len(part.trees), number))
    return sum_of_trees(
        trees,
        offset,
        outputs=np.concatenate(outputs),
        weights=np.concatenate(tree_weights),
        tree_members=np.concatenate(tree_members),
    )


def _placed_tree(tree: Tree, output: int, member: PlacedMember, n_outputs: int, n_levels: NDArray[np.int32]) -> Tree:
    """Convert a tree of a member to the attributes and outputs of the ensemble."""
    attributes = np.arange(tree.n_attributes) if member.attributes is None else member.attributes
    placed = with_attributes(tree, attributes, n_levels)
    if output >= 0:
        return placed
    values = np.zeros((len(tree.values), n_outputs))
    values[:, member.columns] = tree.values
    return tree_with_values(placed, values)


def voting_member(name: str, member: PlacedMember) -> PlacedMember:
    """Turn a member's class distribution into its vote; this is a tree only if the member is a single tree."""
    part = member.part
    if len(part.trees) != 1 or not part.link.is_identity or part.outputs[0] >= 0:
        raise UnsupportedModel(
            f"{name} counts the votes of members that are no single trees, and such a vote is not a sum of trees: "
            f"{USE_SAMPLE}"
        )
    return replace(member, part=part.with_votes())


def constant_sum(values: NDArray[np.float64], n_attributes: int) -> TreeSum:
    """Return a constant as a sum of one tree with one leaf."""
    return sum_of_trees([constant_tree(values, np.zeros(n_attributes, np.int32))])
