"""`to_sql`: a trained model as one SQL query that predicts the rows of a table where they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tremula.errors import ExportWarning, InvalidParameter, UnsupportedModel
from tremula.export.binary_trees import mixing_attributes
from tremula.export.linear_basis import NUMBER, LinearBasis, basis_of
from tremula.export.model import ExportedModel, read_exported
from tremula.export.sql.links import LinkSql
from tremula.export.sql.trees import Columns, TreeSql, grouped_sum
from tremula.parameters import check_choice
from tremula.trees.export.branches import NodeBranches
from tremula.trees.export.dialects import DIALECTS
from tremula.trees.export.node_join import PREFIX, NodeJoin, can_join, choose_form, kept_columns
from tremula.trees.m5.model_tree import ModelTree

OUTPUTS = ("prediction", "probabilities")
MISSING = ("shares", "null")
FORMS = ("auto", "case", "join")
PREDICTION, SHARE, MARGIN = "prediction", "p", PREFIX


def _check_places(table: Any, keep: Any) -> None:
    if not isinstance(table, str):
        raise InvalidParameter(f"table is of type {type(table).__name__}; expected the name of a table")
    is_listed = isinstance(keep, Sequence) and not isinstance(keep, str)
    if keep is not None and not (is_listed and all(isinstance(name, str) for name in keep)):
        raise InvalidParameter(f"keep is of type {type(keep).__name__}; expected a list of names of columns")


def to_sql(
    model: Any,
    table: str = "rows",
    *,
    dialect: str = "duckdb",
    output: str = "prediction",
    missing: str = "shares",
    keep: Sequence[str] | None = None,
    form: str = "auto",
) -> str:
    """Return a trained model as an SQL query that predicts every row of a table.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of tremula, or a model of another library that smoothing can read.
    table : str, default="rows"
        Name of the table; the query quotes it. Its columns have the names that the model was trained on.
    dialect : {"duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"}, default="duckdb"
        The engine that will run the query.
    output : {"prediction", "probabilities"}, default="prediction"
        "probabilities" adds the columns ``p0``, ``p1``, ..., one for each class in order; "prediction" adds the column
        ``prediction`` too. A regressor has only ``prediction``.
    missing : {"shares", "null"}, default="shares"
        What happens to a row whose missing value takes several branches. "shares" follows the branches in their shares,
        as tremula does. "null" answers NULL, for a query of about a third of the length as nested CASEs.
    keep : sequence of str, default=None
        Columns of the table to copy, such as a key; by default all, and the steps between trees and probabilities too.
    form : {"auto", "case", "join"}, default="auto"
        "case" writes every tree as nested CASEs. "join" joins the rows with a table of nodes, once for each depth of
        the trees; a large model has 20 to 40 characters a node. It is written for trees (not model trees) in DuckDB,
        PostgreSQL and SQLite. "auto" writes the shorter one; nested CASEs where members vote on rows with missing
        values, since sums of a join may differ in their last digits and a tie be decided otherwise.

    Returns
    -------
    str

    Raises
    ------
    UnsupportedModel
        The model is smoothed, its members are not trees, or its columns have names that the query needs.

    Warns
    -----
    ExportWarning
        The query is longer than the documentation of the engine allows, or nested deeper than some releases can read.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier, to_sql
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = CARTClassifier(max_depth=1).fit(X[["petal width (cm)"]], y)
    >>> print(to_sql(tree, "flowers", output="probabilities", missing="null", keep=[]))
    SELECT CASE WHEN "petal width (cm)" <= 1.7976931348623157e+308 THEN CASE WHEN "petal width (cm)" <= 0.8e0 THEN 1e0
    ELSE 0e0 END END AS p0,
    CASE WHEN "petal width (cm)" <= 1.7976931348623157e+308 THEN CASE WHEN "petal width (cm)" <= 0.8e0 THEN 0e0
    ELSE 0.5e0 END END AS p1,
    ...
    FROM "flowers"
    """
    _check_places(table, keep)
    check_choice("dialect", dialect, tuple(DIALECTS))
    check_choice("output", output, OUTPUTS)
    check_choice("missing", missing, MISSING)
    exported = read_exported(model)
    if exported.no_missing and missing == "shares":
        raise UnsupportedModel(f"{exported.no_missing}: use missing='null'")
    check_choice("form", form, FORMS)
    _check_names(exported, dialect)
    if form == "join" and not can_join(exported.whole, dialect):
        raise UnsupportedModel(
            f"no query with a table of nodes is written for {dialect} and this model, only for trees that are not very "
            "deep in duckdb, postgres or sqlite: use form='auto'"
        )
    divides = missing == "shares"
    writer = _Query(exported, divides, keep, dialect)
    query, is_joined = choose_form(
        exported.whole, dialect, form, lambda: writer.joined(table, output), lambda: writer.text(table, output), divides
    )
    if not is_joined:
        _warn_of_limits(exported, query, dialect)
    return query


def _warn_of_limits(exported: ExportedModel, query: str, dialect: str) -> None:
    """Warn if the engine may refuse nested CASEs, since they are too long or too deep."""
    limits, depth = DIALECTS[dialect], max(member.depth for member in exported.whole.members)
    problems = []
    if limits.max_characters is not None and len(query) > limits.max_characters:
        problem = f"has {len(query):,} characters, and {dialect} takes {limits.max_characters:,}"
        problems.append(f"{problem}: use missing='null', fewer members or smaller trees")
    if limits.max_depth is not None and depth > limits.max_depth:
        problems.append(
            f"has trees of depth {depth}, more than {limits.depth_note}: use smaller trees, or a later release"
        )
    for problem in problems:
        warnings.warn(f"the query {problem}", ExportWarning, stacklevel=3)


def _check_names(exported: ExportedModel, dialect: str) -> None:
    """Refuse columns whose names the query needs, and levels that an engine does not tell apart."""
    taken = {PREDICTION, *(f"{SHARE}{number}" for number in range(exported.n_answers))}
    for name in exported.attributes:
        if name.lower() in taken or name.lower().startswith(MARGIN):
            raise UnsupportedModel(
                f"the model has a column {name!r}, a name that the query gives to a result: rename it"
            )
    if dialect != "mysql":
        return
    for name, levels in zip(exported.attributes, exported.levels):
        words = [level.casefold().rstrip() for level in levels or () if isinstance(level, str)]
        if len(set(words)) < len(words):
            raise UnsupportedModel(
                f"levels of {name!r} differ only in case or in blanks at their end, which MySQL does not tell apart by "
                "default: rename them before training"
            )


class _Query:
    """Writes a query: the margins of each row, the steps of the link, and the class."""

    def __init__(self, exported: ExportedModel, follows_shares: bool, keep: Sequence[str] | None, dialect: str) -> None:
        self.exported, self.whole, self.keep = exported, exported.whole, keep
        self.engine, self.dialect = dialect, DIALECTS[dialect]
        self.links = LinkSql(self.dialect)
        mixes = mixing_attributes(self.whole) | bool(exported.no_missing)
        is_known = np.zeros_like(mixes) if follows_shares else mixes
        self.columns = Columns(exported.attributes, exported.levels, is_known, self.dialect)
        self.basis: LinearBasis = basis_of(self.whole)

    def text(self, table: str, output: str) -> str:
        """Return the query with nested CASEs."""
        margins = self._margins()
        source = self.dialect.identifier(table)
        return self._answers(lambda names: f"SELECT {self._listed(zip(margins, names))}\nFROM {source}", output)

    def joined(self, table: str, output: str) -> str:
        """Return the query with a table of nodes."""
        join = NodeJoin(self.whole, self.exported.attributes, self.exported.levels, self.dialect, self.engine)
        kept = kept_columns(self.keep, self.dialect, self.engine)
        known = np.flatnonzero(self.columns.is_known).tolist()
        return self._answers(lambda names: join.query(table, kept, names, known), output)

    def _answers(self, margins: Callable[[Sequence[str]], str], output: str) -> str:
        """Return the query of the answers, from that of the margins by their names."""
        exported = self.exported
        steps = self.links.steps(self.whole.link, self.whole.n_margins)
        names = self._names(0, self.whole.n_margins, is_last=not steps)
        # PostgreSQL would merge the steps into one, and write an expression anew wherever it is used.
        apart = " OFFSET 0" if self.engine == "postgres" else ""
        query = margins(names)
        for number, step in enumerate(steps):
            expressions = step(names)
            names = self._names(number + 1, len(expressions), is_last=number == len(steps) - 1)
            query = f"SELECT {self._listed(zip(expressions, names))}\nFROM ({query}{apart}) AS step_{number}"
        if exported.classes is None or output == "probabilities":
            return query
        shares = [(name, "") for name in names] if self.keep is not None else []
        return f"SELECT {self._listed([*shares, (self._class(names), PREDICTION)])}\nFROM ({query}{apart}) AS scores"

    def _names(self, number: int, n_columns: int, is_last: bool) -> list[str]:
        if is_last and self.exported.classes is None:
            return [PREDICTION]
        return [f"{SHARE}{column}" if is_last else f"{MARGIN}{number}_{column}" for column in range(n_columns)]

    def _listed(self, expressions: Any) -> str:
        """Return the columns of a step: those to keep, then its own."""
        kept = ["*"] if self.keep is None else [self.dialect.identifier(name) for name in self.keep]
        return ",\n".join([*kept, *(f"{text} AS {name}" if name else text for text, name in expressions)])

    def _class(self, names: Sequence[str]) -> str:
        classes: Any = self.exported.classes
        least = self.links.least_of_largest(names, self.exported.tie)
        tests = [f"WHEN {name} >= {least} THEN {self.dialect.literal(label)}" for name, label in zip(names, classes)]
        return f"CASE {' '.join(tests)} END"

    # --- margins ---

    def _margins(self) -> list[str]:
        """Return the expression of each margin."""
        terms: list[list[str]] = [[] for _ in range(self.whole.n_margins)]
        for number, member in enumerate(self.whole.members):
            start = int(self.whole.starts[number])
            for column, text in enumerate(self._outputs(number, member)):
                if text != self.dialect.zero:
                    terms[start + column].append(text)
        for margin, offset in enumerate(self.whole.offset.tolist()):
            if offset:
                terms[margin].append(self.dialect.double(offset))
        known = " AND ".join(self.columns.known(k) for k in np.flatnonzero(self.columns.is_known).tolist())
        sums = [grouped_sum(each) if each else self.dialect.zero for each in terms]
        return [f"CASE WHEN {known} THEN {text} END" for text in sums] if known else sums

    def _outputs(self, number: int, member: Any) -> list[str]:
        """Return the expressions of a member's outputs, times its weight."""
        weight, filling = float(self.whole.weights[number]), self.whole.filling
        if isinstance(member, ModelTree):
            filling = np.where(np.isnan(filling), member.terms.fill, filling)
            tree = TreeSql(NodeBranches(member.rules, self.whole.n_levels, filling), self.columns)
            return [tree.value(self._models(member, weight, filling))]
        tree = TreeSql(NodeBranches(member, self.whole.n_levels, filling), self.columns)
        if self.whole.votes:
            return [self._vote(tree, column, weight) for column in range(member.n_outputs)]
        return [tree.value(self._values(tree, weight * member.values[:, k])) for k in range(member.n_outputs)]

    def _vote(self, tree: TreeSql, column: int, weight: float) -> str:
        """Return the weight of a member if it votes for a class, else 0."""
        member = tree.tree
        votes = np.where(member.values.argmax(axis=1) == column, weight, 0.0)
        routed = tree.routed_vote(self._values(tree, votes))
        if not tree.mixing_nodes:
            return routed
        sums = [tree.mixture(self._values(tree, member.values[:, other])) for other in range(member.n_outputs)]
        tests = [
            f"{sums[column]} {'>' if other < column else '>='} {sums[other]}"
            for other in range(member.n_outputs)
            if other != column
        ]
        own = self.dialect.double(weight)
        mixed = f"CASE WHEN {' AND '.join(tests)} THEN {own} ELSE {self.dialect.zero} END" if tests else own
        return f"COALESCE({routed}, {mixed})"

    def _values(self, tree: TreeSql, values: Any) -> Callable[[int], str]:
        """Return the text of each leaf, from the values of the tree's leaves."""
        texts = [self.dialect.double(value) if value else self.dialect.zero for value in values.tolist()]
        index = tree.tree.nodes["index"].tolist()
        return lambda node: texts[index[node]]

    # --- linear models ---

    def _models(self, member: ModelTree, weight: float, filling: Any) -> Callable[[int], str]:
        """Return the linear model of each leaf, times the weight of the member."""
        coefficients = weight * self.basis.coefficients(member)
        index, attributes = member.rules.nodes["index"], np.unique(self.basis.attribute).tolist()

        def model(node: int) -> str:
            row = coefficients[index[node]]
            terms = [self._term(attribute, row[:-1], filling) for attribute in attributes]
            known = [term for term in terms if term != self.dialect.zero]
            return f"({grouped_sum([*known, self.dialect.double(row[-1])])})"

        return model

    def _term(self, attribute: int, coefficients: Any, filling: Any) -> str:
        """Return the part of a linear model that depends on an attribute."""
        of_attribute = np.flatnonzero(self.basis.attribute == attribute)
        values, codes = coefficients[of_attribute], self.basis.code[of_attribute]
        if not values.any():
            return self.dialect.zero
        column, fill = self.columns.name(attribute), float(filling[attribute])
        if codes[0] == NUMBER:
            is_known = self.columns.is_number(attribute)
            known = f"CASE WHEN {is_known} THEN {column} ELSE {self.dialect.double(fill)} END"
            return f"{self.dialect.double(values[0])} * {known}"
        n_levels = int(self.whole.n_levels[attribute])
        texts = [self.dialect.double(value) for value in values]
        tests = [f"WHEN {self.columns.among(attribute, [code])} THEN {texts[code]}" for code in range(n_levels)]
        return " ".join(["CASE", *tests, f"ELSE {texts[int(fill)]} END"])
