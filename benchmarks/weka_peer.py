"""How long Weka's J48 takes to learn a dataset: the peer that `C45Classifier` is measured against.

Run where python-weka-wrapper3 (it brings the Weka jar), pandas, pyarrow and Java are installed:

    TREMULA_DATA=<folder of the parquet files> python benchmarks/weka_peer.py adult

It prints JSON: for each set of options the first fit, the best of the fits after warming up, and the size of the tree.
Only `buildClassifier` is timed; reading the file and filling Weka's Instances is not. Thread seconds leave out the time
in which other programs had the processor (and Java's own compiler and collector threads).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
from weka_bridge import Table, java_version, make_instances, make_learner, read_table, start_weka

PRUNED, UNPRUNED = "-C 0.25 -M 2", "-U -M 2"
WARM_UP = 5  # fits before the timed ones, for the just-in-time compiler


def time_j48(table: Table, options: str = PRUNED, repeats: int = 3) -> dict[str, Any]:
    """Seconds J48 needs to learn all rows of a table: the first time, and the best of `repeats` after warming up."""
    instances = make_instances(table, np.arange(len(table.target)))
    seconds, thread_seconds = [], []
    for _ in range(1 + WARM_UP + repeats):
        learner = make_learner("J48", options)
        start, thread_start = time.perf_counter(), time.thread_time()
        learner.buildClassifier(instances)
        seconds.append(time.perf_counter() - start)
        thread_seconds.append(time.thread_time() - thread_start)
    return {
        "options": options,
        "first_seconds": round(seconds[0], 4),
        "warm_seconds": round(min(seconds[-repeats:]), 4),
        "warm_thread_seconds": round(min(thread_seconds[-repeats:]), 4),
        "n_nodes": int(learner.measureTreeSize()),
        "n_leaves": int(learner.measureNumLeaves()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time Weka's J48 on one dataset of the folder TREMULA_DATA.")
    parser.add_argument("dataset", help="name of a parquet file there, without its ending, e.g. adult")
    parser.add_argument("--options", action="append", help=f"J48 options; default: '{PRUNED}' and '{UNPRUNED}'")
    parser.add_argument("--rows", type=int, help="use only the first rows")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    versions = {"weka": start_weka(), "java": java_version()}
    table = read_table(arguments.dataset, arguments.rows)
    timings = [time_j48(table, options, arguments.repeats) for options in arguments.options or (PRUNED, UNPRUNED)]
    print(json.dumps({"dataset": table.name, "n_rows": len(table.target), **versions, "j48": timings}, indent=2))


if __name__ == "__main__":
    main()
