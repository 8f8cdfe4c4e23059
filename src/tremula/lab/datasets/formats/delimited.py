"""Text files of columns: CSV and its relatives, read as words.

What people's programs write is understood: commas, semicolons, tabs or bars between values, a decimal comma where
values are not separated by one, UTF-8 with or without a mark, and the Western code of older Windows. What was not
plain is said in notes.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tremula.errors import InvalidInput

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MISSING_WORDS = frozenset(
    {"", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "null", "NULL", "None", "NaT"}
)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+|[+-]?\d+,?")
N_LINES_LOOKED_AT = 20


class UnusableDataset(InvalidInput):
    """A dataset that is there but cannot be used for what was asked."""


def read_delimited(path: Path) -> tuple[dict[str, list[str | None]], list[str]]:
    """Return the columns of a text file as words, None where missing, and notes on how it was read."""
    text, notes = read_text(path)
    separator = _find_separator(text, path)
    if separator != ("\t" if path.suffix.lower() == ".tsv" else ","):
        notes.append(f"{path.name} has {SEPARATOR_NAMES[separator]} between its values.")
    names, rows = _split_lines(text, separator, path)
    columns = {name: [_word(row[place]) for row in rows] for place, name in enumerate(names)}
    if separator != ",":
        _replace_decimal_commas(columns, notes)
    _drop_row_numbers(columns, notes)
    return columns, notes


def read_text(path: Path) -> tuple[str, list[str]]:
    """Return the text of a file, and a note if it is not in UTF-8."""
    content = path.read_bytes()
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnusableDataset(f"{path} is no text file: save it as CSV in UTF-8")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16"), [f"{path.name} is in UTF-16."]
        except UnicodeDecodeError as error:
            raise UnusableDataset(f"{path} is in UTF-16, but damaged or cut ({error}): save it in UTF-8") from error
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        note = f"{path.name} is not in UTF-8: it was read as Windows-1252; check the letters with accents."
        return content.decode("cp1252", errors="replace"), [note]


def _find_separator(text: str, path: Path) -> str:
    """Return the separator that gives the most columns, the same number in the first lines; else that of the name."""
    lines = text.splitlines()[:N_LINES_LOOKED_AT]
    widths = {separator: _widths(lines, separator) for separator in SEPARATORS}
    even = {separator: counts[0] for separator, counts in widths.items() if counts and min(counts) == max(counts) > 1}
    if even:
        return max(even, key=lambda separator: even[separator])
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _widths(lines: Sequence[str], separator: str) -> list[int]:
    try:
        return [len(row) for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:  # a value too long to be one: not this separator
        return []


def _split_lines(text: str, separator: str, path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if line]
    except csv.Error as error:
        raise UnusableDataset(
            f"{path} is no sound CSV file ({error}): look for a quotation mark that is not closed"
        ) from error
    if len(lines) < 2:
        raise UnusableDataset(f"{path} has {len(lines)} lines: a line of column names and at least one row are needed")
    names, rows = [name.strip() for name in lines[0]], lines[1:]
    _check_names(names, path)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise UnusableDataset(f"row {number} of {path} has {len(row)} values, but there are {len(names)} columns")
    return names, rows


def _check_names(names: Sequence[str], path: Path) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if len(names) > 1 and all(_is_number(name) for name in names):
        raise UnusableDataset(f"the first line of {path} holds numbers: it must hold the names of the columns")
    if twice:
        raise UnusableDataset(f"{path} names a column twice, {twice[0]!r}: give each column a name of its own")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _word(written: str) -> str | None:
    word = written.strip()
    return None if word in MISSING_WORDS else word


def _replace_decimal_commas(columns: dict[str, list[str | None]], notes: list[str]) -> None:
    found = []
    for name, words in columns.items():
        present = [word for word in words if word is not None]
        if any("," in word for word in present) and all(DECIMAL_COMMA.fullmatch(word) for word in present):
            columns[name] = [None if word is None else word.replace(",", ".") for word in words]
            found.append(name)
    if found:
        notes.append(f"Decimal commas were read as points in {len(found)} columns, {found[0]!r} first.")


def _drop_row_numbers(columns: dict[str, list[str | None]], notes: list[str]) -> None:
    """Leave out a first column without a name that counts the rows, as pandas writes it."""
    first = next(iter(columns))
    counted = [str(number) for number in range(len(columns[first]) + 1)]
    if first in ("", "Unnamed: 0") and len(columns) > 1 and columns[first] in (counted[:-1], counted[1:]):
        del columns[first]
        notes.append("The first column has no name and only counts the rows: it was left out.")
