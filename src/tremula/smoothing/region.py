"""Regions of moves, and the largest value of a quadratic function there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRETCHES = (0.5, 1.0, 2.0)  # of the axis of a slab, in comparison to its shape
DUAL_STEPS = np.logspace(-9, 6, 91)


@dataclass(frozen=True)
class Region:
    """Moves from `centre` on: at most `half_width` along the axis, and at most `rest` across it."""

    centre: Floats
    axis: Floats
    half_width: float
    rest: float

    @property
    def radius(self) -> float:
        """The largest distance from the centre."""
        return float(np.hypot(self.half_width, self.rest))

    def reach(self, vectors: Floats) -> Floats:
        """Return the largest product of each vector with a move from the centre."""
        along = vectors @ self.axis
        across = np.sqrt(np.maximum((vectors**2).sum(axis=1) - along**2, 0.0))
        return np.asarray(np.abs(along) * self.half_width + across * self.rest)

    def furthest(self, vectors: Floats) -> Floats:
        """Return the move with the largest product with each vector."""
        along = vectors @ self.axis
        across = vectors - along[:, None] * self.axis
        lengths = np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
        return np.asarray(np.sign(along)[:, None] * self.half_width * self.axis + self.rest * across / lengths)

    def most(self, gradient: Floats, quadratic: Floats) -> tuple[float, Floats]:
        """Bound gradient · y + y' quadratic y / 2 over the region, which a ball holds once the axis is stretched."""
        if self.radius == 0.0:
            return 0.0, np.zeros(len(gradient))
        if not self.axis.any():
            return _ball_optimum(gradient, quadratic, self.rest)
        bounds = []
        for ratio in STRETCHES:
            factor = ratio * self.half_width / max(self.rest, 1e-3 * self.half_width)
            stretch = np.eye(len(gradient)) + (factor - 1.0) * np.outer(self.axis, self.axis)
            radius = float(np.hypot(self.half_width / factor, self.rest))
            bounds.append(most_in_ball(stretch @ gradient, stretch @ quadratic @ stretch, radius))
        return min(bounds), self.axis


def slab(axis: Floats, first: float, last: float, radius: float) -> Region:
    """Return the part of a ball between two planes across an axis, at these distances from the centre."""
    nearest = min(abs(first), abs(last)) if first * last > 0 else 0.0
    rest = float(np.sqrt(max(radius**2 - nearest**2, 0.0)))
    return Region(0.5 * (first + last) * axis, axis, 0.5 * (last - first), rest)


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
    return _ball_optimum(gradient, quadratic, radius)[0]


def _ball_optimum(gradient: Floats, quadratic: Floats, radius: float) -> tuple[float, Floats]:
    """Return the bound of `most_in_ball`, and the direction in which it is nearly reached."""
    values, vectors = np.linalg.eigh(quadratic)
    size = max(float(np.abs(values).max()), float(np.linalg.norm(gradient)) / radius, 1e-300)
    highest = float(values[-1]) + 1e-12 * size
    parts = (vectors.T @ gradient) ** 2
    multipliers = highest + size * DUAL_STEPS
    bounds = 0.5 * (multipliers * radius**2 + (parts / (multipliers[:, None] - values)).sum(axis=1))
    best = int(bounds.argmin())
    direction = vectors @ ((vectors.T @ gradient) / (multipliers[best] - values))
    return float(bounds[best]), direction
