"""Noise of its own for every tree and attribute: against SmooRF with fixed bandwidths, and fitted ones on many tables.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/bandwidths.py smoorf [--store]
    TREMULA_DATA=<folder of the parquet files> python benchmarks/bandwidths.py accuracy [--store]

The first needs `smoorf`, which needs torch. Everything runs in one thread, and processor time is measured.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table, take_turns
from scipy.stats import norm
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import DualPerturbClassifier, DualPerturbRegressor
from tremula.losses import log_losses

COMMAND = "Command: `python benchmarks/bandwidths.py {} --store`"

# --- SmooRF ---

# Rows to train on, rows to predict, trees.
CASES = {"housing": (400, 106, 10), "kin8nm": (500, 200, 10), "cpu-small": (500, 200, 20)}
SMOORF_NOTE = """scikit-learn's own forest of fully grown trees; a bandwidth for each tree and attribute, drawn once
between 0.05 and 1 training standard deviations. Both smooth the same forest with the same Gaussian bandwidths:
`SRFInference.predict` with `scipy.stats.norm`, and `DualPerturbRegressor.predict`. Both had already read the trees.
Difference: the largest, relative to the standard deviation of the target. SmooRF has arrays of trees x rows to predict
x training rows x attributes. One thread, processor time, best of several turns. Goals: a difference below 1e-6, and 100
times faster."""


def load_numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numeric attributes in units of their standard deviation, and the target."""
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    frame = frame.sample(frac=1.0, random_state=0)
    attributes = frame.drop(columns="target").select_dtypes("number").to_numpy(np.float64)
    return attributes / attributes.std(axis=0), frame["target"].to_numpy(np.float64)


def compare_with_smoorf(name: str, n_training: int, n_test: int, n_trees: int) -> list[object]:
    """One line of the table."""
    from smoorf import ExtendedRandomForest, SRFInference

    X, y = load_numbers(name)
    training, test = slice(0, n_training), slice(n_training, n_training + n_test)
    forest = RandomForestRegressor(n_trees, random_state=0).fit(X[training], y[training])
    inbag = [np.asarray(rows) for rows in forest.estimators_samples_]
    bandwidths = np.exp(np.random.default_rng(0).uniform(np.log(0.05), 0.0, size=(n_trees, X.shape[1])))
    ours = DualPerturbRegressor(forest, noise=bandwidths, scale=np.ones(X.shape[1]), thresholds="kept", tol=1e-9)
    ours.fit(X[training])
    ours.predict(X[test])
    forest_of_peer = ExtendedRandomForest(n_estimators=n_trees, random_state=0).fit(X[training], y[training])
    forest_of_peer.used_samples_indices = inbag
    forest_of_peer.oob_samples_indices = [np.setdiff1d(np.arange(n_training), rows) for rows in inbag]
    peer = SRFInference(bandwidths, kernel=norm, per_tree=True).fit(X[training], y[training], forest_of_peer)
    jobs: dict[str, Callable[[], object]] = {
        "peer": lambda: peer.predict(X[test]),
        "ours": lambda: ours.predict(X[test]),
    }
    seconds = take_turns(jobs, seconds=0, least=3)
    difference = np.abs(peer.predict(X[test]) - ours.predict(X[test])).max() / y[training].std()
    faster = seconds["peer"] / seconds["ours"]
    return [
        name, n_training, n_test, X.shape[1], n_trees, f"{1e3 * seconds['peer']:.0f}", f"{1e3 * seconds['ours']:.1f}",
        f"**{faster:.0f}**", f"{difference:.0e}",
    ]  # fmt: skip


def run_smoorf(stores: bool) -> None:
    """Compare speed and answers with SmooRF."""
    header = [
        "dataset", "training rows", "rows to predict", "attributes", "trees", "SmooRF, ms", "tremula, ms",
        "SmooRF / tremula", "largest difference",
    ]  # fmt: skip
    text = table(header, [compare_with_smoorf(name, *sizes) for name, sizes in CASES.items()])
    text += f"\n\n{SMOORF_NOTE}\n\n{environment('tremula', 'smoorf', 'scikit-learn', 'scipy', 'numpy')}"
    text += "\n\n" + COMMAND.format("smoorf")
    print(text)
    if stores:
        store("Bandwidths: against SmooRF", text)


