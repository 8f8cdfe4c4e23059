"""Boosted trees as a sum: each tree of one output adds to one margin, and a link follows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tremula.smoothing.tree_sum import TreeSum
from tremula.trees.structure import branch_shares
from tremula.trees.tree import Tree


def boosted_sum(
    trees: Sequence[Tree],
    offset: ArrayLike,
    link: str,
    *,
    outputs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    single_precision: bool = False,
) -> TreeSum:
    """Sum trees; by default each weighs 1 and adds to all margins, or to the only one."""
    return TreeSum(
        trees=tuple(trees),
        weights=np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64),
        outputs=np.full(len(trees), -1) if outputs is None else np.asarray(outputs, dtype=np.int64),
        offset=np.array(offset, dtype=np.float64),
        link=link,
        shares=tuple(branch_shares(tree.nodes) for tree in trees),
        single_precision=single_precision,
    )
