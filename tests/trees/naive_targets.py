"""What a split is worth to several targets, from the definitions: slow and obvious, to compare the kernel with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, log, log2
from typing import NamedTuple

Pieces = list[tuple[int, float]]  # rows, and the weight of each that is here


class Targets(NamedTuple):
    """A table with several targets, of classes or numbers."""

    values: list[list[float]]
    n_levels: list[int]
    columns: list[list[float]]  # of targets
    criterion: str


def weight_of(pieces: Pieces) -> float:
    return sum(weight for _, weight in pieces)


def sums_by_class(pieces: Pieces, target: Sequence[float]) -> dict[float, float]:
    sums: dict[float, float] = {}
    for row, weight in pieces:
        sums[target[row]] = sums.get(target[row], 0.0) + weight
    return sums


def impurity(pieces: Pieces, target: Sequence[float], criterion: str) -> float:
    """Impurity of one target in a node, per unit of weight."""
    total = weight_of(pieces)
    if criterion in ("gini", "entropy"):
        shares = [weight / total for weight in sums_by_class(pieces, target).values()]
        return 1.0 - sum(p * p for p in shares) if criterion == "gini" else -sum(p * log2(p) for p in shares)
    mean = sum(weight * target[row] for row, weight in pieces) / total
    if criterion == "variance":
        return sum(weight * (target[row] - mean) ** 2 for row, weight in pieces) / total
    return sum(weight * target[row] * log(target[row] / mean) for row, weight in pieces if target[row] > 0) / total


def mean_impurity(pieces: Pieces, table: Targets) -> float:
    return sum(impurity(pieces, target, table.criterion) for target in table.columns) / len(table.columns)


def worth(pieces: Pieces, branches: list[Pieces], table: Targets) -> float:
    """Weight times the decrease of the mean impurity, among the rows whose value is known."""
    after = sum(weight_of(branch) * mean_impurity(branch, table) for branch in branches)
    return weight_of(pieces) * mean_impurity(pieces, table) - after


def orders_of_levels(groups: dict[float, Pieces], table: Targets) -> Iterator[list[float]]:
    """The levels in the order of the share of each class of each target, or of the mean of each number."""
    for target in table.columns:
        if table.criterion in ("gini", "entropy"):
            for label in sorted(set(target)):

                def share(level: float, target: list[float] = target, label: float = label) -> float:
                    return sums_by_class(groups[level], target).get(label, 0.0) / weight_of(groups[level])

                yield sorted(sorted(groups), key=share)
        else:

            def mean(level: float, target: list[float] = target) -> float:
                return sum(w * target[row] for row, w in groups[level]) / weight_of(groups[level])

            yield sorted(sorted(groups), key=mean)


def divisions(pieces: Pieces, attribute: int, table: Targets) -> Iterator[tuple[Pieces, Pieces]]:
    """Every division of the rows by an attribute that a tree may judge; missing values are in neither part."""
    known = [piece for piece in pieces if not isnan(table.values[piece[0]][attribute])]
    groups: dict[float, Pieces] = {}
    for row, weight in known:
        groups.setdefault(table.values[row][attribute], []).append((row, weight))
    orders = orders_of_levels(groups, table) if table.n_levels[attribute] else iter([sorted(groups)])
    for order in orders:
        for n_first in range(1, len(order)):
            first, second = order[:n_first], order[n_first:]
            yield [p for level in first for p in groups[level]], [p for level in second for p in groups[level]]


def is_allowed(branches: tuple[Pieces, Pieces], table: Targets, min_side: float) -> bool:
    if min(map(weight_of, branches)) < min_side - 1e-9:
        return False
    if table.criterion != "poisson":
        return True
    return all(sum(w * target[row] for row, w in branch) > 0 for branch in branches for target in table.columns)


def best_worth(pieces: Pieces, table: Targets, min_side: float) -> float | None:
    """The largest worth of any split; None if there is none."""
    worths = [
        worth([*branches[0], *branches[1]], list(branches), table)
        for attribute in range(len(table.n_levels))
        for branches in divisions(pieces, attribute, table)
        if is_allowed(branches, table, min_side)
    ]
    return max(worths, default=None)
