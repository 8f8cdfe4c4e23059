"""A sum of trees made ready for the kernel that smooths it: steps, shared thresholds, and rows in a good order.

What is made here depends on the model alone, not on the noise: it is kept as long as the model and serves any number of
calls.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.soften as kernel
from tremula.trees.structure import NUMERIC_SPLIT
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

LARGEST = np.finfo(np.float64).max / 4  # differences of such numbers are still finite
SHARED_IF_BELOW = 0.5  # distinct thresholds per split: above, a split better computes its own column near at hand


@dataclass(frozen=True)
class Values:
    """Values of one tree, times its weight: those of each row that are not 0, and the output they add to."""

    start: NDArray[np.int32]
    output: NDArray[np.int32]
    value: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: float


@dataclass(frozen=True)
class Thresholds:
    """For each tree's nodes: threshold, largest value that goes first, shared column or -1; and where columns end."""

    of_nodes: tuple[NDArray[np.float64], ...]
    last: tuple[NDArray[np.float64], ...]
    columns: tuple[NDArray[np.int32], ...]
    end: int

    def of_tree(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32], int]:
        """Thresholds of one tree, as the kernel takes them."""
        return self.of_nodes[number], self.last[number], self.columns[number], self.end


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers brought within what can be subtracted; NaN stays."""
    return np.clip(values, -LARGEST, LARGEST)


def find_thresholds(model: TreeSum) -> Thresholds:
    """Give every distinct threshold of an attribute a column of its own, if there are few for so many splits."""
    of_nodes = tuple(finite(np.where(_is_numeric(tree), tree.threshold, 0.0)) for tree in model.trees)
    last = tuple(np.nextafter(each, -np.inf) if tree.strict else each for tree, each in zip(model.trees, of_nodes))
    starts = np.cumsum([0, *(tree.n_nodes for tree in model.trees)])
    attributes = np.concatenate([np.where(_is_numeric(tree), tree.attribute, -1) for tree in model.trees])
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
    """Values of one tree that are not 0, row by row; `output` is the one that they add to, or -1 for all."""
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
    """Place of every row's leaf among all nodes: rows of neighbouring leaves get neighbouring numbers."""
    ranks = np.empty(tree.n_nodes, dtype=np.int32)
    kernel.fill_preorder(tree.nodes, np.empty_like(ranks), ranks)
    return ranks[tree.apply(X)]


def order_rows(model: TreeSum, X: NDArray[np.float64], is_missing: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Put rows that go much the same ways next to each other, those with missing values last.

    By the leaf they fall in, in the largest tree; where that is the same, in the second largest.
    """
    largest = sorted(range(len(model.trees)), key=lambda number: -model.trees[number].n_nodes)[:2]
    keys = [leaf_ranks(model.trees[number], X) for number in reversed(largest)]
    return np.lexsort([*keys, is_missing])


def _is_numeric(tree: Tree) -> NDArray[np.bool_]:
    return (tree.n_branches > 0) & (tree.nodes["index"] == NUMERIC_SPLIT)


class TreePrograms:
    """Steps of every tree of a model, in one form.

    Parameters
    ----------
    model : TreeSum
    level_shares : float64 array
        How frequent each level is, for all attributes in a row.
    paths : bool
        Whether every test is a draw of its own.
    """

    def __init__(self, model: TreeSum, level_shares: NDArray[np.float64], paths: bool) -> None:
        self._reference = weakref.ref(model)
        self.paths = paths
        self.thresholds = find_thresholds(model)
        self.level_start = np.concatenate([[0], np.cumsum(model.n_levels)]).astype(np.int32)
        self.level_shares = np.append(level_shares, 0.0)

    def model(self) -> TreeSum:
        """Return the model, which whoever asks still holds: kept here, it would never be given back."""
        model = self._reference()
        assert model is not None
        return model

    @cached_property
    def values(self) -> list[Values]:
        """Values of every tree, times its weight."""
        model = self.model()
        return [
            list_values(weight * tree.values, int(output), model.n_margins)
            for tree, weight, output in zip(model.trees, model.weights, model.outputs)
        ]

    @cached_property
    def range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between what numbers each sum of the trees lies; rounding may lead out of them."""
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
        """Steps of every tree."""
        return [self.steps(number, values) for number, values in enumerate(self.values)]

    def steps(self, number: int, values: Values, slope_of: int = -1, rank: int = 1) -> kernel.TreeProgram:
        """Make the steps of one tree, or of its derivative in an attribute (by paths: through its `rank`-th test)."""
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
    """TreePrograms of a model, made when first asked for and kept while the model lives."""
    number = id(model)
    if number not in _PROGRAMS:
        _PROGRAMS[number] = {}
        weakref.finalize(model, _PROGRAMS.pop, number, None)
    key = (paths, level_shares.tobytes())
    if key not in _PROGRAMS[number]:
        _PROGRAMS[number][key] = TreePrograms(model, level_shares, paths)
    return _PROGRAMS[number][key]
