"""Which levels a model of histogram gradient boosting knows, found by asking it.

A level that it knows but no split lists goes right; one that it does not know counts as missing. Neither its public
attributes nor treelite tell them apart, but one row for which the two make a difference does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

# The model has at most this many levels an attribute; they are looked for among the numbers below it.
MOST_LEVELS = 255

Labels = NDArray[np.int64]


def known_levels(
    ask: Callable[[NDArray[np.float64]], NDArray[np.float64]], model: TreeSum, listed: Sequence[Labels | None]
) -> list[Labels | None]:
    """For each nominal attribute that is tested, the levels that the model knows.

    Parameters
    ----------
    ask : callable
        From rows to the model's own answers.
    model : TreeSum
        Its trees, with the levels that splits list and one more, which no split does.
    listed : sequence of int arrays or None
        For each attribute the levels that splits list, None where it is numeric or not tested.
    """
    return [
        None if labels is None else _known(ask, model, listed, attribute) for attribute, labels in enumerate(listed)
    ]


def _known(
    ask: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    model: TreeSum,
    listed: Sequence[Labels | None],
    attribute: int,
) -> Labels:
    labels = listed[attribute]
    assert labels is not None
    found = [row for tree in model.trees for row in parting_rows(tree, attribute)]
    if not found:
        return labels
    if_known, if_not = np.array(found), np.array(found)
    if_known[:, attribute], if_not[:, attribute] = len(labels), np.nan
    answers_if_known, answers_if_not = model.answers(if_known), model.answers(if_not)
    telling = int(np.abs(answers_if_known - answers_if_not).max(axis=1).argmax())
    candidates = np.setdiff1d(np.arange(max(MOST_LEVELS, labels.max() + 1)), labels)
    rows = np.tile(as_given(found[telling], listed), (len(candidates), 1))
    rows[:, attribute] = candidates
    own = ask(rows)
    distances = [np.abs(own - answers[telling]).max(axis=1) for answers in (answers_if_known, answers_if_not)]
    return np.union1d(labels, candidates[distances[0] < distances[1]])


def as_given(codes: NDArray[np.float64], listed: Sequence[Labels | None]) -> NDArray[np.float64]:
    """Row as the model takes it: levels instead of their codes."""
    return np.array([code if labels is None else labels[int(code)] for code, labels in zip(codes, listed)])


@dataclass(frozen=True)
class Region:
    """Rows that come to a node: above `low` and up to `high`, with one of the levels allowed."""

    node: int
    low: dict[int, float]
    high: dict[int, float]
    levels: dict[int, NDArray[np.bool_]]

    def branches(self, tree: Tree) -> tuple[Region, Region]:
        """Return what comes to the left and to the right child; levels in the last place are not listed anywhere."""
        tested, left = int(tree.attribute[self.node]), int(tree.first_child[self.node])
        n_levels = int(tree.n_levels[tested])
        if not n_levels:
            cut = float(tree.threshold[self.node])
            high, low = min(cut, self.high.get(tested, np.inf)), max(cut, self.low.get(tested, -np.inf))
            return (
                replace(self, node=left, high=self.high | {tested: high}),
                replace(self, node=left + 1, low=self.low | {tested: low}),
            )
        start = int(tree.nodes["index"][self.node])
        goes_left = tree.subsets[start : start + n_levels] == 0
        allowed = self.levels.get(tested, np.arange(n_levels) < n_levels - 1)
        return (
            replace(self, node=left, levels=self.levels | {tested: allowed & goes_left}),
            replace(self, node=left + 1, levels=self.levels | {tested: allowed & ~goes_left}),
        )

    def row(self, n_attributes: int) -> NDArray[np.float64] | None:
        """Return a row of the region, levels as codes; None if there is none."""
        values = np.zeros(n_attributes)
        for attribute in {*self.low, *self.high}:
            low, high = self.low.get(attribute, -np.inf), self.high.get(attribute, np.inf)
            if low >= high:
                return None
            values[attribute] = high if np.isfinite(high) else (low + 1.0 + abs(low) if np.isfinite(low) else 0.0)
        for attribute, allowed in self.levels.items():
            if not allowed.any():
                return None
            values[attribute] = allowed.argmax()
        return values


def parting_rows(tree: Tree, attribute: int) -> list[NDArray[np.float64]]:
    """Rows that come to a node where a level that goes right and a missing value part: until then both go right."""
    found: list[NDArray[np.float64]] = []
    waiting = [Region(0, {}, {}, {})]
    while waiting:
        region = waiting.pop()
        if tree.is_leaf[region.node]:
            continue
        left, right = region.branches(tree)
        if tree.attribute[region.node] != attribute:
            waiting += [left, right]
        elif tree.weight[left.node] == 0:
            waiting.append(replace(region, node=right.node))
        else:
            row = region.row(tree.n_attributes)
            found += [] if row is None else [row]
    return found
