"""Errors of forests with nominal attributes, by the way in which these are split, and the harm of identifiers.

TREMULA_DATA=<folder of the parquet files> python benchmarks/nominal.py [--store]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from measure import environment, store, table
from sklearn.model_selection import KFold

import tremula as tm
from tremula.lab.datasets import load_dataset

NUMBERS = ["pharynx", "cpu-vendor", "auto-horse", "auto-mpg", "breast-tumor", "lowbwt", "sensory", "fishcatch"]
CLASSES = ["adult", "credit-a", "credit-g", "colic", "breast-cancer", "mushroom", "autos", "vowel"]
WITH_IDENTIFIER = {
    "regression": ["housing", "cpu-small", "auto-price"],
    "classification": ["diabetes", "segment", "sonar"],
}
WAYS = ["subsets", "statistics", "codes", "auto"]
FORESTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "random forest": (tm.RandomForestClassifier, tm.RandomForestRegressor),
    "extra trees": (tm.ExtraTreesClassifier, tm.ExtraTreesRegressor),
}
SMALL, TURNS, FOLDS = 2000, 3, 5


def error(make: Callable[..., Any], X: Any, y: np.ndarray, task: str, **options: Any) -> float:
    """Cross-validated error in percent, or root mean squared error; repeated for small tables."""
    losses = []
    for turn in range(TURNS if len(y) < SMALL else 1):
        for train, test in KFold(FOLDS, shuffle=True, random_state=turn).split(y):
            answers = make(random_state=turn, **options).fit(X.iloc[train], y[train]).predict(X.iloc[test])
            losses.append(np.mean((answers - y[test]) ** 2) if task == "regression" else np.mean(answers != y[test]))
    return float(np.sqrt(np.mean(losses)) if task == "regression" else 100 * np.mean(losses))


def compare_ways() -> list[list[Any]]:
    """One row for each dataset and kind of forest."""
    rows = []
    for task, names in (("regression", NUMBERS), ("classification", CLASSES)):
        for name in names:
            data = load_dataset(name, task=task)
            X = data.frame()
            most = max(X[column].nunique() for column in X.columns[list(data.nominal)])
            classes = "" if task == "regression" else len(np.unique(data.y))
            for kind, makers in FORESTS.items():
                errors = [error(makers[task == "regression"], X, data.y, task, nominal=way) for way in WAYS]
                rows.append([name, len(X), most, classes, kind, *(f"{each:.4g}" for each in errors)])
                print(*rows[-1], flush=True)
    return rows


def measure_harm() -> list[list[Any]]:
    """Errors without and with a column of a different word in each row."""
    rows = []
    for task, names in WITH_IDENTIFIER.items():
        for name in names:
            data = load_dataset(name, task=task)
            X = data.frame()
            words = [f"row {number}" for number in np.random.default_rng(0).permutation(len(X))]
            for kind, makers in FORESTS.items():
                make = makers[task == "regression"]
                without = error(make, X, data.y, task)
                with_it = [error(make, X.assign(identifier=words), data.y, task, nominal=way) for way in WAYS]
                rows.append([name, kind, f"{without:.4g}", *(f"{each:.4g}" for each in with_it)])
                print(*rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="store_true", help="write RESULTS.md")
    arguments = parser.parse_args()
    text = "\n\n".join(
        [
            f"Error in percent, or root mean squared error, of {FOLDS}-fold cross-validation, {TURNS} times for fewer "
            f"than {SMALL} rows; 100 trees at their defaults but for `nominal=`.",
            table(["dataset", "rows", "most levels", "classes", "forest", *WAYS], compare_ways()),
            "Identifiers: the same without and with a column that has a different word in each row.",
            table(["dataset", "forest", "without", *WAYS], measure_harm()),
            f"`python benchmarks/nominal.py --store`; {environment('tremula', 'numpy', 'scikit-learn')}",
        ]
    )
    print(text)
    if arguments.store:
        store("Nominal attributes", text)


if __name__ == "__main__":
    main()
