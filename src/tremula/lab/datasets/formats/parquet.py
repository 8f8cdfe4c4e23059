"""Parquet files, read by DuckDB; writing them takes pyarrow.

A column is nominal if it holds text or booleans, or if the program that wrote it marked it as a dictionary (a category
of pandas): that mark stands in the Arrow schema among the file's metadata.
"""

import base64
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import duckdb

from tremula.errors import MissingLibrary
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.relation import Relation, new_connection, quote_text, typed_fields

ARROW_SCHEMA = b"ARROW:schema"
# Places in Arrow's flatbuffers: Message.header, Schema.fields, Field.name, Field.dictionary.
HEADER, FIELDS, NAME, DICTIONARY = 2, 1, 0, 4


@contextmanager
def open_parquet(path: Path) -> Iterator[Relation]:
    """Open a Parquet file."""
    sql = f"read_parquet({quote_text(str(path))})"

    def explain(error: duckdb.Error) -> Exception:
        return UnusableDataset(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}")

    with new_connection() as connection:
        try:
            pairs = connection.execute(f"SELECT key, value FROM parquet_kv_metadata({quote_text(str(path))})")
            schema = dict(pairs.fetchall()).get(ARROW_SCHEMA)
            fields = typed_fields(connection, sql, dictionary_columns(schema) if schema else set())
        except duckdb.Error as error:
            raise explain(error) from error
        names = connection.execute(
            f"SELECT name FROM parquet_schema({quote_text(str(path))}) WHERE num_children IS NULL"
        ).fetchall()
        if len(set(names)) < len(names) and len(names) == len(fields):
            raise UnusableDataset(f"{path} has two columns of the same name: rename one")
        yield Relation(connection, sql, fields, path.stem, str(path), explain)


def dictionary_columns(schema: bytes) -> set[str]:
    """Return the names of the dictionary columns in an Arrow schema, as Parquet files keep it.

    The schema is a flatbuffer: https://arrow.apache.org/docs/format/Columnar.html#schema-message
    """
    message = base64.b64decode(schema)[8:]  # after the mark of a continuation and the length
    header = _follow(message, _slot(message, _follow(message, 0), HEADER))
    vector = _follow(message, _slot(message, header, FIELDS))
    (n_fields,) = struct.unpack_from("<I", message, vector)
    names = set()
    for number in range(n_fields):
        table = _follow(message, vector + 4 + 4 * number)
        if _slot(message, table, DICTIONARY):
            start = _follow(message, _slot(message, table, NAME))
            (length,) = struct.unpack_from("<I", message, start)
            names.add(message[start + 4 : start + 4 + length].decode())
    return names


def _follow(message: bytes, place: int) -> int:
    """Return what the offset at a place points to."""
    return int(place + struct.unpack_from("<I", message, place)[0])


def _slot(message: bytes, table: int, number: int) -> int:
    """Return the place of a member of a table, 0 where it is absent."""
    layout = table - struct.unpack_from("<i", message, table)[0]
    size = struct.unpack_from("<H", message, layout)[0]
    if 4 + 2 * number >= size:
        return 0
    offset = struct.unpack_from("<H", message, layout + 4 + 2 * number)[0]
    return int(table + offset) if offset else 0


def import_pyarrow(purpose: str) -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its Parquet module, or say that `purpose` needs them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingLibrary(f"{purpose} needs pyarrow, which is not installed: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet
