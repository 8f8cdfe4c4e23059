"""Binary trees as one operation of ONNX, TreeEnsemble.

Its leaves add one number to one target. A tree whose leaves have several outputs is written several times, each time
with the next output that is not 0; branches without one are left out.

onnxruntime (1.31, at least) merges a test of levels with the next test of the same attribute on its false branch if
both have leaves of equal weight on their true branches, although these may be of different targets. Therefore
`_without_merged_tests` puts leaves on false branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tremula.export.binary_trees import BinaryTree
from tremula.export.onnx.graph import TREE_DOMAIN, OnnxGraph
from tremula.export.thresholds import ThresholdRounding

AT_MOST, MEMBER = 0, 6  # numbers of the tests
SUM, NO_TRANSFORM = 1, 0


@dataclass(frozen=True, eq=False)
class PlacedTree:
    """A tree, its weight, the target of its first output, and the target to which open leaves add 1."""

    tree: BinaryTree
    weight: float
    first_target: int
    open_target: int = 0


@dataclass(eq=False)
class _Lists:
    """The attributes of TreeEnsemble, part by part."""

    roots: list[int] = field(default_factory=list)
    features: list[NDArray[np.int64]] = field(default_factory=list)
    thresholds: list[NDArray[np.floating]] = field(default_factory=list)
    modes: list[NDArray[np.uint8]] = field(default_factory=list)
    members: list[NDArray[np.floating]] = field(default_factory=list)
    missing_true: list[NDArray[np.int64]] = field(default_factory=list)
    children: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = field(default_factory=lambda: ([], []))
    are_leaves: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = field(default_factory=lambda: ([], []))
    weights: list[NDArray[np.floating]] = field(default_factory=list)
    targets: list[NDArray[np.int64]] = field(default_factory=list)
    n_splits: int = 0
    n_leaves: int = 0


def sum_trees(
    graph: OnnxGraph,
    rows: str,
    trees: Sequence[PlacedTree],
    n_targets: int,
    n_levels: NDArray[np.int32],
    rounding: ThresholdRounding,
) -> str:
    """Add the sum of trees with at least one split, and return the name of its targets.

    Parameters
    ----------
    graph : OnnxGraph
    rows : str
        Name of the encoded rows.
    trees : sequence of PlacedTree
    n_targets : int
    n_levels : int array (n_attributes,)
    rounding : ThresholdRounding
    """
    lists = _Lists()
    for placed in trees:
        for tree, weights, targets in _with_one_output(placed):
            _append(lists, _without_merged_tests(tree, n_levels), weights, targets, rounding)
    return graph.add(
        "TreeEnsemble",
        rows,
        name="trees",
        domain=TREE_DOMAIN,
        n_targets=n_targets,
        aggregate_function=SUM,
        post_transform=NO_TRANSFORM,
        tree_roots=lists.roots,
        nodes_featureids=_whole(lists.features),
        nodes_splits=graph.tensor(np.concatenate(lists.thresholds)),
        nodes_modes=graph.tensor(np.concatenate(lists.modes)),
        nodes_missing_value_tracks_true=_whole(lists.missing_true),
        nodes_truenodeids=_whole(lists.children[0]),
        nodes_falsenodeids=_whole(lists.children[1]),
        nodes_trueleafs=_whole(lists.are_leaves[0]),
        nodes_falseleafs=_whole(lists.are_leaves[1]),
        leaf_targetids=_whole(lists.targets),
        leaf_weights=graph.tensor(np.concatenate(lists.weights)),
        **({"membership_values": graph.tensor(np.concatenate(lists.members))} if lists.members else {}),
    )


def _whole(parts: Sequence[NDArray[np.int64]]) -> list[int]:
    numbers: list[int] = np.concatenate(parts).tolist()
    return numbers


def _append(
    lists: _Lists,
    tree: BinaryTree,
    weights: NDArray[np.float64],
    targets: NDArray[np.int64],
    rounding: ThresholdRounding,
) -> None:
    dtype = rounding.dtype
    is_set = np.array([levels is not None for levels in tree.levels], bool)
    lists.roots.append(lists.n_splits)
    lists.features.append(tree.attribute)
    lists.thresholds.append(_thresholds(tree, ~is_set, rounding))
    lists.modes.append(np.where(is_set, MEMBER, AT_MOST).astype(np.uint8))
    lists.members += [np.append(levels, np.nan).astype(dtype) for levels in tree.levels if levels is not None]
    lists.missing_true.append(tree.missing_left.astype(np.int64))
    for side, numbers in enumerate((tree.left, tree.right)):
        is_leaf = numbers < 0
        lists.are_leaves[side].append(is_leaf.astype(np.int64))
        lists.children[side].append(np.where(is_leaf, lists.n_leaves - 1 - numbers, lists.n_splits + numbers))
    lists.weights.append(weights.astype(dtype))
    lists.targets.append(targets)
    lists.n_splits += tree.n_splits
    lists.n_leaves += len(weights)


def _thresholds(tree: BinaryTree, is_numeric: NDArray[np.bool_], rounding: ThresholdRounding) -> NDArray[np.floating]:
    thresholds = np.zeros(tree.n_splits, rounding.dtype)
    rounded = rounding.round(tree.attribute[is_numeric], tree.threshold[is_numeric], tree.strict)
    thresholds[is_numeric] = np.nextafter(rounded, rounding.dtype.type(-np.inf)) if tree.strict else rounded
    return thresholds


def _without_merged_tests(tree: BinaryTree, n_levels: NDArray[np.int32]) -> BinaryTree:
    """Return the tree with sets complemented where a leaf is left of a test of the same attribute."""
    is_set = np.array([levels is not None for levels in tree.levels], bool)
    right = np.maximum(tree.right, 0)
    is_turned = is_set & (tree.left < 0) & (tree.right >= 0) & is_set[right]
    is_turned &= tree.attribute[right] == tree.attribute
    if not is_turned.any():
        return tree
    levels = list(tree.levels)
    for split in np.flatnonzero(is_turned).tolist():
        is_other = np.ones(n_levels[tree.attribute[split]], bool)
        is_other[levels[split]] = False
        levels[split] = np.flatnonzero(is_other)
    return replace(
        tree,
        levels=levels,
        missing_left=tree.missing_left ^ is_turned,
        left=np.where(is_turned, tree.right, tree.left),
        right=np.where(is_turned, tree.left, tree.right),
    )


# --- one output a leaf ---


def _with_one_output(placed: PlacedTree) -> Iterator[tuple[BinaryTree, NDArray[np.float64], NDArray[np.int64]]]:
    """Yield trees that together give all outputs, with the weight and the target of each leaf."""
    tree, values = placed.tree, placed.tree.values
    order = np.argsort(values == 0, axis=1, kind="stable")  # outputs that are not 0 first
    n_outputs = np.count_nonzero(values, axis=1)
    leaves = np.arange(len(values))
    for turn in range(max(1, int(n_outputs.max(initial=0)))):
        chosen = order[:, turn]
        weights = placed.weight * np.where(turn < n_outputs, values[leaves, chosen], 0.0)
        targets = np.where(turn < n_outputs, placed.first_target + chosen, placed.first_target)
        if turn == 0:
            yield tree, np.where(tree.is_open, 1.0, weights), np.where(tree.is_open, placed.open_target, targets)
        else:
            part, kept = _without_empty_branches(tree, turn < n_outputs)
            yield part, np.append(weights[kept], 0.0), np.append(targets[kept], placed.first_target)


def _without_empty_branches(tree: BinaryTree, is_wanted: NDArray[np.bool_]) -> tuple[BinaryTree, NDArray[np.int64]]:
    """Return a tree with the wanted leaves, then one for all others, and the former numbers of the wanted leaves.

    The root stays, so that there is a split.
    """
    kept_leaves = np.flatnonzero(is_wanted)
    leaf_place = np.full(len(is_wanted), -1 - len(kept_leaves))
    leaf_place[kept_leaves] = -1 - np.arange(len(kept_leaves))
    is_kept = np.zeros(tree.n_splits, bool)
    for split in reversed(range(tree.n_splits)):
        is_kept[split] = any(
            is_wanted[-1 - child] if child < 0 else is_kept[child] for child in (tree.left[split], tree.right[split])
        )
    is_kept[0] = True
    splits = np.flatnonzero(is_kept)
    place = np.full(tree.n_splits, -1 - len(kept_leaves))
    place[splits] = np.arange(len(splits))
    left, right = (
        np.where(numbers < 0, leaf_place[np.minimum(-1 - numbers, len(is_wanted) - 1)], place[np.maximum(numbers, 0)])
        for numbers in (tree.left[splits], tree.right[splits])
    )
    part = replace(
        tree,
        attribute=tree.attribute[splits],
        threshold=tree.threshold[splits],
        levels=[tree.levels[split] for split in splits],
        missing_left=tree.missing_left[splits],
        left=left,
        right=right,
    )
    return part, kept_leaves
