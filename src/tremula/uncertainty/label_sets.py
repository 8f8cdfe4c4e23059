"""Sets of classes that contain the true one with a given probability, from the out-of-bag shares of the true classes.

The score of a class is 1 less its predicted probability.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import counted
from tremula.uncertainty.intervals import BLOCK_CELLS, check_enough, conformal_bound, upper_rank
from tremula.uncertainty.trained_members import Floats, TrainedMembers, row_blocks

METHODS = ("oob", "jackknife+")
ROUNDING = 1e-9  # scores that differ by less are equal


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Sets of classes of an ensemble for classes."""

    trained: TrainedMembers

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Class codes of the scored rows."""
        return np.asarray(self.trained.target[self.trained.scored_rows], dtype=np.intp)

    @cached_property
    def scores(self) -> Floats:
        """Scores of the scored rows: 1 less the out-of-bag probability of their class."""
        rows = self.trained.scored_rows
        return np.asarray(1.0 - self.trained.out_of_bag_outputs[rows, self.codes])

    def predict(self, rows: Any, coverage: float, method: str, by_class: bool) -> NDArray[np.bool_]:
        """Return whether each class is in the set of each row, shape (n_predicted, n_classes)."""
        groups = self._groups(coverage, by_class)
        if method == "jackknife+":
            return self._jackknife(rows, coverage, groups)
        bounds = np.full(self.trained.n_outputs, np.inf)
        for classes, members in groups:
            bounds[classes] = conformal_bound(self.scores[members], coverage)
        return np.asarray(1.0 - self.trained.outputs(rows) <= bounds + ROUNDING)

    def _groups(self, coverage: float, by_class: bool) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return classes with the scored rows, by their places, that they are compared with."""
        if not by_class:
            check_enough(len(self.codes), coverage)
            return [(np.arange(self.trained.n_outputs), np.arange(len(self.codes)))]
        counts = np.bincount(self.codes, minlength=self.trained.n_outputs)
        is_rare = np.array([upper_rank(int(count), coverage) > count for count in counts])
        if is_rare.any():
            assert self.trained.classes is not None
            warnings.warn(
                f"classes {self.trained.classes[is_rare].tolist()} have too few out-of-bag rows for coverage="
                f"{coverage:g} of each class ({counted(int(counts[is_rare].max()), 'row')} at most): they are in every "
                "set",
                stacklevel=4,
            )
        return [(np.array([code]), np.flatnonzero(self.codes == code)) for code in np.flatnonzero(~is_rare)]

    def _jackknife(
        self, rows: Any, coverage: float, groups: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    ) -> NDArray[np.bool_]:
        """Include a class unless too many training rows conform better, each judged by members that left it out."""
        n_scored = len(self.codes)
        shares, parts = self.trained.shares_without(self.trained.scored_rows), []
        block_size = max(1, BLOCK_CELLS // (max(n_scored, self.trained.n_members) * self.trained.n_outputs))
        for block in row_blocks(rows, block_size):
            scores = 1.0 - self._outputs_without(block, shares)
            is_in = np.ones((block.shape[0], self.trained.n_outputs), np.bool_)
            for classes, members in groups:
                better = scores[members][:, :, classes] > self.scores[members, None, None] + ROUNDING
                is_in[:, classes] = better.sum(axis=0) < upper_rank(len(members), coverage)
            parts.append(is_in)
        return np.concatenate(parts)

    def _outputs_without(self, rows: Any, shares: Floats) -> Floats:
        """Return the outputs without the members that saw each scored row, (n_scored, n_predicted, n_outputs)."""
        means = np.tensordot(shares.T, self.trained.all_outputs(rows), axes=1)
        if not self.trained.adjusts_means:
            return means
        return np.array([self.trained.outputs_of_means(each, rows) for each in means])
