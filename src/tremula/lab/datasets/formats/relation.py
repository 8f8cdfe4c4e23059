"""Rows that DuckDB can read become typed columns. Every format ends here, so that all of them decide alike.

A format says where the rows are and what it knows of each column, as a `Field`. Whether text holds numbers, dates,
amounts or levels is found out here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tremula.data.column import show
from tremula.errors import counted
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.written_values import SEEN, Form, possible_forms, swapped

SAMPLE = 5_000  # rows that the kind of a text column is first guessed from
LARGEST_EXACT = 2**53  # above it, a float64 cannot tell neighbouring whole numbers apart
FETCHED = 500  # numeric columns that one query fetches
INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
DECIMAL_COMMA = r"'[+-]?(\d*,\d+|\d+,?)'"

DASHES = "('-', '--', '.', '\N{EN DASH}', '\N{EM DASH}')"  # for a missing number, among numbers only

# How a column can be read: the SQL of its values, and the kind of column that they make.
READINGS = {
    "number": ("CAST({0} AS DOUBLE)", "number"),
    "number or dash": (f"CASE WHEN {{0}} NOT IN {DASHES} THEN CAST({{0}} AS DOUBLE) END", "number"),
    "decimal comma": ("CAST(replace({0}, ',', '.') AS DOUBLE)", "number"),
    "date text": ("epoch_us(CAST({0} AS TIMESTAMPTZ)) / 1e6 / 86400.0", "date"),
    "time": ("epoch_us({0}) / 1e6 / 86400.0", "date"),
    "words": ("CAST({0} AS VARCHAR)", "nominal"),
    "boolean": ("CASE WHEN {0} THEN 'True' WHEN NOT {0} THEN 'False' END", "nominal"),
}
# The reading of each type of field; None where the text itself decides.
READING_OF_TYPE = {
    "text": None,
    "string": None,
    "numeric text": "number",
    "number": "number",
    "integer": "number",
    "time": "time",
    "boolean": "boolean",
    "nominal": "words",
}


@dataclass(frozen=True)
class Field:
    """What a format knows of a column.

    Attributes
    ----------
    name : str
        What users call it.
    key : str
        SQL of its values.
    type : str
        A key of `READING_OF_TYPE`: ``text`` of a text file may be numbers, dates or levels, a ``string`` of a typed
        source dates or levels, and ``numeric text`` must be numbers. Other types are refused.
    """

    name: str
    key: str
    type: str


def new_connection() -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory that never fetches extensions."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET TimeZone = 'UTC'")  # dates without a time zone are as they stand
    return connection


def quote_name(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def typed_fields(connection: duckdb.DuckDBPyConnection, sql: str, nominal: Collection[str] = ()) -> list[Field]:
    """Return the fields of a typed source; those in `nominal` are nominal whatever their type."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    return [Field(row[0], quote_name(row[0]), "nominal" if row[0] in nominal else _type(row[1])) for row in described]


def _type(name: str) -> str:
    if name in INTEGERS:
        return "integer"
    if name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return "number"
    if name == "DATE" or name.startswith("TIMESTAMP"):
        return "time"
    if name.startswith("ENUM"):
        return "nominal"
    return {"VARCHAR": "string", "BOOLEAN": "boolean"}.get(name, name)


