"""Plans the queries of a fit before any is sent; only the catalogue of the database is read.

The code that sends queries also writes those of the plan, with placeholder levels and cuts: the real ones would have to
be queried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tremula.parameters import check_choice
from tremula.queries.arrays import DEFAULT_BINS, TASKS
from tremula.queries.contributions import check_bounds
from tremula.queries.domains import check_domain_names
from tremula.queries.question import EVERYWHERE, Question, Schema
from tremula.queries.sql.batch import Batch
from tremula.queries.sql.columns import MAX_LEVELS, QueriedColumn, column_names, describe_column, read_class_labels
from tremula.queries.sql.contributions import Limit, limit_contributions
from tremula.queries.sql.database import Database, table_or_opener
from tremula.queries.sql.query_forms import BEST_FORM, FORMS
from tremula.queries.sql.working_table import WorkingTable

PLACEHOLDER = "placeholder {}"  # for the levels and classes in planned queries


@dataclass(frozen=True)
class PlannedColumn:
    """A column, and the query for its levels or quantiles; empty if these are stated."""

    name: str
    type: str
    kind: str
    query: str


@dataclass(frozen=True)
class Plan:
    """The queries of a fit.

    Attributes
    ----------
    engine : str
        Name of the engine in ibis.
    form : str
        Form of the query of a batch.
    target : PlannedColumn
    columns : tuple of PlannedColumn
    column_queries : int
        Number of queries for the classes, levels and quantiles.
    queries_per_depth : int
        Number of queries for one depth of all trees together; more are sent if it has thousands of different paths.
    root_queries : tuple of str
        SQL of the queries for the root, with placeholder levels and cuts.
    working_table : str or None
        SQL of the statement that makes a temporary table before the first depth, with placeholder levels and cuts; a
        further statement replaces it before each other depth. None if queries do without.
    """

    engine: str
    form: str
    target: PlannedColumn
    columns: tuple[PlannedColumn, ...]
    column_queries: int
    queries_per_depth: int
    root_queries: tuple[str, ...]
    working_table: str | None = None

    def n_queries(self, max_depth: int | None) -> int | None:
        """Return the minimum number of queries if the trees reach a depth; None if the depth is not limited."""
        return None if max_depth is None else self.column_queries + max_depth * self.queries_per_depth


def plan_queries(
    url: Any,
    table: str | None,
    target: str,
    attributes: Sequence[str] | None = None,
    categorical_features: Sequence[str] = (),
    n_bins: int = DEFAULT_BINS,
    task: str = "auto",
    form: str | None = None,
    person_id: str | None = None,
    rows_per_person: int = 1,
    target_bounds: Sequence[float] | None = None,
    domains: Mapping[str, Any] | None = None,
    classes: Sequence[Any] | None = None,
    working_table: str | bool = "auto",
) -> Plan:
    r"""Plan the queries that `connect` and a fit will send.

    Parameters
    ----------
    url, table, target, attributes, categorical_features, n_bins, task, form, person_id, rows_per_person
        As in `connect`.
    target_bounds, domains, classes, working_table
        As in `connect`; whether a role may make temporary tables is not known before it is tried.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "visits.csv")
    ...     _ = file.write_text("ward,again\nA,yes\nA,no\nB,no\nB,no\n")
    ...     plan = plan_queries(str(file), None, "again")
    >>> plan.form, plan.column_queries, plan.n_queries(max_depth=3)
    ('cell lists', 2, 5)
    """
    check_choice("task", task, TASKS)
    bounds = None if target_bounds is None else check_bounds(target_bounds)
    limit = limit_contributions(target, attributes, person_id, rows_per_person, bounds, classes)
    database = DryRunDatabase(table_or_opener(url, table), limit)
    names = column_names(database.table.columns, target, attributes, categorical_features, person_id)
    stated = check_domain_names(domains, names)
    chosen_form = form or BEST_FORM.get(database.engine, "group by")
    labels = read_class_labels(database, target, task, classes, bounds is not None)
    queries, columns = [database.take_queries()], []
    for name in names:
        is_nominal = name in categorical_features
        described = describe_column(database, name, target, is_nominal, n_bins, MAX_LEVELS, None, stated.get(name))
        columns.append(described)
        queries.append(database.take_queries())
    kinds = ["nominal" if column.attribute.is_nominal else "numeric" for column in columns]
    target_kind = "numeric" if labels is None else "nominal"
    planned = [
        PlannedColumn(name, str(database.table[name].type()), kind, ";\n".join(own))
        for name, kind, own in zip([target, *names], [target_kind, *kinds], queries)
    ]
    schema = Schema(tuple(column.attribute for column in columns), target, labels)
    statement = None
    if working_table is True or (working_table == "auto" and form is None):
        statement, root_queries = _working_queries(database, schema, columns)
    if statement is None:
        root_queries = _root_queries(database, schema, columns, chosen_form)
    database.close()
    return Plan(
        engine=database.engine_name,
        form=chosen_form,
        target=planned[0],
        columns=tuple(planned[1:]),
        column_queries=sum(map(len, queries)),
        queries_per_depth=len(root_queries),
        root_queries=tuple(root_queries),
        working_table=statement,
    )


def _working_queries(
    database: DryRunDatabase, schema: Schema, columns: Sequence[QueriedColumn]
) -> tuple[str | None, list[str]]:
    """Return the statement that makes a working table, and the queries for the root; None if there is none."""
    working = WorkingTable(database, schema, columns, "auto")
    if not working.is_ready():
        return None, []
    (statement,) = database.take_queries()
    working.count([Question(EVERYWHERE, tuple(range(len(schema.attributes))))], [], {})
    return statement, database.take_queries()


def _root_queries(database: DryRunDatabase, schema: Schema, columns: Sequence[QueriedColumn], form: str) -> list[str]:
    question = Question(EVERYWHERE, tuple(range(len(schema.attributes))))
    for _ in FORMS[form](Batch(database, schema, columns, [question])):
        pass  # only the queries are of interest, not the groups
    return database.take_queries()


class DryRunDatabase(Database):
    """A database that records queries instead of sending them, and answers with placeholder values."""

    def __init__(self, table: Any, limit: Limit | None = None) -> None:
        super().__init__(table, retries=0, limit=limit)
        self.engine_name = self.engine
        self._queries: list[str] = []

    def take_queries(self) -> list[str]:
        """Return the SQL of the queries since the last call."""
        queries, self._queries = self._queries, []
        return queries

    def fetch(self, make: Callable[[Any], Any], max_length: float = inf) -> Any:
        """Record the query, and return two rows of placeholders."""
        expression = make(self.table)
        self._queries.append(self.compile(expression))
        return _placeholder_rows(expression.schema())

    def run_sql(self, sql: str, max_length: float = inf) -> Any:
        """Record the query, and return no rows."""
        self._queries.append(sql)
        return _EmptyResult()

    def execute(self, sql: str, max_length: float = inf) -> None:
        """Record the statement."""
        self._check_length(sql, max_length)
        self._queries.append(sql)

    def fetch_sql(self, make: Callable[[Any], str], max_length: float = inf) -> Any:
        """Record the query, and return no rows."""
        self._queries.append(make(self.table))
        return _EmptyResult()


def _placeholder_rows(schema: Any) -> Any:
    """Return two rows of a schema, with values that fit the types of the columns."""
    import pyarrow

    columns = {name: [_placeholder(kind, number) for number in (1, 2)] for name, kind in schema.items()}
    return pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})


def _placeholder(kind: Any, number: int) -> Any:
    if kind.is_boolean():
        return number == 1
    if kind.is_string():
        return PLACEHOLDER.format(number)
    return number if kind.is_integer() else float(number)


class _EmptyResult:
    """A result without rows."""

    num_rows = 0

    def column(self, name: str) -> Any:
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array([], pyarrow.int64())])
