"""Largest memory of a fit on 1,000,000 rows, beside scikit-learn's: `python -m tests.fuzz.peak_memory`.

The table has 20 attributes. Each fit runs in a process of its own; what is counted is the growth of its largest
resident size since the table was made. Both libraries get the same array of doubles.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).parents[2]
N_ATTRIBUTES = 20
# Our estimator, scikit-learn's, and the parameters of both.
PAIRS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree of depth 8": ("CARTClassifier", "tree.DecisionTreeClassifier", {"max_depth": 8}),
    "forest of 4 full trees": ("RandomForestClassifier", "ensemble.RandomForestClassifier", {"n_estimators": 4}),
}


def peak() -> float:
    """Return the largest resident size so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(pair: str, library: str, n_rows: int) -> float:
    """Fit in this process, and return by how many MiB its largest size grew."""
    import importlib

    ours, theirs, parameters = PAIRS[pair]
    if library == "tremula":
        import tremula as tm

        model = getattr(tm, ours)(**parameters)
    else:
        module, name = theirs.split(".")
        model = getattr(importlib.import_module(f"sklearn.{module}"), name)(**parameters)
    model.set_params(random_state=0)
    numbers = np.random.default_rng(0)
    X = np.empty((n_rows, N_ATTRIBUTES))
    for first in range(0, n_rows, 10_000):  # in parts, so that making the table takes no more than it holds
        X[first : first + 10_000] = numbers.normal(size=X[first : first + 10_000].shape)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + numbers.normal(size=n_rows) > 0).astype(np.int64)
    model.fit(X[:200], y[:200])  # loads what a first fit loads
    before = peak()
    model.fit(X, y)
    return peak() - before


def run(pairs: list[str], n_rows: int) -> list[dict[str, Any]]:
    """Measure both libraries, each fit in a process of its own."""
    runs = []
    for pair in pairs:
        row: dict[str, Any] = {"pair": pair, "rows": n_rows}
        for library in ("tremula", "scikit-learn"):
            command = [sys.executable, "-m", "tests.fuzz.peak_memory", "--work", pair, library, "--rows", str(n_rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
            row[library] = round(float(done.stdout.split()[-1]))
        runs.append(row)
        print(row, flush=True)
    return runs


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--work", nargs=2, metavar=("PAIR", "LIBRARY"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="JSON file for the counts")
    options = parser.parse_args()
    if options.work is not None:
        print(work(*options.work, options.rows))
        return
    runs = run(list(PAIRS), options.rows)
    if options.out is not None:
        options.out.write_text(json.dumps(runs, indent=1) + "\n")
    sys.exit(0 if all(run["tremula"] <= run["scikit-learn"] for run in runs) else 1)


if __name__ == "__main__":
    main()
