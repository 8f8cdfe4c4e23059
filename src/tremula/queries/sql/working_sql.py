"""The statements of a working table.

A field is the number of a value of an attribute and, if the target is a class, that of the class. Fields are packed
into whole numbers ``p0``, ``p1`` and so on, since the time to copy a row depends on the number of its columns. Other
columns are ``n`` for the path, ``w`` for the number of identical rows if these are counted first, and a numeric target
``y``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.errors import TremulaError
from tremula.queries.question import EVERYWHERE, Question, Schema
from tremula.queries.sql.batch import Batch
from tremula.queries.sql.cell_lists import cell_sql, class_sql
from tremula.queries.sql.columns import QueriedColumn
from tremula.queries.sql.database import Database
from tremula.queries.sql.path_walks import STAY, small_table
from tremula.queries.sql.working_steps import NO_CUT, Split

WORD_BITS = 63  # of a whole number of 64 bits that is not negative
FIELD_BITS = (8, 16)
FIELD_TYPES = {8: "UTINYINT", 16: "USMALLINT"}  # of DuckDB, which counts groups of small types in an array
SEPARATOR = ", "  # of the numbers in a table


class TooManyValues(TremulaError):
    """A value and a class together do not fit into a field."""


class Layout:
    """Where a working table has the fields of each attribute.

    Parameters
    ----------
    database : Database
    schema : Schema
    columns : sequence of QueriedColumn
    """

    def __init__(self, database: Database, schema: Schema, columns: Sequence[QueriedColumn]) -> None:
        self.schema, self.engine = schema, database.engine
        self.batch = Batch(database, schema, columns, [Question(EVERYWHERE, tuple(range(len(columns))))])
        self.n_classes = 1 if schema.classes is None else len(schema.classes)
        largest = max(attribute.n_values + 1 for attribute in schema.attributes) * self.n_classes
        self.bits = next((bits for bits in FIELD_BITS if largest <= 1 << bits), 0)
        if not self.bits:
            raise TooManyValues(f"{largest:,} values of an attribute by class are too many for a working table")
        self._in_word = WORD_BITS // self.bits
        words = [f"p{word}" for word in range(-(-len(columns) // self._in_word))]
        target = ["y"] if schema.classes is None else []
        self.words, self.names = words, ", ".join([*words, *self.batch.weights, *target])

    def place(self, attribute: int) -> tuple[int, int]:
        """Return the word of an attribute's field, and the bits before it."""
        word, field = divmod(attribute, self._in_word)
        return word, field * self.bits

    def field(self, attribute: int) -> str:
        """Return the SQL of a row's field of an attribute."""
        word, shift = self.place(attribute)
        return self._field_sql(f"p{word}", str(shift))

    def field_at(self, words: Sequence[int]) -> str:
        """Return the SQL of a row's field that begins at bit ``h`` of word ``g``, which is one of these words."""
        choices = " ".join(f"WHEN {word} THEN p{word}" for word in words)
        return self._field_sql(f"p{words[0]}" if len(words) == 1 else f"(CASE g {choices} END)", "h")

    def _field_sql(self, word: str, shift: str) -> str:
        shifted = f"shiftright({word}, {shift})" if self.engine == "pyspark" else f"({word} >> {shift})"
        return f"CAST({shifted} & {(1 << self.bits) - 1} AS {self._field_type})"

    @property
    def _field_type(self) -> str:
        return FIELD_TYPES[self.bits] if self.engine == "duckdb" else "INTEGER"

    def rows_sql(self, table: Any) -> str:
        """Return the SQL of the rows of a table with their fields, all at the root."""
        batch, classes = self.batch, self.schema.classes
        rows = batch.database.compile(batch.valued_rows(table))
        cells = [f"{cell_sql(batch, number, 0)} AS c{number}" for number in range(len(self.schema.attributes))]
        y = "y" if classes is None else f"{class_sql(batch)} AS y"
        coded = f"SELECT {', '.join([*cells, *batch.weights, y])} FROM ({rows}) AS valued"
        words = [self._word_sql(word) for word in range(len(self.words))]
        kept = [*words, *batch.weights, *(["y"] if classes is None else [])]
        # A class that was added after the schema was read is not counted.
        known = "" if classes is None else " WHERE y >= 0"
        return f"SELECT CAST(0 AS INTEGER) AS n, {', '.join(kept)} FROM ({coded}) AS coded{known}"

    def _word_sql(self, word: int) -> str:
        terms = []
        for number in range(len(self.schema.attributes)):
            if self.place(number)[0] == word:
                value = f"c{number}" if self.schema.classes is None else f"(c{number} * {self.n_classes} + y)"
                terms.append(f"CAST({value} AS BIGINT) * {1 << self.place(number)[1]}")
        return f"{' + '.join(terms)} AS p{word}"


STATEMENTS = ("CREATE", "CACHE", "DROP", "UNCACHE")


def is_statement(sql: str) -> bool:
    """Whether an SQL text makes or drops a working table, and fetches nothing."""
    return sql.startswith(STATEMENTS)


def create_sql(engine: str, name: str, select: str) -> str:
    """Return the statement that makes a temporary table; in Spark, a cached temporary view."""
    return f"{'CACHE TABLE' if engine == 'pyspark' else 'CREATE TEMPORARY TABLE'} {name} AS {select}"


