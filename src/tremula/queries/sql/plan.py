"""What learning from a table will ask, told before anything is asked: only the catalogue of the database is read.

The queries are written by the same code that asks, on made-up levels and cuts, since the true ones would have to be
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tremula.parameters import check_choice
from tremula.queries.arrays import DEFAULT_BINS, TASKS
from tremula.queries.question import EVERYWHERE, Question, Schema
from tremula.queries.sql.batch import Batch
from tremula.queries.sql.columns import MAX_LEVELS, column_names, describe_column, read_class_labels
from tremula.queries.sql.database import Database, open_table
from tremula.queries.sql.query_forms import BEST_FORM, FORMS

MADE_UP = "made up {}"  # levels and classes in the queries shown


@dataclass(frozen=True)
class PlannedColumn:
    """A column, and how it will be asked about."""

    name: str
    type: str
    kind: str
    query: str


@dataclass(frozen=True)
class Plan:
    """What a fit will ask.

    Attributes
    ----------
    engine : str
        As ibis calls it.
    form : str
        How a batch of questions becomes a query.
    target : PlannedColumn
    columns : tuple of PlannedColumn
    queries_first : int
        For the classes, levels and quantiles.
    queries_a_level : int
        For each level of all trees together; more where a level has thousands of different paths.
    level_query : tuple of str
        The SQL of the first level, with made-up levels and cuts.
    """

    engine: str
    form: str
    target: PlannedColumn
    columns: tuple[PlannedColumn, ...]
    queries_first: int
    queries_a_level: int
    level_query: tuple[str, ...]

    def n_queries(self, max_depth: int | None) -> int | None:
        """Return how many queries there are at least, if the trees reach this depth; None where none is given."""
        return None if max_depth is None else self.queries_first + max_depth * self.queries_a_level


def plan_queries(
    url: str,
    table: str | None,
    target: str,
    attributes: Sequence[str] | None = None,
    categorical_features: Sequence[str] = (),
    n_bins: int = DEFAULT_BINS,
    task: str = "auto",
    form: str | None = None,
) -> Plan:
    r"""Tell what `connect` and a fit on it will ask.

    Parameters
    ----------
    url, table, target, attributes, categorical_features, n_bins, task, form
        As `connect` takes them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "visits.csv")
    ...     _ = file.write_text("ward,again\nA,yes\nA,no\nB,no\nB,no\n")
    ...     plan = plan_queries(str(file), None, "again")
    >>> plan.form, plan.queries_first, plan.n_queries(max_depth=3)
    ('grouping sets', 2, 5)
    """
    check_choice("task", task, TASKS)
    unsent = Unsent(partial(open_table, url, table))
    names = column_names(unsent.table.columns, target, attributes, categorical_features)
    chosen = form or BEST_FORM.get(unsent.engine, "group by")
    classes = read_class_labels(unsent, target, task)
    asked = [
        describe_column(unsent, name, target, name in categorical_features, n_bins, MAX_LEVELS, None) for name in names
    ]
    queries = unsent.take()
    kinds = ["numeric" if classes is None else "nominal", *_kinds(asked)]
    planned = [
        PlannedColumn(name, str(unsent.table[name].type()), kind, sql)
        for name, kind, sql in zip([target, *names], kinds, queries)
    ]
    schema = Schema(tuple(column.attribute for column in asked), target, classes)
    level = _level_queries(unsent, schema, asked, chosen)
    unsent.close()
    return Plan(unsent.engine_name, chosen, planned[0], tuple(planned[1:]), len(queries), len(level), tuple(level))


def _kinds(asked: Sequence[Any]) -> list[str]:
    return ["nominal" if column.attribute.is_nominal else "numeric" for column in asked]


def _level_queries(unsent: Unsent, schema: Schema, columns: Sequence[Any], form: str) -> list[str]:
    question = Question(EVERYWHERE, tuple(range(len(schema.attributes))))
    for _ in FORMS[form](Batch(unsent, schema, columns, [question])):
        pass
    return unsent.take()


class Unsent(Database):
    """A database that is told what would be asked, and answers with values made up by their types."""

    def __init__(self, table: Callable[[], Any]) -> None:
        super().__init__(table, retries=0)
        self.engine_name = self.engine
        self._queries: list[str] = []

    def take(self) -> list[str]:
        """Return the SQL written since the last time."""
        taken, self._queries = self._queries, []
        return taken

    def fetch(self, make: Callable[[Any], Any]) -> Any:
        """Write the query down; the answer has two rows, or those groups that there would be none of."""
        expression = make(self.table)
        self._queries.append(self.compile(expression))
        return _made_up(expression.schema())

    def fetch_sql(self, make: Callable[[Any], str]) -> Any:
        """Write the query down; the answer has no rows."""
        self._queries.append(make(self.table))
        return _Nothing()


def _made_up(schema: Any) -> Any:
    """Return two rows of a schema, of values that fit their types."""
    import pyarrow

    columns = {name: [_value(kind, number) for number in (1, 2)] for name, kind in schema.items()}
    return pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})


def _value(kind: Any, number: int) -> Any:
    if kind.is_boolean():
        return number == 1
    if kind.is_string():
        return MADE_UP.format(number)
    return number if kind.is_integer() else float(number)


class _Nothing:
    """Groups of which there are none."""

    num_rows = 0

    def column(self, name: str) -> Any:
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array([], pyarrow.int64())])