# --- accuracy ---

DATASETS = {
    "regression": "abalone auto-mpg bank8FM cal-housing cpu-small delta-ailerons fried housing kin8nm pol puma8NH "
    "stock",
    "classes": "diabetes ecoli glass ionosphere letter page-blocks phoneme segment sonar vehicle vowel waveform-5000",
}
N_TRAINING, N_VALIDATION, MOST_TEST, N_SPLITS = 300, 150, 1000, 2
MODELS: dict[str, dict[str, Callable[[], Any]]] = {
    "regression": {
        "forest of 20 trees": lambda: RandomForestRegressor(20, random_state=0),
        "one tree": lambda: DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
        "boosting, 20 rounds": lambda: GradientBoostingRegressor(n_estimators=20, random_state=0),
    },
    "classes": {
        "forest of 20 trees": lambda: RandomForestClassifier(20, random_state=0),
        "one tree": lambda: DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "boosting, 20 rounds": lambda: GradientBoostingClassifier(n_estimators=20, random_state=0),
    },
}
SETTINGS: dict[str, dict[str, object]] = {
    "none": {"noise": 0.0},
    "common": {},
    "attribute": {"per_attribute": True},
    "tree": {"per_tree": True},
}
FIELDS = ("task", "model", "dataset", "split", "setting", "loss", "error", "is_accepted", "seconds")
STORED = Path(__file__).parent / "bandwidths.csv"
ACCURACY_NOTE = f"""{N_TRAINING} training rows, numeric attributes only, at most {MOST_TEST} test rows, {N_SPLITS}
random splits of each dataset (half of the rows to train on where there are few). Forests choose the noise on their
out-of-bag rows, the others on {N_VALIDATION} further rows. Loss: squared error in units of the variance of the target,
or log loss, on the test rows. Change: mean over datasets of the logarithm of the ratio of the losses, as a percentage,
with its standard error; below 0 is better. Better, worse: datasets whose loss changed by more than 0.1 %. Accepted:
share of the runs in which the amounts beat the coarser choice on rows they were not fitted to; elsewhere the coarser
choice stays. Seconds: processor time of the `fit` that chooses the noise, the mean over runs. Each line compares two
choices of the amounts: none, one common amount, one for each attribute, one for each tree and attribute. Thresholds are
those of the model (`thresholds="kept"`)."""


