"""Small trees that correct a blend: boosting that starts from its out-of-bag predictions.

Rows are cut into parts. Boosting is run once without each part, and the held-out rows choose the number of rounds,
which may be 0. The corrections of all parts are averaged, which makes them one sum of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tremula._kernels.row_sums import add_newton_sums
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.softmax import softmax_of_rows
from tremula.folds import stratified_parts
from tremula.losses import log_losses, squared_errors
from tremula.perturb.sample import Sample
from tremula.seeds import member_generator
from tremula.trees.columns import Columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.monotonic import keep_order
from tremula.trees.rules import ROUNDING, Rules
from tremula.trees.structure import copy_nodes, parents_of
from tremula.trees.tree import Tree

N_PARTS = 4
EVERY = 5  # rounds between two scores of the held-out rows
MAX_DEPTH = 6
LEAST_ROWS = 5.0
LARGEST_STEP = 4.0
STREAM = 3  # separates the random stream of boosting from those of the members
GRID = 2.0**-24  # of the weights and residuals that trees are grown from


@dataclass(frozen=True)
class Pace:
    """How long boosting goes on, and how far each round goes.

    Attributes
    ----------
    n_rounds : int
        Largest number of rounds.
    patience : int
        Rounds without a gain on held-out rows, after which boosting stops.
    rate : float
        Share of each step that is taken.
    shrinkage : float
        Pseudo-rows without error in each leaf.
    """

    n_rounds: int
    patience: int
    rate: float
    shrinkage: float


FROM_BLEND = Pace(n_rounds=100, patience=20, rate=0.15, shrinkage=5.0)


@dataclass(frozen=True)
class Part:
    """Boosting without one part of the rows.

    Attributes
    ----------
    rows : array
        The held-out rows.
    margins : array (n_stages, n_rows, n_outputs)
        Their margins before the first round and after every few; the last ones again where boosting stopped early.
    trees : list of lists of Tree
        Those of each round.
    """

    rows: np.ndarray
    margins: np.ndarray
    trees: list[list[Tree]]


def make_parts(sample: Sample, rows: np.ndarray, root_seed: int) -> list[np.ndarray]:
    """Cut rows into parts to hold out, stratified by class."""
    random = np.random.default_rng(np.random.SeedSequence(root_seed, spawn_key=(0, STREAM)))
    strata = sample.target if sample.n_classes else None
    return [np.sort(part) for part in stratified_parts(rows, strata, N_PARTS, random)]


@dataclass(frozen=True)
class Boosting:
    """Boosts without one of the parts, in any process.

    Attributes
    ----------
    columns : Columns
    sample : Sample
    parts : list of arrays
        Rows to hold out; only rows of a part are used.
    start : array (n_rows, n_outputs)
        Margins to correct.
    root_seed : int
    pace : Pace
    kind : callable or None
        Makes the rounds; None takes the usual ones for classes or numbers.
    """

    columns: Columns
    sample: Sample
    parts: list[np.ndarray]
    start: np.ndarray
    root_seed: int
    pace: Pace = FROM_BLEND
    kind: Callable[..., Rounds] | None = None

    def __call__(self, members: range) -> list[Part]:
        """Boost once without each of these parts."""
        return [self._boost(number) for number in members]

    def _weights(self, number: int) -> np.ndarray:
        weights = np.zeros(self.sample.n_rows)
        rows = np.concatenate([part for other, part in enumerate(self.parts) if other != number])
        weights[rows] = 1.0 if self.sample.weights is None else self.sample.weights[rows]
        return np.asarray(
            weights * (np.count_nonzero(weights) / weights.sum())
        )  # limits and shrinkage are in units of rows

    def _boost(self, number: int) -> Part:
        held, margins, trees = self.parts[number], self.start.copy(), list[list[Tree]]()
        kind = self.kind or ROUNDS[self.sample.n_classes > 0]
        rounds = kind(self.columns, self.sample, self._weights(number), self.pace)
        random = member_generator(self.root_seed ^ STREAM, number)
        kept, losses = [margins[held]], [rounds.loss(margins[held], held)]
        for done in range(1, self.pace.n_rounds + 1):
            grown = rounds.grow(margins, random)
            for each in grown:
                each.add(self.columns.values, margins)
            trees.append([each.tree for each in grown])
            if done % EVERY == 0:
                kept.append(margins[held])
                losses.append(rounds.loss(margins[held], held))
                if (len(losses) - 1 - int(np.argmin(losses))) * EVERY >= self.pace.patience:
                    break
        n_stages = self.pace.n_rounds // EVERY + 1
        return Part(held, np.array([*kept, *[kept[-1]] * (n_stages - len(kept))]), trees)


@dataclass(frozen=True)
class RoundTree:
    """A tree of a round, and the leaf of each training row where no row is in several leaves."""

    tree: Tree
    leaves: np.ndarray | None = None

    def add(self, values: np.ndarray, margins: np.ndarray) -> None:
        """Add the values of the tree to the margins of all rows."""
        if self.leaves is None:
            self.tree.add_values(values, 1.0, margins)
        else:
            margins += self.tree.values[self.leaves]


class Rounds(Protocol):
    """What boosting needs to know of classes or numbers."""

    def loss(self, margins: np.ndarray, rows: np.ndarray) -> float:
        """Loss of some rows."""

    def grow(self, margins: np.ndarray, random: np.random.Generator) -> list[RoundTree]:
        """Grow the trees of the next round; their values are steps of the margins."""


class ClassRounds:
    """Rounds of boosting for classes: one tree for all of them, and a Newton step of log loss in each leaf."""

    def __init__(self, columns: Columns, sample: Sample, weights: np.ndarray, pace: Pace = FROM_BLEND) -> None:
        self.columns, self.sample, self.weights, self.pace = columns, sample, weights, pace
        self.codes, self.n_classes = np.ascontiguousarray(sample.target, np.int32), sample.n_classes
        self.rows = np.flatnonzero(weights > 0)
        self.codes_of_rows = self.codes[self.rows]
        self.own = np.arange(len(self.rows)), self.codes_of_rows
        self.rules = tree_rules(CLASSIFICATION["gini"].code, columns.n_attributes, tolerance=ROUNDING)

    def loss(self, margins: np.ndarray, rows: np.ndarray) -> float:
        """Weighted log loss of some rows."""
        losses = log_losses(self.codes[rows], softmax_of_rows(margins))
        return float(np.average(losses, weights=ScoringRows.of(self.sample, rows).weights))

    def grow(self, margins: np.ndarray, random: np.random.Generator) -> list[RoundTree]:
        """Grow the next tree; its values are steps of the margins."""
        shares = softmax_of_rows(margins[self.rows])
        weights, given = np.zeros(len(self.weights)), self.weights[self.rows]
        # A row weighs as much as is left to learn of it.
        weights[self.rows] = given * np.maximum(1.0 - shares[self.own], 1e-6)
        weights = _on_grid(weights * (self.weights.sum() / weights.sum()), 1.0)
        grown = grow_classification_tree(self.columns, self.codes, self.n_classes, weights, self.rules, random)
        of_all_rows, n_leaves = leaves_of_rows(grown, self.columns)
        residuals, slopes = np.zeros((n_leaves, self.n_classes)), np.zeros((n_leaves, self.n_classes))
        add_newton_sums(of_all_rows[self.rows], given, self.codes_of_rows, shares, residuals, slopes)
        if self.columns.directions is not None:
            return [RoundTree(self._in_order(grown, residuals[:, 1], slopes[:, 1], self.columns.directions))]
        return [self.round_tree(grown, self._steps(residuals, slopes), of_all_rows)]

    def round_tree(self, grown: GrownTree, steps: np.ndarray, leaves: np.ndarray) -> RoundTree:
        """Return the tree with these steps in its leaves."""
        can_divide_rows = self.columns.n_levels.any() or not self.columns.is_complete
        return RoundTree(with_values(grown, steps, self.columns), None if can_divide_rows else leaves)

    def _steps(self, residuals: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        scale = self.pace.rate * (self.n_classes - 1.0) / self.n_classes
        return np.asarray(scale * np.clip(residuals / (slopes + self.pace.shrinkage), -LARGEST_STEP, LARGEST_STEP))

    def _in_order(self, grown: GrownTree, residuals: np.ndarray, slopes: np.ndarray, directions: np.ndarray) -> Tree:
        """Return a tree that keeps to constraints of order, from the sums of the second of two classes in each leaf."""
        steps = self._steps(*sum_over_leaves(grown.nodes, np.column_stack([residuals, slopes])).T)
        of_leaves = with_values(grown, steps[grown.nodes["n_branches"] == 0, None], self.columns)
        second = keep_order(of_leaves, steps, directions)
        # What is added to the second class is taken from the first.
        return Tree(second.nodes, second.values * [-1.0, 1.0], second.subsets, second.n_levels, second.strict)


class NumberRounds:
    """Rounds of boosting for numbers: squared error."""

    def __init__(self, columns: Columns, sample: Sample, weights: np.ndarray, pace: Pace = FROM_BLEND) -> None:
        self.columns, self.sample, self.weights, self.target = columns, sample, weights, sample.target
        self.pace = pace
        self.rules = tree_rules(REGRESSION["variance"].code, columns.n_attributes)
        self.unit = 2.0 ** np.ceil(np.log2(max(float(self.target.std()), np.finfo(float).tiny)))

    def loss(self, margins: np.ndarray, rows: np.ndarray) -> float:
        """Weighted mean of the squared errors of some rows."""
        weights = ScoringRows.of(self.sample, rows).weights
        return float(np.average(squared_errors(self.target[rows], margins[:, 0]), weights=weights))

    def grow(self, margins: np.ndarray, random: np.random.Generator) -> list[RoundTree]:
        """Grow the next tree; its values are steps of the number."""
        residuals = _on_grid(np.where(self.weights > 0, self.target - margins[:, 0], 0.0), self.unit)
        grown = grow_regression_tree(self.columns, residuals, self.weights, self.rules, random)
        weight, total = grown.statistics[:, :2].T
        step = self.pace.rate * (total / (weight + self.pace.shrinkage))
        tree = with_values(grown, step[grown.nodes["n_branches"] == 0, None], self.columns)
        return [RoundTree(tree if self.columns.directions is None else keep_order(tree, step, self.columns.directions))]


ROUNDS: dict[bool, Callable[..., Rounds]] = {True: ClassRounds, False: NumberRounds}


def _on_grid(numbers: np.ndarray, unit: float) -> np.ndarray:
    """Round numbers of about the given unit, a power of two.

    Sums of the rounded numbers are exact. So splits that tie do so on every machine, although the last bits of
    logarithms and exponentials depend on the processor.
    """
    return np.asarray(np.round(numbers / (GRID * unit)) * (GRID * unit))


def tree_rules(criterion: int, n_attributes: int, **others: Any) -> Rules:
    """Return the rules of the trees of boosting; `others` are added or replace limits."""
    n_drawn = max(1, min(n_attributes // 2, int(3 * n_attributes**0.5)))
    limits = {"n_drawn": n_drawn, "max_depth": MAX_DEPTH, "min_side_weight": LEAST_ROWS, "min_variance": 0.0}
    return Rules(criterion, subsets=True, **(limits | others))


def leaves_of_rows(grown: GrownTree, columns: Columns) -> tuple[np.ndarray, int]:
    """Return the leaf of each row, numbered among the leaves, and how many of these there are."""
    is_leaf = grown.nodes["n_branches"] == 0
    tree = Tree(grown.nodes, [[0.0]], grown.subsets, columns.n_levels, strict=False)
    numbers = np.cumsum(is_leaf) - 1
    return numbers[tree.apply(columns.values)], int(numbers[-1]) + 1


def sum_over_leaves(nodes: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the sums of each node, from those of its leaves.

    Examples
    --------
    >>> from tremula.trees.structure import NODE_DTYPE
    >>> nodes = np.array([(0.5, 3, 0, 1, 2, -1), (np.nan, 1, -1, 0, 0, 0), (np.nan, 2, -1, 0, 0, 1)], NODE_DTYPE)
    >>> sum_over_leaves(nodes, np.array([[1.0], [2.0]])).ravel()
    array([3., 1., 2.])
    """
    of_nodes = np.zeros((len(nodes), sums.shape[1]))
    of_nodes[nodes["n_branches"] == 0] = sums
    parents = parents_of(nodes)
    for node in range(len(nodes) - 1, 0, -1):  # children have larger numbers
        of_nodes[parents[node]] += of_nodes[node]
    return of_nodes


def with_values(grown: GrownTree, values: np.ndarray, columns: Columns) -> Tree:
    """Return the tree with these values in its leaves."""
    nodes = copy_nodes(grown.nodes)
    is_leaf = nodes["n_branches"] == 0
    nodes["index"][is_leaf] = np.arange(len(values))
    return Tree(nodes, values, grown.subsets, columns.n_levels, strict=False)


def average(parts: Sequence[Part], n_rounds: int) -> list[Tree]:
    """Return the trees of the first rounds of all parts, whose sum is the mean of the parts' corrections."""
    trees = [tree for part in parts for of_round in part.trees[:n_rounds] for tree in of_round]
    return [Tree(t.nodes, t.values / len(parts), t.subsets, t.n_levels, t.strict) for t in trees]


def add_corrections(trees: Sequence[Tree], rows: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return the sum of the trees' values for each row."""
    total = np.zeros((len(rows), n_outputs))
    for tree in trees:
        tree.add_values(rows, 1.0, total)
    return total
