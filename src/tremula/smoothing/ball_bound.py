"""Bounds of a smoothed margin over all moves of a row within a ball, from the probabilities of the boxes of its trees.

The logarithm of a box's probability is concave in the move, so it lies below each of its tangents. The tangent at the
row and the largest probability within the ball give a quadratic function above the probability. The sum of these
over all boxes has the exact value and gradient at the row, and its largest value in the ball bounds the margin. The
trees share the move: only what the quadratic functions add is counted for each box on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tremula.smoothing.box_sum import BoxSum, Factors, Integers

Floats = NDArray[np.float64]

LARGEST_RADIUS = 12.0  # boxes that are left out have a probability below 1e-100 within it
LEAST_PROBABILITY = 1e-290
N_TANGENTS = 2
N_STEPS, PRECISION = 14, 0.02  # of the search for a radius
INFLATION = 1.0 + 1e-9  # above the rounding of probabilities and of their logarithms
PRUNED = 1e-3  # of the margin, which may be given to boxes that are bounded by a constant
DUAL_STEPS = np.logspace(-9, 6, 91)
ROOT_2_PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True)
class LevelNoise:
    """What nominal attributes do under noise: for every level, the factor of its own weight and of the mean weight."""

    own: Floats
    others: Floats
    shares: Floats
    starts: NDArray[np.int32]


def _densities(z: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * np.minimum(np.abs(z), 40.0) ** 2) / ROOT_2_PI)


def interval_probabilities(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return how probable a standard normal number is in each interval, and the slope of its logarithm in a shift.

    Examples
    --------
    >>> [each.round(3).tolist() for each in interval_probabilities(np.array([-1.0, 0.0]), np.array([1.0, np.inf]))]
    [[0.683, 0.5], [0.0, 0.798]]
    """
    # In the lower tail probabilities are differences of small numbers, which lose no digits.
    with np.errstate(invalid="ignore"):
        is_upper = low + high > 0
    first, last = np.where(is_upper, -high, low), np.where(is_upper, -low, high)
    chances = np.maximum(ndtr(last) - ndtr(first), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (_densities(first) - _densities(last)) / chances
    slopes = np.where(chances > 0, slopes, 0.0)
    return chances, np.where(is_upper, -slopes, slopes)


class RowBoxes:
    """The boxes of a margin as one row reaches them under noise.

    Parameters
    ----------
    boxes : BoxSum
    row, noise_sd : float64 arrays (n_attributes,)
        The row, as the model tests it, NaN where missing; and its noise, 0 where an attribute has none or is nominal.
    levels : LevelNoise
    """

    def __init__(self, boxes: BoxSum, row: Floats, noise_sd: Floats, levels: LevelNoise) -> None:
        factors = boxes.factors
        moves = (noise_sd > 0) & ~np.isnan(row)
        is_moving = moves[factors.attribute]
        fixed = fixed_factors(factors, ~is_moving, row, levels)
        kept = np.ones(len(boxes.costs))
        np.multiply.at(kept, factors.box[~is_moving], fixed)
        self.constant = boxes.constant
        self.attributes = np.flatnonzero(moves)
        numbers = np.cumsum(moves) - 1
        box, attribute = factors.box[is_moving], factors.attribute[is_moving]
        scale, centre = noise_sd[attribute], row[attribute]
        with np.errstate(over="ignore"):
            low, high = (factors.low[is_moving] - centre) / scale, (factors.high[is_moving] - centre) / scale
        self._start(boxes.costs * kept, box, numbers[attribute], low, high)

    def _start(self, costs: Floats, box: Integers, attribute: Integers, low: Floats, high: Floats) -> None:
        """Store boxes with a positive cost; those without moving factors are part of the constant."""
        has_factors = np.zeros(len(costs), dtype=bool)
        has_factors[box] = True
        self.constant -= float(costs[~has_factors].sum())
        is_empty = np.zeros(len(costs), dtype=bool)
        is_empty[box[low >= high]] = True
        is_used = has_factors & (costs > 0) & ~is_empty
        self.is_constant = not is_used.any()
        keep, numbers = is_used[box], np.cumsum(is_used) - 1
        self.costs, self.box, self.attribute = costs[is_used], numbers[box[keep]], attribute[keep]
        self.low, self.high = low[keep], high[keep]
        self.starts = np.flatnonzero(np.diff(self.box, prepend=-1))
        chances, slopes = interval_probabilities(self.low, self.high)
        self.chances = np.multiply.reduceat(chances, self.starts) if len(chances) else np.empty(0)
        self._drop(self.chances > LEAST_PROBABILITY, slopes)

    def _drop(self, is_kept: NDArray[np.bool_], slopes: Floats) -> None:
        keep, numbers = is_kept[self.box], np.cumsum(is_kept) - 1
        self.costs, self.chances, self.box = self.costs[is_kept], self.chances[is_kept], numbers[self.box[keep]]
        self.attribute, self.low, self.high = self.attribute[keep], self.low[keep], self.high[keep]
        self.slopes = slopes[keep]
        self.starts = np.flatnonzero(np.diff(self.box, prepend=-1))
        self.quantiles = ndtri(np.minimum(self.chances, 1.0))
        # A box with several factors of one attribute (path form) has noise of its own in each: it moves further.
        repeats = _dense(self.box, self.attribute, np.ones(len(self.box)), len(self.costs), len(self.attributes))
        self.stretch = np.sqrt(repeats.max(axis=1, initial=1.0))

    @property
    def value(self) -> float:
        """The margin of the row itself."""
        return self.constant - float(self.costs @ self.chances)

    @property
    def largest_radius(self) -> float:
        """The radius up to which bounds are computed."""
        return LARGEST_RADIUS / float(self.stretch.max(initial=1.0))

    @property
    def steepness(self) -> float:
        """The length of the margin's gradient at the row."""
        terms = (self.costs * self.chances)[self.box] * self.slopes
        return float(np.linalg.norm(np.bincount(self.attribute, weights=terms)))

    def radius(self, slack: float, start: float) -> float:
        """Return a radius within which the margin stays above `slack`; `start` is one that is already known.

        The search ends within 2 % of the largest radius for which the bound shows this.
        """
        if self.value <= slack or self.is_constant:
            return np.inf if self.value > slack else start
        low, above = start, self.value - slack
        steepness = self.steepness
        high = min(self.largest_radius, above / steepness) if steepness > 0 else self.largest_radius
        below: float | None = None
        for _ in range(N_STEPS):
            if high - low <= PRECISION * low:
                break
            middle = high if below is None else low + (high - low) * np.clip(above / (above - below), 0.1, 0.9)
            bound = self.least_value(middle) - slack
            if bound > 0:
                low, above = middle, bound
            else:
                high, below = middle, max(bound, -above)
        return low

    def least_value(self, radius: float) -> float:
        """Bound the margin from below over all moves of at most `radius` standard deviations of the noise."""
        if radius > self.largest_radius:
            return -np.inf
        most = ndtr(self.quantiles + radius * self.stretch) * INFLATION
        small = self._small_boxes(most)
        total = float(self.costs[small] @ most[small])
        if not small.all():
            total += self._quadratic_bound(~small, most, radius)
        return self.constant - total * INFLATION

    def _small_boxes(self, most: Floats) -> NDArray[np.bool_]:
        """Choose boxes that can be bounded by a constant at little loss."""
        losses = self.costs * (most - self.chances)
        order = np.argsort(losses)
        n_small = np.searchsorted(np.cumsum(losses[order]), PRUNED * max(self.value, 0.0))
        is_small = np.zeros(len(losses), dtype=bool)
        is_small[order[:n_small]] = True
        return is_small

    def _quadratic_bound(self, is_used: NDArray[np.bool_], most: Floats, radius: float) -> float:
        keep, numbers = is_used[self.box], np.cumsum(is_used) - 1
        box, attribute, slopes = numbers[self.box[keep]], self.attribute[keep], self.slopes[keep]
        low, high = self.low[keep], self.high[keep]
        costs, chances = self.costs[is_used], self.chances[is_used]
        gradients = _dense(box, attribute, slopes, len(costs), len(self.attributes))
        steepness = np.linalg.norm(gradients, axis=1)
        ceilings = np.minimum(most[is_used], chances * np.exp(np.minimum(radius * steepness, 600.0)))
        starts = np.flatnonzero(np.diff(box, prepend=-1))
        directions = gradients / np.maximum(steepness, 1e-300)[:, None]
        anchors = radius * directions
        for _ in range(N_TANGENTS):
            shifts = anchors[box, attribute]
            here, slopes = interval_probabilities(low - shifts, high - shifts)
            with np.errstate(divide="ignore"):
                heights = np.add.reduceat(np.log(here), starts) - np.add.reduceat(slopes * shifts, starts)
            tangents = _dense(box, attribute, slopes, len(costs), len(self.attributes))
            lengths = np.linalg.norm(tangents, axis=1)
            is_valid = np.isfinite(heights)
            bounds = np.exp(np.minimum(heights + radius * lengths, 0.0)) * INFLATION
            ceilings = np.where(is_valid, np.minimum(ceilings, bounds), ceilings)
            anchors = 0.5 * (anchors + radius * tangents / np.maximum(lengths, 1e-300)[:, None])
        curvatures = _curvatures(chances, steepness, np.maximum(ceilings, chances), radius)
        quadratic = (directions * (costs * curvatures)[:, None]).T @ directions
        return float(costs @ chances) + most_in_ball((costs * chances) @ gradients, quadratic, radius)


def _dense(box: Integers, attribute: Integers, values: Floats, n_boxes: int, n_attributes: int) -> Floats:
    """Sum factors into a matrix of boxes by attributes: in the path form an attribute may have several in a box."""
    sums = np.bincount(box * n_attributes + attribute, weights=values, minlength=n_boxes * n_attributes)
    return np.asarray(sums.reshape(n_boxes, n_attributes))


def fixed_factors(factors: Factors, is_fixed: NDArray[np.bool_], row: Floats, levels: LevelNoise) -> Floats:
    """Return factors that no move changes: of missing values, of nominal attributes, and of numbers without noise."""
    attribute = factors.attribute[is_fixed]
    values = row[attribute]
    is_missing = np.isnan(values)
    n_levels = np.diff(levels.starts)[attribute]
    inside = ((values > factors.low[is_fixed]) & (values <= factors.high[is_fixed])).astype(np.float64)
    for place in np.flatnonzero((n_levels > 0) & ~is_missing):
        first, n = levels.starts[attribute[place]], n_levels[place]
        weights = factors.levels[is_fixed][place, :n]
        level = int(values[place])
        mean = float(levels.shares[first : first + n] @ weights)
        inside[place] = levels.own[first + level] * weights[level] + levels.others[first + level] * mean
    return np.where(is_missing, factors.share[is_fixed], inside)


def _curvatures(chances: Floats, steepness: Floats, ceilings: Floats, radius: float) -> Floats:
    """Return the least b with chance (1 + steepness t) + b t² / 2 above the probability, for all |t| ≤ radius.

    The probability is at most chance exp(steepness t), and at most the ceiling.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.minimum(np.log(ceilings / chances) / steepness, radius)
        excess = np.minimum(chances * np.exp(steepness * reach), ceilings) - chances - chances * steepness * reach
        curvatures = 2.0 * excess / reach**2
    exponent = steepness * np.where(np.isfinite(reach), reach, 0.0)
    # For small exponents the difference above has no digits left, and the series of exp is used instead.
    series = chances * steepness**2 * (1.0 + exponent / 3.0 + exponent**2 / 9.0)
    return np.asarray(np.maximum(np.where(exponent > 1e-3, curvatures, series), 0.0))


def most_in_ball(gradient: Floats, quadratic: Floats, radius: float) -> float:
    """Bound gradient · y + y' quadratic y / 2 from above over all y of at most the given length, by duality.

    For every number λ above the eigenvalues, (λ radius² + gradient' (λ - quadratic)⁻¹ gradient) / 2 is a bound, and
    the least of them is the largest value itself.

    Examples
    --------
    >>> round(most_in_ball(np.array([1.0, 0.0]), np.diag([0.0, 0.0]), 2.0), 3)
    2.0
    >>> round(most_in_ball(np.array([1.0, 0.0]), np.diag([1.0, 3.0]), 2.0), 3)
    6.25
    """
    if not len(gradient) or radius == 0.0:
        return 0.0
    values, vectors = np.linalg.eigh(quadratic)
    size = max(float(np.abs(values).max()), float(np.linalg.norm(gradient)) / radius, 1e-300)
    highest = float(values[-1]) + 1e-12 * size
    parts = (vectors.T @ gradient) ** 2
    multipliers = highest + size * DUAL_STEPS
    bounds = 0.5 * (multipliers * radius**2 + (parts / (multipliers[:, None] - values)).sum(axis=1))
    return float(bounds.min())
