"""Which regions of a disclosed tree questions would have to divide, and how: kept up to date while the tree grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tremula.queries.disclosed_answers import Limits, regions_below, regions_on
from tremula.queries.disclosed_tree import DisclosedTree, Region
from tremula.queries.question import Path

Choice = tuple[int, int]  # an attribute and, if it is numeric, a cut


@dataclass
class WantedDivision:
    """A region that paths would have to divide.

    Attributes
    ----------
    region : Region
    votes : dict
        Number of paths that need each attribute and cut.
    limits : list of Limits
        What each path that leads through the region leaves open.
    """

    region: Region
    votes: dict[Choice, int] = field(default_factory=dict)
    limits: list[Limits] = field(default_factory=list)


class WantedDivisions:
    """The divisions of one tree that some paths need.

    Parameters
    ----------
    tree : DisclosedTree
    paths : sequence of Path
    """

    def __init__(self, tree: DisclosedTree, paths: Sequence[Path]) -> None:
        self._schema = tree.schema
        self._wanted: dict[int, WantedDivision] = {}  # by the identity of the region
        for path in paths:
            for region, limits in regions_on(tree, path):
                self._add(region, limits)

    def __iter__(self) -> Iterator[WantedDivision]:
        return iter(list(self._wanted.values()))

    def refresh(self) -> None:
        """Replace regions that have been divided by their parts: nothing else has changed."""
        for number, wanted in list(self._wanted.items()):
            if wanted.region.parts:
                del self._wanted[number]
                for limits in wanted.limits:
                    for region, open_limits in regions_below(wanted.region, limits):
                        self._add(region, open_limits)

    def _add(self, region: Region, limits: Limits) -> None:
        if not limits or region.path is None:
            return
        wanted = self._wanted.setdefault(id(region), WantedDivision(region))
        wanted.limits.append(limits)
        for attribute, (first, last) in limits.items():
            is_nominal = self._schema.attributes[attribute].is_nominal
            choice = attribute, -1 if is_nominal else _cut(region, attribute, first, last)
            wanted.votes[choice] = wanted.votes.get(choice, 0) + 1


def _cut(region: Region, attribute: int, first: int, last: int) -> int:
    """Return the last value below a cut that brings a region within limits."""
    return first - 1 if first > region.lowest[attribute] else last
