"""What may mislead a learner in a table: identifiers, columns that give the target away, copies, constants, time order.

Columns that cannot help on new rows are left out; everything else is only said. Each finding says what was found,
what was done, and how to decide otherwise.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.column import show
from tremula.errors import counted
from tremula.lab.datasets.column import Column
from tremula.trees.columns import read_columns
from tremula.trees.identifiers import find_identifiers

FIRST_ROWS = 1_000
FEWEST_ROWS = 20  # with fewer, a column can count the rows, or give the target away, by chance
NEARLY_EVERY_ROW = 0.9
FULL_CORRELATION = 0.9999
USUAL_FOLDS = 10
MOST_ALIKE = 3
IGNORED = "ignored column"
WORDS = {
    "constant": "are constant",
    "copied column": "have the values of another",
    "identifier": "look like identifiers",
    IGNORED: "name or number the rows and do not go with the target",
    "target leak": "give the target away",
}
SHARE_OF_COPIES = 0.01  # of rows; below it, copies change no error much


@dataclass(frozen=True)
class Finding:
    """One thing found in a table.

    Attributes
    ----------
    kind : str
        ``identifier``, ``ignored column``, ``target leak``, ``constant``, ``copied column``, ``copied rows``,
        ``small class`` or ``time order``.
    columns : tuple of str
        The columns it is about.
    message : str
        What was found, what was done, and how to decide otherwise.
    left_out : bool
        Whether the columns were left out.
    """

    kind: str
    columns: tuple[str, ...]
    message: str
    left_out: bool = False


def check_table(
    columns: Mapping[str, Column], y: NDArray[np.generic], task: str, used: Collection[str] = (), leave_out: bool = True
) -> list[Finding]:
    """Look for what may mislead a learner.

    Parameters
    ----------
    columns : mapping of str to Column
        The attributes.
    y : ndarray of shape (n_rows,)
        The target.
    task : {'classification', 'regression'}
    used : collection of str, default=()
        Columns that are used whatever is found.
    leave_out : bool, default=True
        Whether columns may be left out; if not, the findings only advise it.

    Returns
    -------
    list of Finding
    """
    findings: list[Finding] = []
    for kind, find in (("constant", _constants), ("identifier", _identifiers), ("copied column", _copies)):
        gone = {name for finding in findings for name in finding.columns}
        kept = {name: column for name, column in columns.items() if name not in gone}
        for name, words in find(kept).items():
            findings.append(_column_finding(kind, name, words, leave_out and name not in used))
    gone = {name for finding in findings if finding.left_out for name in finding.columns}
    kept = {name: column for name, column in columns.items() if name not in gone}
    return [
        *findings,
        *find_ignored(kept, y, task),
        *_leaks(kept, y, task),
        *_copied_rows(columns, y),
        *_small_classes(y, task),
        *_time_order(kept),
    ]


def _column_finding(kind: str, name: str, words: str, left_out: bool) -> Finding:
    if left_out:
        return Finding(kind, (name,), f"Column {name!r} {words}: it was left out; --use {name!r} keeps it.", True)
    return Finding(kind, (name,), f"Column {name!r} {words}: it is used; --drop {name!r} leaves it out.")


# --- single columns ---


def _constants(columns: Mapping[str, Column]) -> dict[str, str]:
    constants = {}
    for name, column in columns.items():
        present = column.values[~column.is_missing]
        if len(present) == len(column) > 1 and (present == present[0]).all():
            constants[name] = "has the same value in every row"
    return constants


def _copies(columns: Mapping[str, Column]) -> dict[str, str]:
    first_of: dict[bytes, str] = {}
    copies = {}
    for name, column in columns.items():
        values = column.values if column.levels is None else _by_first_row(column.values, len(column.levels))
        first = first_of.setdefault(sha256(values.tobytes()).digest(), name)
        if first != name:
            copies[name] = f"has the same values as {first!r}"
    return copies


def _by_first_row(codes: NDArray[np.int32], n_levels: int) -> NDArray[np.int64]:
    """Return codes in the order in which levels first appear: other names for the same levels are a copy, too."""
    first_row = np.empty(n_levels + 1, dtype=np.int64)  # the last is that of a missing value
    first_row[codes[::-1]] = np.arange(len(codes))[::-1]
    return np.asarray(first_row[codes])


def _identifiers(columns: Mapping[str, Column]) -> dict[str, str]:
    identifiers = {}
    for name, column in columns.items():
        if len(column) < FEWEST_ROWS or column.kind == "date":
            continue
        n_different = len(np.unique(column.values[~column.is_missing]))
        if column.levels is not None:
            if n_different > NEARLY_EVERY_ROW * len(column):
                identifiers[name] = (
                    f"has {n_different} different words in {len(column)} rows and looks like an identifier"
                )
        elif n_different == len(column) and _counts_rows(column.values):
            identifiers[name] = "numbers the rows and looks like an identifier"
        elif n_different == len(column) and _is_named_as_identifier(name) and _is_whole(column.values):
            identifiers[name] = "has another whole number in each row and is named like an identifier"
    return identifiers


def _counts_rows(numbers: NDArray[np.float64]) -> bool:
    """Whether the numbers are consecutive, in any order."""
    return _is_whole(numbers) and numbers.max() - numbers.min() == len(numbers) - 1


def _is_whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def _is_named_as_identifier(name: str) -> bool:
    words = "".join(letter if letter.isalnum() else " " for letter in name.lower()).split()
    camel = name.endswith(("Id", "ID"))
    return camel or any(word in ("id", "key", "uuid", "guid", "index", "nr", "no", "number", "rowid") for word in words)


# --- with the target ---


def find_ignored(columns: Mapping[str, Column], y: NDArray[np.generic], task: str) -> list[Finding]:
    """Return the columns that forests and Aspen leave out; they decide it by the same rule when they are trained."""
    levels = [0 if column.levels is None else len(column.levels) for column in columns.values()]
    if not levels:
        return []
    table = read_columns(np.column_stack([each.as_floats() for each in columns.values()]), np.array(levels, np.int32))
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        return []
    target, n_classes = (codes, len(classes)) if task == "classification" else (np.asarray(y, np.float64), 0)
    names = list(columns)
    return [
        Finding(
            IGNORED,
            (names[number],),
            f"Column {names[number]!r} names or numbers the rows and does not go with the target: forests, extra trees "
            f"and Aspen leave it out, other methods use it; --drop {names[number]!r} leaves it out of all.",
        )
        for number in find_identifiers(replace(table, has_missing_branch=True), target, None, n_classes)
    ]


def _leaks(columns: Mapping[str, Column], y: NDArray[np.generic], task: str) -> list[Finding]:
    if len(y) < FEWEST_ROWS:
        return []
    gives_away = _gives_class if task == "classification" else _gives_number
    target: Any = np.unique(y, return_inverse=True)[1] if task == "classification" else np.asarray(y, dtype=np.float64)
    leaks = [name for name, column in columns.items() if gives_away(column, target)]
    return [
        Finding(
            "target leak",
            (name,),
            f"Column {name!r} gives the target away: it alone decides it in every row. It is used; if it is not known "
            f"when predicting, leave it out with --drop {name!r}.",
        )
        for name in leaks
    ]


def _gives_class(column: Column, classes: NDArray[np.intp]) -> bool:
    """Whether the values of one class are a few levels, or an interval that has no other class."""
    n_classes, are_levels = len(np.unique(classes)), column.levels is not None
    most_levels = max(2 * n_classes, int(len(classes) ** 0.5)) if are_levels else 0
    sample = slice(FIRST_ROWS)  # what all rows have, some have, too
    return _is_decided(column.as_floats(sample), classes[sample], most_levels) and _is_decided(
        column.as_floats(), classes, most_levels
    )


def _is_decided(values: NDArray[np.float64], classes: NDArray[np.intp], most_levels: int) -> bool:
    """Whether no value has two classes, and there are few levels or, of numbers (0), one interval for each class."""
    if np.isnan(values).any():  # missing may be what gives the class away
        values = np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1.0, values)
    order = np.lexsort((classes, values))
    values, classes = values[order], classes[order]
    is_mixed = ((classes[1:] != classes[:-1]) & (values[1:] == values[:-1])).any()
    n_classes = len(np.unique(classes))
    if most_levels:
        return not is_mixed and len(np.unique(values)) <= most_levels
    return not is_mixed and int((classes[1:] != classes[:-1]).sum()) == n_classes - 1


def _gives_number(column: Column, target: NDArray[np.float64]) -> bool:
    """Whether a column is the target but for its unit, or has one value of the target for each of few levels."""
    if column.levels is None:
        present = ~column.is_missing
        numbers, wanted = column.values[present], target[present]
        if len(numbers) < FEWEST_ROWS or numbers.min() == numbers.max() or wanted.min() == wanted.max():
            return False
        return bool(abs(np.corrcoef(numbers, wanted)[0, 1]) > FULL_CORRELATION)
    codes = column.values + 1
    counts = np.maximum(np.bincount(codes), 1)
    means = np.bincount(codes, target) / counts
    return bool(len(counts) ** 2 <= len(target) and np.allclose(means[codes], target))


# --- rows ---


def _copied_rows(columns: Mapping[str, Column], y: NDArray[np.generic]) -> list[Finding]:
    hashes = np.unique(y, return_inverse=True)[1].astype(np.uint64)
    for column in columns.values():
        values = np.ascontiguousarray(np.nan_to_num(column.as_floats(), nan=np.inf) + 0.0)  # one zero, one NaN
        hashes = _mixed(hashes ^ values.view(np.uint64))
    n_copies = len(hashes) - len(np.unique(hashes))
    if n_copies <= SHARE_OF_COPIES * len(y):
        return []
    return [
        Finding(
            "copied rows",
            (),
            f"{counted(n_copies, 'row')} of {len(y)} equal another row. They were kept: if they are the same case "
            "twice, remove them, or the error is too small, since training and test rows share cases.",
        )
    ]


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit hashes over all places."""
    hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(hashes ^ (hashes >> np.uint64(29)))


