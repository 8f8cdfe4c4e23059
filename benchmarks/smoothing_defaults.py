"""The default choice of the noise of dual perturb and combine, against the former default and against no noise.

Run with ``TREMULA_DATA=folder python benchmarks/smoothing_defaults.py run``, then ``page``. Every run is stored at once
in docs/results/smoothing_defaults/runs.csv, so that a study that was stopped goes on where it was; ``page`` writes
docs/results/smoothing_defaults.md from that file. ``--kinds``, ``--seeds`` and ``--half`` choose runs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from smoothing_defaults_page import write_page

import tremula as tm
from data import as_indicators
from tremula.lab.studies.default.halves import half
from tremula.losses import log_losses, squared_errors, zero_one_losses

RUNS = Path(__file__).parents[1] / "docs" / "results" / "smoothing_defaults" / "runs.csv"
MOST_TRAINING, MOST_TEST = 1000, 2000  # rows; the training rows include the validation rows
LEAST_ROWS, LEAST_IN_CLASS = 120, 10  # smaller datasets, and rows of smaller classes, are left out
MOST_ROWS = 100_000  # of a dataset to draw from
N_TREES = 40
FORMER = {
    "classification": {"scoring": "error", "search": "golden_section"},
    "regression": {"search": "golden_section"},
}


def _xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=50, n_jobs=1, random_state=seed)


@dataclass(frozen=True)
class Kind:
    """A kind of model, and the rows that choose its noise."""

    task: str
    make: Callable[[int], Any]
    tuning: str


KINDS = {
    "tree": Kind("classification", lambda seed: DecisionTreeClassifier(random_state=seed), "validation"),
    "tree, folds": Kind("classification", lambda seed: DecisionTreeClassifier(random_state=seed), "cv"),
    "random forest": Kind("classification", lambda seed: RandomForestClassifier(N_TREES, random_state=seed), "oob"),
    "extra trees": Kind("classification", lambda seed: ExtraTreesClassifier(N_TREES, random_state=seed), "validation"),
    "regression tree": Kind("regression", lambda seed: DecisionTreeRegressor(random_state=seed), "validation"),
    "regression forest": Kind("regression", lambda seed: RandomForestRegressor(N_TREES, random_state=seed), "oob"),
    "regression boosting": Kind(
        "regression", lambda seed: HistGradientBoostingRegressor(max_iter=50, random_state=seed), "validation"
    ),
    "XGBoost": Kind("classification", _xgboost, "validation"),
}


# --- rows ---


def seed_of(*parts: Any) -> int:
    """A seed that depends on these parts alone."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4], "little")


def datasets() -> pd.DataFrame:
    """Datasets that take part, the judged half first, small ones first within a half."""
    index = pd.read_csv(Path(os.environ["TREMULA_DATA"]) / "INDEX.csv").set_index("name")
    index = index[(index.rows >= LEAST_ROWS) & (index.rows <= MOST_ROWS)]
    index["half"] = [half(name) for name in index.index]
    index["size"] = index.rows.clip(upper=MOST_TRAINING) * (index.numeric + 5 * index.nominal)
    return index.sort_values(["half", "size"], ascending=[False, True])


