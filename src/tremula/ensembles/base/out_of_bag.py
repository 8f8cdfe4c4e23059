"""Estimates the loss of an ensemble from out-of-bag rows, and decides when more members no longer help.

Each row is predicted by the members that did not train on it, and by no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.combine import Member, RowSums, add_predictions, largest, largest_of_each
from tremula.losses import squared_errors, zero_one_losses

# "auto": members come in batches, until the loss has stayed within a band over this many of them.
BATCH = 20
N_BATCHES = 5


class OutOfBag:
    """Out-of-bag predictions of an ensemble, summed up member by member.

    Parameters
    ----------
    target : array (n_rows,) or (n_rows, n_targets)
    n_outputs : int
    combine : {"vote", "average"}
    is_classifier : bool
    n_classes : sequence of int, optional
        Number of classes of each of several targets.
    """

    def __init__(
        self,
        target: np.ndarray,
        n_outputs: int,
        combine: str,
        is_classifier: bool,
        n_classes: Sequence[int] | None = None,
    ) -> None:
        self.target = target
        self.combine = combine
        self.is_classifier = is_classifier
        self.n_classes = n_classes
        self.sums = RowSums(len(target), n_outputs)
        self.inbag_counts: list[np.ndarray] = []
        self.trace: list[tuple[int, float]] = []

    def add(self, member: Member, inbag_counts: np.ndarray, rows: np.ndarray, table: object) -> None:
        """Add a member's predictions for its out-of-bag rows; `table` holds these rows in the form members take."""
        self.inbag_counts.append(inbag_counts)
        if len(rows):
            predictions = np.zeros((len(rows), self.sums.total.shape[1]))
            add_predictions(predictions, member, table, self.combine)
            self.sums.add(rows, predictions)

    def loss(self) -> float:
        """Return the error rate, or the mean squared error, over the rows that are out of bag for some member.

        Of several targets, a row is wrong if one of its classes is, and squared errors are averaged over targets.
        """
        rows = self.sums.rows
        if not len(rows):
            return float("nan")
        if self.n_classes is not None:
            starts = np.cumsum([0, *self.n_classes[:-1]])
            is_wrong = largest_of_each(self.sums.total[rows], self.n_classes) + starts != self.target[rows]
            return float(np.mean(is_wrong.any(axis=1)))
        if self.target.ndim == 2:
            return float(np.mean(squared_errors(self.target[rows].ravel(), self.sums.means(rows).ravel())))
        if self.is_classifier:
            return float(np.mean(zero_one_losses(self.target[rows], largest(self.sums.total[rows]))))
        return float(np.mean(squared_errors(self.target[rows], self.sums.means(rows)[:, 0])))

    def record_loss(self) -> None:
        """Append the loss with the present number of members to the trace."""
        self.trace.append((len(self.inbag_counts), self.loss()))

    def has_settled(self) -> bool:
        """Return whether the loss of the last batches stayed within half its standard error, or 1 % of its mean."""
        if len(self.trace) <= N_BATCHES:
            return False
        losses = np.array([loss for _, loss in self.trace[-N_BATCHES - 1 :]])
        mean = losses.mean()
        band = 0.5 * np.sqrt(mean * (1 - mean) / len(self.target)) if self.is_classifier else 0.01 * mean
        return bool(losses.max() - losses.min() <= band)
