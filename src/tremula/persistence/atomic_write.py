"""Writes a file in one step: readers see the old content or the new, never a part of it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from tremula.errors import InvalidParameter


def file_path(path: Any) -> Path:
    """Return a path; refuse what is none. A number would be an open file.

    Examples
    --------
    >>> file_path("iris.tremula").suffix
    '.tremula'
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise InvalidParameter(f"path is of type {type(path).__name__}: give the name of a file")
    if "\0" in os.fspath(path):
        raise InvalidParameter(f"path={path!r} has a NUL, which no name of a file has: give another one")
    return Path(path)


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace or create a file in one step; a failure leaves the previous file, and nothing else.

    The content goes to a temporary file in the same folder, which is then renamed.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {os.fspath(target.parent)!r} does not exist: create it first")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # such as a full disk
            error.filename = os.fspath(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)
