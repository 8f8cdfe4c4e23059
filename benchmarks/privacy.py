"""Accuracy of private learners; made for docs/guide/private_data.md.

    python benchmarks/privacy.py --run tremula         measures tremula, and stores benchmarks/privacy.json
    python benchmarks/privacy.py --run min_count       the same for the rule of small counts
    python benchmarks/privacy.py --run diffprivlib     the same for diffprivlib's forest, where it is installed
    python benchmarks/privacy.py --run ebm             the same for the private boosting machine of interpret-core
    python benchmarks/privacy.py                       writes the tables into the page, from the stored results

Tables are Parquet files of two classes in the folder TREMULA_DATA. Half of the rows are for training, at most 20,000,
and the other half for testing; three divisions. All learners are given the smallest and the largest value of each
number as public, and delta is 1e-5 for those that have one. The settings are the same for all tables and epsilons.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedShuffleSplit

RESULTS = Path(__file__).parent / "privacy.json"
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "private_data.md"
MARKS = {
    "budgets": ("<!-- accuracy by epsilon -->", "<!-- end of accuracy by epsilon -->"),
    "counts": ("<!-- accuracy by min_count -->", "<!-- end of accuracy by min_count -->"),
}
TABLES = ("adult", "breast-w", "credit-a", "credit-g", "diabetes", "kr-vs-kp", "mushroom", "phoneme", "vote")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
MIN_COUNTS = (0, 5, 10)
DELTA = 1e-5
DIVISIONS = 3
LEARNERS = {"tremula": "tremula", "diffprivlib": "diffprivlib's forest", "ebm": "DP-EBM"}
Score = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray, float, int], float]


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_parquet(Path(os.environ["TREMULA_DATA"], f"{name}.parquet"))
    y = table.pop("target").astype(str).to_numpy()
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype(object).where(table[column].notna(), "missing").astype(str)
    return table, y


def numbers(table: pd.DataFrame) -> list[str]:
    return [column for column in table if pd.api.types.is_numeric_dtype(table[column])]


def tremula_oracle(X: pd.DataFrame, y: np.ndarray, X_all: pd.DataFrame) -> Any:
    from tremula.queries import ArrayOracle

    cuts = {name: np.unique(np.linspace(X_all[name].min(), X_all[name].max(), 9)[1:-1]) for name in numbers(X)}
    return ArrayOracle(X, y, cuts=cuts, categorical_features=[name for name in X if name not in cuts])


def tremula_score(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, epsilon: float, seed: int
) -> float:
    import tremula as tm
    from tremula.queries import GuardedOracle

    rules = {"min_count": 0, "epsilon": epsilon, "delta": DELTA, "budget_depth": 1, "estimate": True}
    guarded = GuardedOracle(tremula_oracle(X, y, pd.concat([X, X_test])), **rules)
    model = tm.SimulatedBaggingClassifier(n_estimators=20, max_depth=8, max_features="sqrt", random_state=seed)
    return float(model.fit(guarded).score(X_test, y_test))


def coded(X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers for learners that know no levels: codes of levels, and the median for missing numbers."""
    both = pd.concat([X, X_test], ignore_index=True)
    for name in both:
        if name in numbers(both):
            both[name] = both[name].astype(float).fillna(both[name].median())
        else:
            both[name] = pd.Categorical(both[name]).codes.astype(float)
    values = both.to_numpy()
    return values[: len(X)], values[len(X) :]


def diffprivlib_score(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, epsilon: float, seed: int
) -> float:
    from diffprivlib.models import RandomForestClassifier

    train, test = coded(X, X_test)
    both = np.concatenate([train, test])
    labels, codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)  # it does not learn from text labels
    model = RandomForestClassifier(
        epsilon=epsilon, bounds=(both.min(axis=0), both.max(axis=0)), classes=np.arange(len(labels)), random_state=seed
    )
    return float(model.fit(train, codes[: len(y)]).score(test, codes[len(y) :]))


def ebm_score(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, epsilon: float, seed: int
) -> float:
    from interpret.privacy import DPExplainableBoostingClassifier

    train, test = X.copy(), X_test.copy()
    bounds = {}
    for place, name in enumerate(train):
        if name in numbers(X):
            median = pd.concat([X[name], X_test[name]]).median()
            train[name], test[name] = train[name].astype(float).fillna(median), test[name].astype(float).fillna(median)
            bounds[place] = (
                float(min(train[name].min(), test[name].min())),
                float(max(train[name].max(), test[name].max())),
            )
    types = ["continuous" if place in bounds else "nominal" for place in range(train.shape[1])]
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=DELTA, privacy_bounds=bounds, feature_types=types, random_state=seed, n_jobs=1
    )
    return float(model.fit(train, y).score(test, y_test))


