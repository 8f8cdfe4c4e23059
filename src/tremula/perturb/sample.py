"""What one member is trained on, and what a perturbation is: a function from one such sample to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """The training set of one member.

    Attributes
    ----------
    target : array (n_rows,)
        Class codes, or a numeric target.
    n_classes : int
        0 for a numeric target.
    n_attributes : int
        Columns of the table.
    weights : array (n_rows,) or None
        How often each row is taken (whole numbers), or what it weighs; None is once each.
    attributes : array of int or None
        Columns the member sees; None is all.
    options : mapping
        Parameters to set on the member's estimator.
    """

    target: np.ndarray
    n_classes: int
    n_attributes: int
    weights: np.ndarray | None = None
    attributes: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.target)

    def eligible_rows(self) -> np.ndarray:
        """Return the rows that can be drawn: those of positive weight."""
        return np.arange(self.n_rows) if self.weights is None else np.flatnonzero(self.weights > 0)


@dataclass(frozen=True)
class Draw:
    """Whose sample is drawn, and from which random numbers.

    Attributes
    ----------
    member, n_members : int
        Number of the member, and how many there are.
    random : numpy.random.Generator
        The member's own stream.
    shared_seed : int
        The same for all members: what they must agree on is drawn from `shared()`.
    """

    member: int
    n_members: int
    random: np.random.Generator
    shared_seed: int

    def shared(self) -> np.random.Generator:
        """Return a stream that begins anew, alike for every member."""
        return np.random.default_rng(self.shared_seed)


class Perturbation(ABC):
    """Something that is shaken before a member is trained."""

    #: whether rows may be left out, which can then judge the member
    leaves_rows_out: bool = False
    #: whether what a member gets changes with the number of members, so that none can be added later
    depends_on_n_members: bool = False

    @abstractmethod
    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample, shaken."""

    def check(self, sample: Sample) -> None:  # noqa: B027
        """Raise InvalidParameter if this cannot be applied to such samples."""
