"""Training of single members, in any process: from the table, the perturbations and one root seed.

A member depends on its number alone, not on the process that trains it or on the members trained with it.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from tremula.combine import Member
from tremula.ensembles.base.member import Trainer
from tremula.perturb.sample import Draw, Perturbation, Sample
from tremula.seeds import member_generator


@dataclass(frozen=True)
class Drawing:
    """The training samples of all members; drawn again, they are the same."""

    sample: Sample
    perturbations: Sequence[Perturbation]
    n_members: int
    root_seed: int

    def sample_of(self, member: int) -> tuple[Sample, np.random.Generator]:
        """Return the training sample of a member, and its random stream in the state after drawing."""
        random = member_generator(self.root_seed, member)
        draw = Draw(member, self.n_members, random, self.root_seed)
        sample = self.sample
        for perturbation in self.perturbations:
            sample = perturbation.apply(sample, draw)
        return sample, random

    def times_drawn(self, sample: Sample) -> np.ndarray:
        """Return how often each row is in the sample; -1 for a row of weight 0, which is never drawn."""
        if sample.weights is None:
            return np.ones(sample.n_rows, np.int16)
        if sample.copies is not None:
            return self._copies(sample.copies, sample.weights)
        if self.sample.weights is None:
            return np.asarray(np.minimum(sample.weights, np.iinfo(np.int16).max).astype(np.int16))
        never = self.sample.weights == 0
        counts = np.round(sample.weights / np.where(never, 1.0, self.sample.weights))
        return np.where(never, -1, np.minimum(counts, np.iinfo(np.int16).max)).astype(np.int16)

    def _copies(self, copies: np.ndarray, weights: np.ndarray) -> np.ndarray:
        counts = np.minimum(np.where(weights > 0, copies, 0), np.iinfo(np.int16).max).astype(np.int16)
        if self.sample.weights is not None:
            counts[self.sample.weights == 0] = -1
        return np.asarray(counts)


def checksum(sample: Sample) -> int:
    """Return a checksum of targets, weights and groups, by which the rows of `fit` are recognised later."""
    known = zlib.crc32(b"" if sample.weights is None else sample.weights.tobytes(), zlib.crc32(sample.target.tobytes()))
    return known if sample.groups is None else zlib.crc32(sample.groups.tobytes(), known)


@dataclass(frozen=True)
class Training:
    """Trains any member, in any process."""

    trainer: Trainer
    drawing: Drawing
    with_counts: bool

    def __sizeof__(self) -> int:
        """Return about the bytes of the table, so that Dask sends it only once."""
        sample = self.drawing.sample
        return object.__sizeof__(self) + 8 * sample.n_rows * sample.n_attributes

    def __call__(self, members: range) -> list[tuple[Member, np.ndarray | None]]:
        """Train these members; return each with its in-bag counts, or with None without `with_counts`."""
        trained = []
        for member in members:
            sample, random = self.drawing.sample_of(member)
            counts = self.drawing.times_drawn(sample) if self.with_counts else None
            trained.append((self.trainer.train(sample, random), counts))
        return trained


@contextmanager
def as_before_unless_done(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes of an estimator if its training fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


class AllOrNothingFitMixin:
    """Mixin for ensembles whose `fit` trains all that is wanted, or leaves them as they were."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise InvalidParameter if a parameter has a wrong value."""

    @abstractmethod
    def _train(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:
        """Train the members."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members; an error leaves the ensemble as it was.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            Ensembles of CART trees take sparse tables too.
        y : array of shape (n_rows,)
            Class labels of any type for a classifier, finite numbers for a regressor.
        sample_weight : array of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        with as_before_unless_done(self):
            self._train(X, y, sample_weight)
        return self
