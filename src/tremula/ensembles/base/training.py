"""What is needed to train any member of an ensemble, anywhere: the table, what is shaken, and one root seed.

The result for a member depends on its number alone, not on who trains it or which others are trained with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from tremula.combine import Member
from tremula.ensembles.base.member import Trainer
from tremula.perturb.sample import Draw, Perturbation, Sample
from tremula.seeds import member_generator


@dataclass(frozen=True)
class Drawing:
    """What every member is trained on; drawn again, it is the same."""

    sample: Sample
    perturbations: Sequence[Perturbation]
    n_members: int
    root_seed: int

    def sample_of(self, member: int) -> tuple[Sample, np.random.Generator]:
        """Return what a member is trained on, and its stream of random numbers as the drawing left it."""
        random = member_generator(self.root_seed, member)
        draw = Draw(member, self.n_members, random, self.root_seed)
        sample = self.sample
        for perturbation in self.perturbations:
            sample = perturbation.apply(sample, draw)
        return sample, random

    def times_drawn(self, sample: Sample) -> np.ndarray:
        """Return how often each row is in the sample; -1 for a row that never could be."""
        if sample.weights is None:
            return np.ones(sample.n_rows, np.int16)
        if self.sample.weights is None:
            return np.minimum(sample.weights, np.iinfo(np.int16).max).astype(np.int16)
        never = self.sample.weights == 0
        counts = np.round(sample.weights / np.where(never, 1.0, self.sample.weights))
        return np.where(never, -1, np.minimum(counts, np.iinfo(np.int16).max)).astype(np.int16)


def checksum(sample: Sample) -> int:
    """Return a number by which rows given later are told from those of the training."""
    weights = b"" if sample.weights is None else sample.weights.tobytes()
    return zlib.crc32(weights, zlib.crc32(sample.target.tobytes()))


@dataclass(frozen=True)
class Training:
    """All that is needed to train any member, anywhere."""

    trainer: Trainer
    drawing: Drawing
    with_counts: bool

    def __sizeof__(self) -> int:
        """Return about the bytes of the table, by which Dask sees that this is worth sending once only."""
        sample = self.drawing.sample
        return object.__sizeof__(self) + 8 * sample.n_rows * sample.n_attributes

    def __call__(self, members: range) -> list[tuple[Member, np.ndarray | None]]:
        """Train these members; with each goes how often it had each row, if that is wanted."""
        trained = []
        for member in members:
            sample, random = self.drawing.sample_of(member)
            counts = self.drawing.times_drawn(sample) if self.with_counts else None
            trained.append((self.trainer.train(sample, random), counts))
        return trained


@contextmanager
def as_before_unless_done(estimator: BaseEstimator) -> Iterator[None]:
    """Put an estimator back as it was if its training fails or is interrupted: no half model is left."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise
