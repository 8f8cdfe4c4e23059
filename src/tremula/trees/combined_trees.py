"""Combines the predictions of a model's members, from a small copy of its trees once that pays.

The sums are those of `tremula.combine`, member after member, to the last bit. The copy (`flat_forest`) is made after so
many rows that the time it takes is gained by them. It goes with the model: neither pickles nor files hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.combine import Member, add_predictions
from tremula.data.sparse_rows import SparseRows
from tremula.trees.flat_forest import FlatForest, flatten
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

ROWS_PER_CALL = 40  # rows of a tree that take as long as asking it
ROWS_PER_NODE = 0.5  # rows that gain by the copy what copying a node takes: fewer in large trees, more in small ones


@dataclass(frozen=True)
class Stretch:
    """Consecutive members, with a copy of their trees if they have one.

    Attributes
    ----------
    first, last : int
        Their numbers; `last` is not among them.
    copied : FlatForest or None
    owners : int array
        The member that each tree of the copy belongs to.
    """

    first: int
    last: int
    copied: FlatForest | None
    owners: NDArray[np.intp]


class CombinedTrees:
    """The members of a model, whose predictions are added up.

    Parameters
    ----------
    members : sequence of Member
        Trees, members with a regression tree for each output (`regressors`), or others, which are asked one by one.
    n_outputs : int
    combine : {"vote", "average"}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier().fit(X, y).tree_
    >>> both = CombinedTrees([tree, tree], 3, "average")
    >>> both.expect(150)
    >>> both.means(X[[0, 99]], [1, 3])
    array([[1., 0., 0.],
           [0., 1., 0.]])
    >>> both.nbytes > 0
    True
    """

    def __init__(self, members: Sequence[Member], n_outputs: int, combine: str) -> None:
        self.members = list(members)
        self.n_outputs = n_outputs
        self.combine = combine
        trees = [tree for member in self.members for tree in self._trees_of(member)]
        self._n_trees, self._n_nodes = len(trees), sum(tree.n_nodes for tree in trees)
        self._n_expected = 0
        self._stretches: list[Stretch] | None = None

    def is_of(self, members: Sequence[Member], n_outputs: int, combine: str) -> bool:
        """Return whether these are the members, and not others that took their place."""
        return (
            len(members) == len(self.members)
            and all(map(is_, members, self.members))
            and combine == self.combine
            and n_outputs == self.n_outputs
        )

    @property
    def nbytes(self) -> int:
        """Size of the copies in bytes; 0 if none was made."""
        return sum(stretch.copied.nbytes for stretch in self._stretches or [] if stretch.copied is not None)

    def expect(self, n_rows: int) -> None:
        """Announce rows to be answered by one call; trees are copied if their rows so far are worth it."""
        if self._stretches is not None:
            return
        self._n_expected += n_rows + ROWS_PER_CALL
        if self._n_expected * self._n_trees >= ROWS_PER_NODE * self._n_nodes:
            self._stretches = self._copied()

    def add(self, rows: Floats | SparseRows, weights: ArrayLike | None, total: Floats) -> None:
        """Add each member's weight times its prediction to the outputs of every row."""
        factors = np.ones(len(self.members)) if weights is None else np.asarray(weights, dtype=np.float64)
        for stretch in self._stretches or [Stretch(0, len(self.members), None, np.empty(0, np.intp))]:
            if stretch.copied is not None:
                self._add_copied(stretch.copied, rows, factors[stretch.owners], total)
                continue
            for number in range(stretch.first, stretch.last):
                add_predictions(total, self.members[number], rows, self.combine, float(factors[number]))

    def _add_copied(self, copied: FlatForest, rows: Floats | SparseRows, factors: Floats, total: Floats) -> None:
        if not isinstance(rows, SparseRows):
            copied.add_values(rows, factors, total)
            return
        for part, block in rows.blocks():
            copied.add_values(block, factors, total[part])

    def means(self, rows: Floats | SparseRows, weights: ArrayLike | None = None) -> Floats:
        """Return what `combine_members` returns for the members."""
        total = np.zeros((len(rows), self.n_outputs))
        self.add(rows, weights, total)
        # Added up one by one, as `combine_members` does.
        total /= float(len(self.members)) if weights is None else np.add.accumulate(np.asarray(weights, float))[-1]
        return total

    def _trees_of(self, member: Any) -> list[Tree]:
        """Return the trees whose predictions are added up, or none if the member is to be asked itself."""
        if isinstance(member, Tree):
            return [member] if member.n_outputs == self.n_outputs else []
        regressors = getattr(member, "regressors", [])
        is_sum = len(regressors) == self.n_outputs and self.combine == "average"
        is_sum = is_sum and all(isinstance(each, Tree) and each.n_outputs == 1 for each in regressors)
        return list(regressors) if is_sum else []

    def _copied(self) -> list[Stretch]:
        """Copy the trees of consecutive members with the same attributes."""
        trees = [self._trees_of(member) for member in self.members]
        kinds = [(len(each), each[0].n_levels.tobytes()) if each else (0, b"") for each in trees]
        stretches, first = [], 0
        for (n_trees, _), same in groupby(kinds):
            last = first + len(list(same))
            together = [tree for each in trees[first:last] for tree in each]
            copied = None
            if together:
                outputs = np.tile(np.arange(n_trees), last - first)
                copied = flatten(together, outputs, votes=self.combine == "vote")
            stretches.append(Stretch(first, last, copied, np.repeat(np.arange(first, last), max(1, n_trees))))
            first = last
        return stretches


_COMBINED: WeakKeyDictionary[Any, dict[str, CombinedTrees]] = WeakKeyDictionary()


def combined_trees(
    model: Any, members: Sequence[Member], n_outputs: int, combine: str = "average", part: str = "members"
) -> CombinedTrees:
    """Return the combined members of a model, or of a part of it: those of the last call if they are the same.

    Parameters
    ----------
    model : object
        Copies of trees are kept as long as it lives.
    members : sequence of Member
    n_outputs : int
    combine : {"vote", "average"}
    part : str, default="members"
        Name of these members among others of the model.
    """
    parts = _COMBINED.setdefault(model, {})
    known = parts.get(part)
    if known is None or not known.is_of(members, n_outputs, combine):
        known = parts[part] = CombinedTrees(members, n_outputs, combine)
    return known
