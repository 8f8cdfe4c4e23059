"""The test that leads to each node of a tree, and the interval that all tests of its attribute have left there."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tremula.trees.structure import depths_of, is_numeric, parents_of
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


class PathTests:
    """The tests on the paths of a tree; arrays have an entry for each node. The root has none, and tests nothing.

    Attributes
    ----------
    attribute : int array (n_nodes,)
        Attribute of the test at the parent; 0 for the root.
    is_numeric, is_nominal : bool arrays (n_nodes,)
        What kind of test it is.
    is_second : bool array (n_nodes,)
        Whether the node is on the second branch.
    threshold : float64 array (n_nodes,)
    """

    def __init__(self, tree: Tree) -> None:
        self._parents = parents_of(tree.nodes)
        above = np.maximum(self._parents, 0)
        has_parent = self._parents >= 0
        self._depths = depths_of(tree.nodes)
        self.attribute = np.where(has_parent, tree.attribute[above], 0).astype(np.intp)
        self.is_numeric = has_parent & is_numeric(tree.nodes)[above]
        self.is_nominal = has_parent & ~self.is_numeric
        self.is_second = np.arange(tree.n_nodes) == tree.first_child[above] + 1
        self.threshold = tree.threshold[above]
        self._earlier = self._nearest_earlier()
        self.low, self.high = self._intervals()

    def _nearest_earlier(self) -> NDArray[np.intp]:
        """Return the node above each that the nearest earlier test of the same attribute leads to, or -1."""
        earlier = self._parents.copy()
        while True:
            above = np.maximum(earlier, 0)
            is_other = (earlier > 0) & (self.attribute[above] != self.attribute)
            if not is_other.any():
                return np.where(earlier > 0, earlier, -1)
            earlier[is_other] = self._parents[earlier[is_other]]

    @cached_property
    def _by_depth(self) -> list[NDArray[np.intp]]:
        order = np.argsort(self._depths, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self._depths))[:-1])

    def _intervals(self) -> tuple[Floats, Floats]:
        """Return the ends of the interval of the attribute tested last before each node."""
        low, high = np.full(len(self.attribute), -np.inf), np.full(len(self.attribute), np.inf)
        for nodes in self._by_depth[1:]:
            again = nodes[self._earlier[nodes] >= 0]
            low[again], high[again] = low[self._earlier[again]], high[self._earlier[again]]
            second, first = nodes[self.is_second[nodes]], nodes[~self.is_second[nodes]]
            low[second] = np.maximum(low[second], self.threshold[second])
            high[first] = np.minimum(high[first], self.threshold[first])
        return low, high

    def multiply(self, factors: Floats) -> None:
        """Multiply the factors of single tests, (n_nodes, n_rows), by those of earlier tests of the same attribute."""
        for nodes in self._by_depth[1:]:
            again = nodes[self._earlier[nodes] >= 0]
            factors[again] *= factors[self._earlier[again]]
