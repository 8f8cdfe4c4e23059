"""Shapley values: processor time and agreement with shap's TreeExplainer, on the same trees.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/explanations.py [--store] [--trees 20]

Needs the package shap (`pip install shap`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import shap
from measure import environment, store, table, take_turns
from sklearn.datasets import load_diabetes

import tremula as tm
from data import load
from tremula.explanations.shap_trees import shap_trees

N_ROWS, N_PAIRED_ROWS, N_BACKGROUND, N_LETTERS = 64, 16, 100, 10_000
NOTE = f"""Forests of as many trees as the command says; 10,000 training rows of letter. Processor seconds of one
core, best of two turns, for {N_ROWS} rows; for {N_PAIRED_ROWS} rows and {N_BACKGROUND} background rows with a
background. shap is given the trees of tremula, and its explainer is made before time counts; tremula's time includes
reading the model. Difference: the largest of any value. Sum: the largest difference between the prediction and what
base value and values sum to. shap computes values with a background in single precision. Diabetes: values rounded to
whole numbers, which it holds."""


def models(n_trees: int) -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Name, model, rows to explain, background."""
    X, y = load("letter")
    given = {"n_estimators": n_trees, "random_state": 0}
    new = X[N_LETTERS:]
    for name, forest in (
        ("letter, random forest", tm.RandomForestClassifier(**given)),
        ("letter, extra trees", tm.ExtraTreesClassifier(**given)),
    ):
        yield name, forest.fit(X[:N_LETTERS], y[:N_LETTERS]), new[:N_ROWS], new[N_ROWS : N_ROWS + N_BACKGROUND]
    X, y = load_diabetes(return_X_y=True)
    X = np.round(1000 * X)
    yield "diabetes, random forest", tm.RandomForestRegressor(**given).fit(X, y), X[:N_ROWS], X[-N_BACKGROUND:]


def compared(name: str, model: Any, rows: np.ndarray, background: np.ndarray | None) -> list[str]:
    kind = "tree_path_dependent" if background is None else "interventional"
    explainer = shap.TreeExplainer(shap_trees(model), background, feature_perturbation=kind)
    results: dict[str, Any] = {}

    def by_tremula() -> None:
        results["tremula"] = tm.explain(model, rows, background=background, n_jobs=1)

    def by_shap() -> None:
        results["shap"] = explainer.shap_values(rows, check_additivity=False)

    times = take_turns({"tremula": by_tremula, "shap": by_shap}, seconds=0.0, least=2)
    explanation = results["tremula"]
    others = np.asarray(results["shap"]).reshape(explanation.values.shape)
    answers = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
    sums = explanation.sums, np.ravel(explainer.expected_value) + others.reshape(*rows.shape, -1).sum(axis=1)
    off = [np.abs(np.reshape(each, answers.shape) - answers).max() for each in sums]
    return [
        name,
        "shares" if background is None else "background",
        f"{times['tremula']:.2f}",
        f"{times['shap']:.2f}",
        f"{times['shap'] / times['tremula']:.1f}",
        f"{np.abs(explanation.values - others).max():.1g}",
        *(f"{each:.1g}" for each in off),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", action="store_true", help="write the table to RESULTS.md")
    parser.add_argument("--trees", type=int, default=20, help="number of trees")
    given = parser.parse_args()
    rows = []
    for name, model, new, background in models(given.trees):
        rows.append(compared(name, model, new, None))
        print(rows[-1], flush=True)
        rows.append(compared(name, model, new[:N_PAIRED_ROWS], background))
        print(rows[-1], flush=True)
    titles = ["model", "unknown by", "tremula, s", "shap, s", "factor", "difference", "tremula, sum", "shap, sum"]
    text = table(titles, rows)
    print(text)
    if given.store:
        versions = environment("tremula", "shap", "numpy")
        command = f"python benchmarks/explanations.py --store --trees {given.trees}"
        store("Explanations", f"{text}\n\n{NOTE}\n\n{versions}\n\nCommand: `{command}`")


if __name__ == "__main__":
    main()
