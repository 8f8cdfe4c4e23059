"""Rounds of gradient boosting for classes that owe nothing to a blend: one tree for each class, by Newton's method.

Families of trees average what each tree has learnt alone. Where the classes depend on several attributes together,
trees that learn from what the trees before them left over need fewer rows.
"""

from __future__ import annotations

import numpy as np

from tremula.aspen.boosted_corrections import LARGEST_STEP, ClassRounds, Pace, RoundTree, leaves_of_rows, tree_rules
from tremula.aspen.softmax import softmax_of_rows
from tremula.perturb.sample import Sample
from tremula.trees.columns import Columns
from tremula.trees.criteria import REGRESSION
from tremula.trees.growing import grow_regression_tree

FROM_NOTHING = Pace(n_rounds=60, patience=10, rate=0.3, shrinkage=1.0)
MAX_CLASSES = 10  # one tree for each class takes long where there are more
MAX_ROUND_COLUMNS = 1000  # classes times attributes: beyond, this run would take longer than all families
MAX_DEPTH = 4
LEAST_CURVATURE = 1.0  # on each side of a split; a row of an even chance has 0.25
FLOOR = 2.0**-10  # of the curvature of a row
LARGEST_RESIDUAL = 8.0
GRID = 2.0**-14  # of curvatures and of residuals divided by them: sums of their products are exact


class GradientRounds(ClassRounds):
    """One tree for each class and round, grown from residuals divided by curvatures; one in all for two classes."""

    def __init__(self, columns: Columns, sample: Sample, weights: np.ndarray, pace: Pace = FROM_NOTHING) -> None:
        super().__init__(columns, sample, weights, pace)
        n_attributes = columns.n_attributes
        self.rules = tree_rules(
            REGRESSION["variance"].code,
            n_attributes,
            n_drawn=max(1, min(n_attributes // 2, int(2 * n_attributes**0.5))),
            max_depth=MAX_DEPTH,
            min_side_weight=LEAST_CURVATURE,
        )

    def grow(self, margins: np.ndarray, random: np.random.Generator) -> list[RoundTree]:
        """Grow the next trees; their values are steps of the margins."""
        shares = softmax_of_rows(margins[self.rows])
        if self.n_classes == 2:  # what is added to the second class is taken from the first
            return [self._grow(shares[:, 1], 1, np.array([-0.5, 0.5]), random)]
        return [self._grow(shares[:, k], k, np.eye(self.n_classes)[k], random) for k in range(self.n_classes)]

    def _grow(self, shares: np.ndarray, number: int, outputs: np.ndarray, random: np.random.Generator) -> RoundTree:
        """Grow a tree for one class; a step of 1 changes the outputs by the given numbers."""
        given = self.weights[self.rows]
        residuals, curvatures = (self.codes[self.rows] == number) - shares, shares * (1.0 - shares)
        floored = np.maximum(curvatures, FLOOR)
        target, weights = np.zeros(len(self.weights)), np.zeros(len(self.weights))
        target[self.rows] = _rounded(np.clip(residuals / floored, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))
        weights[self.rows] = np.maximum(_rounded(given * floored), GRID)
        grown = grow_regression_tree(self.columns, target, weights, self.rules, random)
        of_all_rows, n_leaves = leaves_of_rows(grown, self.columns)
        leaves = of_all_rows[self.rows]
        sums = np.bincount(leaves, given * residuals, n_leaves)
        slopes = np.bincount(leaves, given * curvatures, n_leaves)
        steps = np.clip(sums / (slopes + self.pace.shrinkage), -LARGEST_STEP, LARGEST_STEP)
        return self.round_tree(grown, self.pace.rate * steps[:, None] * outputs, of_all_rows)


def _rounded(numbers: np.ndarray) -> np.ndarray:
    return np.asarray(np.round(numbers / GRID) * GRID)
