"""The nearest point where a sum of trees is no longer positive: branch and bound over boxes, nearest boxes first.

Without noise a tree is constant on the box of each leaf. A box of points is discarded if the least values of the trees
in it add up to more than 0. Otherwise its point nearest to the row is tried, and the box is divided at a threshold
that separates this point from the leaf with the most to gain. The distance of the first box in the queue is a lower
bound, and the first point of another class is the nearest one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NORMS: dict[str, Callable[[Floats], Floats]] = {
    "max": lambda distances: distances.max(axis=-1, initial=0.0),
    "euclidean": lambda distances: np.sqrt(np.sum(distances**2, axis=-1)),
    "sum": lambda distances: distances.sum(axis=-1),
}
BOXES_AT_ONCE = 32
N_NEAREST = 256  # leaves that the attack tries in a step
N_HOPS = 40
POWERS = (0.5, 1.0, 2.0)  # of the distance, by which a gain is divided


@dataclass(frozen=True)
class LeafBoxes:
    """Leaves that a row can reach: their trees, the values they add, and intervals of every attribute that can move.

    A leaf holds values above `low`, up to `high`.
    """

    tree: NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats

    def some(self, is_kept: NDArray[np.bool_]) -> LeafBoxes:
        """Return some of the leaves."""
        return LeafBoxes(self.tree[is_kept], self.value[is_kept], self.low[is_kept], self.high[is_kept])


@dataclass(frozen=True)
class Nearest:
    """Bounds of the distance to the nearest change of sign, and a point with the distance `upper`, or None."""

    lower: float
    upper: float
    point: Floats | None


class BoxSearch:
    """Search for the nearest point where a sum is 0 or less.

    Parameters
    ----------
    leaves : LeafBoxes
        Sorted by tree; their values add up to the sum, apart from `constant`.
    constant : float
    row : float64 array
        The attributes that can move.
    scale : float64 array
        Unit of the distance of each attribute.
    norm : {"max", "euclidean", "sum"}
    judge : callable
        From points to the sum of the model itself at each of them, and whether its class has changed there.
    """

    def __init__(
        self,
        leaves: LeafBoxes,
        constant: float,
        row: Floats,
        scale: Floats,
        norm: str,
        judge: Callable[[Floats], tuple[Floats, NDArray[np.bool_]]],
    ) -> None:
        self.constant, self.row, self.scale, self.judge = constant, row, scale, judge
        self.norm = NORMS[norm]
        self.leaves = leaves
        self.upper = np.inf
        self.point: Floats | None = None

    def nearest(self, max_boxes: int, limit: float = np.inf) -> Nearest:
        """Search among at most so many boxes; distances of `limit` and more do not matter."""
        self.upper, self.point = limit, None
        base = self._ball_bound()
        if base < limit:
            self._attack()
        n_attributes = len(self.row)
        whole = (np.full(n_attributes, -np.inf), np.full(n_attributes, np.inf))
        queue: list[tuple[float, int, Floats, Floats]] = [(0.0, 0, *whole)]
        n_made, n_seen, unresolved = 1, 0, np.inf
        while queue and queue[0][0] < self.upper and base < self.upper and n_seen < max_boxes:
            boxes = [heapq.heappop(queue) for _ in range(min(BOXES_AT_ONCE, len(queue)))]
            n_seen += len(boxes)
            low, high = np.array([box[2] for box in boxes]), np.array([box[3] for box in boxes])
            children, ties = self._divide(low, high, np.array([box[0] for box in boxes]))
            unresolved = min(unresolved, ties)
            for child in children:
                distance = float(self.distances(*child))
                if distance < self.upper:
                    heapq.heappush(queue, (distance, n_made, *child))
                    n_made += 1
        lower = max(base, min(unresolved, queue[0][0] if queue else np.inf))
        return Nearest(min(lower, self.upper), self.upper, self.point)

    def _divide(self, low: Floats, high: Floats, distances: Floats) -> tuple[list[tuple[Floats, Floats]], float]:
        """Return the parts of boxes in which the class may change, and the least distance of a tie."""
        points = self.project(low, high)
        is_open, splits = self._examine(low, high, points)
        changed = np.zeros(len(low), dtype=bool)
        changed[is_open] = self.judge(points[is_open])[1]
        self._note(points, distances, changed)
        children, ties = [], np.inf
        for number in np.flatnonzero(is_open & ~changed):
            attribute, threshold = splits[number]
            if attribute < 0:
                ties = min(ties, float(distances[number]))
            else:
                children += _halves(low[number], high[number], attribute, threshold)
        return children, ties

    def _note(self, points: Floats, distances: Floats, changed: NDArray[np.bool_]) -> None:
        """Keep the nearest point of another class, and forget leaves that are further away."""
        best = int(np.argmin(np.where(changed, distances, np.inf)))
        if changed[best] and distances[best] < self.upper:
            self.upper, self.point = float(distances[best]), points[best]
            self.leaves = self.leaves.some(self.distances(self.leaves.low, self.leaves.high) < self.upper)

    def _ball_bound(self) -> float:
        """Return a distance within which the least values of the trees, each on its own, add up to more than 0."""
        distances = self.distances(self.leaves.low, self.leaves.high)
        levels = np.unique(distances[np.isfinite(distances)])
        first, last = -1, len(levels)  # up to level `first` the sum is positive, from `last` on it may not be
        starts = np.flatnonzero(np.diff(self.leaves.tree, prepend=-1))
        while last - first > 1:
            middle = (first + last) // 2
            values = np.where(distances <= levels[middle], self.leaves.value, np.inf)
            if self.constant + np.minimum.reduceat(values, starts).sum() > 0:
                first = middle
            else:
                last = middle
        return float(levels[last]) if last < len(levels) else np.inf

    def distances(self, low: Floats, high: Floats) -> Floats:
        """Return the distance of the row from boxes; infinite for empty boxes."""
        gaps = np.maximum(np.maximum(low - self.row, self.row - high), 0.0) / self.scale
        return np.where((low < high).all(axis=-1), self.norm(gaps), np.inf)

    def project(self, low: Floats, high: Floats) -> Floats:
        """Return the point of each box that is nearest to the row; a box does not hold its lower ends."""
        return np.asarray(np.minimum(np.maximum(self.row, np.nextafter(low, np.inf)), high))

    def _examine(self, low: Floats, high: Floats, points: Floats) -> tuple[NDArray[np.bool_], list[tuple[int, float]]]:
        """Find the boxes where the sign may change, and a threshold to divide each of them."""
        leaves = self.leaves
        if not len(leaves.tree):
            return np.full(len(low), self.constant <= 0.0), [(-1, 0.0)] * len(low)
        meets = np.ones((len(low), len(leaves.tree)), dtype=bool)
        holds = np.ones((len(low), len(leaves.tree)), dtype=bool)
        for attribute in range(len(self.row)):
            below, above = leaves.low[:, attribute], leaves.high[:, attribute]
            meets &= (below < high[:, attribute, None]) & (above > low[:, attribute, None])
            holds &= (below < points[:, attribute, None]) & (points[:, attribute, None] <= above)
        starts = np.flatnonzero(np.diff(leaves.tree, prepend=-1))
        values = np.where(meets, leaves.value, np.inf)
        least = np.minimum.reduceat(values, starts, axis=1)
        here = np.minimum.reduceat(np.where(holds, leaves.value, np.inf), starts, axis=1)
        is_open = self.constant + least.sum(axis=1) <= 0.0
        places = np.searchsorted(starts, np.arange(len(leaves.tree)), side="right") - 1
        splits = [(-1, 0.0)] * len(low)
        for number in np.flatnonzero(is_open):
            gains = (here[number] - least[number])[places]
            is_best = meets[number] & ~holds[number] & (values[number] == least[number][places]) & (gains > 0)
            splits[number] = self._split(np.flatnonzero(is_best), gains, points[number])
        return is_open, splits

    def _split(self, candidates: NDArray[np.intp], gains: Floats, point: Floats) -> tuple[int, float]:
        """Choose a threshold between the point and one of the leaves, which the point is furthest away from."""
        if not len(candidates):
            return -1, 0.0
        low, high = self.leaves.low[candidates], self.leaves.high[candidates]
        below, above = np.maximum(low - point, 0.0), np.maximum(point - high, 0.0)
        is_out = (low >= point) | (high < point)
        gaps = np.where(is_out, np.maximum(below, above) / self.scale, -1.0)
        leaf = int(np.argmax(gains[candidates] * (1e-9 + gaps.max(axis=1))))
        attribute = int(gaps[leaf].argmax())
        is_below = low[leaf, attribute] >= point[attribute]
        return attribute, float(low[leaf, attribute] if is_below else high[leaf, attribute])

    def _attack(self) -> None:
        """Hop from leaf to leaf, where most is gained for the distance, until the class changes."""
        start = float(self.judge(self.row[None])[0][0])
        for power in POWERS:
            low, high = np.full(len(self.row), -np.inf), np.full(len(self.row), np.inf)
            value, distance = start, 0.0
            for _ in range(N_HOPS):
                lows, highs = np.maximum(self.leaves.low, low), np.minimum(self.leaves.high, high)
                distances = self.distances(lows, highs)
                near = np.argsort(distances)[:N_NEAREST]
                near = near[distances[near] < self.upper]
                if not len(near):
                    break
                points = self.project(lows[near], highs[near])
                values, changed = self.judge(points)
                if changed.any():
                    self._note(points, distances[near], changed)
                    break
                hop = int(np.argmax((value - values) / (distances[near] - distance + 1e-6) ** power))
                if values[hop] >= value:
                    break
                low, high, value, distance = lows[near[hop]], highs[near[hop]], values[hop], distances[near[hop]]


def _halves(low: Floats, high: Floats, attribute: int, threshold: float) -> list[tuple[Floats, Floats]]:
    below, above = high.copy(), low.copy()
    below[attribute], above[attribute] = threshold, threshold
    return [(low, below), (above, high)]
