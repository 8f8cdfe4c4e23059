"""What one member is trained on, and what a perturbation is: a function from one such sample to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

ASIDE = 1  # where seeds of `Draw.aside` branch off; 0 is what spawning a member's stream gives


class Values(NamedTuple):
    """A table as numbers: level codes in nominal columns, NaN where missing; levels of each column, 0 if numeric."""

    values: np.ndarray
    n_levels: np.ndarray


class Noise(Protocol):
    """What is done to the attribute values of a member's rows before it is trained."""

    def smear(self, values: np.ndarray) -> np.ndarray:
        """Return the values (n_rows, n_attributes), shaken; the array given may be used for it."""


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
    copies : array of int (n_rows,) or None
        How often each row was drawn, whatever it weighs; None is once each that has a weight.
    noise : tuple of Noise
        What is done to the attribute values of the rows drawn, each copy of a row on its own; see `one_by_one`.
    """

    target: np.ndarray
    n_classes: int
    n_attributes: int
    weights: np.ndarray | None = None
    attributes: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    copies: np.ndarray | None = None
    noise: tuple[Noise, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.target)

    def eligible_rows(self) -> np.ndarray:
        """Return the rows that can be drawn: those of positive weight."""
        return np.arange(self.n_rows) if self.weights is None else np.flatnonzero(self.weights > 0)

    def taking(self, copies: np.ndarray) -> Sample:
        """Return the sample in which each row is taken so many times as often."""
        return replace(
            self,
            weights=copies if self.weights is None else self.weights * copies,
            copies=copies if self.copies is None else self.copies * copies,
        )

    def one_by_one(self) -> tuple[np.ndarray, Sample]:
        """Return the row behind each copy, and the sample in which every copy is a row of its own.

        Examples
        --------
        >>> import numpy as np
        >>> rows, sample = Sample(np.array([5.0, 6.0, 7.0]), 0, 1).taking(np.array([2, 0, 1])).one_by_one()
        >>> rows, sample.target, sample.weights
        (array([0, 0, 2]), array([5., 5., 7.]), None)
        """
        rows, weights = self.eligible_rows(), self.weights
        if weights is not None:
            # Where nobody says how rows were drawn, whole weights are multiplicities.
            drawn = weights if self.copies is None and weights.dtype.kind in "iu" else self.copies
            copies = np.ones(len(rows), np.intp) if drawn is None else drawn[rows]
            rows, weights = np.repeat(rows, copies), np.repeat(weights[rows] / copies, copies)
        if weights is not None and (weights == 1).all():
            weights = None
        return rows, replace(self, target=self.target[rows], weights=weights, copies=None, noise=())


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

    def aside(self, number: int) -> np.random.SeedSequence:
        """Return a seed of the member's own, for draws that leave its stream as it is."""
        return np.random.SeedSequence(self.shared_seed, spawn_key=(self.member, ASIDE, number))


class Perturbation(ABC):
    """Something that is shaken before a member is trained."""

    #: whether rows may be left out, which can then judge the member
    leaves_rows_out: bool = False
    #: whether what a member gets changes with the number of members, so that none can be added later
    depends_on_n_members: bool = False

    @abstractmethod
    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample, shaken."""

    def learn(self, sample: Sample, read: Callable[[], Values]) -> Perturbation:
        """Return the perturbation that knows what it needs of the whole training set; `read` gives the values."""
        return self

    def check(self, sample: Sample) -> None:  # noqa: B027
        """Raise InvalidParameter if this cannot be applied to such samples."""
