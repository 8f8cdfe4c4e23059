"""Trees that a library writes as dictionaries within dictionaries, read into arrays of children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.smoothing.models.tree_builder import BinaryNodes


@dataclass(frozen=True)
class Split:
    """What a node of a dump tests.

    Attributes
    ----------
    attribute : int
    threshold : float
    missing_left : bool
    left_levels : sequence of int or None
        Levels that go left, for a split of levels.
    """

    attribute: int
    threshold: float
    missing_left: bool
    left_levels: list[int] | None = None


def flatten(
    root: dict[str, Any],
    children: tuple[str, str],
    split_of: Callable[[dict[str, Any]], Split],
    value_of: Callable[[dict[str, Any]], Any],
    n_levels: NDArray[np.int32],
) -> BinaryNodes:
    """Give the nodes of a dump numbers, the root first.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = lambda value: {"value": value}
    >>> root = {"no": leaf(1.0), "yes": leaf(2.0), "at": 0.5}
    >>> given = flatten(root, ("no", "yes"), lambda node: Split(0, node["at"], True), lambda node: node["value"], [0])
    >>> given.left.tolist(), given.values.ravel().tolist()
    ([1, -1, -1], [0.0, 1.0, 2.0])
    """
    found, left, right, splits = [root], [], [], []
    for node in found:  # grows while it is read
        is_split = children[0] in node
        left.append(len(found) if is_split else -1)
        right.append(len(found) + 1 if is_split else -1)
        splits.append(split_of(node) if is_split else Split(-1, 0.0, True))
        if is_split:
            found += [node[children[0]], node[children[1]]]
    leaf_values = [np.atleast_1d(value_of(node)) for node in found if children[0] not in node]
    values = np.zeros((len(found), len(leaf_values[0])))
    values[np.array(left) < 0] = leaf_values
    return BinaryNodes(
        left=np.array(left),
        right=np.array(right),
        attribute=np.array([split.attribute for split in splits]),
        threshold=np.array([split.threshold for split in splits], dtype=np.float64),
        missing_left=np.array([split.missing_left for split in splits]),
        values=values,
        groups={
            number: branches_of_levels(split.left_levels, int(n_levels[split.attribute]))
            for number, split in enumerate(splits)
            if split.left_levels is not None
        },
    )


def branches_of_levels(left: list[int], n_levels: int) -> NDArray[np.uint8]:
    """Branch of each level: 0 for those that go left, 1 for the others.

    Examples
    --------
    >>> branches_of_levels([0, 2], 4)
    array([0, 1, 0, 1], dtype=uint8)
    """
    branches = np.ones(n_levels, dtype=np.uint8)
    branches[left] = 0
    return branches
