"""Perturbs the target: noise on a numeric target, and flips of classes that keep the class proportions."""

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
    """Return the standard deviation without outliers: values beyond 2.5 deviations are dropped, in a few passes.

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
    """Output smearing: Gaussian noise on a numeric target.

    Parameters
    ----------
    noise : float, default=1.0
        Amount of noise, in units of the target's robust standard deviation.
    """

    noise: float = 1.0

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target has classes."""
        check_finite("noise", self.noise)
        if sample.n_classes:
            raise InvalidParameter(
                "SmearedTarget was given, which perturbs a numeric target, but the target has classes: use "
                "FlippedClasses"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Add noise to the target of every row."""
        spread = robust_spread(sample.target[sample.eligible_rows()])
        noise = draw.random.standard_normal(sample.n_rows) * spread * self.noise
        return replace(sample, target=sample.target + noise)


def class_proportions(sample: Sample) -> np.ndarray:
    """Return the share of each class in the rows, or in their weight if they have weights."""
    counts = np.bincount(sample.target, sample.weights, minlength=sample.n_classes)
    return np.asarray(counts / counts.sum())


@storable
@dataclass(frozen=True)
class SmearedClasses(Perturbation):
    """Output smearing of classes: Gaussian noise on the indicator column of each class.

    Parameters
    ----------
    noise : float, default=1.0
        Amount of noise, in units of the column's standard deviation: sqrt(p (1 - p)) for a class of share p.

    Notes
    -----
    The new target has a numeric column for each class. It needs a `PerClassTrainer`, and must come last in a list.
    """

    noise: float = 1.0

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target is numeric."""
        check_finite("noise", self.noise)
        _check_classes("SmearedClasses", sample)

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Add noise to the class indicators of every row."""
        shares = class_proportions(sample)
        indicators = np.eye(sample.n_classes)[sample.target]
        noise = draw.random.standard_normal(indicators.shape) * np.sqrt(shares * (1.0 - shares)) * self.noise
        return replace(sample, target=indicators + noise)


def _check_classes(perturbation: str, sample: Sample) -> None:
    if not sample.n_classes:
        raise InvalidParameter(
            f"{perturbation} was given, which perturbs classes, but the target is numeric: use SmearedTarget"
        )


def highest_rate(proportions: np.ndarray) -> float:
    """Return the largest share of rows that can change class while the class proportions stay the same.

    Examples
    --------
    >>> import numpy as np
    >>> round(highest_rate(np.array([0.9, 0.1])), 6)
    0.2
    """
    present = proportions[proportions > 0]
    return (1.0 - float((present**2).sum())) / (1.0 - float(present.min())) if len(present) > 1 else 0.0


def flip_probabilities(proportions: np.ndarray, rate: float) -> np.ndarray:
    """Return the matrix of probabilities that a row of class i becomes class j.

    A share `rate` of all rows changes class, and the class proportions stay the same in expectation.

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
            f"rate={rate} would flip more rows of the rarest class than there are: "
            f"give at most {floor(1000 * highest + 1e-8) / 1000:g} for these classes"
        )
    factor = rate / (1.0 - float((proportions**2).sum())) if rate else 0.0
    matrix = np.tile(factor * proportions, (len(proportions), 1))
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


@storable
@dataclass(frozen=True)
class FlippedClasses(Perturbation):
    """Output flipping: some rows change class, such that the class proportions stay the same in expectation.

    Parameters
    ----------
    rate : float, default=0.2
        Share of rows that change class; the share of their weight if they have weights.
    """

    rate: float = 0.2

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target is numeric, or if the rate is too high for the rarest class."""
        check_number("rate", self.rate, 0.0, 1.0)
        _check_classes("FlippedClasses", sample)
        flip_probabilities(class_proportions(sample), self.rate)

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Draw a new class for every row."""
        proportions = class_proportions(sample)
        # In a bootstrap sample the rarest class may be rarer than when the rate was checked.
        cumulative = flip_probabilities(proportions, min(self.rate, highest_rate(proportions))).cumsum(axis=1)
        uniform = draw.random.random(sample.n_rows)
        flipped = (uniform[:, None] >= cumulative[sample.target]).sum(axis=1)
        return replace(sample, target=np.minimum(flipped, sample.n_classes - 1).astype(sample.target.dtype))