def min_count_score(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, min_count: float, seed: int
) -> float:
    import tremula as tm
    from tremula.queries import GuardedOracle

    guarded = GuardedOracle(tremula_oracle(X, y, pd.concat([X, X_test])), min_count=int(min_count))
    model = tm.SimulatedBaggingClassifier(n_estimators=20, max_depth=8, random_state=seed)
    return float(model.fit(guarded).score(X_test, y_test))


def measure(score: Score, name: str, settings: tuple[float, ...], n_divisions: int) -> dict[str, float]:
    X, y = read(name)
    means: dict[str, list[float]] = {str(setting): [] for setting in settings}
    for seed in range(n_divisions):
        train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=seed).split(X, y))
        train, test = train[:20000], test[:20000]
        for setting in settings:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                means[str(setting)].append(score(X.iloc[train], y[train], X.iloc[test], y[test], setting, seed))
    return {setting: round(float(np.mean(scores)), 4) for setting, scores in means.items()}


def run(learner: str, tables: tuple[str, ...], n_divisions: int) -> None:
    scores = {"tremula": tremula_score, "diffprivlib": diffprivlib_score, "ebm": ebm_score}
    for name in tables:
        if learner == "min_count":
            measured = measure(min_count_score, name, MIN_COUNTS, n_divisions)
        else:
            measured = measure(scores[learner], name, EPSILONS, n_divisions)
        y = read(name)[1]
        stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"budgets": {}, "counts": {}, "majority": {}}
        stored["majority"][name] = round(float(np.unique(y, return_counts=True)[1].max() / len(y)), 4)
        if learner == "min_count":
            stored["counts"][name] = measured
        else:
            stored["budgets"].setdefault(name, {})[learner] = measured
        RESULTS.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
        print(name, measured, flush=True)


def budget_table(stored: dict[str, Any]) -> str:
    lines = ["| table | majority | learner | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " |"]
    lines.append("|---|---:|---|" + "---:|" * len(EPSILONS))
    for name in measured_tables(stored):
        for learner, label in LEARNERS.items():
            scores = stored["budgets"][name][learner]
            shown = " | ".join(f"{100 * scores[str(epsilon)]:.1f}" for epsilon in EPSILONS)
            lines.append(f"| {name} | {100 * stored['majority'][name]:.1f} | {label} | {shown} |")
    return "\n".join([*lines, "", summary(stored)])


def measured_tables(stored: dict[str, Any]) -> list[str]:
    """Return the tables on which all learners were measured."""
    return [name for name in TABLES if set(LEARNERS) <= set(stored["budgets"].get(name, {}))]


def summary(stored: dict[str, Any]) -> str:
    """Return in words how often each learner is the best, ties included, and how often below the majority class."""
    cells = [(name, str(epsilon)) for name in measured_tables(stored) for epsilon in EPSILONS]
    scores = {
        learner: np.array([stored["budgets"][name][learner][epsilon] for name, epsilon in cells])
        for learner in LEARNERS
    }
    best = np.max(list(scores.values()), axis=0)
    majority = np.array([stored["majority"][name] for name, _ in cells])
    words = [
        f"{label} is the best in {int((scores[learner] == best).sum())} of {len(cells)} cells and below the majority "
        f"class in {int((scores[learner] < majority).sum())}"
        for learner, label in LEARNERS.items()
    ]
    return "; ".join(words) + "."


def count_table(stored: dict[str, Any]) -> str:
    lines = ["| table | " + " | ".join(f"min_count {count}" for count in MIN_COUNTS) + " |"]
    lines.append("|---|" + "---:|" * len(MIN_COUNTS))
    for name in TABLES:
        if name in stored["counts"]:
            shown = " | ".join(f"{100 * stored['counts'][name][str(count)]:.1f}" for count in MIN_COUNTS)
            lines.append(f"| {name} | {shown} |")
    return "\n".join(lines)


def write_page() -> None:
    stored, text = json.loads(RESULTS.read_text()), PAGE.read_text(encoding="utf-8")
    for part, table in (("budgets", budget_table(stored)), ("counts", count_table(stored))):
        start, end = MARKS[part]
        before, rest = text.split(start)
        text = f"{before}{start}\n{table}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=(*LEARNERS, "min_count"))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--divisions", type=int, default=DIVISIONS)
    options = parser.parse_args()
    if options.run:
        run(options.run, tuple(options.tables.split(",")), options.divisions)
    else:
        write_page()
