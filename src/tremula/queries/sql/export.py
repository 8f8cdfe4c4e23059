"""Writes an ensemble as one SQL query, so that the database can predict its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.errors import MissingLibrary
from tremula.parameters import check_choice
from tremula.queries.question import Schema
from tremula.trees.export.labels import Wording
from tremula.trees.export.sql import class_expression, identifier, literal, value_expressions
from tremula.trees.tree import Tree

OUTPUTS = ("prediction", "probabilities")
MISSING = ("shares", "none")
TIE_FACTOR = "0.999999999999e0"  # shares above this multiple of the largest are ties: the first such class is predicted


def ensemble_sql(
    trees: Sequence[Tree],
    schema: Schema,
    combine: str,
    table: str,
    dialect: str,
    output: str,
    missing: str,
) -> str:
    """Return an SQL query that predicts every row of a table.

    Parameters
    ----------
    trees : sequence of Tree
    schema : Schema
        Names of columns, levels and classes of the table that the trees were grown from.
    combine : {"average", "vote"}
    table : str
        Name of the table to predict; the query quotes it.
    dialect : str
        SQL dialect of the engine, as sqlglot names it: "duckdb", "postgres", "spark", "sqlite", ...
    output : {"prediction", "probabilities"}
        "probabilities" adds the columns ``p0``, ``p1``, ..., one for each class in order. "prediction" adds the column
        ``prediction`` too.
    missing : {"shares", "none"}
        "none" promises that the table has no NULLs and no levels unseen in training, for a shorter and faster query.
    """
    check_choice("output", output, OUTPUTS)
    check_choice("missing", missing, MISSING)
    names = [attribute.name for attribute in schema.attributes]
    levels = [attribute.levels for attribute in schema.attributes]
    words = [Wording(tree, names, schema.classes, levels) for tree in trees]
    scores = _votes(words, schema, missing) if combine == "vote" else _means(words, missing)
    query = _scored(scores, table)
    if output == "prediction":
        prediction = "p0" if schema.classes is None else _first_of_largest(schema.classes)
        query = f"SELECT scores.*, {prediction} AS prediction FROM ({query}) AS scores"
    return query if dialect == "duckdb" else _translated(query, dialect)


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


def _first_of_largest(classes: Sequence[Any]) -> str:
    names = [f"p{number}" for number in range(len(classes))]
    best = f"GREATEST({', '.join(names)}) * {TIE_FACTOR}"
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
