"""The fitted model: a weighted mean of members, calibrated and corrected by small trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tremula.aspen.boosted_corrections import add_corrections
from tremula.aspen.task import Task
from tremula.combine import Member, staged_means
from tremula.parallel import map_row_blocks
from tremula.trees.combined_trees import combined_trees
from tremula.trees.tree import Tree


@dataclass(frozen=True)
class Blend:
    """Members with their weights, the calibration, and the corrections of the margins."""

    members: Sequence[Member]
    weights: np.ndarray
    corrections: Sequence[Tree]
    task: Task
    n_outputs: int

    def predict(self, rows: np.ndarray, n_jobs: int | None, model: object) -> np.ndarray:
        """Class probabilities, or numbers, of shape (n_rows, n_outputs); copies of the trees go with the model."""
        members = combined_trees(model, self.members, self.n_outputs)
        corrections = combined_trees(model, self.corrections, self.n_outputs, part="corrections")
        members.expect(len(rows))
        corrections.expect(len(rows))

        def predict_block(block: np.ndarray) -> np.ndarray:
            corrected = np.zeros((len(block), self.n_outputs))
            corrections.add(block, None, corrected)
            return self._corrected(members.means(block, self.weights), corrected)

        return map_row_blocks(predict_block, rows, n_jobs)

    def outputs_of_means(self, means: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Calibrate and correct weighted means of the members' predictions of these rows."""
        return self._corrected(means, add_corrections(self.corrections, rows, self.n_outputs))

    def _corrected(self, means: np.ndarray, corrections: np.ndarray) -> np.ndarray:
        return self.task.predictions(self.task.margins(means) + corrections)

    def staged_predict(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the predictions of the first member, the first two, and so on, each with all corrections."""
        corrections = add_corrections(self.corrections, rows, self.n_outputs)
        for means in staged_means(self.members, rows, len(rows), self.n_outputs, "average", self.weights):
            yield self._corrected(means, corrections)
