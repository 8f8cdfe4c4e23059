"""Which training rows stand behind a prediction: those in the leaves it reaches, weighted as the members weigh them.

The weights behind a prediction sum to 1. Where leaves hold the means of their rows, the weighted mean of the targets is
the prediction of the ensemble.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tremula.errors import UnsupportedModel
from tremula.parallel import map_members
from tremula.trees.leaf_shares import leaf_shares
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.structure import nearest_reached, parents_of
from tremula.trees.tree import Tree
from tremula.uncertainty.trained_members import Floats, TrainedMembers


@dataclass(frozen=True, eq=False)
class MemberLeaves:
    """The training rows in the leaves of one member.

    Attributes
    ----------
    weights : sparse array (n_nodes, n_rows or n_copies)
        Weights of the training rows in each leaf, which sum to 1; in a model tree those of the copies of its sample.
    sizes : float64 array (n_nodes,)
        Number of rows in each leaf, a row drawn twice counted twice.
    residuals : float64 array (n_copies,) or None
        In a model tree, the target of each copy less the prediction of its linear model.
    """

    weights: csr_array
    sizes: Floats
    residuals: Floats | None = None


@dataclass(frozen=True, eq=False)
class WeightedValues:
    """Weighted values for several rows, which stand one after the other, each in order of its values.

    Attributes
    ----------
    values, weights : float64 arrays (n_values,)
        No value of a row is there twice; the weights of a row sum to 1.
    starts : int array (n_predicted + 1,)
        Where the values of each row begin, and the end of the last.
    sizes : float64 array (n_predicted,)
        Number of rows in the leaves behind each prediction, a row counted as often as it was drawn.
    """

    values: Floats
    weights: Floats
    starts: NDArray[np.int64]
    sizes: Floats


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The training rows in the leaves of all members of an ensemble."""

    trained: TrainedMembers

    @cached_property
    def by_member(self) -> list[MemberLeaves]:
        """The training rows in the leaves of each member."""
        return list(map_members(self._of_member, self.trained.n_members, self.trained.n_jobs))

    @cached_property
    def _stacked(self) -> csr_array | None:
        """Weights of the training rows in the leaves of all members but model trees."""
        weights = [leaves.weights for leaves in self.by_member if leaves.residuals is None]
        return csr_array(vstack(weights, format="csr")) if weights else None

    def _of_member(self, number: int) -> MemberLeaves:
        if isinstance(self.trained.sample_of, str):
            raise UnsupportedModel(
                f"{self.trained.name} gives no quantiles, since {self.trained.sample_of}: use predict_interval"
            )
        member, sample = self.trained.members[number], self.trained.sample_of(number)
        tree, values = rules_and_values(member, sample.values)
        shares = csr_array(leaf_shares(tree, values).T)
        sizes, copies = shares @ sample.copies, csr_array(shares @ diags_array(sample.weights))
        if isinstance(member, ModelTree):
            residuals = sample.target - member.predict_values(sample.values)[:, 0]
            return MemberLeaves(_normalized(copies), sizes, residuals)
        rows = csr_array((copies.data, sample.rows[copies.indices], copies.indptr), (tree.n_nodes, self.trained.n_rows))
        rows.sum_duplicates()
        sources = _sources_of_leaves(tree, np.diff(rows.indptr) > 0)
        return MemberLeaves(_normalized(csr_array(sources @ rows)), sources @ sizes)

    def values_behind(self, rows: Floats, weights: Floats) -> WeightedValues:
        """Return the values behind the prediction of each row, with their weights.

        They are the targets of the training rows in the leaves; in a model tree its prediction plus the residuals of
        these rows.

        Parameters
        ----------
        rows : float64 array (n_predicted, n_attributes)
        weights : float64 array (n_members, n_predicted)
            Weights of the members in each prediction, which sum to 1.
        """
        by_member = self.by_member  # made before threads ask for them
        sizes = np.zeros(len(rows))
        shares, parts = [], []
        for number, (leaves, share) in enumerate(zip(by_member, self._shares(rows))):
            sizes += (weights[number] > 0) * (share @ leaves.sizes)
            if leaves.residuals is None:
                shares.append(diags_array(weights[number]) @ share)
            else:
                predictions = self.trained.members[number].predict_values(rows)[:, 0]
                parts.append(_values_of_model(leaves, share, predictions, weights[number]))
        if shares:
            behind = self.rows_in(shares)
            parts.append((_row_numbers(behind), self.trained.target[behind.indices], behind.data))
        return _in_order(parts, sizes)

    def weights_behind(self, rows: Floats, weights: Floats) -> csr_array:
        """Return the weights of all training rows in the prediction of each row, (n_predicted, n_rows).

        Members must have means in their leaves. Parameters are those of `values_behind`.
        """
        by_member = self.by_member  # made before threads ask for them
        assert all(leaves.residuals is None for leaves in by_member)
        return self.rows_in([diags_array(share) @ shares for share, shares in zip(weights, self._shares(rows))])

    def rows_in(self, shares: Sequence[Any]) -> csr_array:
        """Return the weights of training rows, given those of the leaves of every member but model trees.

        Parameters
        ----------
        shares : for each member a sparse array (n_predicted, n_nodes)
            Weights of its leaves, times that of the member.
        """
        return csr_array(csr_array(hstack(shares, format="csr")) @ self._stacked)

    def _shares(self, rows: Floats) -> Iterator[csr_array]:
        """Yield for each member the shares of the rows in its leaves."""

        def share(number: int) -> csr_array:
            return leaf_shares(*rules_and_values(self.trained.members[number], rows))

        return map_members(share, self.trained.n_members, self.trained.n_jobs)


