"""Answers that follow from disclosed trees alone: exact where a path is a region of the tree, else estimated.

An estimate takes attributes as independent within each region. It uses nothing but disclosed counts, so it discloses
nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tremula.queries.disclosed_tree import DisclosedTree, Region
from tremula.queries.question import Path, Question, Schema, joint_shape

Limits = dict[int, tuple[int, int]]  # the first and the last value of some attributes


@dataclass(frozen=True)
class DisclosedAnswer:
    """Counts of one class, whether they are exact, and the number of cells withheld."""

    counts: NDArray[np.float64]
    is_exact: bool
    n_withheld: int


def open_limits(region: Region, limits: Limits) -> Limits:
    """Return the limits that a region does not already keep."""
    return {
        attribute: (first, last)
        for attribute, (first, last) in limits.items()
        if attribute not in region.within or not all(first <= value <= last for value in region.within[attribute])
    }


def limits_of(path: Path) -> Limits:
    """Return the limits that a path sets."""
    return {condition.attribute: (condition.first, condition.last) for condition in path}


def regions_on(tree: DisclosedTree, path: Path, to_leaves: bool = False) -> Iterator[tuple[Region, Limits]]:
    """Yield disjoint regions that cover the rows on a path, each with the limits that it does not keep.

    Regions are as large as possible, or not divided if `to_leaves` is set.
    """
    if tree.root is not None:
        yield from regions_below(tree.root, limits_of(path), to_leaves)


def regions_below(region: Region, limits: Limits, to_leaves: bool = False) -> Iterator[tuple[Region, Limits]]:
    """Yield such regions for the rows of one region within limits."""
    waiting = [(region, limits)]
    while waiting:
        region, limits = waiting.pop()
        limits = open_limits(region, limits)
        if not region.parts or not (limits or to_leaves):
            yield region, limits
            continue
        first, last = limits.get(region.attribute, (0, np.inf))
        waiting += [
            (part, limits)
            for part in region.parts
            if any(first <= value <= last for value in part.within[region.attribute])
        ]


def answer_margins(tree: DisclosedTree, question: Question) -> DisclosedAnswer:
    """Return the counts of each value of some attributes on a path."""
    schema = tree.schema
    counts = np.zeros((schema.n_cells, 3 if schema.classes is None else 1))
    is_exact, n_withheld = True, 0
    for region, limits in regions_on(tree, question.path):
        is_exact = is_exact and not limits
        n_withheld += region.n_withheld(question.attributes)
        counts += _limit(schema, region, limits) if limits else region.cells
    if tree.root is None:
        n_withheld = sum(schema.attributes[attribute].n_values + 1 for attribute in question.attributes)
    asked = np.zeros(len(counts), dtype=bool)
    for attribute in question.attributes:
        asked[schema.cells(attribute)] = True
    counts[~asked] = 0
    return DisclosedAnswer(counts, is_exact, n_withheld)


def _limit(schema: Schema, region: Region, limits: Limits) -> NDArray[np.float64]:
    """Estimate the counts of a region among the rows within limits."""
    n_rows = max(region.size[0], 1)
    own, shares = {}, {}
    for attribute, (first, last) in limits.items():
        own[attribute] = region.cells[schema.cells(attribute)].copy()
        own[attribute][:first] = own[attribute][last + 1 :] = 0
        shares[attribute] = float(own[attribute][:, 0].sum()) / n_rows
    limited: NDArray[np.float64] = region.cells * prod(shares.values())
    for attribute in limits:
        others = prod(share for other, share in shares.items() if other != attribute)
        limited[schema.cells(attribute)] = own[attribute] * others
    return limited


def answer_joint(tree: DisclosedTree, question: Question) -> DisclosedAnswer:
    """Estimate the joint counts of some attributes on a path."""
    schema = tree.schema
    counts = np.zeros(joint_shape(schema, question.attributes)[:-1])
    for region, limits in regions_on(tree, question.path, to_leaves=True):
        cells, n_rows = region.cells[:, 0], max(region.size[0], 1)
        shares = []
        for attribute in dict.fromkeys([*question.attributes, *limits]):
            first, last = limits.get(attribute, (0, schema.attributes[attribute].n_values))
            own = cells[schema.cells(attribute)].copy()
            own[:first] = own[last + 1 :] = 0
            shares.append(own / n_rows if attribute in question.attributes else own.sum(keepdims=True) / n_rows)
        product = n_rows * np.ones(1)
        for share in shares:
            product = np.multiply.outer(product, share)
        counts += product.reshape(counts.shape)
    return DisclosedAnswer(counts[..., None], False, 0)
