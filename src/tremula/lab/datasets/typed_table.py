"""The rows of a file as a table of DuckDB, whose columns have the types that the reader decides.

`tremula query` counts in it: an attribute is nominal or numeric there as in `read_data`, with the same levels.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tremula.lab.datasets.column import Column
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.relation import new_connection, quote_name
from tremula.lab.datasets.inference import (
    check_column,
    choose_task,
    drop_empty,
    is_whole,
    missing_target_notes,
    read_labels,
    with_target,
)
from tremula.lab.datasets.tables import open_table

TABLE = "typed_rows"
TYPES = {"number": "DOUBLE", "date": "DOUBLE", "nominal": "VARCHAR"}


@dataclass(frozen=True, eq=False)
class TypedTable:
    """A table of typed columns.

    Attributes
    ----------
    connection : duckdb connection
    name : str
        The table in it.
    task : {'classification', 'regression'}
        What the target sets, where the task was not given.
    notes : tuple of str
        What a user should know of how it was read.
    """

    connection: Any
    name: str
    task: str
    notes: tuple[str, ...]


@contextmanager
def open_typed_table(
    place: str,
    target: str,
    task: str | None = None,
    attributes: Collection[str] | None = None,
    stated: Mapping[str, str] | None = None,
) -> Iterator[TypedTable]:
    """Read a file into a table of DuckDB in memory, which is closed at the end.

    Parameters
    ----------
    place : str
        The path of a file that `open_table` opens.
    target : str
        The column to predict, which is never read as dates.
    task : {'classification', 'regression', None}, default=None
        None guesses as `read_data` does.
    attributes : collection of str or None, default=None
        The columns to learn from; None is all but the target.
    stated : mapping of str to {'number', 'nominal'} or None, default=None
        Kinds of columns that no row decides: what is no number is missing there, and every column is kept. If given,
        there are no notes, which would tell of the rows.

    Yields
    ------
    TypedTable
        Numbers are BIGINT where all of them are whole, else DOUBLE; dates are days since 1970; booleans of a typed
        source stay booleans; all else is text.
        Columns that are missing in every row, and rows without a target, are left out.
    """
    with open_table(place) as relation:
        for name in (target, *(attributes or ())):
            check_column(name, relation.names, relation.source, "--target" if name == target else "--columns")
        names = [name for name in relation.names if attributes is None or name in attributes or name == target]
        _refuse_equal_names(names, relation.source)
        kinds = dict(stated or {})
        columns = relation.read(names, as_words=[name for name in names if name in kinds], undated=[target])
        decimal_commas = relation.decimal_commas
    described = f"target {target!r} of {relation.source}"
    if stated is None:
        columns, n_without_target = with_target(columns, target, described)
        chosen, guess = choose_task(read_labels(columns[target], described), task)
        kept, left_out = drop_empty(columns)
        notes = [guess, *relation.notes, *missing_target_notes(n_without_target, described), *left_out]
    else:
        chosen, kept, notes = _stated_task(columns[target], task, kinds.get(target), described), columns, []
    with new_connection() as connection:
        booleans = {each.name for each in relation.fields if each.type == "boolean"}
        _create(connection, kept, booleans, kinds, decimal_commas)
        yield TypedTable(connection, TABLE, chosen, tuple(note for note in notes if note))


def _stated_task(target: Column, task: str | None, kind: str | None, described: str) -> str:
    """Return the task that a stated target sets; the rows decide only if it is not stated."""
    if task is not None:
        return task
    if kind is None:
        return choose_task(read_labels(target, described), task)[0]
    return "regression" if kind == "number" else "classification"


def _create(
    connection: Any,
    columns: Mapping[str, Column],
    booleans: Collection[str],
    stated: Mapping[str, str],
    decimal_commas: bool,
) -> None:
    """Create the table of columns."""
    connection.execute("SET GLOBAL pandas_analyze_sample = 0")  # objects are text, though the first rows lack them
    arrays, selected = {}, []
    for number, (name, column) in enumerate(columns.items()):
        key = f"k{number}"
        arrays[key] = column.values if column.levels is None else column.as_objects()
        if name in stated and name not in booleans:
            selected.append(f"{_stated_value(key, stated[name], decimal_commas)} AS {quote_name(name)}")
            continue
        value = key if column.levels is not None else f"CASE WHEN NOT isnan({key}) THEN {key} END"
        whole = column.levels is None and column.kind == "number" and is_whole(column.values[~column.is_missing])
        sql_type = "BOOLEAN" if name in booleans else "BIGINT" if whole else TYPES[column.kind]
        selected.append(f"CAST({value} AS {sql_type}) AS {quote_name(name)}")
    connection.register("given", arrays)
    connection.execute(f"CREATE TEMP TABLE {TABLE} AS SELECT {', '.join(selected)} FROM given")
    connection.unregister("given")


def _stated_value(key: str, kind: str, decimal_commas: bool) -> str:
    """Return the SQL of a value of a stated kind, NULL where it is of another."""
    text = f"CAST({key} AS VARCHAR)"
    if kind != "number":
        return text
    number = f"TRY_CAST({key} AS DOUBLE)"
    other = f"TRY_CAST(replace({text}, ',', '.') AS DOUBLE)"
    number = f"coalesce({number}, {other})" if decimal_commas else number
    return f"CASE WHEN NOT isnan({number}) THEN {number} END"


def _refuse_equal_names(names: Collection[str], source: str) -> None:
    """Refuse names that SQL cannot tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise UnusableDataset(
                f"{source} has the columns {other!r} and {name!r}, which SQL cannot tell apart: rename one, or name "
                "the columns to use with --columns"
            )
