"""Where REPTree's rules leave a choice open, in exact arithmetic: splits of equal worth, weights right at the minimum.

Weka settles such a choice by the last bits of its sums, tremula by taking the first split. A difference between their
trees that starts at a node with an open choice is a difference of rounding; `explain` says so, or that it is not.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tremula import Tree

from .weka_golden import LEAF, Golden, WekaNode, fit

TIE = "splits of equal worth"
MINIMUM = "a weight right at the minimum"
MIN_WEIGHT = 2
DIGITS = 50

Pieces = list[tuple[int, Fraction]]
Statistics = tuple[Fraction, ...]


class Test(NamedTuple):
    """A split: the attribute, and the rows of known value in each branch."""

    attribute: int
    branches: tuple[Pieces, ...]
    missing: Pieces

    @property
    def partition(self) -> tuple[int, frozenset[frozenset[int]]]:
        return self.attribute, frozenset(frozenset(row for row, _ in branch) for branch in self.branches)

    @property
    def shares(self) -> list[Fraction]:
        weights = [weight_of(branch) for branch in self.branches]
        known = sum(weights)
        return [weight / known for weight in weights] if known else [Fraction(1, len(weights))] * len(weights)

    def children(self) -> list[Pieces]:
        """Rows of each branch, those of missing value in proportion."""
        return [
            branch + [(row, weight * share) for row, weight in self.missing if share > 0]
            for branch, share in zip(self.branches, self.shares)
        ]

    @property
    def second_weight(self) -> Fraction:
        """Weight of the second heaviest branch."""
        return sorted(map(weight_of, self.children()))[-2]


def weight_of(pieces: Pieces) -> Fraction:
    return sum((weight for _, weight in pieces), Fraction(0))


class ExactNode:
    """Rows of a golden table in one node, with exact weights."""

    def __init__(self, golden: Golden, pieces: Pieces) -> None:
        self.golden = golden
        self.pieces = pieces

    # ---- worths

    def statistics(self, pieces: Pieces) -> Statistics:
        """Class weights, or weight and sum of the target."""
        if not self.golden.is_classification:
            return weight_of(pieces), sum(
                (weight * self.golden.exact_targets[row] for row, weight in pieces), Fraction(0)
            )
        counts = [Fraction(0)] * len(self.golden.facts["classes"])
        for row, weight in pieces:
            counts[self.golden.targets[row]] += weight
        return tuple(counts)

    def score(self, branches: list[Pieces]) -> Decimal:
        """What is to be made large: minus the information within the branches, or the squares between them."""
        return sum((self._score_of(self.statistics(branch)) for branch in branches), Decimal(0))

    def _score_of(self, statistics: Statistics) -> Decimal:
        if not self.golden.is_classification:
            weight, total = statistics
            return as_decimal(total**2 / weight) if weight else Decimal(0)
        return sum(map(x_log_x, statistics)) - x_log_x(sum(statistics))

    # ---- splits

    def split(self, attribute: int, threshold: float | None) -> Test:
        """What a test makes of the rows; numeric tests are value < threshold."""
        values = self.golden.values[:, attribute]
        n_levels = self.golden.n_levels[attribute]
        branches: list[Pieces] = [[] for _ in range(n_levels or 2)]
        missing: Pieces = []
        for row, weight in self.pieces:
            if np.isnan(values[row]):
                missing.append((row, weight))
            else:
                branches[int(values[row] if n_levels else values[row] >= threshold)].append((row, weight))
        return Test(attribute, tuple(branches), missing)

    def best_of(self, attribute: int) -> list[Test]:
        """The split of an attribute, or the cuts that tie for it."""
        if self.golden.n_levels[attribute]:
            return [self.split(attribute, None)]
        cuts = [self.split(attribute, value) for value in self._promising(attribute)]
        scores = [self.score(list(cut.branches)) for cut in cuts]
        return [cut for cut, score in zip(cuts, scores) if is_equal(score, max(scores))]

    def _promising(self, attribute: int) -> np.ndarray:
        """First values of the second branch of cuts that are best, as far as floating-point numbers can tell."""
        rows = np.array([row for row, _ in self.pieces])
        weights = np.array([float(weight) for _, weight in self.pieces])
        values = self.golden.values[rows, attribute]
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        places = np.flatnonzero(np.diff(values[order]) > 0)
        if len(places) == 0:
            return np.empty(0)
        targets = np.array(self.golden.targets)[rows[order]]
        if self.golden.is_classification:
            columns = weights[order, None] * (targets[:, None] == np.arange(len(self.golden.facts["classes"])))
        else:
            columns = np.column_stack([weights[order], weights[order] * (targets - targets.mean())])
        left = np.cumsum(columns, axis=0)[places]
        scores = self._quick_scores(left) + self._quick_scores(columns.sum(axis=0) - left)
        near = scores >= scores.max() - 1e-7 * max(1.0, abs(scores.max()))
        return values[order][places[near] + 1]

    def _quick_scores(self, statistics: np.ndarray) -> np.ndarray:
        if not self.golden.is_classification:
            return statistics[:, 1] ** 2 / statistics[:, 0]
        whole = statistics.sum(axis=1)
        terms = np.where(statistics > 1e-9, statistics * np.log(np.maximum(statistics, 1e-9)), 0.0)
        return terms.sum(axis=1) - whole * np.log(whole)

    def choices(self) -> list[Test]:
        """Every split that is best for some way to settle the ties."""
        attributes = [self.best_of(attribute) for attribute in range(len(self.golden.n_levels))]
        scored = [[(test, self.score(test.children())) for test in tests] for tests in attributes if tests]
        sure = max(min(score for _, score in tests) for tests in scored)
        return [test for tests in scored for test, score in tests if score > sure or is_equal(score, sure)]


def as_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def x_log_x(weight: Fraction) -> Decimal:
    return as_decimal(weight) * as_decimal(weight).ln() if weight else Decimal(0)


def is_equal(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= Decimal(10) ** (12 - DIGITS) * max(Decimal(1), abs(one))


# ---- two trees, node by node


class Parting(NamedTuple):
    """Where two trees that agree above part: our node, Weka's, the rows there, the branches that lead there."""

    node: int
    weka: WekaNode
    pieces: Pieces
    path: tuple[int, ...]


