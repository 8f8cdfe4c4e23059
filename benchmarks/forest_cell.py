"""Measures one library on one table, in a process of its own, and prints the measurements as JSON.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/forest_cell.py '{"task": "forest", "table": "letter",
        "library": "sklearn", "members": 100, "jobs": 1, "predicts": true}'

The table is read and brought into the library's form before the clock starts, and a small model is trained first.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from forest_libraries import LIBRARIES, Library
from forest_models import Job
from forest_tables import Table, in_form, load_table
from measure import per_call
from peers import ask_ranger

WARM_UP_ROWS = 300
PREDICT_SECONDS = 0.3


def measure_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Seconds, memory, error and size."""
    library, table = LIBRARIES[cell["library"]], load_table(cell["table"])
    job = Job(cell["task"], table.kind, cell["members"], cell["jobs"], *_shape(table))
    os.environ["OMP_NUM_THREADS"] = str(job.jobs)
    if library.package == "ranger":
        return _measure_ranger(table, job)
    return _measure(library, table, job, cell["predicts"])


def _shape(table: Table) -> tuple[int, int]:
    return len(table.y), table.X.shape[1]


def _measure(library: Library, table: Table, job: Job, predicts: bool) -> dict[str, Any]:
    X, X_test = in_form(table, library.form_for(job.task))
    _warm_up(library, table, job, X)
    _reset_peak()
    memory, begin = _megabytes("VmRSS"), time.perf_counter()
    seconds = -time.process_time()
    model = library.make(job).fit(X, table.y)
    seconds += time.process_time()
    measured = {
        "seconds": seconds if library.is_trained else None,
        "wall": time.perf_counter() - begin if library.is_trained else None,
        "memory": _megabytes("VmHWM") - memory if library.is_trained else None,
        "error": table.error(model.predict(X_test)),
        "leaves": library.leaves(model),
        "trained": _n_members(model, job),
        "versions": {library.package: version(library.package)},
    }
    if predicts:
        measured["predict_seconds"] = _best_seconds(lambda: model.predict(X_test))
        row = _first(X_test)
        measured["row_seconds"] = per_call(lambda: model.predict(row))
    return measured | _about(table)


def _about(table: Table) -> dict[str, Any]:
    return {"kind": table.kind, "n_test": len(table.y_test), "is_nominal": table.is_nominal}


def _n_members(model: Any, job: Job) -> int:
    """Members that were trained: boosting may stop early, and one tree has one."""
    for name in ("members_", "estimators_"):
        if hasattr(model, name):
            return len(getattr(model, name))
    return 1 if job.task.startswith("tree") else job.members


def _warm_up(library: Library, table: Table, job: Job, X: Any) -> None:
    """Train two members on a few rows, so that code is loaded and threads run."""
    few = min(WARM_UP_ROWS, len(table.y))
    y = table.y[:few]
    if job.is_class:
        y = np.unique(y, return_inverse=True)[1]
    library.make(Job(job.task, job.kind, 2, job.jobs, few, job.n_attributes)).fit(_first(X, few), y)


def _first(X: Any, n_rows: int = 1) -> Any:
    return {name: column[:n_rows] for name, column in X.items()} if isinstance(X, dict) else X[:n_rows]


def _best_seconds(work: Callable[[], Any]) -> float:
    """Processor time of the best of at least three calls."""
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < PREDICT_SECONDS:
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def _measure_ranger(table: Table, job: Job) -> dict[str, Any]:
    X, X_test = in_form(table, "complete")
    drawn = job.n_attributes if job.task == "bagging" else job.n_drawn
    training, test = np.column_stack([X, table.y]), np.column_stack([X_test, table.y_test])
    options = (str(option) for option in (drawn, job.kind, job.jobs, len(test)))
    rscript = shutil.which("Rscript") or "Rscript"
    answer = ask_ranger(rscript, training.astype(np.float64), job.members, *options, test=test.astype(np.float64))
    versions = {name: answer.pop(name) for name in ("ranger", "R")}
    return answer | _about(table) | {"trained": job.members, "versions": versions}


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _megabytes(what: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(measure_cell(json.loads(sys.argv[1]))))
