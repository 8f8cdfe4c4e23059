"""Aspen, LightGBM, XGBoost and scikit-learn's forest on 100,000 training rows: losses, seconds and sizes.

TREMULA_DATA=<folder of the parquet files> python benchmarks/large_tables.py --run [--store]

Cells are kept in `large_tables.json`; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cells import Cells
from measure import environment, store, table
from sklearn.datasets import make_classification

import tremula as tm
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.datasets import load_dataset
from tremula.lab.studies.default.protocol import class_losses

CELLS = Path(__file__).with_suffix(".json")
N_TRAIN, N_TEST = 100_000, 20_000
Table = tuple[np.ndarray, np.ndarray, tuple[int, ...]]


@lru_cache(maxsize=1)
def made() -> Table:
    """Seven classes of unequal size, 24 attributes of which 10 matter, 2 % of the labels wrong."""
    X, y = make_classification(
        N_TRAIN + N_TEST,
        24,
        n_informative=10,
        n_redundant=4,
        n_classes=7,
        weights=[0.37, 0.3, 0.1, 0.08, 0.06, 0.05, 0.04],
        flip_y=0.02,
        random_state=0,
    )
    return X, y, ()


@lru_cache(maxsize=1)
def connections() -> Table:
    """Rows of kddcup99-10pct, drawn at random: 41 attributes of both kinds, 23 classes."""
    data = load_dataset("kddcup99-10pct", task="classification")
    rows = np.random.default_rng(0).permutation(len(data.y))[: N_TRAIN + N_TEST]
    return np.asarray(data.X)[rows], data.y[rows], tuple(data.nominal)


TABLES: dict[str, Callable[[], Table]] = {"made, 7 classes": made, "kddcup99-10pct": connections}


def methods() -> dict[str, Callable[[tuple[int, ...]], Any]]:
    """How each method is built, with one thread."""
    peers = {peer.label: peer.build for peer in choose_peers(["lightgbm", "xgboost", "sklearn"], "classification")}
    wanted = ("LightGBM", "XGBoost", "sklearn random forest")
    others = {name: lambda nominal, name=name: peers[name](nominal, 0) for name in wanted}
    own = {
        "Aspen, 25 members": lambda nominal: _aspen(nominal, n_estimators=25),
        "Aspen": lambda nominal: _aspen(nominal),
    }
    return {**own, **others}


def _aspen(nominal: tuple[int, ...], **options: Any) -> Any:
    return tm.AspenClassifier(categorical_features=list(nominal) or None, random_state=0, **options)


def measure(name: str, method: str) -> dict[str, float]:
    """Train on the first rows, and test on the others."""
    X, y, nominal = TABLES[name]()
    model = methods()[method](nominal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
        fitted = time.process_time()
        shares = model.predict_proba(X[N_TRAIN:])
        predicted = time.process_time()
    losses = class_losses(shares, model.classes_, y[N_TRAIN:])
    size = {"megabytes": model.report_.size / 1e6} if hasattr(model, "report_") else {}
    return {**losses, "fit": fitted - start, "predict": predicted - fitted, **size}


def rows_of(cells: Cells) -> list[list[str]]:
    """A row for each cell that was measured."""
    rows = []
    for name in TABLES:
        for method in methods():
            found = cells.known.get(f"{name}: {method}")
            if found:
                numbers = [f"{100 * found['error']:.2f} %", f"{found['log_loss']:.4f}", f"{found['fit']:.0f} s"]
                size = f"{found['megabytes']:.0f} MB" if "megabytes" in found else ""
                rows.append([name, method, *numbers, f"{found['predict']:.1f} s", size])
    return rows


def main() -> None:
    """Measure if asked, print the table, and store it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--store", action="store_true", help="write RESULTS.md")
    arguments = parser.parse_args()
    cells = Cells(CELLS)
    for name in arguments.tables if arguments.run else ():
        for method in methods():
            cells.get(f"{name}: {method}", lambda name=name, method=method: measure(name, method))
            print(name, method, flush=True)
    head = ["table", "method", "error", "log loss", "fit", "predict", "trees in memory"]
    text = "\n\n".join(
        [
            f"{N_TRAIN:,} training rows and {N_TEST:,} test rows, one division, defaults, one thread; processor "
            "seconds, while the machine did other work.",
            table(head, rows_of(cells)),
            "`python benchmarks/large_tables.py --run --store`; "
            + environment("tremula", "lightgbm", "xgboost-cpu", "scikit-learn", "numpy"),
        ]
    )
    print(text)
    if arguments.store:
        store("Aspen on 100,000 rows", text)


if __name__ == "__main__":
    main()
