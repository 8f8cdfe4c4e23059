"""Radii and intervals from the boxes of the trees, where these show more than the range of the margins alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from tremula.parallel import cut
from tremula.smoothing.ball_bound import LevelNoise, RowBoxes
from tremula.smoothing.box_sum import BoxSum, ModelBoxes
from tremula.smoothing.certificate import rounding_slack
from tremula.smoothing.kernel_input import prepare
from tremula.smoothing.noise.amounts import Noise
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]
MOST_REGIONS = 100_000  # into which a ball is divided


class SharpCertificate:
    """Bounds of the smoothed margins of some rows.

    Parameters
    ----------
    model : TreeSum
    rows : float64 array (n_rows, n_attributes)
    noise : Noise
    form : {"exact", "path"}
    margins : float64 array (n_rows, n_margins)
        The smoothed margins.
    bound : float64 array (n_rows,)
        How far the margins may be from their exact values.
    n_regions : int
        Number of parts of the ball of moves that are bounded.
    n_jobs : int or None
    """

    def __init__(
        self,
        model: TreeSum,
        rows: Floats,
        noise: Noise,
        form: str,
        margins: Floats,
        bound: Floats,
        n_regions: int,
        n_jobs: int | None,
    ) -> None:
        task = prepare(model, rows, noise.sd, form, noise.flip, noise.level_shares or None, 0.0, None)
        self.rows, inverse = np.empty_like(task.rows), np.empty_like(task.rows)
        self.rows[task.order] = task.rows
        inverse[task.order] = task.inverse
        with np.errstate(divide="ignore"):
            self.noise_sd = np.where(inverse > 0, 1.0 / inverse, 0.0)
        starts = np.asarray(task.programs.level_start)
        self.levels = LevelNoise(task.own, task.others, task.programs.level_shares, starts)
        self.model, self.margins, self.n_regions, self.n_jobs = model, margins, n_regions, n_jobs
        self.slack = bound + rounding_slack(model)
        self.boxes = ModelBoxes(model, form == "path")

    def radii(self, known: Floats) -> Floats:
        """Return radii of at least those known, in standard deviations of the noise.

        Parameters
        ----------
        known : float64 array (n_rows,)
            Radii within which the class of the largest margin stays the same.
        """
        if self.model.n_margins == 1:
            radii = known.copy()
            for sign in (-1.0, 1.0):
                rows = np.flatnonzero(sign * self.margins[:, 0] > self.slack)
                radii[rows] = self._radii_of(rows, np.array([sign]), known[rows], 1.0)
            return radii
        radii = np.full(len(known), np.inf)
        ranks = np.argsort(-self.margins, axis=1, kind="stable")
        for rank in range(1, self.model.n_margins):
            for winner, other in np.unique(ranks[:, [0, rank]], axis=0):
                rows = np.flatnonzero((ranks[:, 0] == winner) & (ranks[:, rank] == other) & (radii > known))
                direction = np.zeros(self.model.n_margins)
                direction[winner], direction[other] = 1.0, -1.0
                nearest = self._radii_of(rows, direction, known[rows], 2.0, radii[rows])
                radii[rows] = np.minimum(radii[rows], nearest)
        return np.maximum(radii, known)

    def interval(self, radii: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the first margin after moves of at most `radii`, at least as tight as `low` and `high`."""
        every = np.arange(len(radii))
        down, up = self.boxes.margin([1.0]), self.boxes.margin([-1.0])
        least = self._map(every, lambda row: self._least(down, row, 1.0, float(radii[row])))
        most = self._map(every, lambda row: self._least(up, row, -1.0, float(radii[row])))
        return np.maximum(low, least), np.minimum(high, -most)

    def _least(self, boxes: BoxSum, row: int, sign: float, radius: float) -> float:
        here = self._at(boxes, row)
        slack = float(self.slack[row])
        if abs(here.value - sign * self.margins[row, 0]) > slack:
            return -np.inf
        return here.least_value(radius, self.n_regions) - slack

    def _radii_of(
        self, rows: NDArray[np.intp], direction: Floats, known: Floats, n_slacks: float, enough: Floats | None = None
    ) -> Floats:
        """Return for each row the radius within which the margins times `direction` stay positive."""
        if not len(rows):
            return known
        boxes = self.boxes.margin(direction)
        limits = np.full(len(rows), np.inf) if enough is None else enough

        def radius(place: int) -> float:
            row = rows[place]
            here, slack = self._at(boxes, row), n_slacks * float(self.slack[row])
            if abs(here.value - self.margins[row] @ direction) > slack:
                return float(known[place])
            if np.isfinite(limits[place]) and here.least_value(limits[place], self.n_regions, slack) > slack:
                return float(limits[place])
            return here.radius(slack, float(known[place]), self.n_regions)

        return self._map(np.arange(len(rows)), radius)

    def _at(self, boxes: BoxSum, row: int) -> RowBoxes:
        return RowBoxes(boxes, self.rows[row], self.noise_sd[row], self.levels)

    def _map(self, places: NDArray[np.intp], job: Callable[[int], float]) -> Floats:
        """Call a function for every place, in threads if several jobs are wanted."""
        parts = cut(range(len(places)), effective_n_jobs(self.n_jobs))

        def work(part: Sequence[int]) -> list[float]:
            return [job(places[number]) for number in part]

        if len(parts) <= 1:
            return np.array([value for part in parts for value in work(part)], dtype=np.float64)
        results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(work)(part) for part in parts)
        return np.array([value for part in results for value in part], dtype=np.float64)