def load_split(name: str, task: str, split: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on, to choose the noise on, and to test on."""
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    columns = [*frame.drop(columns="target").select_dtypes("number"), "target"]
    frame = frame[columns].dropna().sample(frac=1.0, random_state=split)
    target = frame.pop("target")
    y = target.to_numpy(np.float64) if task == "regression" else pd.factorize(target.astype(str), sort=True)[0]
    n_training = min(N_TRAINING, len(y) // 2)
    ends = np.cumsum([0, n_training, min(N_VALIDATION, len(y) // 4), MOST_TEST])
    rows = frame.to_numpy(np.float64)
    return [(rows[start:end], y[start:end]) for start, end in pairwise(ends)]


def run_setting(model: Any, task: str, parts: list[tuple[np.ndarray, np.ndarray]], setting: str) -> dict[str, object]:
    """Choose the noise of a trained model, and measure the losses on test rows."""
    training, validation, (X, y) = parts
    kind = DualPerturbRegressor if task == "regression" else DualPerturbClassifier
    wrapper = kind(model, thresholds="kept", tol=1e-9, **SETTINGS[setting])
    is_forest = hasattr(model, "estimators_samples_")
    options = {} if is_forest or setting == "none" else dict(zip(("X_val", "y_val"), validation))
    start = time.process_time()
    wrapper.fit(*training, **options)
    seconds = time.process_time() - start
    is_accepted = np.ndim(wrapper.noise_) == 2 if setting == "tree" else np.unique(wrapper.noise_).size > 1
    if task == "regression":
        loss = error = float(np.mean((wrapper.predict(X) - y) ** 2) / np.var(y))
    else:
        shares = wrapper.predict_proba(X)
        codes = np.searchsorted(wrapper.classes_, y)
        is_known = np.isin(y, wrapper.classes_)
        loss = float(log_losses(np.where(is_known, codes, -1), shares).mean())
        error = float(np.mean(wrapper.predict(X) != y))
    return {"setting": setting, "loss": loss, "error": error, "is_accepted": int(is_accepted), "seconds": seconds}


def measure_accuracy() -> None:
    """Run all cells that are not stored yet, and store each at once."""
    done = set()
    if STORED.exists():
        done = {tuple(row[key] for key in FIELDS[:5]) for row in csv.DictReader(STORED.open())}
    else:
        STORED.write_text(",".join(FIELDS) + "\n")
    for split, name, task in product(range(N_SPLITS), MODELS["classes"], DATASETS):
        for dataset in DATASETS[task].split():
            parts = load_split(dataset, task, split)
            model = None
            for setting in SETTINGS:
                cell = (task, name, dataset, str(split), setting)
                if cell in done or (name == "one tree" and setting == "tree"):
                    continue
                model = MODELS[task][name]().fit(*parts[0]) if model is None else model
                row = dict(zip(FIELDS, cell)) | run_setting(model, task, parts, setting)
                with STORED.open("a") as file:
                    csv.DictWriter(file, FIELDS, lineterminator="\n").writerow(row)


def accuracy_table() -> str:
    """Each setting against the one before it."""
    frame = pd.read_csv(STORED)
    lines = []
    for (task, model), runs in frame.groupby(["task", "model"], sort=False):
        losses = runs.pivot_table(index=["dataset", "split"], columns="setting", values="loss").dropna()
        means = runs.groupby("setting")[["is_accepted", "seconds"]].mean()
        for before, setting in (("none", "common"), ("common", "attribute"), ("attribute", "tree")):
            if setting not in losses:
                continue
            change = 100 * np.log(losses[setting] / losses[before]).groupby("dataset").mean()
            deviation = change.std(ddof=1) / len(change) ** 0.5
            accepted = "" if setting == "common" else f"{100 * means.loc[setting, 'is_accepted']:.0f} %"
            lines.append(
                [
                    *(task, model, len(change), f"{before} → {setting}", f"{change.mean():+.2f} ± {deviation:.2f}"),
                    *(int((change < -0.1).sum()), int((change > 0.1).sum())),
                    *(f"{change.min():+.1f}", f"{change.max():+.1f}", accepted, f"{means.loc[setting, 'seconds']:.1f}"),
                ]
            )
    header = ["task", "model", "datasets", "amounts", "change, %", "better", "worse", "best, %", "worst, %", "accepted"]
    return table([*header, "seconds"], lines)


def run_accuracy(stores: bool) -> None:
    """Measure what amounts for each attribute, and each tree and attribute, gain."""
    measure_accuracy()
    text = f"{accuracy_table()}\n\n{ACCURACY_NOTE}\n\n{environment('tremula', 'scikit-learn', 'numpy')}"
    text += f"\n\nNumbers of all runs: `benchmarks/{STORED.name}`. " + COMMAND.format("accuracy")
    print(text)
    if stores:
        store("Bandwidths: amounts for each attribute and tree", text)


def main() -> None:
    """Run one of the two parts."""
    parser = argparse.ArgumentParser(description="Measure noise of its own for every tree and attribute.")
    parser.add_argument("part", choices=["smoorf", "accuracy"])
    parser.add_argument("--store", action="store_true", help="write the table into RESULTS.md")
    arguments = parser.parse_args()
    {"smoorf": run_smoorf, "accuracy": run_accuracy}[arguments.part](arguments.store)


if __name__ == "__main__":
    main()
