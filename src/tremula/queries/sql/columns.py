"""The columns of a database table as attributes: levels and quantiles are asked for once, before any counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tremula.data.column import show
from tremula.errors import InvalidInput, InvalidTarget, OneClassTarget, UnknownTable, did_you_mean
from tremula.queries.question import Attribute, Condition
from tremula.queries.sql.database import Database

MAX_CLASSES = 100
MAX_LEVELS = 1000  # unless told otherwise
MISSING = "missing"


@dataclass(frozen=True)
class AskedColumn:
    """A column as it is asked about.

    Attributes
    ----------
    attribute : Attribute
    value : callable
        From the table to the expression of a value; it is never NULL.
    number_of : dict or None
        From fetched values to their numbers; None where what is fetched is the number.
    """

    attribute: Attribute
    value: Callable[[Any], Any]
    number_of: dict[Any, int] | None = None

    def numbers(self, fetched: Sequence[Any]) -> list[int]:
        """Return the numbers of fetched values; a level that came after the schema was read counts as missing."""
        if self.number_of is None:
            return [int(value) for value in fetched]
        return [self.number_of.get(value, self.attribute.n_values) for value in fetched]

    @property
    def n_fetched(self) -> int:
        """How many different values can be fetched; one more than the attribute has where some are missing."""
        return self.attribute.n_values + 1 if self.number_of is None else len(self.number_of)

    def is_within(self, value: Any, condition: Condition) -> Any:
        """Whether a condition on this column holds, by what `value` gave of it."""
        if self.number_of is None:
            return value.between(condition.first, condition.last)
        return _is_one_of(value, self.attribute.levels or (), condition)


def column_names(
    present: Sequence[str], target: str, attributes: Sequence[str] | None, nominal: Sequence[str]
) -> list[str]:
    """Columns to learn from, once all that were named are there."""
    for name in (target, *(attributes or ()), *nominal):
        if name not in present:
            hint = did_you_mean(name, present) or ": name one of these"
            raise UnknownTable(f"no column {name!r} in the table (has {show(present)}){hint}")
    names = [name for name in dict.fromkeys(present if attributes is None else attributes) if name != target]
    if not names:
        raise InvalidInput(f"the table has no column but the target {target!r}: there is nothing to learn from")
    return names


def read_class_labels(database: Database, target: str, task: str) -> tuple[Any, ...] | None:
    """Class labels in order, or None where the target is a number."""
    kind = database.table[target].type()
    if task == "regression" or (task == "auto" and (kind.is_floating() or kind.is_decimal())):
        if not kind.is_numeric():
            raise InvalidTarget(f"target {target!r} is of type {kind}, not a number: use task='classification'")
        counted = database.fetch(lambda t: with_target(database, t, target).count().name("n").as_table())
        _check_rows(target, counted.column("n")[0].as_py())
        return None
    labels = database.fetch(
        lambda t: with_target(database, t, target).select(label=target).distinct().limit(MAX_CLASSES + 1)
    )
    found = labels.column("label").to_pylist()
    _check_rows(target, len(found))
    if len(found) > MAX_CLASSES:
        raise InvalidTarget(
            f"target {target!r} has more than {MAX_CLASSES} classes: is it a number (task='regression'), or a name "
            "that every row has of its own?"
        )
    if len(found) < 2:
        raise OneClassTarget(f"target {target!r} has rows of {len(found)} class: at least 2 are needed to learn")
    return tuple(sorted(found))


def _check_rows(target: str, n_rows: int) -> None:
    if n_rows == 0:
        raise InvalidTarget(f"no row of the table has a value of target {target!r}: there is nothing to count")


def describe_column(
    database: Database, name: str, target: str, is_nominal: bool, n_bins: int, max_levels: int, cuts: Any
) -> AskedColumn:
    """Ask what values a column has."""
    kind = database.table[name].type()
    if kind.is_numeric() and not kind.is_boolean() and not is_nominal:
        found = tuple(map(float, quantiles(database, name, target, n_bins) if cuts is None else cuts))
        return AskedColumn(Attribute(name, cuts=found), lambda t: _bin_number(database, t, name, found))
    if kind.is_numeric() and not (kind.is_integer() or kind.is_boolean()):
        raise InvalidInput(
            f"column {name!r} is of type {kind}, which cannot be nominal: take it out of categorical_features, or "
            "cast it to whole numbers or strings"
        )
    if not (kind.is_string() or kind.is_boolean() or kind.is_integer()):
        raise InvalidInput(
            f"column {name!r} is of type {kind}: only numbers, strings and booleans can be asked about; leave it out "
            "with attributes=[...], or cast it"
        )
    return _describe_levels(database, name, target, max_levels)


def _describe_levels(database: Database, name: str, target: str, max_levels: int) -> AskedColumn:
    fetched = database.fetch(
        lambda t: with_target(database, t, target).select(level=name).distinct().limit(max_levels + 2)
    )
    values = fetched.column("level").to_pylist()
    levels = tuple(sorted(value for value in values if value is not None))
    if len(levels) > max_levels:
        raise InvalidInput(
            f"column {name!r} has more than {max_levels} levels: leave it out with attributes=[...], group its rare "
            "levels, or raise max_levels (tables of counts grow with it)"
        )
    attribute = Attribute(name, levels=levels)
    if len(levels) == len(values):
        return AskedColumn(attribute, lambda t: t[name], {level: number for number, level in enumerate(levels)})
    if database.table[name].type().is_string():
        missing = MISSING
        while missing in levels:
            missing += "_"
        numbers = {level: number for number, level in enumerate((*levels, missing))}
        return AskedColumn(attribute, lambda t: t[name].fill_null(missing), numbers)
    pairs = [(level, number) for number, level in enumerate(levels)]
    if not pairs:
        return AskedColumn(attribute, lambda t: database.ibis.literal(0))
    return AskedColumn(attribute, lambda t: t[name].cases(*pairs, else_=len(pairs)))


def _may_be_nan(database: Database, table: Any, name: str) -> bool:
    return bool(table[name].type().is_floating() and database.engine != "sqlite")


def number(database: Database, table: Any, name: str) -> Any:
    """Take a numeric column with NaN as NULL: some engines hold NaN to be larger than every number."""
    column = table[name].cast("float64")
    if _may_be_nan(database, table, name):
        return database.ibis.ifelse(column.isnan(), database.ibis.null("float64"), column)
    return column


def with_target(database: Database, table: Any, target: str) -> Any:
    """Keep the rows that have a target: where it is NULL or NaN there is nothing to learn."""
    known = table.filter(table[target].notnull())
    return known.filter(~known[target].isnan()) if _may_be_nan(database, table, target) else known


def quantiles(database: Database, name: str, target: str, n_bins: int) -> list[float]:
    """Values that part the known rows into about equally many: of each part the largest, alike on all engines."""

    def cuts(table: Any) -> Any:
        ibis = database.ibis
        learnt = with_target(database, table, target)
        known = learnt.select(value=number(database, learnt, name))
        known = known.filter(known.value.notnull())
        counted = known.group_by("value").agg(n=known.count())
        ordered = counted.mutate(
            upto=counted.n.sum().over(ibis.cumulative_window(order_by="value")).cast("int64"),
            total=counted.n.sum().over(ibis.window()).cast("int64"),
        )
        # The j-th cut is the smallest value with at least j / n_bins of the rows up to it.
        parts, parts_before = (
            ordered.upto * n_bins // ordered.total,
            (ordered.upto - ordered.n) * n_bins // ordered.total,
        )
        kept = ordered.mutate(parts=parts, parts_before=parts_before)
        kept = kept.filter((kept.parts > kept.parts_before) & (kept.upto < kept.total))
        return kept.select("value").order_by("value")

    return list(database.fetch(cuts).column("value").to_pylist())


def _bin_number(database: Database, table: Any, name: str, cuts: Sequence[float]) -> Any:
    column = number(database, table, name)
    return database.ibis.ifelse(column.isnull(), len(cuts) + 1, _halved(database, column, cuts, 0, len(cuts)))


def _halved(database: Database, column: Any, cuts: Sequence[float], first: int, last: int) -> Any:
    """Find the number of a value's bin by halving: CASEs as deep as the logarithm of their number."""
    if first == last:
        return database.ibis.literal(first)
    middle = (first + last) // 2
    below = _halved(database, column, cuts, first, middle)
    above = _halved(database, column, cuts, middle + 1, last)
    return database.ibis.ifelse(column <= cuts[middle], below, above)


def holds(database: Database, table: Any, attribute: Attribute, condition: Condition) -> Any:
    """Whether a condition holds; false or NULL where the value is missing."""
    if attribute.levels is not None:
        return _is_one_of(table[attribute.name], attribute.levels, condition)
    column, cuts = number(database, table, attribute.name), attribute.cuts or ()
    tests = [column > cuts[condition.first - 1]] if condition.first > 0 else []
    if condition.last < len(cuts):
        tests.append(column <= cuts[condition.last])
    return tests[0] & tests[1] if len(tests) == 2 else tests[0] if tests else column.notnull()


def _is_one_of(column: Any, levels: Sequence[Any], condition: Condition) -> Any:
    allowed = levels[condition.first : condition.last + 1]
    return column == allowed[0] if len(allowed) == 1 else column.isin(allowed)
