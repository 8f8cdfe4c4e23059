"""Columns of a database table that look as if they named or numbered the rows, by counts of different values."""

from __future__ import annotations

from typing import Any

from tremula.queries.question import Schema
from tremula.queries.sql.columns import with_target
from tremula.queries.sql.database import Database
from tremula.trees.level_numbers import FEW_LEVELS, ROWS_PER_LEVEL
from tremula.trees.row_numbers import LEAST_ROWS, LONGEST_RANGE


def find_identifiers(database: Database, schema: Schema) -> list[str]:
    """Return the names of nominal columns with few rows for each level, and of whole numbers that number the rows.

    One query counts the rows and the different values; none is sent if no column can be of these kinds. Whether such a
    column goes with the target is not judged.
    """
    named = [a for a in schema.attributes if a.levels is not None and len(a.levels) > FEW_LEVELS]
    numbers = [a for a in schema.attributes if not a.is_nominal and database.table[a.name].type().is_integer()]
    if not named and not numbers:
        return []

    def counted(table: Any) -> Any:
        known = with_target(database, table, schema.target)
        counts = {"n": known.count()}
        for place, attribute in enumerate(numbers):
            column = known[attribute.name]
            counts |= {f"n{place}": column.count(), f"d{place}": column.nunique()}
            counts |= {f"low{place}": column.min().cast("float64"), f"high{place}": column.max().cast("float64")}
        return known.aggregate(**counts)

    (row,) = database.fetch(counted).to_pylist()
    n_rows = int(row["n"])
    identifiers = {a.name for a in named if n_rows < ROWS_PER_LEVEL * len(a.levels or ())}
    for place, attribute in enumerate(numbers):
        is_different = row[f"n{place}"] == row[f"d{place}"] == n_rows >= LEAST_ROWS
        if is_different and row[f"high{place}"] - row[f"low{place}"] < LONGEST_RANGE * n_rows:
            identifiers.add(attribute.name)
    return [attribute.name for attribute in schema.attributes if attribute.name in identifiers]
