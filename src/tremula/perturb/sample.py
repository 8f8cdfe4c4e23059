"""The training set of one member, and the base class of perturbations, which turn one training set into another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import InvalidInput

MAX_COPIES = 2**53  # of one row; float64 has no larger whole numbers without gaps
SEPARATE = 1  # spawn key of `Draw.separate_seed`; a member's stream itself spawns from 0


class Values(NamedTuple):
    """A table as numbers, with level codes in nominal columns and NaN for missing; and the number of levels by column.

    A numeric column has 0 levels.
    """

    values: np.ndarray
    n_levels: np.ndarray


class Noise(Protocol):
    """Noise on the attribute values of a member's rows."""

    def smear(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the values (n_copies, n_attributes), which are of these rows, with noise; they may be overwritten."""


@dataclass(frozen=True)
class Sample:
    """The training set of one member.

    Attributes
    ----------
    target : array (n_rows,) or (n_rows, n_targets)
        Class codes, or a numeric target; of several targets the outputs of their classes, or numbers.
    n_classes : int
        Number of classes, of several targets together; 0 for a numeric target.
    n_attributes : int
        Number of columns of the table.
    weights : array (n_rows,) or None
        Weight of each row; integers if they count how often a row is drawn. None weighs each row 1.
    attributes : array of int or None
        Columns that the member uses; None uses all.
    options : mapping
        Parameters to set on the member's estimator.
    copies : array of int (n_rows,) or None
        Number of times that each row is drawn, whatever its weight. None draws each row of positive weight once.
    noise : tuple of Noise
        Noise on the attribute values of the drawn rows. Each copy of a row has its own; see `expand_copies`.
    groups : int array (n_rows,) or None
        Numbers of the groups of rows that are drawn as a whole; None draws single rows.
    """

    target: np.ndarray
    n_classes: int
    n_attributes: int
    weights: np.ndarray | None = None
    attributes: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    copies: np.ndarray | None = None
    noise: tuple[Noise, ...] = ()
    groups: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.target)

    @property
    def has_several_targets(self) -> bool:
        """Whether each row has several targets."""
        return self.target.ndim == 2

    @property
    def n_outputs(self) -> int:
        """Number of columns that predictions have."""
        return self.n_classes or (int(self.target.shape[1]) if self.has_several_targets else 1)

    def eligible_rows(self) -> np.ndarray:
        """Return the rows that can be drawn: those of positive weight. Raise InvalidInput if there is none."""
        rows = np.arange(self.n_rows) if self.weights is None else np.flatnonzero(self.weights > 0)
        if len(rows) == 0:
            raise InvalidInput(
                "No row of positive weight is left to draw from: the perturbations before left every row out. "
                "Take fewer of them, or others."
            )
        return rows

    @property
    def draws_any_row(self) -> bool:
        """Whether rows are drawn, and none is left aside."""
        return self.weights is None and self.groups is None

    def units(self) -> np.ndarray:
        """Return what can be drawn: the rows of positive weight, or the groups of such rows."""
        rows = self.eligible_rows()
        return rows if self.groups is None else np.unique(self.groups[rows])

    def with_units(self, drawn: np.ndarray) -> Sample:
        """Return the sample of these units, which may occur several times; see `units`.

        Examples
        --------
        >>> import numpy as np
        >>> sample = Sample(np.array([5.0, 6.0, 7.0]), 0, 1, groups=np.array([0, 0, 1]))
        >>> sample.with_units(np.array([0, 0])).copies
        array([2, 2, 0])
        """
        if self.groups is None:
            return self.with_copies(np.bincount(drawn, minlength=self.n_rows))
        of_rows = np.bincount(drawn, minlength=int(self.groups.max()) + 1)[self.groups]
        return self.with_copies(of_rows if self.weights is None else np.where(self.weights > 0, of_rows, 0))

    def with_copies(self, copies: np.ndarray) -> Sample:
        """Return the sample with the number of copies of each row multiplied."""
        if self.copies is not None and float(self.copies.max()) * float(copies.max()) > MAX_COPIES:
            raise InvalidInput(
                f"A row would be drawn more than {MAX_COPIES:,} times, since perturbations that draw rows multiply "
                "their copies: take fewer of them"
            )
        return self.changed(
            weights=copies if self.weights is None else self.weights * copies,
            copies=copies if self.copies is None else self.copies * copies,
        )

    def changed(self, **changes: Any) -> Sample:
        """Return the sample with these attributes; quicker than `dataclasses.replace`, for each member."""
        sample = object.__new__(type(self))
        sample.__dict__.update(self.__dict__, **changes)
        return sample

    def expand_copies(self) -> tuple[np.ndarray, Sample]:
        """Return the sample in which every copy is a separate row, preceded by the original row of each copy.

        Examples
        --------
        >>> import numpy as np
        >>> rows, sample = Sample(np.array([5.0, 6.0, 7.0]), 0, 1).with_copies(np.array([2, 0, 1])).expand_copies()
        >>> rows, sample.target, sample.weights
        (array([0, 0, 2]), array([5., 5., 7.]), None)
        """
        rows, weights = self.eligible_rows(), self.weights
        if weights is not None:
            # Without a number of copies, integer weights are taken as one.
            drawn = weights if self.copies is None and weights.dtype.kind in "iu" else self.copies
            copies = np.ones(len(rows), np.intp) if drawn is None else drawn[rows]
            rows, weights = np.repeat(rows, copies), np.repeat(weights[rows] / copies, copies)
        if weights is not None and (weights == 1).all():
            weights = None
        return rows, replace(self, target=self.target[rows], weights=weights, copies=None, noise=(), groups=None)


@dataclass(frozen=True)
class Draw:
    """The member whose sample is drawn, and its random numbers.

    Attributes
    ----------
    member, n_members : int
        Number of the member, and the number of members.
    random : numpy.random.Generator
        The member's own stream.
    shared_seed : int
        Seed of `shared()`, from which all members draw the same numbers.
    """

    member: int
    n_members: int
    random: np.random.Generator
    shared_seed: int

    def shared(self) -> np.random.Generator:
        """Return a new stream that gives every member the same numbers."""
        return np.random.default_rng(self.shared_seed)

    def separate_seed(self, number: int) -> np.random.SeedSequence:
        """Return another seed of the member, for draws that must not advance its stream."""
        return np.random.SeedSequence(self.shared_seed, spawn_key=(self.member, SEPARATE, number))


class Perturbation(ABC):
    """Changes a member's sample before the member is trained."""

    #: whether rows may be left out of a sample, so that there are out-of-bag rows
    leaves_rows_out: bool = False
    #: whether whole groups are drawn if the sample has groups
    draws_groups: bool = False
    #: whether a member's sample depends on the number of members, so that none can be added later
    depends_on_n_members: bool = False

    @abstractmethod
    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the perturbed sample."""

    def learn(self, sample: Sample, read: Callable[[], Values]) -> Perturbation:
        """Return the perturbation with what it learned from the training set, whose values `read` returns."""
        return self

    def check(self, sample: Sample) -> None:  # noqa: B027
        """Raise InvalidParameter if the perturbation cannot be applied to such a sample."""
