"""Text files of columns: CSV and its relatives.

Commas, semicolons, tabs or bars may stand between values, and decimal commas where commas do not. Text is UTF-8 with or
without a byte order mark, UTF-16, or else Windows-1252. What was not plain is said in notes.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.relation import Field, Relation, new_connection, quote_text

SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MISSING_WORDS = (
    "",
    "?",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "#NA",
    "<NA>",
    "NaN",
    "nan",
    "-nan",
    "null",
    "NULL",
    "None",
    "NaT",
)
SPACES = "' \t\n\r\xa0'"
# A list, as DuckDB would plan a join for each IN.
CLEANED = f"CASE WHEN list_contains([{{1}}], trim({{0}}, {SPACES})) THEN NULL ELSE trim({{0}}, {SPACES}) END"
INDEX_NAMES = ("", "Unnamed: 0")  # what programs call the column of row numbers that they write
HEAD_LINES = 20
BLOCK = 1 << 20
WRONG_WIDTH = re.compile(r"Line: (\d+).*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
YEAR = re.compile(r"(19|20)\d\d")
LONG_LINE = "aximum line size"


@contextmanager
def open_delimited(path: Path) -> Iterator[Relation]:
    """Open a text file; its columns hold text whose kind is to be found out."""
    with new_connection() as connection, plain_text(path) as (plain, notes):
        separator = _find_separator(plain, path)
        if separator != _usual_separator(path):
            notes.append(f"{path.name} has {SEPARATOR_NAMES[separator]} between its values.")
        names, n_blank, has_names = _read_header(plain, separator, path)
        if not has_names:
            called = f"the columns are called {names[0]} to {names[-1]}"
            notes.append(f"The first line of {path.name} holds values, not names: {called}.")
        options = f"delim = {quote_text(separator)}, header = {str(has_names).lower()}, skip = {n_blank}"

        def rows(missing: Iterable[str], numeric: Collection[str] = ()) -> str:
            nulls = f"{options}, nullstr = [{_listed(missing)}]"
            return text_rows(plain, len(names), nulls, quote='"', escape='"', numeric=numeric)

        def parsed(numeric: Collection[str]) -> list[str]:
            return [rows(_likely_missing(plain), numeric), rows(MISSING_WORDS, numeric)]

        fields = [Field(name, f"c{number}", "text") for number, name in enumerate(names)]
        relation = Relation(
            connection,
            rows(MISSING_WORDS),
            fields,
            path.stem,
            str(path),
            explainer(path),
            notes,
            CLEANED.format("{0}", _listed(MISSING_WORDS)),
            separator != ",",
            parsed,
        )
        _leave_out_row_numbers(relation)
        _name_nameless(relation)
        yield relation


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(quote_text, words))


def _likely_missing(plain: Path) -> list[str]:
    """Return the words for a missing value that the beginning of a file has: each one slows down the reading."""
    with plain.open(encoding="utf-8-sig", errors="replace") as file:
        beginning = file.read(BLOCK)
    return [word for word in MISSING_WORDS if word in beginning]


def text_rows(path: Path, n_columns: int, options: str, quote: str, escape: str, numeric: Collection[str] = ()) -> str:
    """Return the SQL that reads the columns c0, c1, ... of a text file, as text but for those in `numeric`."""
    # Names in DuckDB do not depend on case, and those of users may: columns are numbered.
    keys = [f"c{number}" for number in range(n_columns)]
    is_numeric = frozenset(numeric)
    columns = ", ".join(f"'{key}': '{'DOUBLE' if key in is_numeric else 'VARCHAR'}'" for key in keys)
    marks = f"quote = {quote_text(quote)}, escape = {quote_text(escape)}"
    return f"read_csv({quote_text(str(path))}, auto_detect = false, columns = {{{columns}}}, {marks}, {options})"


def explainer(path: Path) -> Callable[[duckdb.Error], Exception]:
    """Return what turns an error of DuckDB's CSV reader into one that says where to look."""

    def explain(error: duckdb.Error) -> Exception:
        message = str(error)
        width = WRONG_WIDTH.search(message)
        if width:
            line, expected, given = width.groups()
            return UnusableDataset(f"line {line} of {path} has {given} values, but there are {expected} columns")
        if LONG_LINE in message:
            return UnusableDataset(
                f"{path} has a line of more than two million characters: check for an unclosed quote"
            )
        if "quote" in message:
            return UnusableDataset(f"{path} is not valid CSV: look for a quotation mark that is not closed")
        return UnusableDataset(f"{path} cannot be read: {message.splitlines()[0]}")

    return explain


# --- encodings and line ends ---


