"""What a guard has disclosed about the rows of one class: a tree of regions with counts, and nothing else.

A region has the counts of groups of values of every attribute. All counts are zero or at least `min_count`, and the
groups of a region are unions of the groups of the region above it. Therefore no smaller count follows from them: the
guide on private data has the proof, and `tests/queries/attacker.py` tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import EVERYWHERE, Condition, Path, Schema, narrow
from tremula.queries.safe_groups import Groups, merge_levels, merge_neighbours

USEFUL_REGION = 4  # a region has at least so many times min_count rows; a smaller one would have no counts of its own
KEPT_GROUPS = 0.7  # of the groups of a region are left in its parts, or it is not divided


@dataclass
class Region:
    """A region of a disclosed tree.

    Attributes
    ----------
    path : Path or None
        The path that leads to the region; None if no path does.
    groups : list of Groups
        Groups of values of each attribute.
    totals : list of arrays (n_groups, n_outputs)
        Rows in each group, or their moments.
    within : dict
        The values that the region has of the attributes it was divided by.
    attribute : int
        The attribute that divides the region; -1 while it is not divided.
    parts : list of Region
    cells : array (n_cells, n_outputs)
        The counts as an answer has them.
    """

    path: Path | None
    groups: list[Groups]
    totals: list[NDArray[np.float64]]
    within: dict[int, frozenset[int]]
    attribute: int = -1
    parts: list[Region] = field(default_factory=list)
    cells: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def size(self) -> NDArray[np.float64]:
        """Rows of the region, or their moments."""
        return np.asarray(self.totals[0].sum(axis=0))

    @cached_property
    def lowest(self) -> list[int]:
        """The smallest value of each attribute."""
        return [min(value for group in groups for value in group) for groups in self.groups]

    def spread(self, schema: Schema, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the counts as an answer has them; those of a group are divided among its values by weight."""
        answer = np.zeros((schema.n_cells, self.totals[0].shape[1]))
        for start, groups, totals in zip(schema.starts, self.groups, self.totals):
            for group, total in zip(groups, totals):
                cells = [int(start) + value for value in group]
                shares = weights[cells] / weights[cells].sum()
                answer[cells] = shares[:, None] * total
        return answer

    def n_withheld(self, attributes: Sequence[int]) -> int:
        """Return the number of cells of some attributes that are merged with others."""
        return sum(self._n_merged[attribute] for attribute in attributes)

    @cached_property
    def _n_merged(self) -> list[int]:
        """Number of cells of each attribute that are merged with others."""
        return [sum(len(group) for group in groups if len(group) > 1) for groups in self.groups]


Division = dict[str, Any]  # the parts of a region and their counts, as they are stored: all that is disclosed


