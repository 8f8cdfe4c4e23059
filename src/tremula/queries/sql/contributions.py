"""Limits what one person contributes to the counts and sums of a database table, by the queries themselves.

The rows of a person are ordered by a checksum of their values. The order is the same in every query, and favours no
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tremula.errors import InvalidInput, InvalidTarget, UnknownTable
from tremula.parameters import check_number
from tremula.queries.question import GRID
from tremula.queries.sql.checksum import row_checksum
from tremula.queries.sql.columns import number, with_target
from tremula.queries.sql.database import Database

Limit = Callable[[Database, Any], Any]


def limit_contributions(
    target: str,
    attributes: Sequence[str] | None,
    person_id: str | None,
    rows_per_person: int,
    bounds: tuple[float, float] | None,
    classes: Sequence[Any] | None = None,
) -> Limit | None:
    """Return a function that limits a table; None if there is nothing to limit.

    Parameters
    ----------
    target : str
    attributes : sequence of str or None
        Columns to learn from; None is all.
    person_id : str or None
        Column of the person that a row belongs to.
    rows_per_person : int
    bounds : pair of float or None
        Bounds of the target. It becomes its places on the grid between them.
    classes : sequence or None
        Classes of the target that are public. Rows of others are left out.
    """
    check_number("rows_per_person", rows_per_person, 1, whole=True)
    if person_id is not None and (person_id == target or person_id in (attributes or ())):
        raise InvalidInput(f"person_id is {person_id!r}, which is to be learned from: take it out of the columns")
    if person_id is None and bounds is None and classes is None:
        return None

    def limit(database: Database, table: Any) -> Any:
        if target not in table.columns:
            return table  # reading the columns says what is wrong
        if bounds is not None:
            table = table.mutate(**{target: _places(database, table, target, bounds)})
        if classes is not None:
            table = table.filter(table[target].isin(list(classes)))
        if person_id is None:
            return table
        if person_id not in table.columns:
            raise UnknownTable(f"no column {person_id!r} in the table: name the column of persons as person_id")
        used = table.columns if attributes is None else (target, *attributes)
        columns = [name for name in table.columns if name in used and name != person_id]
        return _limit_rows(database, table, target, person_id, rows_per_person, columns)

    return limit


def check_persons(database: Database, target: str, person_id: str) -> None:
    """Raise an error if a row has no person."""

    def without_person(_: Any) -> Any:
        rows = with_target(database, database.source, target)
        return rows.filter(rows[person_id].isnull()).select(person_id).limit(1)

    if database.fetch(without_person).num_rows:
        raise InvalidInput(
            f"a row has no person, {person_id!r} is NULL: give every row a person, or connect to a view of those that "
            "have one"
        )


def _places(database: Database, table: Any, target: str, bounds: tuple[float, float]) -> Any:
    """Return the expression of the target's place on the grid, as `places_on_grid` computes it."""
    if not table[target].type().is_numeric():
        raise InvalidTarget(f"target {target!r} is of type {table[target].type()}: target_bounds is for numbers")
    low, high = bounds
    ibis, y = database.ibis, number(database, table, target)
    clamped = ibis.ifelse(y < low, low, ibis.ifelse(y > high, high, y))
    return ((clamped - (low + high) / 2) / ((high - low) / 2) * GRID + 0.5).floor().cast("float64")


def _limit_rows(
    database: Database, table: Any, target: str, person_id: str, rows_per_person: int, columns: Sequence[str]
) -> Any:
    known = with_target(database, table, target)
    checksum = row_checksum(database, known, (person_id, *columns))
    place = "place of the row"
    while place in known.columns:
        place += "_"
    # Rows with one checksum are ordered by their values: rows that are equal in all of them count the same.
    order = [checksum, *(known[name] for name in columns)]
    numbered = known.mutate(
        **{place: database.ibis.row_number().over(group_by=known[person_id], order_by=order).cast("int64")}
    )
    return numbered.filter(numbered[place] < rows_per_person).drop(place)
