"""The tables of a store, and the conversion between a `Result` and its row."""

from __future__ import annotations

import io
import math
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from tremula import __version__
from tremula.errors import NotStorable, TremulaError
from tremula.lab.experiments import claims
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.duckdb_file import NotAStore, quoted
from tremula.lab.experiments.result import Result
from tremula.persistence.stored_arrays import array_of

FORMAT_VERSION = 1
PROCESSOR_SECONDS = "processor_seconds"  # kept among the named numbers, so that earlier stores have the same tables
SCHEMA = f"""
CREATE TABLE format (version INTEGER, made_by VARCHAR);
INSERT INTO format VALUES ({FORMAT_VERSION}, {quoted("tremula " + __version__)});
CREATE TABLE experiments (experiment VARCHAR, name VARCHAR, settings VARCHAR);
CREATE TABLE results (
    experiment VARCHAR, tremula VARCHAR, dataset VARCHAR, method VARCHAR, split BIGINT,
    measured MAP(VARCHAR, DOUBLE), n_test BIGINT, fit_seconds DOUBLE, predict_seconds DOUBLE, size BIGINT, seed UBIGINT,
    asked_for_predictions BOOLEAN, predictions BLOB, failure VARCHAR, traceback VARCHAR,
    python VARCHAR, numpy VARCHAR, scikit_learn VARCHAR, time TIMESTAMP, host VARCHAR, pid BIGINT
);
{claims.SCHEMA}
"""
# What a stranger may put into a file in place of a table, or of a function that tremula calls.
OWN_QUERIES = {
    "view": "SELECT view_name FROM duckdb_views() WHERE database_name = 'store' AND NOT internal LIMIT 1",
    "macro": "SELECT function_name FROM duckdb_functions() WHERE database_name = 'store' AND NOT internal LIMIT 1",
}
MEASURED_BY = "experiment = ? AND tremula = ?"
OF_CELL = f"{MEASURED_BY} AND dataset = ? AND method = ? AND split = ?"
INSERT = (
    "INSERT INTO results VALUES "
    "(?, ?, ?, ?, ?, MAP(?::VARCHAR[], ?::DOUBLE[]), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
RESULT_COLUMNS = (
    "dataset, method, split, failure, traceback, tremula, host, pid, map_keys(measured), map_values(measured), "
    "n_test, fit_seconds, predict_seconds, size, seed"
)
FRAME_COLUMNS = (
    "dataset", "method", "split", "n_test", "fit_seconds", "predict_seconds", "size", "seed", "failure",
    "tremula", "python", "numpy", "scikit_learn", "time", "host", "pid",
)  # fmt: skip


class StoreVersionError(TremulaError, ValueError):
    """A store, or results in it, of another version of tremula."""


def pack(array: np.ndarray) -> bytes:
    """Return an array as bytes, without pickle.

    Examples
    --------
    >>> unpack(pack(np.array(["yes", "no"], dtype=object))).tolist()
    ['yes', 'no']
    """
    plain = np.array(array.tolist()) if array.dtype == object else array
    buffer = io.BytesIO()
    try:
        np.save(buffer, plain, allow_pickle=False)
    except ValueError as error:
        raise NotStorable(f"predictions of type {array.dtype} cannot be stored: return numbers or strings") from error
    return buffer.getvalue()


def unpack(content: bytes) -> np.ndarray:
    """Return the array that was packed; raise ValueError if the bytes are not those of an array."""
    return array_of(content, "predictions")


def check_format(connection: Any, path: Path) -> None:
    """Raise an error if a file is not a store, has another format, or would answer by queries of its own."""
    connection.execute("USE memory")  # so that the functions below are DuckDB's, and not macros of the file
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'").fetchall()
    if ("format",) not in tables or ("results",) not in tables:
        raise NotAStore(f"{str(path)!r} is a DuckDB file, but holds no results of tremula: name another file")
    for kind, listing in OWN_QUERIES.items():
        name = connection.execute(listing).fetchone()
        if name is not None:
            raise NotAStore(
                f"{str(path)!r} has a {kind} {name[0]!r}, which tremula did not make, and which could read other "
                "files: name another file"
            )
    connection.execute("USE store")
    row = connection.execute("SELECT version, made_by FROM format").fetchone()
    version, made_by = (None, "another program") if row is None else row
    if version != FORMAT_VERSION:
        raise StoreVersionError(
            f"{str(path)!r} was made by {made_by} and has format {version}, but this is tremula {__version__}, "
            f"which reads format {FORMAT_VERSION}: name another file, or use {made_by}"
        )


def is_complete(row: Sequence[Any], with_predictions: bool) -> bool:
    """Return whether a row need not be measured again; a failure counts as complete until it is removed."""
    failure, asked_for_predictions = row[-2:]
    return failure is not None or asked_for_predictions or not with_predictions


def as_values(names: Sequence[str], numbers: Sequence[float | None]) -> tuple[dict[str, float], float | None]:
    """Return the named numbers of a stored cell, and apart from them its processor time, if it was measured.

    Examples
    --------
    >>> as_values(["error", "processor_seconds"], [0.25, 1.5])
    ({'error': 0.25}, 1.5)
    """
    # Some versions of DuckDB turn NaN within a list into NULL.
    values = {name: math.nan if number is None else number for name, number in zip(names, numbers)}
    processor_seconds = values.pop(PROCESSOR_SECONDS, None)
    return values, processor_seconds


def as_result(row: Sequence[Any]) -> Result:
    """Return the result in a row of `RESULT_COLUMNS`, which the predictions may follow."""
    dataset, method, split, failure, traceback, tremula, host, pid, names, numbers, *measures = row
    values, processor_seconds = as_values(names, numbers)
    n_test, fit_seconds, predict_seconds, size, seed, *packed = measures
    predictions = unpack(packed[0]) if packed and packed[0] is not None else None
    outcome = Outcome(values, n_test, fit_seconds, predict_seconds, size, seed, predictions, processor_seconds)
    return Result(Cell(dataset, method, split), outcome, failure, traceback, tremula, host, pid)


def as_row(result: Result, with_predictions: bool) -> list[Any]:
    """Return the columns of a result that follow its key."""
    outcome = result.outcome
    predictions = outcome.predictions if with_predictions else None
    named = {**outcome.values}
    if outcome.processor_seconds is not None:
        named[PROCESSOR_SECONDS] = outcome.processor_seconds
    numbers = list(map(float, named.values()))
    return [
        *(list(named), numbers, outcome.n_test, outcome.fit_seconds, outcome.predict_seconds),
        *(outcome.size, outcome.seed, with_predictions, None if predictions is None else pack(predictions)),
        *(result.failure, result.traceback, platform.python_version(), np.__version__, sklearn.__version__),
        *(datetime.now(UTC).replace(tzinfo=None), result.host or platform.node(), result.pid or os.getpid()),
    ]


def value_column(name: str) -> str:
    """Return the SQL of a named number as a column; a name that is already a column gets an underscore."""
    shown = f"{name}_" if name in {*FRAME_COLUMNS, "experiment", "settings"} else name
    literal, identifier = quoted(name), '"' + shown.replace('"', '""') + '"'
    return f"list_extract(map_values(measured), list_position(map_keys(measured), {literal})) AS {identifier}"
