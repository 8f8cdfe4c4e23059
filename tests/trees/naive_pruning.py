"""Pruning written for clarity: trees are nested objects, rows are sent down them one by one, nothing is kept in step.

The compiled pruners are compared with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isnan, sqrt

import numpy as np

from tremula.trees.grown_tree import GrownTree
from tremula.trees.pruning import ErrorEstimate

from .naive_splits import Pieces, Table, weight_of


@dataclass(frozen=True)
class Subtree:
    """A node with what is below it; `number` is the engine's number of it, for statistics kept by node."""

    number: int
    attribute: int
    threshold: float
    subset: tuple[int, ...] | None
    branches: tuple[Subtree, ...]

    @property
    def is_leaf(self) -> bool:
        return not self.branches

    def as_leaf(self) -> Subtree:
        return Subtree(self.number, -1, 0.0, None, ())

    def nodes(self) -> Iterator[Subtree]:
        """This node and all below it."""
        yield self
        for branch in self.branches:
            yield from branch.nodes()

    def leaves(self) -> list[Subtree]:
        return [node for node in self.nodes() if node.is_leaf]

    def splits(self) -> list[Subtree]:
        return [node for node in self.nodes() if not node.is_leaf]

    def branch_of(self, value: float) -> int | None:
        """The branch a value takes; None: it is missing, or a level the split does not know."""
        if isnan(value):
            return None
        if self.subset is not None:
            branch = self.subset[int(value)]
            return None if branch == 2 else branch
        return int(value) if isnan(self.threshold) else int(value > self.threshold)

    def divide(self, pieces: Pieces, table: Table) -> list[Pieces]:
        """Rows of each branch; those of unknown value go to all, in proportion to the known ones."""
        known: list[Pieces] = [[] for _ in self.branches]
        missing: Pieces = []
        for row, weight in pieces:
            branch = self.branch_of(table.values[row][self.attribute])
            (missing if branch is None else known[branch]).append((row, weight))
        total = sum(map(weight_of, known))
        shares = [weight_of(branch) / total if total else 1 / len(known) for branch in known]
        return [
            branch + [(row, weight * share) for row, weight in missing if share > 0]
            for branch, share in zip(known, shares)
        ]


def read_tree(grown: GrownTree, n_levels: list[int], number: int = 0) -> Subtree:
    """The engine's tree as nested objects."""
    node = grown.nodes[number]
    if node["n_branches"] == 0:
        return Subtree(number, -1, 0.0, None, ())
    first, subset = int(node["first_child"]), None
    if node["index"] >= 0:
        subset = tuple(grown.subsets[node["index"] : node["index"] + n_levels[node["attribute"]]].tolist())
    branches = tuple(read_tree(grown, n_levels, first + branch) for branch in range(node["n_branches"]))
    return Subtree(number, int(node["attribute"]), float(node["threshold"]), subset, branches)


# ---- C4.5


def class_weights(pieces: Pieces, table: Table) -> list[float]:
    counts = [0.0] * table.n_classes
    for row, weight in pieces:
        counts[int(table.targets[row])] += weight
    return counts


def errors_of(counts: list[float]) -> float:
    return sum(counts) - max(counts)


def collapse(tree: Subtree, errors: np.ndarray) -> Subtree:
    """From the root down: a node whose leaves make as many training errors as it would becomes a leaf."""
    if tree.is_leaf or sum(errors[leaf.number] for leaf in tree.leaves()) >= errors[tree.number] - 1e-3:
        return tree.as_leaf()
    return replace(tree, branches=tuple(collapse(branch, errors) for branch in tree.branches))


def extra_errors(n: float, errors: float, estimate: ErrorEstimate) -> float:
    """What C4.5 adds to the errors seen among n rows."""
    none_seen = n * (1 - estimate.confidence ** (1 / n))
    if errors < 1e-6:
        return none_seen
    if errors < 0.9999:
        return none_seen + errors * (extra_errors(n, 1.0, estimate) - none_seen)
    if errors + 0.5 >= n:
        return estimate.tail * max(n - errors, 0.0)
    seen, z2 = errors + 0.5, estimate.z_squared
    limit = (seen + z2 / 2 + sqrt(z2 * (seen * (1 - seen / n) + z2 / 4))) / (n + z2)
    return n * limit - errors


