"""Predictions of forests of all libraries: many rows, one row, and data frames; processor time in one thread.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/predictions.py [--store]
        [--tables letter satimage] [--libraries tremula sklearnex] [--members 100] [--seconds 3]

Libraries that are not installed are left out. All models of a table are trained first, in this process; then they take
turns in predicting, and the best turn of each counts. Peers and what they are given are those of forests.py.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pandas as pd
from forest_cell import _first
from forest_libraries import LIBRARIES
from forest_models import Job
from forest_tables import Table, in_form, load_table, title
from measure import environment, store, table, take_turns

from tremula.trees.combined_trees import combined_trees

TABLES = [
    "letter",
    "satimage",
    "pendigits",
    "waveform-5000",
    "covtype-20k",
    "adult",
    "cal-housing",
    "fried",
    "made-1000x2000-2",
]
PEERS = ["tremula", "sklearnex", "sklearn", "onnxruntime", "ydf", "treelite"]
N_WARM_UP = 8  # calls; after some of them tremula has copied its trees
N_SINGLE = 20  # calls for one row in a turn
NOTE = """Random forests of {members} full trees, the square root of the number of attributes at each node; `predict`,
from float64 arrays to answers; processor time in one thread, the best of alternating turns in one process.
A ratio is the time of a library divided by ours. Other programs ran on the machine: ratios are about 10 %
uncertain. One row is `predict` of an array of one row, checks included. Frame: a pandas frame of the same
rows, and in brackets how much of it is making it an array. Copy: the small copy of the trees that answers,
the size of the trees themselves, and the time to make it, once, which is part of no other number here. ONNX
Runtime and treelite predict with scikit-learn's forest. On adult, which has nominal attributes and missing
values, tremula and YDF get a table with levels, the others an array of codes."""


def trained(names: list[str], data: Table, members: int) -> dict[str, tuple[Any, Any]]:
    """The model of each library, and the test rows as it takes them."""
    job = Job("forest", data.kind, members, 1, len(data.y), data.X.shape[1])
    models = {}
    for name in names:
        X, X_test = in_form(data, LIBRARIES[name].form_for("forest"))
        model = LIBRARIES[name].make(job).fit(X, data.y)
        for _ in range(N_WARM_UP):
            model.predict(X_test)
        models[name] = model, X_test
    return models


def repeat(work: Callable[[], Any], n_times: int) -> None:
    for _ in range(n_times):
        work()


def time_rows(models: dict[str, tuple[Any, Any]], seconds: float) -> dict[str, float]:
    """Microseconds for each test row."""
    jobs = {name: partial(model.predict, X) for name, (model, X) in models.items()}
    n_rows = {name: len(next(iter(X.values()))) if isinstance(X, dict) else len(X) for name, (_, X) in models.items()}
    return {name: 1e6 * best / n_rows[name] for name, best in take_turns(jobs, seconds).items()}


def time_row(models: dict[str, tuple[Any, Any]], seconds: float) -> dict[str, float]:
    """Microseconds for a table of one row."""
    jobs = {name: partial(repeat, partial(model.predict, _first(X)), N_SINGLE) for name, (model, X) in models.items()}
    return {name: 1e6 * best / N_SINGLE for name, best in take_turns(jobs, seconds).items()}


def time_frame(data: Table, members: int, seconds: float) -> tuple[float, float]:
    """Microseconds for each row of a frame, and what reading it takes of them."""
    if data.is_nominal:
        frame, test = data.X, data.X_test
    else:
        names = [f"a{number}" for number in range(data.X.shape[1])]
        frame, test = (pd.DataFrame(X, columns=names) for X in (data.X, data.X_test))
    job = Job("forest", data.kind, members, 1, len(data.y), data.X.shape[1])
    model = LIBRARIES["tremula"].make(job).fit(frame, data.y)
    repeat(lambda: model.predict(test), N_WARM_UP)
    best = take_turns({"predict": lambda: model.predict(test), "read": lambda: model._read_table(test)}, seconds)
    return 1e6 * best["predict"] / len(test), 1e6 * best["read"] / len(test)


def copy_text(model: Any) -> str:
    """Size of the copy and of the trees, and time to make it."""
    trees = combined_trees(model, model.members_, model._n_outputs, model.combine)
    begin = time.process_time()
    trees._copied()
    seconds = time.process_time() - begin
    megabytes = [size / 2**20 for size in (trees.nbytes, sum(tree.nbytes for tree in model.members_))]
    return f"{megabytes[0]:.1f} MB of {megabytes[1]:.1f}, {1e3 * seconds:.0f} ms"


def measure(name: str, libraries: list[str], options: argparse.Namespace) -> list[str]:
    """One line of the table."""
    data = load_table(name)
    models = trained(libraries, data, options.members)
    rows, row = time_rows(models, options.seconds), time_row(models, options.seconds)
    frame, read = time_frame(data, options.members, options.seconds / 2)

    def shown(times: dict[str, float], form: str) -> list[str]:
        own = times["tremula"]
        others = [f"{times[peer]:{form}} ({times[peer] / own:.1f})" for peer in libraries if peer != "tremula"]
        return [f"{own:{form}}", *others]

    line = [title(name), *shown(rows, ".2f"), " / ".join(f"{row[library]:.0f}" for library in libraries)]
    print(" | ".join(line), flush=True)
    return [*line, f"{frame:.2f} ({read:.2f})", copy_text(models["tremula"][0])]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the predictions of forests of all libraries.")
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--libraries", nargs="*", choices=PEERS, default=PEERS, help="tremula is always among them")
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3.0, help="of all turns on a table")
    parser.add_argument("--store", action="store_true", help="write the section of RESULTS.md")
    options = parser.parse_args()
    libraries = [name for name in PEERS if name in {"tremula", *options.libraries} and LIBRARIES[name].is_installed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [measure(name, libraries, options) for name in options.tables]
    labels = [LIBRARIES[name].label for name in libraries]
    header = ["table", "tremula, us a row", *(f"{label} (ratio)" for label in labels[1:])]
    header += ["one row, us, in this order", "frame (read), us a row", "copy"]
    packages = [LIBRARIES[name].package for name in libraries]
    text = "\n\n".join([table(header, lines), NOTE.format(members=options.members), environment(*packages)])
    print(text)
    if options.store:
        store("Predictions", f"{text}\n\nCommand: `python benchmarks/predictions.py --store`")


if __name__ == "__main__":
    main()
