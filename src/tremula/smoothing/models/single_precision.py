"""Thresholds of models that round values to single precision before they test them.

Such a test is one of the value in double precision, at another threshold: rounding keeps the order of values, so those
that round to at most t are the values up to the point halfway between t and the next number of single precision, with
or without that point. Trees with these thresholds take values as they are: noise comes first and rounding after it, as
in the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.trees.structure import copy_nodes, numeric_splits
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]

INFINITE = 2.0**128  # where numbers of single precision would go on if they had a larger exponent


def thresholds_before_rounding(thresholds: Floats, strict: bool) -> Floats:
    """Return the thresholds at which values in double precision take the branches that they take when rounded.

    Parameters
    ----------
    thresholds : float64 array
        Compared with values rounded to single precision; they themselves may lie between such numbers.
    strict : bool
        Whether a value equal to a threshold takes the second branch, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> cut = thresholds_before_rounding(np.array([0.5]), strict=False)
    >>> values = np.array([0.5 + 2.9e-8, 0.5 + 3.1e-8])
    >>> values <= cut, values.astype(np.float32) <= 0.5
    (array([ True, False]), array([ True, False]))
    """
    with np.errstate(over="ignore"):
        last = thresholds.astype(np.float32)  # the largest number of single precision that goes left, after this block
        is_right = last.astype(np.float64) >= thresholds if strict else last.astype(np.float64) > thresholds
        last = np.where(is_right, np.nextafter(last, np.float32(-np.inf)), last)
        following = np.nextafter(last, np.float32(np.inf))
        ends = [np.clip(each.astype(np.float64), -INFINITE, INFINITE) for each in (last, following)]
        middle = 0.5 * (ends[0] + ends[1])
        cut = np.where(middle.astype(np.float32) <= last, middle, np.nextafter(middle, -np.inf))
    cut = np.where(last == np.inf, np.inf, cut)
    if not strict:
        return cut
    return np.where(np.isneginf(thresholds), -np.inf, np.nextafter(cut, np.inf))


def before_rounding(tree: Tree) -> Tree:
    """Return the tree that sends values as the given one sends them after they are rounded to single precision."""
    nodes = copy_nodes(tree.nodes)
    splits = numeric_splits(nodes)
    nodes["threshold"][splits] = thresholds_before_rounding(nodes["threshold"][splits], tree.strict)
    return Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict)
