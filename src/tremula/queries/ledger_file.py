"""A ledger in a file that several processes may share: records are on disk before anything they pay for is given.

Records are lines of JSON. The first says which table and which rules the file belongs to. A line that was cut by a
crash is removed: what it would have paid for was not given.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tremula.errors import FileDamaged, InvalidInput
from tremula.persistence.atomic_write import file_path

Record = dict[str, Any]


class LedgerFile:
    """Records of a guard in a file.

    Parameters
    ----------
    path : path
        The file; it is created if it does not exist.
    rules : dict
        Table and rules, which must be those of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "visits.ledger")
    >>> with LedgerFile(path, {"epsilon": 1.0}).open() as (_, write):
    ...     write({"cost": 0.5})
    >>> with LedgerFile(path, {"epsilon": 1.0}).open() as (records, write):
    ...     records
    [{'cost': 0.5}]
    """

    def __init__(self, path: str | os.PathLike[str], rules: Record) -> None:
        self.path = file_path(path)
        self._rules = json.loads(json.dumps(rules))
        self._end = 0
        self._identity: tuple[int, int] | None = None

    @contextmanager
    def open(self) -> Iterator[tuple[list[Record], Any]]:
        """Lock the file; give the records that were added since the last time, and a function that adds one."""
        # A file object is closed, which unlocks it, even if an interruption skips the end of this block.
        with open(self.path, "r+b", buffering=0, opener=_open_or_create) as file:
            descriptor = file.fileno()
            _lock(descriptor)
            self._check_identity(descriptor)
            records = self._read(descriptor)
            yield records, lambda record: self._write(descriptor, record)

    def _check_identity(self, descriptor: int) -> None:
        """Raise an error if the file is not the one that was opened first: another one may have a budget left."""
        opened = os.fstat(descriptor)
        identity = (opened.st_dev, opened.st_ino)
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            named = None
        is_named = named is not None and (named.st_dev, named.st_ino) == identity
        if not is_named or self._identity not in (None, identity):
            raise FileDamaged(f"{str(self.path)!r} was replaced while it was in use: restore it from a backup")
        self._identity = identity

    def _read(self, descriptor: int) -> list[Record]:
        size = os.fstat(descriptor).st_size
        if size < self._end:
            raise FileDamaged(f"{str(self.path)!r} has become shorter: restore it from a backup")
        content = os.pread(descriptor, size - self._end, self._end)
        while len(content) < size - self._end:
            content += os.pread(descriptor, size - self._end - len(content), self._end + len(content))
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.ftruncate(descriptor, self._end + len(whole))
        try:
            records = [json.loads(line) for line in whole.splitlines()]
        except ValueError as error:
            raise FileDamaged(f"{str(self.path)!r} has a line that is not JSON: restore it from a backup") from error
        is_first = self._end == 0
        self._end += len(whole)
        if is_first and not records:
            self._write(descriptor, {"rules": self._rules})
            self._sync_folder()
        elif is_first:
            self._check(records.pop(0))
        return records

    def _check(self, header: Record) -> None:
        own = header.get("rules") if isinstance(header, dict) else None
        if not isinstance(own, dict):
            raise FileDamaged(f"{str(self.path)!r} is not a ledger: give another name")
        differing = [name for name in {**self._rules, **own} if own.get(name) != self._rules.get(name)]
        if differing:
            given = ", ".join(f"{name} was {own.get(name)!r} and is {self._rules.get(name)!r}" for name in differing)
            raise InvalidInput(f"the ledger {str(self.path)!r} belongs to other rules: {given}. Give the same rules")

    def _write(self, descriptor: int, record: Record) -> None:
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        written = 0
        while written < len(line):
            written += os.pwrite(descriptor, line[written:], self._end + written)
        os.fsync(descriptor)
        self._end += len(line)

    def _sync_folder(self) -> None:
        if os.name == "posix":
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)


def _open_or_create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o600)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError as error:
        raise InvalidInput("a ledger file needs POSIX file locks, which this system does not have") from error
    fcntl.flock(descriptor, fcntl.LOCK_EX)
