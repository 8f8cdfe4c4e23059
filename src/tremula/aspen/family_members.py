"""Members of one family with what they say of rows they left out, and the rows that can judge several families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tremula.combine import Member, RowSums
from tremula.perturb import Sample


@dataclass
class Group:
    """The members of a family, and the sums of what they say of rows left out."""

    name: str
    sums: RowSums
    members: list[Member] = field(default_factory=list)

    @classmethod
    def empty(cls, name: str, n_rows: int, n_outputs: int) -> Group:
        """Return a group without members."""
        return cls(name, RowSums(n_rows, n_outputs))

    def add(self, member: Member, rows: np.ndarray, answers: np.ndarray) -> None:
        """Add a member, and its answers for the rows it left out."""
        self.members.append(member)
        self.sums.add(rows, answers)


@dataclass(frozen=True)
class Judges:
    """Rows that members of every group left out, and what they are to be predicted as."""

    rows: np.ndarray
    target: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, sample: Sample, rows: np.ndarray) -> Judges:
        """Let these rows judge."""
        weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows].astype(np.float64)
        return cls(rows, sample.target[rows], weights)

    @classmethod
    def of_all(cls, groups: Sequence[Group], sample: Sample) -> Judges:
        """Let the rows judge that can judge all groups."""
        return cls.of(sample, np.flatnonzero(np.all([group.sums.is_predicted for group in groups], axis=0)))

    def part(self, chosen: np.ndarray) -> Judges:
        """Return some of them."""
        return Judges(self.rows[chosen], self.target[chosen], self.weights[chosen])

    def __len__(self) -> int:
        return len(self.rows)