@contextmanager
def plain_text(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a file in UTF-8 with one kind of line ends, a temporary copy where the given one is not so, and notes."""
    encoding, is_mixed = _examine(path)
    notes = {
        "utf-8-sig": [],
        "utf-16": [f"{path.name} is in UTF-16."],
        "cp1252": [f"{path.name} is not in UTF-8: it was read as Windows-1252; check the letters with accents."],
    }[encoding]
    if encoding == "utf-8-sig" and not is_mixed:
        yield path, notes
        return
    with TemporaryDirectory(prefix="tremula-") as folder:
        copy = Path(folder) / "rows.csv"
        errors = "replace" if encoding == "cp1252" else "strict"
        try:
            with path.open(encoding=encoding, errors=errors) as given, copy.open("w", encoding="utf-8") as written:
                for block in iter(lambda: given.read(BLOCK), ""):
                    written.write(block)
        except UnicodeError as error:
            raise UnusableDataset(f"{path} is in UTF-16, but damaged or cut ({error}): save it in UTF-8") from error
        yield copy, notes


def _examine(path: Path) -> tuple[str, bool]:
    """Return the encoding of a file, and whether its line ends differ."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    feeds, returns, both = 0, 0, 0
    with path.open("rb") as file:
        block = file.read(BLOCK)
        if block.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            raise UnusableDataset(f"{path} is in UTF-32: save it as CSV in UTF-8")
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", False
        if b"\0" in block[:4096]:
            raise UnusableDataset(f"{path} is not a text file: save it as CSV in UTF-8")
        last = b""
        try:
            while block:
                if not block.isascii() or decoder.getstate()[0]:  # a letter may be cut at the end of a block
                    decoder.decode(block)
                if b"\r" in block or last == b"\r":
                    feeds += block.count(b"\n")
                    returns += block.count(b"\r")
                    both += block.count(b"\r\n") + (last + block[:1] == b"\r\n")
                else:
                    feeds += b"\n" in block  # one stands for all: counting them takes longer than the rest
                last, block = block[-1:], file.read(BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252", False
    return "utf-8-sig", min(feeds, returns) > 0 and not feeds == returns == both


# --- separators and names ---


def _usual_separator(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _find_separator(plain: Path, path: Path) -> str:
    """Return the separator that gives the most columns, the same number in the first lines; else that of the ending."""
    with plain.open(encoding="utf-8-sig", newline="") as file:
        lines = list(islice(file, HEAD_LINES))
    widths = {separator: _widths(lines, separator) for separator in SEPARATOR_NAMES}
    even = {separator: counts[0] for separator, counts in widths.items() if counts and min(counts) == max(counts) > 1}
    return max(even, key=lambda separator: even[separator]) if even else _usual_separator(path)


def _widths(lines: Iterable[str], separator: str) -> list[int]:
    try:
        return [len(row) for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:  # a value too long to be one: not this separator
        return []


def _read_header(plain: Path, separator: str, path: Path) -> tuple[list[str], int, bool]:
    """Return the names of the columns, how many blank lines stand before them, and whether the file has names."""
    with plain.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=separator)
        for n_blank, row in enumerate(_rows(lines, path)):
            if row:
                names = [name.strip() for name in row]
                if _holds_values(names, _next_row(lines)):
                    return [f"x{number}" for number in range(1, len(names) + 1)], n_blank, False
                _check_names(names, path)
                return names, n_blank, True
    raise UnusableDataset(f"{path} has no lines: a line of column names and at least one row are needed")


def _rows(lines: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from lines
    except csv.Error as error:
        raise UnusableDataset(f"the line of column names of {path} cannot be read ({error}): is it a table?") from error


def _next_row(lines: Iterator[list[str]]) -> list[str]:
    try:
        return next((row for row in lines if row), [])
    except csv.Error:  # a value too long to be one, which is refused later
        return []


def _holds_values(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether the first line is a row: it has numbers, and just where the next line has them.

    Examples
    --------
    >>> _holds_values(["5.1", "setosa"], ["4.9", "setosa"]), _holds_values(["size", "2024"], ["big", "7"])
    (True, False)
    >>> _holds_values(["2023", "2024"], ["1.5", "2.5"])  # years as names
    False
    """
    pairs = [(cell, other.strip()) for cell, other in zip(first, second) if cell and other.strip()]
    are_numbers = [is_number(cell) for cell, _ in pairs]
    if len(first) != len(second) or not any(are_numbers):
        return False
    if all(YEAR.fullmatch(cell) for cell in first) and len(set(first)) == len(first) > 1:
        return False
    words = [cell for cell in first if not is_number(cell)]
    return are_numbers == [is_number(other) for _, other in pairs] and (
        not words or any("." in cell for cell in first if is_number(cell)) or set(words) <= set(second)
    )


def _check_names(names: Sequence[str], path: Path) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UnusableDataset(f"{path} has two columns named {twice[0]!r}: rename one")


def is_number(word: str) -> bool:
    """Tell whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _name_nameless(relation: Relation) -> None:
    """Give a column without a name one that --use and --drop can name."""
    names = relation.names
    for place, each in enumerate(relation.fields):
        if not each.name:
            called = f"column{place + 1}"
            while called in names:
                called += "_"
            relation.fields = [*relation.fields[:place], replace(each, name=called), *relation.fields[place + 1 :]]
            relation.notes.append(f"Column {place + 1} has no name: it is called {called!r}.")


def _leave_out_row_numbers(relation: Relation) -> None:
    """Leave out a first column that has no name and counts the rows, as pandas writes it."""
    first, *others = relation.fields
    if first.name not in INDEX_NAMES or not others:
        return
    rows = f"SELECT TRY_CAST({first.key} AS BIGINT) - row_number() OVER () AS shift FROM {relation.sql}"
    query = f"SELECT min(shift), max(shift), count(*) - count(shift) FROM ({rows})"
    try:
        if relation.connection.execute(query).fetchall()[0] in ((-1, -1, 0), (0, 0, 0)):
            relation.fields = others
            relation.notes.append("The first column has no name and only counts the rows: it was left out.")
    except duckdb.Error as error:
        raise relation.explain(error) from error
