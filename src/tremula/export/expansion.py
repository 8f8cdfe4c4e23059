"""Expands a tree that tests levels into binary splits, by the values that can reach each place of the new tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.export.binary_trees import BinaryTree, TooManySplits
from tremula.trees.export.branches import MIXTURE, NodeBranches
from tremula.trees.structure import branch_shares
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

# A tree may grow by this factor, and in any case up to this number of splits.
LARGEST_GROWTH, SMALLEST_LIMIT = 10, 2_000
NO_REST = ((0.0, -1),)  # a state without nodes: rows that are left to another program


@dataclass(frozen=True)
class _Interval:
    """The numbers of an attribute that can reach a node: above `low`, and `high` at most (if strict, the reverse)."""

    low: float = -np.inf
    high: float = np.inf
    missing: bool = True


Levels = int  # a set of levels: bit k is level k, and the bit after the last level stands for missing values
Reach = dict[int, _Interval | Levels]
State = tuple[tuple[float, int], ...]  # shares, and nodes of the tree


@dataclass(frozen=True)
class _Place:
    """What is still to be written: a mixture of nodes, the values that can reach it, and which split refers to it."""

    state: State
    reach: Reach
    parent: int
    is_left: bool


@dataclass
class Expansion:
    """Writes a binary tree from the root down. A place usually is one node; where a level is unseen it is several."""

    tree: Tree
    n_levels: NDArray[np.int32]
    filling: Floats
    mixes: NDArray[np.bool_]
    leaves_open: bool
    attribute: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    levels: list[NDArray[np.int64] | None] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    is_open: list[bool] = field(default_factory=list)

    def build(self) -> BinaryTree:
        """Return the binary tree."""
        self.shares = branch_shares(self.tree.nodes)
        self.node_branches = NodeBranches(self.tree, self.n_levels, self.filling)
        self.is_leaf = self.tree.is_leaf.tolist()
        self.known_branches: dict[int, list[tuple[int, Levels]]] = {}
        limit = max(SMALLEST_LIMIT, LARGEST_GROWTH * self.tree.n_nodes)
        waiting = [_Place(((1.0, 0),), {}, -1, True)]
        while waiting:
            waiting += self._write(waiting.pop())
            if len(self.attribute) > limit:
                raise TooManySplits(
                    f"a tree of {self.tree.n_nodes:,} nodes has many levels that training did not see at its splits, "
                    f"and would need more than {limit:,} binary splits: export it as SQL or as a page, or merge rare "
                    "levels before training"
                )
        return BinaryTree(
            attribute=np.array(self.attribute, np.int64),
            threshold=np.array(self.threshold),
            levels=self.levels,
            strict=self.tree.strict,
            missing_left=np.array(self.missing_left, bool),
            left=np.array(self.left, np.int64),
            right=np.array(self.right, np.int64),
            values=np.array(self.values),
            is_open=np.array(self.is_open, bool),
        )

    def _write(self, place: _Place) -> list[_Place]:
        """Write a leaf or a split, and return the places of its branches, the left one last."""
        state, undecided = self._resolve(place.state, place.reach)
        if undecided is None:
            self._refer(place, -1 - len(self.values))
            self._write_leaf(state)
            return []
        number = len(self.attribute)
        self._refer(place, number)
        attribute = int(self.tree.attribute[undecided])
        self.attribute.append(attribute)
        self.left.append(0)
        self.right.append(0)
        cut: tuple[_Interval | Levels, _Interval | Levels]
        if self.n_levels[attribute]:
            cut = self._cut(undecided, self._levels(attribute, place.reach))
        else:
            cut = self._divide(undecided, self._interval(attribute, place.reach))
        left, right = ({**place.reach, attribute: part} for part in cut)
        return [_Place(state, right, number, False), _Place(state, left, number, True)]

    def _refer(self, place: _Place, number: int) -> None:
        if place.parent >= 0:
            (self.left if place.is_left else self.right)[place.parent] = number

    def _write_leaf(self, state: State) -> None:
        self.is_open.append(state == NO_REST)
        index = self.tree.nodes["index"]
        terms = [share * self.tree.values[index[node]] for share, node in state if node >= 0]
        zeros = np.zeros(self.tree.n_outputs)
        self.values.append(terms[0] if len(terms) == 1 else np.sum(terms, axis=0) if terms else zeros)

    # --- which branches are taken ---

    def _resolve(self, state: State, reach: Reach) -> tuple[State, int | None]:
        """Replace nodes by their children as far as the values are known; return the first node whose test is open."""
        waiting, resolved = list(state[::-1]), []
        undecided = None
        while waiting:
            share, node = waiting.pop()
            branch = None if self.is_leaf[node] else self._branch(node, reach)
            if branch is None:
                resolved.append((share, node))
                undecided = node if undecided is None and not self.is_leaf[node] else undecided
                continue
            first = int(self.tree.first_child[node])
            if branch != MIXTURE:
                waiting.append((share, first + branch))
                continue
            if self.leaves_open:
                return NO_REST, None
            children = range(first, first + int(self.tree.n_branches[node]))
            waiting += [(share * self.shares[child], child) for child in reversed(children) if self.shares[child] > 0]
        return tuple(resolved), undecided

    def _branch(self, node: int, reach: Reach) -> int | None:
        """Return the branch that all values which can reach the node take, or MIXTURE; None if they take several."""
        attribute = int(self.tree.attribute[node])
        if self.n_levels[attribute]:
            levels = self._levels(attribute, reach)
            branches = [branch for branch, members in self._branches(node) if members & levels]
            return branches[0] if len(branches) == 1 else None
        interval = self._interval(attribute, reach)
        threshold = float(self.tree.threshold[node])
        of_missing = self.node_branches.of_missing(node)
        if interval.low >= interval.high:  # no number, only missing values
            return of_missing
        branch = 0 if interval.high <= threshold else 1 if interval.low >= threshold else None
        return None if interval.missing and branch != of_missing else branch

    def _interval(self, attribute: int, reach: Reach) -> _Interval:
        known = reach.get(attribute)
        return known if isinstance(known, _Interval) else _Interval(missing=not self.mixes[attribute])

    def _levels(self, attribute: int, reach: Reach) -> Levels:
        known = reach.get(attribute)
        if isinstance(known, int):
            return known
        n_levels = int(self.n_levels[attribute])
        return (1 << n_levels) - 1 if self.mixes[attribute] else (1 << (n_levels + 1)) - 1

    def _branches(self, node: int) -> list[tuple[int, Levels]]:
        """Return the levels of each branch, in their order; MIXTURE comes first if a level is unseen at the node."""
        if node not in self.known_branches:
            by_branch: dict[int, Levels] = {}
            for code, branch in enumerate(self.node_branches.of_codes(node).tolist()):
                by_branch[branch] = by_branch.get(branch, 0) | 1 << code
            self.known_branches[node] = sorted(by_branch.items())
        return self.known_branches[node]

    # --- tests ---

    def _divide(self, node: int, interval: _Interval) -> tuple[_Interval, _Interval]:
        """Write a test of a number, and return the numbers on both sides."""
        threshold, goes_left = float(self.tree.threshold[node]), self.node_branches.of_missing(node) == 0
        self.threshold.append(threshold)
        self.levels.append(None)
        self.missing_left.append(goes_left)
        return (
            _Interval(interval.low, min(interval.high, threshold), interval.missing and goes_left),
            _Interval(max(interval.low, threshold), interval.high, interval.missing and not goes_left),
        )

    def _cut(self, node: int, reach: Levels) -> tuple[Levels, Levels]:
        """Write a test of levels, and return those on both sides: unseen levels apart, else half of the branches."""
        n_levels = int(self.n_levels[self.tree.attribute[node]])
        taken = [(branch, members & reach) for branch, members in self._branches(node) if members & reach]
        chosen = taken[1:] if taken[0][0] == MIXTURE else taken[: (len(taken) + 1) // 2]
        left = sum(members for _, members in chosen)  # of different branches: no level is in two
        if left == 1 << n_levels:  # only missing values: a set must have a level
            left = reach & ~left
        self.threshold.append(0.0)
        self.levels.append(np.array([code for code in range(n_levels) if left >> code & 1], np.int64))
        self.missing_left.append(bool(left >> n_levels & 1))
        return left, reach & ~left
