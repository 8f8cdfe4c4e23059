"""The columns of a database table as attributes; their levels and quantiles are queried once, before any counting."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import show
from tremula.errors import InvalidInput, InvalidTarget, OneClassTarget, UnknownTable, did_you_mean
from tremula.queries.domains import stated_cuts, stated_levels
from tremula.queries.question import Attribute, Condition
from tremula.queries.sql.database import Database

MAX_CLASSES = 100
MAX_LEVELS = 1000  # by default
MISSING = "missing"
BELOW_SHARE = 1 - 1e-13  # keeps a rank that is a whole number from being rounded up
LARGEST_WHOLE = 2**53  # up to which every whole number is a double


@dataclass(frozen=True)
class QueriedColumn:
    """A column as queries use it.

    Attributes
    ----------
    attribute : Attribute
    value : callable
        Takes the table, and returns the expression of the column's value, which is never NULL.
    number_of : dict or None
        From fetched values to their numbers; None if the fetched value is the number.
    """

    attribute: Attribute
    value: Callable[[Any], Any]
    number_of: dict[Any, int] | None = None

    def numbers(self, fetched: Sequence[Any]) -> list[int]:
        """Return the numbers of fetched values; a level added after the schema was read counts as missing."""
        if self.number_of is None:
            return [int(value) for value in fetched]
        return [self.number_of.get(value, self.attribute.n_values) for value in fetched]

    def codes(self, fetched: Any) -> NDArray[np.int64]:
        """Return the numbers of a fetched column of pyarrow; each different value is looked up once."""
        encoded = fetched.combine_chunks().dictionary_encode()
        numbers = np.array(self.numbers(encoded.dictionary.to_pylist()), dtype=np.int64)
        return np.asarray(numbers[encoded.indices.to_numpy(zero_copy_only=False)], dtype=np.int64)

    @property
    def n_fetched(self) -> int:
        """Number of different values that can be fetched, a value for missing included if one is needed."""
        return self.attribute.n_values + 1 if self.number_of is None else len(self.number_of)

    def number(self, value: Any, used: Container[int]) -> Any:
        """Return the expression of the number of a `value`; NULL, or any number, if it is not one of the used ones."""
        if self.number_of is None:
            return value
        numbers = [(level, number) for level, number in self.number_of.items() if number in used]
        return value.cases(*numbers)


def column_names(
    present: Sequence[str],
    target: str,
    attributes: Sequence[str] | None,
    nominal: Sequence[str],
    person_id: str | None = None,
) -> list[str]:
    """Return the columns to learn from; raise an error if a named column does not exist."""
    for name in (target, *(attributes or ()), *nominal):
        if name not in present:
            hint = did_you_mean(name, present) or ": name one of these"
            raise UnknownTable(f"no column {name!r} in the table (has {show(present)}){hint}")
    chosen = dict.fromkeys(present if attributes is None else attributes)
    names = [name for name in chosen if name not in (target, person_id)]
    if not names:
        raise InvalidInput(f"the table has no column but the target {target!r}: there is nothing to learn from")
    return names


def read_class_labels(
    database: Database, target: str, task: str, classes: Sequence[Any] | None = None, is_bounded: bool = False
) -> tuple[Any, ...] | None:
    """Return the class labels in order, or None if the target is numeric; stated ones are not queried."""
    kind = database.table[target].type()
    if classes is not None:
        stated = stated_levels(target, classes)
        check_types(target, kind, stated)
        return stated
    if task == "regression" or (task == "auto" and (kind.is_floating() or kind.is_decimal())):
        if not kind.is_numeric():
            raise InvalidTarget(f"target {target!r} is of type {kind}, not a number: use task='classification'")
        if not is_bounded:  # bounds clamp infinite numbers
            _check_numbers(database, target)
        return None
    if not (kind.is_string() or kind.is_boolean() or kind.is_integer() or kind.is_floating()):
        raise InvalidTarget(
            f"target {target!r} is of type {kind}, expected classes (strings, booleans, integers) or numbers: cast it, "
            "or use task='regression' if it is a number"
        )
    labels = database.fetch(
        lambda t: with_target(database, t, target).select(label=target).distinct().limit(MAX_CLASSES + 1)
    )
    classes = labels.column("label").to_pylist()
    _check_rows(target, len(classes))
    if len(classes) > MAX_CLASSES:
        raise InvalidTarget(
            f"target {target!r} has more than {MAX_CLASSES} classes: use task='regression' if it is a number, or "
            "choose another target if it identifies rows"
        )
    if len(classes) < 2:
        raise OneClassTarget(f"target {target!r} has rows of {len(classes)} class: at least 2 are needed")
    _check_labels(f"target {target!r}", classes)
    return tuple(sorted(classes))


def _check_labels(place: str, labels: Sequence[Any]) -> None:
    """Raise an error if a label cannot be queried, or would change in an array of rows to predict."""
    for label in labels:
        if isinstance(label, str) and "\0" in label:
            raise InvalidInput(f"{place} has the label {label[:50]!r} with NUL, which no query can contain: remove it")
        if isinstance(label, int) and abs(label) > LARGEST_WHOLE:
            raise InvalidInput(
                f"{place} has the label {label}, which is beyond 2**53, where double precision merges whole numbers: "
                "cast the column to strings"
            )


def _check_numbers(database: Database, target: str) -> None:
    """Raise an error if a numeric target has no value, or an infinite one."""

    def extremes(table: Any) -> Any:
        known = with_target(database, table, target)
        column = known[target].cast("float64")
        return known.aggregate(n=known.count(), low=column.min(), high=column.max())

    counted = database.fetch(extremes)
    _check_rows(target, counted.column("n")[0].as_py())
    for extreme in (counted.column("low")[0].as_py(), counted.column("high")[0].as_py()):
        if not isfinite(extreme):
            raise InvalidTarget(f"target {target!r} is infinite ({extreme}) in some rows: leave these out")


def _check_rows(target: str, n_rows: int) -> None:
    if n_rows == 0:
        raise InvalidTarget(f"target {target!r} is missing in every row: choose a target that has values")


def describe_column(
    database: Database,
    name: str,
    target: str,
    is_nominal: bool,
    n_bins: int,
    max_levels: int,
    cuts: Any,
    domain: Any = None,
) -> QueriedColumn:
    """Describe a column; its levels or quantiles are queried if it has no cuts and no domain."""
    kind = database.table[name].type()
    if kind.is_numeric() and not kind.is_boolean() and not is_nominal:
        if cuts is None and domain is not None:
            cuts = stated_cuts(name, domain, n_bins)
        given_cuts = quantiles(database, name, target, n_bins) if cuts is None else cuts
        # Infinite numbers are in the first or the last bin, and no bin is theirs alone.
        own_cuts = tuple(cut for cut in map(float, given_cuts) if isfinite(cut))
        return QueriedColumn(Attribute(name, cuts=own_cuts), lambda t: _bin_number(database, t, name, own_cuts))
    if kind.is_numeric() and not (kind.is_integer() or kind.is_boolean()):
        raise InvalidInput(
            f"column {name!r} is of type {kind}, which cannot be nominal: take it out of categorical_features, or "
            "cast it to whole numbers or strings"
        )
    if not (kind.is_string() or kind.is_boolean() or kind.is_integer()):
        raise InvalidInput(
            f"column {name!r} is of type {kind}, expected numbers, strings or booleans: leave it out with "
            "attributes=[...], or cast it"
        )
    if domain is not None:
        return _describe_stated_levels(database, name, domain)
    return _describe_levels(database, name, target, max_levels)


def check_types(name: str, kind: Any, levels: Sequence[Any]) -> None:
    """Raise an error if stated levels are of another type than the column, whose rows they would never match."""
    expected, word = (
        (str, "strings") if kind.is_string() else (bool, "booleans") if kind.is_boolean() else (int, "whole numbers")
    )
    for level in levels:
        if not isinstance(level, expected) or (expected is int and isinstance(level, bool)):
            raise InvalidInput(
                f"the domain of {name!r} has the level {level!r}, but the column is of type {kind}: give {word}"
            )
    _check_labels(f"the domain of {name!r}", levels)


def _describe_stated_levels(database: Database, name: str, domain: Any) -> QueriedColumn:
    """Describe a nominal column by its domain: no query is sent, and none depends on what the rows have."""
    levels = stated_levels(name, domain)
    check_types(name, database.table[name].type(), levels)
    pairs = [(level, number) for number, level in enumerate(levels)]
    return QueriedColumn(Attribute(name, levels=levels), lambda t: t[name].cases(*pairs, else_=len(pairs)))


def _describe_levels(database: Database, name: str, target: str, max_levels: int) -> QueriedColumn:
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
    _check_labels(f"column {name!r}", levels)
    attribute = Attribute(name, levels=levels)
    if len(levels) == len(values):
        return QueriedColumn(attribute, lambda t: t[name], {level: number for number, level in enumerate(levels)})
    if database.table[name].type().is_string():
        missing = MISSING
        while missing in levels:
            missing += "_"
        numbers = {level: number for number, level in enumerate((*levels, missing))}
        return QueriedColumn(attribute, lambda t: t[name].fill_null(missing), numbers)
    pairs = [(level, number) for number, level in enumerate(levels)]
    if not pairs:
        return QueriedColumn(attribute, lambda t: database.ibis.literal(0))
    return QueriedColumn(attribute, lambda t: t[name].cases(*pairs, else_=len(pairs)))


def _may_be_nan(database: Database, table: Any, name: str) -> bool:
    return bool(table[name].type().is_floating() and database.engine != "sqlite")


def number(database: Database, table: Any, name: str) -> Any:
    """Return a numeric column with NULL instead of NaN, since some engines sort NaN above every number."""
    column = table[name].cast("float64")
    if _may_be_nan(database, table, name):
        return database.ibis.ifelse(column.isnan(), database.ibis.null("float64"), column)
    return column


def with_target(database: Database, table: Any, target: str) -> Any:
    """Return the rows whose target is neither NULL nor NaN."""
    known = table.filter(table[target].notnull())
    return known.filter(~known[target].isnan()) if _may_be_nan(database, table, target) else known


def quantiles(database: Database, name: str, target: str, n_bins: int) -> list[float]:
    """Query the cuts between `n_bins` bins of about equally many rows.

    A cut is the largest value of its bin, so that all engines give the same cuts. The j-th cut is the smallest value
    such that at least j / n_bins of the rows do not exceed it.
    """
    find = _selected_cuts if database.engine == "duckdb" else _counted_cuts

    def cuts(table: Any) -> Any:
        rows = with_target(database, table, target)
        known = rows.select(value=number(database, rows, name))
        return find(database, known.filter(known.value.notnull()), n_bins)

    # Engines differ in which of -0.0 and 0.0 stands for both.
    return [cut + 0.0 for cut in database.fetch(cuts).column("value").to_pylist()]


def _selected_cuts(database: Database, known: Any, n_bins: int) -> Any:
    """Return the cuts by an aggregate that selects values by their rank: it sorts no more than it must."""
    select = database.ibis.udf.agg.builtin(_quantile_disc, name="quantile_disc")
    shares = database.ibis.literal([BELOW_SHARE * j / n_bins for j in range(1, n_bins)], type="array<float64>")
    quantile_row = known.aggregate(values=select(known.value, shares), largest=known.value.max())
    candidates = quantile_row.select(value=quantile_row.values.unnest(), largest=quantile_row.largest)
    return candidates.filter(candidates.value < candidates.largest).select("value").distinct().order_by("value")


def _quantile_disc(values: float, shares: list[float]) -> list[float]:  # type: ignore[empty-body]
    """Stands for the aggregate of DuckDB: the value whose rank is a share of the rows, rounded up."""


def _counted_cuts(database: Database, known: Any, n_bins: int) -> Any:
    """Return the cuts by cumulative counts of the different values."""
    ibis = database.ibis
    counted = known.group_by("value").agg(n=known.count())
    ordered = counted.mutate(
        cumulative=counted.n.sum().over(ibis.cumulative_window(order_by="value")).cast("int64"),
        total=counted.n.sum().over(ibis.window()).cast("int64"),
    )
    numbered = ordered.mutate(
        bins=ordered.cumulative * n_bins // ordered.total,
        bins_before=(ordered.cumulative - ordered.n) * n_bins // ordered.total,
    )
    is_cut = (numbered.bins > numbered.bins_before) & (numbered.cumulative < numbered.total)
    return numbered.filter(is_cut).select("value").order_by("value")


def _bin_number(database: Database, table: Any, name: str, cuts: Sequence[float]) -> Any:
    column = number(database, table, name)
    return database.ibis.ifelse(column.isnull(), len(cuts) + 1, _bisect(database, column, cuts, 0, len(cuts)))


def _bisect(database: Database, column: Any, cuts: Sequence[float], first: int, last: int) -> Any:
    """Return the expression of the number of a value's bin, by bisection: CASEs nested as deep as log2 of the bins."""
    if first == last:
        return database.ibis.literal(first)
    middle = (first + last) // 2
    below = _bisect(database, column, cuts, first, middle)
    above = _bisect(database, column, cuts, middle + 1, last)
    return database.ibis.ifelse(column <= cuts[middle], below, above)


def holds(database: Database, table: Any, attribute: Attribute, condition: Condition) -> Any:
    """Return the expression of whether a condition holds; false or NULL if the value is missing."""
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
