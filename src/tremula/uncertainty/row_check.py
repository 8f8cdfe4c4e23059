"""Checks by the leaves of a few members that the rows given are those of training, in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tremula.errors import InvalidInput
from tremula.trees.leaf_shares import leaf_shares
from tremula.trees.tree import Tree
from tremula.uncertainty.trained_members import MemberSample, TrainedMembers

N_CHECKED = 3
SLACK = 1e-6  # of the magnitude of the targets, by which the value of a leaf may lie outside those of its rows


def check_training_rows(trained: TrainedMembers) -> None:
    """Refuse rows whose targets cannot have given the leaves of the first members their values."""
    if isinstance(trained.sample_of, str):
        return
    for number, member in enumerate(trained.members[:N_CHECKED]):
        if isinstance(member, Tree) and _is_contradicted(member, trained.sample_of(number)):
            raise InvalidInput(
                f"the rows are not those of training: the targets of the rows in a leaf of member {number} do not give "
                "the value of the leaf. Give X, y and sample_weight as they were in fit, in the same order"
            )


def _is_contradicted(tree: Tree, sample: MemberSample) -> bool:
    in_leaves = csr_array(leaf_shares(tree, sample.values[sample.weights > 0]).T)
    target = sample.target[sample.weights > 0][in_leaves.indices]
    leaves = np.flatnonzero(np.diff(in_leaves.indptr))
    values, starts = tree.values[tree.nodes["index"][leaves]], in_leaves.indptr[leaves]
    if tree.n_outputs == 1 and target.dtype.kind == "f":
        return _lies_outside(values[:, 0], target, starts)
    present = np.zeros((tree.n_nodes, tree.n_outputs), np.bool_)
    present[np.repeat(np.arange(tree.n_nodes), np.diff(in_leaves.indptr)), target] = True
    return bool((present[leaves] != (values > 0)).any())


def _lies_outside(values: NDArray[np.float64], target: NDArray[np.float64], starts: NDArray[np.int64]) -> bool:
    """Whether a leaf's value lies below or above the targets of all its rows."""
    slack = SLACK * max(1e-300, float(np.abs(target).max()))
    low, high = np.minimum.reduceat(target, starts), np.maximum.reduceat(target, starts)
    return bool(((values < low - slack) | (values > high + slack)).any())
