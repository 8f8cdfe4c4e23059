"""What bins cost in accuracy: forests with every threshold against forests with at most 255 bins for each attribute.

Run: TREMULA_DATA=folder python benchmarks/bins.py. Each table is halved at random ten times; both forests see the same
halves.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

import tremula as tm
from data import as_numbers, load

CLASSES = ["waveform-5000", "covtype-20k", "segment", "spambase", "mfeat-factors", "mfeat-fourier", "phoneme",
           "ionosphere", "ringnorm", "twonorm", "page-blocks", "vehicle"]  # fmt: skip
NUMBERS = ["cal-housing", "kin8nm", "puma8NH", "puma32H", "bank8FM", "fried", "house-8L", "ailerons", "elevators",
           "cpu-act", "delta-ailerons", "stock"]  # fmt: skip
MAX_ROWS = 4000
N_HALVINGS = 10


def losses_of(name: str, is_class: bool) -> tuple[np.ndarray, np.ndarray]:
    """Loss (error, or RMSE over the standard deviation) and seconds of both forests, by halving."""
    X, y = load(name)
    X = as_numbers(X)
    if not is_class:
        y = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")["target"].to_numpy(float)
    assert not np.isnan(X).any(), name
    losses, seconds = np.empty((N_HALVINGS, 2)), np.empty((N_HALVINGS, 2))
    for halving in range(N_HALVINGS):
        rows = np.random.default_rng(halving).permutation(len(y))[:MAX_ROWS]
        train, test = rows[::2], rows[1::2]
        for place, max_bins in enumerate((None, 255)):
            kind = tm.RandomForestClassifier if is_class else tm.RandomForestRegressor
            model = kind(n_estimators=100, max_features="sqrt", max_bins=max_bins, random_state=halving)
            start = time.process_time()
            model.fit(X[train], y[train])
            seconds[halving, place] = time.process_time() - start
            score = model.score(X[test], y[test])
            losses[halving, place] = 1 - score if is_class else np.sqrt(max(1 - score, 0.0))
    return losses, seconds


def main() -> None:
    print("| table | loss, every threshold | loss, 255 bins | p | seconds, every threshold | seconds, bins |")
    print("|---|---|---|---|---|---|")
    for names, is_class in ((CLASSES, True), (NUMBERS, False)):
        for name in names:
            losses, seconds = losses_of(name, is_class)
            p = ttest_rel(losses[:, 0], losses[:, 1]).pvalue
            means = losses.mean(axis=0)
            print(f"| {name} | {means[0]:.4f} | {means[1]:.4f} | {p:.2f} | "
                  f"{seconds[:, 0].min():.2f} | {seconds[:, 1].min():.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
