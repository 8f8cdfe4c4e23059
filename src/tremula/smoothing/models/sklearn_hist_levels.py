"""Finds the levels that a histogram gradient boosting model was trained on, from its predictions.

A level of the training that no split lists goes right; any other counts as missing. Neither public attributes nor
treelite distinguish them, but the prediction for a suitable row does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

# The model has at most this many levels an attribute, and they are below this number.
MOST_LEVELS = 255

Labels = NDArray[np.int64]


def known_levels(
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]], model: TreeSum, listed: Sequence[Labels | None]
) -> list[Labels | None]:
    """Return, for each tested nominal attribute, the levels of the training.

    Parameters
    ----------
    predict : callable
        From rows to the model's own predictions.
    model : TreeSum
        Its trees, with the levels that splits list and one more, which no split does.
    listed : sequence of int arrays or None
        For each attribute the levels that splits list, None where it is numeric or not tested.
    """
    return [
        None if labels is None else _known(predict, model, listed, attribute) for attribute, labels in enumerate(listed)
    ]


def _known(
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    model: TreeSum,
    listed: Sequence[Labels | None],
    attribute: int,
) -> Labels:
    labels = listed[attribute]
    assert labels is not None
    rows_found = [row for tree in model.trees for row in separating_rows(tree, attribute)]
    if not rows_found:
        return labels
    if_known, if_not = np.array(rows_found), np.array(rows_found)
    if_known[:, attribute], if_not[:, attribute] = len(labels), np.nan
    answers_if_known, answers_if_not = model.answers(if_known), model.answers(if_not)
    best = int(np.abs(answers_if_known - answers_if_not).max(axis=1).argmax())
    candidates = np.setdiff1d(np.arange(MOST_LEVELS), labels)
    rows = np.tile(as_given(rows_found[best], listed), (len(candidates), 1))
    rows[:, attribute] = candidates
    own = predict(rows)
    distances = [np.abs(own - answers[best]).max(axis=1) for answers in (answers_if_known, answers_if_not)]
    return np.union1d(labels, candidates[distances[0] < distances[1]])


def as_given(codes: NDArray[np.float64], listed: Sequence[Labels | None]) -> NDArray[np.float64]:
    """Return a row as the model takes it: levels instead of their codes."""
    given = [code if labels is None or not len(labels) else labels[int(code)] for code, labels in zip(codes, listed)]
    return np.array(given)


@dataclass(frozen=True)
class Region:
    """Rows that reach a node: above `low` and up to `high`, with one of the levels allowed."""

    node: int
    low: dict[int, float]
    high: dict[int, float]
    levels: dict[int, NDArray[np.bool_]]

    def branches(self, tree: Tree) -> tuple[Region, Region]:
        """Return the regions of the left and right child; the last level stands for those that no split lists."""
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
        """Return a row of the region, with codes of levels; None if the region is empty."""
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


def separating_rows(tree: Tree, attribute: int) -> list[NDArray[np.float64]]:
    """Return rows that reach a node where a missing value and a level that goes right are separated."""
    rows_found: list[NDArray[np.float64]] = []
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
            rows_found += [] if row is None else [row]
    return rows_found
