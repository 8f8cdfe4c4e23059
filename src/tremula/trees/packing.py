"""Packs many trees into a few flat arrays, for files; unpacking restores them bit for bit, and checks them.

Each field of the node records becomes one array with the nodes of all trees. Integers are stored in the smallest type
that holds them. Such arrays compress to a few bytes per node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.persistence.registry import Packing, register_packing
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.tree import Tree

# Each array and the kinds of numbers it may hold. A row of `sizes` has the lengths of one tree's parts of the others.
KINDS = {
    "sizes": "iu",
    "threshold": "f",
    "weight": "iuf",
    "attribute": "iu",
    "first_child": "iu",
    "n_branches": "iu",
    "index": "iu",
    "values": "f",
    "subsets": "u",
    "n_levels": "iu",
}
NODE_COLUMNS = ("threshold", "weight", "attribute", "first_child", "n_branches", "index")


def narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers in the smallest integer type that holds them all, or unchanged if none does.

    Examples
    --------
    >>> import numpy as np
    >>> narrowed(np.array([3.0, 200.0]))
    array([  3, 200], dtype=uint8)
    >>> narrowed(np.array([0.5, 2.0]))
    array([0.5, 2. ])
    """
    if numbers.size == 0:
        return numbers
    if numbers.dtype.kind == "f":
        is_whole = np.isfinite(numbers) & (numbers == np.rint(numbers)) & (np.abs(numbers) < 2**53)
        if not is_whole.all() or (np.signbit(numbers) & (numbers == 0)).any():
            return numbers
    smallest, largest = int(numbers.min()), int(numbers.max())
    return numbers.astype(np.min_scalar_type(largest if smallest >= 0 else min(smallest, -largest - 1)))


def _numbers_in_trees(n_nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each node within its own tree."""
    ends = np.cumsum(n_nodes)
    return np.arange(n_nodes.sum()) - np.repeat(ends - n_nodes, n_nodes)


def pack_trees(trees: Sequence[Tree]) -> dict[str, NDArray[Any]]:
    """Pack trees into flat arrays.

    Returns
    -------
    dict of arrays
        ``sizes`` has one row for each tree: its number of nodes, of rows of values, of outputs, of entries of subsets
        and of attributes, and whether it is strict. The fields of the nodes are as in `Tree`, except that
        ``first_child`` of a split is relative to the split. ``values``, ``subsets`` and ``n_levels`` are flattened.
    """
    sizes = [(t.n_nodes, len(t.values), t.n_outputs, len(t.subsets), t.n_attributes, t.strict) for t in trees]
    nodes = np.concatenate([tree.nodes.view(np.void) for tree in trees]).view(NODE_DTYPE)
    packed = {"sizes": np.array(sizes, dtype=np.int64)}
    numbers = np.where(nodes["n_branches"] != 0, _numbers_in_trees(packed["sizes"][:, 0]), 0)
    packed["threshold"] = np.ascontiguousarray(nodes["threshold"])
    for column in NODE_COLUMNS[1:]:
        packed[column] = narrowed(nodes[column] - numbers if column == "first_child" else nodes[column])
    for part in ("values", "subsets", "n_levels"):
        packed[part] = np.concatenate([getattr(tree, part).ravel() for tree in trees])
    return packed


def unpack_trees(packed: Mapping[str, NDArray[Any]]) -> list[Tree]:
    """Restore the trees that `pack_trees` packed; raise ValueError if one of them is not valid.

    The nodes of all trees share one block of memory, and so do their values.
    """
    for name, kinds in KINDS.items():
        array, n_dimensions = packed[name], 2 if name == "sizes" else 1
        if array.dtype.kind not in kinds or array.ndim != n_dimensions:
            raise ValueError(f"{name} of the trees has dtype {array.dtype} and shape {array.shape}")
    sizes = packed["sizes"].astype(np.int64)
    n_nodes, n_rows, n_outputs, n_subsets, n_attributes, _ = sizes.T
    parts = zip(
        _split(_nodes_of(packed, n_nodes), n_nodes),
        _split(packed["values"].astype(np.float64, copy=False), n_rows * n_outputs),
        _split(packed["subsets"].astype(np.uint8, copy=False), n_subsets),
        _split(packed["n_levels"].astype(np.int32), n_attributes),
    )
    trees, known_levels = [], dict[bytes, NDArray[np.int32]]()
    for (nodes, values, subsets, n_levels), size in zip(parts, sizes.tolist()):
        n_levels = known_levels.setdefault(n_levels.tobytes(), n_levels.copy())
        trees.append(Tree(nodes, values.reshape(size[1], size[2]), subsets, n_levels, bool(size[5])))
        trees[-1].check()
    return trees


def _nodes_of(packed: Mapping[str, NDArray[Any]], n_nodes: NDArray[np.int64]) -> NDArray[Any]:
    """Build node records from their fields."""
    lengths = {len(packed[column]) for column in NODE_COLUMNS}
    if lengths != {int(n_nodes.sum())} or n_nodes.min() < 0:
        raise ValueError(f"the fields of the nodes have lengths {sorted(lengths)}: expected {n_nodes.sum()}")
    nodes = np.empty(n_nodes.sum(), dtype=NODE_DTYPE)
    for column in NODE_COLUMNS:
        nodes[column] = packed[column]
    nodes["first_child"] += np.where(nodes["n_branches"] != 0, _numbers_in_trees(n_nodes), 0).astype(np.int32)
    return nodes


def _split(flat: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Split an array into parts of these lengths, which must add up to its own."""
    if lengths.sum() != len(flat) or lengths.min() < 0:
        raise ValueError(f"an array has {len(flat)} entries: expected {lengths.sum()}, by the sizes of the trees")
    return np.split(flat, np.cumsum(lengths)[:-1])


register_packing(Packing(Tree, "tree", "trees", pack_trees, unpack_trees))
