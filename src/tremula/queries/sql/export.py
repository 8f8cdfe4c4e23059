"""An ensemble as one SQL query, so that prediction too happens where the rows are."""

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
ALIKE = "0.999999999999e0"  # shares closer than this are equal up to rounding, and the first class is taken


def ensemble_sql(
    trees: Sequence[Tree],
    schema: Schema,
    combine: str,
    table: str,
    dialect: str,
    output: str,
    missing: str,
) -> str:
    """Return a query that gives every row of a table with its prediction.

    Parameters
    ----------
    trees : sequence of Tree
    schema : Schema
        Of the table they were grown from: names of columns, levels and classes.
    combine : {"average", "vote"}
    table : str
        Name of the table to predict for; it is quoted.
    dialect : str
        Of the engine, as sqlglot names it: "duckdb", "postgres", "spark", "sqlite", ...
    output : {"prediction", "probabilities"}
        A column ``prediction``; or a column for each class, ``p0``, ``p1``, ... in the order of the classes.
    missing : {"shares", "none"}
        "none" promises that there are no NULLs or levels that training did not see, for a shorter and faster query.
    """
    check_choice("output", output, OUTPUTS)
    check_choice("missing", missing, MISSING)
    names = [attribute.name for attribute in schema.attributes]
    levels = [attribute.levels for attribute in schema.attributes]
    words = [Wording(tree, names, schema.classes, levels) for tree in trees]
    scores = _votes(words, schema, missing) if combine == "vote" else _means(words, missing)
    query = _scored(scores, table)
    if output == "prediction":
        answer = "p0" if schema.classes is None else _first_of_largest(schema.classes)
        query = f"SELECT scores.*, {answer} AS prediction FROM ({query}) AS scores"
    return query if dialect == "duckdb" else _translated(query, dialect)


def _means(words: Sequence[Wording], missing: str) -> list[str]:
    """Mean over members of each output, added up in their order."""
    outputs = zip(*(value_expressions(word, missing) for word in words))
    return [f"({' + '.join(f'({term})' for term in terms)}) / {len(words)}e0" for terms in outputs]


def _votes(words: Sequence[Wording], schema: Schema, missing: str) -> list[str]:
    """Share of the members that vote for each class."""
    answers = [class_expression(word, missing) for word in words]
    shares = []
    for label in schema.classes or ():
        votes = " + ".join(f"(CASE WHEN ({answer}) = {literal(label)} THEN 1e0 ELSE 0e0 END)" for answer in answers)
        shares.append(f"({votes}) / {len(words)}e0")
    return shares


def _scored(scores: Sequence[str], table: str) -> str:
    columns = ",\n".join(f"{score} AS p{number}" for number, score in enumerate(scores))
    return f"SELECT *,\n{columns}\nFROM {identifier(table)}"


def _first_of_largest(classes: Sequence[Any]) -> str:
    names = [f"p{number}" for number in range(len(classes))]
    best = f"GREATEST({', '.join(names)}) * {ALIKE}"
    cases = " ".join(f"WHEN {name} >= {best} THEN {literal(label)}" for name, label in zip(names, classes))
    return f"CASE {cases} END"


def _translated(query: str, dialect: str) -> str:
    try:
        import sqlglot
    except ImportError as error:
        raise MissingLibrary("SQL of another dialect than DuckDB's needs sqlglot: pip install sqlglot") from error
    # To some engines a number with an exponent is a decimal one, which rounds otherwise than predict does.
    tree = sqlglot.parse_one(query, read="duckdb")
    doubles = [node for node in tree.find_all(sqlglot.exp.Literal) if not node.is_string and "e" in node.name.lower()]
    for node in doubles:
        node.replace(sqlglot.exp.cast(node.copy(), "double"))
    if dialect == "sqlite":  # which has GREATEST by another name, and sqlglot does not tell it
        for largest in list(tree.find_all(sqlglot.exp.Greatest)):
            largest.replace(sqlglot.exp.func("MAX", largest.this, *largest.expressions, dialect="sqlite"))
    return str(tree.sql(dialect=dialect))
