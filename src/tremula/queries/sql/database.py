"""A table in a database; after a lost connection it is opened again, and the query is built and sent again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from tremula.data.column import show
from tremula.errors import (
    InvalidInput,
    InvalidParameter,
    MissingLibrary,
    QueryFailed,
    TremulaError,
    UnknownTable,
    did_you_mean,
)
from tremula.queries.sql.sessions import run_in_spark

FILE_READERS: dict[str, tuple[str, dict[str, Any]]] = {
    # Without booleans: the classes yes and no keep their names.
    ".csv": ("read_csv", {"auto_type_candidates": ["BIGINT", "DOUBLE", "TIME", "DATE", "TIMESTAMP", "VARCHAR"]}),
    ".parquet": ("read_parquet", {}),
}
FILE_ENGINES = ("duckdb", "sqlite")
PASSWORD_OPTION = re.compile(r"((?:password|passwd|pwd|token|secret)=)([^&]+)", re.IGNORECASE)
HIDDEN = "***"
DUCKDB_TABLES = """SELECT DISTINCT table_name FROM information_schema.tables
    WHERE table_catalog IN (current_database(), 'temp') AND table_schema = current_schema() ORDER BY ALL"""
LONGEST_PAUSE = 5.0  # seconds before a query is sent again
FLOAT4 = 700  # the type real of PostgreSQL, whose values are not the doubles that they are shown as


class QueryTooLong(TremulaError):
    """The text of a query is longer than allowed; it was not sent."""


def import_ibis() -> Any:
    """Import ibis, or say how to get it."""
    try:
        import ibis
    except ImportError as error:
        raise MissingLibrary("tables in databases need ibis: pip install 'tremula[tables]'") from error
    return ibis


def table_or_opener(url: Any, name: str | None) -> Any:
    """Return what opens a table of a database or a file; an open table stays as it is."""
    return partial(open_table, url, name) if isinstance(url, str) else url


def open_table(url: str, name: str | None) -> Any:
    """Open a table of a database, or a file."""
    ibis = import_ibis()
    reader = FILE_READERS.get(Path(url).suffix.lower()) if "://" not in url else None
    if reader is None:
        return find_table(_connect(ibis, url), name)
    if not Path(url).is_file():
        raise UnknownTable(f"no file {url!r}: give the path of a CSV or Parquet file, or the URL of a database")
    try:
        name_of_reader, options = reader
        return getattr(ibis.duckdb.connect(), name_of_reader)(url, **options)
    except Exception as error:
        raise QueryFailed(f"{url!r} cannot be read: {error}") from error


def duckdb_table(connection: Any, name: str) -> Any:
    """Return a table of an open connection of DuckDB, which stays open, as `connect` takes it."""
    try:
        return import_ibis().duckdb.from_connection(connection).table(name)
    except TremulaError:
        raise
    except Exception as error:
        raise QueryFailed(f"table {name!r} of the connection cannot be opened: {error}") from error


def _connect(ibis: Any, url: str) -> Any:
    _check_file(url)
    try:
        return ibis.connect(url)
    except Exception as error:
        message = str(error)
        for secret in _secrets(url):
            message = message.replace(secret, HIDDEN)
        # A traceback shows the cause of an error, so a cause that contains the password is left out.
        cause = error if message == str(error) else None
        raise QueryFailed(f"no connection to {without_password(url)!r}: {message}") from cause


def _check_file(url: str) -> None:
    """Raise an error if a database file does not exist; engines would create an empty one."""
    scheme, mark, place = url.partition("://")
    file = place.partition("?")[0]
    if mark and scheme in FILE_ENGINES and file not in ("", ":memory:") and ":" not in file and not Path(file).exists():
        raise UnknownTable(f"no database file {file!r}: check the path, which starts after {scheme}://")


def _secrets(url: str) -> list[str]:
    """Return the passwords in a URL, both as written and decoded."""
    secrets = [value for _, value in PASSWORD_OPTION.findall(url)]
    user, at, _ = url.partition("://")[2].rpartition("@")
    if at and ":" in user:
        secrets.append(user.partition(":")[2])
    return [word for secret in secrets for word in (secret, unquote(secret)) if word]


def without_password(url: str) -> str:
    """Return a URL with its passwords masked.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/base?password=other")
    'postgresql://ann:***@host/base?password=***'
    """
    scheme, mark, rest = PASSWORD_OPTION.sub(rf"\1{HIDDEN}", url).partition("://")
    user, at, host = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{scheme}{mark}{name}{colon}{HIDDEN if colon else ''}{at}{host}"


def find_table(connection: Any, name: str | None) -> Any:
    """Return a table by its name; errors list the tables of the database."""
    names = table_names(connection)
    if name is not None and "." in name and name not in names:
        schema, _, own_name = name.rpartition(".")
        raise UnknownTable(
            f"no table {name!r} in the database. A table of another schema is opened by ibis: pass "
            f"ibis.connect(url).table({own_name!r}, database={schema!r}) instead of the URL"
        )
    if not names:
        raise UnknownTable("the database has no table that you can read: check its URL and your access rights")
    if name is None:
        raise InvalidInput(f"no table was given: name one (there are {show(names)})")
    if name not in names:
        hint = did_you_mean(name, names) or ": name one of these"
        raise UnknownTable(f"no table {name!r} in the database (has {show(names)}){hint}")
    return connection.table(name)


def table_names(connection: Any) -> list[str]:
    """Return the tables that a name without a schema can mean.

    DuckDB is asked directly: ibis 12 asks by a method that DuckDB 2 does not have.
    """
    if connection.name != "duckdb":
        return list(connection.list_tables())
    return [name for (name,) in connection.con.sql(DUCKDB_TABLES).fetchall()]


# A connection runs one query at a time, but the tables of several sites may share one connection.
_LOCKS: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()


def _lock_of(backend: Any) -> Lock:
    return _LOCKS.setdefault(backend, Lock())


def _fetch_from_postgres(backend: Any, sql: str) -> Any:
    """Run a query that joins rows with small tables, and return a pyarrow table.

    ibis would create a view to learn the types, which a role that may only SELECT cannot. PostgreSQL expects a walk to
    lose most rows at every step, and would search the next table of steps from end to end for each row that is left:
    nested loops are turned off for the query.
    """
    import pyarrow

    with backend.con.transaction(), backend.con.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(sql)
        columns, rows = cursor.description, cursor.fetchall()
    types = {FLOAT4: pyarrow.float32()}
    return _as_arrow([column.name for column in columns], rows, [types.get(column.type_code) for column in columns])


def _fetch_from_sqlite(backend: Any, sql: str) -> Any:
    """Run a query and return a pyarrow table; ibis would create a view to learn the types."""
    cursor = backend.con.execute(sql)
    names, rows = [column[0] for column in cursor.description], cursor.fetchall()
    return _as_arrow(names, rows, [None] * len(names))


def _as_arrow(names: list[str], rows: list[Any], types: list[Any]) -> Any:
    import pyarrow

    values = zip(*rows) if rows else [()] * len(names)
    return pyarrow.table({name: pyarrow.array(column, kind) for name, column, kind in zip(names, values, types)})


def _times(attempts: int) -> str:
    return "once" if attempts == 1 else f"{attempts} times"


class Database:
    """One table of a database, which can be opened again after a lost connection.

    Attributes
    ----------
    table : ibis table
        The table, after what one person contributes is limited.
    source : ibis table
        The table itself.
    n_queries : int
        Number of queries sent so far whose answers are fetched; statements of a working table have none.
    n_openings : int
        Number of times that the table was opened; what was made in the session before is lost.
    on_query : callable or None
        Called with the SQL of each query before it is sent.
    """

    def __init__(
        self,
        table: Any,
        retries: int,
        on_query: Callable[[str], None] | None = None,
        limit: Callable[[Database, Any], Any] | None = None,
    ) -> None:
        self.ibis = import_ibis()
        self._open: Callable[[], Any] | None = table if callable(table) else None
        self._retries = retries
        self._limit = limit
        self.n_openings = 0
        opened = table() if callable(table) and not isinstance(table, type) else table
        if not hasattr(opened, "get_backend"):
            raise InvalidParameter(
                f"the table is of type {type(opened).__name__}: give a table of ibis, or connect to a URL or a file"
            )
        self._take(opened)
        self.n_queries = 0
        self.on_query = on_query
        self._is_lost = False

    def _take(self, opened: Any) -> None:
        self.n_openings += 1
        self._compiled: dict[Hashable, str] = {}
        self.source = self.table = opened
        if self._limit is not None:
            self.table = self._limit(self, opened)

    def part_opener(self, part: Callable[[Database, Any], Any]) -> Any:
        """Return a part of the table on the same connection, or what opens it, where a lost one can be opened again."""
        reopen = self._open
        if reopen is None:
            return part(self, self.source)
        was_opened = False

        def open_part() -> Any:
            nonlocal was_opened
            if was_opened:  # and lost since
                self._take(reopen())
            was_opened = True
            return part(self, self.source)

        return open_part

    @property
    def backend(self) -> Any:
        """The connection."""
        return self.table.get_backend() if self._has_backend() else self.ibis.get_backend()

    def _has_backend(self) -> bool:
        try:
            self.table.get_backend()
        except self.ibis.common.exceptions.IbisError:
            return False
        return True

    @property
    def engine(self) -> str:
        """Name of the engine, as ibis calls it."""
        return str(self.backend.name)

    def fetch(self, make: Callable[[Any], Any], max_length: float = inf) -> Any:
        """Run the expression that `make` builds from the table, and return a pyarrow table."""
        return self._ask(lambda: self._run(make(self.table), max_length))

    def fetch_sql(self, make: Callable[[Any], str], max_length: float = inf) -> Any:
        """Run the SQL that `make` writes for the table, and return a pyarrow table."""
        return self._ask(lambda: self.run_sql(make(self.table), max_length))

    def in_session(self, work: Callable[[], Any], is_retried: bool = True) -> Any:
        """Return the result of some statements of one session; they are all run again after a lost connection."""
        if is_retried:
            return self._ask(work)
        with _lock_of(self.backend):
            return work()

    def _run(self, expression: Any, max_length: float) -> Any:
        if self.on_query is not None or max_length < inf:
            self._announce(self.compile(expression), max_length)
        else:
            self.n_queries += 1
        return self.backend.to_pyarrow(expression)

    def run_sql(self, sql: str, max_length: float = inf) -> Any:
        """Run a query in the present session, and return a pyarrow table."""
        self._make_source_known()
        self._announce(sql, max_length)
        if self.engine == "duckdb":
            # ibis would parse the SQL, which takes longer than the query itself if it has a thousand paths.
            return self.backend.con.sql(sql).to_arrow_table()
        if self.engine == "postgres":
            return _fetch_from_postgres(self.backend, sql)
        if self.engine == "sqlite":
            return _fetch_from_sqlite(self.backend, sql)
        return self.backend.sql(sql).to_pyarrow()

    def execute(self, sql: str, max_length: float = inf) -> None:
        """Run a statement that returns nothing in the present session."""
        self._make_source_known()
        self._check_length(sql, max_length)
        if self.on_query is not None:
            self.on_query(sql)
        if self.engine == "duckdb":
            self.backend.con.execute(sql)
        elif self.engine == "postgres":
            with self.backend.con.transaction(), self.backend.con.cursor() as cursor:
                cursor.execute("SET LOCAL enable_nestloop = off")
                cursor.execute(sql)
        elif self.engine == "pyspark":
            run_in_spark(self.backend._session, sql)
        else:
            self.backend.con.execute(sql)

    def _make_source_known(self) -> None:
        if self.n_queries == 0 and isinstance(self.source.op(), self.ibis.expr.operations.InMemoryTable):
            self.backend.to_pyarrow(self.source.limit(0))  # the engine knows a table in memory from here on

    def is_alive(self) -> bool:
        """Whether the session answers."""
        try:
            with suppress(AttributeError):
                self.backend.raw_sql("SELECT 1").close()
        except Exception:  # each engine has errors of its own
            return False
        return True

    def _check_length(self, sql: str, max_length: float) -> None:
        if len(sql.encode()) > max_length:
            raise QueryTooLong(f"a query of {len(sql.encode()):,} bytes is longer than {max_length:,}")

    def _announce(self, sql: str, max_length: float) -> None:
        self._check_length(sql, max_length)
        self.n_queries += 1
        if self.on_query is not None:
            self.on_query(sql)

    def close(self) -> None:
        """Close the connection, if this object opened it."""
        if self._open is not None:
            self.backend.disconnect()

    def compile(self, expression: Any) -> str:
        """Return the SQL of an expression, in the engine's dialect."""
        return str(self.backend.compile(expression))

    def compile_once(self, key: Hashable, make: Callable[[], Any]) -> str:
        """Return the SQL of the expression that `make` builds, or that of an earlier call with the same key."""
        if key not in self._compiled:
            self._compiled[key] = self.compile(make())
        return self._compiled[key]

    def quote(self, label: Any) -> str:
        """Return the literal of a label in the engine's dialect, as ibis writes it."""
        from sqlglot import exp

        return str(exp.convert(label).sql(self.backend.dialect))

    def _ask(self, ask: Callable[[], Any]) -> Any:
        attempts = self._retries + 1 if self._open is not None else 1
        for attempt in range(attempts):
            try:
                if self._is_lost and self._open is not None:
                    with suppress(Exception):  # closing a lost connection may fail
                        self.close()
                    self._take(self._open())
                    self._is_lost = False
                with _lock_of(self.backend):
                    return ask()
            except QueryFailed as error:  # the connection could not be opened again
                last: Exception = error
            except (TremulaError, AttributeError, TypeError, NameError):
                raise
            except Exception as error:
                last = error
            self._is_lost = True
            if attempt + 1 < attempts:
                time.sleep(min(0.2 * 2**attempt, LONGEST_PAUSE))
        raise QueryFailed(
            f"the database did not answer; it was asked {_times(attempts)}: {last}. Earlier answers are kept: call fit "
            "again with this oracle to continue"
        ) from last
