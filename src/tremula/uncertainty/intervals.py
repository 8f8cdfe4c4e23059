"""Prediction intervals from the residuals of out-of-bag rows, each predicted by the members that have not seen it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter, counted
from tremula.uncertainty.trained_members import Floats, TrainedMembers, row_blocks

METHODS = ("scaled", "oob", "jackknife+")
FLOOR = 0.5  # of the mean spread of members, added to every spread: where members agree they may still be wrong
BLOCK_CELLS = 4_000_000  # predicted rows times training rows that are held in memory at a time


def upper_rank(n_scores: int, coverage: float) -> int:
    """Return the rank, from 1 on, of the score that bounds a new one with this probability.

    Examples
    --------
    >>> upper_rank(99, 0.9), upper_rank(19, 0.9)
    (90, 18)
    """
    return int(np.ceil(coverage * (n_scores + 1) - 1e-9))


def check_enough(n_scores: int, coverage: float, which: str = "out-of-bag rows") -> None:
    """Refuse a coverage that so few scores cannot give."""
    if upper_rank(n_scores, coverage) > n_scores:
        least = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
        raise InvalidParameter(
            f"coverage={coverage:g} needs {counted(least, 'row')} at least, but there are {n_scores} {which}: ask for "
            "less, or train on more rows"
        )


def conformal_bound(scores: Floats, coverage: float) -> float:
    """Return the score that is exceeded by a new one with probability 1 - coverage at most, if all are exchangeable."""
    check_enough(len(scores), coverage)
    rank = upper_rank(len(scores), coverage) - 1
    return float(np.partition(scores, rank)[rank])


@dataclass(frozen=True, eq=False)
class Intervals:
    """Prediction intervals of an ensemble for numbers."""

    trained: TrainedMembers

    @cached_property
    def residuals(self) -> Floats:
        """Out-of-bag residuals of the scored rows."""
        rows = self.trained.scored_rows
        return np.asarray(self.trained.target[rows] - self.trained.out_of_bag_outputs[rows, 0])

    def predict(self, rows: Any, coverage: float, method: str) -> Floats:
        """Return lower and upper bounds, shape (n_predicted, 2)."""
        if method == "jackknife+":
            return self._jackknife(rows, coverage)
        return self._scaled(rows, coverage) if method == "scaled" else self._constant(rows, coverage)

    def _constant(self, rows: Any, coverage: float) -> Floats:
        bound = conformal_bound(np.abs(self.residuals), coverage)
        return np.asarray(self.trained.outputs(rows) + np.array([-bound, bound]))

    # --- locally scaled ---

    @cached_property
    def _spreads(self) -> tuple[Floats, float]:
        """Spreads of the members that have not seen each scored row, and what is added to them."""
        rows = self.trained.scored_rows
        spreads = np.concatenate([self._spreads_without(part) for part in np.array_split(rows, 1 + len(rows) // 1000)])
        mean = float(np.nanmean(spreads)) if np.isfinite(spreads).any() else 0.0
        return spreads, FLOOR * mean if mean > 0 else 1.0

    def _spreads_without(self, rows: NDArray[np.intp]) -> Floats:
        outputs = self.trained.all_outputs(self.trained.training_rows(rows))[:, :, 0]
        return weighted_spreads(outputs, self.trained.shares_without(rows))

    def _scaled(self, rows: Any, coverage: float) -> Floats:
        spreads, floor = self._spreads
        is_known = np.isfinite(spreads)  # at least two members have not seen the row
        check_enough(int(is_known.sum()), coverage)
        scores = np.abs(self.residuals[is_known]) / (spreads[is_known] + floor)
        bound, parts = conformal_bound(scores, coverage), []
        for block in self._blocks(rows):
            outputs = self.trained.all_outputs(block)
            spread = weighted_spreads(outputs[:, :, 0], self.trained.shares_of_all(outputs.shape[1]))
            half_width = bound * (spread + floor)
            middle = self.trained.outputs_of_means(self.trained.means(outputs), block)[:, 0]
            parts.append(np.column_stack([middle - half_width, middle + half_width]))
        return np.concatenate(parts)

    # --- jackknife+ after bootstrap ---

    def _jackknife(self, rows: Any, coverage: float) -> Floats:
        scored, sizes = self.trained.scored_rows, np.abs(self.residuals)
        check_enough(len(scored), coverage)
        shares, parts = self.trained.shares_without(scored), []
        for block in self._blocks(rows, len(scored)):
            means = self.trained.all_outputs(block)[:, :, 0].T @ shares
            parts.append(jackknife_bounds(means + self.trained.added_to_means(block), sizes, coverage))
        return np.concatenate(parts)

    def _blocks(self, rows: Any, n_cells: int = 1) -> Any:
        return row_blocks(rows, max(1, BLOCK_CELLS // max(n_cells, self.trained.n_members)))


def weighted_spreads(outputs: Floats, shares: Floats) -> Floats:
    """Return the standard deviation of members for each row, unbiased by their number; NaN for a single member.

    Parameters
    ----------
    outputs, shares : float64 arrays (n_members, n_rows)
        Predictions of the members, and their weights, which sum to 1 for each row.
    """
    variances = (shares * (outputs - (shares * outputs).sum(axis=0)) ** 2).sum(axis=0)
    rest = 1.0 - (shares**2).sum(axis=0)
    is_known = rest > 1e-9
    return np.asarray(np.sqrt(np.divide(variances, rest, out=np.full(len(rest), np.nan), where=is_known)))


def jackknife_bounds(without: Floats, sizes: Floats, coverage: float) -> Floats:
    """Return the jackknife+ interval of each row.

    Parameters
    ----------
    without : float64 array (n_predicted, n_rows)
        Predictions by the members that have not seen each training row.
    sizes : float64 array (n_rows,)
        Sizes of the out-of-bag residuals of these rows.
    coverage : float

    Examples
    --------
    >>> jackknife_bounds(np.zeros((1, 9)), np.arange(1.0, 10.0), 0.8)
    array([[-8.,  8.]])
    """
    n_rows, rank = len(sizes), upper_rank(len(sizes), coverage)
    upper = np.partition(without + sizes, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(without - sizes, n_rows - rank, axis=1)[:, n_rows - rank]
    return np.column_stack([lower, upper])