def expected_errors(pieces: Pieces, table: Table, estimate: ErrorEstimate) -> float:
    """Errors to be expected of a leaf with these rows."""
    counts = class_weights(pieces, table)
    if sum(counts) < 1e-6:
        return 0.0
    return errors_of(counts) + extra_errors(sum(counts), errors_of(counts), estimate)


@dataclass(frozen=True)
class ErrorBasedPruning:
    """C4.5's pruning of trees grown from a table; `raised` lists the nodes whose heaviest branch took their place."""

    table: Table
    estimate: ErrorEstimate
    raising: bool
    raised: list[int]

    def expect(self, tree: Subtree, pieces: Pieces) -> float:
        """Errors to be expected of a tree as it stands."""
        if tree.is_leaf:
            return expected_errors(pieces, self.table, self.estimate)
        return sum(self.expect(*each) for each in zip(tree.branches, tree.divide(pieces, self.table)))

    def prune(self, tree: Subtree, pieces: Pieces) -> Subtree:
        if tree.is_leaf or not pieces:
            return tree.as_leaf()
        rows = tree.divide(pieces, self.table)
        tree = replace(tree, branches=tuple(self.prune(*each) for each in zip(tree.branches, rows)))
        heaviest = tree.branches[self._heaviest(rows)]
        as_leaf = expected_errors(pieces, self.table, self.estimate)
        as_tree = self.expect(tree, pieces)
        as_branch = self.expect(heaviest, pieces) if self.raising else inf
        if as_leaf <= as_tree + 0.1 + 1e-6 and as_leaf <= as_branch + 0.1 + 1e-6:
            return tree.as_leaf()
        if as_branch <= as_tree + 0.1 + 1e-6:
            self.raised.append(tree.number)
            return self.prune(replace(heaviest, number=tree.number), pieces)
        return tree

    def _heaviest(self, rows: list[Pieces]) -> int:
        """The last of the heaviest branches."""
        heaviest = 0
        for branch in range(1, len(rows)):
            if weight_of(rows[branch]) >= weight_of(rows[heaviest]) - 1e-6:
                heaviest = branch
        return heaviest

    def statistics(self, tree: Subtree, pieces: Pieces) -> list[list[float]]:
        """Class weights in every node, first branch first."""
        own = [class_weights(pieces, self.table)]
        rows = tree.divide(pieces, self.table) if tree.branches else []
        return own + [counts for each in zip(tree.branches, rows) for counts in self.statistics(*each)]


# ---- reduced errors


def reduce_errors(tree: Subtree, errors: np.ndarray) -> Subtree:
    """From the leaves up: keep a split if its branches make fewer errors than the node itself."""
    tree = replace(tree, branches=tuple(reduce_errors(branch, errors) for branch in tree.branches))
    if sum(errors[leaf.number] for leaf in tree.leaves()) >= errors[tree.number]:
        return tree.as_leaf()
    return tree


# ---- weakest links


def cut_where(tree: Subtree, is_cut: Callable[[Subtree], bool]) -> Subtree:
    if tree.is_leaf or is_cut(tree):
        return tree.as_leaf()
    return replace(tree, branches=tuple(cut_where(branch, is_cut) for branch in tree.branches))


def strength(tree: Subtree, risk: np.ndarray) -> float:
    """What a split saves for each leaf it costs."""
    leaves = tree.leaves()
    return (risk[tree.number] - sum(risk[leaf.number] for leaf in leaves)) / (len(leaves) - 1)


def weakest_links(tree: Subtree, risk: np.ndarray) -> dict[int, float]:
    """Price at which each split goes: cut the weakest ones, look at the whole tree again, and so on."""
    prices: dict[int, float] = {}
    price = -inf
    while not tree.is_leaf:
        price = max(price, min(strength(split, risk) for split in tree.splits()))
        before = {split.number for split in tree.splits()}
        tree = cut_where(tree, lambda split, limit=price + 1e-12: strength(split, risk) <= limit)
        prices |= dict.fromkeys(before - {split.number for split in tree.splits()}, max(price, 0.0))
    return prices


def subtree_loss(tree: Subtree, prices: dict[int, float], losses: np.ndarray, alpha: float) -> float:
    """Loss of the tree that is left at a price."""
    left = cut_where(tree, lambda split: prices[split.number] <= alpha)
    return sum(losses[leaf.number] for leaf in left.leaves())
