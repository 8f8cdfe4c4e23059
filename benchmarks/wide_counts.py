"""Simulated bagging of a wide nominal table in DuckDB: asked depth by depth, from different rows, and read out.

    python benchmarks/wide_counts.py [--rows 60000] [--depths 3 4 0] [--seconds 100] [--spark] [--partitions 1 4]
    python benchmarks/wide_counts.py --numeric --rows 1000000 --depths 4 8 --ways 0 1 4

The table has 26 nominal attributes of 2 to 40 levels and 3 numeric ones; with `--numeric`, ten numeric ones, five
of which decide the class. All ways but Spark's give the same trees if the cuts are the same. Of the ways that ask,
the seconds of connecting and of counting are told apart. Depth 0 is no limit. A way that takes longer than
`--seconds` at one depth is not tried at a larger one. Seconds are processor time of the process, DuckDB on one
thread. With `--spark`, where pyspark is installed, MLlib's forest of as many trees is grown from a Parquet file:
its seconds are those of the Java process, on one core, and its largest depth is 30. `--partitions` counts in Spark,
too, over as many Parquet files; the seconds are those of the Java process and of the driver.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import duckdb
import numpy as np
import pandas as pd
from measure import environment, table

import tremula as tm

LEVELS = (2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 10, 12, 12, 15, 15, 20, 20, 25, 30, 40, 5, 3)
N_NUMERIC, MEMBERS = 3, 20


def make_table(path: Path, rows: int) -> None:
    """One hidden number moves all attributes and the class."""
    random = np.random.default_rng(0)
    hidden = random.normal(size=rows)
    columns: dict[str, Any] = {}
    for number, levels in enumerate(LEVELS):
        noisy = hidden * 0.9 / (1 + number % 6) + random.normal(size=rows)
        codes = np.clip(((noisy + 3) / 6 * levels).astype(int), 0, levels - 1)
        columns[f"a{number}"] = np.array([f"level {code}" for code in range(levels)])[codes]
    for number in range(N_NUMERIC):
        columns[f"x{number}"] = np.round(random.normal(size=rows) + hidden / 2, 3)
    score = 1.5 * hidden + (columns["x0"] > 0) + (columns["a3"] == "level 1") - 0.5
    columns["again"] = np.where(random.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    frame = pd.DataFrame(columns)
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")


def make_numeric_table(path: Path, rows: int) -> None:
    """Ten independent normal columns; the class depends on five of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 10)).round(4)
    score = X[:, :5] @ np.array([1, 0.8, 0.6, 0.4, 0.3]) + X[:, 0] * X[:, 1]
    frame = pd.DataFrame({f"x{number}": X[:, number] for number in range(10)})
    frame["again"] = np.where(random.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")


class Stopwatch:
    """An oracle that adds up the processor seconds of its answers."""

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.schema, self.seconds = oracle, oracle.schema, 0.0

    def count(self, questions: Any) -> Any:
        start = time.process_time()
        answers = self.oracle.count(questions)
        self.seconds += time.process_time() - start
        return answers


def asked(path: Path, depth: int | None, **options: Any) -> tuple[Any, str]:
    sent: list[str] = []
    address = f"duckdb://{path}?threads=1&read_only=True"
    start = time.process_time()
    with tm.queries.connect(address, "visits", target="again", on_query=sent.append, **options) as oracle:
        connecting, watch = time.process_time() - start, Stopwatch(oracle)
        model = tm.SimulatedBaggingClassifier(MEMBERS, max_depth=depth, random_state=0).fit(watch)
    longest = max(map(len, sent)) / 1000
    words = (
        f"{len(sent)} texts, longest {longest:.0f} kB; connecting {connecting:.1f} s, counting {watch.seconds:.1f} s"
    )
    return model, words


def without_working_table(path: Path, depth: int | None) -> tuple[Any, str]:
    return asked(path, depth, working_table=False)


def until_rows_pay(path: Path, depth: int | None) -> tuple[Any, str]:
    return asked(path, depth, cube_rows="auto")


def from_cube(path: Path, depth: int | None) -> tuple[Any, str]:
    return asked(path, depth, cube_rows=10_000_000)


def read_out(path: Path, depth: int | None) -> tuple[Any, str]:
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        frame = connection.sql("SELECT * FROM visits").df()
    model = tm.SimulatedBaggingClassifier(MEMBERS, max_depth=depth, random_state=0)
    return model.fit(frame.drop(columns="again"), frame["again"]), "1 query"


def spark_session() -> tuple[Any, int]:
    """Return a session on one core, and the number of its Java process."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    return session, session.sparkContext._gateway.proc.pid


def write_parquet(path: Path) -> Path:
    parquet = path.with_suffix(".parquet")
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        connection.execute(f"COPY visits TO '{parquet}' (FORMAT parquet)")
    return parquet


def spark_counts(path: Path, depth: int | None, partitions: int) -> list[str]:
    """Return the processor seconds of Java and of the driver for counts in Spark, the nodes and the queries."""
    import ibis

    session, java = spark_session()
    folder = str(path.with_suffix(f".{partitions}"))
    session.read.parquet(str(write_parquet(path))).repartition(partitions).write.mode("overwrite").parquet(folder)
    start, driver = java_seconds(java), time.process_time()
    visits = ibis.pyspark.connect(session).read_parquet(folder, table_name=f"visits{partitions}")
    oracle = tm.queries.TableOracle(visits, "again")
    model = tm.SimulatedBaggingClassifier(MEMBERS, max_depth=depth, random_state=0).fit(oracle)
    seconds, driver = java_seconds(java) - start, time.process_time() - driver
    session.stop()
    nodes = sum(tree.n_nodes for tree in model.members_)
    return [f"{seconds:.1f} + {driver:.1f}", f"{nodes:,}", f"{oracle.n_queries} queries"]


def spark_forest(path: Path, depth: int) -> list[str]:
    """Return the processor seconds of the Java process for MLlib's forest, and the number of its nodes."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import RandomForestClassifier
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    parquet = write_parquet(path)
    session, java = spark_session()
    words = [f"a{number}" for number in range(len(LEVELS))]
    numbers = [f"x{number}" for number in range(N_NUMERIC)]
    start = java_seconds(java)
    stages = [
        StringIndexer(inputCols=[*words, "again"], outputCols=[*(f"{word} code" for word in words), "label"]),
        VectorAssembler(inputCols=[*(f"{word} code" for word in words), *numbers], outputCol="features"),
        RandomForestClassifier(numTrees=MEMBERS, maxDepth=depth, maxBins=64, seed=0),
    ]
    forest = Pipeline(stages=stages).fit(session.read.parquet(str(parquet))).stages[-1]
    seconds, n_nodes = java_seconds(java) - start, forest.totalNumNodes
    session.stop()
    return [f"{seconds:.1f}", f"{n_nodes:,}", "rows read by Spark"]


def java_seconds(process: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


WAYS: dict[str, Callable[[Path, int | None], tuple[Any, str]]] = {
    "counts, depth by depth": asked,
    "counts, no working table": without_working_table,
    'counts, cube_rows="auto"': until_rows_pay,
    "counts, from different rows": from_cube,
    "rows read out": read_out,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--depths", type=int, nargs="*", default=[3, 4])
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--ways", type=int, nargs="*", default=list(range(len(WAYS))), help="places in WAYS")
    parser.add_argument("--numeric", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--partitions", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    lines, tired = [], set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "visits.duckdb")
        (make_numeric_table if arguments.numeric else make_table)(path, arguments.rows)
        for depth in arguments.depths:
            for name, way in [list(WAYS.items())[place] for place in arguments.ways]:
                if name in tired:
                    continue
                start = time.process_time()
                model, words = way(path, depth or None)
                seconds = time.process_time() - start
                if seconds > arguments.seconds:
                    tired.add(name)
                nodes = sum(tree.n_nodes for tree in model.members_)
                lines.append([str(depth), name, f"{seconds:.1f}", f"{nodes:,}", words])
                print(lines[-1], flush=True)
            if arguments.spark:
                lines.append([str(depth), "Spark MLlib's forest", *spark_forest(path, depth or 30)])
                print(lines[-1], flush=True)
            for partitions in arguments.partitions:
                name = f"counts in Spark, {partitions} partitions"
                lines.append([str(depth), name, *spark_counts(path, depth or None, partitions)])
                print(lines[-1], flush=True)
    print(table(["depth", "way", "processor seconds", "nodes", "asked"], lines))
    print(environment("tremula", "duckdb", "ibis-framework", "numpy", *(["pyspark"] if arguments.spark else [])))


if __name__ == "__main__":
    main()
