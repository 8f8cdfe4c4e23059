"""How often each paired test finds a difference between two methods that have none; made for docs/guide/comparing.md.

    python benchmarks/false_findings.py [--datasets 250]

Rows have two classes and six attributes; each attribute is normal with a mean that differs by 0.5 between the classes.
One method learns from the first three attributes, the other from the last three: over datasets their errors are equal.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from tremula.diagnostics import corrected_t_test, five_by_two_f_test, mcnemar_test, paired_t_test

N_ROWS = 200
LEVEL = 0.05
SPLITTERS = {
    "one 10-fold cross-validation": lambda seed: StratifiedKFold(10, shuffle=True, random_state=seed),
    "100 random splits, 90 % to learn from": lambda seed: StratifiedShuffleSplit(100, test_size=0.1, random_state=seed),
    "5 times 2-fold cross-validation": lambda seed: RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=seed),
    "one split, half to learn from": lambda seed: StratifiedShuffleSplit(1, test_size=0.5, random_state=seed),
}
Learner = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def grow_tree(X_train: np.ndarray, y_train: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    return DecisionTreeClassifier(random_state=0).fit(X_train, y_train).predict(X_test)


def nearest_mean(X_train: np.ndarray, y_train: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    means = np.stack([X_train[y_train == label].mean(axis=0) for label in (0, 1)])
    return ((X_test[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)


LEARNERS: dict[str, Learner] = {"unpruned tree": grow_tree, "nearest mean": nearest_mean}


def judge(
    learner: Learner, X: np.ndarray, y: np.ndarray, splits: list[tuple[np.ndarray, np.ndarray]]
) -> dict[str, bool]:
    """Which tests call the two methods different."""
    halves = (X[:, :3], X[:, 3:])
    wrong = [[learner(half[train], y[train], half[test]) != y[test] for train, test in splits] for half in halves]
    if len(splits) == 1:
        return {"McNemar": mcnemar_test(wrong[0][0], wrong[1][0]).p_value <= LEVEL}
    first, second = ([float(marks.mean()) for marks in of_method] for of_method in wrong)
    sizes = {"n_train": len(splits[0][0]), "n_test": len(splits[0][1])}
    p_values = {
        "paired t": paired_t_test(first, second).p_value,
        "corrected t": corrected_t_test(first, second, **sizes).p_value,
    }
    if len(splits[0][0]) == len(splits[0][1]):
        p_values["5x2 F"] = five_by_two_f_test(first, second).p_value
    return {test: p_value <= LEVEL for test, p_value in p_values.items()}


def run(n_datasets: int) -> None:
    print("| splits | test | " + " | ".join(LEARNERS) + " |\n|---|---|" + "---:|" * len(LEARNERS))
    for name, make_splitter in SPLITTERS.items():
        found: dict[str, dict[str, list[bool]]] = {}
        for seed in range(n_datasets):
            random = np.random.default_rng(seed)
            y = np.repeat([0, 1], N_ROWS // 2)
            X = random.normal(size=(N_ROWS, 6)) + 0.5 * y[:, None]
            splits = list(make_splitter(seed).split(X, y))
            for learner_name, learner in LEARNERS.items():
                for test, differs in judge(learner, X, y, splits).items():
                    found.setdefault(test, {}).setdefault(learner_name, []).append(differs)
        for test, by_learner in found.items():
            shares = [f"{100 * np.mean(by_learner[learner]):.1f} %" for learner in LEARNERS]
            print(f"| {name} | {test} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=250)
    run(parser.parse_args().datasets)
