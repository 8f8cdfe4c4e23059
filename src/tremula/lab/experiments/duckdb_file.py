"""One DuckDB file that several processes use in turn: each transaction has the file to itself.

DuckDB locks a file while it is open. So the file is opened for one short transaction and closed again, and a process
that finds it locked retries. A committed transaction is durable, whatever happens to the process afterwards.
"""

from __future__ import annotations

import errno
import os
import random
import secrets
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tremula.errors import MissingLibrary, TremulaError

# A store from elsewhere cannot make DuckDB fetch or load an extension.
CONFIG: dict[str, bool | int] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
PATIENCE = 300.0  # seconds to retry while another process has the file open
PAUSES = (0.002, 0.03)  # seconds between two attempts, random so that two processes do not stay in step
BLOCK_SIZE = 16384  # DuckDB's smallest: results are small, and its default blocks have 262144 bytes
STORAGE_VERSION = "v1.2.0"  # the oldest DuckDB that may be installed can read what a newer one writes
LOCKED = ("Could not set lock", "already attached", "being used by another process")


class StoreError(TremulaError, OSError):
    """A store that cannot be read or written."""


class StoreBusy(StoreError):
    """Another program keeps the file open."""


class StoreFull(StoreError):
    """No space left for more results."""


class NotAStore(TremulaError, ValueError):
    """A file that exists but holds no results."""


# Words in DuckDB's message, the error they mean, and what to do.
REASONS: Sequence[tuple[Sequence[str], type[TremulaError], str]] = (
    (
        ("No space left", "File too large", "Disk quota", "Out of Memory Error: could not allocate block"),
        StoreFull,
        "no space left for {path}: the results stored so far are safe; free some space and run again",
    ),
    (
        ("Permission denied", "Read-only file system", "read-only mode"),
        StoreError,
        "{path} cannot be written: make the file and its folder writable, or name a file in another folder",
    ),
    (("Is a directory",), StoreError, "{path} is a folder: name a file"),
    (
        ("not a valid DuckDB database file", "Could not read enough bytes"),
        NotAStore,
        "{path} is not a store (not a DuckDB file, or truncated): name another file",
    ),
    (
        ("version number", "newer version", "storage version", "serialization version"),
        NotAStore,
        "{path} was written by a newer DuckDB than the installed one: pip install --upgrade duckdb",
    ),
)


def quoted(text: str) -> str:
    """Return a string as an SQL literal.

    Examples
    --------
    >>> print(quoted("tom's"))
    'tom''s'
    """
    return "'" + text.replace("'", "''") + "'"


def explain(error: Exception, path: Path) -> TremulaError:
    """Return the error that explains DuckDB's error for this file."""
    for words, kind, advice in REASONS:
        if any(word in str(error) for word in words):
            return kind(f"{advice.format(path=repr(str(path)))} ({_in_one_line(error)})")
    return StoreError(f"{str(path)!r} cannot be used: {_in_one_line(error)}")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def import_duckdb() -> Any:
    """Return the library; raise an error that says how to install it."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingLibrary("storing results needs DuckDB, which is not installed: pip install duckdb") from error
    return duckdb


class _Engine:
    """One in-memory DuckDB to which files are attached for a transaction; this is faster than one DuckDB per file.

    Threads take turns; a forked process makes its own.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.process = 0
        self.connection: Any = None

    def connect(self) -> Any:
        if self.connection is None or self.process != os.getpid():
            self.connection = import_duckdb().connect(":memory:", config=CONFIG)
            self.process = os.getpid()
        return self.connection

    def forget(self) -> None:
        """Drop the connection: after an error its state is not trusted."""
        connection, self.connection = self.connection, None
        with suppress(Exception):
            connection.close()


ENGINE = _Engine()


@contextmanager
def ctrl_c_deferred() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt after the block and not within it; the list has an entry once Ctrl-C was pressed.

    Ctrl-C within a transaction could leave the lock taken and the file attached, since it may strike where a context
    manager is about to give them back. Elsewhere than in the main thread Ctrl-C is not raised anyway.
    """
    pressed: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if pressed:
            raise KeyboardInterrupt


class DuckFile:
    """A DuckDB file, created with its tables on first use.

    Parameters
    ----------
    path : Path
    schema : str
        SQL that creates the tables.
    patience : float, default=300.0
        Seconds to wait while other programs have the file open.
    """

    def __init__(self, path: Path, schema: str, patience: float = PATIENCE) -> None:
        self.path = path
        self.schema = schema
        self.patience = patience

    def make(self) -> None:
        """Create a missing file under another name first, so that no incomplete file is ever visible."""
        if self.path.exists():
            return
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise StoreError(f"no folder {str(folder)!r} for {self.path.name!r}: create the folder first")
        draft = folder / f".{self.path.name}.{secrets.token_hex(4)}"
        try:
            with self._attached(draft, f"(BLOCK_SIZE {BLOCK_SIZE}, STORAGE_VERSION '{STORAGE_VERSION}')") as connection:
                connection.execute(self.schema)
            _put_in_place(draft, self.path)
        except OSError as error:
            if isinstance(error, TremulaError):
                raise
            raise explain(error, self.path) from error
        finally:
            for leftover in (draft, draft.with_name(draft.name + ".wal")):
                leftover.unlink(missing_ok=True)

    @contextmanager
    def transaction(self, write: bool) -> Iterator[Any]:
        """Open the file, yield a connection within a transaction, commit and close; an error rolls everything back.

        Reading works with a read-only file and on a full disk.
        """
        if write:
            self.make()
        with self._attached(self.path, "" if write else "(READ_ONLY)") as connection:
            yield connection

    @contextmanager
    def _attached(self, path: Path, options: str) -> Iterator[Any]:
        duckdb = import_duckdb()
        with ctrl_c_deferred() as pressed, ENGINE.lock:
            try:  # around the attachment too: a file that stayed attached would seem in use
                connection = self._attach(path, options, pressed)
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

    def _attach(self, path: Path, options: str, pressed: list[int]) -> Any:
        duckdb = import_duckdb()
        deadline = time.monotonic() + self.patience
        while True:
            try:
                connection = ENGINE.connect()
                connection.execute(f"ATTACH {quoted(str(path))} AS store {options}")
                return connection
            except duckdb.Error as error:
                if not any(word in str(error) for word in LOCKED):
                    ENGINE.forget()
                    raise explain(error, self.path) from error
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        f"{str(self.path)!r} was in use by another program, or by another connection of this one, for "
                        f"{self.patience:g} seconds: close that program and run again; the results stored so far are "
                        f"safe ({_in_one_line(error)})"
                    ) from error
            if pressed:
                raise KeyboardInterrupt
            time.sleep(random.uniform(*PAUSES))


def _put_in_place(made: Path, path: Path) -> None:
    """Move a file to its place unless another process was faster."""
    try:
        os.link(made, path)
    except FileExistsError:
        return
    except OSError as error:
        # Some file systems lack hard links; without them the last of two simultaneous processes wins.
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
            raise
        if not path.exists():
            made.rename(path)
