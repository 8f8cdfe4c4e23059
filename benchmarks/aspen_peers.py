"""Aspen against CatBoost, YDF and LightGBM at their defaults on small tables of the judged half, by kind of attributes.

TREMULA_DATA=<folder of the parquet files> python benchmarks/aspen_peers.py --run [--seconds 500] [--store]

Cells are kept in `aspen_peers.parquet`; a run that was stopped goes on where it was. Small tables come first. Aspen's
recipe was fixed before.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table

import tremula as tm
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.studies.default.halves import JUDGED, half
from tremula.lab.studies.default.protocol import class_losses, divide, draw_rows
from tremula.lab.studies.default.view import kind_of
from tremula.losses import squared_errors

CELLS = Path(__file__).with_suffix(".parquet")
ASPEN = "Aspen"
LIBRARIES = ("catboost", "ydf", "lightgbm")
MOST_ROWS, N_SPLITS = 1000, 2
MEASURES = {"classification": ("error", "log_loss"), "regression": ("rmse",)}


def make_models(task: str, nominal: list[int], seed: int) -> dict[str, Any]:
    """Every method at its defaults, with one thread."""
    aspen = tm.AspenClassifier if task == "classification" else tm.AspenRegressor
    peers = {peer.label: peer.build(tuple(nominal), seed) for peer in choose_peers(LIBRARIES, task)}
    return {ASPEN: aspen(categorical_features=nominal or None, random_state=seed), **peers}


def measure(name: str, task: str, split: int, known: set[tuple[str, int, str]]) -> list[dict[str, Any]]:
    """Train and test the methods that are missing on one split."""
    data = draw_rows(load_dataset(name, task=task), MOST_ROWS)
    train, test = divide(data, split)
    cells = []
    for method, model in make_models(task, list(data.nominal), split).items():
        if (name, split, method) in known:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(data.X[train], data.y[train])
            seconds = time.process_time() - start
            if task == "classification":
                losses = class_losses(model.predict_proba(data.X[test]), model.classes_, data.y[test])
            else:
                losses = {"rmse": float(np.sqrt(squared_errors(data.y[test], model.predict(data.X[test])).mean()))}
        cells.append({"dataset": name, "task": task, "split": split, "method": method, "seconds": seconds, **losses})
    return cells


def run(seconds: float) -> None:
    """Measure the cells that are missing, as long as there is time."""
    begin = time.monotonic()
    folder = Path(os.environ["TREMULA_DATA"])
    judged = [each for each in known_datasets().values() if half(each.name) == JUDGED]
    there = [each for each in judged if (folder / f"{each.name}.parquet").exists()]
    ordered = sorted(there, key=lambda each: each.rows * (each.numeric + each.nominal) * max(each.classes or 1, 1))
    cells = pd.read_parquet(CELLS).to_dict("records") if CELLS.exists() else []
    for each in ordered:
        for split in range(N_SPLITS):
            known = {(cell["dataset"], cell["split"], cell["method"]) for cell in cells}
            fresh_cells = measure(each.name, each.task, split, known)
            cells += fresh_cells
            if fresh_cells:
                fresh = CELLS.with_suffix(".new")
                pd.DataFrame(cells).to_parquet(fresh)
                fresh.replace(CELLS)
                print(each.name, split, flush=True)
            if time.monotonic() - begin > seconds:
                return


def complete(cells: pd.DataFrame) -> pd.DataFrame:
    """Datasets that have all splits of all methods."""
    n_cells = cells.groupby("dataset")["method"].count()
    return cells[cells["dataset"].isin(n_cells.index[n_cells == N_SPLITS * cells["method"].nunique()])]


def ranks(cells: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    """A row for each measure and kind: datasets where Aspen is not the best, first, and mean ranks."""
    methods = [ASPEN, *sorted(set(cells["method"]) - {ASPEN})]
    rows = []
    for task, measures in MEASURES.items():
        of_task = cells[cells["task"] == task]
        for name in measures if len(of_task) else ():
            means = of_task.pivot_table(index="dataset", columns="method", values=name)[methods]
            kinds = pd.Series({dataset: kind_of(dataset) for dataset in means.index})
            for kind in ("all", *sorted(set(kinds))):
                chosen = means if kind == "all" else means[kinds == kind]
                best = chosen.idxmin(axis=1)
                lost = [f"{dataset} ({best[dataset]})" for dataset in chosen.index[chosen.min(axis=1) < chosen[ASPEN]]]
                by_rank = chosen.rank(axis=1).mean()
                shown = [f"{by_rank[method]:.2f}" for method in methods]
                label = name.replace("_", " ")
                rows.append([label, kind, f"{len(lost)} of {len(chosen)}: {', '.join(lost) or 'none'}", *shown])
    return ["measure", "attributes", "another is better on", *methods], rows


def main() -> None:
    """Measure if asked, print the ranks, and store them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many seconds")
    parser.add_argument("--store", action="store_true", help="write RESULTS.md")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.seconds)
    cells = complete(pd.read_parquet(CELLS))
    times = cells.groupby("method")["seconds"].sum()
    ratios = ", ".join(f"{method} {times[method] / times[ASPEN]:.1f}" for method in times.index if method != ASPEN)
    text = "\n\n".join(
        [
            f"All at their defaults with one thread, at most {MOST_ROWS} rows, one two-fold cross-validation; the "
            "smallest datasets of the judged half. Where another method is better (and which is the best), then mean "
            "ranks, 1 is best. One repetition: differences of single datasets were not tested. Seconds to fit all, "
            f"Aspen 1: {ratios}. "
            f"Cells are in `{CELLS.name}`.",
            table(*ranks(cells)),
            "`python benchmarks/aspen_peers.py --run --store`; "
            + environment("tremula", "catboost", "ydf", "lightgbm", "numpy"),
        ]
    )
    print(text)
    if arguments.store:
        store("Aspen, CatBoost, YDF and LightGBM", text)


if __name__ == "__main__":
    main()
