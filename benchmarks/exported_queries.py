"""Ensembles as SQL queries: their length by node, and their time against a scan of the table.

    TREMULA_DATA=folder python benchmarks/exported_queries.py [--rows 48842] [--engines duckdb sqlite]

The table is adult. A scan reads every column of it once, the least that a query about all columns can do. A query adds
its predictions up, so that none need be fetched. Seconds are processor time of the process, engines on one thread, the
best of three alternating turns. Reading and planning the text of the query is part of its time.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import duckdb
import pandas as pd
from measure import environment, table, take_turns

import tremula as tm
from data import load

MEMBERS = 20
MODELS: dict[str, Any] = {
    "counts, 20 trees of depth 4": tm.SimulatedBaggingClassifier(MEMBERS, max_depth=4, random_state=0),
    "forest, 20 trees of depth 8": tm.RandomForestClassifier(MEMBERS, max_depth=8, random_state=0),
    "bagging, 20 trees of depth 4": tm.BaggingClassifier(tm.CARTClassifier(max_depth=4), MEMBERS, random_state=0),
}


def open_engine(engine: str, frame: pd.DataFrame) -> tuple[Any, Callable[[str], Any]]:
    """Return a connection to a database with the table, and how a query is run in it."""
    if engine == "duckdb":
        connection = duckdb.connect(config={"threads": 1})
        connection.register("frame", frame)
        connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    else:
        connection = sqlite3.connect(":memory:")
        frame.to_sql("rows", connection, index=False)
    return connection, lambda sql: connection.execute(sql).fetchall()


def lines_of(engine: str, frame: pd.DataFrame, models: dict[str, Any]) -> list[list[str]]:
    """Return a line of the table for each model in one engine."""
    connection, run = open_engine(engine, frame)
    columns = ", ".join(f'MAX("{name}")' for name in frame.columns)
    scan = f"SELECT {columns} FROM rows"
    queries = {name: tm.to_sql(model, "rows", dialect=engine) for name, model in models.items()}
    jobs = {name: lambda sql=sql: run(f"SELECT SUM(p1) FROM ({sql}) AS answers") for name, sql in queries.items()}
    seconds = take_turns({"scan": lambda: run(scan), **jobs}, seconds=0.0)
    connection.close()
    lines = []
    for name, model in models.items():
        n_nodes, length = sum(tree.n_nodes for tree in model.members_), len(queries[name].encode())
        ratio = seconds[name] / seconds["scan"]
        lines.append([engine, name, f"{n_nodes:,}", f"{length / 1000:,.0f}", f"{length / n_nodes:.0f}",
                      f"{seconds['scan']:.3f}", f"{seconds[name]:.2f}", f"{ratio:.0f}"])  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=48_842)
    parser.add_argument("--engines", nargs="*", default=["duckdb", "sqlite"])
    arguments = parser.parse_args()
    X, y = load("adult")
    X = pd.DataFrame(X).iloc[: arguments.rows]
    models = {name: model.fit(X, y[: arguments.rows]) for name, model in MODELS.items()}
    frame = X.copy()
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(object)
    lines = [line for engine in arguments.engines for line in lines_of(engine, frame, models)]
    names = ["engine", "model", "nodes", "kB", "bytes a node", "scan, s", "query, s", "query / scan"]
    print(table(names, lines))
    print(environment("tremula", "duckdb", "numpy"))


if __name__ == "__main__":
    main()
