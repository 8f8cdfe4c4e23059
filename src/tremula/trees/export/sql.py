"""Exports a tree as an SQL expression with the same predictions, also for rows with missing values.

One CASE for each split routes the rows whose tested values are all known. For other rows it returns NULL, and a
subquery computes the share of the row that takes each branch, and sums share times value over the branches of each
split, in the tree's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_choice
from tremula.trees.export.labels import Wording
from tremula.trees.structure import ALL_BRANCHES, branch_shares, children_and_parents, depths_of
from tremula.trees.tree import Tree

MISSING = ("shares", "none")
# No number exceeds this one. NULL and NaN fail the comparison, whether an engine sorts NaN last or not at all.
LARGEST = "1.7976931348623157e308"


def export_sql(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    levels: Sequence[Sequence[Any] | None] | None = None,
    *,
    output: str | None = None,
    missing: str = "shares",
) -> str:
    """Return a tree as an SQL expression over the columns of a table.

    Parameters
    ----------
    tree : Tree
    feature_names : sequence of str, optional
        Column of every attribute; x0, x1, ... if None.
    class_names : sequence, optional
        Class labels: strings, numbers or booleans, written as literals of their type.
    levels : sequence, optional
        Levels of every attribute, or None if it is numeric.
    output : {"class", "probabilities", "value"}, optional
        "class" is the default for classification, "value" for regression. "probabilities" gives one expression for each
        class, named after it and separated by commas, as the columns of a SELECT.
    missing : {"shares", "none"}, default="shares"
        "shares" predicts as the tree does if a value is NULL, NaN or a level unknown to a split. "none" promises that
        there are no such values. The expression is then one nested CASE, shorter and several times faster.

    Returns
    -------
    str
        An expression for DuckDB, and for other engines with COALESCE, GREATEST and double literals such as 0.5e0.

    Notes
    -----
    Numbers are written with all digits, and sums are taken in the tree's order, so the predictions are equal to the
    last bit. Columns are not qualified by a table: in a join of several tables their names must be unique.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.8, 60, 0, 1, 2, -1), (0, 50, -1, 0, 0, 0), (0, 10, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0.2, 0.8]], subsets=[], n_levels=[0], strict=False)
    >>> print(export_sql(tree, ["petal width"], ["setosa", "virginica"], missing="none"))
    CASE
      WHEN "petal width" <= 0.8e0 THEN 'setosa'
      ELSE 'virginica'
    END
    """
    words = Wording(tree, feature_names, class_names, levels)
    if tree.n_outputs > 1 and not words.is_classifier:
        raise InvalidParameter(
            f"the tree has {tree.n_outputs} outputs, of several targets: export a tree of one target"
        )
    output = ("class" if words.is_classifier else "value") if output is None else output
    check_choice("output", output, ("class", "probabilities") if words.is_classifier else ("value",))
    check_choice("missing", missing, MISSING)
    if output == "class":
        return class_expression(words, missing)
    expressions = value_expressions(words, missing)
    if output == "value":
        return expressions[0]
    return ",\n".join(f"{sql} AS {identifier(words.class_name(code))}" for code, sql in enumerate(expressions))


def identifier(name: str) -> str:
    """Return the quoted name of a column."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return the literal of a label or level: a boolean, integer, double, or else a string."""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return double(float(value))
    return "'" + str(value).replace("'", "''") + "'"


def double(value: float) -> str:
    """Return the literal of a double with all digits, and with an exponent, so that it is not read as a decimal."""
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def class_expression(words: Wording, missing: str) -> str:
    """Return the expression of the predicted class."""
    names = range(words.tree.n_outputs) if words.class_names is None else words.class_names
    labels = [literal(name) for name in names]
    best = words.node_values.argmax(axis=1)
    routed = _routing_case(words, missing, [labels[code] for code in best])
    if missing == "none" or words.tree.n_nodes == 1:
        return routed
    sums = [(_sum_over_branches(words, code), label) for code, label in enumerate(labels)]
    occurring = [(total, label) for total, label in sums if total is not None]
    if len(occurring) == 1:
        return occurring[0][1]
    prefix = _unused_prefix(words, "class")
    names = [f"{prefix}{number}" for number in range(len(occurring))]
    totals = ",\n  ".join(f"{total} AS {name}" for name, (total, _) in zip(names, occurring, strict=True))
    cases = " ".join(f"WHEN {name} THEN {label}" for name, (_, label) in zip(names, occurring, strict=True))
    largest = f"CASE GREATEST({', '.join(names)}) {cases} END"
    return f"COALESCE({routed},\n(SELECT {largest}\nFROM (SELECT {totals}\nFROM {_branch_table(words)}) AS classes))"


def value_expressions(words: Wording, missing: str) -> list[str]:
    """Return the expression of each output: the probability of each class, or the value."""
    expressions = []
    for column in range(words.tree.n_outputs):
        literals = [double(value) for value in words.node_values[:, column]]
        routed = _routing_case(words, missing, literals)
        if missing == "shares" and words.tree.n_nodes > 1:
            total = _sum_over_branches(words, column) or "0e0"
            routed = f"COALESCE({routed},\n(SELECT {total}\nFROM {_branch_table(words)}))"
        expressions.append(routed)
    return expressions


