"""Answers from a table in a database: each batch of questions is one query, and only counts are fetched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput
from tremula.parameters import check_choice, check_number
from tremula.queries.arrays import DEFAULT_BINS, TASKS, ArrayOracle
from tremula.queries.contributions import check_bounds
from tremula.queries.domains import check_domain_names
from tremula.queries.question import Path, Question, Schema, is_within, joint_shape
from tremula.queries.remote.client import RemoteOracle
from tremula.queries.sql.batch import Batch, expression_measures, read_outputs
from tremula.queries.sql.columns import (
    MAX_LEVELS,
    column_names,
    describe_column,
    holds,
    read_class_labels,
    with_target,
)
from tremula.queries.sql.contributions import check_persons, limit_contributions
from tremula.queries.sql.cube import AUTO, CubeChoice, fetch_cube, find_ancestors
from tremula.queries.sql.database import Database, QueryTooLong, table_or_opener
from tremula.queries.sql.held_out import HeldOutRows
from tremula.queries.sql.parts import Part, count_different_rows
from tremula.queries.sql.query_forms import BEST_FORM, FORMS

MAX_PATHS = 4000  # of one query; larger batches are divided
MAX_SQL = 100_000  # bytes of one query; a batch that needs more is divided
MAX_SHARE = 0.9  # of the rows that can be held out
MAX_ALIKE = 0.05  # share of rows that are like an earlier one, up to which rows alike are held out together


def connect(url: Any, table: str | None = None, *, target: str | None = None, **options: Any) -> Any:
    r"""Return an oracle of a table in a database, of a file, or of a site that `tremula serve` runs.

    Parameters
    ----------
    url : str or ibis table
        URL as in ibis ("duckdb://file.db", "postgresql://user@host/base", "sqlite://file.db", ...), or the path of a
        CSV or Parquet file; or a table that is open already; or the address of a site, "https://host:port".
    table : str or None, default=None
        Name of the table; not needed for a file.
    target : str, default=None
        Column to predict; required, other than for a site, which has its own.
    **options
        Further parameters of `TableOracle`, or of `RemoteOracle` for a site.

    Returns
    -------
    TableOracle or RemoteOracle

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tremula as tm
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "visits.csv")
    ...     _ = file.write_text("ward,again\nA,yes\nA,no\nB,no\nB,no\n")
    ...     oracle = tm.queries.connect(str(file), target="again")
    ...     oracle.schema.attributes[0].levels
    ('A', 'B')
    """
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        if table is not None or target is not None:
            raise InvalidInput(f"{url!r} is a site, which has its own table and target: leave them out")
        return RemoteOracle(url, **options)
    if target is None:
        raise InvalidInput("no target was given: name the column to predict, target='...'")
    return TableOracle(table_or_opener(url, table), target, **options)


class TableOracle:
    """Answers from a table in a database.

    Parameters
    ----------
    table : ibis table, or callable
        The table, or a function that opens it, which is called again after the connection is lost.
    target : str
        Column to predict; rows where it is NULL or NaN are left out.
    attributes : sequence of str or None, default=None
        Columns to learn from; None uses all but the target.
    categorical_features : sequence of str, default=()
        Integer columns to treat as nominal; strings and booleans always are.
    n_bins : int, default=32
        Number of bins of a numeric column, with about equally many rows in each. Their quantiles are queried once.
    max_levels : int, default=1000
        Maximum number of levels of a nominal column; a column with more raises an error.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" treats real numbers as a numeric target, and all other targets as classes.
    cuts : mapping of str to sequence of float or None, default=None
        Cuts of numeric columns, instead of quantiles.
    form : {"grouping sets", "stack", "group by"} or None, default=None
        Form of the query of a batch; None chooses the fastest form for the engine.
    cube_rows : int or "auto", default=0
        A table of up to this many rows is fetched as the counts of its different rows, by one query, and all questions
        are answered from these in memory. "auto" does this as soon as more numbers have been fetched for counts than
        the table has, if it has at most 200 million values. This is many times faster for deep trees, but this process
        then has every different row: use it where the table may be read, as beside the database of a site that
        `tremula serve` answers for. 0 never does this.
    retries : int, default=2
        Number of times that a failed query is sent again, on a new connection.
    on_query : callable or None, default=None
        Called with the SQL of each query before it is sent.
    person_id : str or None, default=None
        Column of the person that a row belongs to; it is not an attribute.
    rows_per_person : int, default=1
        With `person_id`, only so many rows of each person are counted: in one table always the same ones, by the order
        of a checksum of their values (MD5). Every query then sorts the rows of each person.
    target_bounds : pair of float or None, default=None
        A numeric target is clamped to these bounds, which must not depend on the rows. A privacy budget needs them.
    domains : mapping of str to sequence or None, default=None
        Public knowledge of columns, which are then not queried: the levels of a nominal column, or the bounds
        ``(lowest, highest)`` of a numeric one, between which the bins are equally wide. Other levels count as missing.
    classes : sequence or None, default=None
        The classes of the target, from public knowledge. Rows of other classes are not counted.

    Notes
    -----
    In a ``with`` statement the connection is closed at the end. Answers are cached: no question is sent twice. A fit
    that ended in an error continues where it stopped if it is called again with the same oracle and seed.

    Examples
    --------
    >>> import ibis
    >>> from tremula.queries import Question, TableOracle
    >>> visits = ibis.memtable({"ward": ["A", "A", "B"], "again": ["yes", "no", "no"]})
    >>> TableOracle(visits, "again").count([Question((), (0,))])[0]
    array([[1, 1],
           [1, 0],
           [0, 0]])
    """

    def __init__(
        self,
        table: Any,
        target: str,
        attributes: Sequence[str] | None = None,
        *,
        categorical_features: Sequence[str] = (),
        n_bins: int = DEFAULT_BINS,
        max_levels: int = MAX_LEVELS,
        task: str = "auto",
        cuts: Mapping[str, Sequence[float]] | None = None,
        form: str | None = None,
        cube_rows: int | str = 0,
        retries: int = 2,
        on_query: Callable[[str], None] | None = None,
        person_id: str | None = None,
        rows_per_person: int = 1,
        target_bounds: Sequence[float] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        check_number("n_bins", n_bins, 2, whole=True)
        check_number("max_levels", max_levels, 1, whole=True)
        if cube_rows != AUTO:
            check_number("cube_rows", cube_rows, 0, whole=True)
        check_number("retries", retries, 0, whole=True)
        check_choice("task", task, TASKS)
        if form is not None:
            check_choice("form", form, FORMS)
        bounds = None if target_bounds is None else check_bounds(target_bounds)
        limit = limit_contributions(target, attributes, person_id, rows_per_person, bounds, classes)
        self._database = Database(table, retries, on_query, limit)
        names = column_names(self._database.table.columns, target, attributes, categorical_features, person_id)
        if person_id is not None:
            check_persons(self._database, target, person_id)
        self._form = FORMS[form or BEST_FORM.get(self._database.engine, "group by")]
        labels = read_class_labels(self._database, target, task, classes, bounds is not None)
        if labels is not None and bounds is not None:
            raise InvalidInput("target_bounds was given, but classes have no bounds: leave it out, or the task")
        given, stated = dict(cuts or {}), check_domain_names(domains, names)
        self._columns = [
            describe_column(
                self._database,
                name,
                target,
                name in categorical_features,
                n_bins,
                max_levels,
                given.get(name),
                stated.get(name),
            )
            for name in names
        ]
        read = [name for name in names if name not in given and name not in stated]
        self._schema = Schema(
            tuple(column.attribute for column in self._columns),
            target,
            labels,
            person_id=person_id,
            rows_per_person=1 if person_id is None else rows_per_person,
            target_bounds=bounds,
            from_rows=tuple(read if labels is None or classes is not None else [*read, target]),
        )
        self._options: dict[str, Any] = {
            "categorical_features": categorical_features,
            "n_bins": n_bins,
            "max_levels": max_levels,
            "task": "regression" if labels is None else "classification",
            "cuts": cuts,
            "form": form,
            "cube_rows": cube_rows,
            "retries": retries,
            "on_query": on_query,
            "person_id": person_id,
            "rows_per_person": rows_per_person,
            "target_bounds": target_bounds,
            "domains": domains,
            "classes": classes,
        }
        self._limit = limit
        self._answers: dict[Question, NDArray[Any]] = {}
        self._parents: dict[Path, Path] = {}
        self._cube_choice = CubeChoice(cube_rows)
        self._cube: ArrayOracle | None = None

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    @property
    def n_queries(self) -> int:
        """Number of queries sent so far."""
        return self._database.n_queries

    @property
    def has_fetched_rows(self) -> bool:
        """Whether the counts of all different rows were fetched; see `cube_rows`."""
        return self._cube is not None

    def close(self) -> None:
        """Close the connection, if `connect` opened it; cached answers stay available."""
        self._database.close()

    def __enter__(self) -> TableOracle:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def hold_out(
        self, share: float = 0.2, key: str = "", keep_alike: bool | None = None
    ) -> tuple[TableOracle, HeldOutRows]:
        """Divide the rows into those to learn from and those to count the errors of a model on.

        Rows are held out by a checksum (MD5) of their values and a key, which every query computes: in one table always
        the same rows. The target is not among these values. With `person_id`, whole persons are held out.

        Parameters
        ----------
        share : float, default=0.2
            Expected share of the rows, or persons, that are held out.
        key : str, default=""
            Another key holds out other rows.
        keep_alike : bool or None, default=None
            Whether rows are held out together that are alike in all attributes. Otherwise rows that are alike in the
            target, too, are numbered, which sorts the rows in every query, and held out one by one. None keeps them
            together if at most 5 % of the rows are like another one, which takes one query. Persons stay together.

        Returns
        -------
        oracle : TableOracle
            Of the rows that are not held out, on the same connection. Levels, classes and quantiles are those of these
            rows.
        held_out : HeldOutRows
        """
        check_number("share", share, 0.0, MAX_SHARE, above=True)
        names, target, person = [a.name for a in self._schema.attributes], self._schema.target, self._schema.person_id
        n_rows = n_different = None
        if person is not None:
            keep_alike = True
        elif keep_alike is None:
            n_rows, n_different = count_different_rows(self._database, names, target)
            keep_alike = n_rows - n_different <= MAX_ALIKE * n_rows
        columns = tuple(names) if person is None else (person,)
        part = Part(share, key, columns, None if keep_alike else target, is_held_out=False)
        training = TableOracle(self._database.part_opener(part.rows), target, names, **self._options)
        other = self._database.part_opener(replace(part, is_held_out=True).rows)
        database = Database(other, self._options["retries"], self._options["on_query"], self._limit)
        return training, HeldOutRows(database, self._schema, columns, n_rows, n_different, keep_alike)

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; questions answered before are not sent again."""
        if self._cube is not None:
            return self._cube.count(questions)
        new = [question for question in dict.fromkeys(questions) if question not in self._answers]
        for question in new:
            if question.path != question.parent and is_within(question.path, question.parent):
                self._parents[question.path] = question.parent
        margins = [question for question in new if not question.joint]
        for first in range(0, len(margins), MAX_PATHS):
            if self._cube_choice.pays(self._database, self._schema):
                return self._count_in_memory(questions)
            self._answers.update(self._count_margins(margins[first : first + MAX_PATHS]))
        for question in new:
            if question.joint:
                self._answers[question] = self._count_joint(question)
        return [self._answers[question] for question in questions]

    def _count_in_memory(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        self._cube = fetch_cube(self._database, self._schema, self._columns)
        find_ancestors(self._cube, questions, self._parents)
        return self._cube.count(questions)

    def _count_margins(self, questions: Sequence[Question]) -> dict[Question, NDArray[Any]]:
        parts = _divided(questions)
        batch = Batch(
            self._database, self._schema, self._columns, questions, self._parents, MAX_SQL if parts else math.inf
        )
        try:
            return self._count_batch(batch)
        except QueryTooLong:
            answers = [self._count_margins(part) for part in parts]
        if len(questions) > 1:
            return answers[0] | answers[1]
        return {questions[0]: np.sum([answer for part in answers for answer in part.values()], axis=0)}

    def _count_batch(self, batch: Batch) -> dict[Question, NDArray[Any]]:
        questions = batch.questions
        empty = self._schema.empty_answer()
        answers = np.zeros((len(questions), *empty.shape), dtype=empty.dtype)
        for groups in self._form(batch):
            is_asked = np.array([groups.attribute in question.attributes for question in questions])[groups.paths]
            cells = self._schema.starts[groups.attribute] + groups.values
            np.add.at(answers, (groups.paths[is_asked], cells[is_asked]), groups.outputs[is_asked])
            self._cube_choice.add(len(groups.paths))
        return dict(zip(questions, answers))

    def _count_joint(self, question: Question) -> NDArray[Any]:
        names = [f"a{attribute}" for attribute in question.attributes]

        def grouped(table: Any) -> Any:
            known = with_target(self._database, table, self._schema.target)
            for condition in question.path:
                attribute = self._schema.attributes[condition.attribute]
                known = known.filter(holds(self._database, known, attribute, condition))
            values = {f"a{attribute}": self._columns[attribute].value(known) for attribute in question.attributes}
            base = known.select(**values, y=known[self._schema.target])
            keys = names if self._schema.classes is None else [*names, "y"]
            return base.group_by(keys).agg(**expression_measures(self._schema, base))

        fetched = self._database.fetch(grouped)
        answer = np.zeros(joint_shape(self._schema, question.attributes), dtype=self._schema.empty_answer().dtype)
        places = [
            self._columns[attribute].numbers(fetched.column(name).to_pylist())
            for attribute, name in zip(question.attributes, names)
        ]
        np.add.at(
            answer, tuple(np.array(place, dtype=np.int64) for place in places), read_outputs(self._schema, fetched)
        )
        return answer


def _divided(questions: Sequence[Question]) -> list[list[Question]]:
    """Divide questions into two halves, or a single one by its attributes; nothing if neither can be divided."""
    if len(questions) > 1:
        middle = len(questions) // 2
        return [list(questions[:middle]), list(questions[middle:])]
    attributes = questions[0].attributes
    if len(attributes) < 2:
        return []
    middle = len(attributes) // 2
    return [[replace(questions[0], attributes=half)] for half in (attributes[:middle], attributes[middle:])]