@dataclass(eq=False)
class Relation:
    """Rows that DuckDB can read.

    Attributes
    ----------
    connection : duckdb connection
    sql : str
        What stands after FROM.
    fields : sequence of Field
    name : str
        What reports call the table.
    source : str
        Where it is.
    explain : callable
        Turns an error of DuckDB into one that says what to do.
    notes : list of str
        What a user should know of how it was read.
    cleaned : str
        SQL of a value ``{0}`` without spaces around it, NULL where a word says that it is missing.
    decimal_commas : bool
        Whether a comma may separate decimals.
    parsed : callable or None
        From the keys of numeric columns to SQLs of the same rows in which the scan parses these columns itself: none
        of them is held as text. The first is the fastest; each fails where a value is not a number. None where the
        source is typed.
    """

    connection: duckdb.DuckDBPyConnection
    sql: str
    fields: Sequence[Field]
    name: str
    source: str
    explain: Callable[[duckdb.Error], Exception]
    notes: list[str] = field(default_factory=list)
    cleaned: str = "{0}"
    decimal_commas: bool = False
    parsed: Callable[[Collection[str]], Sequence[str]] | None = None
    _forms: dict[str, Form] = field(default_factory=dict, init=False)
    _known_dates: Mapping[str, str] = field(default_factory=dict, init=False)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [each.name for each in self.fields]

    def read(
        self,
        names: Iterable[str] | None = None,
        as_words: Collection[str] = (),
        undated: Collection[str] = (),
        dates: Mapping[str, str] | None = None,
    ) -> dict[str, Column]:
        """Read columns.

        Parameters
        ----------
        names : iterable of str, default=None
            Which, in this order; None is all.
        as_words : collection of str, default=()
            Columns whose text is kept as written. Dates, and whole numbers too large for a float64, become text.
        undated : collection of str, default=()
            Columns whose text is never read as dates.
        dates : mapping of str to str, default=None
            The form in which a column has its dates, where several are possible.

        Returns
        -------
        dict of str to Column
        """
        by_name = {each.name: each for each in self.fields}
        fields = [by_name[name] for name in (self.names if names is None else names)]
        self._known_dates = dates or {}
        try:
            readings = self._load(fields, {each.name: self._declared(each, as_words) for each in fields}, undated)
            columns = self._columns(fields, readings)
        except duckdb.Error as error:
            raise self.explain(error) from error
        finally:
            self.connection.execute("DROP TABLE IF EXISTS loaded")
        self._note_forms(fields, readings)
        dashes = [name for name, reading in readings.items() if reading == "number or dash"]
        if dashes:
            self.notes.append(
                f"A dash or point alone counts as missing in {counted(len(dashes), 'column')}: {show(dashes)}."
            )
        commas = [name for name, reading in readings.items() if reading == "decimal comma"]
        if commas:
            self.notes.append(f"Decimal commas were read in {counted(len(commas), 'column')}: {show(commas)}.")
        if not all(map(len, columns.values())):
            raise UnusableDataset(f"{self.source} has no rows: at least one is needed")
        return columns

    # --- how each column is read ---

    def _declared(self, each: Field, as_words: Collection[str]) -> str | None:
        """Return the reading that the type of a field decides, or None."""
        if each.type not in READING_OF_TYPE:
            raise UnusableDataset(
                f"column {each.name!r} of {self.source} has the type {each.type}: numbers, text, dates and booleans "
                f"can be read; leave it out with --drop {each.name!r}"
            )
        if each.name in as_words and (each.type in ("text", "string", "time") or self._is_too_large(each)):
            return "words"
        return READING_OF_TYPE[each.type]

    def _is_too_large(self, each: Field) -> bool:
        query = f"SELECT max(abs(CAST({each.key} AS DOUBLE))) > {LARGEST_EXACT} FROM {self.sql}"
        return each.type == "integer" and bool(self._first_row(query)[0])

    def _load(
        self, fields: Sequence[Field], declared: dict[str, str | None], undated: Collection[str]
    ) -> dict[str, str]:
        """Put the typed columns into the table ``loaded``, in columns k0, k1, ...; return their readings.

        Kinds are guessed from a sample. What it shows as numbers or dates is read as such; if that fails further down,
        or the sample misses a whole column, all rows are looked at first.
        """
        undecided = [each for each in fields if declared[each.name] is None]
        n_rows = self._first_row(f"SELECT count(*) FROM (SELECT 1 FROM {self.sql} LIMIT {SAMPLE})")[0]
        readings = declared | self._look(undecided, undated, f" LIMIT {SAMPLE}")
        if n_rows < SAMPLE or None not in readings.values():
            for sql in self._quick_scans(undecided, readings):
                with suppress(duckdb.Error):
                    return self._create(fields, readings, sql, "{0}")
            self._refuse_word_among_numbers(fields)
        return self._create(fields, declared | self._look(undecided, undated, ""), self.sql, self.cleaned)

    def _quick_scans(self, undecided: Sequence[Field], readings: Mapping[str, str | None]) -> Sequence[str]:
        """Return the SQLs to try before every value is looked at."""
        numeric = [each.key for each in undecided if readings[each.name] == "number"]
        return [self.sql] if self.parsed is None or not numeric else self.parsed(numeric)

    def _look(self, fields: Sequence[Field], undated: Collection[str], limit: str) -> dict[str, str | None]:
        """Find out how each text column is to be read; None where it is missing in every row."""
        if not fields:
            return {}
        selected = ", ".join(f"{each.key} AS v{number}" for number, each in enumerate(fields))
        has_comma = f"regexp_full_match(x, {DECIMAL_COMMA})" if self.decimal_commas else "false"
        # One row for each value: the time to plan a query of many columns grows with their square.
        values = f"UNPIVOT (SELECT {selected} FROM {self.sql}{limit}) ON COLUMNS(*) INTO NAME name VALUE value"
        counts = self.connection.execute(
            "SELECT name, count(x), count(TRY_CAST(x AS DOUBLE)), "
            "count(*) FILTER (x LIKE '____-__-__%' AND TRY_CAST(x AS TIMESTAMPTZ) IS NOT NULL), "
            f"count(*) FILTER ({has_comma}), count(*) FILTER (x IN {DASHES}) "
            f"FROM (SELECT name, {self.cleaned.format('value')} AS x FROM ({values})) GROUP BY name"
        )
        counts_of = {name: numbers for name, *numbers in counts.fetchall()}
        readings = {}
        for number, each in enumerate(fields):
            n_present, n_numbers, n_dates, n_commas, n_dashes = counts_of.get(f"v{number}", (0, 0, 0, 0, 0))
            n_or_dash = n_numbers + n_dashes if n_numbers > n_dashes else 0
            shares = {
                "number": n_numbers,
                "date text": n_dates,
                "decimal comma": n_commas,
                "number or dash": n_or_dash,
            }
            excluded = {"date text"} if each.name in undated else set()
            excluded |= {"number", "number or dash"} if each.type == "string" else set()
            fitting = [reading for reading, n in shares.items() if n == n_present and reading not in excluded]
            readings[each.name] = None if n_present == 0 else next(iter(fitting), "words")
        for each in fields:
            if readings[each.name] == "words":
                readings[each.name] = self._written(each, each.name in undated, limit)
        return readings

    def _written(self, each: Field, is_undated: bool, limit: str) -> str:
        """Return the form in which all values of a column of words are written, or else ``words``."""
        values = f"SELECT {self.cleaned.format(each.key)} AS x FROM (SELECT * FROM {self.sql}{limit})"
        first = self.connection.execute(f"SELECT x FROM ({values}) WHERE x IS NOT NULL LIMIT {SEEN}").fetchall()
        possible = [form for form in possible_forms([row[0] for row in first]) if form.kind != "date" or not is_undated]
        if not possible:
            return "words"
        counts = ", ".join(f"count(*) FILTER ({form.fits.format('x')})" for form in possible)
        n_present, *n_fitting = self._first_row(f"SELECT count(x), {counts} FROM ({values})")
        fitting = {form.name: form for form, n in zip(possible, n_fitting) if n == n_present}
        self._forms |= fitting
        known = self._known_dates.get(each.name, "")
        return known if known in fitting else next(iter(fitting), "words")

    def _reading(self, name: str) -> tuple[str, str]:
        """Return the SQL of a reading, and the kind of column that it makes."""
        form = self._forms.get(name)
        return READINGS[name] if form is None else (form.value, form.kind)

    def _note_forms(self, fields: Sequence[Field], readings: Mapping[str, str]) -> None:
        """Say which columns were read as amounts, and where day and month could be exchanged."""
        amounts = [name for name, reading in readings.items() if reading.startswith("amount")]
        if amounts:
            where = f"{counted(len(amounts), 'column')}: {show(amounts)}"
            self.notes.append(f"Amounts such as $1,200 or 15 % were read as numbers in {where}.")
        for each in fields:
            form = readings[each.name]
            other = self._forms.get(swapped(form))
            if form in self._known_dates.values() or other is None or "%d" not in form:
                continue
            rows = f"SELECT {self.cleaned.format(each.key)} AS x FROM {self.sql}"
            if self._first_row(f"SELECT count(x) = count(*) FILTER ({other.fits.format('x')}) FROM ({rows})")[0]:
                first = "day" if form.index("%d") < form.index("%m") else "month"
                self.notes.append(
                    f"The dates of column {each.name!r} can be read in two ways: the {first} was taken to come first. "
                    "Write them as 2024-05-31 to be sure."
                )

    def _create(
        self, fields: Sequence[Field], readings: Mapping[str, str | None], sql: str, cleaned: str
    ) -> dict[str, str]:
        """Create the table of typed columns; without the cleaning of each number, which takes time, this may fail."""
        decided = {each.name: readings[each.name] or "words" for each in fields}
        # Words are cleaned later, each level once.
        selected = ", ".join(
            f"{self._reading(reading)[0].format(each.key if reading == 'words' else cleaned.format(each.key))} AS k{n}"
            for n, (each, reading) in enumerate(zip(fields, decided.values()))
        )
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE loaded AS SELECT {selected} FROM {sql}")
        return decided

    def _refuse_word_among_numbers(self, fields: Sequence[Field]) -> None:
        """Name the first word in a column that was declared as numeric."""
        for each in fields:
            if each.type == "numeric text":
                rows = f"SELECT {each.key} AS x, row_number() OVER () AS row FROM {self.sql}"
                query = f"SELECT row, x FROM ({rows}) WHERE x IS NOT NULL AND TRY_CAST(x AS DOUBLE) IS NULL LIMIT 1"
                for row, word in self.connection.execute(query).fetchall():
                    raise UnusableDataset(
                        f"row {row} of {self.source} has {word!r} in the numeric attribute {each.name!r}: give a "
                        "number, or ? where it is missing"
                    )

    # --- the values ---

    def _first_row(self, query: str) -> tuple[Any, ...]:
        return self.connection.execute(query).fetchall()[0]

    def _fetch(self, expression: str, source: str = "loaded") -> NDArray[Any]:
        return self.connection.execute(f"SELECT {expression} AS x FROM {source}").fetchnumpy()["x"]

    def _columns(self, fields: Sequence[Field], readings: Mapping[str, str]) -> dict[str, Column]:
        kinds = [self._reading(readings[each.name])[1] for each in fields]
        numbers = self._fetch_numbers([f"k{n}" for n, kind in enumerate(kinds) if kind != "nominal"])
        columns = {}
        for n, (each, kind) in enumerate(zip(fields, kinds)):
            if kind == "nominal":
                codes, levels = self._levels(f"k{n}")
                declared = each.type in ("nominal", "boolean")
                columns[each.name] = Column(kind, codes, levels, declared=declared)
            else:
                form = readings[each.name] if kind == "date" and readings[each.name] in self._forms else ""
                columns[each.name] = Column(kind, numbers[f"k{n}"], integer=each.type == "integer", form=form)
        return columns

    def _fetch_numbers(self, keys: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return numeric columns, many with each query: the time to plan one grows with the columns of the table."""
        numbers = {}
        for first in range(0, len(keys), FETCHED):
            selected = ", ".join(keys[first : first + FETCHED])
            fetched = self.connection.execute(f"SELECT {selected} FROM loaded").fetchnumpy()
            for key, values in fetched.items():
                numbers[key] = np.ma.filled(values.astype(np.float64, copy=False), np.nan)
        return numbers

    def _levels(self, key: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the codes of a column of words, and its levels in their order."""
        n_rows, n_words = self._first_row(f"SELECT count(*), count({key}) FROM loaded")
        if n_words == 0:
            return np.full(n_rows, -1, dtype=np.int32), np.empty(0, dtype=object)
        # DuckDB codes the words of an ENUM by their order.
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TYPE words AS ENUM (SELECT DISTINCT {key} FROM loaded WHERE {key} IS NOT NULL "
            f"ORDER BY {key})"
        )
        codes = self._fetch(f"CAST(coalesce(enum_code(CAST({key} AS words)), -1) AS INTEGER)")
        cleaned = self._fetch(self.cleaned.format("word"), "(SELECT unnest(enum_range(NULL::words)) AS word)")
        is_level = ~np.ma.getmaskarray(cleaned)
        levels, level_of = np.unique(np.ma.getdata(cleaned)[is_level].astype(object), return_inverse=True)
        code_of = np.full(len(cleaned) + 1, -1, dtype=np.int32)  # the last is that of a missing value
        code_of[:-1][is_level] = level_of
        return code_of[np.ma.getdata(codes)], levels
