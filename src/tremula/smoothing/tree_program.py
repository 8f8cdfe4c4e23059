"""Prepares a sum of trees for the kernel that smooths it: programs of the trees, shared thresholds, order of the rows.

A program depends on the model alone, not on the noise. It is cached as long as the model exists.

The program of a tree computes, for a block of rows at once, the weight of every leaf: the probability that the
perturbed row reaches it. The weight is a product with one factor for each attribute tested on the path. A factor is the
difference of two columns, each with a number for every row. Column 0 holds zeros and column 1 ones; the others hold
Φ((threshold - value) / noise_sd), the probability that the perturbed value is at most the threshold.

A tree of three nodes is an example: a split at 0.5, with the value 0 in the left leaf and 1 in the right one. In a mean
of two such trees both splits share column 2.

>>> import numpy as np
>>> from tremula.smoothing.exact import leaf_weights, soften
>>> from tremula.smoothing.models.tree_builder import BinaryNodes, build_tree
>>> from tremula.trees.tree_sum import mean_of_trees
>>> children, attribute = np.array([[1, -1, -1], [2, -1, -1]]), np.array([0, -1, -1])
>>> threshold, values = np.array([0.5, 0.0, 0.0]), np.array([[0.0], [0.0], [1.0]])
>>> nodes = BinaryNodes(*children, attribute, threshold, np.zeros(3, bool), values)
>>> tree = build_tree(nodes, np.zeros(1, np.int32), strict=False)
>>> model = mean_of_trees([tree, tree])
>>> thresholds = find_thresholds(model)
>>> [columns.tolist() for columns in thresholds.columns], thresholds.end
([[2, -1, -1], [2, -1, -1]], 3)

A row with the value 0.3 and noise of standard deviation 0.2 is one standard deviation below the threshold, so its
column 2 is Φ(1) = 0.8413. The left leaf has the weight column 2 - column 0, the right leaf column 1 - column 2.

>>> row, noise_sd = np.array([[0.3]]), np.array([0.2])
>>> leaf_weights(model, 0, row, noise_sd).round(4)
array([[0.8413, 0.1587]])
>>> soften(model, row, noise_sd).margins.round(4)
array([[0.1587]])

A further split of the right branch at 0.7 would have column 3, and the leaf between the two splits the weight
column 3 - column 2: tests of one attribute on a path leave an interval and give one factor. In the path form every test
gives a factor of its own.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.soften as kernel
from tremula.trees.structure import is_numeric
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

LARGEST = np.finfo(np.float64).max / 4  # differences of such numbers are still finite
SHARED_IF_BELOW = 0.5  # distinct thresholds per split; above it, sharing columns does not pay


@dataclass(frozen=True)
class Values:
    """Nonzero values of one tree, times its weight, row by row, and the output that each adds to."""

    start: NDArray[np.int32]
    output: NDArray[np.int32]
    value: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: float


@dataclass(frozen=True)
class Thresholds:
    """For the nodes of each tree: threshold, largest value of the first branch, shared column or -1; end of columns."""

    of_nodes: tuple[NDArray[np.float64], ...]
    last: tuple[NDArray[np.float64], ...]
    columns: tuple[NDArray[np.int32], ...]
    end: int

    def of_tree(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], int]:
        """Thresholds of one tree, as the kernel takes them."""
        return self.of_nodes[number], self.last[number], self.columns[number], self.end


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clip numbers so that their differences are finite; NaN stays."""
    return np.clip(values, -LARGEST, LARGEST)


def find_thresholds(model: TreeSum) -> Thresholds:
    """Give every distinct threshold of an attribute a shared column, if there are few in comparison to the splits."""
    of_nodes = tuple(finite(np.where(is_numeric(tree.nodes), tree.threshold, 0.0)) for tree in model.trees)
    last = tuple(np.nextafter(each, -np.inf) if tree.strict else each for tree, each in zip(model.trees, of_nodes))
    starts = np.cumsum([0, *(tree.n_nodes for tree in model.trees)])
    attributes = np.concatenate([np.where(is_numeric(tree.nodes), tree.attribute, -1) for tree in model.trees])
    thresholds = np.concatenate(last)
    columns = np.full(len(thresholds), -1, dtype=np.int32)
    end = kernel.FIRST_SHARED
    for attribute in np.unique(attributes[attributes >= 0]):
        splits = np.flatnonzero(attributes == attribute)
        distinct, which = np.unique(thresholds[splits], return_inverse=True)
        columns[splits] = end + which
        end += len(distinct)
    if end - kernel.FIRST_SHARED > SHARED_IF_BELOW * np.count_nonzero(attributes >= 0):
        columns[:], end = -1, kernel.FIRST_SHARED
    return Thresholds(of_nodes, last, tuple(np.split(columns, starts[1:-1])), end)


