"""An attacker: bounds a count by integer programming over everything that a guard has disclosed.

The attacker is given more than the answers: all counts behind them, with their groups, for one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tremula.queries import Schema
from tremula.queries.disclosed_tree import DisclosedTree, Region


def domain(schema: Schema) -> np.ndarray:
    """Return all rows that are possible, as value numbers."""
    return np.array(list(product(*(range(attribute.n_values + 1) for attribute in schema.attributes))))


def regions(tree: DisclosedTree) -> Iterator[Region]:
    waiting = [] if tree.root is None else [tree.root]
    while waiting:
        region = waiting.pop()
        yield region
        waiting += region.parts


def disclosed_counts(tree: DisclosedTree, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which possible rows each disclosed count is about, and the count."""
    about, counts = [], []
    for region in regions(tree):
        inside = np.ones(len(rows), dtype=bool)
        for attribute, values in region.within.items():
            inside &= np.isin(rows[:, attribute], list(values))
        for attribute, (groups, totals) in enumerate(zip(region.groups, region.totals)):
            for group, total in zip(groups, totals):
                about.append(inside & np.isin(rows[:, attribute], group))
                counts.append(total[0])
    return np.array(about, dtype=float), np.array(counts)


class Attacker:
    """Bounds the number of rows of any kind, given disclosed counts: all tables that would give them are considered."""

    def __init__(self, about: np.ndarray, counts: np.ndarray) -> None:
        self.given = LinearConstraint(about, counts, counts)
        self.n_cells = about.shape[1]

    def bounds(self, target: np.ndarray) -> tuple[int, int]:
        """Return the smallest and the largest number of rows for which `target` is 1."""
        ends = []
        for sign in (1, -1):
            found = milp(
                sign * target,
                constraints=self.given,
                bounds=Bounds(0, np.inf),
                integrality=np.ones(self.n_cells),
            )
            assert found.success, found.message
            ends.append(round(sign * found.fun))
        return ends[0], ends[1]


def box(rows: np.ndarray, limits: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Return 1 for the possible rows within limits of some attributes."""
    inside = np.ones(len(rows), dtype=bool)
    for attribute, first, last in limits:
        inside &= (rows[:, attribute] >= first) & (rows[:, attribute] <= last)
    return inside.astype(float)
