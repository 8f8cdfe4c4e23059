"""Perturbs the attribute values: adds noise to every drawn row; each copy of a row gets its own noise.

The noise has its own random stream. An amount of 0 therefore changes nothing at all, and all amounts share the same
standard draws. Missing values stay missing, and the target is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_choice, check_flag
from tremula.parameters.kinds import check_finite
from tremula.persistence.registry import storable
from tremula.perturb.noise_units import UNITS
from tremula.perturb.sample import Draw, Perturbation, Sample, Values


class Draws:
    """Standard draws of one member; the draws of the first rows do not depend on the number of rows."""

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._seeds = dict(zip(("normal", "uniform", "count", "chance", "level"), seed.spawn(5), strict=True))
        self._cache: dict[str, np.ndarray] = {}

    def generator(self, kind: str) -> np.random.Generator:
        """Return a new generator, always with the same seed."""
        return np.random.default_rng(self._seeds[kind])

    def normals(self, shape: tuple[int, int]) -> np.ndarray:
        """Return standard normal numbers."""
        return self._draw("normal", shape, lambda stream: stream.standard_normal(shape))

    def uniforms(self, kind: str, shape: tuple[int, int]) -> np.ndarray:
        """Return numbers between 0 and 1."""
        return self._draw(kind, shape, lambda stream: stream.random(shape))

    def _draw(self, kind: str, shape: tuple[int, int], draw: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
        cached = self._cache.get(kind)
        if cached is None or cached.shape[1] != shape[1] or len(cached) < shape[0]:
            cached = self._cache[kind] = draw(self.generator(kind))
        return cached[: shape[0]]


# Each distribution takes values, the standard deviation of the noise and the mean of each column, and standard draws.
def _gaussian(values: np.ndarray, sizes: np.ndarray, means: np.ndarray, draws: Draws) -> np.ndarray:
    values += draws.normals(values.shape) * sizes
    return values


def _uniform(values: np.ndarray, sizes: np.ndarray, means: np.ndarray, draws: Draws) -> np.ndarray:
    values += (2.0 * draws.uniforms("uniform", values.shape) - 1.0) * (np.sqrt(3.0) * sizes)
    return values


def _poisson(values: np.ndarray, sizes: np.ndarray, means: np.ndarray, draws: Draws) -> np.ndarray:
    """Draw counts of a unit chosen such that the noise has the wanted standard deviation at the mean; 0 stays 0."""
    stream = draws.generator("count")
    for column, (size, mean) in enumerate(zip(sizes, means, strict=True)):
        known = ~np.isnan(values[:, column])
        if size > 0.0:
            unit = size**2 / mean
            values[known, column] = unit * stream.poisson(values[known, column] / unit)
    return values


def _logarithmic(values: np.ndarray, sizes: np.ndarray, means: np.ndarray, draws: Draws) -> np.ndarray:
    """Add Gaussian noise to log(1 + value); negative results become 0."""
    return np.asarray(np.maximum(np.expm1(np.log1p(values) + draws.normals(values.shape) * sizes), 0.0))


DISTRIBUTIONS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, Draws], np.ndarray]] = {
    "gaussian": _gaussian,
    "uniform": _uniform,
    "poisson": _poisson,
    "log": _logarithmic,
}
LARGEST = float(np.finfo(np.float64).max)
LARGE = LARGEST / 1e10  # with larger values noise could make infinities
FOR_COUNTS = ("poisson", "log")  # columns with a negative value get Gaussian noise instead


@storable
@dataclass(frozen=True)
class SmearedInputs(Perturbation):
    """Input smearing: noise on the attribute values of every drawn row.

    Parameters
    ----------
    noise : float or sequence of float, default=0.1
        Amount of noise, in units of the attribute's standard deviation in the training set (see `unit`); one number for
        all attributes, or one for each. 0 changes nothing.
    distribution : {"gaussian", "uniform", "poisson", "log"}, default="gaussian"
        Distribution of the noise. All but "log" have the same standard deviation. "poisson" and "log" are for counts
        and other non-negative numbers: "poisson" noise grows with the value and keeps 0, "log" is Gaussian noise on
        log(1 + value). Attributes with a negative value get Gaussian noise instead.
    unit : {"deviation", "rule_of_thumb", "likelihood"}, default="deviation"
        Unit of the noise on an attribute: its standard deviation, or the bandwidth of a kernel density estimate of its
        values, by Silverman's rule of thumb or by maximum leave-one-out likelihood.
    smear_nominal : bool, default=False
        Whether a nominal value is replaced with probability `noise` by another level, drawn uniformly.
    within_bounds : bool, default=False
        Whether values stay between the attribute's minimum and maximum; values beyond them are reflected.
    keep_integers : bool, default=False
        Whether integer attributes stay integers; their values are rounded.

    Notes
    -----
    The noise is drawn after all perturbations of a list have been applied, whatever the place of this one. Two copies
    of a row in a bootstrap sample get different noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import PerturbCombineClassifier
    >>> from tremula.perturb import Bootstrap, RandomSplits, SmearedInputs
    >>> X, y = load_iris(return_X_y=True)
    >>> perturb = [Bootstrap(), SmearedInputs(noise=0.15), RandomSplits(n_best_splits=5)]
    >>> PerturbCombineClassifier(perturb=perturb, n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    noise: float | Sequence[float] = 0.1
    _: KW_ONLY
    distribution: str = "gaussian"
    unit: str = "deviation"
    smear_nominal: bool = False
    within_bounds: bool = False
    keep_integers: bool = False

    def __post_init__(self) -> None:
        """Turn several amounts into a tuple, which can be compared and stored."""
        if isinstance(self.noise, np.ndarray) and self.noise.ndim == 0:
            object.__setattr__(self, "noise", self.noise.item())
        elif isinstance(self.noise, np.ndarray | list):
            object.__setattr__(self, "noise", tuple(np.asarray(self.noise, dtype=object).tolist()))

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if amounts are negative, not finite, or not one for each attribute."""
        check_choice("distribution", self.distribution, DISTRIBUTIONS)
        check_choice("unit", self.unit, UNITS)
        for name in ("smear_nominal", "within_bounds", "keep_integers"):
            check_flag(name, getattr(self, name))
        if isinstance(self.noise, Real) or not isinstance(self.noise, tuple):
            check_finite("noise", self.noise)
            return
        if len(self.noise) != sample.n_attributes:
            raise InvalidParameter(
                f"noise has {len(self.noise)} amounts, but there are {sample.n_attributes} attributes: give one for "
                "each, or a single number for all"
            )
        for amount in self.noise:
            check_finite("noise", amount)

    def amounts(self, n_attributes: int) -> np.ndarray:
        """Return the amount of noise on each attribute."""
        return np.broadcast_to(np.asarray(self.noise, np.float64), n_attributes)

    def learn(self, sample: Sample, read: Callable[[], Values]) -> Perturbation:
        """Return the perturbation with the units of the attributes in these rows; itself if all amounts are 0."""
        if not self.amounts(sample.n_attributes).any():
            return self
        return LearnedNoise.of(self, sample, read())

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample as it is: noise is added only after `learn`."""
        return sample


@dataclass(frozen=True, eq=False)
class LearnedNoise(Perturbation):
    """Input smearing with what it learned of the attributes.

    Attributes
    ----------
    recipe : SmearedInputs
    n_levels : array (n_attributes,)
        Number of levels; 0 for a numeric attribute.
    units, means, low, high : arrays (n_attributes,)
        Unit of noise, mean, minimum and maximum of each attribute.
    is_whole, is_count : arrays of bool (n_attributes,)
        Whether all values are integers; whether the attribute gets the noise for counts.
    """

    recipe: SmearedInputs
    n_levels: np.ndarray
    units: np.ndarray
    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_whole: np.ndarray
    is_count: np.ndarray

    @classmethod
    def of(cls, recipe: SmearedInputs, sample: Sample, table: Values) -> LearnedNoise:
        """Learn the attributes from the rows that can be drawn."""
        rows = sample.eligible_rows()
        weights = None if sample.weights is None else sample.weights[rows]
        check_choice("unit", recipe.unit, UNITS)
        facts = [_facts(recipe, table.values[rows, a], weights, n) for a, n in enumerate(table.n_levels)]
        return cls(recipe, np.asarray(table.n_levels), *(np.array(column) for column in zip(*facts)))

    def at(self, noise: float | Sequence[float]) -> LearnedNoise:
        """Return the same noise in another amount."""
        return replace(self, recipe=replace(self.recipe, noise=noise))

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample with noise, which is added to the values when the member is trained."""
        return self.apply_with(sample, Draws(draw.separate_seed(len(sample.noise))))

    def apply_with(self, sample: Sample, draws: Draws) -> Sample:
        """Do the same as `apply`, with standard draws that several amounts may share."""
        if not self.recipe.amounts(sample.n_attributes).any():
            return sample
        return replace(sample, noise=(*sample.noise, DrawnNoise(self, draws)))


def _facts(recipe: SmearedInputs, column: np.ndarray, weights: np.ndarray | None, n_levels: int) -> tuple[Any, ...]:
    """Return the unit, mean, minimum, maximum, `is_whole` and `is_count` of one attribute."""
    is_known = ~np.isnan(column)
    known = column[is_known]
    if n_levels or not len(known):
        return 0.0, 0.0, 0.0, 0.0, False, False
    weights = None if weights is None else weights[is_known]
    is_count = recipe.distribution in FOR_COUNTS and known.min() >= 0.0
    measured = np.log1p(known) if is_count and recipe.distribution == "log" else known
    unit = UNITS[recipe.unit](measured, weights)
    return unit, known.mean(), known.min(), known.max(), bool((known == np.rint(known)).all()), is_count


@dataclass(frozen=True, eq=False)
class DrawnNoise:
    """The noise of one member."""

    learned: LearnedNoise
    draws: Draws

    def smear(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the values (n_copies, n_attributes) with noise, whatever their rows; the array is overwritten."""
        learned, recipe = self.learned, self.learned.recipe
        sizes = recipe.amounts(values.shape[1]) * learned.units
        with np.errstate(over="ignore"):
            if recipe.distribution not in FOR_COUNTS:
                values = DISTRIBUTIONS[recipe.distribution](values, sizes, learned.means, self.draws)
            else:
                values = self._smear_counts(values, sizes)
        if np.any(np.maximum(learned.high, -learned.low) > LARGE):
            values = np.clip(values, -LARGEST, LARGEST)
        if recipe.keep_integers:
            values[:, learned.is_whole] = np.rint(values[:, learned.is_whole])
        if recipe.within_bounds:
            self._reflect(values)
        return self._smear_levels(values) if recipe.smear_nominal and learned.n_levels.any() else values

    def _smear_counts(self, values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        is_count = self.learned.is_count
        means, smear = self.learned.means, DISTRIBUTIONS[self.learned.recipe.distribution]
        as_counts = smear(np.where(is_count, values, 0.0), np.where(is_count, sizes, 0.0), means, self.draws)
        others = _gaussian(values, np.where(is_count, 0.0, sizes), means, self.draws)
        return np.where(is_count, as_counts, others)

    def _reflect(self, values: np.ndarray) -> None:
        """Reflect values at the bounds, once, and clip those that are still beyond."""
        learned = self.learned
        numeric = np.flatnonzero((learned.n_levels == 0) & (learned.units > 0.0))
        low, high, reflected = learned.low[numeric], learned.high[numeric], values[:, numeric]
        reflected = np.where(reflected < low, 2.0 * low - reflected, reflected)
        reflected = np.where(reflected > high, 2.0 * high - reflected, reflected)
        values[:, numeric] = np.clip(reflected, low, high)

    def _smear_levels(self, values: np.ndarray) -> np.ndarray:
        """Replace some nominal values by another level of their attribute."""
        nominal = np.flatnonzero(self.learned.n_levels > 1)
        n_levels, codes = self.learned.n_levels[nominal], values[:, nominal]
        chances = self.learned.recipe.amounts(values.shape[1])[nominal]
        is_changed = self.draws.uniforms("chance", values.shape)[:, nominal] < chances
        steps = 1.0 + np.floor(self.draws.uniforms("level", values.shape)[:, nominal] * (n_levels - 1))
        values[:, nominal] = np.where(is_changed, np.mod(codes + steps, n_levels), codes)
        return values