def drop_sql(engine: str, name: str) -> list[str]:
    """Return the statements that drop a temporary table."""
    if engine == "pyspark":
        return [f"UNCACHE TABLE {name}"]
    return [f"DROP TABLE IF EXISTS {name}"]


def tables_of_numbers(
    engine: str, name: str, columns: str, rows: Sequence[Sequence[int]], max_length: int
) -> list[str]:
    """Return the SQL of a table of numbers, in parts of at most `max_length` bytes."""
    bytes_of_row = sum(len(str(max(numbers))) + len(SEPARATOR) for numbers in zip(*rows)) + len(SEPARATOR)
    n_rows = max(1, max_length // bytes_of_row)
    return [small_table(engine, name, columns, rows[first : first + n_rows]) for first in range(0, len(rows), n_rows)]


def step_rows(layout: Layout, splits: Sequence[Split]) -> list[tuple[int, ...]]:
    """Return the rows of a table of steps, with columns ``o``, ``g``, ``h``, ``f``, ``l``, ``t``, ``s`` and ``b``.

    A row whose field at bit h of word g is from f to l goes on from number o to b, plus s times its value, plus 1 if
    the field is above t.
    """
    n_classes = layout.n_classes
    rows: list[tuple[int, ...]] = []
    for start, attribute, first, last, cut, stride, end in splits:
        if attribute == STAY:
            rows.append((start, 0, 0, 0, NO_CUT, NO_CUT, 0, end))
            continue
        highest = NO_CUT if cut == NO_CUT else (cut + 1) * n_classes - 1
        place = layout.place(attribute)
        rows.append((start, *place, first * n_classes, (last + 1) * n_classes - 1, highest, stride, end))
    return rows


def advance_sql(layout: Layout, table: str, steps: str, ends: str, words: Sequence[int]) -> str:
    """Return the SQL of the rows of a table on the paths that steps lead to.

    Parameters
    ----------
    layout : Layout
    table : str
        Name of the working table.
    steps, ends : str
        SQL of the table of steps, and of the table of numbers that are kept.
    words : sequence of int
        Words that the steps test.
    """
    # PostgreSQL would otherwise merge the queries into one, and compute a field anew wherever it is used.
    apart = " OFFSET 0" if layout.engine == "postgres" else ""
    walked = (
        f"SELECT f, l, t, s, b, {layout.field_at(words)} AS k, {layout.names} FROM {table} JOIN {steps} ON n = o{apart}"
    )
    divide = {"duckdb": "k // {}", "pyspark": "k DIV {}"}.get(layout.engine, "k / {}").format(layout.n_classes)
    stepped = (
        f"SELECT b + s * ({divide}) + CASE WHEN k > t THEN 1 ELSE 0 END AS e, {layout.names} FROM ({walked}) AS walked "
        "WHERE k BETWEEN f AND l"
    )
    return f"SELECT p AS n, {layout.names} FROM ({stepped}) AS stepped JOIN {ends} ON e = o"


def count_sql(layout: Layout, table: str, attributes: Sequence[int], limits: tuple[int | None, int | None]) -> str:
    """Return the SQL of the counts of some attributes by path, from the first path up to before the last one.

    A group has the path ``n``, and the number ``v`` of the cell and class.
    """
    first, last = limits
    tests = [*([] if first is None else [f"n >= {first}"]), *([] if last is None else [f"n < {last}"])]
    rows = f"{table} WHERE {' AND '.join(tests)}" if tests else table
    starts = {number: int(layout.schema.starts[number]) * layout.n_classes for number in attributes}
    measures = layout.batch.measures
    if layout.engine in ("pyspark", "postgres"):  # which would read the table once for each attribute
        make, unnest = ("array({})", "explode({})") if layout.engine == "pyspark" else ("ARRAY[{}]", "unnest({})")
        numbers = make.format(", ".join(f"{start} + {layout.field(number)}" for number, start in starts.items()))
        kept = ", ".join(["n", *layout.names.split(", ")[len(layout.words) :]])
        return (
            f"SELECT n, v, {measures} FROM (SELECT {kept}, {unnest.format(numbers)} AS v FROM {rows}) AS fields "
            "GROUP BY n, v"
        )
    return " UNION ALL ".join(
        f"SELECT n, CAST({start} AS INTEGER) + k AS v, {measures} FROM "
        f"(SELECT *, {layout.field(number)} AS k FROM {rows}) AS fields GROUP BY n, k"
        for number, start in starts.items()
    )


def joint_sql(layout: Layout, table: str, question: Question) -> str:
    """Return the SQL of the counts of all combinations of fields, on the path of a question."""
    n_classes, attributes = layout.n_classes, layout.schema.attributes
    tests = []
    for number, first, last in question.path:
        known = min(last, attributes[number].n_values - 1)  # no condition holds for a missing value
        tests.append(f"{layout.field(number)} BETWEEN {first * n_classes} AND {(known + 1) * n_classes - 1}")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    fields = ", ".join(f"{layout.field(number)} AS k{number}" for number in question.attributes)
    keys = ", ".join(f"k{number}" for number in question.attributes)
    rows = f"SELECT *, {fields} FROM {table}{where}"
    return f"SELECT {keys}, {layout.batch.measures} FROM ({rows}) AS fields GROUP BY {keys}"