def _routing_case(words: Wording, missing: str, predictions: Sequence[str]) -> str:
    """Return nested CASEs: the prediction of the leaf of a row, NULL if a missing value takes several branches."""
    tree = words.tree
    depths = depths_of(tree.nodes)
    expressions = [""] * tree.n_nodes
    # Children have larger numbers than their parent, so in reverse order their expressions are ready.
    for node in reversed(range(tree.n_nodes)):
        if tree.is_leaf[node]:
            expressions[node] = predictions[node]
            continue
        conditions = [_condition(words, node, branch) for branch in range(int(tree.n_branches[node]))]
        if missing == "none":
            conditions[-1] = "ELSE"
        first = int(tree.first_child[node])
        taken = [(condition, first + branch) for branch, condition in enumerate(conditions) if condition is not None]
        own = words.missing_branch(node)
        if missing != "none" and own != ALL_BRANCHES:
            taken.append(("ELSE", first + own))
        expressions[node] = _case([(when, expressions[child]) for when, child in taken], "  " * int(depths[node]))
    return expressions[0]


def _case(branches: list[tuple[str, str]], indent: str) -> str:
    if not branches:
        return "NULL"
    if branches[0][0] == "ELSE":
        return branches[0][1]
    lines = [f"{indent}  {condition} {expression}" for condition, expression in branches]
    return "\n".join(["CASE", *lines, f"{indent}END"])


def _condition(words: Wording, node: int, branch: int) -> str | None:
    """Return WHEN ... THEN of a branch, to follow those of the branches before it; None if no value takes it."""
    column = identifier(words.attribute(node))
    if not words.is_numeric(node):
        return _when_in(column, words.branch_levels(node, branch))
    if branch == 1:
        return f"WHEN {column} <= {LARGEST} THEN"
    threshold = float(words.tree.threshold[node])
    sign = "<" if words.tree.strict or threshold == -np.inf else "<="
    return f"WHEN {column} {sign} {_finite(threshold)} THEN"


def _finite(threshold: float) -> str:
    return double(threshold) if np.isfinite(threshold) else f"{'-' if threshold < 0 else ''}{LARGEST}"


def _when_in(column: str, levels: Sequence[Any]) -> str | None:
    if len(levels) == 0:
        return None
    if len(levels) == 1:
        return f"WHEN {column} = {literal(levels[0])} THEN"
    return f"WHEN {column} IN ({', '.join(map(literal, levels))}) THEN"


def _share_case(words: Wording, node: int, branch: int, share: float) -> str:
    """Return the share of a row that takes a branch: 1 or 0 if its value is known, else the share of the branch."""
    if words.is_numeric(node):
        parts = [(_condition(words, node, 0), 1 - branch), (_condition(words, node, 1), branch)]
    else:
        others = [other for other in range(int(words.tree.n_branches[node])) if other != branch]
        levels = [level for other in others for level in words.branch_levels(node, other)]
        parts = [(_condition(words, node, branch), 1), (_when_in(identifier(words.attribute(node)), levels), 0)]
    known = "".join(f" {condition} {part}e0" for condition, part in parts if condition is not None)
    return f"CASE{known} ELSE {double(share)} END" if known else double(share)


def _unused_prefix(words: Wording, stem: str) -> str:
    """Return a prefix of new names that no column of the table starts with."""
    columns = {words.attribute(int(node)).lower() for node in np.flatnonzero(~words.tree.is_leaf)}
    prefix = stem + "_"
    while any(column.startswith(prefix) for column in columns):
        prefix += "_"
    return prefix


def _branch_table(words: Wording) -> str:
    """Return a table of one row: the share of the current row that takes each branch, named by its node."""
    tree, shares, prefix = words.tree, branch_shares(words.tree.nodes), _unused_prefix(words, "branch")
    children, parents = children_and_parents(tree.nodes)
    parts = [
        f"{_share_case(words, parent, child - int(tree.first_child[parent]), shares[child])} AS {prefix}{child}"
        for child, parent in zip(children.tolist(), parents.tolist(), strict=True)
    ]
    return f"(SELECT {(',' + chr(10) + '  ').join(parts)}) AS branches"


def _sum_over_branches(words: Wording, column: int) -> str | None:
    """Return the value of the root, where a split sums share times value of its branches; None if all leaves are 0."""
    tree, prefix = words.tree, _unused_prefix(words, "branch")
    expressions: list[str | None] = [None] * tree.n_nodes
    for node in reversed(range(tree.n_nodes)):
        if tree.is_leaf[node]:
            value = words.node_values[node, column]
            expressions[node] = double(value) if value != 0 else None
            continue
        first = int(tree.first_child[node])
        children = [child for child in range(first, first + int(tree.n_branches[node])) if expressions[child]]
        terms = [f"{prefix}{child} * {expressions[child]}" for child in children]
        expressions[node] = f"({' + '.join(terms)})" if terms else None
    return expressions[0]
