"""Shakes the target: noise on numbers, flips of classes that keep the classes' proportions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_number
from tremula.perturb.sample import Draw, Perturbation, Sample

N_ROBUST_PASSES = 5


def robust_spread(target: np.ndarray) -> float:
    """Return the standard deviation without values beyond 2.5 of it, found in a few passes.

    Examples
    --------
    >>> import numpy as np
    >>> bool(robust_spread(np.r_[np.linspace(-1, 1, 101), 1000]) < 1)
    True
    """
    kept = target
    for _ in range(N_ROBUST_PASSES):
        centre, spread = kept.mean(), kept.std()
        inside = np.abs(kept - centre) <= 2.5 * spread
        if inside.all():
            break
        kept = kept[inside]
    return float(kept.std())


@dataclass(frozen=True)
class SmearedTarget(Perturbation):
    """Output smearing: Gaussian noise on a numeric target, of its own (robust) standard deviation.

    Parameters
    ----------
    scale : float, default=1.0
        The noise in units of that deviation.
    """

    scale: float = 1.0

    def check(self, sample: Sample) -> None:
        """Refuse classes."""
        check_number("scale", self.scale, 0.0)
        if sample.n_classes:
            raise InvalidParameter("SmearedTarget shakes a numeric target, but this has classes: use FlippedClasses")

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Add noise to every row's target."""
        noise = draw.random.standard_normal(sample.n_rows) * robust_spread(sample.target) * self.scale
        return replace(sample, target=sample.target + noise)


def flip_probabilities(proportions: np.ndarray, rate: float) -> np.ndarray:
    """Return the table of chances that a row of class j becomes class i.

    A share `rate` of all rows changes class, and the classes keep their proportions in expectation.

    Examples
    --------
    >>> import numpy as np
    >>> flip_probabilities(np.array([0.5, 0.5]), 0.2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    evenness = 1.0 - float((proportions**2).sum())
    chance = rate / evenness
    if chance * (1.0 - proportions[proportions > 0].min()) > 1.0 + 1e-12:
        largest = evenness / (1.0 - float(proportions[proportions > 0].min()))
        raise InvalidParameter(
            f"rate={rate} flips more rows of the rarest class than there are: take at most {largest:.3g} here"
        )
    table = np.tile(chance * proportions, (len(proportions), 1))
    np.fill_diagonal(table, 0.0)
    np.fill_diagonal(table, 1.0 - table.sum(axis=1))
    return table


@dataclass(frozen=True)
class FlippedClasses(Perturbation):
    """Output flipping: some rows get another class, so that the classes keep their proportions in expectation.

    Parameters
    ----------
    rate : float, default=0.2
        Share of rows that change class.
    """

    rate: float = 0.2

    def check(self, sample: Sample) -> None:
        """Refuse a numeric target, and a rate that the rarest class cannot bear."""
        check_number("rate", self.rate, 0.0, 1.0)
        if not sample.n_classes:
            raise InvalidParameter("FlippedClasses shakes classes, but this target is numeric: use SmearedTarget")
        flip_probabilities(self._proportions(sample), self.rate)

    @staticmethod
    def _proportions(sample: Sample) -> np.ndarray:
        return np.bincount(sample.target, minlength=sample.n_classes) / sample.n_rows

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Draw every row's class anew from its row of the table."""
        table = flip_probabilities(self._proportions(sample), self.rate).cumsum(axis=1)
        uniform = draw.random.random(sample.n_rows)
        flipped = (uniform[:, None] >= table[sample.target]).sum(axis=1)
        return replace(sample, target=np.minimum(flipped, sample.n_classes - 1).astype(sample.target.dtype))
