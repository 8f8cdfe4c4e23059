"""Aspen, tremula's forest and other libraries on the judged half: at their defaults, and tuned by inner folds.

TREMULA_DATA=<folder of the parquet files> python benchmarks/aspen_peers.py --run [--seconds 500] [--methods Aspen]
python benchmarks/aspen_peers.py --store

Cells are kept in `aspen_peers.parquet`, each as soon as it is measured; a run that was stopped goes on where it was.
Cheap methods come first, and small tables first within them. Aspen is measured only where it is named: once, after its
recipe was fixed. `--store` writes the page of results and a section of RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from aspen_peers_page import store_page
from tuned_peers import LABELS, tuned

import tremula as tm
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.task import ClassTask
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.datasets.registry import KnownDataset
from tremula.lab.studies.default.halves import JUDGED, half
from tremula.lab.studies.default.protocol import class_losses, divide, draw_rows
from tremula.losses import squared_errors

CELLS = Path(__file__).with_suffix(".parquet")
ASPEN, FOREST = "Aspen", "tremula random forest"
MOST_ROWS, REPETITIONS = 2000, 5
OWN: dict[str, dict[str, Any]] = {
    ASPEN: {"classification": tm.AspenClassifier, "regression": tm.AspenRegressor},
    FOREST: {"classification": tm.RandomForestClassifier, "regression": tm.RandomForestRegressor},
}
CHEAP = ("LightGBM", "YDF boosting", "YDF random forest", "sklearn boosting", "sklearn random forest", "XGBoost")
LIBRARIES = ("sklearn", "lightgbm", "xgboost", "catboost", "ydf", "interpret")
# What is measured, in this order: methods, repetitions, and the largest table as rows times attributes times classes.
STAGES: tuple[tuple[Sequence[str], range, float], ...] = (
    ((*CHEAP, FOREST), range(1), np.inf),
    (("CatBoost",), range(1), 150_000),
    (("LightGBM, tuned",), range(1), 25_000),
    (("EBM",), range(1), 45_000),
    ((*CHEAP, FOREST), range(1, 2), 70_000),
    (("CatBoost",), range(1, 2), 25_000),
    (("CatBoost",), range(1), np.inf),
    (("XGBoost, tuned",), range(1), 25_000),
    ((*CHEAP, FOREST), range(2, REPETITIONS), 70_000),
    (("CatBoost, tuned",), range(1), 10_000),
    (("CatBoost",), range(2, REPETITIONS), 70_000),
    (("LightGBM, tuned",), range(1), np.inf),
    (("EBM",), range(1), np.inf),
    ((*CHEAP, FOREST, "CatBoost"), range(REPETITIONS), np.inf),
)


def builders(task: str) -> dict[str, Callable[[Sequence[int], int], Any]]:
    """How each method is built, given nominal columns and a seed; all with one thread."""
    peers = {peer.label: peer.build for peer in choose_peers(LIBRARIES, task)}
    searches = {label: tuned(library, task) for library, label in LABELS.items()}
    return {**{name: _own(kinds[task]) for name, kinds in OWN.items()}, **peers, **searches}


def _own(kind: Any) -> Callable[[Sequence[int], int], Any]:
    return lambda nominal, seed: kind(categorical_features=list(nominal) or None, random_state=seed)


@lru_cache(maxsize=1)
def read(name: str, task: str) -> Any:
    """The rows that take part, the same each time."""
    return draw_rows(load_dataset(name, task=task), MOST_ROWS)


def losses_of(model: Any, X: Any, y: Any, task: str) -> dict[str, float]:
    """Losses on held-out rows; for classes the calibration error as well."""
    if task == "regression":
        return {"rmse": float(np.sqrt(squared_errors(y, model.predict(X)).mean()))}
    shares, classes = np.asarray(model.predict_proba(X), dtype=np.float64), np.asarray(model.classes_)
    is_class = classes[None, :] == y[:, None]
    codes = np.where(is_class.any(axis=1), is_class.argmax(axis=1), -1)
    rows = ScoringRows(np.arange(len(y)), codes, np.ones(len(y)))
    calibration = ClassTask(np.full(len(classes), 1.0 / len(classes))).calibration_error(shares, rows)
    return {**class_losses(shares, classes, y), "calibration_error": calibration}


def measure(known: KnownDataset, split: int, method: str) -> dict[str, Any]:
    """Train and test one method on one split."""
    data = read(known.name, known.task)
    train, test = divide(data, split)
    model = builders(known.task)[method](tuple(data.nominal), split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(data.X[train], data.y[train])
        fitted = time.process_time()
        losses = losses_of(model, data.X[test], data.y[test], known.task)
    seconds = {"seconds": fitted - start, "predict_seconds": time.process_time() - fitted}
    of_cell = {"dataset": known.name, "task": known.task, "split": split, "method": method}
    return {**of_cell, **seconds, **losses, "rows": len(data.y), "version": version("tremula")}


def judged_tables() -> list[tuple[float, KnownDataset]]:
    """Size and description of the datasets of the judged half that are there, small ones first."""
    folder = Path(os.environ["TREMULA_DATA"])
    there = [each for each in known_datasets().values() if (folder / f"{each.name}.parquet").exists()]
    sized = [
        (float(each.rows * (each.numeric + each.nominal) * max(each.classes or 1, 1)), each)
        for each in there
        if half(each.name) == JUDGED
    ]
    return sorted(sized, key=lambda pair: pair[0])


def plan(methods: Sequence[str], repetitions: int, n_tables: int | None) -> Iterator[tuple[KnownDataset, int, str]]:
    """What is measured, in its order; of the methods that are named, so many repetitions of the smallest tables."""
    tables = judged_tables()[:n_tables]
    stages = [((name,), range(repetitions), np.inf) for name in methods] if methods else STAGES
    for names, numbers, largest in stages:
        for repetition in numbers:
            for size, known in tables:
                for split in (2 * repetition, 2 * repetition + 1):
                    for name in names if size <= largest else ():
                        yield known, split, name


def run(seconds: float, methods: Sequence[str], repetitions: int, n_tables: int | None) -> None:
    """Measure the cells that are missing, as long as there is time."""
    begin = time.monotonic()
    cells = pd.read_parquet(CELLS).to_dict("records") if CELLS.exists() else []
    seen = {(cell["dataset"], cell["split"], cell["method"]) for cell in cells}
    for known, split, method in plan(methods, repetitions, n_tables):
        if (known.name, split, method) in seen:
            continue
        if time.monotonic() - begin > seconds:
            return
        seen.add((known.name, split, method))
        try:
            cells.append(measure(known, split, method))
        except Exception as failure:  # a method that cannot learn from a table has no cell there
            print(known.name, split, method, "FAILED", repr(failure)[:200], flush=True)
            continue
        fresh = CELLS.with_suffix(".new")
        pd.DataFrame(cells).to_parquet(fresh)
        fresh.replace(CELLS)
        print(known.name, split, method, f"{cells[-1]['seconds']:.1f} s", flush=True)


def main() -> None:
    """Measure if asked, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many seconds")
    parser.add_argument("--methods", nargs="*", default=[], help="only these")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="of the methods that are named")
    parser.add_argument("--tables", type=int, help="only so many tables, the smallest; all if it is not given")
    parser.add_argument("--store", action="store_true", help="write the page of results")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.seconds, arguments.methods, arguments.repetitions, arguments.tables)
    if arguments.store:
        store_page(pd.read_parquet(CELLS))


if __name__ == "__main__":
    main()