class DisclosedTree:
    """All that is disclosed about the rows of one class, or about all rows if the target is numeric.

    Parameters
    ----------
    schema : Schema
    min_count : int
    """

    def __init__(self, schema: Schema, min_count: int) -> None:
        self.schema = schema
        self.min_count = min_count
        self.root: Region | None = None
        self.weights = np.ones(schema.n_cells)

    def start(self, division: Division) -> None:
        """Begin with all rows; without any region if they are too few."""
        if division["parts"]:
            self.root = _region(division["parts"][0], {})

    def weigh(self, weights: NDArray[np.float64]) -> None:
        """Set the weights by which the rows of a group are divided among its values."""
        self.weights = weights
        if self.root is not None:
            self.root.cells = self.root.spread(self.schema, weights)

    def divide(self, region: Region, division: Division) -> None:
        """Add the parts of a region."""
        attribute = region.attribute = division["attribute"]
        for described in division["parts"]:
            part = _region(described, region.within | {attribute: frozenset(described["values"])})
            part.cells = part.spread(self.schema, self.weights)
            region.parts.append(part)

    def locate(self, place: Sequence[int]) -> Region:
        """Return the region at a place: the number of the part at each depth."""
        region = self.root
        for number in place:
            assert region is not None
            region = region.parts[number]
        assert region is not None
        return region

    # --- what to disclose ---

    def describe_root(self, answer: NDArray[np.float64]) -> Division:
        """Return the safe counts of all rows, as they are to be stored."""
        schema = self.schema
        if answer[schema.cells(0), 0].sum() < self.min_count:
            return {"parts": []}
        tables = [answer[schema.cells(number)] for number in range(len(schema.attributes))]
        groups = [self._merge(number, table[None, :, 0]) for number, table in enumerate(tables)]
        totals = [_sums(table, merged) for table, merged in zip(tables, groups)]
        return {"parts": [_part([], [], groups, totals)]}

    def plan_parts(self, region: Region, attribute: int, cut: int) -> list[tuple[int, ...]]:
        """Return the values of each part if a region is divided by an attribute; empty if that is not possible.

        All other values make up one part more. A numeric attribute is divided at the end of a group next to `cut`.
        """
        if region.path is None:
            return []
        least = USEFUL_REGION * self.min_count
        missing = self.schema.attributes[attribute].n_values
        groups = list(zip(region.groups[attribute], region.totals[attribute][:, 0]))
        if self.schema.attributes[attribute].is_nominal:
            parts: list[tuple[int, ...]]
            parts = [group for group, rows in groups if len(group) == 1 and group[0] < missing and rows >= least]
            in_parts = sum(rows for group, rows in groups if group in parts)
            return parts if len(parts) + (in_parts < region.size[0]) > 1 else []
        ends = [group[-1] for group, _ in groups if group[-1] < missing][:-1]
        if not ends:
            return []
        end = min(ends, key=lambda last: abs(last - cut))
        below = tuple(value for group, _ in groups for value in group if value <= end)
        above = tuple(value for group, _ in groups for value in group if end < value < missing)
        n_below = sum(rows for group, rows in groups if group[-1] <= end)
        n_above = sum(rows for group, rows in groups if end < group[0] < missing)
        if min(n_below, n_above) < least:
            return []
        return [below, above] if (missing,) in region.groups[attribute] else [below]

    def path_of_part(self, region: Region, attribute: int, values: tuple[int, ...]) -> Path:
        """Return the path to a part of a region."""
        return narrow(region.path or EVERYWHERE, attribute, values[0], values[-1])

    def describe_division(
        self, region: Region, attribute: int, parts: Sequence[tuple[int, ...]], answers: Sequence[NDArray[np.float64]]
    ) -> Division | None:
        """Return the safe counts of the parts of a region, as they are to be stored.

        The groups of an attribute are the same in all parts. Returns None if little is left of the region's groups.
        """
        used = {value for part in parts for value in part}
        rest = sorted(value for group in region.groups[attribute] for value in group if value not in used)
        values = [*parts, tuple(rest)]
        sums = self._sums_of_parts(region, answers)
        if sums[0][-1, :, 0].sum() == 0:  # no row has another value
            values, sums = values[:-1], [table[:-1] for table in sums]
        merged = [self._merge(number, table[..., 0]) for number, table in enumerate(sums)]
        others = [number for number in range(len(sums)) if number != attribute]
        if sum(len(merged[n]) for n in others) < KEPT_GROUPS * sum(len(region.groups[n]) for n in others):
            return None
        described = []
        for place, own in enumerate(values):
            groups = [[_union(region.groups[n], columns) for columns in merged[n]] for n in range(len(sums))]
            totals = [_sums(sums[n][place], merged[n]) for n in range(len(sums))]
            kept = [number for number, group in enumerate(region.groups[attribute]) if set(group) <= set(own)]
            groups[attribute] = [region.groups[attribute][number] for number in kept]
            totals[attribute] = region.totals[attribute][kept]
            path = self.path_of_part(region, attribute, own) if place < len(parts) else None
            described.append(_part(path, own, groups, totals))
        return {"attribute": attribute, "parts": described}

    def _sums_of_parts(self, region: Region, answers: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Return (n_parts + 1, n_groups, n_outputs) sums for each attribute; the last part has all other rows."""
        sums = []
        for number, (groups, totals) in enumerate(zip(region.groups, region.totals)):
            tables = [_sums(answer[self.schema.cells(number)], groups) for answer in answers]
            rest = totals - sum(tables)
            rest[rest[:, 0] == 0] = 0.0
            sums.append(np.stack([*tables, rest]))
        return sums

    def _merge(self, attribute: int, counts: NDArray[np.float64]) -> Groups:
        merge = merge_levels if self.schema.attributes[attribute].is_nominal else merge_neighbours
        return merge(counts, self.min_count)


def _sums(table: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    return np.stack([table[list(group)].sum(axis=0) for group in groups])


def _union(groups: Groups, numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(value for number in numbers for value in groups[number]))


def _part(path: Any, values: Sequence[int], groups: list[Groups], totals: list[NDArray[np.float64]]) -> Division:
    return {
        "path": None if path is None else [list(condition) for condition in path],
        "values": list(values),
        "groups": [[list(group) for group in own] for own in groups],
        "totals": [table.tolist() for table in totals],
    }


def _region(part: Division, within: dict[int, frozenset[int]]) -> Region:
    path = None if part["path"] is None else tuple(Condition(*numbers) for numbers in part["path"])
    groups = [[tuple(group) for group in own] for own in part["groups"]]
    return Region(path, groups, [np.array(table, dtype=np.float64) for table in part["totals"]], within)
