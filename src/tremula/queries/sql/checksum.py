"""Checksums of the values of a row, computed by the database: the same row has the same one in every query."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tremula.queries.sql.database import Database


def row_checksum(database: Database, table: Any, columns: Sequence[str], key: str | None = None) -> Any:
    """Return the expression of the MD5 of a row's values, in hexadecimal digits.

    Parameters
    ----------
    database : Database
    table : ibis table
    columns : sequence of str
        Columns of the table whose values are read.
    key : str or None
        Makes a different checksum of each key.
    """
    texts = [table[name].cast("string").fill_null("") for name in columns]
    if key is not None:
        texts.insert(0, database.ibis.literal(key))
    return _md5(database)(database.ibis.literal("|").join(texts))


def _md5(database: Database) -> Any:
    """Return the function MD5 of a database; SQLite has none and calls Python's."""
    builtin = database.ibis.udf.scalar.builtin
    if database.engine == "sqlite":
        database.backend.con.create_function("tremula_md5", 1, _python_md5, deterministic=True)

        @builtin
        def tremula_md5(text: str) -> str:
            raise NotImplementedError  # the connection knows it now

        return tremula_md5

    @builtin
    def md5(text: str) -> str:
        raise NotImplementedError  # the database runs its own

    return md5


def _python_md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
