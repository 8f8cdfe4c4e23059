"""Errors of bagging, AdaBoost.M1 and random forests against scikit-learn's and Weka's: same folds, as many members.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/accuracy.py --weka PYTHON [--cells FILE] [--store]

`--weka` names a Python that has python-weka-wrapper3. `--cells` keeps finished cells, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from cells import Cells
from measure import environment, store, table
from peers import ask_weka
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from data import as_indicators, load, stratified_folds
from tremula.diagnostics import corrected_t_test

DATASETS = [
    "sonar", "glass", "autos", "credit-a", "vehicle", "vowel", "credit-g", "segment", "kr-vs-kp", "waveform-5000",
]  # fmt: skip
MEMBERS, FOLDS, LEVEL, AGAIN = 50, 10, 0.05, 6
WORSE = "**significantly worse**"
METHODS = {"bagging": "Bagging", "boosting": "AdaBoost.M1", "forest": "Random forest"}
OURS = {
    "bagging": tm.BaggingClassifier(n_estimators=MEMBERS, random_state=0),
    "boosting": tm.AdaBoostM1Classifier(tm.C45Classifier(release="J48"), n_estimators=MEMBERS, random_state=0),
    "forest": tm.RandomForestClassifier(MEMBERS, random_state=0),
}
ENTROPY = DecisionTreeClassifier(criterion="entropy")
LEAVES_OF_TWO = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)
THEIRS = {
    "bagging": BaggingClassifier(ENTROPY, n_estimators=MEMBERS, random_state=0),
    "boosting": make_pipeline(SimpleImputer(), AdaBoostClassifier(LEAVES_OF_TWO, n_estimators=MEMBERS, random_state=0)),
    "forest": RandomForestClassifier(MEMBERS, random_state=0),
}
# Where AdaBoost differs on vowel: J48's two rows in a leaf are two in weight, scikit-learn's two in number.
LEAVES_BY_WEIGHT = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=2 / 891)
VOWEL = {
    "scikit-learn's trees inside ours": tm.AdaBoostM1Classifier(LEAVES_OF_TWO, n_estimators=MEMBERS, random_state=0),
    "scikit-learn's with two rows in weight": AdaBoostClassifier(
        LEAVES_BY_WEIGHT, n_estimators=MEMBERS, random_state=0
    ),
}
NOTE = f"""Error in percent, ten-fold stratified cross-validation, {MEMBERS} members each; the difference is ours less
the peer's, p of the corrected resampled t test on the ten folds (of sixty tests three are below 0.05 by chance alone).
tremula: `BaggingClassifier()`, `AdaBoostM1Classifier(C45Classifier(release="J48"))`, `RandomForestClassifier()`.
scikit-learn: bagging of entropy trees, AdaBoost of entropy trees with at least two rows in a leaf (fully grown ones
would end the boosting at once), random forest; nominal attributes as indicators, one for each level, and missing
numbers replaced by the mean for AdaBoost, which takes none. Weka: Bagging of J48 -U, AdaBoostM1 of J48, RandomForest;
tremula and Weka take nominal attributes and missing values as they are."""


def error_on(estimator: Any, attributes: Any, codes: np.ndarray, test: np.ndarray) -> float:
    """Share of wrong answers on a fold."""
    take = attributes.iloc.__getitem__ if isinstance(attributes, pd.DataFrame) else attributes.__getitem__
    train = np.setdiff1d(np.arange(len(codes)), test)
    model = clone(estimator).fit(take(train), codes[train])
    return float(np.mean(model.predict(take(test)) != codes[test]))


def error_of_weka(python: str, name: str, method: str, test: np.ndarray) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([test.tolist()], file)
        file.flush()
        return float(ask_weka(python, "errors", name, method, MEMBERS, file.name)["errors"][0])


def errors_by_library(name: str, method: str, seed: int, weka: str | None, cells: Cells) -> dict[str, np.ndarray]:
    """Errors on every fold, by library."""
    attributes, codes = load(name)
    indicators = as_indicators(attributes)
    jobs: dict[str, Callable[[np.ndarray], float]] = {
        "tremula": lambda test: error_on(OURS[method], attributes, codes, test),
        "scikit-learn": lambda test: error_on(THEIRS[method], indicators, codes, test),
    }
    if weka is not None:
        jobs["Weka"] = lambda test: error_of_weka(weka, name, method, test)
    errors: dict[str, list[float]] = {library: [] for library in jobs}
    for fold, test in enumerate(stratified_folds(codes, seed, FOLDS)):
        for library, job in jobs.items():
            key = f"{name} {method} {library} {seed} {fold}"
            errors[library].append(cells.get(key, lambda job=job, test=test: job(test)))
    return {library: np.array(values) for library, values in errors.items()}


def compare(ours: np.ndarray, theirs: np.ndarray) -> tuple[str, str, str]:
    """Difference, p and verdict."""
    difference = 100 * float(np.mean(ours - theirs))
    p = corrected_t_test(ours, theirs, n_train=FOLDS - 1, n_test=1).p_value
    verdict = "no difference" if p > LEVEL else WORSE if difference > 0 else "significantly better"
    return f"{difference:+.1f}", f"{p:.2f}", verdict


def line_of(name: str, errors: dict[str, np.ndarray]) -> list[str]:
    line = [name, f"{100 * errors['tremula'].mean():.1f}"]
    for library, theirs in errors.items():
        if library != "tremula":
            line += [f"{100 * theirs.mean():.1f}", *compare(errors["tremula"], theirs)]
    return line


def explain_vowel(cells: Cells) -> str:
    """AdaBoost on vowel with the minimum of a leaf counted in rows and in weight."""
    attributes, codes = load("vowel")
    indicators, folds = as_indicators(attributes), stratified_folds(codes, 0, FOLDS)
    errors = {
        what: cells.get(f"vowel {what}", lambda e=e: [error_on(e, indicators, codes, test) for test in folds])
        for what, e in VOWEL.items()
    }
    found = "; ".join(f"{what}: {100 * np.mean(values):.1f}" for what, values in errors.items())
    return (
        "The difference of AdaBoost on vowel is one of trees: C4.5 and J48 want two rows in weight on either side of a "
        f"split, scikit-learn's `min_samples_leaf` two in number, so that rows of much weight can stand apart. {found}."
    )


def section_of(method: str, datasets: list[str], weka: str | None, cells: Cells) -> str:
    header = ["dataset", "tremula", "scikit-learn", "difference", "p", "verdict"]
    header += ["Weka", "difference", "p", "verdict"] if weka is not None else []
    lines = [line_of(name, errors_by_library(name, method, 0, weka, cells)) for name in datasets]
    return f"{METHODS[method]}:\n\n{table(header, lines)}"


def look_again(datasets: list[str], weka: str | None, cells: Cells) -> str:
    """Where ours was significantly worse: other divisions into folds, to tell chance from a cause."""
    lines = []
    for method, name in product(METHODS, datasets):
        first = errors_by_library(name, method, 0, weka, cells)
        for library in (k for k in first if k != "tremula" and compare(first["tremula"], first[k])[2] == WORSE):
            asked = weka if library == "Weka" else None
            more = [errors_by_library(name, method, 1 + seed, asked, cells) for seed in range(AGAIN)]
            ours, theirs = (np.concatenate([errors[who] for errors in more]) for who in ("tremula", library))
            means = [f"{100 * errors.mean():.1f}" for errors in (ours, theirs)]
            lines.append([name, METHODS[method], library, *means, *compare(ours, theirs)])
    text = f"Significantly worse once, and looked at again over {AGAIN} other divisions into ten folds:\n\n"
    return text + table(["dataset", "method", "peer", "tremula", "peer's", "difference", "p", "verdict"], lines)


def versions(weka: str | None, cells: Cells) -> str:
    own = environment("tremula", "scikit-learn", "numpy")
    if weka is None:
        return own
    return f"{own}; Weka {cells.get('Weka', lambda: ask_weka(weka, 'seconds', 'iris', 'forest', 1)['weka'])}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of ensembles against scikit-learn's and Weka's.")
    parser.add_argument("--store", action="store_true", help="write the tables into RESULTS.md")
    parser.add_argument("--weka", help="a Python that has python-weka-wrapper3")
    parser.add_argument("--cells", type=Path, help="a JSON file that keeps finished cells")
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    arguments = parser.parse_args()
    cells = Cells(arguments.cells)
    sections = [section_of(m, arguments.datasets, arguments.weka, cells) for m in METHODS]
    again = look_again(arguments.datasets, arguments.weka, cells)
    text = "\n\n".join([*sections, NOTE, again, explain_vowel(cells), versions(arguments.weka, cells)])
    text += "\n\nCommand: `python benchmarks/accuracy.py --store --weka <python with python-weka-wrapper3>`"
    print(text)
    if arguments.store:
        store("Errors of ensembles", text)


if __name__ == "__main__":
    main()
