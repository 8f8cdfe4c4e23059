"""Accuracy of private learners; made for docs/guide/private_data.md.

    python benchmarks/privacy.py --run tremula         measures tremula, and stores benchmarks/privacy.json
    python benchmarks/privacy.py --run min_count       the same for the rule of small counts
    python benchmarks/privacy.py --run diffprivlib     the same for diffprivlib's forest, where it is installed
    python benchmarks/privacy.py --run ebm             the same for the private boosting machine of interpret-core
    python benchmarks/privacy.py --merge OTHER.json    adds the results of another store to it
    python benchmarks/privacy.py                       writes the tables and the figure of the page, from the store

Tables are Parquet files of two classes in the folder TREMULA_DATA. Half of the rows are for training, at most 20,000,
and the other half for testing; the same divisions for all learners. Runs go on where they stopped. All learners are
given the smallest and the largest value of each number, the levels and the classes as public. Delta is 1e-5 for
learners that have one; tremula has none up to 12 attributes or below epsilon 1, where Laplace noise is the smaller one.
The settings are the same for all tables, and were chosen on TUNED.
"""

from __future__ import annotations

import argparse
import json
import os
import time
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
REPORT = Path(__file__).parent / "RESULTS.md"
FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "privacy.svg"
MARKS = {
    "budgets": ("<!-- accuracy by epsilon -->", "<!-- end of accuracy by epsilon -->"),
    "counts": ("<!-- accuracy by min_count -->", "<!-- end of accuracy by min_count -->"),
    "results": ("<!-- private learners -->", "<!-- end of private learners -->"),
}
TUNED = ("breast-w", "credit-g", "diabetes", "kr-vs-kp", "vote")
UNTOUCHED = ("adult", "credit-a", "heart-statlog", "hypothyroid-3163", "mushroom", "phoneme", "sick", "twonorm")
TABLES = (*TUNED, *UNTOUCHED)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
MIN_COUNTS = (0, 5, 10)
DELTA = 1e-5
BINS = 8
GAUSSIAN_ATTRIBUTES = 12  # about the logarithm of 1 / delta
DIVISIONS = 10
ENOUGH = 5  # divisions for a standard error
LEARNERS = {"tremula": "tremula", "diffprivlib": "diffprivlib's forest", "ebm": "DP-EBM"}
Score = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray, float, int], float]


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_parquet(Path(os.environ["TREMULA_DATA"], f"{name}.parquet"))
    y = table.pop("target").astype(str).to_numpy()
    table = table.dropna(axis=1, how="all")
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype(object).where(table[column].notna(), "missing").astype(str)
    return table, y


def numbers(table: pd.DataFrame) -> list[str]:
    return [column for column in table if pd.api.types.is_numeric_dtype(table[column])]


def tremula_oracle(X: pd.DataFrame, y: np.ndarray, X_all: pd.DataFrame, classes: list[str]) -> Any:
    """Return an oracle that reads nothing from the rows: levels, bounds and classes are stated."""
    from tremula.queries import ArrayOracle

    nominal = [name for name in X if name not in numbers(X)]
    bounds = {name: (float(X_all[name].min()), float(X_all[name].max())) for name in numbers(X)}
    constant = {name: [] for name, (low, high) in bounds.items() if low == high}
    domains = {name: bound for name, bound in bounds.items() if name not in constant}
    domains |= {name: sorted(X_all[name].unique()) for name in nominal}
    return ArrayOracle(X, y, domains=domains, cuts=constant, classes=classes, n_bins=BINS, categorical_features=nominal)


def tremula_score(
    X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, epsilon: float, seed: int
) -> float:
    import tremula as tm
    from tremula.queries import GuardedOracle

    oracle = tremula_oracle(X, y, pd.concat([X, X_test]), sorted(set(y) | set(y_test)))
    # Gaussian noise is the smaller one only for many tables.
    delta = DELTA if epsilon >= 1 and X.shape[1] > GAUSSIAN_ATTRIBUTES else None
    rules = {"min_count": 0, "epsilon": epsilon, "delta": delta, "budget_depth": 1, "estimate": True}
    guarded = GuardedOracle(oracle, **rules, single_split=True)
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

    oracle = tremula_oracle(X, y, pd.concat([X, X_test]), sorted(set(y) | set(y_test)))
    guarded = GuardedOracle(oracle, min_count=int(min_count))
    model = tm.SimulatedBaggingClassifier(n_estimators=20, max_depth=8, random_state=seed)
    return float(model.fit(guarded).score(X_test, y_test))


