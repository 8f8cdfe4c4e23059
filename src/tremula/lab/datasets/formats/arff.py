"""ARFF files, the format of Weka: attributes with their types, then rows, dense or sparse."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.lab.datasets.formats.delimited import UnusableDataset, read_text

ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)
NUMBERS = {"numeric", "real", "integer"}
# One pair of a sparse row: the number of an attribute and its value, up to the next comma.
PAIR = re.compile(r"\s*([^\s,]+)\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]*?)\s*(?:,|$)")
ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # numeric, nominal, string or date
    levels: tuple[str, ...] = ()


def read_arff(path: Path) -> tuple[dict[str, list[Any]], set[str], list[str]]:
    """Return the columns of an ARFF file, None where missing, the names of the nominal ones, and notes.

    Parameters
    ----------
    path : Path

    Returns
    -------
    columns : dict of str to list
        Numbers, or words.
    nominal : set of str
    notes : list of str
    """
    text, notes = read_text(path)
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith("%")]
    begin = next((number for number, line in enumerate(told) if line.lower().startswith("@data")), None)
    if begin is None:
        raise UnusableDataset(f"{path} has no line @data: it is no ARFF file, or was cut")
    attributes = [_read_attribute(line, path) for line in told[:begin] if line.lower().startswith("@attribute")]
    names = [attribute.name for attribute in attributes]
    if not names or len(set(names)) < len(names):
        problem = "declares no attribute" if not names else "names an attribute twice"
        raise UnusableDataset(f"{path} {problem}: give each attribute a line with a name of its own")
    rows = [_read_row(number, line, attributes, path) for number, line in enumerate(told[begin + 1 :], start=1)]
    if not rows:
        raise UnusableDataset(f"{path} has no rows after @data: at least one is needed")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return columns, {attribute.name for attribute in attributes if attribute.kind in ("nominal", "string")}, notes


def _read_attribute(line: str, path: Path) -> _Attribute:
    found = ATTRIBUTE.match(line)
    if not found:
        raise UnusableDataset(f"{path} has a line {line!r}: expected @attribute, a name and a type")
    name, kind = _unquoted(found[1]), found[2].strip()
    if kind.startswith("{"):
        return _Attribute(name, "nominal", tuple(_split(kind.strip("{} \t"), path)))
    word = kind.split()[0].lower()
    if word in NUMBERS:
        return _Attribute(name, "numeric")
    if word in ("string", "date"):
        return _Attribute(name, word)
    raise UnusableDataset(
        f"attribute {name!r} of {path} is of type {kind!r}: numeric, nominal, string or date are read"
    )


def _read_row(number: int, line: str, attributes: Sequence[_Attribute], path: Path) -> list[Any]:
    words = _read_sparse(number, line, attributes, path) if line.startswith("{") else _split(line, path)
    if len(words) != len(attributes):
        raise UnusableDataset(
            f"row {number} of {path} has {len(words)} values, but there are {len(attributes)} attributes"
        )
    return [_read_value(number, word, attribute, path) for word, attribute in zip(words, attributes)]


def _read_sparse(number: int, line: str, attributes: Sequence[_Attribute], path: Path) -> list[str]:
    """Return the words of a row that leaves out zeros and first levels."""
    words = [attribute.levels[0] if attribute.levels else "0" for attribute in attributes]
    pairs, begin = line[1:].removesuffix("}").rstrip(), 0
    while begin < len(pairs):
        pair = PAIR.match(pairs, begin)
        if not line.endswith("}") or not pair or not pair[1].isdecimal() or int(pair[1]) >= len(words):
            raise UnusableDataset(
                f"row {number} of {path} is {line[:60]!r}: a sparse row has pairs of an attribute's number, from 0 to "
                f"{len(words) - 1}, and its value, separated by commas, in braces"
            )
        words[int(pair[1])] = _unquoted(pair[2])
        begin = pair.end()
    return words


def _read_value(number: int, word: str, attribute: _Attribute, path: Path) -> Any:
    if word == "?":
        return None
    if attribute.kind != "numeric":
        return word
    try:
        return float(word)
    except ValueError as error:
        raise UnusableDataset(
            f"row {number} of {path} has {word!r} for the numeric attribute {attribute.name!r}: a number is needed"
        ) from error


def _split(line: str, path: Path) -> list[str]:
    """Split at commas that are not within quotation marks of either kind."""
    quote = "'" if line.count("'") > line.count('"') else '"'
    separated = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    try:
        return [word.strip() for word in next(separated, [])]
    except csv.Error as error:
        raise UnusableDataset(f"{path} has a line that cannot be split at commas ({error}): {line[:60]!r}") from error


def _unquoted(word: str) -> str:
    bare = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
    return ESCAPED.sub(r"\1", bare)
