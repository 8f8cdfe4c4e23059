"""A batch of questions as one query, in the form that an engine is quickest at, and its fetched groups as counts.

The inner query, with the user's names, is written by ibis; the outer one knows only the names made up here: ``n0`` for
the number of a row's path in the first cover, ``a3`` for the value of attribute 3, ``y`` for the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.covers import Cover, CoverNode, cover_paths
from tremula.queries.question import MOMENTS, Path, Question, Schema
from tremula.queries.tables.columns import AskedColumn, holds, with_target
from tremula.queries.tables.database import Database


@dataclass(frozen=True)
class Groups:
    """Fetched groups of rows: of which path, with which value of which attribute, and how many of each class."""

    attribute: int
    paths: NDArray[np.int64]
    values: NDArray[np.int64]
    outputs: NDArray[Any]


@dataclass(frozen=True)
class Batch:
    """Questions about margins, and what it takes to ask them together."""

    database: Database
    schema: Schema
    columns: Sequence[AskedColumn]
    questions: Sequence[Question]

    def covers(self) -> list[Cover]:
        """Pack the paths asked about into sets that no row is in twice."""
        return cover_paths([question.path for question in self.questions], len(self.schema.attributes))

    def asked(self, cover: Cover) -> list[int]:
        """Attributes asked about on some path of a cover."""
        return sorted({attribute for number in cover.numbers for attribute in self.questions[number].attributes})

    def base(self, table: Any, covers: Sequence[Cover]) -> Any:
        """Rows on some path: their path's number in each cover, their values and target."""
        known = with_target(self.database, table, self.schema.target)
        numbers = {f"n{place}": self._path_number(known, cover.root) for place, cover in enumerate(covers)}
        attributes = sorted({attribute for cover in covers for attribute in self.asked(cover)})
        values = {f"a{attribute}": self.columns[attribute].value(known) for attribute in attributes}
        base = known.select(**numbers, **values, y=known[self.schema.target])
        on_a_path = base["n0"].notnull()
        for place in range(1, len(covers)):
            on_a_path = on_a_path | base[f"n{place}"].notnull()
        return base.filter(on_a_path)

    def _path_number(self, table: Any, node: CoverNode) -> Any:
        """Return the number of a row's path, as CASEs within CASEs; NULL for a row on none of them."""
        ibis = self.database.ibis
        if node.number is None:
            branches = [(self._all_hold(table, path), self._path_number(table, child)) for path, child in node.branches]
            return ibis.cases(*branches, else_=ibis.null("int64"))
        number = ibis.literal(node.number, type="int64")
        if not node.conditions:
            return number
        return ibis.ifelse(self._all_hold(table, node.conditions), number, ibis.null("int64"))

    def _all_hold(self, table: Any, path: Path) -> Any:
        attributes = self.schema.attributes
        tests = [holds(self.database, table, attributes[condition.attribute], condition) for condition in path]
        return self.database.ibis.and_(*tests)

    def measures(self) -> str:
        """Return the SQL of what is counted in each group."""
        if self.schema.classes is not None:
            return "COUNT(*) AS c"
        y = f"CAST(y AS {'DOUBLE PRECISION' if self.database.engine == 'postgres' else 'DOUBLE'})"
        return f"COUNT(*) AS c, SUM({y}) AS s, SUM({y} * {y}) AS q"

    def keys(self) -> list[str]:
        """Return the target as a key of groups, where it is a class."""
        return ["y"] if self.schema.classes is not None else []


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


