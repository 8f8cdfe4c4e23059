"""One DuckDB file that several processes use in turns: each transaction has the file to itself.

DuckDB locks a file as long as it is open. So it is opened for one short transaction and closed, and who finds it locked
tries again. What was committed stays, whatever happens to the process afterwards.
"""

from __future__ import annotations

import errno
import os
import random
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tremula.errors import MissingLibrary, TremulaError

PATIENCE = 300.0  # seconds to try for while another process has the file open
PAUSES = (0.002, 0.03)  # seconds between two tries, drawn so that two processes do not stay in step
BLOCK_SIZE = 16384  # the smallest: results are few bytes, and DuckDB's usual blocks have 262144
LOCKED = ("Could not set lock", "already attached", "being used by another process")


class StoreTrouble(TremulaError, OSError):
    """A file of results that cannot be read or written."""


class StoreBusy(StoreTrouble):
    """Another program has the file open, and keeps it open."""


class StoreFull(StoreTrouble):
    """No space is left for more results."""


class NotAStore(TremulaError, ValueError):
    """A file that is there, but holds no results."""


# What DuckDB's message says, what it means, and what to do.
REASONS: Sequence[tuple[Sequence[str], type[TremulaError], str]] = (
    (
        ("No space left", "File too large", "Disk quota", "Out of Memory Error: could not allocate block"),
        StoreFull,
        "no space is left for {path}: what was kept before is safe in it; free some space and run again",
    ),
    (
        ("Permission denied", "Read-only file system", "read-only mode"),
        StoreTrouble,
        "{path} cannot be written: make the file and its folder writable, or name a file in another folder",
    ),
    (("Is a directory",), StoreTrouble, "{path} is a folder: name a file"),
    (
        ("not a valid DuckDB database file", "Could not read enough bytes"),
        NotAStore,
        "{path} is not a file of results (it is no DuckDB file, or was cut): name another file",
    ),
    (
        ("version number", "newer version", "storage version", "serialization version"),
        NotAStore,
        "{path} was written by a later DuckDB than is installed: pip install --upgrade duckdb",
    ),
)


def quoted(text: str) -> str:
    """Return a text as a literal of SQL.

    Examples
    --------
    >>> print(quoted("tom's"))
    'tom''s'
    """
    return "'" + text.replace("'", "''") + "'"


def explain(error: Exception, path: Path) -> TremulaError:
    """Return what DuckDB's error means for this file."""
    for words, kind, advice in REASONS:
        if any(word in str(error) for word in words):
            return kind(f"{advice.format(path=repr(str(path)))} ({_in_one_line(error)})")
    return StoreTrouble(f"{str(path)!r} cannot be used: {_in_one_line(error)}")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingLibrary("keeping results needs DuckDB, which is not installed: pip install duckdb") from error
    return duckdb


class _Engine:
    """One DuckDB without a file, to which files are attached for a transaction: that is quicker than a DuckDB each.

    Threads take turns; a process that was forked from another makes its own.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.process = 0
        self.connection: Any = None

    def connect(self) -> Any:
        if self.connection is None or self.process != os.getpid():
            self.connection = _import_duckdb().connect(":memory:", config={"threads": 1})
            self.process = os.getpid()
        return self.connection

    def forget(self) -> None:
        """After an error nothing of the old state is trusted."""
        connection, self.connection = self.connection, None
        with suppress(Exception):
            connection.close()


ENGINE = _Engine()


class DuckFile:
    """A DuckDB file, made with its tables when it is first used.

    Parameters
    ----------
    path : Path
    schema : str
        SQL that makes the tables.
    patience : float, default=300.0
        Seconds to wait for other programs that have the file open.
    """

    def __init__(self, path: Path, schema: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.schema = schema
        self.patience = patience

    def make(self) -> None:
        """Make the file if it is not there: as a whole, beside its place, so that no half-made file is ever found."""
        if self.path.exists():
            return
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise StoreTrouble(f"no folder {str(folder)!r} to keep {self.path.name!r} in: make it first")
        beside = folder / f".{self.path.name}.{secrets.token_hex(4)}"
        try:
            with self._attached(beside, f"(BLOCK_SIZE {BLOCK_SIZE})") as connection:
                connection.execute(self.schema)
            _put_in_place(beside, self.path)
        except OSError as error:
            raise error if isinstance(error, TremulaError) else explain(error, self.path) from error
        finally:
            for rest in (beside, beside.with_name(beside.name + ".wal")):
                rest.unlink(missing_ok=True)

    @contextmanager
    def transaction(self, write: bool) -> Iterator[Any]:
        """Open, give a connection that is in a transaction, commit, close; an error undoes all of it.

        A file that is only read from may be read-only, and its disk full.
        """
        if write:
            self.make()
        with self._attached(self.path, "" if write else "(READ_ONLY)") as connection:
            yield connection

    @contextmanager
    def _attached(self, path: Path, options: str) -> Iterator[Any]:
        duckdb = _import_duckdb()
        with ENGINE.lock:
            connection = self._attach(path, options)
            try:
                connection.execute("USE store")
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                connection.execute("USE memory")
                connection.execute("DETACH store")
            except duckdb.Error as error:
                ENGINE.forget()
                raise explain(error, self.path) from error
            except BaseException:
                ENGINE.forget()
                raise

    def _attach(self, path: Path, options: str) -> Any:
        duckdb = _import_duckdb()
        given_up = time.monotonic() + self.patience
        while True:
            try:
                connection = ENGINE.connect()
                connection.execute(f"ATTACH {quoted(str(path))} AS store {options}")
                return connection
            except duckdb.Error as error:
                if not any(word in str(error) for word in LOCKED):
                    ENGINE.forget()
                    raise explain(error, self.path) from error
                if time.monotonic() > given_up:
                    raise StoreBusy(
                        f"{str(self.path)!r} was in use by another program, or by another connection of this one, for "
                        f"{self.patience:g} seconds: close what has it open and run again; results kept so far stay "
                        f"({_in_one_line(error)})"
                    ) from error
            time.sleep(random.uniform(*PAUSES))


def _put_in_place(made: Path, path: Path) -> None:
    """Move a file to its place unless another process was first."""
    try:
        os.link(made, path)
    except FileExistsError:
        return
    except OSError as error:
        # Some file systems have no hard links; without them the last of two that come at once would win.
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
            raise
        if not path.exists():
            made.rename(path)
