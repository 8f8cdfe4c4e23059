"""The counts of all different rows of a table, fetched by one query: questions about it are then answered in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.queries.arrays import CODE_TYPES, ArrayOracle
from tremula.queries.question import Schema
from tremula.queries.sql.columns import QueriedColumn, with_target
from tremula.queries.sql.database import Database


def fetch_cube(
    database: Database, schema: Schema, columns: Sequence[QueriedColumn], max_rows: int
) -> ArrayOracle | None:
    """Return an oracle in memory of all rows of a table; None if it has more rows, or a numeric target.

    The sums of a numeric target would be added up in another order than the database does.
    """
    if schema.classes is None:
        return None
    counted = database.fetch(lambda t: with_target(database, t, schema.target).count().name("n").as_table())
    if counted.column("n")[0].as_py() > max_rows:
        return None

    def grouped(table: Any) -> Any:
        known = with_target(database, table, schema.target)
        values = {f"a{number}": column.value(known) for number, column in enumerate(columns)}
        base = known.select(**values, y=known[schema.target])
        return base.group_by(base.columns).agg(c=base.count())

    fetched = database.fetch(grouped)
    place = {label: number for number, label in enumerate(schema.classes)}
    target = np.array([place.get(label, -1) for label in fetched.column("y").to_pylist()])
    # A class that was added after the schema was read is not counted.
    counts = np.where(target < 0, 0, fetched.column("c").to_numpy())
    largest = max(attribute.n_values for attribute in schema.attributes)
    dtype = next(dtype for dtype in CODE_TYPES if largest <= np.iinfo(dtype).max)
    codes = np.stack([column.codes(fetched.column(f"a{number}")) for number, column in enumerate(columns)])
    return ArrayOracle.from_codes(schema, np.repeat(codes.astype(dtype), counts, axis=1), np.repeat(target, counts))
