"""A slow grower, written from the definitions, for the compiled one to be compared with.

`choices` lists every split the rules allow in a node: several where worths tie, which is where two right growers may
part. With a tolerance the first of near equals wins, so that `grow` has a single answer.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import NamedTuple

from tremula.trees.rules import Rules

from .naive_splits import EPSILON, Node, Pieces, Split, Table, weight_of


class Choices(NamedTuple):
    """The splits that may be made of a node, and whether it may be a leaf."""

    splits: list[Split]
    leaf: bool


class Grown(NamedTuple):
    """A node and what is below it."""

    pieces: Pieces
    split: Split | None
    children: list[Grown]


def surely_worth(options: list[Split]) -> float:
    """The least an attribute is worth, whichever of its options it stands for."""
    certain = bool(options) and all(split.is_certain for split in options)
    return min(split.worth for split in options) if certain else -inf


class NaiveGrower:
    """Grows trees from a table under the rules, or says what may be grown."""

    def __init__(self, table: Table, rules: Rules) -> None:
        self.table = table
        self.rules = rules
        self.attributes = range(len(table.n_levels))

    def node(self, pieces: Pieces) -> Node:
        return Node(self.table, self.rules, pieces)

    # ---- the split an attribute stands for

    def options(self, node: Node, attribute: int) -> list[Split]:
        """The best split of an attribute and those that tie with it; none if the attribute cannot be tested."""
        candidates = node.candidates(attribute)
        n_candidates = len(candidates)
        is_numeric = self.table.n_levels[attribute] == 0
        if is_numeric and self.rules.cut_by_ratio and candidates:
            average = sum(split.gain for split in candidates) / n_candidates
            candidates = [replace(split, score=split.worth) for split in candidates if split.gain >= average - 1e-6]
        best = max((split.score for split in candidates if split.is_certain), default=-inf)
        options = [split for split in candidates if split.score >= best - self.rules.tolerance - EPSILON]
        if is_numeric and node.criterion == "gain_ratio":
            options = [node.charged(split, n_candidates) for split in options]
            options = [
                replace(split, is_certain=split.gain > self.rules.tolerance + EPSILON)
                for split in options
                if split.gain > self.rules.tolerance - EPSILON
            ]
        return [node.with_missing_spread(split) for split in options] if self.rules.spread_missing else options

    # ---- the split of a node

    def is_terminal(self, node: Node, depth: int) -> bool:
        if depth >= self.rules.max_depth or weight_of(node.pieces) < self.rules.min_split_weight - EPSILON:
            return True
        if self.table.n_classes:
            return len({self.table.targets[row] for row, _ in node.pieces}) < 2
        return node.variance(node.pieces) <= self.rules.min_variance

    def choices(self, pieces: Pieces, depth: int = 0, ties: bool = True) -> Choices:
        """What may become of a node; without ties, the one split that is made, or none."""
        node = self.node(pieces)
        if self.is_terminal(node, depth):
            return Choices([], True)
        attributes = [attribute for attribute in self.attributes if len(node.groups(attribute)) > 1]
        if self.rules.n_best > 1:
            return self._among_best(node, attributes)
        options = {attribute: self.options(node, attribute) for attribute in attributes}
        if not ties:
            options = {a: [split for split in splits[:1] if split.is_certain] for a, splits in options.items()}
        splits, goal = self._of_average_gain(options) if self.rules.average_gain else self._of_drawn(options)
        floor = self.rules.tolerance if self.rules.average_gain else self.rules.min_worth
        goal -= self.rules.tolerance + EPSILON
        splits = [split for split in splits if split.worth >= goal and split.worth > floor - EPSILON * ties]
        if not ties:
            splits = splits[:1]
        kept = [split for split in splits if not self._is_vetoed(split)]
        return Choices(kept, goal <= floor + EPSILON or len(kept) < len(splits))

    def _is_vetoed(self, split: Split) -> bool:
        """REPTree: if the best split has not two branches heavy enough, no other is tried."""
        n_heavy = sum(weight_of(child) >= self.rules.min_branch_weight - EPSILON for child in split.children())
        return self.rules.branch_veto and n_heavy < 2

    def _of_drawn(self, options: dict[int, list[Split]]) -> tuple[list[Split], float]:
        """All options, and the worth to be reached: that of the best among some `n_drawn` attributes."""
        worths = sorted(map(surely_worth, options.values()))
        goal = worths[min(self.rules.n_drawn, len(worths)) - 1] if worths else -inf
        return [split for splits in options.values() for split in splits], goal

    def _of_average_gain(self, options: dict[int, list[Split]]) -> tuple[list[Split], float]:
        """C4.5: the options of at least average gain, and the best worth among them."""
        low, high = self._average_gain(options)
        allowed = [split for splits in options.values() for split in splits if split.gain >= low - EPSILON]
        surely = [s for s in options.values() if s and min(split.gain for split in s) >= high + EPSILON]
        return allowed, max(map(surely_worth, surely), default=-inf)

    def _average_gain(self, options: dict[int, list[Split]]) -> tuple[float, float]:
        """C4.5: the gain a split must have. Where cuts tie, it is only known to lie between two bounds."""
        limit = 0.3 * weight_of(self.table.root)
        few = {a for a, n_levels in enumerate(self.table.n_levels) if n_levels < limit} or set(self.attributes)
        counted = [splits for attribute, splits in options.items() if splits and attribute in few]
        if not counted:
            return inf, inf
        low, high = (sum(end(s.gain for s in splits) for splits in counted) / len(counted) for end in (min, max))
        return low - 1e-3, high - 1e-3

    def _among_best(self, node: Node, attributes: list[int]) -> Choices:
        """Randomized C4.5: each threshold is a candidate of its own, unless it gains less than the average."""
        pool: list[list[Split]] = []  # each with those that tie with it
        for attribute in attributes:
            if self.table.n_levels[attribute] == 0 and self.table.n_classes:
                cuts = node.candidates(attribute)
                pool += [[node.charged(split, len(cuts))] for split in cuts]
            else:
                pool.append(self.options(node, attribute))
        low = high = -inf
        if self.rules.average_gain:
            low, high = self._average_gain({attribute: self.options(node, attribute) for attribute in attributes})
        surely = [ties[0] for ties in pool if ties and ties[0].gain >= high + EPSILON]
        worths = sorted((split.worth for split in surely if split.worth >= -EPSILON), reverse=True)
        goal = worths[self.rules.n_best - 1] if len(worths) >= self.rules.n_best else 0.0
        allowed = [split for ties in pool for split in ties if split.gain >= low - EPSILON]
        return Choices([split for split in allowed if split.worth >= goal - EPSILON], not worths)

    def grow(self, pieces: Pieces, depth: int = 0) -> Grown:
        """Grow a tree; of worths within the tolerance of each other the first wins."""
        splits = self.choices(pieces, depth, ties=False).splits
        if not splits:
            return Grown(pieces, None, [])
        return Grown(pieces, splits[0], [self.grow(child, depth + 1) for child in splits[0].children()])
