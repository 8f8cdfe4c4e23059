"""A temporary table of the database's own session, with the number of each value and of each row's path.

Every depth replaces it by one statement, and counts are groups of small whole numbers. Rows do not leave the database;
the table is as old as its first count, and is made anew where the session was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import QueryFailed
from tremula.queries.question import EVERYWHERE, MOMENTS, Path, Question, Schema, joint_shape
from tremula.queries.sql.columns import QueriedColumn
from tremula.queries.sql.database import Database, QueryTooLong
from tremula.queries.sql.sessions import large_groups
from tremula.queries.sql.working_sql import (
    Layout,
    TooManyValues,
    advance_sql,
    count_sql,
    create_sql,
    drop_sql,
    joint_sql,
    step_rows,
    tables_of_numbers,
)
from tremula.queries.sql.working_steps import plan_advance, plan_stages, starts_at_root

WORKING_TABLES = ("auto", True, False)
ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
MAX_SQL = 100_000  # bytes of one query or statement; a batch that needs more is divided
MAX_ANSWER = 20_000_000  # numbers of the answers to one query of counts
MIN_CHUNK = 4000  # questions of one query
BYTES_OF_WORD = 8
MAX_BYTES = 8_000_000_000  # of the copies of rows at one depth
MAX_NAMES = 1000
ALREADY_THERE = "already exists"  # in the message of every engine
INLINE_SHARE = 3  # a statement has up to this share of its bytes for a table of numbers; larger ones are tables
SPARE_SQL = 1000  # bytes of a statement around a table of numbers


class WorkingTable:
    """Counts from a temporary table of codes.

    Parameters
    ----------
    database : Database
    schema : Schema
    columns : sequence of QueriedColumn
    choice : "auto" or bool
        True raises an error if the engine or the role does not allow a temporary table; "auto" then does without.

    Attributes
    ----------
    refusal : str or None
        Why there is no working table; None if there is one, or none was needed yet.
    """

    def __init__(
        self, database: Database, schema: Schema, columns: Sequence[QueriedColumn], choice: str | bool
    ) -> None:
        self._database, self._schema, self._columns = database, schema, columns
        self._choice = choice
        self._name = ""  # which the names of all its tables begin with
        self._opening = 0  # of the database, in which the table was made
        self._n_tables = 0
        self._root = self._current = ""  # names of tables: of all rows at the root, and on the paths asked about last
        self._paths: list[Path] = []  # on which the rows are, by their numbers
        self.refusal: str | None = "working_table is False" if choice is False else None

    @property
    def is_in_use(self) -> bool:
        """Whether the table was made."""
        return self._opening > 0 and self.refusal is None

    def is_ready(self) -> bool:
        """Whether the table can be used; it is made by the first call."""
        if self.refusal is not None or self._opening:
            return self.refusal is None
        engine = self._database.engine
        if engine not in ENGINES:
            self._refuse(f"no temporary tables are made in {engine}", None)
            return False
        try:
            self._database.in_session(self._make, is_retried=False)
        except (QueryTooLong, TooManyValues) as error:
            self._refuse(str(error), error)
        except Exception as error:  # each engine has errors of its own
            if not self._database.is_alive():
                return False  # other queries open the connection again
            self._refuse(f"{engine} did not make a temporary table: {error}", error)
        return self.refusal is None

    def has_room(self, n_copies: float) -> bool:
        """Whether the table may have so many copies of rows; otherwise queries do without it at this depth."""
        return n_copies * (len(self._layout.words) + 1) * BYTES_OF_WORD <= MAX_BYTES

    def _refuse(self, reason: str, error: Exception | None) -> None:
        if self._choice is True:
            raise QueryFailed(f"{reason}; use working_table='auto' to count without one") from error
        self.refusal = reason

    def _make(self) -> None:
        """Make the table of codes in the present session."""
        self._opening = 0
        self._layout = Layout(self._database, self._schema, self._columns)
        self._root = self._current = self._create_root(self._layout.rows_sql(self._database.table))
        self._paths = [EVERYWHERE]
        self._opening = self._database.n_openings

    def _create_root(self, select: str) -> str:
        """Make the first table, under the first name that is free: several oracles may share a session."""
        for number in range(MAX_NAMES):
            self._name, self._n_tables = f"tremula_{number}", 0
            try:
                return self._create(select)
            except Exception as error:  # each engine has errors of its own
                if ALREADY_THERE not in str(error):
                    raise
        raise QueryFailed(f"the session has {MAX_NAMES} working tables: close the oracles that are done")

    def _create(self, select: str) -> str:
        name = f"{self._name}_{self._n_tables}"
        self._database.execute(create_sql(self._database.engine, name, select), MAX_SQL)
        self._n_tables += 1
        return name

    def _drop(self, name: str) -> None:
        for sql in drop_sql(self._database.engine, name):
            self._database.execute(sql)

    def close(self) -> None:
        """Drop the tables, if their session is still there."""
        if self._opening and self._opening == self._database.n_openings:
            self._opening = 0
            for name in {self._root, self._current}:
                self._drop(name)

    def count(
        self, questions: Sequence[Question], others: Sequence[Path], parents: Mapping[Path, Path]
    ) -> dict[Question, NDArray[Any]]:
        """Answer questions that are not joint.

        Parameters
        ----------
        questions : sequence of Question
            No path twice.
        others : sequence of Path
            Further paths, which the next questions may lead on from.
        parents : mapping of Path to Path
            Wider paths by which a path may be reached.
        """
        answers: dict[Question, NDArray[Any]] = {}
        paths = list(dict.fromkeys([*(question.path for question in questions), *others]))
        n_chunk = max(MIN_CHUNK, MAX_ANSWER // (self._schema.n_cells * self._schema.n_outputs))
        for first in range(0, len(questions), n_chunk):
            chunk = questions[first : first + n_chunk]
            answers |= self._database.in_session(partial(self._count_chunk, chunk, first, paths, parents))
        return answers

    def _count_chunk(
        self, questions: Sequence[Question], first: int, paths: list[Path], parents: Mapping[Path, Path]
    ) -> dict[Question, NDArray[Any]]:
        if self._opening != self._database.n_openings:
            self._make()
        self._place(paths, parents)
        empty = self._schema.empty_answer()
        answers = np.zeros((len(questions), *empty.shape), dtype=empty.dtype)
        attributes = sorted({attribute for question in questions for attribute in question.attributes})
        if attributes:
            last = first + len(questions)
            limits = first if first else None, last if last < len(paths) else None
            with large_groups(self._database):
                fetched = self._database.run_sql(count_sql(self._layout, self._current, attributes, limits))
            _fill(answers, self._schema, fetched, first)
        return dict(zip(questions, answers))

    def _place(self, paths: list[Path], parents: Mapping[Path, Path]) -> None:
        """Bring the rows to these paths, whose numbers are then their places."""
        if paths == self._paths:
            return
        stages, before = plan_stages(paths, parents, set(self._paths))
        if paths == [EVERYWHERE] or starts_at_root(stages, before, set(self._paths)):
            self._replace(self._root, [EVERYWHERE])
        for stage in stages if paths != [EVERYWHERE] else []:
            self._advance(stage, before)

    def _advance(self, wanted: list[Path], before: Mapping[Path, Path]) -> None:
        """Bring the rows to paths that are one step away, or where they are."""
        placed = {path: number for number, path in enumerate(self._paths)}
        advance = plan_advance(wanted, before, placed, self._schema)
        rows = step_rows(self._layout, advance.splits)
        steps, step_tables = self._table_of("steps", "oghfltsb", rows)
        ends, end_tables = self._table_of("ends", "op", tuple(advance.numbers.items()))
        words = sorted({row[1] for row in rows})
        name = self._create(advance_sql(self._layout, self._current, steps, ends, words))
        self._replace(name, wanted)
        for table in (*step_tables, *end_tables):
            self._drop(table)

    def _table_of(self, name: str, columns: str, rows: Sequence[Sequence[int]]) -> tuple[str, list[str]]:
        """Return the SQL of a table of numbers, and the names of temporary tables that hold it if it is long."""
        engine = self._database.engine
        texts = tables_of_numbers(engine, name, columns, rows, MAX_SQL // INLINE_SHARE)
        if len(texts) == 1:
            return texts[0], []
        texts = tables_of_numbers(engine, name, columns, rows, MAX_SQL - SPARE_SQL)
        tables = [self._create(f"SELECT * FROM {text}") for text in texts]
        return f"({' UNION ALL '.join(f'SELECT * FROM {table}' for table in tables)}) AS {name}", tables

    def _replace(self, name: str, paths: list[Path]) -> None:
        """Go on with another table, whose rows are on these paths."""
        old, self._current, self._paths = self._current, name, paths
        if old not in (self._root, name):
            self._drop(old)

    def count_joint(self, question: Question) -> NDArray[Any]:
        """Answer a joint question."""

        def fetch() -> Any:
            if self._opening != self._database.n_openings:
                self._make()
            return self._database.run_sql(joint_sql(self._layout, self._root, question))

        fetched = self._database.in_session(fetch)
        answer = np.zeros(joint_shape(self._schema, question.attributes), dtype=self._schema.empty_answer().dtype)
        fields = [_integers(fetched.column(f"k{attribute}")) for attribute in question.attributes]
        if self._schema.classes is None:
            answer[tuple(fields)] = _moments(fetched)
            return answer
        # Rows of other classes are in groups of their own: the class is the same in all fields of a group.
        values = [field // self._layout.n_classes for field in fields]
        answer[*values, fields[0] % self._layout.n_classes] = _integers(fetched.column("c"))
        return answer


def _fill(answers: NDArray[Any], schema: Schema, fetched: Any, first: int) -> None:
    """Put fetched groups, all different, into the answers to the questions from the first one on."""
    paths, cells = _integers(fetched.column("n")) - first, _integers(fetched.column("v"))
    if schema.classes is None:
        answers[paths, cells] = _moments(fetched)
    else:
        answers.reshape(-1)[paths * (schema.n_cells * schema.n_outputs) + cells] = _integers(fetched.column("c"))


def _integers(column: Any) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _moments(fetched: Any) -> NDArray[np.float64]:
    columns = [np.array([float(value) for value in fetched.column(name).to_pylist()]) for name in ("c", "s", "q")]
    return np.stack(columns, axis=1).reshape(-1, MOMENTS)
