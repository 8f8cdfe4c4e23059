"""A batch of questions as what it takes to ask them in one query: which paths go together, and the rows to be grouped.

The inner query, with the user's names, is written by ibis; the outer one knows only the names made up here: ``c5`` for
whether the sixth condition holds, ``n0`` for the number of a row's path in the first cover, ``a3`` for the value of
attribute 3, ``y`` for the target, ``w`` for how many rows are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import MOMENTS, Condition, Path, Question, Schema
from tremula.queries.sql.columns import AskedColumn, holds, with_target
from tremula.queries.sql.database import Database
from tremula.queries.sql.path_covers import Cover, CoverNode, cover_paths

# Rows that are alike in every attribute are counted first if there are at most this many ways to differ.
MAX_ALIKE = 100_000
# A row for each of some columns, where engines differ.
SPREADS = {"pyspark": "EXPLODE(ARRAY({}))"}
USUAL_SPREAD = "UNNEST(ARRAY[{}])"


@dataclass(frozen=True)
class Batch:
    """Questions about margins, and what it takes to ask them together."""

    database: Database
    schema: Schema
    columns: Sequence[AskedColumn]
    questions: Sequence[Question]

    @cached_property
    def covers(self) -> list[Cover]:
        """The paths asked about, packed into sets that no row is in twice."""
        return cover_paths([question.path for question in self.questions], len(self.schema.attributes))

    @cached_property
    def conditions(self) -> dict[Condition, str]:
        """Names of the conditions that tell the paths apart."""
        found = dict.fromkeys(condition for cover in self.covers for condition in _conditions(cover.root))
        return {condition: f"c{number}" for number, condition in enumerate(found)}

    def asked(self, cover: Cover) -> list[int]:
        """Attributes asked about on some path of a cover."""
        return sorted({attribute for number in cover.numbers for attribute in self.questions[number].attributes})

    @cached_property
    def attributes(self) -> list[int]:
        """Attributes asked about."""
        return sorted({attribute for question in self.questions for attribute in question.attributes})

    @property
    def keys(self) -> list[str]:
        """The target as a key of groups, where it is a class."""
        return ["y"] if self.schema.classes is not None else []

    @property
    def weights(self) -> list[str]:
        """The column of how many rows are alike, where they were counted first."""
        return ["w"] if self.counts_alike else []

    @cached_property
    def used(self) -> list[int]:
        """Attributes asked about, or that paths have conditions on."""
        return sorted({*self.attributes, *(condition.attribute for condition in self.conditions)})

    @cached_property
    def counts_alike(self) -> bool:
        """Whether rows that are alike are counted first, so that all else is done with few groups instead of all rows.

        Not so for a numeric target: its sums would be added up in another order.
        """
        if self.schema.classes is None:
            return False
        return prod(self.columns[attribute].n_fetched for attribute in self.used) * self.schema.n_outputs <= MAX_ALIKE

    def rows(self, table: Any) -> Any:
        """Rows with their values and target, and which conditions hold."""
        known = with_target(self.database, table, self.schema.target)
        attributes = self.schema.attributes
        tests = {
            name: holds(self.database, known, attributes[condition.attribute], condition)
            for condition, name in self.conditions.items()
        }
        return known.select(**self._values(known, self.attributes), **tests)

    def alike(self, table: Any) -> Any:
        """Rows that are alike as one, with their number ``w``, their values and target, and which conditions hold."""
        known = with_target(self.database, table, self.schema.target)
        values = known.select(**self._values(known, self.used))
        counted = values.group_by(values.columns).agg(w=values.count())
        tests = {
            name: self.columns[condition.attribute].is_within(counted[f"a{condition.attribute}"], condition)
            for condition, name in self.conditions.items()
        }
        return counted.mutate(**tests)

    def _values(self, table: Any, attributes: Sequence[int]) -> dict[str, Any]:
        values = {f"a{attribute}": self.columns[attribute].value(table) for attribute in attributes}
        return {**values, "y": table[self.schema.target]}

    def spread_sql(self, table: Any) -> str:
        """Return the SQL of rows with their values and target, each once for every path ``n`` that it is on."""
        inner = self.database.compile(self.alike(table) if self.counts_alike else self.rows(table))
        kept = ", ".join([*(f"a{attribute}" for attribute in self.attributes), *self.weights, "y"])
        cases = [f"{self._number_sql(cover.root)} AS n{place}" for place, cover in enumerate(self.covers)]
        numbers = ", ".join(f"n{place}" for place in range(len(cases)))
        # Only after they are spread, where no engine can do it before the numbers are there, rows on no path are left
        # out: DuckDB would find the numbers of all rows once more to do so.
        return (
            f"SELECT n, {kept} FROM (SELECT {SPREADS.get(self.database.engine, USUAL_SPREAD).format(numbers)} AS n, "
            f"{kept} FROM (SELECT {', '.join(cases)}, {kept} FROM ({inner}) AS base) AS numbered) AS spread "
            "WHERE n IS NOT NULL"
        )

    def _number_sql(self, node: CoverNode) -> str:
        """Return the SQL of the number of a row's path, as CASEs within CASEs; NULL for a row on none of them."""
        if node.number is None:
            branches = [f"WHEN {self._all_hold(path)} THEN {self._number_sql(child)}" for path, child in node.branches]
            return f"CASE {' '.join(branches)} END"
        if not node.conditions:
            return str(node.number)
        return f"CASE WHEN {self._all_hold(node.conditions)} THEN {node.number} END"

    def _all_hold(self, path: Path) -> str:
        return " AND ".join(self.conditions[condition] for condition in path)

    def number(self, rows: Any, node: CoverNode) -> Any:
        """Return the same number as an expression."""
        ibis = self.database.ibis
        if node.number is None:
            branches = [
                (ibis.and_(*(rows[self.conditions[condition]] for condition in path)), self.number(rows, child))
                for path, child in node.branches
            ]
            return ibis.cases(*branches, else_=ibis.null("int64"))
        number = ibis.literal(node.number, type="int64")
        if not node.conditions:
            return number
        tests = [rows[self.conditions[condition]] for condition in node.conditions]
        return ibis.ifelse(ibis.and_(*tests), number, ibis.null("int64"))

    @property
    def measures(self) -> str:
        """SQL of what is counted in each group."""
        if self.schema.classes is not None:
            return "CAST(SUM(w) AS BIGINT) AS c" if self.counts_alike else "COUNT(*) AS c"
        y = f"CAST(y AS {'DOUBLE PRECISION' if self.database.engine == 'postgres' else 'DOUBLE'})"
        return f"COUNT(*) AS c, SUM({y}) AS s, SUM({y} * {y}) AS q"


def _conditions(node: CoverNode) -> Iterator[Condition]:
    yield from node.conditions
    for path, child in node.branches:
        yield from path
        yield from _conditions(child)


def expression_measures(schema: Schema, table: Any) -> dict[str, Any]:
    """Return what is counted in each group, as expressions."""
    if schema.classes is not None:
        return {"c": table.count()}
    y = table.y.cast("float64")
    return {"c": table.count(), "s": y.sum(), "q": (y * y).sum()}


def read_outputs(schema: Schema, fetched: Any) -> NDArray[Any]:
    """Put fetched counts into the columns of an answer."""
    if schema.classes is None:
        return np.stack([_floats(fetched.column(name)) for name in ("c", "s", "q")], axis=1).reshape(-1, MOMENTS)
    place = {label: number for number, label in enumerate(schema.classes)}
    outputs = np.zeros((fetched.num_rows, len(schema.classes)), dtype=np.int64)
    for row, (label, count) in enumerate(zip(fetched.column("y").to_pylist(), fetched.column("c").to_pylist())):
        if label in place:  # a class that came after the schema was read is not counted
            outputs[row, place[label]] = count
    return outputs


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array([float(value) for value in column.to_pylist()])