def tests_the_same(tree: Tree, weka: WekaNode, node: int) -> bool:
    if tree.attribute[node] != weka.attribute:
        return False
    return weka.threshold is None or tree.threshold[node] == weka.threshold


def branches_of(tree: Tree, weka: WekaNode, node: int) -> list[tuple[int, WekaNode]]:
    """Our node and Weka's at the end of each branch."""
    return [(int(tree.first_child[node]) + branch, child) for branch, child in enumerate(weka.children)]


def is_same(tree: Tree, weka: WekaNode, node: int) -> bool:
    """Whether two subtrees test the same everywhere."""
    if not tests_the_same(tree, weka, node):
        return False
    return all(is_same(tree, child, number) for number, child in branches_of(tree, weka, node))


def partings(golden: Golden, tree: Tree, start: Parting) -> list[Parting]:
    """The topmost nodes at or below a place that test something else."""
    if is_same(tree, start.weka, start.node):
        return []
    if not tests_the_same(tree, start.weka, start.node):
        return [start]
    rows = ExactNode(golden, start.pieces).split(start.weka.attribute, start.weka.threshold).children()
    return [
        parting
        for branch, (node, weka) in enumerate(branches_of(tree, start.weka, start.node))
        for parting in partings(golden, tree, Parting(node, weka, rows[branch], (*start.path, branch)))
    ]


def root_of(golden: Golden, run: str) -> Parting:
    weights = golden.weights(run)
    pieces = [(int(row), Fraction(weights[row])) for row in golden.growing_rows(run)]
    return Parting(0, golden.weka_tree(run), pieces, ())


# ---- why


def explain_growth(golden: Golden, tree: Tree, parting: Parting) -> str | None:
    """The rule by which two grown trees may part in this node; None if there is none."""
    exact = ExactNode(golden, parting.pieces)
    ours = int(tree.attribute[parting.node]), float(tree.threshold[parting.node])
    theirs = parting.weka.attribute, parting.weka.threshold
    tests = [exact.split(*test) for test in (ours, theirs) if test[0] != LEAF]
    choices = exact.choices()
    if not {test.partition for test in tests} <= {choice.partition for choice in choices}:
        return None
    if len(tests) == 2 or any(choice.second_weight < MIN_WEIGHT for choice in choices):
        return TIE
    at_minimum = tests[0].second_weight == MIN_WEIGHT or weight_of(parting.pieces) == 2 * MIN_WEIGHT
    return MINIMUM if at_minimum else None


def explain_pruning(golden: Golden, tree: Tree, parting: Parting) -> list[str | None]:
    """The rules where a node is a leaf in one pruned tree only: those by which the grown trees part below it."""
    if tree.attribute[parting.node] != LEAF and parting.weka.attribute != LEAF:
        return [explain_growth(golden, tree, parting)]
    grown, node, weka = fit(golden, "reptree_grown").tree_, 0, golden.weka_tree("reptree_grown")
    for branch in parting.path:
        if not tests_the_same(grown, weka, node):
            return [None]
        node, weka = branches_of(grown, weka, node)[branch]
    below = partings(golden, grown, parting._replace(node=node, weka=weka))
    return [explain_growth(golden, grown, each) for each in below] or [None]


def explain(golden: Golden, run: str) -> set[str | None]:
    """The rules behind the differences between tremula's REPTree and Weka's."""
    tree = fit(golden, run).tree_
    with localcontext(prec=DIGITS):
        parted = partings(golden, tree, root_of(golden, run))
        if run == "reptree_pruned":
            return {rule for parting in parted for rule in explain_pruning(golden, tree, parting)}
        return {explain_growth(golden, tree, parting) for parting in parted}
