"""ARFF files, the format of Weka: attributes with their types, then rows, dense or sparse."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.delimited import SPACES, explainer, plain_text, text_rows
from tremula.lab.datasets.formats.relation import Field, Relation, new_connection

ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)
NUMBERS = {"numeric", "real", "integer"}
# One pair of a sparse row: the number of an attribute and its value, up to the next comma.
PAIR = re.compile(r"\s*([^\s,]+)\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]*?)\s*(?:,|$)")
ESCAPED = re.compile(r"\\(.)")
FIELD_TYPES = {"numeric": "numeric text", "nominal": "nominal", "string": "nominal", "date": "string"}


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # numeric, nominal, string or date
    levels: tuple[str, ...] = ()


@contextmanager
def open_arff(path: Path) -> Iterator[Relation]:
    """Open an ARFF file. Its header is read here and its rows by DuckDB; sparse rows are written out for that."""
    with new_connection() as connection, plain_text(path) as (plain, notes), TemporaryDirectory() as folder:
        attributes, n_header = _read_header(plain, path)
        quote = _quote_of_all(plain, n_header)
        if quote is None:
            quote, n_header, plain = '"', 0, _write_dense(plain, n_header, attributes, path, Path(folder) / "rows.csv")
        options = f"header = false, skip = {n_header}, delim = ',', nullstr = ['?']"
        sql = text_rows(plain, len(attributes), options, quote, "\\")
        fields = [
            Field(attribute.name, f"trim(c{number}, {SPACES})", FIELD_TYPES[attribute.kind])
            for number, attribute in enumerate(attributes)
        ]
        yield Relation(connection, sql, fields, path.stem, str(path), explainer(path), notes)


# --- the header ---


def _read_header(plain: Path, path: Path) -> tuple[list[_Attribute], int]:
    """Return the attributes, and how many lines stand before the first row."""
    attributes, n_lines = [], 0
    with plain.open(encoding="utf-8-sig") as file:
        for line in map(str.strip, file):
            n_lines += 1
            if line.lower().startswith("@attribute"):
                attributes.append(_read_attribute(line, path))
            elif line.lower().startswith("@data"):
                break
        else:
            raise UnusableDataset(f"{path} has no line @data: it is not an ARFF file, or was cut")
    names = [attribute.name for attribute in attributes]
    if not names or len(set(names)) < len(names):
        problem = "declares no attribute" if not names else "names an attribute twice"
        raise UnusableDataset(f"{path} {problem}: give each attribute a line with a name of its own")
    return attributes, n_lines


def _read_attribute(line: str, path: Path) -> _Attribute:
    match = ATTRIBUTE.match(line)
    if not match:
        raise UnusableDataset(f"{path} has a line {line!r}: expected @attribute, a name and a type")
    name, declared = _unquoted(match[1]), match[2].strip()
    if declared.startswith("{"):
        return _Attribute(name, "nominal", tuple(_split(declared.strip("{} \t"), path)))
    kind = declared.split()[0].lower()
    if kind in NUMBERS:
        return _Attribute(name, "numeric")
    if kind in ("string", "date"):
        return _Attribute(name, kind)
    raise UnusableDataset(
        f"attribute {name!r} of {path} has the type {declared!r}: numeric, nominal, string or date are read"
    )


# --- rows that DuckDB cannot read as they are ---


def _rows(plain: Path, n_header: int) -> Iterator[str]:
    with plain.open(encoding="utf-8-sig") as file:
        yield from islice(file, n_header, None)


def _quote_of_all(plain: Path, n_header: int) -> str | None:
    """Return the quotation mark of all rows; None where they use both, some are sparse, or comments are among them."""
    marks = set()
    for line in _rows(plain, n_header):
        if line.lstrip()[:1] in ("{", "%", "") and line != "\n":
            return None
        marks |= {mark for mark in "'\"" if mark in line}
    return None if len(marks) > 1 else "".join(marks) or '"'


def _write_dense(plain: Path, n_header: int, attributes: Sequence[_Attribute], path: Path, place: Path) -> Path:
    """Write the rows dense and with one quotation mark."""
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, escapechar="\\", doublequote=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
        lines = (line for line in map(str.strip, _rows(plain, n_header)) if line and not line.startswith("%"))
        for number, line in enumerate(lines, start=1):
            words = _read_sparse(number, line, attributes, path) if line.startswith("{") else _split(line, path)
            if len(words) != len(attributes):
                raise UnusableDataset(
                    f"row {number} of {path} has {len(words)} values, but there are {len(attributes)} attributes"
                )
            writer.writerow(words)
    return place


def _read_sparse(number: int, line: str, attributes: Sequence[_Attribute], path: Path) -> list[str]:
    """Return the words of a row that leaves out zeros and first levels."""
    words = [attribute.levels[0] if attribute.levels else "0" for attribute in attributes]
    pairs, begin = line[1:].removesuffix("}").rstrip(), 0
    while begin < len(pairs):
        pair = PAIR.match(pairs, begin)
        if not line.endswith("}") or not pair or not _is_place(pair[1], len(words)):
            raise UnusableDataset(
                f"row {number} of {path} is {line[:60]!r}: a sparse row has pairs of an attribute's number, from 0 to "
                f"{len(words) - 1}, and its value, separated by commas, in braces"
            )
        words[int(pair[1])] = _unquoted(pair[2])
        begin = pair.end()
    return words


def _is_place(digits: str, n_places: int) -> bool:
    """Whether digits are a number below another; thousands of them are more than Python turns into a number."""
    return digits.isdecimal() and len(digits) < 20 and int(digits) < n_places


def _split(line: str, path: Path) -> list[str]:
    """Split at commas that are not within quotation marks of either kind."""
    quote = "'" if line.count("'") > line.count('"') else '"'
    separated: Iterable[list[str]] = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    try:
        return [word.strip() for word in next(iter(separated), [])]
    except csv.Error as error:
        raise UnusableDataset(f"{path} has a line that cannot be split at commas ({error}): {line[:60]!r}") from error


def _unquoted(word: str) -> str:
    bare = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
    return ESCAPED.sub(r"\1", bare)