def _of_large_classes(table: pd.DataFrame, target: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    is_large = np.isin(target, np.flatnonzero(np.bincount(target) >= LEAST_IN_CLASS))
    return table[is_large], np.unique(target[is_large], return_inverse=True)[1]


def load(name: str, task: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and test rows with their targets; nominal attributes become a column for each level."""
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    table, given = frame.drop(columns="target"), frame["target"]
    is_class = task == "classification"
    target = pd.factorize(np.asarray(given), sort=True)[0] if is_class else given.to_numpy(np.float64)
    drawn = np.random.default_rng(seed_of(name, seed)).permutation(len(target))[: MOST_TRAINING + MOST_TEST]
    table, target = table.iloc[drawn], target[drawn]
    if is_class:
        table, target = _of_large_classes(table, target)
    numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes)
    X = table.to_numpy(np.float64) if numeric else as_indicators(table)
    size = min(int(0.6 * len(target)), MOST_TRAINING)
    parts = train_test_split(X, target, train_size=size, random_state=seed, stratify=target if is_class else None)
    return parts[0], parts[2], parts[1], parts[3]


# --- one run ---


def losses(task: str, soft: Any, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Losses of the test rows."""
    if task == "regression":
        return {"loss": squared_errors(y, soft.predict(X))}
    codes = np.searchsorted(soft.classes_, y)
    return {"loss": log_losses(codes, soft.predict_proba(X)), "error": zero_one_losses(y, soft.predict(X))}


def z_value(changed: np.ndarray, without: np.ndarray) -> float:
    """Mean paired difference in standard errors; above 0 if noise is worse."""
    difference = changed - without
    deviation = difference.std(ddof=1)
    return 0.0 if deviation == 0 else float(difference.mean() / deviation * len(difference) ** 0.5)


def measure(name: str, kind_name: str, seed: int) -> dict[str, Any]:
    """Train a model, smooth it with the noise of both defaults, and test it with and without."""
    kind = KINDS[kind_name]
    X, y, X_test, y_test = load(name, kind.task, seed)
    rows: dict[str, Any] = {}
    training = X, y
    if kind.tuning == "validation":
        stratify = y if kind.task == "classification" else None
        grown, held_out, y_grown, y_held_out = train_test_split(
            X, y, test_size=1 / 3, random_state=seed, stratify=stratify
        )
        training, rows = (grown, y_grown), {"X_val": held_out, "y_val": y_held_out}
    model = kind.make(seed).fit(*training)
    wrapper = tm.DualPerturbClassifier if kind.task == "classification" else tm.DualPerturbRegressor
    options = {"tuning": kind.tuning, "random_state": seed}
    variants = {
        "none": wrapper(model, noise=0.0).fit(*training),
        "former": wrapper(model, **options, **FORMER[kind.task]).fit(*training, **rows),
        "new": wrapper(model, **options).fit(*training, **rows),
    }
    tested = {variant: losses(kind.task, soft, X_test, y_test) for variant, soft in variants.items()}
    run: dict[str, Any] = {"n_training": len(training[0]), "n_test": len(y_test)}
    run["thresholds"] = variants["new"].thresholds
    for variant in ("former", "new"):
        run[f"{variant}_noise"] = float(variants[variant].noise_)
    for measure_name in tested["none"]:
        for variant in ("none", "former", "new"):
            run[f"{variant}_{measure_name}"] = tested[variant][measure_name].mean()
        for variant in ("former", "new"):
            run[f"{variant}_{measure_name}_z"] = z_value(tested[variant][measure_name], tested["none"][measure_name])
    return run


KEYS = ("dataset", "half", "kind", "seed")
COLUMNS = (
    *KEYS,
    "thresholds",
    "n_training",
    "n_test",
    "former_noise",
    "new_noise",
    *(f"{variant}_{name}" for name in ("loss", "error") for variant in ("none", "former", "new")),
    *(f"{variant}_{name}_z" for name in ("loss", "error") for variant in ("former", "new")),
)


def run_all(kinds: list[str], seeds: list[int], only_half: str | None) -> None:
    """Measure and store what is not stored yet."""
    known = set()
    if RUNS.exists():
        known = {
            tuple(row) for row in pd.read_csv(RUNS, dtype=str)[["dataset", "kind", "seed"]].itertuples(index=False)
        }
    else:
        RUNS.write_text(",".join(COLUMNS) + "\n")
    index = datasets()
    wanted = [(name, kind, seed) for seed in seeds for name in index.index for kind in kinds]
    for name, kind, seed in wanted:
        entry = index.loc[name]
        if KINDS[kind].task != entry.task or (name, kind, str(seed)) in known or only_half not in (None, entry.half):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = measure(name, kind, seed)
        run |= {"dataset": name, "half": entry.half, "kind": kind, "seed": seed}
        with RUNS.open("a", newline="") as file:
            texts = (run.get(column, "") for column in COLUMNS)
            csv.writer(file, lineterminator="\n").writerow(
                [f"{text:.6g}" if isinstance(text, float) else text for text in texts]
            )
        print(name, kind, seed, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "page"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--half", choices=["deciding", "judged"])
    options = parser.parse_args()
    if options.command == "run":
        run_all(options.kinds, options.seeds, options.half)
    else:
        write_page(RUNS)


if __name__ == "__main__":
    main()
