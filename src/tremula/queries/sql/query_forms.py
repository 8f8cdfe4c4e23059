"""The forms that a batch of questions can take as a query, and its fetched groups as counts.

Engines differ in which form is quickest; the answers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.sql.batch import Batch, expression_measures, read_outputs
from tremula.queries.sql.columns import AskedColumn
from tremula.queries.sql.path_covers import Cover


@dataclass(frozen=True)
class Groups:
    """Fetched groups of rows: of which path, with which value of which attribute, and how many of each class."""

    attribute: int
    paths: NDArray[np.int64]
    values: NDArray[np.int64]
    outputs: NDArray[Any]


def by_grouping_sets(batch: Batch) -> Iterator[Groups]:
    """One GROUP BY GROUPING SETS: a set for each attribute. A key that a set lacks is NULL in its groups."""
    fetched = batch.database.fetch_sql(partial(_sets_sql, batch))
    outputs, numbers = read_outputs(batch.schema, fetched), _whole(fetched.column("n"))
    for attribute in batch.attributes:
        values = fetched.column(f"a{attribute}")
        rows = np.flatnonzero(values.is_valid().to_numpy())
        if len(rows):
            codes = batch.columns[attribute].numbers(values.take(rows).to_pylist())
            yield Groups(attribute, numbers[rows], np.array(codes), outputs[rows])


def _sets_sql(batch: Batch, table: Any) -> str:
    sets = ", ".join(f"({', '.join(['n', f'a{attribute}', *batch.keys])})" for attribute in batch.attributes)
    keys = ", ".join(["n", *(f"a{attribute}" for attribute in batch.attributes), *batch.keys])
    return f"SELECT {keys}, {batch.measures} FROM ({batch.spread_sql(table)}) AS base GROUP BY GROUPING SETS ({sets})"


def _whole(column: Any) -> NDArray[np.int64]:
    return np.array(column.to_pylist(), dtype=np.int64)


def by_stack(batch: Batch) -> Iterator[Groups]:
    """Spark's way: every row becomes one for each attribute, with its value's number, and these are grouped."""
    fetched = batch.database.fetch_sql(partial(_stack_sql, batch))
    outputs, numbers = read_outputs(batch.schema, fetched), _whole(fetched.column("n"))
    which, values = _whole(fetched.column("attribute")), fetched.column("value")
    for attribute in batch.attributes:
        rows = np.flatnonzero(which == attribute)
        if len(rows):
            words = values.take(rows).to_pylist()
            codes = batch.columns[attribute].numbers(_parsed(batch.columns[attribute], words))
            yield Groups(attribute, numbers[rows], np.array(codes), outputs[rows])


def _stack_sql(batch: Batch, table: Any) -> str:
    pairs = ", ".join(f"{attribute}, CAST(a{attribute} AS STRING)" for attribute in batch.attributes)
    keys = ", ".join(["n", "attribute", "value", *batch.keys])
    kept = ", ".join(["n", "y", *batch.weights])
    return (
        f"SELECT {keys}, {batch.measures} FROM (SELECT {kept}, stack({len(batch.attributes)}, {pairs}) AS (attribute, "
        f"value) FROM ({batch.spread_sql(table)}) AS base) AS stacked GROUP BY {keys}"
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
    for cover in batch.covers:
        for attribute in batch.asked(cover):
            name = f"a{attribute}"
            fetched = batch.database.fetch(partial(_grouped, batch, cover, name))
            codes = batch.columns[attribute].numbers(fetched.column(name).to_pylist())
            numbers = _whole(fetched.column("n0"))
            yield Groups(attribute, numbers, np.array(codes, dtype=np.int64), read_outputs(batch.schema, fetched))


def _grouped(batch: Batch, cover: Cover, name: str, table: Any) -> Any:
    rows = batch.rows(table)
    numbered = rows.select(name, "y", n0=batch.number(rows, cover.root))
    on_a_path = numbered.filter(numbered["n0"].notnull())
    return on_a_path.group_by(["n0", name, *batch.keys]).agg(**expression_measures(batch.schema, on_a_path))


FORMS: dict[str, Callable[[Batch], Iterator[Groups]]] = {
    "grouping sets": by_grouping_sets,
    "stack": by_stack,
    "group by": by_attribute,
}
# The quickest form by engine, as measured (the guide has the numbers).
BEST_FORM = {"duckdb": "grouping sets", "postgres": "grouping sets", "pyspark": "stack"}
