"""Writes an ensemble as one SQL query, so that the database can predict its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.errors import MissingLibrary, UnsupportedModel
from tremula.parameters import check_choice
from tremula.queries.question import Schema
from tremula.trees.export.dialects import DIALECTS
from tremula.trees.export.labels import Wording
from tremula.trees.export.node_join import NodeJoin, can_join, choose_form, kept_columns
from tremula.trees.export.sql import class_expression, identifier, literal, value_expressions
from tremula.trees.member_sum import MemberSum
from tremula.trees.tree import Tree

OUTPUTS = ("prediction", "probabilities")
MISSING = ("shares", "none")
FORMS = ("auto", "case", "join")
TIE_FACTOR = "0.999999999999e0"  # shares above this multiple of the largest are ties: the first such class is predicted


def ensemble_sql(
    whole: MemberSum,
    schema: Schema,
    table: str,
    dialect: str,
    output: str,
    missing: str,
    form: str,
) -> str:
    """Return an SQL query that predicts every row of a table.

    Parameters
    ----------
    whole : MemberSum
        The mean of the members, or of their votes.
    schema : Schema
        Names of columns, levels and classes of the table that the trees were grown from.
    table : str
        Name of the table to predict; the query quotes it.
    dialect : str
        SQL dialect of the engine, as sqlglot names it: "duckdb", "postgres", "spark", "sqlite", ...
    output : {"prediction", "probabilities"}
        "probabilities" adds the columns ``p0``, ``p1``, ..., one for each class in order. "prediction" adds the column
        ``prediction`` too.
    missing : {"shares", "none"}
        "none" promises that the table has no NULLs and no levels unseen in training, for a shorter and faster query.
    form : {"auto", "case", "join"}
        Nested CASEs, a join with a table of nodes, or the shorter of the two.
    """
    check_choice("output", output, OUTPUTS)
    check_choice("missing", missing, MISSING)
    check_choice("form", form, FORMS)
    if form == "join" and not can_join(whole, dialect):
        raise UnsupportedModel(f"no query with a table of nodes is written for {dialect!r}: use form='auto'")

    def joined() -> str:
        return _predicted(_joined(whole, schema, table, dialect), schema, output, dialect)

    def nested() -> str:
        return _predicted(_nested(whole, schema, table, missing), schema, output, "duckdb")

    query, is_joined = choose_form(whole, dialect, form, joined, nested, divides=missing == "shares")
    return query if dialect == "duckdb" or is_joined else _translated(query, dialect)


def _predicted(scored: str, schema: Schema, output: str, dialect: str) -> str:
    if output == "probabilities":
        return scored
    prediction = "p0" if schema.classes is None else _first_of_largest(schema.classes, dialect)
    return f"SELECT scores.*, {prediction} AS prediction FROM ({scored}) AS scores"


def _joined(whole: MemberSum, schema: Schema, table: str, dialect: str) -> str:
    names = [attribute.name for attribute in schema.attributes]
    levels = [attribute.levels for attribute in schema.attributes]
    join = NodeJoin(whole, names, levels, DIALECTS[dialect], dialect)
    scores = [f"p{number}" for number in range(whole.n_margins)]
    return join.query(table, kept_columns(None, DIALECTS[dialect], dialect), scores, [])


def _nested(whole: MemberSum, schema: Schema, table: str, missing: str) -> str:
    names = [attribute.name for attribute in schema.attributes]
    levels = [attribute.levels for attribute in schema.attributes]
    words = [Wording(tree, names, schema.classes, levels) for tree in whole.members if isinstance(tree, Tree)]
    return _scored(_votes(words, schema, missing) if whole.votes else _means(words, missing), table)


def _means(words: Sequence[Wording], missing: str) -> list[str]:
    """Return the SQL of the mean of each output over the members, added up in their order."""
    outputs = zip(*(value_expressions(word, missing) for word in words))
    return [f"({' + '.join(f'({term})' for term in terms)}) / {len(words)}e0" for terms in outputs]


def _votes(words: Sequence[Wording], schema: Schema, missing: str) -> list[str]:
    """Return the SQL of the share of members that vote for each class."""
    predictions = [class_expression(word, missing) for word in words]
    shares = []
    for label in schema.classes or ():
        votes = " + ".join(f"(CASE WHEN ({voted}) = {literal(label)} THEN 1e0 ELSE 0e0 END)" for voted in predictions)
        shares.append(f"({votes}) / {len(words)}e0")
    return shares


def _scored(scores: Sequence[str], table: str) -> str:
    columns = ",\n".join(f"{score} AS p{number}" for number, score in enumerate(scores))
    return f"SELECT *,\n{columns}\nFROM {identifier(table)}"


def _first_of_largest(classes: Sequence[Any], dialect: str) -> str:
    names = [f"p{number}" for number in range(len(classes))]
    best = f"{DIALECTS[dialect].largest_of(names)} * {TIE_FACTOR}"
    cases = " ".join(f"WHEN {name} >= {best} THEN {literal(label)}" for name, label in zip(names, classes))
    return f"CASE {cases} END"


def _translated(query: str, dialect: str) -> str:
    try:
        import sqlglot
    except ImportError as error:
        raise MissingLibrary("SQL in a dialect other than DuckDB's needs sqlglot: pip install sqlglot") from error
    # Some engines read a number with an exponent as a decimal, which rounds differently from predict.
    tree = sqlglot.parse_one(query, read="duckdb")
    doubles = [node for node in tree.find_all(sqlglot.exp.Literal) if not node.is_string and "e" in node.name.lower()]
    for node in doubles:
        node.replace(sqlglot.exp.cast(node.copy(), "double"))
    if dialect == "sqlite":  # SQLite calls GREATEST MAX, and sqlglot does not translate it
        for largest in list(tree.find_all(sqlglot.exp.Greatest)):
            largest.replace(sqlglot.exp.func("MAX", largest.this, *largest.expressions, dialect="sqlite"))
    return str(tree.sql(dialect=dialect))
