"""Opens a table in a database, a file or a site as an oracle."""

from __future__ import annotations

from typing import Any

from tremula.errors import InvalidInput
from tremula.parameters import check_text
from tremula.queries.remote.client import RemoteOracle
from tremula.queries.sql.database import table_or_opener
from tremula.queries.sql.oracle import TableOracle


def connect(url: Any, table: str | None = None, *, target: str | None = None, **options: Any) -> Any:
    r"""Return an oracle of a table in a database, of a file, or of a site that `tremula serve` runs.

    Parameters
    ----------
    url : str or ibis table
        URL as in ibis ("duckdb://file.db", "postgresql://user@host/base", "sqlite://file.db", ...), or the path of a
        CSV or Parquet file; or a table that is open already; or the address of a site, "https://host:port".
    table : str or None, default=None
        Name of the table; not needed for a file.
    target : str, default=None
        Column to predict; required, other than for a site, which has its own.
    **options
        Further parameters of `TableOracle`, or of `RemoteOracle` for a site.

    Returns
    -------
    TableOracle or RemoteOracle

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tremula as tm
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "visits.csv")
    ...     _ = file.write_text("ward,again\nA,yes\nA,no\nB,no\nB,no\n")
    ...     oracle = tm.queries.connect(str(file), target="again")
    ...     oracle.schema.attributes[0].levels
    ('A', 'B')
    """
    for name, given in (("table", table), ("target", target)):
        if given is not None:
            check_text(name, given)
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        if table is not None or target is not None:
            raise InvalidInput(f"{url!r} is a site, which has its own table and target: leave them out")
        return RemoteOracle(url, **options)
    if target is None:
        raise InvalidInput("no target was given: name the column to predict, target='...'")
    return TableOracle(table_or_opener(url, table), target, **options)
