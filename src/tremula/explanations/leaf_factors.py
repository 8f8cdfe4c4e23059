"""The probability, by attribute, that a row passes the tests on the way to each node: 0 or 1, or a share if missing.

A leaf's weight in the prediction of a row is the product of these factors, one for each attribute on its path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.shapley as kernel
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]


class LeafFactors(Protocol):
    """Factors of rows in the trees of a model."""

    def factors(self, number: int, games: kernel.LeafGames, rows: Floats) -> Floats:
        """Return the factors of rows in one tree, in blocks: (n_blocks, n_nodes, LANES)."""

    def margins(self, rows: Floats) -> Floats:
        """Return what the factors amount to: the margins of the rows."""


@dataclass(frozen=True, eq=False)
class PlainFactors:
    """Factors without noise."""

    model: TreeSum

    def factors(self, number: int, games: kernel.LeafGames, rows: Floats, single: bool = False) -> Floats:
        """Return whether each row takes the branches that lead to each node; shares where a value is missing.

        With `single` the factor of a node is that of the last test alone, not of all tests of its attribute.
        """
        tree = self.model.trees[number]
        factors = np.empty((n_blocks(len(rows)), tree.n_nodes, kernel.LANES))
        kernel.fill_factors(games, tree._view, self.model.shares[number], rows, single, factors)
        return factors

    def margins(self, rows: Floats) -> Floats:
        """Return the margins of the rows."""
        return self.model.margins(rows)


def n_blocks(n_rows: int) -> int:
    """Return the number of blocks that the kernel takes so many rows in."""
    return -(-n_rows // int(kernel.LANES))


def in_blocks(factors: Floats) -> Floats:
    """Turn factors of shape (n_nodes, n_rows) into blocks; the last row is repeated to fill the last block."""
    n_nodes, n_rows = factors.shape
    rows = np.minimum(np.arange(n_blocks(n_rows) * kernel.LANES), n_rows - 1)
    blocks = factors[:, rows].reshape(n_nodes, -1, kernel.LANES)
    return np.ascontiguousarray(blocks.transpose(1, 0, 2))
