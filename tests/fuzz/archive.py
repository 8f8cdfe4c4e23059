"""A model file as its parts, and back to a file with the right checksum, as a forger would write it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

DESCRIPTION = "model.json"


@dataclass
class Parts:
    """The description and the arrays of a model file."""

    description: Any
    arrays: dict[str, np.ndarray]


def read_parts(content: bytes) -> Parts:
    """Take a file apart."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = {name: np.lib.format.read_array(io.BytesIO(archive.read(name))) for name in names}
        return Parts(json.loads(archive.read(DESCRIPTION)), arrays)


def write_parts(parts: Parts) -> bytes:
    """Put a file together."""
    entries = {DESCRIPTION: json.dumps(parts.description).encode()}
    for name, array in parts.arrays.items():
        entry = io.BytesIO()
        np.lib.format.write_array(entry, array, allow_pickle=False)
        entries[name] = entry.getvalue()
    return zip_entries(entries)


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