def by_grouping_sets(batch: Batch) -> Iterator[Groups]:
    """One GROUP BY GROUPING SETS: a set for each cover and attribute. A key that a set lacks is NULL in its groups."""
    covers = batch.covers()
    asked = [batch.asked(cover) for cover in covers]
    attributes = sorted({attribute for some in asked for attribute in some})
    names = [
        *(f"n{place}" for place in range(len(covers))),
        *(f"a{attribute}" for attribute in attributes),
        *batch.keys(),
    ]
    sets = [
        f"({', '.join([f'n{place}', f'a{attribute}', *batch.keys()])})"
        for place, some in enumerate(asked)
        for attribute in some
    ]

    def sql(table: Any) -> str:
        inner = batch.database.compile(batch.base(table, covers))
        selected = ", ".join(names)
        return (
            f"SELECT {selected}, {batch.measures()} FROM ({inner}) AS base GROUP BY GROUPING SETS ({', '.join(sets)})"
        )

    fetched = batch.database.fetch_sql(sql)
    outputs = read_outputs(batch.schema, fetched)
    numbers = [_whole(fetched.column(f"n{place}")) for place in range(len(covers))]
    for attribute in attributes:
        values = fetched.column(f"a{attribute}")
        has_value = np.array(values.is_valid().to_pylist(), dtype=bool)
        for number in numbers:
            rows = np.flatnonzero(has_value & (number >= 0))
            if len(rows):
                codes = batch.columns[attribute].numbers(values.take(rows).to_pylist())
                yield Groups(attribute, number[rows], np.array(codes), outputs[rows])


def _whole(column: Any) -> NDArray[np.int64]:
    """Return fetched whole numbers, -1 for NULL."""
    return np.array([-1 if value is None else int(value) for value in column.to_pylist()], dtype=np.int64)


def by_stack(batch: Batch) -> Iterator[Groups]:
    """Spark's way: every row becomes one for each attribute, with its value's number, and these are grouped."""
    for cover in batch.covers():
        attributes = batch.asked(cover)
        fetched = batch.database.fetch_sql(partial(_stack_sql, batch, cover))
        outputs, numbers = read_outputs(batch.schema, fetched), _whole(fetched.column("n0"))
        which, values = _whole(fetched.column("attribute")), fetched.column("value")
        for attribute in attributes:
            rows = np.flatnonzero(which == attribute)
            if len(rows):
                codes = batch.columns[attribute].numbers(
                    _parsed(batch.columns[attribute], values.take(rows).to_pylist())
                )
                yield Groups(attribute, numbers[rows], np.array(codes), outputs[rows])


def _stack_sql(batch: Batch, cover: Cover, table: Any) -> str:
    inner = batch.database.compile(batch.base(table, [cover]))
    attributes = batch.asked(cover)
    pairs = ", ".join(f"{attribute}, CAST(a{attribute} AS STRING)" for attribute in attributes)
    keys = ", ".join(["n0", "attribute", "value", *batch.keys()])
    return (
        f"SELECT {keys}, {batch.measures()} FROM (SELECT n0, y, stack({len(attributes)}, {pairs}) AS (attribute, "
        f"value) FROM ({inner}) AS base) AS stacked GROUP BY {keys}"
    )


def _parsed(column: AskedColumn, words: Sequence[str]) -> list[Any]:
    """Values that were turned into strings to share a column."""
    if column.number_of is None:
        return [int(word) for word in words]
    by_word = {_as_word(level): level for level in column.number_of}
    return [by_word.get(word) for word in words]


def _as_word(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def by_attribute(batch: Batch) -> Iterator[Groups]:
    """One GROUP BY for each cover and attribute: for engines that know nothing better."""
    for cover in batch.covers():
        for attribute in batch.asked(cover):

            def grouped(table: Any, cover: Cover = cover, name: str = f"a{attribute}") -> Any:
                base = batch.base(table, [cover])
                return base.group_by(["n0", name, *batch.keys()]).agg(**expression_measures(batch.schema, base))

            fetched = batch.database.fetch(grouped)
            codes = batch.columns[attribute].numbers(fetched.column(f"a{attribute}").to_pylist())
            numbers = _whole(fetched.column("n0"))
            yield Groups(attribute, numbers, np.array(codes, dtype=np.int64), read_outputs(batch.schema, fetched))


FORMS: dict[str, Callable[[Batch], Iterator[Groups]]] = {
    "grouping sets": by_grouping_sets,
    "stack": by_stack,
    "group by": by_attribute,
}
# The quickest form by engine, as measured (the guide has the numbers).
BEST_FORM = {"duckdb": "grouping sets", "postgres": "grouping sets", "pyspark": "stack"}
