"""What bins cost simulated bagging: its error for several numbers of bins against bagging with the rows in hand.

    TREMULA_DATA=folder python benchmarks/count_bins.py [--divisions 5] [--rows 6000]

Each table is divided at random into halves, one to learn from and one to measure on; all ways see the same halves. Full
trees, 20 members. The last two ways draw 70 % of the attributes at each node, and the last one draws twice as many
rows for each table. The counts are those of rows in memory: a database gives the same trees. After ± is the standard
error over the divisions.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, table

import tremula as tm
from data import as_numbers, load

CLASSES, NUMBERS = ("letter", "satimage"), ("cal-housing", "fried")
MEMBERS = 20
WAYS: dict[str, dict[str, Any]] = {
    "32 bins": {"n_bins": 32},
    "128 bins": {"n_bins": 128},
    "128 bins, `max_features=0.7`": {"n_bins": 128, "max_features": 0.7},
    "the same, `draws_per_row=2`": {"n_bins": 128, "max_features": 0.7, "draws_per_row": 2},
}


def losses_of(name: str, divisions: range, max_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses (error, or RMSE) and seconds by division: of bagging, then of each way."""
    is_class = name in CLASSES
    X, y = load(name)
    X = as_numbers(X)
    if not is_class:
        y = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")["target"].to_numpy(float)
    losses, seconds = np.empty((2, len(divisions), len(WAYS) + 1))
    for row, division in enumerate(divisions):
        rows = np.random.default_rng(division).permutation(len(y))[:max_rows]
        train, test = rows[::2], rows[1::2]
        for place, model in enumerate(models(is_class, division)):
            start = time.process_time()
            model.fit(X[train], y[train])
            seconds[row, place] = time.process_time() - start
            predicted = model.predict(X[test])
            wrong = predicted != y[test] if is_class else (predicted - y[test]) ** 2
            losses[row, place] = wrong.mean() if is_class else np.sqrt(wrong.mean())
    return losses, seconds


def models(is_class: bool, seed: int) -> list[Any]:
    bagging = tm.BaggingClassifier if is_class else tm.BaggingRegressor
    tree = tm.CARTClassifier(criterion="entropy", ccp_alpha=0.0) if is_class else tm.CARTRegressor(min_samples_split=5)
    simulated = tm.SimulatedBaggingClassifier if is_class else tm.SimulatedBaggingRegressor
    ours = [simulated(MEMBERS, random_state=seed, **options) for options in WAYS.values()]
    return [bagging(tree, MEMBERS, random_state=seed), *ours]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--divisions", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first division")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--tables", nargs="*", default=[*CLASSES, *NUMBERS])
    arguments = parser.parse_args()
    lines = []
    divisions = range(arguments.first, arguments.first + arguments.divisions)
    for name in arguments.tables:
        losses, seconds = losses_of(name, divisions, arguments.rows)
        means = losses.mean(axis=0)
        if name in CLASSES:
            differences = 100 * (losses[:, 1:] - losses[:, :1])
            errors = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
            words = [f"{mean:+.2f} ± {error:.2f} points" for mean, error in zip(differences.mean(axis=0), errors)]
        else:
            ratios = 100 * (losses[:, 1:] / losses[:, :1] - 1)
            errors = ratios.std(axis=0, ddof=1) / np.sqrt(len(ratios))
            words = [f"{ratio:+.1f} ± {error:.1f} %" for ratio, error in zip(ratios.mean(axis=0), errors)]
        first = f"{100 * means[0]:.2f} %" if name in CLASSES else f"{means[0]:.5g}"
        lines.append([name, first, *words, *(f"{best:.1f}" for best in seconds.min(axis=0)[1:])])
        print(lines[-1], flush=True)
    print(table(["table", "bagging of rows", *WAYS, *(f"{way}, s" for way in WAYS)], lines))
    print(environment("tremula", "numpy"))


if __name__ == "__main__":
    main()