def divided(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return the rows and classes of a table's halves for training and testing, at most 20,000 rows each."""
    X, y = read(name)
    train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=seed).split(X, y))
    train, test = train[:20000], test[:20000]
    return X.iloc[train], y[train], X.iloc[test], y[test]


def run(learner: str, tables: tuple[str, ...], n_divisions: int, store: Path) -> None:
    """Measure what is not stored yet, one division of one table after the other."""
    scores = {"tremula": tremula_score, "diffprivlib": diffprivlib_score, "ebm": ebm_score}
    part = "counts" if learner == "min_count" else "budgets"
    settings = MIN_COUNTS if learner == "min_count" else EPSILONS
    score = min_count_score if learner == "min_count" else scores[learner]
    for seed in range(n_divisions):
        for name in tables:
            stored = read_results(store)
            by_setting = stored[part].setdefault(name, {}).setdefault(learner, {})
            if any(len(by_setting.get(str(setting), [])) > seed for setting in settings):
                continue
            start = time.perf_counter()
            parts = divided(name, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measured = {str(setting): round(score(*parts, setting, seed), 4) for setting in settings}
            for setting, value in measured.items():
                by_setting.setdefault(setting, []).append(value)
            y = read(name)[1]
            stored["majority"][name] = round(float(np.unique(y, return_counts=True)[1].max() / len(y)), 4)
            store.write_text(json.dumps(stored, sort_keys=True) + "\n")
            print(learner, name, seed, measured, f"{time.perf_counter() - start:.1f} s", flush=True)


def read_results(store: Path) -> dict[str, Any]:
    return json.loads(store.read_text()) if store.exists() else {"budgets": {}, "counts": {}, "majority": {}}


def merge(store: Path, other: Path) -> None:
    """Add results of another store."""
    stored, more = read_results(store), read_results(other)
    for part in ("budgets", "counts"):
        for name, learners in more[part].items():
            stored[part].setdefault(name, {}).update(learners)
    stored["majority"] |= more["majority"]
    store.write_text(json.dumps(stored, sort_keys=True) + "\n")


def measured_tables(stored: dict[str, Any]) -> list[str]:
    """Return the tables on which all learners were measured."""
    return [name for name in TABLES if set(LEARNERS) <= set(stored["budgets"].get(name, {}))]


def scores_of(stored: dict[str, Any], name: str, learner: str) -> np.ndarray:
    """Return the scores of a learner by division and epsilon, of the divisions that all learners have."""
    learners = stored["budgets"][name]
    n_divisions = min(len(scores) for own in LEARNERS for scores in learners[own].values())
    return np.array([learners[learner][str(epsilon)][:n_divisions] for epsilon in EPSILONS]).T


def budget_table(stored: dict[str, Any]) -> str:
    lines = ["| table | majority | learner | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " |"]
    lines.append("|---|---:|---|" + "---:|" * len(EPSILONS))
    for name in measured_tables(stored):
        for learner, label in LEARNERS.items():
            means = scores_of(stored, name, learner).mean(axis=0)
            shown = " | ".join(f"{100 * mean:.1f}" for mean in means)
            table = f"{name} (tuned)" if name in TUNED else name
            lines.append(f"| {table} | {100 * stored['majority'][name]:.1f} | {label} | {shown} |")
    return "\n".join([*lines, "", summary(stored)])


def summary(stored: dict[str, Any]) -> str:
    """Return in words how often each learner is the best, and how sure this is of tremula."""
    names = measured_tables(stored)
    divisions = [len(scores_of(stored, name, "tremula")) for name in names]
    numbers_of_divisions = " to ".join(str(number) for number in sorted({min(divisions), max(divisions)}))
    few = "" if min(divisions) >= ENOUGH else ", which is too few to rank learners in a single cell"
    sentences = [f"Means of {numbers_of_divisions} divisions of each table{few}."]
    for title, group in (("all", names), ("untouched", [name for name in names if name in UNTOUCHED])):
        means = {own: np.array([scores_of(stored, name, own).mean(axis=0) for name in group]) for own in LEARNERS}
        best = np.max(list(means.values()), axis=0)
        majority = np.array([stored["majority"][name] for name in group])[:, None]
        words = [
            f"{label} in {int((means[own] >= best - 5e-4).sum())} (below the majority class by a point or more in "
            f"{int((means[own] < majority - 0.01).sum())})"
            for own, label in LEARNERS.items()
        ]
        sentences.append(
            f"Best of three, ties included, in the {best.size} cells of {title} tables: {', '.join(words)}."
        )
    if min(divisions) >= ENOUGH:
        above, below = clear_cells(stored, names)
        sentences.append(
            "By two standard errors of differences in the same divisions, tremula is above the better of the others in "
            f"{above} cells, and below it in {below}."
        )
    return " ".join(sentences)


def mean_table(stored: dict[str, Any]) -> str:
    """Return the mean accuracy of each learner over tables, by epsilon."""
    lines = ["| tables | learner | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " |"]
    lines.append("|---|---|" + "---:|" * len(EPSILONS))
    names = measured_tables(stored)
    for title, group in (("tuned", TUNED), ("untouched", UNTOUCHED)):
        own_names = [name for name in names if name in group]
        for learner, label in LEARNERS.items():
            means = np.mean([scores_of(stored, name, learner).mean(axis=0) for name in own_names], axis=0)
            shown = " | ".join(f"{100 * mean:.1f}" for mean in means)
            lines.append(f"| {len(own_names)} {title} | {label} | {shown} |")
    return "\n".join(lines)


def clear_cells(stored: dict[str, Any], names: list[str]) -> tuple[int, int]:
    """Return in how many cells tremula is clearly above, and clearly below, the better one of the other learners."""
    above = below = 0
    for name in names:
        own = scores_of(stored, name, "tremula")
        others = [scores_of(stored, name, learner) for learner in LEARNERS if learner != "tremula"]
        for column in range(len(EPSILONS)):
            best = max((other[:, column] for other in others), key=np.mean)
            difference = own[:, column] - best
            error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
            above += bool(difference.mean() > 2 * error and difference.mean() > 0)
            below += bool(difference.mean() < -2 * error and difference.mean() < 0)
    return above, below


def draw_figure(stored: dict[str, Any]) -> None:
    """Draw accuracy by epsilon, one panel for each table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams |= {"svg.hashsalt": "tremula", "svg.fonttype": "none"}
    names = measured_tables(stored)
    n_rows = -(-len(names) // 4)
    figure, axes = plt.subplots(n_rows, 4, figsize=(10, 2.1 * n_rows), layout="constrained", squeeze=False)
    for panel, name in zip(axes.flat, names):
        for (learner, label), color in zip(LEARNERS.items(), ("#0072b2", "#d55e00", "#009e73")):
            scores = 100 * scores_of(stored, name, learner)
            errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
            panel.errorbar(EPSILONS, scores.mean(axis=0), errors, color=color, marker="o", markersize=3, label=label)
        panel.axhline(100 * stored["majority"][name], color="gray", linestyle=":", linewidth=1)
        panel.set(xscale="log", title=f"{name} (tuned)" if name in TUNED else name)
    for panel in axes.flat[len(names) :]:
        panel.set_axis_off()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=len(labels))
    figure.supxlabel("epsilon")
    figure.supylabel("accuracy, % (bars: one standard error)")
    figure.savefig(FIGURE, metadata={"Date": None})


def count_table(stored: dict[str, Any]) -> str:
    lines = ["| table | " + " | ".join(f"min_count {count}" for count in MIN_COUNTS) + " |"]
    lines.append("|---|" + "---:|" * len(MIN_COUNTS))
    for name in TABLES:
        if name in stored["counts"]:
            scores = stored["counts"][name]["min_count"]
            shown = " | ".join(f"{100 * np.mean(scores[str(count)]):.1f}" for count in MIN_COUNTS)
            lines.append(f"| {name} | {shown} |")
    return "\n".join(lines)


def write_page() -> None:
    stored, text = read_results(RESULTS), PAGE.read_text(encoding="utf-8")
    for part, table in (("budgets", budget_table(stored)), ("counts", count_table(stored))):
        start, end = MARKS[part]
        before, rest = text.split(start)
        text = f"{before}{start}\n{table}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")
    start, end = MARKS["results"]
    before, rest = REPORT.read_text(encoding="utf-8").split(start)
    means = mean_table(stored)
    REPORT.write_text(f"{before}{start}\n{means}\n\n{summary(stored)}\n{end}{rest.split(end)[1]}", encoding="utf-8")
    draw_figure(stored)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=(*LEARNERS, "min_count"))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--divisions", type=int, default=DIVISIONS)
    parser.add_argument("--store", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path)
    options = parser.parse_args()
    if options.run:
        run(options.run, tuple(options.tables.split(",")), options.divisions, options.store)
    elif options.merge:
        merge(options.store, options.merge)
    else:
        write_page()
