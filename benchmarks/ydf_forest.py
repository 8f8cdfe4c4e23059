"""tremula's random forest against YDF's, both at their defaults: ranks in error, log loss, Brier score and RMSE.

TREMULA_DATA=<folder of the parquet files> python benchmarks/ydf_forest.py --run [--half deciding] [--store]

Cells are kept in `ydf_forest.parquet`; a run that was stopped goes on where it was. Small tables come first.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table
from sklearn.model_selection import KFold, StratifiedKFold

import tremula as tm
from tremula.lab.comparison.optional_peers import YDF_PEERS
from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.studies.default.halves import DECIDING, JUDGED, half
from tremula.losses import brier_losses, log_losses, squared_errors, zero_one_losses

CELLS = Path(__file__).with_suffix(".parquet")
METHODS = ("tremula", "YDF")
MEASURES = {"classification": ("error", "log loss", "Brier score"), "regression": ("RMSE",)}
MOST_ROWS, MOST_CELLS, TURNS = 1000, 100_000, 2


def make(method: str, task: str, nominal: list[int], seed: int) -> Any:
    """The forest at its defaults."""
    if method == "YDF":
        return YDF_PEERS[task]("RandomForestLearner", nominal, seed)
    forest = tm.RandomForestClassifier if task == "classification" else tm.RandomForestRegressor
    return forest(categorical_features=nominal or None, random_state=seed)


def measure(model: Any, X: np.ndarray, y: np.ndarray, task: str) -> dict[str, float]:
    """Losses on held-out rows."""
    if task == "regression":
        return {"RMSE": float(np.sqrt(squared_errors(y, model.predict(X)).mean()))}
    shares = model.predict_proba(X)
    codes = np.array([{label: code for code, label in enumerate(model.classes_)}.get(label, -1) for label in y])
    return {
        "error": float(zero_one_losses(codes, shares.argmax(axis=1)).mean()),
        "log loss": float(log_losses(codes, shares).mean()),
        "Brier score": float(brier_losses(codes, shares).mean()),
    }


def splits(y: np.ndarray, task: str) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Two-fold cross-validation, several times."""
    folds = StratifiedKFold if task == "classification" else KFold
    for turn in range(TURNS):
        for part, (train, test) in enumerate(folds(2, shuffle=True, random_state=turn).split(y, y)):
            yield 2 * turn + part, train, test


def read(name: str, task: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """A table with codes for levels: at most so many rows, without classes of a single row."""
    data = load_dataset(name, task=task)
    rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_ROWS]
    X, y = np.asarray(data.X, np.float64)[rows], np.asarray(data.y)[rows]
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, labels[counts >= 2])
        X, y = X[kept], y[kept]
    return X, y, [int(column) for column in data.nominal]


def tables(which: str) -> list[tuple[str, str]]:
    """Name and task of the datasets of a half that are there, small ones first."""
    folder = Path(os.environ["TREMULA_DATA"])
    chosen = [
        each
        for each in known_datasets().values()
        if half(each.name) == which and (folder / f"{each.name}.parquet").exists()
    ]
    sizes = {each.name: each.rows * (each.numeric + each.nominal) for each in chosen}
    return [(each.name, each.task) for each in sorted(chosen, key=lambda each: sizes[each.name])]


def run(which: str) -> None:
    """Measure the cells that are missing."""
    cells = pd.read_parquet(CELLS).to_dict("records") if CELLS.exists() else []
    known = {(cell["dataset"], cell["split"], cell["method"]) for cell in cells}
    for name, task in tables(which):
        X, y, nominal = read(name, task)
        for split, train, test in splits(y, task):
            for method in METHODS:
                if (name, split, method) in known or X.size > MOST_CELLS:
                    continue
                model = make(method, task, nominal, split).fit(X[train], y[train])
                losses = measure(model, X[test], y[test], task)
                cells.append({"dataset": name, "half": which, "task": task, "split": split, "method": method, **losses})
        fresh = CELLS.with_suffix(".new")
        pd.DataFrame(cells).to_parquet(fresh)
        fresh.replace(CELLS)
        print(name, flush=True)


def ranks(cells: pd.DataFrame, which: str) -> list[list[Any]]:
    """A row for each measure: datasets, mean ranks, and on how many datasets which forest is better."""
    rows = []
    for task, measures in MEASURES.items():
        there = cells[(cells["half"] == which) & (cells["task"] == task)]
        for name in measures:
            if not len(there):
                continue
            means = there.pivot_table(index="dataset", columns="method", values=name)[list(METHODS)].dropna()
            by_rank = means.rank(axis=1).mean()
            better = [int((means[one] < means[other]).sum()) for one, other in (METHODS, METHODS[::-1])]
            rows.append([which, name, len(means), *(f"{by_rank[method]:.2f}" for method in METHODS), *better])
    return rows


def main() -> None:
    """Measure if asked, print the ranks, and store them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--half", choices=[DECIDING, JUDGED], default=JUDGED)
    parser.add_argument("--store", action="store_true", help="write RESULTS.md")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.half)
    cells = pd.read_parquet(CELLS)
    rows = [row for which in (JUDGED, DECIDING) for row in ranks(cells, which)]
    text = "\n\n".join(
        [
            f"Both at their defaults (tremula 100 trees, YDF 300); {TURNS} times two-fold cross-validation, at most "
            f"{MOST_ROWS} rows. Mean ranks, 1 is better; then on how many datasets each is better. Cells are in "
            f"`{CELLS.name}`.",
            table(["half", "measure", "datasets", *METHODS, *(f"{method} better" for method in METHODS)], rows),
            f"`python benchmarks/ydf_forest.py --run --store`; {environment('tremula', 'ydf', 'numpy')}",
        ]
    )
    print(text)
    if arguments.store:
        store("Random forests of tremula and YDF", text)


if __name__ == "__main__":
    main()
