"""Shakes the target: noise on numbers, flips of classes that keep the classes' proportions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_number
from tremula.parameters.kinds import check_finite
from tremula.persistence.registry import storable
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


@storable
@dataclass(frozen=True)
class SmearedTarget(Perturbation):
    """Output smearing: Gaussian noise on a numeric target, of its own (robust) standard deviation.

    Parameters
    ----------
    noise : float, default=1.0
        Amount of noise, in units of that deviation.
    """

    noise: float = 1.0

    def check(self, sample: Sample) -> None:
        """Refuse classes."""
        check_finite("noise", self.noise)
        if sample.n_classes:
            raise InvalidParameter("SmearedTarget shakes a numeric target, but this has classes: use FlippedClasses")

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Add noise to every row's target."""
        spread = robust_spread(sample.target[sample.eligible_rows()])
        noise = draw.random.standard_normal(sample.n_rows) * spread * self.noise
        return replace(sample, target=sample.target + noise)


def class_proportions(sample: Sample) -> np.ndarray:
    """Return the share of each class in the rows, or in their weight where they have weights."""
    counts = np.bincount(sample.target, sample.weights, minlength=sample.n_classes)
    return np.asarray(counts / counts.sum())


@storable
@dataclass(frozen=True)
class SmearedClasses(Perturbation):
    """Output smearing of classes: each class is a column of 0 and 1, with Gaussian noise of the column's deviation.

    Parameters
    ----------
    noise : float, default=1.0
        Amount of noise, in units of that deviation, sqrt(p (1 - p)) for a class of share p.

    Notes
    -----
    What comes out has a column of numbers for each class: it is for a `PerClassTrainer`, and stands last in a list.
    """

    noise: float = 1.0

    def check(self, sample: Sample) -> None:
        """Refuse a numeric target."""
        check_finite("noise", self.noise)
        if not sample.n_classes:
            raise InvalidParameter("SmearedClasses shakes classes, but this target is numeric: use SmearedTarget")

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Add noise to every row's indicators."""
        shares = class_proportions(sample)
        indicators = np.eye(sample.n_classes)[sample.target]
        noise = draw.random.standard_normal(indicators.shape) * np.sqrt(shares * (1.0 - shares)) * self.noise
        return replace(sample, target=indicators + noise)


def highest_rate(proportions: np.ndarray) -> float:
    """Return the largest share of rows that can change class while the classes keep their proportions.

    Examples
    --------
    >>> import numpy as np
    >>> round(highest_rate(np.array([0.9, 0.1])), 6)
    0.2
    """
    present = proportions[proportions > 0]
    return (1.0 - float((present**2).sum())) / (1.0 - float(present.min())) if len(present) > 1 else 0.0


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
    highest = highest_rate(proportions)
    if rate > highest + 1e-9:
        raise InvalidParameter(
            f"rate={rate} flips more rows of the rarest class than there are: "
            f"take at most {floor(1000 * highest + 1e-8) / 1000:g} here"
        )
    chance = rate / (1.0 - float((proportions**2).sum())) if rate else 0.0
    table = np.tile(chance * proportions, (len(proportions), 1))
    np.fill_diagonal(table, 0.0)
    np.fill_diagonal(table, 1.0 - table.sum(axis=1))
    return table


@storable
@dataclass(frozen=True)
class FlippedClasses(Perturbation):
    """Output flipping: some rows get another class, so that the classes keep their proportions in expectation.

    Parameters
    ----------
    rate : float, default=0.2
        Share of rows (of their weight, where they have weights) that change class.
    """

    rate: float = 0.2

    def check(self, sample: Sample) -> None:
        """Refuse a numeric target, and a rate that the rarest class cannot bear."""
        check_number("rate", self.rate, 0.0, 1.0)
        if not sample.n_classes:
            raise InvalidParameter("FlippedClasses shakes classes, but this target is numeric: use SmearedTarget")
        flip_probabilities(class_proportions(sample), self.rate)

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Draw every row's class anew from its row of the table."""
        proportions = class_proportions(sample)
        # Rows drawn before may have made the rarest class rarer than it was when the rate was checked.
        table = flip_probabilities(proportions, min(self.rate, highest_rate(proportions))).cumsum(axis=1)
        uniform = draw.random.random(sample.n_rows)
        flipped = (uniform[:, None] >= table[sample.target]).sum(axis=1)
        return replace(sample, target=np.minimum(flipped, sample.n_classes - 1).astype(sample.target.dtype))
