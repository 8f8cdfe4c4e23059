"""The leaves of trees as games of products, in the form that the kernel takes.

A leaf's weight is a product with one factor for each attribute on its path; see `shapley.h`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.shapley as kernel
from tremula.smoothing.tree_program import Values, list_values
from tremula.trees.structure import children_and_parents
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def games_of_sum(model: TreeSum) -> list[kernel.LeafGames]:
    """Return the games of all trees of a sum."""
    return [
        games_of_tree(tree, list_values(weight * tree.values, int(output), model.n_margins), model.n_margins)
        for tree, weight, output in zip(model.trees, model.weights, model.outputs)
    ]


def games_of_tree(tree: Tree, values: Values, n_outputs: int) -> kernel.LeafGames:
    """Return the games of the leaves of one tree, with the given values."""
    branches = np.ascontiguousarray(tree.first_child), np.ascontiguousarray(tree.n_branches)
    value_row = np.where(tree.is_leaf, tree.nodes["index"], 0).astype(np.int32)
    n_factors = min(tree.depth, len(np.unique(tree.attribute[~tree.is_leaf])))
    listed = values.start, values.output, values.value
    return kernel.LeafGames(
        branches, entered_attributes(tree), value_row, tree.n_attributes, n_outputs, listed, quadrature(n_factors)
    )


def entered_attributes(tree: Tree) -> Ints:
    """Return the attribute of the test that leads to each node, -1 at the root."""
    children, parents = children_and_parents(tree.nodes)
    attribute = np.full(tree.n_nodes, -1, np.int32)
    attribute[children] = tree.attribute[parents]
    return attribute


@cache
def quadrature(n_factors: int) -> tuple[Floats, Floats]:
    """Return points in [0, 1] and weights, exact for products of so many linear factors but one.

    Their degree is `n_factors` - 1; a Gauss-Legendre sum of m points is exact up to the degree 2m - 1.

    Examples
    --------
    >>> points, weights = quadrature(4)
    >>> len(points), round(float(weights @ points**3), 15)
    (2, 0.25)
    """
    points, weights = np.polynomial.legendre.leggauss(max(1, -(-n_factors // 2)))
    return np.ascontiguousarray((points + 1.0) / 2.0), np.ascontiguousarray(weights / 2.0)
