"""The query of a batch in which each row is a list of cell numbers: all attributes are counted by one grouping.

A cell is a value of an attribute, numbered as in an answer. Rows find their paths by looking up a cell in the list, and
the lists are unnested and grouped by path, cell and class. All keys are small integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import MOMENTS
from tremula.queries.sql.batch import Batch
from tremula.queries.sql.path_walks import STAY, Step, small_table

# Where a list is made, where its elements become rows, and where one is looked up; by engine.
LISTS = {"pyspark": ("array({})", "explode({})", "element_at({}, {})")}
ARRAYS = ("ARRAY[{}]", "unnest({})", "{}[{}]")
ANY_CELL = 2**31 - 1  # above the number of every cell
OTHER_CLASS = -1


def cell_lists_sql(batch: Batch, table: Any) -> str:
    """Return the SQL of the counts by path, cell and class."""
    _, unnest, _ = LISTS.get(batch.database.engine, ARRAYS)
    kept = ", ".join(["n", "y", *batch.weights])
    keys = ", ".join(["n", "v", *batch.keys])
    cells = f"SELECT {kept}, {unnest.format('a')} AS v FROM ({_walked_sql(batch, table)}) AS walked"
    return f"SELECT {keys}, {batch.measures} FROM ({cells}) AS cells GROUP BY {keys}"


def _walked_sql(batch: Batch, table: Any) -> str:
    """Return the SQL of rows with their list of cells, each repeated for every path ``n`` that it is on."""
    *_, look_up = LISTS.get(batch.database.engine, ARRAYS)
    kept = ", ".join(["a", *batch.weights, "y"])
    cell = look_up.format("a", "g")
    # PostgreSQL would otherwise merge the queries into one, and make the list anew wherever it is used.
    apart = " OFFSET 0" if batch.database.engine == "postgres" else ""
    sql = f"SELECT 0 AS n, {kept} FROM ({_listed_sql(batch, table)}) AS base{apart}"
    for level in batch.walk.levels:
        steps = small_table(batch.database.engine, "steps", "ogflbs", [_with_cells(batch, step) for step in level])
        sql = (
            f"SELECT b + s * v AS n, {kept} FROM (SELECT f, l, b, s, {cell} AS v, {kept} FROM "
            f"({sql}) AS walk JOIN {steps} ON n = o{apart}) AS step "
            "WHERE v BETWEEN f AND l"
        )
    if not batch.walk.levels:
        return sql
    ends = small_table(batch.database.engine, "ends", "o", [(number,) for number in batch.walk.places])
    return f"SELECT n, {kept} FROM ({sql}) AS walk JOIN {ends} ON n = o"


def _with_cells(batch: Batch, step: Step) -> Step:
    """Return a step with the place of its attribute in the list, and with cells instead of values."""
    if step.attribute == STAY:
        return step._replace(attribute=1, last=ANY_CELL)
    start = int(batch.schema.starts[step.attribute])
    return Step(
        step.start,
        batch.used.index(step.attribute) + 1,
        step.first + start,
        step.last + start,
        step.end - step.stride * start,
        step.stride,
    )


def _listed_sql(batch: Batch, table: Any) -> str:
    """Return the SQL of rows as lists of cells, with the number of their class or with their target."""
    make, *_ = LISTS.get(batch.database.engine, ARRAYS)
    rows = batch.database.compile_once(("valued rows", *batch.used), lambda: batch.valued_rows(table))
    starts = batch.schema.starts
    cells = ", ".join(cell_sql(batch, attribute, int(starts[attribute])) for attribute in batch.used)
    y = "y" if batch.schema.classes is None else f"{class_sql(batch)} AS y"
    return f"SELECT {make.format(cells)} AS a, {', '.join([*batch.weights, y])} FROM ({rows}) AS valued"


def cell_sql(batch: Batch, attribute: int, start: int) -> str:
    """Return the SQL of the cell of a row's value."""
    column, name = batch.columns[attribute], f"a{attribute}"
    if column.number_of is None:
        return f"CAST({start} + {name} AS INTEGER)"
    numbers = {level: start + number for level, number in column.number_of.items()}
    return _number_sql(batch, name, numbers, start + column.attribute.n_values)


def class_sql(batch: Batch) -> str:
    """Return the SQL of the number of a row's class; a negative number for a class that the schema does not have."""
    assert batch.schema.classes is not None
    numbers = {label: number for number, label in enumerate(batch.schema.classes)}
    return _number_sql(batch, "y", numbers, OTHER_CLASS)


def _number_sql(batch: Batch, name: str, numbers: dict[Any, int], other: int) -> str:
    """Return the SQL of the number of a label, or of another number for labels that have none."""
    levels = list(numbers)
    first = numbers[levels[0]]
    is_in_order = list(numbers.values()) == list(range(first, first + len(levels)))
    if batch.database.engine == "duckdb" and is_in_order and all(isinstance(level, str) for level in levels):
        # An ENUM looks a label up by its hash; CASE compares it with one label after the other.
        labels = ", ".join(map(batch.database.quote, levels))
        code = f"CAST(enum_code(TRY_CAST({name} AS ENUM({labels}))) AS INTEGER)"
        return f"COALESCE({first} + {code}, {other})"
    cases = " ".join(f"WHEN {batch.database.quote(level)} THEN {number}" for level, number in numbers.items())
    return f"CASE {name} {cases} ELSE {other} END"


def read_cells(batch: Batch, fetched: Any) -> tuple[tuple[NDArray[np.int64], ...], NDArray[Any]]:
    """Return where fetched groups belong in the answers to a batch (question, cell and class), and their counts."""
    paths, cells = batch.places[_integers(fetched.column("n"))], _integers(fetched.column("v"))
    if batch.schema.classes is None:
        moments = [np.asarray(fetched.column(name).to_numpy(), dtype=np.float64) for name in ("c", "s", "q")]
        return (paths, cells), np.stack(moments, axis=1).reshape(-1, MOMENTS)
    classes, counts = _integers(fetched.column("y")), _integers(fetched.column("c"))
    known = classes != OTHER_CLASS  # a class that was added after the schema was read is not counted
    return (paths[known], cells[known], classes[known]), counts[known]


def _integers(column: Any) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(), dtype=np.int64)
