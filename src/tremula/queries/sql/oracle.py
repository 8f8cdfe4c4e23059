"""Answers from a table in a database: each batch of questions is one query, and only counts are fetched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_choice, check_mapping, check_number, check_text, read_names
from tremula.queries.arrays import DEFAULT_BINS, TASKS, ArrayOracle
from tremula.queries.contributions import check_bounds
from tremula.queries.domains import check_cuts, check_domain_names, stated_levels
from tremula.queries.oracle import MOST_BINS, MOST_RETRIES
from tremula.queries.question import Path, Question, Schema, is_within, joint_shape
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
from tremula.queries.sql.database import Database, QueryTooLong
from tremula.queries.sql.held_out import HeldOutRows
from tremula.queries.sql.identifiers import find_identifiers
from tremula.queries.sql.parts import Part, count_different_rows
from tremula.queries.sql.query_forms import BEST_FORM, FORMS
from tremula.queries.sql.siblings import Difference, are_exact, count_copies, find_differences
from tremula.queries.sql.working_table import MAX_SQL, WORKING_TABLES, WorkingTable

MAX_PATHS = 4000  # of one query; larger batches are divided
MAX_SHARE = 0.9  # of the rows that can be held out
MAX_ALIKE = 0.05  # share of rows that are like an earlier one, up to which rows alike are held out together


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
    form : {"cell lists", "grouping sets", "stack", "group by"} or None, default=None
        Form of the query of a batch; None chooses the fastest form for the engine.
    cube_rows : int or "auto", default=0
        A table of up to this many rows is fetched as the counts of its different rows, by one query, and all questions
        are answered from these in memory. "auto" does this as soon as more numbers have been fetched for counts than
        the table has, if it has at most 200 million values. This is many times faster for deep trees, but this process
        then has every different row: use it where the table may be read, as beside the database of a site that
        `tremula serve` answers for. 0 never does this.
    working_table : {"auto"} or bool, default="auto"
        Whether the session of the database keeps a temporary table with the numbers of all values and of the paths that
        rows are on, so that no query computes them anew. Rows do not leave the database. All counts are then those of
        the table as it was at the first one. "auto" does without where the engine or the role does not allow it, as in
        a transaction that only reads, or where `form` is given; True raises an error then. See `working_table_refusal`.
        A depth whose copies of rows would take more than 8 GB is counted without it, with the same answers.
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
        working_table: str | bool = "auto",
        retries: int = 2,
        on_query: Callable[[str], None] | None = None,
        person_id: str | None = None,
        rows_per_person: int = 1,
        target_bounds: Sequence[float] | None = None,
        domains: Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "categorical_features": categorical_features,
            "n_bins": n_bins,
            "max_levels": max_levels,
            "task": task,
            "cuts": cuts,
            "form": form,
            "cube_rows": cube_rows,
            "working_table": working_table,
            "retries": retries,
            "on_query": on_query,
            "person_id": person_id,
            "rows_per_person": rows_per_person,
            "target_bounds": target_bounds,
            "domains": domains,
            "classes": classes,
        }
        check_text("target", target)
        if attributes is not None:
            attributes = read_names("attributes", attributes)
        if person_id is not None:
            check_text("person_id", person_id)
        if classes is not None:
            self._options["classes"] = stated_levels("target", classes)
        _check_options(self._options)
        self._answers: dict[Question, NDArray[Any]] = {}
        self._known: dict[Path, tuple[frozenset[int], NDArray[Any]]] = {}
        self._parents: dict[Path, Path] = {}
        self._cube_choice = CubeChoice(cube_rows)
        self._cube: ArrayOracle | None = None
        self._open(table, target, attributes)

    def _open(self, table: Any, target: str, attributes: Sequence[str] | None) -> None:
        """Open the table, and read its schema."""
        options = self._options
        bounds = None if options["target_bounds"] is None else check_bounds(options["target_bounds"])
        persons = options["person_id"], options["rows_per_person"]
        self._limit = limit_contributions(target, attributes, *persons, bounds, options["classes"])
        self._database = Database(table, options["retries"], options["on_query"], self._limit)
        form, choice = options["form"], options["working_table"]
        self._form = FORMS[form or BEST_FORM.get(self._database.engine, "group by")]
        self._read_schema(target, attributes, bounds)
        has_form = choice == AUTO and form is not None
        self._working = WorkingTable(self._database, self._schema, self._columns, False if has_form else choice)

    def _read_schema(self, target: str, attributes: Sequence[str] | None, bounds: tuple[float, float] | None) -> None:
        """Query the classes, and the levels and quantiles of the columns that are not stated."""
        options, database = self._options, self._database
        person_id, nominal, classes = options["person_id"], options["categorical_features"], options["classes"]
        names = column_names(database.table.columns, target, attributes, nominal, person_id)
        if person_id is not None:
            check_persons(database, target, person_id)
        labels = read_class_labels(database, target, options["task"], classes, bounds is not None)
        if labels is not None and bounds is not None:
            raise InvalidInput("target_bounds was given, but classes have no bounds: leave it out, or the task")
        options["task"] = "regression" if labels is None else "classification"
        given, stated = dict(options["cuts"] or {}), check_domain_names(options["domains"], names)
        n_bins, max_levels = options["n_bins"], options["max_levels"]
        self._columns = [
            describe_column(
                database, name, target, name in nominal, n_bins, max_levels, given.get(name), stated.get(name)
            )
            for name in names
        ]
        read = [name for name in names if name not in given and name not in stated]
        self._schema = Schema(
            tuple(column.attribute for column in self._columns),
            target,
            labels,
            person_id=person_id,
            rows_per_person=1 if person_id is None else options["rows_per_person"],
            target_bounds=bounds,
            from_rows=tuple(read if labels is None or classes is not None else [*read, target]),
        )

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    @property
    def n_queries(self) -> int:
        """Number of queries sent so far whose answers were fetched; statements of a working table have none."""
        return self._database.n_queries

    @property
    def has_fetched_rows(self) -> bool:
        """Whether the counts of all different rows were fetched; see `cube_rows`."""
        return self._cube is not None

    @property
    def working_table_refusal(self) -> str | None:
        """Why queries do without a working table; None if there is one, or if nothing was counted yet."""
        return self._working.refusal

    def close(self) -> None:
        """Drop the working table, and close the connection, if `connect` opened it; cached answers stay available."""
        self._working.close()
        self._database.close()

    def __enter__(self) -> TableOracle:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def find_identifiers(self) -> list[str]:
        """Return the columns that look as if they named or numbered the rows; this takes one query.

        These are nominal columns with fewer than 5 rows for each level, and whole numbers that never repeat, in a range
        of at most 10 times the rows.
        """
        return find_identifiers(self._database, self._schema)

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
        margins = [question for question in new if not question.joint]
        differences: list[Difference] = []
        if are_exact(self._schema):
            margins, differences = find_differences(self._schema, margins, self._known)
        for question in (*new, *margins):
            if question.path != question.parent and is_within(question.path, question.parent):
                self._parents[question.path] = question.parent
        if margins and self._cube_choice.pays(self._database, self._schema):
            return self._count_in_memory(questions)
        paths = [question.path for question in questions if not question.joint]
        n_copies = count_copies(
            self._schema, {*paths, *(question.path for question in margins)}, self._parents, self._known
        )
        if margins and self._working.is_ready() and self._working.has_room(n_copies):
            self._keep(self._count_in_session(margins, paths))
            margins = []
        for first in range(0, len(margins), MAX_PATHS):
            if self._cube_choice.pays(self._database, self._schema):
                return self._count_in_memory(questions)
            self._keep(self._count_margins(margins[first : first + MAX_PATHS]))
        self._subtract(differences)
        for question in new:
            if question.joint:
                self._answers[question] = self._count_joint(question)
        return [self._answers[question] for question in questions]

    def _subtract(self, differences: Sequence[Difference]) -> None:
        """Answer what follows from other answers; where the table was changed between them, it is asked instead."""
        for difference in differences:
            answer = difference.answer(self._schema, self._known)
            question = difference.question
            self._keep(self._count_margins([question]) if answer is None else {question: answer})

    def _keep(self, answers: Mapping[Question, NDArray[Any]]) -> None:
        self._answers.update(answers)
        for question, answer in answers.items():
            attributes, before = frozenset(question.attributes), self._known.get(question.path)
            if before is not None and not attributes >= before[0]:
                attributes, answer = attributes | before[0], np.maximum(answer, before[1])
            self._known[question.path] = attributes, answer

    def _count_in_memory(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        self._cube = fetch_cube(self._database, self._schema, self._columns)
        find_ancestors(self._cube, questions, self._parents)
        return self._cube.count(questions)

    def _count_in_session(self, questions: Sequence[Question], paths: Sequence[Path]) -> dict[Question, NDArray[Any]]:
        """Answer questions by the working table; further questions may lead on from the paths."""
        answers = self._working.count(questions, paths, self._parents)
        is_asked = _asked_cells(self._schema, questions)
        for answer, asked in zip(answers.values(), is_asked):
            if not asked.all():
                answer[~asked] = 0
            self._cube_choice.add(int(np.count_nonzero(answer)))
        return answers

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
            np.add.at(answers, groups.places, groups.counts)
            self._cube_choice.add(len(groups.counts))
        answers[~_asked_cells(self._schema, questions)] = 0
        return dict(zip(questions, answers))

    def _count_joint(self, question: Question) -> NDArray[Any]:
        if self._working.is_in_use:
            return self._working.count_joint(question)
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


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise an error if an option of an oracle has an impossible value."""
    check_number("n_bins", options["n_bins"], 2, MOST_BINS, whole=True)
    check_number("max_levels", options["max_levels"], 1, whole=True)
    if not (isinstance(options["cube_rows"], str) and options["cube_rows"] == AUTO):
        check_number("cube_rows", options["cube_rows"], 0, whole=True)
    if not isinstance(options["working_table"], bool):
        check_choice("working_table", options["working_table"], WORKING_TABLES)
    check_number("retries", options["retries"], 0, MOST_RETRIES, whole=True)
    check_choice("task", options["task"], TASKS)
    read_names("categorical_features", options["categorical_features"])
    check_cuts(options["cuts"])
    if options["domains"] is not None:
        check_mapping("domains", options["domains"])
    if options["on_query"] is not None and not callable(options["on_query"]):
        raise InvalidParameter(f"on_query is of type {type(options['on_query']).__name__}: give a function, or None")
    if options["form"] is not None:
        check_choice("form", options["form"], FORMS)


def _asked_cells(schema: Schema, questions: Sequence[Question]) -> NDArray[np.bool_]:
    """Whether each cell is of an attribute that a question asks about: (n_questions, n_cells)."""
    asked = np.zeros((len(questions), len(schema.attributes)), dtype=bool)
    for number, question in enumerate(questions):
        asked[number, list(question.attributes)] = True
    return np.repeat(asked, np.diff(schema.starts), axis=1)


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
