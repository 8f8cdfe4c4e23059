"""The forms of the query of a batch. All give the same counts; which one is fastest depends on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.sql.batch import Batch, expression_measures, read_outputs
from tremula.queries.sql.cell_lists import cell_lists_sql, read_cells
from tremula.queries.sql.columns import QueriedColumn
from tremula.queries.sql.path_covers import Cover


@dataclass(frozen=True)
class Groups:
    """Fetched groups of rows: where each belongs in the answers (question, cell and perhaps class), and its counts."""

    places: tuple[NDArray[np.int64], ...]
    counts: NDArray[Any]

    @classmethod
    def of_attribute(
        cls, batch: Batch, attribute: int, paths: NDArray[np.int64], values: NDArray[np.int64], outputs: NDArray[Any]
    ) -> Groups:
        """Make groups of the values of one attribute, with their counts by class."""
        return cls((paths, batch.schema.starts[attribute] + values), outputs)


def by_cell_lists(batch: Batch) -> Iterator[Groups]:
    """Send one query that makes a list of the cells of each row, and groups by the elements of the lists."""
    yield Groups(*read_cells(batch, batch.database.fetch_sql(partial(cell_lists_sql, batch), batch.max_length)))


def by_grouping_sets(batch: Batch) -> Iterator[Groups]:
    """Send one query with GROUPING SETS, one set for each attribute; the other attributes are NULL in its groups."""
    yield from _groups(batch, batch.database.fetch_sql(partial(_grouping_sets_sql, batch), batch.max_length))


def _grouping_sets_sql(batch: Batch, table: Any) -> str:
    sets = ", ".join(f"({', '.join(['n', f'a{attribute}', *batch.keys])})" for attribute in batch.attributes)
    # One column for the values of all attributes: of a column each, nearly all fetched cells would be NULL.
    words = "STRING" if batch.database.engine == "pyspark" else "VARCHAR"
    numbers = " ".join(f"WHEN a{attribute} IS NOT NULL THEN {attribute}" for attribute in batch.attributes)
    values = ", ".join(f"CAST(a{attribute} AS {words})" for attribute in batch.attributes)
    keys = ", ".join(["n", f"CASE {numbers} END AS attribute", f"COALESCE({values}, '') AS value", *batch.keys])
    return f"SELECT {keys}, {batch.measures} FROM ({batch.spread_sql(table)}) AS base GROUP BY GROUPING SETS ({sets})"


def by_stack(batch: Batch) -> Iterator[Groups]:
    """Send one query that repeats every row for each attribute and groups by attribute and value: fast in Spark."""
    yield from _groups(batch, batch.database.fetch_sql(partial(_stack_sql, batch), batch.max_length))


def _stack_sql(batch: Batch, table: Any) -> str:
    pairs = ", ".join(f"{attribute}, CAST(a{attribute} AS STRING)" for attribute in batch.attributes)
    keys = ", ".join(["n", "attribute", "value", *batch.keys])
    kept = ", ".join(["n", "y", *batch.weights])
    return (
        f"SELECT {keys}, {batch.measures} FROM (SELECT {kept}, stack({len(batch.attributes)}, {pairs}) AS (attribute, "
        f"value) FROM ({batch.spread_sql(table)}) AS base) AS stacked GROUP BY {keys}"
    )


def _groups(batch: Batch, fetched: Any) -> Iterator[Groups]:
    """Yield the fetched groups of each attribute; values of all attributes are strings in one column."""
    outputs, paths = read_outputs(batch.schema, fetched), batch.places[_integers(fetched.column("n"))]
    attributes, values = _integers(fetched.column("attribute")), fetched.column("value").combine_chunks()
    order = np.argsort(attributes, kind="stable")
    ends = np.searchsorted(attributes[order], [*batch.attributes, batch.attributes[-1] + 1])
    for attribute, (first, last) in zip(batch.attributes, pairwise(ends)):
        rows = order[first:last]
        if len(rows):
            words = values.take(rows).dictionary_encode()
            column = batch.columns[attribute]
            codes = np.array(column.numbers(_parsed(column, words.dictionary.to_pylist())), dtype=np.int64)
            indices = words.indices.to_numpy(zero_copy_only=False)
            yield Groups.of_attribute(batch, attribute, paths[rows], codes[indices], outputs[rows])


def _integers(column: Any) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _parsed(column: QueriedColumn, words: Sequence[str]) -> list[Any]:
    """Return the values of an attribute that were cast to strings to share one column with others."""
    if column.number_of is None:
        return [int(word) for word in words]
    by_word = {_as_word(level): level for level in column.number_of}
    return [by_word.get(word) for word in words]


def _as_word(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def by_attribute(batch: Batch) -> Iterator[Groups]:
    """Send one GROUP BY query for each cover and attribute, which every engine can run."""
    for cover in batch.covers:
        for attribute in batch.attributes_in(cover):
            name = f"a{attribute}"
            fetched = batch.database.fetch(partial(_grouped, batch, cover, name), batch.max_length)
            codes = batch.columns[attribute].numbers(fetched.column(name).to_pylist())
            numbers = _integers(fetched.column("n0"))
            values, outputs = np.array(codes, dtype=np.int64), read_outputs(batch.schema, fetched)
            yield Groups.of_attribute(batch, attribute, numbers, values, outputs)


def _grouped(batch: Batch, cover: Cover, name: str, table: Any) -> Any:
    rows = batch.rows(table)
    numbered = rows.select(name, "y", n0=batch.number(rows, cover.root))
    on_a_path = numbered.filter(numbered["n0"].notnull())
    return on_a_path.group_by(["n0", name, *batch.keys]).agg(**expression_measures(batch.schema, on_a_path))


FORMS: dict[str, Callable[[Batch], Iterator[Groups]]] = {
    "cell lists": by_cell_lists,
    "grouping sets": by_grouping_sets,
    "stack": by_stack,
    "group by": by_attribute,
}
# The fastest form by engine, as measured (the guide has the numbers).
BEST_FORM = {"duckdb": "cell lists", "postgres": "cell lists", "pyspark": "stack"}
