"""Standard errors of an ensemble's mean by the infinitesimal jackknife, corrected for the number of members.

The variance is the sum over the training rows of the squared covariance between how often a row was drawn and what the
members predict. With few members the covariances are noisy, which adds to the sum; this part is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.uncertainty.trained_members import ROWS_AT_A_TIME, Floats, TrainedMembers, row_blocks

STEP = 1e-3  # of a member's part of the mean, over which the slope of the outputs is measured


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors of the outputs of an ensemble."""

    trained: TrainedMembers

    def variances(self, rows: Any) -> Floats:
        """Return the variance of every output, (n_rows, n_outputs); negative where it is not known."""
        return np.concatenate([self._of_block(block) for block in row_blocks(rows, ROWS_AT_A_TIME)])

    def _of_block(self, rows: Any) -> Floats:
        products, noise, factor = self._draws
        parts = self._parts(rows)
        variances = jackknife_variances(parts.reshape(len(parts), -1), products, noise)
        return factor * variances.reshape(parts.shape[1:])

    @cached_property
    def _draws(self) -> tuple[Floats, float, float]:
        """Products and noise of the draws, and the factor by which drawing without replacement shrinks variances."""
        if self.trained.resampling == "other":
            raise UnsupportedModel(
                f"the standard errors of {self.trained.name} are not known: its members were not trained on samples "
                "drawn independently, with or without replacement; use bagging or a random forest"
            )
        largest = int(np.argmax(self.trained.group_sizes))
        first = sum(self.trained.group_sizes[:largest])
        counts = self.trained.inbag[first : first + self.trained.group_sizes[largest]]
        counts = counts[:, self._drawn_units(counts[0] >= 0)]
        share_drawn = float(counts.mean()) if self.trained.resampling == "subsample" else 0.0
        if share_drawn == 1.0:
            raise UnsupportedModel(f"every member of {self.trained.name} was trained on all rows: draw fewer")
        return *draw_products(counts), 1.0 / (1.0 - share_drawn) ** 2

    def _drawn_units(self, is_drawable: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return a row for each unit that was drawn: all drawable rows, or one of each group."""
        rows = np.flatnonzero(is_drawable)
        if self.trained.groups is None:
            return rows
        return rows[np.unique(self.trained.groups[rows], return_index=True)[1]]

    def _parts(self, rows: Any) -> Floats:
        """Return how far each draw moves the outputs, (n_draws, n_rows, n_outputs).

        Members with the same number in their groups were trained on the same draw.
        """
        outputs, first = self.trained.all_outputs(rows), 0
        parts = np.zeros((max(self.trained.group_sizes), *outputs.shape[1:]))
        for size, weight in zip(self.trained.group_sizes, self.trained.group_weights):
            group = outputs[first : first + size]
            parts[:size] += weight / size * (group - group.mean(axis=0))
            first += size
        return self._slopes(rows, self.trained.means(outputs), parts) if self.trained.adjusts_means else parts

    def _slopes(self, rows: Any, means: Floats, parts: Floats) -> Floats:
        """Return how far the outputs move when the means move by each part."""
        moved = [
            self.trained.outputs_of_means(means + STEP * part, rows)
            - self.trained.outputs_of_means(means - STEP * part, rows)
            for part in parts
        ]
        return np.array(moved) / (2.0 * STEP)


def draw_products(counts: NDArray[np.integer]) -> tuple[Floats, float]:
    """Return the products of the members' draws, and the mean variance of a row's draws times the number of rows.

    Parameters
    ----------
    counts : int array (n_draws, n_rows)
        How often each row was drawn.
    """
    drawn = counts.astype(np.float64)
    products = np.zeros((len(drawn), len(drawn)))
    for first in range(0, drawn.shape[1], 10_000):
        part = drawn[:, first : first + 10_000]
        products += part @ part.T
    return products, float(drawn.var(axis=0).sum())


def jackknife_variances(outputs: Floats, products: Floats, noise: float) -> Floats:
    """Return the variance of the mean of members for each row; negative where the noise exceeds it.

    Parameters
    ----------
    outputs : float64 array (n_draws, n_values)
        What the members add to the mean: their predictions times their weights, summed over members of one draw.
    products, noise : as `draw_products` returns them

    Notes
    -----
    The bias-corrected infinitesimal jackknife of Wager, Hastie and Efron (JMLR 2014).
    """
    raw = ((products @ outputs) * outputs).sum(axis=0)
    return np.asarray(raw - noise * (outputs**2).sum(axis=0))