def _row_numbers(matrix: csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _values_of_model(
    leaves: MemberLeaves, shares: csr_array, predictions: Floats, weights: Floats
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return row numbers, values and weights of what a model tree puts behind the predictions of rows."""
    assert leaves.residuals is not None
    behind = csr_array(diags_array(weights) @ shares @ leaves.weights)
    row_of = _row_numbers(behind)
    return row_of, predictions[row_of] + leaves.residuals[behind.indices], behind.data


def _in_order(parts: Sequence[tuple[NDArray[np.int64], Floats, Floats]], sizes: Floats) -> WeightedValues:
    """Sort values by row and within a row by size; equal values of a row become one."""
    row_of, values, weights = (np.concatenate(each) for each in zip(*parts))
    order = np.lexsort((values, row_of))
    order = order[weights[order] > 0]
    row_of, values, weights = row_of[order], values[order], weights[order]
    is_new = np.append(True, (np.diff(values) != 0) | (np.diff(row_of) != 0))
    starts = np.concatenate([[0], np.cumsum(np.bincount(row_of[is_new], minlength=len(sizes)))])
    return WeightedValues(values[is_new], np.add.reduceat(weights, np.flatnonzero(is_new)), starts, sizes)


def rules_and_values(member: Any, values: Floats) -> tuple[Tree, Floats]:
    """Return the tree that sends rows to leaves, and the values it takes: a model tree fills in missing ones."""
    if isinstance(member, ModelTree):
        return member.rules, member.terms.complete(np.asarray(values, dtype=np.float64))
    return member, values


def _normalized(weights: csr_array) -> csr_array:
    """Scale the weights in each leaf to sum to 1."""
    totals = np.asarray(weights.sum(axis=1))
    return csr_array(diags_array(np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)) @ weights)


def _sources_of_leaves(tree: Tree, is_reached: NDArray[np.bool_]) -> csr_array:
    """Return the leaves whose rows each leaf stands for, as a matrix of 0 and 1, (n_nodes, n_nodes).

    A leaf that no row reaches has the value of its nearest ancestor with rows, and so stands for the leaves below it.
    """
    leaves = np.flatnonzero(is_reached)
    nodes, below, is_reached = [leaves], [leaves], is_reached.copy()
    parents, empty = parents_of(tree.nodes), np.flatnonzero(tree.is_leaf & ~is_reached)
    while len(empty) and len(nodes[-1]):
        above = parents[nodes[-1]]
        nodes.append(above[above >= 0])
        below.append(below[-1][above >= 0])
        is_reached[nodes[-1]] = True
    source = np.arange(tree.n_nodes)
    source[empty] = nearest_reached(tree.nodes, empty, is_reached)
    pairs = np.concatenate(nodes), np.concatenate(below)
    all_below = csr_array((np.ones(len(pairs[0])), pairs), (tree.n_nodes, tree.n_nodes))
    return csr_array(diags_array(tree.is_leaf.astype(np.float64)) @ all_below[source])
