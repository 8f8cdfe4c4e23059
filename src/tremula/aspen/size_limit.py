"""Keeps a blend within a number of bytes: fewer members of each family, then fewer families, then no corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.aspen.family_members import FamilyMembers
from tremula.errors import InvalidParameter

LEAST_MEMBERS = 5  # of a family in a blend of limited size
SHARE_OF_MEMBERS = 0.5  # of the bytes; the rest is for corrections


def size_of(members: Sequence[Any]) -> int:
    """Return how many bytes trees and model trees take in memory."""
    return sum(int(member.nbytes) for member in members)


def limit_members(
    families: Sequence[FamilyMembers], weights: Sequence[float], wanted: Mapping[str, int], max_size: int
) -> dict[str, int]:
    """Return how many members of which families fit into a number of bytes.

    The largest member that was tried stands for each of its family. All families lose the same share of their members.
    If less than five of a family would be left, the family of the least weight is dropped.

    Parameters
    ----------
    families : sequence of FamilyMembers
        The families chosen, with the members that were tried.
    weights : sequence of float
        Their weights in the blend.
    wanted : dict
        Number of members of each family without a limit.
    max_size : int
        Bytes for the members.

    Raises
    ------
    InvalidParameter
        The bytes are too few for five members of one family.
    """
    size = {each.name: max(int(member.nbytes) for member in each.members) for each in families}  # type: ignore[attr-defined]
    kept = [families[place].name for place in np.argsort(-np.asarray(weights), kind="stable")]
    while True:
        share = min(1.0, max_size / sum(wanted[name] * size[name] for name in kept))
        counts = {name: int(share * wanted[name]) for name in kept}
        if all(count >= min(LEAST_MEMBERS, wanted[name]) for name, count in counts.items()):
            return counts
        if len(kept) == 1:
            (name,) = kept
            least = min(LEAST_MEMBERS, wanted[name]) * size[name]
            raise InvalidParameter(
                f"max_size leaves {max_size:,} bytes for the members, but {min(LEAST_MEMBERS, wanted[name])} trees of "
                f"the smallest blend ({name}) take {least:,}: allow more bytes, or fit fewer rows"
            )
        kept.pop()
