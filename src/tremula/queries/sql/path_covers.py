"""Packs paths into covers: sets of mutually exclusive paths, each with a tree of tests that finds a row's path.

A query then needs one column of path numbers for each cover, instead of one column for each path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import Condition, Path


@dataclass(frozen=True)
class CoverNode:
    """A node of a cover's tree of tests.

    Attributes
    ----------
    number : int or None
        Number of the path that ends here if `conditions` hold; None for a node with branches.
    conditions : tuple of Condition
        Conditions of the path that are not tested yet.
    branches : tuple of (tuple of Condition, CoverNode)
        A row takes the first branch whose conditions all hold.
    """

    number: int | None
    conditions: tuple[Condition, ...] = ()
    branches: tuple[tuple[Path, CoverNode], ...] = ()


@dataclass(frozen=True)
class Cover:
    """Mutually exclusive paths, by their numbers, and the tree of tests that tells them apart."""

    numbers: tuple[int, ...]
    root: CoverNode


def cover_paths(paths: Sequence[Path], n_attributes: int) -> list[Cover]:
    """Pack paths into few covers: each path joins the first cover whose paths all exclude it.

    Parameters
    ----------
    paths : sequence of Path
        Distinct paths.
    n_attributes : int
        Number of attributes of the table.

    Examples
    --------
    >>> left, right, other = (Condition(0, 0, 0),), (Condition(0, 1, 1),), (Condition(1, 0, 0),)
    >>> [cover.numbers for cover in cover_paths([left, right, other], 2)]
    [(0, 1), (2,)]
    """
    spans = _spans(paths, n_attributes)
    members: list[list[int]] = []
    for number in range(len(paths)):
        for cover in members:
            if _excludes_all(spans, number, cover):
                cover.append(number)
                break
        else:
            members.append([number])
    return [Cover(tuple(cover), _tree([(number, paths[number]) for number in cover])) for cover in members]


def _spans(paths: Sequence[Path], n_attributes: int) -> NDArray[np.int64]:
    """Return the first and the last value of each attribute on each path, shape (n_paths, 2, n_attributes)."""
    spans = np.zeros((len(paths), 2, n_attributes), dtype=np.int64)
    spans[:, 1] = np.iinfo(np.int64).max
    for number, path in enumerate(paths):
        for condition in path:
            spans[number, :, condition.attribute] = condition.first, condition.last
    return spans


def _excludes_all(spans: NDArray[np.int64], number: int, others: list[int]) -> bool:
    first, last = spans[number]
    apart = (first > spans[others, 1]) | (last < spans[others, 0])
    return bool(apart.any(axis=1).all())


def _tree(paths: list[tuple[int, Path]]) -> CoverNode:
    if len(paths) == 1:
        number, path = paths[0]
        return CoverNode(number, conditions=path)
    groups = _group_by_condition(paths) or _divide_by_cut(paths)
    if groups is None:
        return CoverNode(None, branches=tuple((path, CoverNode(number)) for number, path in paths))
    return CoverNode(None, branches=tuple(((condition,), _tree(group)) for condition, group in groups))


def _group_by_condition(
    paths: list[tuple[int, Path]],
) -> list[tuple[Condition, list[tuple[int, Path]]]] | None:
    """Group by an attribute on which any two paths have equal or mutually exclusive conditions; None if none exists."""
    for attribute in sorted(set.intersection(*({c.attribute for c in path} for _, path in paths))):
        groups: dict[Condition, list[tuple[int, Path]]] = {}
        for number, path in paths:
            own = next(condition for condition in path if condition.attribute == attribute)
            groups.setdefault(own, []).append((number, tuple(c for c in path if c is not own)))
        ordered = sorted(groups)
        if len(ordered) > 1 and all(lower.last < upper.first for lower, upper in pairwise(ordered)):
            return [(condition, groups[condition]) for condition in ordered]
    return None


def _divide_by_cut(paths: list[tuple[int, Path]]) -> list[tuple[Condition, list[tuple[int, Path]]]] | None:
    """Divide at a value of an attribute such that each path is on one side of it; None if there is no such value.

    The paths keep all their conditions.
    """
    for attribute in sorted(set.intersection(*({c.attribute for c in path} for _, path in paths))):
        own = [next(c for c in path if c.attribute == attribute) for _, path in paths]
        for cut in sorted({condition.last for condition in own})[:-1]:
            if all(c.last <= cut or c.first > cut for c in own):
                low = [pair for pair, c in zip(paths, own) if c.last <= cut]
                high = [pair for pair, c in zip(paths, own) if c.first > cut]
                last = max(c.last for c in own)
                lowest = min(c.first for c in own)
                return [
                    (Condition(attribute, lowest, cut), low),
                    (Condition(attribute, cut + 1, last), high),
                ]
    return None
