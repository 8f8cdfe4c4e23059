"""The members of a fitted ensemble, and which training rows each of them has seen.

A model stores no rows: those of its training are given again, and other rows are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.combine import Member, RowSums, add_predictions
from tremula.data.take import take_rows
from tremula.parallel import map_members
from tremula.uncertainty.leave_one_out import RowDraw

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1000


@dataclass(frozen=True, eq=False)
class MemberSample:
    """The rows that a member was trained on, as it saw them.

    Attributes
    ----------
    rows : int array (n_copies,)
        Numbers of the training rows.
    copies : float64 array (n_copies,)
        How often each of them was drawn.
    weights : float64 array (n_copies,)
        Their weights, times `copies`.
    target : array (n_copies,)
        Their class codes or numbers, with noise where the ensemble smears them.
    values : float64 array (n_copies, n_attributes)
        Their values, with noise where the ensemble smears its inputs.
    """

    rows: NDArray[np.intp]
    copies: Floats
    weights: Floats
    target: NDArray[Any]
    values: Floats


@dataclass(frozen=True, eq=False)
class TrainedMembers:
    """The members of a fitted ensemble, and its training rows.

    Attributes
    ----------
    name : str
        Class of the ensemble, for messages.
    members : sequence of Member
    combine : {"vote", "average"}
    group_sizes : tuple of int
        Members stand group after group. The mean of each group is taken first; most ensembles have one group.
    group_weights : float64 array (n_groups,)
        Weights of the means of the groups; they sum to 1.
    table : table
        The training rows, in the form that members take.
    target : array (n_rows,)
        Their class codes or numbers.
    classes : array or None
        Class labels; None for numbers.
    inbag : int array (n_members, n_rows)
        How often each member was trained on each row; 0 out of bag, -1 for a row of weight 0, which is never drawn.
    resampling : {"bootstrap", "subsample", "other"}
        How the rows of a member were drawn: with replacement, without, or in another way.
    read : callable
        From a table to rows in the form that members take.
    outputs : callable
        From rows to the outputs of the ensemble.
    outputs_of_means : callable
        From the mean outputs of members, and the rows, to the outputs of the ensemble.
    adjusts_means : bool
        Whether these differ by more than a constant for each row.
    sample_of : callable or str
        From the number of a member to its MemberSample; or why that is not known.
    known_outputs : float64 array (n_rows, n_outputs) or None
        Out-of-bag outputs, if the model has kept them.
    learned_from_all : str
        What the members have learned from all rows, not only from those they were trained on; empty if nothing.
    n_jobs : int or None
    groups : int array (n_rows,) or None
        Numbers of the groups of rows that were drawn as a whole; None if single rows were.
    """

    name: str
    members: Sequence[Member]
    combine: str
    group_sizes: tuple[int, ...]
    group_weights: Floats
    table: Any
    target: NDArray[Any]
    classes: NDArray[Any] | None
    inbag: NDArray[Any]
    resampling: str
    read: Callable[[Any], Any]
    outputs: Callable[[Any], Floats]
    outputs_of_means: Callable[[Floats, Any], Floats]
    adjusts_means: bool
    sample_of: Callable[[int], MemberSample] | str
    known_outputs: Floats | None
    learned_from_all: str
    n_jobs: int | None
    groups: NDArray[Any] | None = None

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.target)

    @property
    def n_outputs(self) -> int:
        """Number of classes; 1 for numbers."""
        return 1 if self.classes is None else len(self.classes)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each member in the mean of all; they sum to 1."""
        return np.repeat(self.group_weights / self.group_sizes, self.group_sizes)

    def outputs_of(self, member: int, rows: Any) -> Floats:
        """Return votes, class distributions or numbers of one member, shape (n_rows, n_outputs)."""
        total = np.zeros((rows.shape[0], self.n_outputs))
        add_predictions(total, self.members[member], rows, self.combine)
        return total

    def all_outputs(self, rows: Any) -> Floats:
        """Return the outputs of all members, shape (n_members, n_rows, n_outputs)."""
        return np.array(list(map_members(lambda member: self.outputs_of(member, rows), self.n_members, self.n_jobs)))

    def training_rows(self, rows: NDArray[np.intp]) -> Any:
        """Return some of the training rows, in the form that members take."""
        return take_rows(self.table, rows)

    def means(self, outputs: Floats) -> Floats:
        """Return the weighted mean of the outputs of all members."""
        return np.tensordot(self.weights, outputs, axes=1)

    def added_to_means(self, rows: Any) -> Floats:
        """Return what an ensemble for numbers adds to the mean of its members, (n_rows, 1)."""
        return self.outputs_of_means(np.zeros((rows.shape[0], 1)), rows)

    @cached_property
    def draw(self) -> RowDraw:
        """How the rows of each member were drawn, if `resampling` is not "other"."""
        counts = self.inbag[0][self.inbag[0] >= 0].astype(np.int64)
        return RowDraw(len(counts), int(counts.sum()), self.resampling == "bootstrap")

    # --- out of bag ---

    @cached_property
    def out_of_bag_means(self) -> Floats:
        """Mean outputs of the members that were not trained on each row; NaN where a group has none."""
        sums = [RowSums(self.n_rows, self.n_outputs) for _ in self.group_sizes]
        group_of = np.repeat(np.arange(len(self.group_sizes)), self.group_sizes)

        def predict(member: int) -> tuple[NDArray[np.intp], Floats]:
            rows = np.flatnonzero(self.inbag[member] == 0)
            outputs = self.outputs_of(member, self.training_rows(rows)) if len(rows) else np.zeros((0, 1))
            return rows, outputs

        for member, (rows, outputs) in enumerate(map_members(predict, self.n_members, self.n_jobs)):
            sums[group_of[member]].add(rows, outputs)
        return np.tensordot(self.group_weights, np.array([each.means() for each in sums]), axes=1)

    @cached_property
    def out_of_bag_outputs(self) -> Floats:
        """Outputs of the ensemble without the members that were trained on each row; NaN where a group has no other."""
        if self.known_outputs is not None:
            return self.known_outputs
        means = self.out_of_bag_means
        rows = np.flatnonzero(~np.isnan(means[:, 0]))
        outputs = np.full(means.shape, np.nan)
        if len(rows):
            outputs[rows] = self.outputs_of_means(means[rows], self.training_rows(rows))
        return outputs

    @cached_property
    def scored_rows(self) -> NDArray[np.intp]:
        """Rows that are out of bag for some member of every group."""
        return np.flatnonzero(~np.isnan(self.out_of_bag_outputs[:, 0]))

    def shares_of_all(self, n_predicted: int) -> Floats:
        """Return the weights of the members in the mean of all, for so many rows, (n_members, n_predicted)."""
        return np.repeat(self.weights[:, None], n_predicted, axis=1)

    def shares_without(self, rows: NDArray[np.intp]) -> Floats:
        """Return the weights of the members in the mean of those that were not trained on each of these rows.

        Returns
        -------
        float64 array (n_members, len(rows))
            Columns sum to 1.
        """
        shares: Floats = (self.inbag[:, rows] == 0).astype(np.float64)
        first = 0
        for size, weight in zip(self.group_sizes, self.group_weights):
            group = shares[first : first + size]
            group *= weight / group.sum(axis=0)
            first += size
        return shares


def row_blocks(rows: Any, size: int) -> Iterator[Any]:
    """Yield consecutive blocks of rows of a table, the last one shorter."""
    n_rows = rows.shape[0]
    for first in range(0, max(n_rows, 1), size):
        last = min(first + size, n_rows)
        yield rows[first:last] if isinstance(rows, np.ndarray) else take_rows(rows, np.arange(first, last))
