"""Exports a tree as indented text, and as a graph for Graphviz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.trees.export.labels import Wording, count_leaves_below
from tremula.trees.tree import Tree


def export_text(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    levels: Sequence[Sequence[Any] | None] | None = None,
    *,
    decimals: int | None = 3,
    max_depth: int | None = None,
    max_lines: int | None = None,
    show_weights: bool = True,
    answers: Sequence[str] | None = None,
) -> str:
    """Return a tree as text, one line for each branch.

    Parameters
    ----------
    tree : Tree
    feature_names, class_names, levels : sequences, optional
        Names of attributes and classes; the levels of every attribute, or None if it is numeric.
    decimals : int or None, default=3
        Number of decimals of thresholds and means; None writes every digit.
    max_depth, max_lines : int, optional
        A split deeper than `max_depth` is summarized in one line. The text stops after `max_lines`.
    show_weights : bool, default=True
        Whether leaves show their training weight, and the share of the predicted class if it is below 1.
    answers : sequence of str, optional
        Texts of the predictions of the leaves, in the order of their `index`, instead of their class or mean.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.8, 60, 0, 1, 2, -1), (0, 50, -1, 0, 0, 0), (0, 10, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0.2, 0.8]], subsets=[], n_levels=[0], strict=False)
    >>> print(export_text(tree, ["petal width"], ["setosa", "virginica"]))
    petal width <= 0.8: setosa (50)
    petal width > 0.8: virginica (10, p=0.8)
    """
    words = Wording(tree, feature_names, class_names, levels, decimals, answers)
    n_leaves = count_leaves_below(tree)
    lines: list[str] = []

    def prediction(node: int) -> str:
        return f"{words.prediction(node)} ({words.support(node)})" if show_weights else words.prediction(node)

    if tree.n_nodes == 1:
        return prediction(0)
    stack = _branches(tree, 0, 0)
    while stack:
        parent, branch, depth = stack.pop()
        child = int(tree.first_child[parent]) + branch
        line = f"{'|   ' * depth}{words.attribute(parent)} {words.test(parent, branch)}"
        if tree.is_leaf[child]:
            line += f": {prediction(child)}"
        elif max_depth is not None and depth + 1 >= max_depth:
            line += f": {prediction(child)} ... {n_leaves[child]} leaves"
        else:
            stack += _branches(tree, child, depth + 1)
        lines.append(line)
        if len(lines) == max_lines and stack:
            return "\n".join([*lines, "..."])
    return "\n".join(lines)


def export_dot(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    levels: Sequence[Sequence[Any] | None] | None = None,
    *,
    decimals: int | None = 3,
    max_depth: int | None = None,
    answers: Sequence[str] | None = None,
) -> str:
    r"""Return a tree as a graph for Graphviz' `dot`: attributes at splits, tests at edges, predictions at leaves.

    Parameters
    ----------
    tree : Tree
    feature_names, class_names, levels, decimals, max_depth, answers
        As in `export_text`.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.8, 60, 0, 1, 2, -1), (0, 50, -1, 0, 0, 0), (0, 10, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0.2, 0.8]], subsets=[], n_levels=[0], strict=False)
    >>> print(export_dot(tree, ["petal width"], ["setosa", "virginica"]))
    digraph tree {
      node [shape=box, fontname="Helvetica"];
      edge [fontname="Helvetica"];
      0 [label="petal width"];
      0 -> 1 [label="<= 0.8"];
      1 [label="setosa\n50", style=rounded];
      0 -> 2 [label="> 0.8"];
      2 [label="virginica\n10, p=0.8", style=rounded];
    }
    """
    words = Wording(tree, feature_names, class_names, levels, decimals, answers)
    n_leaves = count_leaves_below(tree)
    lines = ["digraph tree {", '  node [shape=box, fontname="Helvetica"];', '  edge [fontname="Helvetica"];']

    def node_line(node: int, depth: int) -> str:
        if tree.is_leaf[node]:
            return f"  {node} [label={_quoted(words.prediction(node), words.support(node))}, style=rounded];"
        if depth == max_depth:
            summary = (words.prediction(node), words.support(node), f"... {n_leaves[node]} leaves")
            return f"  {node} [label={_quoted(*summary)}, style=dashed];"
        return f"  {node} [label={_quoted(words.attribute(node))}];"

    lines.append(node_line(0, 0))
    stack = _branches(tree, 0, 0) if max_depth != 0 else []
    while stack:
        parent, branch, depth = stack.pop()
        child = int(tree.first_child[parent]) + branch
        lines.append(f"  {parent} -> {child} [label={_quoted(words.test(parent, branch))}];")
        lines.append(node_line(child, depth + 1))
        if depth + 1 != max_depth:
            stack += _branches(tree, child, depth + 1)
    return "\n".join([*lines, "}"])


def _branches(tree: Tree, node: int, depth: int) -> list[tuple[int, int, int]]:
    """Return the branches of a node as (node, branch, depth), the last first, for a stack."""
    return [(node, branch, depth) for branch in reversed(range(int(tree.n_branches[node])))]


def _quoted(*lines: str) -> str:
    """Quote lines as one label."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
