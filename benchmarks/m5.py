"""Time to fit M5': tremula's M5Regressor against Weka's M5P, on one processor, in one run.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/m5.py --weka-python <python with python-weka-wrapper3>

Weka learns inside one Java process that stays: each round asks it for a fit, then times tremula's; so both are
measured side by side, and Java has warmed up. Only the fit is timed, in processor seconds of the thread that does it;
Java's own compiler and collector threads are not counted. The table goes to RESULTS.md with `--store`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TITLE = "M5': time to fit"
DATASETS = ("fried", "mv", "cal-housing")
RUNS = {"pruned": "", "unpruned": "-N"}
WARM_UP = 3
ROUNDS = 4
GOAL = 5.0


def serve(names: list[str]) -> None:
    """Fit with Weka what is asked on standard input, one `dataset run` a line; print seconds and number of rules."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
    import numpy as np
    from weka_bridge import java_version, make_instances, make_learner, read_table, start_weka

    versions = f"Weka {start_weka()}, Java {java_version()}"
    instances = {}
    for name in names:
        table = read_table(name)
        instances[name] = make_instances(table, np.arange(len(table.target)))
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        name, run = line.split()
        learner = make_learner("M5P", RUNS[run])
        start = time.thread_time()
        learner.buildClassifier(instances[name])
        print(json.dumps([time.thread_time() - start, int(learner.measureNumRules())]), flush=True)


class Weka:
    """A Java process that fits on demand."""

    def __init__(self, python: str, names: list[str]) -> None:
        command = [python, __file__, "--serve", *names]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.versions = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("Weka's process ended: does its Python have python-weka-wrapper3, pandas and pyarrow?")
        return json.loads(line)

    def fit(self, name: str, run: str) -> tuple[float, int]:
        """Return the seconds of a fit, and the number of rules."""
        assert self.process.stdin is not None
        print(name, run, file=self.process.stdin, flush=True)
        seconds, n_rules = self._answer()
        return float(seconds), int(n_rules)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def load(name: str) -> tuple[Any, Any]:
    """Attributes, as an array where all are numeric, and the target."""
    import pandas as pd

    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    attributes, target = frame.drop(columns="target"), frame["target"].to_numpy(float)
    is_numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in attributes.dtypes)
    return (attributes.to_numpy(float, copy=True) if is_numeric else attributes), target


def compare(weka: Weka, name: str, run: str) -> list[str]:
    """One row of the table."""
    from tremula import M5Regressor

    X, y = load(name)
    for _ in range(WARM_UP):
        weka.fit(name, run)
    theirs, ours, n_rules_weka, learner = [], [], 0, M5Regressor(prune=run == "pruned")
    for _ in range(ROUNDS):
        seconds, n_rules_weka = weka.fit(name, run)
        theirs.append(seconds)
        start = time.thread_time()
        learner.fit(X, y)
        ours.append(time.thread_time() - start)
    ratio = min(theirs) / min(ours)
    verdict = "met" if ratio >= GOAL else "missed"
    rules = f"{learner.get_n_leaves()} / {n_rules_weka}"
    shape = f"{len(y):,} x {X.shape[1]}"
    return [name, shape, run, rules, f"{min(ours):.3f}", f"{min(theirs):.3f}", f"{ratio:.1f}", verdict]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time M5' in tremula and in Weka.")
    parser.add_argument("datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--weka-python", default=sys.executable, help="a Python with python-weka-wrapper3")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--store", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.datasets)
        return
    from measure import environment, store, table

    weka = Weka(arguments.weka_python, arguments.datasets)
    rows = [compare(weka, name, run) for name in arguments.datasets for run in RUNS]
    weka.close()
    header = ["dataset", "rows x columns", "", "rules, tremula / Weka", "tremula, s", "Weka, s", "ratio", f"{GOAL:g} x"]
    below = (
        f"Processor seconds of a fit with all rows, the best of {ROUNDS} that take turns, after {WARM_UP} that warm up "
        "Java; one job. "
        f"`python benchmarks/m5.py --store`; {environment('numpy', 'scipy', 'scikit-learn')}; {weka.versions}."
    )
    text = f"{table(header, rows)}\n\n{below}"
    print(text)
    if arguments.store:
        store(TITLE, text)


if __name__ == "__main__":
    main()
