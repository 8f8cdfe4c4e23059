"""Trees with two branches at every split, as other programs have them: a threshold for a number, or a set of levels.

A branch for each level becomes a few tests of sets. A level that training did not see at a split takes both branches in
tremula; here it gets a branch of its own, whose leaves hold the mixture, or one leaf that says so. A missing value
takes one branch: that of the value which is filled in, or the only branch with a share. Attributes whose missing values
take several are listed by `mixing_attributes`; a program that runs these trees must not be given them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.export.branches import MIXTURE, NodeBranches, only_branches
from tremula.trees.member_sum import MemberSum
from tremula.trees.structure import branch_shares
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

# A tree may grow by this factor, and in any case up to this number of splits.
LARGEST_GROWTH, SMALLEST_LIMIT = 10, 2_000
NO_REST = ((0.0, -1),)  # a state without nodes: rows that are left to another program


class TooManySplits(UnsupportedModel):
    """A tree whose mixtures of unseen levels need too many binary splits."""


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A tree of binary splits.

    Attributes
    ----------
    attribute : int array (n_splits,)
    threshold : float64 array (n_splits,)
        0 where a set of levels is tested.
    levels : list of (int array or None)
        Codes of the levels that go left; None where a number is compared with the threshold.
    strict : bool
        Whether a number equal to the threshold goes right.
    missing_left : bool array (n_splits,)
    left, right : int arrays (n_splits,)
        Number of a split, or -1 - the number of a leaf. The root is split 0; a tree without splits is leaf 0.
    values : float64 array (n_leaves, n_outputs)
    is_open : bool array (n_leaves,)
        Leaves for rows with an unseen level, if these are left open; their values are 0.
    """

    attribute: NDArray[np.int64]
    threshold: Floats
    levels: list[NDArray[np.int64] | None]
    strict: bool
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: Floats
    is_open: NDArray[np.bool_]

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.attribute)


def mixing_attributes(whole: MemberSum) -> NDArray[np.bool_]:
    """Return for each attribute whether some tree sends its missing values down several branches."""
    mixes = np.zeros(whole.n_attributes, bool)
    for member in whole.members:
        if isinstance(member, Tree):
            splits = np.flatnonzero(~member.is_leaf)
            mixes[member.attribute[splits][only_branches(member)[splits] == MIXTURE]] = True
    return mixes & np.isnan(whole.filling)


def binary_tree(
    tree: Tree,
    n_levels: NDArray[np.int32],
    filling: Floats,
    mixes: NDArray[np.bool_],
    leaves_open: bool = False,
) -> BinaryTree:
    """Return a tree of binary splits with the same values for all rows whose mixing attributes are known.

    Parameters
    ----------
    tree : Tree
        Codes of levels may be numbers to it.
    n_levels : int array
        Levels of each attribute; a level that stands for missing values is not included.
    filling : float array
        What replaces missing values of each attribute; NaN where they stay missing.
    mixes : bool array
        Attributes whose missing values take several branches of some tree.
    leaves_open : bool
        Whether rows with a level that training did not see at a split get an open leaf instead of the mixture.

    Raises
    ------
    TooManySplits
        The mixtures need too many splits: leave them open.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> model = C45Classifier().fit(*load_iris(return_X_y=True))
    >>> whole = model.as_member_sum()
    >>> binary = binary_tree(model.tree_, whole.n_levels, whole.filling, mixing_attributes(whole))
    >>> binary.n_splits, len(binary.values)
    (4, 5)
    """
    tested = tree.attribute[~tree.is_leaf]
    if (n_levels[tested] > 0).any():
        return _Expansion(tree, n_levels, filling, mixes, leaves_open).build()
    return _numeric(tree, filling)


def _numeric(tree: Tree, filling: Floats) -> BinaryTree:
    """Return a tree that tests numbers only; its splits and leaves keep their order."""
    splits, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    place = np.empty(tree.n_nodes, np.int64)
    place[splits], place[leaves] = np.arange(len(splits)), -1 - np.arange(len(leaves))
    attribute, threshold = tree.attribute[splits].astype(np.int64), tree.threshold[splits]
    filled = filling[attribute]
    is_left = filled < threshold if tree.strict else filled <= threshold
    return BinaryTree(
        attribute=attribute,
        threshold=threshold,
        levels=[None] * len(splits),
        strict=tree.strict,
        missing_left=np.where(np.isnan(filled), only_branches(tree)[splits] == 0, is_left),
        left=place[tree.first_child[splits]],
        right=place[tree.first_child[splits] + 1],
        values=tree.values[tree.nodes["index"][leaves]],
        is_open=np.zeros(len(leaves), bool),
    )


# --- trees that test levels ---


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
class _Expansion:
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
