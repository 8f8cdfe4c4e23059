"""Exact Shapley values of a sum of trees, in polynomial time.

The values of a row and the base value sum to the margins of the row, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

import tremula._kernels.shapley as kernel
from tremula.explanations.leaf_factors import LeafFactors
from tremula.smoothing.shrinkage import node_means
from tremula.smoothing.tree_program import list_values
from tremula.trees.structure import weight_shares
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

ROWS_AT_ONCE = 64
BACKGROUND_AT_ONCE = 256


class ShapleySum:
    """The Shapley values of a sum of trees.

    Parameters
    ----------
    model : TreeSum
    factors : LeafFactors
        How rows take the branches of its trees.
    n_jobs : int or None
        Blocks of rows computed in parallel; the values do not depend on it.
    """

    def __init__(self, model: TreeSum, factors: LeafFactors, n_jobs: int | None) -> None:
        self.model, self.factors, self.n_jobs = model, factors, n_jobs

    @cached_property
    def _games(self) -> list[kernel.LeafGames]:
        model = self.model
        given = zip(model.trees, model.weights, model.outputs)
        return [_leaf_games(tree, weight, int(output), model.n_margins) for tree, weight, output in given]

    def by_shares(self, rows: Floats, node_weights: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return path-dependent values: an unknown attribute takes every branch, by the training weights of the nodes.

        Returns
        -------
        values : float64 array (n_rows, n_attributes, n_margins)
        base : float64 array (n_margins,)
            The margins if no attribute is known.
        """
        model, unknown, base = self.model, [], self.model.offset.copy()
        for number, (games, weights) in enumerate(zip(self._games, node_weights)):
            shares = weight_shares(model.trees[number].nodes, weights)
            unknown.append(np.empty(len(shares)))
            kernel.multiply_shares(games, shares, unknown[-1])
            columns = slice(None) if model.outputs[number] < 0 else slice(model.outputs[number], model.outputs[number] + 1)
            base[columns] += model.weights[number] * node_means(model.trees[number], weights)[0]

        def work(part: Floats, out: Floats) -> None:
            for number, games in enumerate(self._games):
                kernel.add_by_shares(games, self.factors.factors(number, games, part), unknown[number], out)

        return self._over_rows(rows, work), base

    def by_background(self, rows: Floats, background: Floats) -> tuple[Floats, Floats]:
        """Return interventional values: unknown attributes have the values of each background row, and the mean counts.

        Returns
        -------
        values, base : as those of `by_shares`
        """
        scale = 1.0 / len(background)

        def work(part: Floats, out: Floats) -> None:
            for number, games in enumerate(self._games):
                known = self.factors.factors(number, games, part)
                for first in range(0, len(background), BACKGROUND_AT_ONCE):
                    others = background[first : first + BACKGROUND_AT_ONCE]
                    unknown = self.factors.factors(number, games, others)
                    kernel.add_by_background(games, known, unknown, len(others), scale, out)

        return self._over_rows(rows, work), self.factors.margins(background).mean(axis=0)

    def _over_rows(self, rows: Floats, work: Callable[[Floats, Floats], None]) -> Floats:
        """Apply a function to blocks of rows and of their values, in threads."""
        model = self.model
        values = np.zeros((len(rows), model.n_attributes, model.n_margins))
        parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(rows), ROWS_AT_ONCE)]
        games = self._games  # made before threads ask for them
        if effective_n_jobs(self.n_jobs) == 1 or len(parts) < 2 or not games:
            for part in parts:
                work(rows[part], values[part])
        else:
            calls = (delayed(work)(rows[part], values[part]) for part in parts)
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(calls)
        return values


def _leaf_games(tree: Tree, weight: float, output: int, n_margins: int) -> kernel.LeafGames:
    listed = list_values(weight * tree.values, output, n_margins)
    tested = tree.attribute[~tree.is_leaf]
    n_factors = min(tree.depth, len(np.unique(tested)))
    # The integrand has a degree of n_factors - 1; m points are exact up to the degree 2m - 1.
    points, weights = np.polynomial.legendre.leggauss(max(1, -(-n_factors // 2)))
    quadrature = np.ascontiguousarray((points + 1.0) / 2.0), np.ascontiguousarray(weights / 2.0)
    values = listed.start, listed.output, listed.value
    return kernel.LeafGames(tree.nodes, tree.n_attributes, n_margins, values, quadrature)

