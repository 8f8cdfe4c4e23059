"""Rows as people have them, in files, databases or under a name, become a dataset; what was guessed on the way is said.

Guessed are the target (the column ``target`` or ``class``, else the last), the task, and the kind of each column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import show
from tremula.data.table_schema import TableSchema
from tremula.errors import did_you_mean
from tremula.lab.datasets.by_name import load_dataset
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.formats.delimited import UnusableDataset
from tremula.lab.datasets.schema import is_missing, is_number, read_codes, read_numbers, schema_of
from tremula.lab.datasets.tables import Columns, is_table, read_table

USUAL_TARGETS = ("target", "class")
MOST_CLASSES = 20  # more different whole numbers than this are taken for numbers
FEWEST_ROWS_A_CLASS = 3
LARGEST_EXACT = 2**53
NEARLY_EVERY_ROW = 0.9
MANY_LEVELS = 20
SHARE_OF_WORDS = 0.2  # with fewer of them among numbers, words are thought to be a mistake


@dataclass(frozen=True, eq=False)
class Reading:
    """A dataset, what its columns are, what was guessed, and what else a reader should know."""

    dataset: Dataset
    schema: TableSchema
    guesses: tuple[str, ...]
    notes: tuple[str, ...]


# --- what it holds ---


def read_data(
    place: str,
    target: str | None = None,
    *,
    task: str | None = None,
    drop: Iterable[str] = (),
    table: str | None = None,
) -> Reading:
    """Read a dataset by name, file or database, and say what was guessed.

    Parameters
    ----------
    place : str
        A name that `load_dataset` knows, or what `read_table` reads.
    target : str, default=None
        The column to predict; None guesses.
    task : {'classification', 'regression', None}, default=None
        None guesses.
    drop : iterable of str, default=()
        Columns to leave out.
    table : str, default=None
        The table of a database.

    Returns
    -------
    Reading

    Examples
    --------
    >>> from tremula.lab.datasets.reader import read_data
    >>> reading = read_data("wine")
    >>> reading.dataset.X.shape, reading.guesses
    ((178, 13), ('Task: classification, as 3 classes are to be told apart.',))
    """
    if not is_table(place):
        return _read_named(place, target, task, list(drop))
    columns = read_table(place, table)
    values = _drop(columns, drop)
    target_name, told_target = _choose_target(list(values), target, columns.source)
    given = values.pop(target_name)
    described = f"target {target_name!r} of {columns.source}"
    known = [not is_missing(value) for value in given]
    notes = list(columns.notes)
    if not all(known):
        notes.append(_told_missing_target(known, described))
        given = [value for value, keep in zip(given, known) if keep]
        values = {name: [v for v, keep in zip(column, known) if keep] for name, column in values.items()}
    typed = _typed_target(given, columns.in_words, target_name in columns.nominal)
    found, told_task = _choose_task(typed, task, described)
    y = TARGETS[found](typed, described)
    dataset, kinds, more = _read_attributes(columns, values, y, found)
    guesses = tuple(words for words in (told_target, told_task) if words)
    return Reading(dataset, schema_of(dataset, target_name, kinds), guesses, (*notes, *more))


def _told_missing_target(known: Sequence[bool], described: str) -> str:
    n_missing = known.count(False)
    if n_missing == len(known):
        raise UnusableDataset(f"{described} is missing in every row: name another column with --target")
    rows = "1 row" if n_missing == 1 else f"{n_missing} rows"
    return f"The {described} is missing in {rows}, which were left out."


def _read_named(name: str, target: str | None, task: str | None, drop: list[str]) -> Reading:
    dataset = load_dataset(name, target, task=task)
    if dataset.task == "regression":
        guess = "Task: regression, as numbers are to be predicted."
    else:
        guess = f"Task: classification, as {len(np.unique(dataset.y))} classes are to be told apart."
    if drop:
        dataset = _without(dataset, drop)
    return Reading(dataset, schema_of(dataset, target or "target"), () if task else (guess,), ())


def _without(dataset: Dataset, drop: Sequence[str]) -> Dataset:
    names = schema_of(dataset).names
    for name in drop:
        _check_column(name, names, dataset.source, "--drop")
    kept = [place for place, name in enumerate(names) if name not in drop]
    nominal = tuple(new for new, old in enumerate(kept) if old in dataset.nominal)
    levels = tuple(dataset.levels[place] for place in kept) if nominal else ()
    attributes = tuple(names[place] for place in kept)
    return replace(dataset, X=dataset.X[:, kept], nominal=nominal, attributes=attributes, levels=levels)


def _drop(columns: Columns, drop: Iterable[str]) -> dict[str, list[Any]]:
    unwanted = list(drop)
    for name in unwanted:
        _check_column(name, columns.values, columns.source, "--drop")
    return {name: values for name, values in columns.values.items() if name not in unwanted}


def _check_column(name: str, names: Iterable[str], source: str, option: str) -> None:
    known = list(names)
    if name not in known:
        hint = did_you_mean(name, known) or f": give {option} one of these"
        raise UnusableDataset(f"no column {name!r} in {source} (has {show(known)}){hint}")


def _choose_target(names: list[str], target: str | None, source: str) -> tuple[str, str]:
    if len(names) < 2:
        raise UnusableDataset(f"{source} has {len(names)} column: a target and at least one attribute are needed")
    if target is not None:
        _check_column(target, names, source, "--target")
        return target, ""
    for usual in USUAL_TARGETS:
        for name in names:
            if name.lower() == usual:
                return name, f"Target: the column {name!r}, by its name; --target names another."
    return names[-1], f"Target: the column {names[-1]!r}, as it is the last; --target names another."


# --- the target ---


def _typed_target(given: Sequence[Any], in_words: bool, nominal: bool) -> list[Any]:
    """Return whole numbers, else numbers, else words."""
    if nominal:
        return [str(value) for value in given]
    if in_words or all(is_number(value) for value in given):
        try:
            numbers = [float(value) for value in given]
        except (ValueError, OverflowError):
            return [str(value) for value in given]
        if all(number.is_integer() for number in numbers) and max(map(abs, numbers)) < LARGEST_EXACT:
            return [int(number) for number in numbers]
        return numbers
    if any(isinstance(value, date) for value in given):
        return list(given)
    return [str(value) for value in given]


def _choose_task(values: Sequence[Any], task: str | None, described: str) -> tuple[str, str]:
    if isinstance(values[0], date):
        raise UnusableDataset(
            f"{described} holds dates: classes or numbers are needed; name another column with --target"
        )
    if task is not None:
        return task, ""
    different = len(set(values))
    if isinstance(values[0], str):
        return "classification", f"Task: classification, as the target holds words ({different} classes)."
    if isinstance(values[0], float):
        example = next(value for value in values if not float(value).is_integer())
        return "regression", f"Task: regression, as the target holds numbers such as {example:g}."
    few = different <= MOST_CLASSES and (different <= 2 or len(values) >= FEWEST_ROWS_A_CLASS * different)
    words = f"as the target has {different} different whole numbers in {len(values)} rows"
    if few:
        return "classification", f"Task: classification, {words}; --task regression predicts them as numbers."
    return "regression", f"Task: regression, {words}; --task classification makes each a class."


def _classes(values: Sequence[Any], described: str) -> NDArray[Any]:
    if any(isinstance(value, float) for value in values):
        raise UnusableDataset(f"{described} holds real numbers, which are no classes: take --task regression")
    labels = np.array(values)
    different = len(np.unique(labels))
    if different < 2:
        raise UnusableDataset(f"{described} has {different} class in {len(labels)} rows: at least 2 are needed")
    return labels


def _numbers(values: Sequence[Any], described: str) -> NDArray[Any]:
    if isinstance(values[0], str):
        raise UnusableDataset(f"{described} holds words such as {values[0]!r}, but regression needs numbers")
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise UnusableDataset(f"{described} holds an infinite value: remove those rows first")
    if numbers.min() == numbers.max():
        raise UnusableDataset(f"{described} is {numbers[0]:g} in every row: there is nothing to predict")
    return numbers


TARGETS: Mapping[str, Callable[[Sequence[Any], str], NDArray[Any]]] = {
    "classification": _classes,
    "regression": _numbers,
}


# --- the attributes ---


def _read_attributes(
    columns: Columns, values: dict[str, list[Any]], y: NDArray[Any], task: str
) -> tuple[Dataset, list[str], list[str]]:
    found: list[tuple[str, str, NDArray[np.float64], NDArray[Any] | None]] = []
    notes = []
    for name, column in values.items():
        kind = _kind(name, column, columns)
        if kind == "empty":
            notes.append(f"Column {name!r} is missing in every row: it was left out.")
        elif kind == "nominal":
            levels = sorted({str(value) for value in column if not is_missing(value)})
            found.append((name, kind, read_codes(column, levels)[0], np.array(levels, dtype=object)))
            notes += [] if name in columns.nominal else _note_on_levels(name, levels, column)
        else:
            found.append((name, kind, _finite(name, kind, column, columns.source), None))
            notes += _note_on_numbers(name, kind, found[-1][2])
    if not found:
        raise UnusableDataset(
            f"{columns.source} has no attribute with a value besides the target: at least one is needed"
        )
    names, kinds, numbers, levels_of = zip(*found)
    nominal = tuple(place for place, kind in enumerate(kinds) if kind == "nominal")
    X = np.ascontiguousarray(np.stack(numbers, axis=1))
    levels_or_none = tuple(levels_of) if nominal else ()
    return Dataset(columns.name, columns.source, X, y, nominal, task, names, levels_or_none), list(kinds), notes


def _kind(name: str, values: Sequence[Any], columns: Columns) -> str:
    present = [value for value in values if not is_missing(value)]
    if not present:
        return "empty"
    if name in columns.nominal:
        return "nominal"
    if (columns.in_words or all(is_number(value) for value in present)) and _reads_as("number", present):
        return "number"
    if all(isinstance(value, date | str) for value in present) and _reads_as("date", present):
        return "date"
    if all(isinstance(value, str | bool | np.bool_) for value in present):
        return "nominal"
    odd = next(value for value in present if not isinstance(value, str | bool | np.bool_))
    raise UnusableDataset(
        f"column {name!r} of {columns.source} holds {type(odd).__name__} such as {str(odd)[:40]!r}: numbers, words, "
        f"dates and truth values are understood; leave it out with --drop {name!r}"
    )


def _reads_as(kind: str, present: Sequence[Any]) -> bool:
    try:
        read_numbers(kind, present[:1])
        read_numbers(kind, present)
    except ValueError:
        return False
    return True


def _finite(name: str, kind: str, values: Sequence[Any], source: str) -> NDArray[np.float64]:
    numbers = read_numbers(kind, values)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers))) + 1
        raise UnusableDataset(
            f"column {name!r} of {source} is infinite (or too large) in row {row}: give a finite number, or leave the "
            f"column out with --drop {name!r}"
        )
    return numbers


def _note_on_levels(name: str, levels: Sequence[str], column: Sequence[Any]) -> list[str]:
    words = [level for level in levels if not _reads_as("number", [level])]
    if len(words) < SHARE_OF_WORDS * len(levels):
        return [
            f"Column {name!r} holds numbers, but also {show(words)}: it was taken for nominal; empty those cells to "
            "have it numeric."
        ]
    n_levels, n_rows = len(levels), len(column)
    if n_levels > MANY_LEVELS and n_levels > NEARLY_EVERY_ROW * n_rows:
        return [
            f"Column {name!r} has {n_levels} different words in {n_rows} rows: a name or number of the row tells "
            f"nothing about other rows; --drop {name!r} leaves it out."
        ]
    return []


def _note_on_numbers(name: str, kind: str, numbers: NDArray[np.float64]) -> list[str]:
    if kind == "date":
        return [f"Column {name!r} holds dates: it was read as days since 1970."]
    if np.nanmax(np.abs(numbers)) > LARGEST_EXACT:
        return [
            f"Column {name!r} holds numbers above 2^53, of which neighbours look the same; leave out an identifier."
        ]
    return []
