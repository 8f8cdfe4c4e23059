"""What the columns of a table are to a learner: which is the target, what task it sets, and the matrix of the others.

Everything that is guessed is said in a sentence.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import show
from tremula.errors import counted, did_you_mean
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.delimited import is_number
from tremula.lab.datasets.formats.relation import LARGEST_EXACT

USUAL_TARGETS = ("target", "class")
MOST_CLASSES = 20  # a target with more distinct whole numbers is taken for numbers
FEWEST_ROWS_A_CLASS = 3
NEARLY_EVERY_ROW = 0.9
BLOCK = 8_192
MANY_LEVELS = 20
SHARE_OF_WORDS = 0.2  # a column of numbers with a smaller share of words is thought to have a mistake


def check_column(name: str, names: Collection[str], source: str, option: str) -> None:
    """Refuse the name of a column that a table does not have."""
    if name not in names:
        hint = did_you_mean(name, names) or f": give {option} one of these"
        raise UnusableDataset(f"no column {name!r} in {source} (has {show(names)}){hint}")


# --- the target ---


def choose_target(names: Sequence[str], target: str | None, source: str) -> tuple[str, str]:
    """Return the target and, where it was guessed, a sentence: the column ``target`` or ``class``, else the last."""
    if len(names) < 2:
        raise UnusableDataset(f"{source} has {len(names)} column: a target and at least one attribute are needed")
    if target is not None:
        check_column(target, names, source, "--target")
        return target, ""
    for usual in USUAL_TARGETS:
        for name in names:
            if name.lower() == usual:
                return name, f"Target: the column {name!r} (because of its name); use --target to choose another."
    return names[-1], f"Target: the column {names[-1]!r} (because it is the last); use --target to choose another."


def with_target(columns: dict[str, Column], target: str, described: str) -> tuple[dict[str, Column], int]:
    """Return the rows that have a target, and how many do not."""
    missing = columns[target].is_missing
    if missing.all():
        raise UnusableDataset(f"{described} is missing in every row: name another column with --target")
    if missing.any():
        columns = {name: column.take(~missing) for name, column in columns.items()}
    return columns, int(missing.sum())


def missing_target_notes(n_rows: int, described: str) -> list[str]:
    """Return the note on rows without a target, where there are some."""
    rows = "1 row, which was" if n_rows == 1 else f"{n_rows} rows, which were"
    return [f"The {described} is missing in {rows} left out."] if n_rows else []


def is_whole(numbers: NDArray[np.float64]) -> bool:
    """Tell whether all numbers are whole, and small enough for a float64 to tell them apart."""
    return bool((np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < LARGEST_EXACT)).all())


def read_labels(column: Column, described: str) -> NDArray[Any]:
    """Return a target without missing values as whole numbers, else numbers, else text."""
    if column.kind == "date":
        raise UnusableDataset(
            f"{described} holds dates: classes or numbers are needed; name another column with --target"
        )
    if column.levels is not None:
        return np.asarray(np.array(column.levels.tolist())[column.values])
    numbers = column.values
    return numbers.astype(np.int64) if is_whole(numbers) else numbers


def choose_task(labels: NDArray[Any], task: str | None) -> tuple[str, str]:
    """Return the task and, where it was guessed, a sentence: classes are text or few whole numbers."""
    if task is not None:
        return task, ""
    n_distinct = len(np.unique(labels))
    if labels.dtype.kind == "U":
        return "classification", f"Task: classification, as the target holds words ({n_distinct} classes)."
    if labels.dtype.kind == "f":
        example = labels[~(labels == np.floor(labels)) | np.isinf(labels) | (np.abs(labels) >= LARGEST_EXACT)][0]
        return "regression", f"Task: regression, as the target holds numbers such as {example:g}."
    reason = f"as the target has {n_distinct} different whole numbers in {len(labels)} rows"
    if n_distinct <= MOST_CLASSES and (n_distinct <= 2 or len(labels) >= FEWEST_ROWS_A_CLASS * n_distinct):
        return "classification", f"Task: classification, {reason}; --task regression predicts them as numbers."
    return "regression", f"Task: regression, {reason}; --task classification makes each a class."


def wrong_task(described: str, task: str) -> UnusableDataset:
    """Return the error for a target that sets another task than was asked for."""
    holds = {"regression": "numbers, not classes", "classification": "classes, not numbers"}[task]
    return UnusableDataset(f"{described} holds {holds}: ask for the task {task!r}, or name another target")


def _check_classes(labels: NDArray[Any], described: str) -> NDArray[Any]:
    if labels.dtype.kind == "f":
        raise wrong_task(described, "regression")
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise UnusableDataset(
            f"{described} has {counted(n_classes, 'class')} in {counted(len(labels), 'row')}: at least 2 are needed"
        )
    return labels


def _check_numbers(labels: NDArray[Any], described: str) -> NDArray[np.float64]:
    if labels.dtype.kind == "U":
        raise wrong_task(f"{described} (such as {str(labels[0])!r})", "classification")
    numbers = labels.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise UnusableDataset(f"{described} holds an infinite value: remove those rows first")
    if numbers.min() == numbers.max():
        raise UnusableDataset(f"{described} is {numbers[0]:g} in every row: there is nothing to predict")
    return numbers


CHECK_TARGET: Mapping[str, Callable[[NDArray[Any], str], NDArray[Any]]] = {
    "classification": _check_classes,
    "regression": _check_numbers,
}


# --- the attributes ---


def drop_empty(columns: Mapping[str, Column]) -> tuple[dict[str, Column], list[str]]:
    """Leave out columns that are missing in every row."""
    empty = [name for name, column in columns.items() if column.is_missing.all()]
    notes = [f"Column {name!r} is missing in every row: it was left out." for name in empty]
    return {name: column for name, column in columns.items() if name not in empty}, notes


def make_dataset(
    columns: Mapping[str, Column], y: NDArray[Any], task: str, name: str, source: str
) -> tuple[Dataset, list[str], list[str]]:
    """Return the dataset of attributes and a target, the kinds of the attributes, and notes."""
    if not columns:
        raise UnusableDataset(f"{source} has no attribute with a value besides the target: at least one is needed")
    notes = [note for attribute, column in columns.items() for note in _notes_on(attribute, column, source)]
    nominal = tuple(place for place, column in enumerate(columns.values()) if column.levels is not None)
    levels = tuple(column.levels for column in columns.values()) if nominal else ()
    kinds = [column.kind_and_form for column in columns.values()]
    X = np.empty((len(y), len(columns)))
    for start in range(0, len(y), BLOCK):  # a few rows at a time, as the matrix is stored row by row
        rows = slice(start, start + BLOCK)
        for place, column in enumerate(columns.values()):
            X[rows, place] = column.as_floats(rows)
    dates = tuple(place for place, column in enumerate(columns.values()) if column.kind == "date")
    return Dataset(name, source, X, y, nominal, task, tuple(columns), levels, dates=dates), kinds, notes


def _notes_on(name: str, column: Column, source: str) -> Iterable[str]:
    if column.levels is not None:
        return [] if column.declared else _notes_on_levels(name, column.levels.tolist(), len(column))
    if column.kind == "date":
        return [f"Column {name!r} holds dates: trees divide it into earlier and later."]
    largest = np.fmax.reduce(np.abs(column.values), initial=0)
    if np.isinf(largest):
        row = int(np.argmax(np.isinf(column.values))) + 1
        raise UnusableDataset(
            f"column {name!r} of {source} is infinite (or too large) in row {row}: give a finite number, or leave the "
            f"column out with --drop {name!r}"
        )
    if largest > LARGEST_EXACT:
        return [f"Column {name!r} holds numbers above 2^53, where neighbours look the same; leave out an identifier."]
    return []


def _notes_on_levels(name: str, levels: Sequence[str], n_rows: int) -> list[str]:
    words = [level for level in levels if not is_number(level)]
    if len(words) < SHARE_OF_WORDS * len(levels):
        return [
            f"Column {name!r} holds numbers, but also {show(words)}: it was taken for nominal; empty those cells to "
            "have it numeric."
        ]
    if len(levels) > MANY_LEVELS and len(levels) > NEARLY_EVERY_ROW * n_rows:
        return [
            f"Column {name!r} has {len(levels)} different words in {n_rows} rows: it looks like a row identifier; "
            f"--drop {name!r} removes it."
        ]
    return []
