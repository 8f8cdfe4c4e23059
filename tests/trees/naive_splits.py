"""Tables small enough to be looked at row by row, and every way to split a node of theirs, from the definitions.

A node is a list of (row, weight) pairs. All worths are per unit of the node's weight, missing values included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import floor, inf, isnan, log, log2
from typing import NamedTuple

from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.rules import Rules

EPSILON = 1e-9  # what rounding may do to a worth
CRITERION_NAMES = {criterion.code: name for name, criterion in {**CLASSIFICATION, **REGRESSION}.items()}

Pieces = list[tuple[int, float]]


class Table(NamedTuple):
    """Training rows: values by row; targets are class codes, or numbers if there are no classes."""

    values: list[list[float]]
    n_levels: list[int]
    targets: list[float]
    weights: list[float]
    n_classes: int
    gap: float = 0.0

    @property
    def root(self) -> Pieces:
        return [(row, float(weight)) for row, weight in enumerate(self.weights) if weight > 0]


@dataclass(frozen=True)
class Split:
    """The known rows of a node by branch, the rows whose value is missing, and what the split is worth."""

    attribute: int
    branches: list[Pieces]
    missing: Pieces
    score: float = 0.0  # what cuts of one attribute are compared by
    gain: float = 0.0  # what C4.5 averages
    worth: float = 0.0  # what attributes are compared by
    is_certain: bool = True  # False: one of several orders of levels that tie, not all of which are tried

    @property
    def partition(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(row for row, _ in branch) for branch in self.branches)

    @property
    def branch_weights(self) -> list[float]:
        return [weight_of(branch) for branch in self.branches]

    @property
    def node_weight(self) -> float:
        return sum(self.branch_weights) + weight_of(self.missing)

    def children(self) -> list[Pieces]:
        """Rows of every branch; those whose value is missing go to each in proportion to its known weight."""
        shares = [weight / sum(self.branch_weights) for weight in self.branch_weights]
        return [
            branch + [(row, weight * share) for row, weight in self.missing if share > 0]
            for branch, share in zip(self.branches, shares)
        ]


def weight_of(pieces: Iterable[tuple[int, float]]) -> float:
    return sum(weight for _, weight in pieces)


def entropy(weights: list[float]) -> float:
    total = sum(weights)
    return -sum(weight / total * log2(weight / total) for weight in weights if weight > 0)


class Node:
    """What rows of a table are like, and how they may be split under the rules."""

    def __init__(self, table: Table, rules: Rules, pieces: Pieces) -> None:
        self.table = table
        self.rules = rules
        self.pieces = pieces
        self.criterion = CRITERION_NAMES[rules.criterion]

    # ---- what a set of rows is like

    def statistics(self, pieces: Pieces) -> list[float]:
        """Class weights, or weight, sum and sum of squares of the target, for the absolute error its middle as well."""
        targets = self.table.targets
        if not self.table.n_classes:
            sums = [sum(weight * targets[row] ** power for row, weight in pieces) for power in range(3)]
            if self.criterion != "absolute_error" or not pieces:
                return sums
            return [*sums, self.median(pieces), sums[0] * self.impurity(pieces)]
        counts = [0.0] * self.table.n_classes
        for row, weight in pieces:
            counts[int(targets[row])] += weight
        return counts

    def variance(self, pieces: Pieces) -> float:
        targets = [self.table.targets[row] for row, _ in pieces]
        if min(targets) == max(targets):
            return 0.0
        total = weight_of(pieces)
        mean = sum(weight * target for (_, weight), target in zip(pieces, targets)) / total
        return sum(weight * (target - mean) ** 2 for (_, weight), target in zip(pieces, targets)) / total

    def deviance(self, pieces: Pieces) -> float:
        """Half the Poisson deviance from the mean."""
        targets = self.table.targets
        mean = sum(weight * targets[row] for row, weight in pieces) / weight_of(pieces)
        terms = (weight * targets[row] * log(targets[row] / mean) for row, weight in pieces if targets[row] > 0)
        return sum(terms) / weight_of(pieces)

    def absolute_error(self, pieces: Pieces, prediction: float) -> float:
        """Of a prediction; that of the median is the least, and that of a target if any is."""
        errors = (weight * abs(self.table.targets[row] - prediction) for row, weight in pieces)
        return sum(errors) / weight_of(pieces)

    def median(self, pieces: Pieces) -> float:
        """The middle of the targets of least absolute error."""
        targets = {self.table.targets[row] for row, _ in pieces}
        least = min(self.absolute_error(pieces, target) for target in targets) + EPSILON
        middles = [target for target in targets if self.absolute_error(pieces, target) <= least]
        return (min(middles) + max(middles)) / 2

    def impurity(self, pieces: Pieces) -> float:
        if not pieces:
            return 0.0
        if self.criterion == "poisson":
            return self.deviance(pieces)
        if self.criterion == "absolute_error":
            targets = {self.table.targets[row] for row, _ in pieces}
            return min(self.absolute_error(pieces, target) for target in targets)
        if not self.table.n_classes:
            return self.variance(pieces) ** (0.2 if self.criterion == "fifth_root_variance" else 1.0)
        counts = self.statistics(pieces)
        return 1.0 - sum((n / sum(counts)) ** 2 for n in counts) if self.criterion == "gini" else entropy(counts)

    def reduction(self, branches: list[Pieces]) -> float:
        """Impurity before less impurity after."""
        whole = list(chain(*branches))
        after = sum(weight_of(branch) * self.impurity(branch) for branch in branches)
        return self.impurity(whole) - after / weight_of(whole)

    # ---- what a split is worth

    def appraise(self, split: Split) -> Split:
        """Fill in gain, worth and score, which are the same unless the criterion is a ratio."""
        reduction = self.reduction(split.branches)
        gain = sum(split.branch_weights) / split.node_weight * reduction
        if self.criterion == "gain_ratio":
            return replace(split, gain=gain, worth=self.ratio(gain, split), score=gain)
        if self.criterion == "symmetric_uncertainty":
            gain = 2 * reduction / (self.impurity(list(chain(*split.branches))) + entropy(split.branch_weights))
        return replace(split, gain=gain, worth=gain, score=gain)

    def ratio(self, gain: float, split: Split) -> float:
        """C4.5: gain over the information of the split itself, to which missing values are a further branch."""
        information = entropy([*split.branch_weights, weight_of(split.missing)])
        return gain / information if information > 1e-3 else 0.0

    def charged(self, split: Split, n_cuts: int) -> Split:
        """C4.5 Release 8: the choice of a cut costs bits."""
        if not self.rules.count_cuts or self.criterion != "gain_ratio":
            return split
        gain = split.gain - log2(n_cuts) / split.node_weight
        return replace(split, gain=gain, worth=self.ratio(gain, split))

    def with_missing_spread(self, split: Split) -> Split:
        """REPTree ranks attributes by what a split is worth with the missing rows in its branches."""
        return replace(split, worth=self.reduction(split.children()))

    # ---- every split of one attribute

    def value(self, piece: tuple[int, float], attribute: int) -> float:
        return self.table.values[piece[0]][attribute]

    def groups(self, attribute: int) -> list[Pieces]:
        """Rows of one value or level together, ascending; values no further than the gap apart are one."""
        ranks: dict[float, int] = {}
        previous = -inf
        for value in sorted({row[attribute] for row in self.table.values if not isnan(row[attribute])}):
            ranks[value] = len(ranks) if value > previous + self.table.gap else ranks[previous]
            previous = value
        groups: dict[int, Pieces] = {}
        known = [piece for piece in self.pieces if not isnan(self.value(piece, attribute))]
        for piece in sorted(known, key=lambda piece: self.value(piece, attribute)):
            groups.setdefault(ranks[self.value(piece, attribute)], []).append(piece)
        return list(groups.values())

    def candidates(self, attribute: int) -> list[Split]:
        """All admissible splits, in the order they are tried."""
        groups = self.groups(attribute)
        blank = Split(attribute, [], [piece for piece in self.pieces if isnan(self.value(piece, attribute))])
        if len(groups) < 2:
            return []
        if self.table.n_levels[attribute] and not self.rules.subsets:
            return self._multiway(blank, groups)
        splits = self._subsets(blank, groups) if self.table.n_levels[attribute] else self._cuts(blank, groups)
        least = self.least_side(sum(map(weight_of, groups))) - EPSILON
        splits = [split for split in splits if min(split.branch_weights) >= least]
        if self.criterion == "poisson":
            splits = [split for split in splits if min(self.statistics(branch)[1] for branch in split.branches) > 0]
        return [self.appraise(split) for split in splits]

    def least_side(self, known: float) -> float:
        """The weight both sides of a cut need."""
        least = self.rules.min_side_weight
        if self.rules.min_side_share:
            least = max(least, min(self.rules.min_side_share * known / self.table.n_classes, 25.0))
        if self.rules.min_side_fifth:
            least = max(least, max(floor(known / 5), 1) + 1)
        return least

    def _cuts(self, blank: Split, groups: list[Pieces]) -> list[Split]:
        sides = ((groups[:i], groups[i:]) for i in range(1, len(groups)))
        return [replace(blank, branches=[list(chain(*side)) for side in both]) for both in sides]

    def _multiway(self, blank: Split, groups: list[Pieces]) -> list[Split]:
        branches: list[Pieces] = [[] for _ in range(self.table.n_levels[blank.attribute])]
        for group in groups:
            branches[int(self.value(group[0], blank.attribute))] = group
        n_heavy = sum(weight_of(group) >= self.rules.min_branch_weight - EPSILON for group in groups)
        split = self.appraise(replace(blank, branches=branches))
        return [split] if n_heavy >= 2 or self.rules.branch_veto else []

    def _one_level(self, blank: Split, groups: list[Pieces]) -> list[Split]:
        """Each level against all others."""
        rests = [list(chain(*groups[:i], *groups[i + 1 :])) for i in range(len(groups))]
        return [replace(blank, branches=[group, rest]) for group, rest in zip(groups, rests)]

    def _subsets(self, blank: Split, groups: list[Pieces]) -> list[Split]:
        """Every two sets of levels that the share of some class, or the mean target, separates."""
        if self.rules.one_level:
            return self._one_level(blank, groups)
        splits = []
        for size in range(1, len(groups)):
            for chosen in combinations(range(len(groups)), size):
                first = [group for i, group in enumerate(groups) if i in chosen]
                second = [group for i, group in enumerate(groups) if i not in chosen]
                distance = self._distance(first, second)
                if distance >= -EPSILON:
                    branches = [list(chain(*first)), list(chain(*second))]
                    splits.append(replace(blank, branches=branches, is_certain=distance > EPSILON))
        return splits

    def _distance(self, first: list[Pieces], second: list[Pieces]) -> float:
        """How far two sets of levels are apart in the order that separates them best; negative if none does."""
        if not self.table.n_classes:
            keys = [lambda sums: sums[1] / sums[0]]
        else:
            n_orders = self.table.n_classes if self.table.n_classes > 2 else 1
            keys = [lambda counts, code=code: counts[code] / sum(counts) for code in range(n_orders)]
        low, high = [self.statistics(group) for group in first], [self.statistics(group) for group in second]
        return max(min(map(key, high)) - max(map(key, low)) for key in keys)
