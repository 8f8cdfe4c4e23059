"""A margin of a sum of trees as a constant less a sum of boxes, each with a weight of at least 0.

Every node of a tree is a box. A tree's value is the largest value of all its leaves, less a difference for each node on
the row's path: that between the largest values below its parent and below itself. Nodes without a difference drop out,
so a subtree of equal values is a single box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.trees.structure import LEVEL_UNSEEN, MULTIWAY_SPLIT, children_and_parents, depths_of, is_numeric
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Factors:
    """Intervals and level weights of boxes, sorted by box.

    Attributes
    ----------
    box : int array (n_factors,)
    attribute : int array (n_factors,)
    low, high : float64 arrays (n_factors,)
        The box holds values above `low`, up to `high`; for nominal attributes infinite.
    share : float64 array (n_factors,)
        What reaches the box if the value is missing.
    levels : float64 array (n_factors, n_levels)
        What of each level reaches the box; no columns if the model has no nominal attributes.
    """

    box: Integers
    attribute: Integers
    low: Floats
    high: Floats
    share: Floats
    levels: Floats

    def of_boxes(self, is_chosen: NDArray[np.bool_]) -> Factors:
        """Return the factors of some of the boxes, which are numbered anew."""
        keep = is_chosen[self.box]
        numbers = np.cumsum(is_chosen) - 1
        return Factors(
            numbers[self.box[keep]],
            self.attribute[keep],
            self.low[keep],
            self.high[keep],
            self.share[keep],
            self.levels[keep],
        )


@dataclass(frozen=True)
class BoxSum:
    """A constant less the sum of `costs` times the probabilities of boxes."""

    constant: float
    costs: Floats
    factors: Factors


class ModelBoxes:
    """The nodes of all trees of a model as boxes.

    Parameters
    ----------
    model : TreeSum
    paths : bool
        Whether every test on a path is a factor of its own (the path form), or all tests of an attribute are one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> model = mean_of_trees([CARTClassifier(max_depth=2).fit(*load_iris(return_X_y=True)).tree_])
    >>> whole = ModelBoxes(model, paths=False).margin([1.0, 0.0, 0.0])
    >>> whole.constant, whole.costs, whole.factors.low, whole.factors.high
    (1.0, array([1.]), array([2.45]), array([inf]))
    """

    def __init__(self, model: TreeSum, paths: bool) -> None:
        self.model = model
        starts = np.cumsum([0, *(tree.n_nodes for tree in model.trees)])
        self.roots = starts[:-1]
        self.parents = np.concatenate([_parents(tree, start) for tree, start in zip(model.trees, starts)])
        self.depths = np.concatenate([depths_of(tree.nodes) for tree in model.trees])
        tests = _tests_of_nodes(model)
        self.factors = _path_factors(tests, self.parents, paths)

    def margin(self, direction: NDArray[np.float64] | list[float]) -> BoxSum:
        """Return the margins times `direction`, summed, as a constant less a sum of boxes."""
        along = np.asarray(direction, dtype=np.float64)
        largest = np.full(len(self.parents), -np.inf)
        for tree, weight, output, root in zip(self.model.trees, self.model.weights, self.model.outputs, self.roots):
            values = weight * (tree.values @ along if output < 0 else along[output] * tree.values[:, 0])
            leaves = np.flatnonzero(tree.is_leaf)
            largest[root + leaves] = values[tree.nodes["index"][leaves]]
        for depth in range(int(self.depths.max()), 0, -1):
            nodes = np.flatnonzero(self.depths == depth)
            np.maximum.at(largest, self.parents[nodes], largest[nodes])
        costs = np.where(self.parents >= 0, largest[self.parents] - largest, 0.0)
        is_used = costs > 0
        constant = float(self.model.offset @ along + largest[self.roots].sum())
        return BoxSum(constant, costs[is_used], self.factors.of_boxes(is_used))


def _parents(tree: Tree, start: int) -> Integers:
    parents = np.full(tree.n_nodes, -1)
    children, above = children_and_parents(tree.nodes)
    parents[children] = start + above
    return parents


def _tests_of_nodes(model: TreeSum) -> Factors:
    """Return for every node the test that leads to it; the attribute of roots is -1."""
    parts = [_tests_of_tree(tree, shares) for tree, shares in zip(model.trees, model.shares)]
    attribute, low, high, share, levels = (np.concatenate(each) for each in zip(*parts))
    return Factors(np.arange(len(attribute)), attribute, low, high, share, levels)


def _tests_of_tree(tree: Tree, shares: Floats) -> tuple[Integers, Floats, Floats, Floats, Floats]:
    nodes, n_nodes = tree.nodes, tree.n_nodes
    children, parents = children_and_parents(nodes)
    branch = children - nodes["first_child"][parents]
    attribute = np.full(n_nodes, -1)
    attribute[children] = nodes["attribute"][parents]
    low, high = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
    kind = nodes["index"][parents]
    last = np.nextafter(nodes["threshold"], -np.inf) if tree.strict else nodes["threshold"]
    numeric = is_numeric(nodes)[parents]
    first, second = numeric & (branch == 0), numeric & (branch == 1)
    high[children[first]], low[children[second]] = last[parents[first]], last[parents[second]]
    levels = np.ones((n_nodes, int(tree.n_levels.max(initial=0))))
    for place in np.flatnonzero(~numeric):
        n_levels = tree.n_levels[nodes["attribute"][parents[place]]]
        if kind[place] == MULTIWAY_SPLIT:
            levels[children[place], :n_levels] = np.arange(n_levels) == branch[place]
        else:
            groups = tree.subsets[kind[place] : kind[place] + n_levels]
            unseen = np.where(groups == LEVEL_UNSEEN, shares[children[place]], 0.0)
            levels[children[place], :n_levels] = np.where(groups == branch[place], 1.0, unseen)
    return attribute, low, high, np.asarray(shares, dtype=np.float64), levels


def _path_factors(tests: Factors, parents: Integers, paths: bool) -> Factors:
    """Collect the tests on the path to every node; those of one attribute become one factor unless `paths`."""
    boxes, edges = [], []
    box, edge = np.arange(len(parents)), np.arange(len(parents))
    while len(box):
        below_root = parents[edge] >= 0
        box, edge = box[below_root], edge[below_root]
        boxes.append(box)
        edges.append(edge)
        edge = parents[edge]
    box, edge = np.concatenate(boxes), np.concatenate(edges)
    order = np.lexsort([tests.attribute[edge], box])
    box, edge = box[order], edge[order]
    attribute = tests.attribute[edge]
    is_first = np.ones(len(box), dtype=bool)
    if not paths:
        is_first[1:] = (box[1:] != box[:-1]) | (attribute[1:] != attribute[:-1])
    starts = np.flatnonzero(is_first)
    if not len(starts):
        return Factors(box, attribute, tests.low[:0], tests.high[:0], tests.share[:0], tests.levels[:0])
    return Factors(
        box[starts],
        attribute[starts],
        np.maximum.reduceat(tests.low[edge], starts),
        np.minimum.reduceat(tests.high[edge], starts),
        np.multiply.reduceat(tests.share[edge], starts),
        np.multiply.reduceat(tests.levels[edge], starts, axis=0),
    )
