"""Judges an ensemble by the rows its members left out, and tells when more members no longer help."""

from __future__ import annotations

import numpy as np

from tremula.combine import Member, add_answers, largest
from tremula.losses import squared_errors, zero_one_losses

# "auto": members come in batches, until the loss has stayed within a band over this many of them.
BATCH = 20
N_BATCHES = 5


class LeftOut:
    """For each row the summed answers of the members that left it out.

    Parameters
    ----------
    target : array (n_rows,)
    n_outputs : int
    combine : {"vote", "average"}
    is_classifier : bool
    """

    def __init__(self, target: np.ndarray, n_outputs: int, combine: str, is_classifier: bool) -> None:
        self.target = target
        self.combine = combine
        self.is_classifier = is_classifier
        self.total = np.zeros((len(target), n_outputs))
        self.n_answers = np.zeros(len(target), np.int64)
        self.inbag: list[np.ndarray] = []
        self.trace: list[tuple[int, float]] = []

    def add(self, member: Member, counts: np.ndarray, rows: np.ndarray, table: object) -> None:
        """Add a member's answers for the rows it left out; `table` holds them as the member takes them."""
        self.inbag.append(counts)
        if len(rows):
            part = np.zeros((len(rows), self.total.shape[1]))
            add_answers(part, member, table, self.combine)
            self.total[rows] += part
            self.n_answers[rows] += 1

    def means(self) -> np.ndarray:
        """Return the mean answer for each row, NaN where every member had it."""
        n_answers = self.n_answers[:, None]
        return np.divide(self.total, n_answers, out=np.full(self.total.shape, np.nan), where=n_answers > 0)

    def loss(self) -> float:
        """Return the share of wrong classes, or the mean squared error, over the rows that some member left out."""
        judged = self.n_answers > 0
        if not judged.any():
            return float("nan")
        if self.is_classifier:
            return float(np.mean(zero_one_losses(self.target[judged], largest(self.total[judged]))))
        return float(np.mean(squared_errors(self.target[judged], self.means()[judged, 0])))

    def note(self) -> None:
        """Keep the loss at the present number of members."""
        self.trace.append((len(self.inbag), self.loss()))

    def has_settled(self) -> bool:
        """Return whether the loss of the last batches stayed within half its standard error, or 1 % of its mean."""
        if len(self.trace) <= N_BATCHES:
            return False
        losses = np.array([loss for _, loss in self.trace[-N_BATCHES - 1 :]])
        mean = losses.mean()
        band = 0.5 * np.sqrt(mean * (1 - mean) / len(self.target)) if self.is_classifier else 0.01 * mean
        return bool(losses.max() - losses.min() <= band)
