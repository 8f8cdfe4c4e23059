"""Make the golden file of Shapley values by the package shap.

Run with shap installed; not part of pytest:

    python tests/golden/make_shap.py

It takes a few seconds. `README.md` beside this file describes the fields.
"""

from __future__ import annotations

import gzip
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import shap
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import tremula as tm
from tremula.explanations.shap_trees import shap_trees

FILE = Path(__file__).parent / "shap.json.gz"
PARAMETERS = {"n_estimators": 12, "min_samples_leaf": 2, "random_state": 0}
DATA = {"regression": load_diabetes, "classification": load_iris}
CLASSES = {
    "scikit-learn": {"regression": RandomForestRegressor, "classification": RandomForestClassifier},
    "tremula": {"regression": tm.RandomForestRegressor, "classification": tm.RandomForestClassifier},
}


def rows_of(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of numbers that single precision holds exactly, as shap and scikit-learn round rows to it."""
    X, y = DATA[task](return_X_y=True)
    return np.round(256 * X), y


def values(library: str, task: str) -> dict[str, Any]:
    X, y = rows_of(task)
    model = CLASSES[library][task](**PARAMETERS).fit(X, y)
    given = model if library == "scikit-learn" else shap_trees(model)
    by_shares = shap.TreeExplainer(given, feature_perturbation="tree_path_dependent")
    by_background = shap.TreeExplainer(given, X[5:60:5], feature_perturbation="interventional")
    answers = model.predict(X[::30]) if task == "regression" else model.predict_proba(X[::30])
    return {
        "library": library,
        "task": task,
        "answers": answers.tolist(),
        "by_shares": by_shares.shap_values(X[::30], check_additivity=False).tolist(),
        "base": np.ravel(by_shares.expected_value).tolist(),
        "by_background": by_background.shap_values(X[::30], check_additivity=False).tolist(),
    }


def main() -> None:
    golden = {
        "versions": {name: version(name) for name in ("shap", "scikit-learn", "numpy")},
        "parameters": PARAMETERS,
        "values": [values(library, task) for library in CLASSES for task in DATA],
    }
    FILE.write_bytes(gzip.compress(json.dumps(golden).encode(), mtime=0))


if __name__ == "__main__":
    main()
