"""Trained members of one family with their out-of-bag predictions, and the rows on which families are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tremula.combine import Member, RowSums
from tremula.perturb import Sample


@dataclass
class FamilyMembers:
    """The members of a family that are trained so far, and the sums of their out-of-bag predictions."""

    name: str
    sums: RowSums
    members: list[Member] = field(default_factory=list)

    def add(self, member: Member, rows: np.ndarray, predictions: np.ndarray) -> None:
        """Add a member, and its predictions for its out-of-bag rows."""
        self.members.append(member)
        self.sums.add(rows, predictions)


@dataclass(frozen=True)
class ScoringRows:
    """Rows on which out-of-bag predictions are scored, with their targets and weights."""

    rows: np.ndarray
    target: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, sample: Sample, rows: np.ndarray) -> ScoringRows:
        """Take these rows."""
        weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows].astype(np.float64)
        return cls(rows, sample.target[rows], weights)

    @classmethod
    def common_to(cls, families: Sequence[FamilyMembers], sample: Sample) -> ScoringRows:
        """Take the rows that are out of bag for some member of every family."""
        return cls.of(sample, np.flatnonzero(np.all([family.sums.is_predicted for family in families], axis=0)))

    def part(self, is_chosen: np.ndarray) -> ScoringRows:
        """Return some of these rows."""
        return ScoringRows(self.rows[is_chosen], self.target[is_chosen], self.weights[is_chosen])

    @property
    def can_score(self) -> bool:
        """Whether there is a row of positive weight."""
        return bool(self.weights.any())

    def mean(self, losses: np.ndarray) -> float:
        """Weighted mean of the losses of these rows; NaN without rows of positive weight."""
        return float(np.average(losses, weights=self.weights)) if self.can_score else float("nan")

    def __len__(self) -> int:
        return len(self.rows)
