"""A batch of questions that one query answers: writes the SQL of the rows to group, with the paths that they are on.

ibis writes the inner query, which has the user's names. The outer query has only names of its own: ``a3`` for the value
of attribute 3 and ``v3`` for its number, ``n`` for the number of a row's path, ``y`` for the target and ``w`` for the
number of identical rows. In queries without joins, ``c5`` says whether condition 5 holds, and ``n0`` is the number of a
row's path in cover 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import MOMENTS, Condition, Path, Question, Schema
from tremula.queries.sql.columns import QueriedColumn, holds, with_target
from tremula.queries.sql.database import Database
from tremula.queries.sql.path_covers import Cover, CoverNode, cover_paths
from tremula.queries.sql.path_walks import Walk, small_table, walk_paths

# Identical rows are counted first if at most this many different rows are possible.
MAX_DISTINCT = 100_000


@dataclass(frozen=True)
class Batch:
    """Questions that are not joint, and the parts of the query that answers them.

    `parents` are wider paths, asked about before, by which rows find their paths in fewer steps. A query of more than
    `max_length` bytes is not sent; QueryTooLong is raised then.
    """

    database: Database
    schema: Schema
    columns: Sequence[QueriedColumn]
    questions: Sequence[Question]
    parents: Mapping[Path, Path] = field(default_factory=dict)
    max_length: float = inf

    @cached_property
    def walk(self) -> Walk:
        """The steps by which a row finds the paths that it is on."""
        return walk_paths([question.path for question in self.questions], self.parents, self.schema)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The place of the question of each number that a walk leads to."""
        places = np.full(max(self.walk.places) + 1, -1, dtype=np.int64)
        places[list(self.walk.places)] = list(self.walk.places.values())
        return places

    @cached_property
    def covers(self) -> list[Cover]:
        """The paths asked about, packed into sets of mutually exclusive paths."""
        return cover_paths([question.path for question in self.questions], len(self.schema.attributes))

    @cached_property
    def conditions(self) -> dict[Condition, str]:
        """Column names of the conditions that the paths are made of."""
        distinct = dict.fromkeys(condition for cover in self.covers for condition in _conditions(cover.root))
        return {condition: f"c{number}" for number, condition in enumerate(distinct)}

    def attributes_in(self, cover: Cover) -> list[int]:
        """Return the attributes asked about on the paths of a cover."""
        return sorted({attribute for number in cover.numbers for attribute in self.questions[number].attributes})

    @cached_property
    def attributes(self) -> list[int]:
        """Attributes asked about."""
        return sorted({attribute for question in self.questions for attribute in question.attributes})

    @property
    def keys(self) -> list[str]:
        """The target as a key of groups, if it is a class."""
        return ["y"] if self.schema.classes is not None else []

    @property
    def weights(self) -> list[str]:
        """The column with the number of identical rows, if these are counted first."""
        return ["w"] if self.counts_identical_rows else []

    @cached_property
    def used(self) -> list[int]:
        """Attributes that are asked about or have conditions on a path."""
        on_paths = (condition.attribute for question in self.questions for condition in question.path)
        return sorted({*self.attributes, *on_paths})

    @cached_property
    def counts_identical_rows(self) -> bool:
        """Whether identical rows are counted first, so that the rest of the query works on few groups.

        Never for a numeric target: its sums would be added up in a different order.
        """
        if self.schema.classes is None:
            return False
        n_distinct = prod(self.columns[attribute].n_fetched for attribute in self.used) * self.schema.n_outputs
        return n_distinct <= MAX_DISTINCT

    def rows(self, table: Any) -> Any:
        """Return the rows with their values, their target and whether each condition holds."""
        known = with_target(self.database, table, self.schema.target)
        attributes = self.schema.attributes
        tests = {
            name: holds(self.database, known, attributes[condition.attribute], condition)
            for condition, name in self.conditions.items()
        }
        return known.select(**self._values(known, self.attributes), **tests)

    def valued_rows(self, table: Any) -> Any:
        """Return the rows with their values and their target.

        Where few different rows are possible, these have the number ``w`` of times that each occurs.
        """
        known = with_target(self.database, table, self.schema.target)
        rows = known.select(**self._values(known, self.used))
        return rows.group_by(rows.columns).agg(w=rows.count()) if self.counts_identical_rows else rows

    def _numbered_rows(self, table: Any) -> Any:
        """Return the rows with their values, the numbers of those that steps test, and their target."""
        rows = self.valued_rows(table)
        tested = self.walk.values.items()
        return rows.mutate(
            **{f"v{place}": self.columns[place].number(rows[f"a{place}"], used) for place, used in tested}
        )

    def _values(self, table: Any, attributes: Sequence[int]) -> dict[str, Any]:
        values = {f"a{attribute}": self.columns[attribute].value(table) for attribute in attributes}
        return {**values, "y": table[self.schema.target]}

    def spread_sql(self, table: Any) -> str:
        """Return the SQL of rows with their values and target, each repeated for every path ``n`` that it is on."""
        kept = ", ".join([*(f"a{attribute}" for attribute in self.attributes), *self.weights, "y"])
        tested = "".join(f", v{attribute}" for attribute in self.walk.values)
        # PostgreSQL would otherwise merge the queries into one, and compute a number anew wherever it is used.
        apart = " OFFSET 0" if self.database.engine == "postgres" else ""
        sql = f"SELECT 0 AS n, {kept}{tested} FROM ({self.database.compile(self._numbered_rows(table))}) AS base{apart}"
        for level in self.walk.levels:
            steps = small_table(self.database.engine, "steps", "ogflbs", level)
            choices = " ".join(f"WHEN {attribute} THEN v{attribute}" for attribute in self.walk.values)
            value = f"CASE g {choices} ELSE 0 END" if choices else "0"
            sql = (
                f"SELECT b + s * v AS n, {kept}{tested} FROM (SELECT f, l, b, s, {value} AS v, {kept}{tested} FROM "
                f"({sql}) AS walk JOIN {steps} ON n = o{apart}) AS step "
                "WHERE v BETWEEN f AND l"
            )
        if not self.walk.levels:
            return sql
        ends = small_table(self.database.engine, "ends", "o", [(number,) for number in self.walk.places])
        return f"SELECT n, {kept} FROM ({sql}) AS walk JOIN {ends} ON n = o"

    def number(self, rows: Any, node: CoverNode) -> Any:
        """Return the number of a row's path in a cover as an ibis expression."""
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
        """SQL of the counts, or moments, of each group."""
        if self.schema.classes is not None:
            return "CAST(SUM(w) AS BIGINT) AS c" if self.counts_identical_rows else "COUNT(*) AS c"
        y = f"CAST(y AS {'DOUBLE PRECISION' if self.database.engine == 'postgres' else 'DOUBLE'})"
        return f"COUNT(*) AS c, SUM({y}) AS s, SUM({y} * {y}) AS q"


def _conditions(node: CoverNode) -> Iterator[Condition]:
    yield from node.conditions
    for path, child in node.branches:
        yield from path
        yield from _conditions(child)


def expression_measures(schema: Schema, table: Any) -> dict[str, Any]:
    """Return the counts, or moments, of each group as ibis expressions."""
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
    if not fetched.num_rows:
        return outputs
    labels = fetched.column("y").combine_chunks().dictionary_encode()
    places = np.array([place.get(label, -1) for label in labels.dictionary.to_pylist()])
    places = places[labels.indices.to_numpy(zero_copy_only=False)]
    rows = np.flatnonzero(places >= 0)  # a class that was added after the schema was read is not counted
    outputs[rows, places[rows]] = np.asarray(fetched.column("c").to_numpy(), dtype=np.int64)[rows]
    return outputs


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array([float(value) for value in column.to_pylist()])