def _small_classes(y: NDArray[np.generic], task: str) -> list[Finding]:
    if task != "classification":
        return []
    labels, counts = np.unique(y, return_counts=True)
    small = [str(label) for label in labels[counts < USUAL_FOLDS]]
    if not small:
        return []
    words = f"{len(small)} {'class has' if len(small) == 1 else 'classes have'} fewer than {USUAL_FOLDS} rows"
    return [
        Finding(
            "small class",
            (),
            f"{words} ({show(small)}): with the usual {USUAL_FOLDS} folds, some folds do not test "
            f"{'it' if len(small) == 1 else 'them'}. Join small classes, or use fewer folds with --cv.",
        )
    ]


def _time_order(columns: Mapping[str, Column]) -> list[Finding]:
    ordered = [name for name, column in columns.items() if column.kind == "date" and _is_ordered(column)]
    return [
        Finding(
            "time order",
            (name,),
            f"The rows are in the order of {name!r}. Folds mix them: each method is tested on the past of rows that it "
            "has seen. If the future is to be predicted, give --cv time.",
        )
        for name in ordered[:1]
    ]


def _is_ordered(column: Column) -> bool:
    days = column.values[~column.is_missing]
    steps = np.diff(days)
    return len(days) >= FEWEST_ROWS and bool((steps >= 0).all() or (steps <= 0).all()) and days[0] != days[-1]


def short_sentences(findings: Sequence[Finding]) -> list[str]:
    """Return what was found in words, one sentence where many columns have the same finding.

    Examples
    --------
    >>> constants = [Finding("constant", (f"x{number}",), "...", left_out=True) for number in range(5)]
    >>> short_sentences(constants)
    ["5 columns are constant: 'x0', 'x1', 'x2', …. They were left out; --use keeps those it names."]
    """
    lines: list[str] = []
    for kind in dict.fromkeys(finding.kind for finding in findings):
        alike = [finding for finding in findings if finding.kind == kind]
        lines += [finding.message for finding in alike] if len(alike) <= MOST_ALIKE else _together(kind, alike)
    return lines


def _together(kind: str, findings: Sequence[Finding]) -> list[str]:
    lines = []
    used = "left out by forests, extra trees and Aspen" if kind == IGNORED else "used"
    for left_out, action in ((True, "left out; --use keeps"), (False, f"{used}; --drop leaves out")):
        names = [name for finding in findings if finding.left_out == left_out for name in finding.columns]
        if names:
            lines.append(
                f"{counted(len(names), 'column')} {WORDS[kind]}: {show(names)}. They were {action} those it names."
            )
    return lines
