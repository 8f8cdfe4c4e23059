"""Balanced errors of forests with balanced bootstraps; imbalanced-learn's balanced random forest as peer.

TREMULA_DATA=<folder of the parquet files> python benchmarks/balance.py [--store]

Both forests have 100 trees and draw as many rows of each class as the smallest has. Missing values are replaced by the
medians of their columns and levels by codes, since the peer's trees take numbers. `--store` writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier
from measure import environment, store, table
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold

import tremula as tm
from data import as_numbers, load

# Names of datasets, and the class that is told from all others; None keeps the classes.
DATASETS: dict[str, int | None] = {
    "balance-scale": None,
    "page-blocks": None,
    "hypothyroid-3163": None,
    "sick": None,
    "satimage": 3,
    "pendigits": 5,
}
N_FOLDS, N_REPEATS, N_TREES = 5, 3, 100
FORESTS: dict[str, Callable[[int], Any]] = {
    "tremula, balanced bootstrap": lambda seed: tm.RandomForestClassifier(
        N_TREES, bootstrap="balanced", random_state=seed
    ),
    "imbalanced-learn": lambda seed: BalancedRandomForestClassifier(N_TREES, random_state=seed),
    "tremula, class_weight": lambda seed: tm.RandomForestClassifier(
        N_TREES, class_weight="balanced_subsample", random_state=seed
    ),
    "tremula, plain": lambda seed: tm.RandomForestClassifier(N_TREES, random_state=seed),
}


def errors_of(name: str, told_apart: int | None) -> tuple[np.ndarray, int, float]:
    """Balanced errors by fold and forest, the number of rows, and the share of the smallest class."""
    attributes, codes = load(name)
    X = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(as_numbers(attributes))
    y = codes if told_apart is None else (codes == told_apart).astype(int)
    errors = []
    splitter = RepeatedStratifiedKFold(n_splits=N_FOLDS, n_repeats=N_REPEATS, random_state=0)
    for number, (train, test) in enumerate(splitter.split(X, y)):
        fitted = [make(number).fit(X[train], y[train]) for make in FORESTS.values()]
        errors.append([1.0 - balanced_accuracy_score(y[test], model.predict(X[test])) for model in fitted])
    return np.array(errors), len(y), float(np.bincount(y).min() / len(y))


def measured_row(name: str, told_apart: int | None) -> list[Any]:
    """A row of the table: errors, and the difference of the first two with the standard error of Nadeau and Bengio."""
    errors, n_rows, share = errors_of(name, told_apart)
    difference = errors[:, 0] - errors[:, 1]
    error = np.sqrt((1 / len(errors) + 1 / (N_FOLDS - 1)) * difference.var(ddof=1))
    shown = name if told_apart is None else f"{name}, class {told_apart}"
    means = [f"{100 * mean:.2f}" for mean in errors.mean(axis=0)]
    return [shown, n_rows, f"{100 * share:.1f} %", *means, f"{100 * difference.mean():+.2f} ± {100 * error:.2f}"]


def main() -> None:
    """Measure, print, and store if wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true")
    is_stored = parser.parse_args().store
    rows = []
    for name, told_apart in DATASETS.items():
        rows.append(measured_row(name, told_apart))
        print(*rows[-1], sep="\t", flush=True)
    text = (
        f"Balanced error in percent of {N_REPEATS} times {N_FOLDS}-fold cross-validation, {N_TREES} trees. Difference: "
        "tremula's forest of balanced bootstraps less that of imbalanced-learn, with the standard error of Nadeau and "
        "Bengio.\n\n"
        + table(["dataset", "rows", "smallest class", *FORESTS, "difference"], rows)
        + f"\n\n{environment('tremula', 'imbalanced-learn', 'scikit-learn', 'numpy')}\n\n"
        "Command: `python benchmarks/balance.py --store`"
    )
    if is_stored:
        store("Balanced classes", text)


if __name__ == "__main__":
    main()
