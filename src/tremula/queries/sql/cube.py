"""The counts of all different rows of a table, fetched by one query: questions about it are then answered in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.arrays import CODE_TYPES, ArrayOracle
from tremula.queries.question import Path, Question, Schema
from tremula.queries.sql.columns import QueriedColumn, with_target
from tremula.queries.sql.database import Database

AUTO = "auto"
MAX_AUTO_CELLS = 200_000_000  # of a table that is fetched without being told so: rows times attributes
NUMBERS_OF_A_COUNT = 4  # fetched for each count: path, value, class and the count


class CubeChoice:
    """Decides when the different rows of a table are fetched instead of further counts.

    Parameters
    ----------
    limit : int or "auto"
        Number of rows up to which a table is fetched at once. "auto" fetches it when more numbers have been fetched
        for counts than the table has, so that both together cost at most twice the better of the two.
    """

    def __init__(self, limit: int | str) -> None:
        self._limit = limit
        self._n_numbers = 0
        self._n_rows: int | None = None

    def add(self, n_counts: int) -> None:
        """Note the number of counts that a query returned."""
        self._n_numbers += n_counts * NUMBERS_OF_A_COUNT

    def pays(self, database: Database, schema: Schema) -> bool:
        """Whether the different rows are to be fetched now; the rows are counted by a query the first time."""
        if self._limit == 0:
            return False
        if self._n_rows is None:
            counted = database.fetch(lambda t: with_target(database, t, schema.target).count().name("n").as_table())
            self._n_rows = int(counted.column("n")[0].as_py())
        if self._limit != AUTO:
            return self._n_rows <= int(self._limit)
        n_attributes = len(schema.attributes)
        is_small = self._n_rows * n_attributes <= MAX_AUTO_CELLS
        return is_small and self._n_numbers > self._n_rows * (n_attributes + 2)


def fetch_cube(database: Database, schema: Schema, columns: Sequence[QueriedColumn]) -> ArrayOracle:
    """Return an oracle in memory of all rows of a table.

    The rows are sorted, so that the sums of a numeric target do not depend on the order in which they are fetched.
    """
    is_numeric = schema.classes is None

    def grouped(table: Any) -> Any:
        known = with_target(database, table, schema.target)
        values = {f"a{number}": column.value(known) for number, column in enumerate(columns)}
        target = known[schema.target]
        base = known.select(**values, y=target.cast("float64") if is_numeric else target)
        return base.group_by(base.columns).agg(c=base.count())

    fetched = database.fetch(grouped)
    largest = max(attribute.n_values for attribute in schema.attributes)
    dtype = next(dtype for dtype in CODE_TYPES if largest <= np.iinfo(dtype).max)
    codes = np.stack([column.codes(fetched.column(f"a{number}")) for number, column in enumerate(columns)])
    target, counts = _targets(schema, fetched), np.asarray(fetched.column("c").to_numpy(), dtype=np.int64)
    # A class that was added after the schema was read is not counted.
    rows = np.lexsort((target, *codes))
    rows = np.repeat(rows, np.where(is_numeric | (target >= 0), counts, 0)[rows])
    return ArrayOracle.from_codes(schema, codes.astype(dtype)[:, rows], target[rows])


def _targets(schema: Schema, fetched: Any) -> NDArray[Any]:
    if schema.classes is None:
        return np.asarray(fetched.column("y").to_numpy(), dtype=np.float64)
    place = {label: number for number, label in enumerate(schema.classes)}
    return np.array([place.get(label, -1) for label in fetched.column("y").to_pylist()], dtype=np.int64)


def find_ancestors(cube: ArrayOracle, questions: Sequence[Question], parents: Mapping[Path, Path]) -> None:
    """Let an oracle in memory find the rows on the parents of paths, from the root on.

    It would otherwise search for the rows of each path among all rows.
    """
    by_depth: list[list[Path]] = []
    depths: dict[Path, int] = {(): 0}
    for question in questions:
        chain = [parents.get(question.path, ())]
        while chain[-1] not in depths:
            chain.append(parents.get(chain[-1], ()))
        for path in reversed(chain[:-1]):
            depths[path] = depths[parents.get(path, ())] + 1
            by_depth.extend([] for _ in range(len(by_depth), depths[path]))
            by_depth[depths[path] - 1].append(path)
    for paths in by_depth:
        cube.count([Question(path, (), parent=parents.get(path, ())) for path in paths])
