"""Answers from an AD-tree (Moore and Lee, 1998): the table is read only once, when the tree is built.

A node holds the class counts of the rows with certain values of some attributes. For every later attribute it has a
child for each value except the most common one: the counts of that value are those of the node less those of the
children. A small node keeps a list of its rows instead of children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput
from tremula.parameters import check_number
from tremula.queries.arrays import encode_table
from tremula.queries.question import Question, Schema, joint_shape


@dataclass(slots=True)
class Node:
    """The rows with certain values: their class counts, and either their numbers, if they are few, or children.

    `vary` holds for each later attribute its most common value, and the children of its other values.
    """

    counts: NDArray[np.int64]
    rows: NDArray[np.int32] | None
    vary: list[tuple[int, dict[int, Node]]]


class ADTreeOracle:
    """Answers from an AD-tree of a table in memory.

    Parameters
    ----------
    X : array, data frame or table of shape (n_rows, n_attributes)
        As `ArrayOracle` takes it.
    y : array of shape (n_rows,)
        Class labels.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal.
    n_bins : int, default=8
        Number of bins of a numeric column, with about equally many rows in each.
    max_list : int, default=16
        A node with fewer rows keeps a list of them instead of children.
    max_nodes : int, default=1000000
        Maximum number of nodes; a larger tree raises an error. The tree grows with the product of the numbers of
        values.
    max_depth : int or None, default=None
        Maximum depth; nodes at this depth keep lists of their rows, however many there are.

    Attributes
    ----------
    n_nodes : int
        Number of nodes of the tree.

    Examples
    --------
    >>> from tremula.queries import ADTreeOracle, Question
    >>> X, y = [["sun"], ["rain"], ["sun"]], ["play", "stay", "play"]
    >>> ADTreeOracle(X, y, categorical_features=[0]).count([Question((), (0,))])[0]
    array([[0, 1],
           [2, 0],
           [0, 0]])
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        categorical_features: Any = "from_dtype",
        n_bins: int = 8,
        max_list: int = 16,
        max_nodes: int = 1_000_000,
        max_depth: int | None = None,
    ) -> None:
        check_number("max_list", max_list, 0, whole=True)
        check_number("max_nodes", max_nodes, 1, whole=True)
        if max_depth is not None:
            check_number("max_depth", max_depth, 0, whole=True)
        self._schema, self._codes, self._classes = encode_table(X, y, categorical_features, n_bins, "classification")
        self._max_list, self._max_nodes = max_list, max_nodes
        self._max_depth = len(self._codes) if max_depth is None else max_depth
        self.n_nodes = 0
        self._root = self._build(0, np.arange(self._codes.shape[1], dtype=np.int32), 0)

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order."""
        return [self._joint(question) if question.joint else self._margins(question) for question in questions]

    def _build(self, first: int, rows: NDArray[np.int32], depth: int) -> Node:
        self.n_nodes += 1
        if self.n_nodes > self._max_nodes:
            raise InvalidInput(
                f"the AD-tree has more than {self._max_nodes} nodes: give fewer attributes, a max_depth, a larger "
                "max_list or a larger max_nodes; or count from the rows with ArrayOracle"
            )
        counts = np.bincount(self._classes[rows], minlength=self._schema.n_outputs)
        if len(rows) < self._max_list or depth >= self._max_depth:
            return Node(counts, rows, [])
        return Node(counts, None, [self._vary(number, rows, depth) for number in range(first, len(self._codes))])

    def _vary(self, attribute: int, rows: NDArray[np.int32], depth: int) -> tuple[int, dict[int, Node]]:
        codes = self._codes[attribute, rows]
        sizes = np.bincount(codes, minlength=self._schema.attributes[attribute].n_values + 1)
        common = int(sizes.argmax())
        others = [value for value in np.flatnonzero(sizes).tolist() if value != common]
        return common, {value: self._build(attribute + 1, rows[codes == value], depth + 1) for value in others}

    def _margins(self, question: Question) -> NDArray[Any]:
        answer = self._schema.empty_answer()
        for attribute in question.attributes:
            answer[self._schema.cells(attribute)] = self._table(question, (attribute,))
        return answer

    def _joint(self, question: Question) -> NDArray[Any]:
        return self._table(question, question.attributes)

    def _table(self, question: Question, asked: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the joint counts of the asked attributes and the class, among the rows on the path."""
        allowed = {condition.attribute: (condition.first, condition.last) for condition in question.path}
        order = sorted({*allowed, *asked})
        table = self._count_below(self._root, 0, order, allowed, frozenset(asked))
        axes = sorted(asked)
        return np.moveaxis(table, range(len(asked)), [asked.index(attribute) for attribute in axes])

    def _count_below(
        self, node: Node, first: int, order: list[int], allowed: dict[int, tuple[int, int]], asked: frozenset[int]
    ) -> NDArray[np.int64]:
        """Return the joint counts of the asked attributes among `order`, which are still to be fixed, and the class."""
        if not order:
            return node.counts
        if node.rows is not None:
            return self._count_list(node.rows, order, allowed, asked)
        attribute, later = order[0], order[1:]
        common, children = node.vary[attribute - first]
        n_values = self._schema.attributes[attribute].n_values
        low, high = allowed.get(attribute, (0, n_values))
        tables = {
            value: self._count_below(child, attribute + 1, later, allowed, asked) for value, child in children.items()
        }
        if low <= common <= high:
            # The counts of the most common value: those of all rows of this node less those of its other values.
            total = self._count_below(node, first, later, allowed, asked)
            tables[common] = total - sum(tables.values()) if tables else total
        empty = np.zeros(joint_shape(self._schema, [a for a in later if a in asked]), dtype=np.int64)
        if attribute in asked:
            return np.stack([tables.get(v, empty) if low <= v <= high else empty for v in range(n_values + 1)])
        return sum((table for value, table in tables.items() if low <= value <= high), empty)

    def _count_list(
        self, rows: NDArray[np.int32], order: list[int], allowed: dict[int, tuple[int, int]], asked: frozenset[int]
    ) -> NDArray[np.int64]:
        for attribute in order:
            if attribute in allowed:
                codes = self._codes[attribute, rows]
                rows = rows[(codes >= allowed[attribute][0]) & (codes <= allowed[attribute][1])]
        counted = [attribute for attribute in order if attribute in asked]
        table = np.zeros(joint_shape(self._schema, counted), dtype=np.int64)
        np.add.at(table, (*(self._codes[attribute, rows] for attribute in counted), self._classes[rows]), 1)
        return table