def list_values(values: NDArray[np.float64], output: int, n_outputs: int) -> Values:
    """List the nonzero values of one tree, row by row; `output` is the one that they add to, or -1 for all."""
    rows, columns = np.nonzero(values)
    mean, spread = np.zeros(n_outputs), np.ptp(values, axis=0).max()
    mean[slice(None) if output < 0 else slice(output, output + 1)] = values.mean(axis=0)
    return Values(
        start=np.searchsorted(rows, np.arange(len(values) + 1)).astype(np.int32),
        output=(columns if output < 0 else np.full(len(columns), output)).astype(np.int32),
        value=values[rows, columns],
        mean=mean,
        spread=float(spread),
    )


def leaf_ranks(tree: Tree, X: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the preorder number of every row's leaf: rows of neighbouring leaves have neighbouring numbers."""
    ranks = np.empty(tree.n_nodes, dtype=np.int32)
    kernel.fill_preorder(tree.nodes, np.empty_like(ranks), ranks)
    return ranks[tree.apply(X)]


def order_rows(model: TreeSum, X: NDArray[np.float64], is_missing: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Order the rows so that neighbours take similar paths; rows with missing values come last.

    Rows are sorted by their leaf in the largest tree, and then by their leaf in the second largest.
    """
    largest = sorted(range(len(model.trees)), key=lambda number: -model.trees[number].n_nodes)[:2]
    order = np.arange(len(X))
    for keys in (*(leaf_ranks(model.trees[number], X) for number in reversed(largest)), is_missing):
        if keys.any():
            order = order[np.argsort(_short(keys)[order], kind="stable")]
    return order


def _short(keys: NDArray[Any]) -> NDArray[Any]:
    """Return keys in 16 bits if they fit: these are sorted much faster."""
    return keys.astype(np.uint16) if keys.max() <= np.iinfo(np.uint16).max else keys


class TreePrograms:
    """Programs of all trees of a model, in the exact form or the path form.

    Parameters
    ----------
    model : TreeSum
    level_shares : float64 array
        Shares of the levels of all attributes, concatenated.
    paths : bool
        Whether every test has noise of its own (the path form).
    """

    def __init__(self, model: TreeSum, level_shares: NDArray[np.float64], paths: bool) -> None:
        self._reference = weakref.ref(model)
        self.paths = paths
        self.thresholds = find_thresholds(model)
        self.level_start = np.concatenate([[0], np.cumsum(model.n_levels)]).astype(np.int32)
        self.level_shares = np.append(level_shares, 0.0)

    def model(self) -> TreeSum:
        """Return the model. A weak reference is held, so that the cache does not keep the model alive."""
        model = self._reference()
        assert model is not None
        return model

    @cached_property
    def values(self) -> list[Values]:
        """The values of every tree, times its weight."""
        model = self.model()
        return [
            list_values(weight * tree.values, int(output), model.n_margins)
            for tree, weight, output in zip(model.trees, model.weights, model.outputs)
        ]

    @cached_property
    def range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Least and largest possible sum of each margin; rounding may exceed them slightly."""
        model = self.model()
        low, high = np.zeros(model.n_margins), np.zeros(model.n_margins)
        for tree, weight, output in zip(model.trees, model.weights, model.outputs):
            columns = slice(None) if output < 0 else slice(output, output + 1)
            ends = weight * tree.values.min(axis=0), weight * tree.values.max(axis=0)
            low[columns] += np.minimum(*ends)
            high[columns] += np.maximum(*ends)
        return low, high

    @cached_property
    def all_steps(self) -> list[kernel.TreeProgram]:
        """The program of every tree."""
        return [self.steps(number, values) for number, values in enumerate(self.values)]

    def steps(self, number: int, values: Values, slope_of: int = -1, rank: int = 1) -> kernel.TreeProgram:
        """Make the program of one tree, or of its derivative in an attribute (path form: in the `rank`-th test)."""
        model = self.model()
        tree = model.trees[number]
        return kernel.TreeProgram(
            tree,
            model.shares[number],
            self.thresholds.of_tree(number),
            (self.level_start, self.level_shares),
            values,
            self.paths,
            slope_of,
            rank,
        )


_PROGRAMS: dict[int, dict[tuple[bool, bytes], TreePrograms]] = {}


def programs_of(model: TreeSum, level_shares: NDArray[np.float64], paths: bool) -> TreePrograms:
    """Return the programs of a model; they are cached as long as the model exists."""
    number = id(model)
    if number not in _PROGRAMS:
        _PROGRAMS[number] = {}
        weakref.finalize(model, _PROGRAMS.pop, number, None)
    key = (paths, level_shares.tobytes())
    if key not in _PROGRAMS[number]:
        _PROGRAMS[number][key] = TreePrograms(model, level_shares, paths)
    return _PROGRAMS[number][key]
