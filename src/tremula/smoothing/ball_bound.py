"""Bounds of a smoothed margin over all moves of a row within a ball, from the probabilities of the boxes of its trees.

The logarithm of a box's probability is concave in the move, so it lies below each of its tangents. The tangent at the
row and the largest probability within the ball give a quadratic function above the probability. The sum of these
over all boxes has the exact value and gradient at the row, and its largest value in the ball bounds the margin. The
trees share the move: only what the quadratic functions add is counted for each box on its own.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tremula.smoothing.box_sum import BoxSum, Factors, Integers
from tremula.smoothing.region import Region, slab

Floats = NDArray[np.float64]

LARGEST_RADIUS = 12.0  # boxes that are left out have a probability below 1e-100 within it
LEAST_PROBABILITY = 1e-290
N_TANGENTS = 2
N_STEPS, PRECISION = 14, 0.02  # of the search for a radius
INFLATION = 1.0 + 1e-9  # above the rounding of probabilities and of their logarithms
PRUNED = 1e-3  # of the margin, which may be given to boxes that are bounded by a constant
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
    def slope(self) -> Floats:
        """The negative gradient of the margin at the row."""
        terms = (self.costs * self.chances)[self.box] * self.slopes
        return np.asarray(np.bincount(self.attribute, weights=terms, minlength=len(self.attributes)), dtype=np.float64)

    def radius(self, slack: float, start: float, n_regions: int = 1) -> float:
        """Return a radius within which the margin stays above `slack`; `start` is one that is already known.

        The search ends within 2 % of the largest radius for which the bound shows this.
        """
        if self.value <= slack or self.is_constant:
            return np.inf if self.value > slack else start
        low, above = start, self.value - slack
        steepness = float(np.linalg.norm(self.slope))
        high = min(self.largest_radius, above / steepness) if steepness > 0 else self.largest_radius
        below: float | None = None
        for _ in range(N_STEPS):
            if high - low <= PRECISION * low:
                break
            middle = high if below is None else low + (high - low) * np.clip(above / (above - below), 0.1, 0.9)
            bound = self.least_value(middle, n_regions, slack) - slack
            if bound > 0:
                low, above = middle, bound
            else:
                high, below = middle, max(bound, -above)
        return low

    def least_value(self, radius: float, n_regions: int = 1, enough: float = np.inf) -> float:
        """Bound the margin from below over all moves of at most `radius` standard deviations of the noise.

        With several regions the ball is cut into slabs across the worst direction, the slab with the least bound first,
        until the bound exceeds `enough`.
        """
        if radius > self.largest_radius:
            return -np.inf
        origin = np.zeros(len(self.attributes))
        whole, worst = self._bound(Region(origin, origin, 0.0, radius))
        length = float(np.linalg.norm(worst))
        if n_regions <= 1 or length == 0 or whole > enough:
            return whole
        axis = worst / length
        slabs = [(-np.inf, -radius, radius)]
        for _ in range(n_regions - 1):
            _, first, last = heapq.heappop(slabs)
            middle = 0.5 * (first + last)
            for ends in ((first, middle), (middle, last)):
                heapq.heappush(slabs, (self._bound(slab(axis, *ends, radius))[0], *ends))
            if slabs[0][0] > enough:
                break
        return max(whole, slabs[0][0])

    def _bound(self, region: Region) -> tuple[float, Floats]:
        """Bound the margin from below over a region of moves; also return the direction of the worst move."""
        chances, slopes = self.chances, self.slopes
        low, high = self.low, self.high
        if region.centre.any():
            low, high = low - region.centre[self.attribute], high - region.centre[self.attribute]
            chances, slopes = interval_probabilities(low, high)
            chances = np.multiply.reduceat(chances, self.starts)
        most = ndtr(ndtri(np.minimum(chances, 1.0)) + region.radius * self.stretch) * INFLATION
        losses = self.costs * (most - chances)
        order = np.argsort(losses)
        n_small = np.searchsorted(np.cumsum(losses[order]), PRUNED * max(self.value, 0.0))
        is_large = np.ones(len(losses), dtype=bool)
        is_large[order[:n_small]] = False
        is_large &= chances > LEAST_PROBABILITY
        total, worst = float(self.costs[~is_large] @ most[~is_large]), np.zeros(len(region.centre))
        if is_large.any():
            keep, numbers = is_large[self.box], np.cumsum(is_large) - 1
            factors = MovedFactors(numbers[self.box[keep]], self.attribute[keep], low[keep], high[keep])
            bound, worst = factors.most(self.costs[is_large], chances[is_large], slopes[keep], most[is_large], region)
            total += bound
        return self.constant - total * INFLATION, worst


@dataclass(frozen=True)
class MovedFactors:
    """Factors of boxes, in standard deviations of the noise from a moved row."""

    box: Integers
    attribute: Integers
    low: Floats
    high: Floats

    def most(
        self, costs: Floats, chances: Floats, slopes: Floats, ceilings: Floats, region: Region
    ) -> tuple[float, Floats]:
        """Bound the sum of costs times probabilities over a region, whose centre is the moved row.

        Parameters
        ----------
        costs, chances, ceilings : float64 arrays (n_boxes,)
            Of every box its cost, its probability at the centre, and a bound of its probability in the region.
        slopes : float64 array (n_factors,)
            Logarithmic derivative of each factor at the centre.
        region : Region
        """
        shape = len(costs), len(region.centre)
        gradients = _dense(self.box, self.attribute, slopes, *shape)
        steepness = np.linalg.norm(gradients, axis=1)
        ceilings = np.minimum(ceilings, chances * np.exp(np.minimum(region.reach(gradients), 600.0)))
        starts = np.flatnonzero(np.diff(self.box, prepend=-1))
        anchors = region.furthest(gradients)
        for _ in range(N_TANGENTS):
            shifts = anchors[self.box, self.attribute]
            here, slopes = interval_probabilities(self.low - shifts, self.high - shifts)
            with np.errstate(divide="ignore"):
                heights = np.add.reduceat(np.log(here), starts) - np.add.reduceat(slopes * shifts, starts)
            tangents = _dense(self.box, self.attribute, slopes, *shape)
            bounds = np.exp(np.minimum(heights + region.reach(tangents), 0.0)) * INFLATION
            ceilings = np.where(np.isfinite(heights), np.minimum(ceilings, bounds), ceilings)
            anchors = 0.5 * (anchors + region.furthest(tangents))
        directions = gradients / np.maximum(steepness, 1e-300)[:, None]
        reach = region.reach(directions)
        curvatures = _curvatures(chances, steepness, np.maximum(ceilings, chances), reach)
        quadratic = (directions * (costs * curvatures)[:, None]).T @ directions
        bound, worst = region.most((costs * chances) @ gradients, quadratic)
        return float(costs @ chances) + bound, worst


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
    level_weights = factors.levels[is_fixed]
    for place in np.flatnonzero((n_levels > 0) & ~is_missing):
        first, n = levels.starts[attribute[place]], n_levels[place]
        weights = level_weights[place, :n]
        level = int(values[place])
        mean = float(levels.shares[first : first + n] @ weights)
        inside[place] = levels.own[first + level] * weights[level] + levels.others[first + level] * mean
    return np.where(is_missing, factors.share[is_fixed], inside)


def _curvatures(chances: Floats, steepness: Floats, ceilings: Floats, furthest: Floats) -> Floats:
    """Return the least b with chance (1 + steepness t) + b t² / 2 above the probability, for all |t| ≤ furthest.

    The probability is at most chance exp(steepness t), and at most the ceiling.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.minimum(np.log(ceilings / chances) / steepness, furthest)
        excess = np.minimum(chances * np.exp(steepness * reach), ceilings) - chances - chances * steepness * reach
        curvatures = 2.0 * excess / reach**2
    exponent = steepness * np.where(np.isfinite(reach), reach, 0.0)
    # For small exponents the difference above has no digits left, and the series of exp is used instead.
    series = chances * steepness**2 * (1.0 + exponent / 3.0 + exponent**2 / 9.0)
    return np.asarray(np.maximum(np.where(exponent > 1e-3, curvatures, series), 0.0))
