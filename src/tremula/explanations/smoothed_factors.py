"""Factors of a smoothed model: the probability that noise on an attribute takes a row through all tests of it.

In the exact form the tests of a number on a path leave an interval, whose normal probability is the factor. In the path
form every test has noise of its own, and the factor is a product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

import tremula._kernels.shapley as kernel
from tremula.errors import UnsupportedModel
from tremula.explanations.leaf_factors import LeafFactors, PlainFactors, in_blocks
from tremula.explanations.path_tests import PathTests
from tremula.smoothing.base import DualPerturb
from tremula.smoothing.exact import leaf_weights
from tremula.smoothing.kernel_input import prepare
from tremula.smoothing.methods import TreeSmoother
from tremula.smoothing.models import TreeModel
from tremula.smoothing.noise.amounts import Noise
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]


def smoothed_factors(model: DualPerturb, X: Any) -> tuple[TreeModel, LeafFactors, Floats]:
    """Return a smoothed model as trees, the factors of rows under its noise, and rows."""
    smoother, rows, noise = model._read(X, None)
    trees = model._wrapped.trees
    if trees is None or not isinstance(smoother, TreeSmoother):
        raise UnsupportedModel(
            f"{type(model.estimator_).__name__} is smoothed by {smoother_name(smoother)}, and only trees that are "
            "smoothed exactly can be explained: use method='exact' with a model of trees"
        )
    if noise.is_none:
        plain = trees.sum if model._wrapped.own_sum is None else model._wrapped.own_sum
        return replace(trees, sum=plain), PlainFactors(plain), np.ascontiguousarray(rows)
    whole = replace(trees, sum=smoother.model)
    return whole, SmoothedFactors(smoother, noise), np.ascontiguousarray(rows)


def smoother_name(smoother: Any) -> str:
    """Return how a model without trees is smoothed, for messages."""
    return "draws" if smoother.method == "sample" else "a closed form for its linear score"


@dataclass(frozen=True, eq=False)
class SmoothedFactors:
    """Factors under noise.

    Attributes
    ----------
    smoother : TreeSmoother
    noise : Noise
        The same for all rows.
    """

    smoother: TreeSmoother
    noise: Noise

    @property
    def model(self) -> TreeSum:
        """The trees."""
        return self.smoother.model

    @cached_property
    def _flips(self) -> tuple[Floats, Floats]:
        """For every level of all attributes, the factors of its own answer and of the mean over all levels."""
        first = self.noise.of_tree(0)
        empty = np.zeros((1, self.model.n_attributes))
        task = prepare(self.model, empty, first.sd, "exact", first.flip, first.level_shares or None, 0.0, 1)
        return task.own, task.others

    def factors(self, number: int, games: kernel.LeafGames, rows: Floats) -> Floats:
        """Return the probability that each row takes the branches that lead to each node."""
        tests, noise = self._tests[number], self.noise.of_tree(number)
        factors = self._hard(number, games, rows)
        is_noisy = np.flatnonzero((noise.sd[tests.attribute] > 0) & tests.is_numeric)
        factors[is_noisy] = self._of_numbers(tests, is_noisy, noise, rows, factors[is_noisy])
        if noise.flip > 0 and tests.is_nominal.any():
            nominal = np.flatnonzero(tests.is_nominal)
            by_level = self._hard(number, games, self._every_level)[nominal]
            factors[nominal] = self._of_levels(tests.attribute[nominal], rows, factors[nominal], by_level)
        if self._is_path:
            tests.multiply(factors)
        return in_blocks(factors)

    def margins(self, rows: Floats) -> Floats:
        """Return the smoothed margins of the rows, without what a tolerance would cut off."""
        margins = replace(self.smoother, tol=0.0).smooth(rows, self.noise, None).margins
        assert margins is not None
        return margins

    def leaf_probabilities(self, number: int, rows: Floats) -> csr_array:
        """Return the probability that each row reaches each leaf of a tree, (n_rows, n_nodes)."""
        noise, tree = self.noise.of_tree(number), self.model.trees[number]
        options: dict[str, Any] = {"flip": noise.flip, "level_shares": noise.level_shares or None}
        weights = leaf_weights(self.model, number, rows, noise.sd, form=self.smoother.method, **options)
        leaves = np.flatnonzero(tree.is_leaf)
        placed = csr_array((np.ones(len(leaves)), (np.arange(len(leaves)), leaves)), (len(leaves), tree.n_nodes))
        return csr_array(csr_array(weights) @ placed)

    @property
    def _is_path(self) -> bool:
        return self.smoother.method == "path"

    @cached_property
    def _tests(self) -> list[PathTests]:
        return [PathTests(tree) for tree in self.model.trees]

    def _hard(self, number: int, games: kernel.LeafGames, rows: Floats) -> Floats:
        """Return the factors without noise, (n_nodes, n_rows); in the path form, those of single tests."""
        blocks = PlainFactors(self.model).factors(number, games, rows, single=self._is_path)
        return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:, : len(rows)].copy()

    def _of_numbers(
        self, tests: PathTests, nodes: NDArray[np.intp], noise: Noise, rows: Floats, hard: Floats
    ) -> Floats:
        """Return the factors of tests of numbers; those of missing values are shares, as without noise."""
        attribute = tests.attribute[nodes]
        values, sd = rows[:, attribute].T, noise.sd[attribute, None]

        def below(limits: Floats) -> Floats:
            return np.asarray(ndtr((limits[nodes, None] - values) / sd))

        if self._is_path:
            factors = np.where(tests.is_second[nodes, None], 1.0 - below(tests.threshold), below(tests.threshold))
        else:
            factors = below(tests.high) - below(tests.low)
        return np.where(np.isnan(values), hard, np.maximum(factors, 0.0))

    @property
    def _every_level(self) -> Floats:
        """Rows that together have every level of every nominal attribute; the last level is repeated."""
        n_levels = self.model.n_levels
        return np.minimum(np.arange(n_levels.max())[:, None], np.maximum(n_levels - 1, 0)).astype(np.float64)

    def _of_levels(self, attribute: NDArray[np.intp], rows: Floats, hard: Floats, by_level: Floats) -> Floats:
        """Return the factors of tests of levels that may be flipped: the row's own, and the mean over all levels."""
        n_levels, (own, others) = self.model.n_levels, self._flips
        shares = np.zeros((len(n_levels), by_level.shape[1]))
        for number, given in enumerate(self.noise.level_shares):
            if given is not None:
                shares[number, : len(given)] = given / np.sum(given)
        means = (by_level * shares[attribute]).sum(axis=1)
        levels = rows[:, attribute].T
        is_known = (levels >= 0) & (levels < n_levels[attribute, None])
        first = (np.cumsum(n_levels) - n_levels)[attribute]
        places = first[:, None] + np.where(is_known, levels, 0.0).astype(np.intp)
        return np.where(is_known, own[places] * hard + others[places] * means[:, None], hard)
