"""Quantiles of the targets in the leaves that rows reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.uncertainty.leaf_rows import LeafRows
from tremula.uncertainty.trained_members import ROWS_AT_A_TIME, Floats, TrainedMembers, row_blocks

INTERPOLATIONS = ("inverted_cdf", "linear")
ROUNDING = 1e-10  # cumulated weights that differ by less are equal


@dataclass(frozen=True, eq=False)
class LeafQuantiles:
    """Quantiles of an ensemble for numbers."""

    trained: TrainedMembers

    @cached_property
    def _leaf_rows(self) -> LeafRows:
        return LeafRows(self.trained)

    def predict(self, rows: Any, quantiles: Floats, interpolation: str) -> Floats:
        """Return quantiles by all members, (n_predicted, n_quantiles)."""
        blocks = [
            self._of_block(block, self.trained.shares_of_all(block.shape[0]), quantiles, interpolation)
            + self.trained.added_to_means(block)
            for block in row_blocks(rows, ROWS_AT_A_TIME)
        ]
        return np.concatenate(blocks)

    def out_of_bag(self, quantiles: Floats, interpolation: str) -> Floats:
        """Return quantiles of the training rows by the members that left them out; NaN for rows without such."""
        trained = self.trained
        answers = np.full((trained.n_rows, len(quantiles)), np.nan)
        for first in range(0, len(trained.scored_rows), ROWS_AT_A_TIME):
            rows = trained.scored_rows[first : first + ROWS_AT_A_TIME]
            shares = trained.shares_without(rows)
            answers[rows] = self._of_block(trained.training_rows(rows), shares, quantiles, interpolation)
            answers[rows] += trained.out_of_bag_outputs[rows] - trained.out_of_bag_means[rows]
        return answers

    def _of_block(self, rows: Any, shares: Floats, quantiles: Floats, interpolation: str) -> Floats:
        behind = self._leaf_rows.values_behind(rows, shares)
        sizes = behind.sizes if interpolation == "linear" else None
        return weighted_quantiles(behind.values, behind.weights, behind.starts, quantiles, sizes)


def weighted_quantiles(
    values: Floats,
    weights: Floats,
    starts: NDArray[np.intp],
    quantiles: Floats,
    sizes: Floats | None = None,
) -> Floats:
    """Return quantiles of several weighted samples, which stand one after the other, each in order of its values.

    Parameters
    ----------
    values, weights : float64 arrays (n_values,)
        Weights are positive.
    starts : int array (n_samples + 1,)
        Where each sample begins, and the end of the last; none is empty.
    quantiles : float64 array (n_quantiles,)
        Between 0 and 1.
    sizes : float64 array (n_samples,), optional
        How many values each sample stands for: the weights are scaled to this sum and taken as numbers of equal
        values, between which is interpolated. By default a quantile is the smallest value at which the share of the
        weight up to it is not less.

    Returns
    -------
    float64 array (n_samples, n_quantiles)

    Examples
    --------
    >>> values, weights = np.array([1.0, 2.0, 5.0, 7.0]), np.array([1.0, 2.0, 1.0, 1.0])
    >>> weighted_quantiles(values, weights, np.array([0, 3, 4]), np.array([0.25, 0.5, 0.9]))
    array([[1., 2., 5.],
           [7., 7., 7.]])
    >>> weighted_quantiles(values, weights, np.array([0, 3, 4]), np.array([0.25, 0.5, 0.9]), np.array([4.0, 1.0]))
    array([[1.75, 2.  , 4.1 ],
           [7.  , 7.  , 7.  ]])
    """
    first, last = starts[:-1], starts[1:] - 1
    running = np.cumsum(weights)
    before = running[first] - weights[first]
    totals = running[last] - before
    sample_of = np.repeat(np.arange(len(first)), np.diff(starts))
    shares = (running - before[sample_of]) / totals[sample_of]
    answers = np.empty((len(first), len(quantiles)))
    for column, quantile in enumerate(quantiles):
        if sizes is None:
            n_below = np.add.reduceat(shares < quantile - ROUNDING, first, dtype=np.intp)
            answers[:, column] = values[np.minimum(first + n_below, last)]
            continue
        place = 1.0 + quantile * (sizes - 1.0)  # of the quantile among the values, from 1 on
        ranks = shares * sizes[sample_of]
        n_passed = np.add.reduceat(ranks <= place[sample_of] + ROUNDING * sizes[sample_of], first, dtype=np.intp)
        low = np.maximum(first + n_passed - 1, first)
        high = np.minimum(first + n_passed, last)
        part = np.where(n_passed > 0, np.clip(place - ranks[low], 0.0, 1.0), 0.0)
        answers[:, column] = values[low] + part * (values[high] - values[low])
    return answers
