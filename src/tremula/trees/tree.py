"""A fitted tree as flat read-only arrays, which routes rows to leaves and predicts.

The root is node 0. The children of a node are consecutive, and their numbers are larger than its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, vstack

import tremula._kernels.route as route
from tremula.data.sparse_rows import SparseRows
from tremula.trees.structure import NODE_DTYPE, check_structure, copy_nodes, depths_of, nearest_reached

__all__ = ["NODE_DTYPE", "Tree"]

Rows: TypeAlias = NDArray[np.float64] | SparseRows
TableLike: TypeAlias = ArrayLike | SparseRows


class Tree:
    """One fitted tree.

    Parameters
    ----------
    nodes : structured array of NODE_DTYPE
        One record for each node. A leaf has attribute -1 and no branches; its `index` is its row in `values`. A numeric
        split has two branches and index -1; index -3 or -4 if missing values take the first or the second branch. A
        multiway nominal split has one branch per level and index -2. A split of the levels into two groups has two
        branches; its `index` is its first entry in `subsets`, and its threshold is 1 or 2 if missing values take the
        first or the second branch.
    values : float64 array of shape (n_value_rows, n_outputs)
        Class distributions that sum to 1, those of several targets side by side, or mean targets. Leaves may share a
        row.
    subsets : uint8 array
        For every split of levels into two groups, the branch of each level: 0, 1, or 2 for a level unseen at the node.
    n_levels : int32 array
        Number of levels of every attribute, 0 if it is numeric.
    strict : bool
        Whether a value equal to a threshold takes the second branch instead of the first.

    Notes
    -----
    A row whose tested value is missing (NaN, or a level unknown to the split) takes the branch that the split has for
    missing values. If it has none, the row takes every branch, in shares proportional to the training weights of the
    branches; in equal shares if all weights are 0.

    Examples
    --------
    >>> import numpy as np
    >>> nodes = np.array([(0.5, 3, 0, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0, 1]], subsets=[], n_levels=[0], strict=False)
    >>> tree
    Tree(n_nodes=3, n_leaves=2, depth=1, n_attributes=1, n_outputs=2)
    >>> tree.predict_codes([[0.2], [0.7]])
    array([0, 1])
    >>> tree.predict_values([[np.nan]])
    array([[0.66666667, 0.33333333]])
    """

    def __init__(
        self, nodes: NDArray[Any], values: ArrayLike, subsets: ArrayLike, n_levels: ArrayLike, strict: bool
    ) -> None:
        self.nodes = _read_only("nodes", nodes, NODE_DTYPE, 1)
        self.values: NDArray[np.float64] = _read_only("values", values, np.float64, 2)
        self.subsets: NDArray[np.uint8] = _read_only("subsets", subsets, np.uint8, 1)
        self.n_levels: NDArray[np.int32] = _read_only("n_levels", n_levels, np.int32, 1)
        self.strict = bool(strict)
        if len(self.nodes) == 0 or self.values.size == 0:
            raise ValueError(
                f"a tree needs a root and a value: got nodes {self.nodes.shape}, values {self.values.shape}"
            )

    @classmethod
    def from_node_counts(
        cls, nodes: NDArray[Any], counts: NDArray[np.float64], subsets: ArrayLike, n_levels: ArrayLike, strict: bool
    ) -> Tree:
        """Make a classification tree from the class weights of every node; `index` of the leaves is set in a copy.

        Pure leaves of one class share one distribution. A leaf without weight has that of its nearest ancestor with
        weight.
        """
        nodes = copy_nodes(nodes)
        counts = np.ascontiguousarray(counts, dtype=np.float64)
        n_nodes, n_classes = counts.shape
        values = np.empty((np.count_nonzero(nodes["n_branches"] == 0), n_classes))
        sources, node_rows = np.empty(n_nodes, dtype=np.int32), np.full(n_nodes, -1, dtype=np.int32)
        n_rows = route.index_leaves(nodes, counts, sources, node_rows, np.full(n_classes, -1, dtype=np.int32), values)
        return cls(nodes, values[:n_rows].copy(), subsets, n_levels, strict)

    @classmethod
    def from_node_means(
        cls, nodes: NDArray[Any], means: NDArray[np.float64], subsets: ArrayLike, n_levels: ArrayLike, strict: bool
    ) -> Tree:
        """Make a regression tree from the mean target of every node; `index` of the leaves is set in a copy.

        A leaf whose mean is NaN has that of its nearest ancestor with a mean. `means` of several targets have a column
        for each; a tree for several targets of classes has a column for each class of each target.
        """
        nodes, means = copy_nodes(nodes), np.asarray(means, dtype=np.float64)
        leaves = np.flatnonzero(nodes["n_branches"] == 0)
        nodes["index"][leaves] = np.arange(len(leaves))
        means = means.reshape(len(nodes), -1)
        sources = nearest_reached(nodes, leaves, ~np.isnan(means[:, 0]))
        return cls(nodes, means[sources], subsets, n_levels, strict)

    @property
    def attribute(self) -> NDArray[np.int32]:
        """Attribute tested at every node, -1 for leaves."""
        return self.nodes["attribute"]

    @property
    def threshold(self) -> NDArray[np.float64]:
        """Threshold of every node; meaningful only for numeric splits."""
        return self.nodes["threshold"]

    @property
    def weight(self) -> NDArray[np.float64]:
        """Training weight that reached every node."""
        return self.nodes["weight"]

    @property
    def first_child(self) -> NDArray[np.int32]:
        """First child of every node, 0 for leaves."""
        return self.nodes["first_child"]

    @property
    def n_branches(self) -> NDArray[np.int32]:
        """Number of branches of every node, 0 for leaves."""
        return self.nodes["n_branches"]

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray(self.nodes["n_branches"] == 0)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.nodes)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.n_nodes - int(np.count_nonzero(self.nodes["n_branches"]))

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.n_levels)

    @property
    def n_outputs(self) -> int:
        """Number of classes; 1 for a regression tree; of several targets, their classes or numbers together."""
        return int(self.values.shape[1])

    @cached_property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return int(depths_of(self.nodes).max())

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.nodes.nbytes + self.values.nbytes + self.subsets.nbytes + self.n_levels.nbytes

    @cached_property
    def _labels(self) -> NDArray[np.intp]:
        return np.asarray(self.values.argmax(axis=1))

    @cached_property
    def _view(self) -> Any:
        """The arrays as kernels read them."""
        return route.TreeView(self.nodes, self.subsets, self.n_levels, self.strict, self.values)

    def check(self) -> None:
        """Raise ValueError unless the arrays are a valid tree; for trees read from files."""
        check_structure(self.nodes, len(self.values), self.subsets, self.n_levels)
        if not np.isfinite(self.values).all() or np.any(self.n_levels < 0):
            raise ValueError("the arrays are not a valid tree: a value is not finite, or a number of levels negative")

    def check_fits(self, n_levels: NDArray[np.int32] | None, n_outputs: int) -> None:
        """Raise ValueError unless the tree belongs to a model with these levels and outputs; for models from files."""
        if n_levels is None or not np.array_equal(self.n_levels, n_levels) or self.n_outputs != n_outputs:
            raise ValueError(f"{self} does not fit the attributes, levels or {n_outputs} outputs of its model")

    def node_values(self) -> NDArray[np.float64]:
        """Return the value of every node, shape (n_nodes, n_outputs); of a split, the weighted mean of its branches."""
        out = np.empty((self.n_nodes, self.n_outputs))
        route.fill_node_values(self.nodes, self.values, out)
        return out

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the leaf of every row; if a value is missing, the row takes the heaviest branch, of ties the first."""
        rows = self._rows(X)
        out = np.empty(len(rows), dtype=np.int32)
        for part, block in _blocks(rows):
            route.apply(self._view, block, out[part])
        return out

    def predict_values(self, X: TableLike) -> NDArray[np.float64]:
        """Predict the class distribution or the mean target of every row, shape (n_rows, n_outputs)."""
        rows = self._rows(X)
        out = np.zeros((len(rows), self.n_outputs))
        self._add_values(rows, 1.0, out)
        return out

    def add_values(self, X: TableLike, weight: float, out: NDArray[np.float64]) -> None:
        """Add `weight` times the result of `predict_values` to a C-ordered float64 array, to sum over an ensemble."""
        rows = self._rows(X)
        if out.shape != (len(rows), self.n_outputs):
            raise ValueError(f"out has shape {out.shape}: expected {(len(rows), self.n_outputs)}")
        self._add_values(rows, weight, out)

    def predict_codes(self, X: TableLike) -> NDArray[np.intp]:
        """Predict the class code of every row: the largest column of `predict_values`, of ties the first."""
        rows = self._rows(X)
        out = np.empty(len(rows), dtype=np.intp)
        mixture = route.Mixture(self.depth, self.n_outputs)
        if isinstance(rows, SparseRows):
            for part, block in rows.blocks():
                route.label_rows(self._view, mixture, self._labels, block, out[part])
        else:
            route.label_rows(self._view, mixture, self._labels, rows, out)
        return out

    def decision_path(self, X: TableLike) -> csr_array:
        """Return the nodes that every row reaches with a positive share, as a matrix of shape (n_rows, n_nodes)."""
        rows = self._rows(X)
        if isinstance(rows, SparseRows):
            return vstack([self.decision_path(block) for _, block in rows.blocks()], format="csr")
        starts = np.zeros(len(rows) + 1, dtype=np.intp)
        route.list_visited(self._view, rows, starts, np.empty(0, dtype=np.int32))
        visited = np.empty(starts[-1], dtype=np.int32)
        route.list_visited(self._view, rows, starts, visited)
        paths = csr_array((np.ones(len(visited), dtype=np.intp), visited, starts), shape=(len(rows), self.n_nodes))
        paths.sort_indices()
        return paths

    def class_weights(self, X: TableLike, codes: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the weight of each class in every node, among the given rows; shape (n_nodes, n_outputs)."""
        rows = self._rows(X)
        out = np.zeros((self.n_nodes, self.n_outputs))
        codes, weights = _aligned(codes, np.int32, rows), _aligned(weights, np.float64, rows)
        if len(codes) and not 0 <= codes.min() <= codes.max() < self.n_outputs:
            raise ValueError(f"class codes lie in {codes.min()}..{codes.max()}: expected 0..{self.n_outputs - 1}")
        for part, block in _blocks(rows):
            route.add_class_weights(self._view, block, codes[part], weights[part], out)
        return out

    def moments(self, X: TableLike, targets: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the sums of weights, weighted targets and their weighted squares in every node, shape (n_nodes, 3)."""
        rows = self._rows(X)
        out = np.zeros((self.n_nodes, 3))
        targets, weights = _aligned(targets, np.float64, rows), _aligned(weights, np.float64, rows)
        for part, block in _blocks(rows):
            route.add_moments(self._view, block, targets[part], weights[part], out)
        return out

    def _add_values(self, rows: Rows, weight: float, out: NDArray[np.float64]) -> None:
        mixture = route.Mixture(self.depth, self.n_outputs)
        if isinstance(rows, SparseRows):
            for part, block in rows.blocks():
                route.add_values(self._view, mixture, block, weight, out[part])
        else:
            route.add_values(self._view, mixture, rows, weight, out)

    def _rows(self, X: TableLike) -> Rows:
        rows = X if isinstance(X, SparseRows) else np.asarray(X, dtype=np.float64)
        if len(rows.shape) != 2 or rows.shape[1] != len(self.n_levels):
            raise ValueError(
                f"rows have shape {rows.shape}: expected (n_rows, {self.n_attributes}), one column for each attribute"
            )
        return rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        arrays, other_arrays = self.__reduce__()[1][:-1], other.__reduce__()[1][:-1]
        return self.strict == other.strict and all(
            a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(arrays, other_arrays)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Tree], tuple[Any, ...]]:
        return Tree, (self.nodes, self.values, self.subsets, self.n_levels, self.strict)

    def __repr__(self) -> str:
        return (
            f"Tree(n_nodes={self.n_nodes}, n_leaves={self.n_leaves}, depth={self.depth}, "
            f"n_attributes={self.n_attributes}, n_outputs={self.n_outputs})"
        )

    def _repr_html_(self) -> str:
        from tremula.trees.export.text import export_text

        return f"<b>{escape(repr(self))}</b><pre>{escape(export_text(self, max_depth=4, max_lines=60))}</pre>"


def _read_only(name: str, given: ArrayLike, dtype: DTypeLike, n_dimensions: int) -> NDArray[Any]:
    array = np.asarray(given)
    if (array.dtype.names is None and dtype is NODE_DTYPE) or array.ndim != n_dimensions:
        raise ValueError(
            f"{name} has dtype {array.dtype} and shape {array.shape}: expected {dtype}, {n_dimensions}-dimensional"
        )
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _blocks(rows: Rows) -> Iterable[tuple[slice, NDArray[np.float64]]]:
    """Return the rows as dense blocks, each with its place."""
    return rows.blocks() if isinstance(rows, SparseRows) else [(slice(None), rows)]


def _aligned(given: ArrayLike, dtype: DTypeLike, rows: Rows) -> NDArray[Any]:
    array = np.ascontiguousarray(given, dtype=dtype)
    if array.shape != (len(rows),):
        raise ValueError(f"got {array.shape} codes, targets or weights: expected one for each of {len(rows)} rows")
    return array
