"""A model file as its parts, and back to a model, or to a file with the right checksum, as a forger would write it.

The parts of a file are read once. Its arrays may not be written to; the bytes of those that stay as they are are kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import marshal
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tremula.errors import FileDamaged, TremulaError
from tremula.persistence.archive import model_of
from tremula.persistence.stored_arrays import check_header, plain_copy

DESCRIPTION = "model.json"
LOCAL = struct.Struct("<4s5H3L2H")  # the headers of the ZIP format: before an entry, in the list of entries, at the end
LISTED = struct.Struct("<4s6H3L5H2L")
LAST = struct.Struct("<4s4H2LH")
Place = tuple[Any, ...]
FIRST_DAY = 33  # 1980-01-01
VERSION = 20


@dataclass
class Parts:
    """The description and the arrays of a model file."""

    description: Any
    arrays: dict[str, np.ndarray]
    pristine_places: list[Place] | None = None  # of the values of the description, until it is changed


class Entry(NamedTuple):
    """The bytes of an entry, and their checksum."""

    content: bytes
    checksum: int


class _Template(NamedTuple):
    description: bytes  # by `marshal`, which reads three times as fast as JSON
    arrays: dict[str, np.ndarray]
    places: list[Place]


_ENTRIES: dict[int, Entry] = {}  # by the number that Python gives an array; templates keep their arrays alive


@cache
def _template(content: bytes, with_digest: bool) -> _Template:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
        description = json.loads(archive.read(DESCRIPTION))
    arrays = {name: np.lib.format.read_array(io.BytesIO(entry)) for name, entry in entries.items()}
    for name, array in arrays.items():
        array.flags.writeable = False
        _ENTRIES[id(array)] = Entry(entries[name], zlib.crc32(entries[name]))
    if not with_digest:
        _forget_digest(description)
    return _Template(marshal.dumps(description), arrays, list(places_in(description)))


def _forget_digest(value: Any) -> None:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _forget_digest(item)
    if isinstance(value, dict):
        value.pop("_model_digest", None)


def places_in(value: Any, path: Place = ()) -> Iterator[Place]:
    """Yield the way to each value of a description."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_in(item, (*path, key))


def read_parts(content: bytes, with_digest: bool = True) -> Parts:
    """Take a file apart; without the digest a smoothed model is not told that its trees were changed."""
    template = _template(content, with_digest)
    return Parts(marshal.loads(template.description), dict(template.arrays), template.places)


def load_parts(parts: Parts) -> Any:
    """Load a model from its parts as `tm.load` does from a file of them; only the archive itself is left out."""
    names = [name.removesuffix(".npy") for name in parts.arrays]
    try:
        return model_of(parts.description, names, lambda name: _checked(parts.arrays[f"{name}.npy"], name), "parts")
    except TremulaError:
        raise
    except Exception as error:  # as `tm.load` does
        raise FileDamaged(str(error)) from error


def _checked(array: np.ndarray, name: str) -> np.ndarray:
    if id(array) in _ENTRIES:
        return array.copy()
    check_header(name, array.shape, array.dtype, array.nbytes)
    return plain_copy(array, name)


def write_parts(parts: Parts, method: int = zipfile.ZIP_STORED) -> bytes:
    """Put a file together."""
    description = json.dumps(parts.description).encode()
    entries = {DESCRIPTION: Entry(description, zlib.crc32(description))}
    entries |= {name: _ENTRIES.get(id(array)) or _entry_of(array) for name, array in parts.arrays.items()}
    if method != zipfile.ZIP_STORED:
        return zip_entries({name: entry.content for name, entry in entries.items()}, method)
    return with_checksum(_stored(entries))


def _entry_of(array: np.ndarray) -> Entry:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return Entry(buffer.getvalue(), zlib.crc32(buffer.getvalue()))


def _stored(entries: dict[str, Entry]) -> bytes:
    """Return an archive of entries that are not packed; `zipfile` takes ten times as long."""
    contents, listed, place = [], [], 0
    for text, (content, checksum) in entries.items():
        name, n_bytes = text.encode(), len(content)
        contents += [LOCAL.pack(b"PK\3\4", VERSION, 0x800, 0, 0, FIRST_DAY, checksum, n_bytes, n_bytes, len(name), 0)]
        contents += [name, content]
        head = LISTED.pack(
            *(b"PK\1\2", VERSION, VERSION, 0x800, 0, 0, FIRST_DAY, checksum, n_bytes, n_bytes, len(name)),
            *(0, 0, 0, 0, 0, place),
        )
        listed += [head, name]
        place += LOCAL.size + len(name) + n_bytes
    directory, comment = b"".join(listed), b"sha256:" + b"0" * 64
    last = LAST.pack(b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), place, len(comment))
    return b"".join([*contents, directory, last, comment])


def zip_entries(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a model file of these entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, method, compresslevel=1)
        archive.comment = b"sha256:" + b"0" * 64
    return with_checksum(buffer.getvalue())


def with_checksum(content: bytes) -> bytes:
    """Return the content with the checksum that goes with it."""
    summed = content[:-64]
    return summed + hashlib.sha256(summed).hexdigest().encode()
