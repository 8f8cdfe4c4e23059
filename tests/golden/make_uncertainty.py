"""Make the golden file of quantiles, intervals, sets and standard errors by quantile-forest, crepes, MAPIE and ranger.

Run with these Python packages, R and its package ranger installed; not part of pytest:

    python tests/golden/make_uncertainty.py

It takes a few seconds. `README.md` beside this file describes the fields.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from crepes import WrapClassifier, WrapRegressor
from mapie.regression import JackknifeAfterBootstrapRegressor
from quantile_forest import RandomForestQuantileRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

HERE = Path(__file__).parent
FILE = HERE / "uncertainty.json.gz"
QUANTILES = [0.05, 0.137, 0.5, 0.813, 0.95]
N_TRAINING = 250


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Diabetes rows whose targets all differ: quantile-forest lets the order of equal targets decide."""
    X, y = load_diabetes(return_X_y=True)
    return X, y + 1e-4 * np.arange(len(y))


def quantiles(min_samples_leaf: int) -> dict[str, Any]:
    X, y = diabetes()
    parameters = {"n_estimators": 40, "min_samples_leaf": min_samples_leaf, "max_features": 0.5, "random_state": 0}
    forest = RandomForestQuantileRegressor(max_samples_leaf=None, **parameters).fit(X[:N_TRAINING], y[:N_TRAINING])
    asked = {"quantiles": QUANTILES, "weighted_leaves": True}
    return {
        "parameters": parameters,
        "means": RandomForestRegressor(**parameters)
        .fit(X[:N_TRAINING], y[:N_TRAINING])
        .predict(X[N_TRAINING:])
        .tolist(),
        "new": forest.predict(X[N_TRAINING:], **asked).tolist(),
        "out_of_bag": forest.predict(X[:N_TRAINING], oob_score=True, **asked).tolist(),
    }


def crepes_intervals() -> dict[str, Any]:
    X, y = diabetes()
    parameters = {"n_estimators": 100, "max_features": 0.5, "random_state": 0}
    forest = RandomForestRegressor(oob_score=True, **parameters).fit(X[:N_TRAINING], y[:N_TRAINING])
    wrapped = WrapRegressor(forest)
    wrapped.calibrate(X[:N_TRAINING], y[:N_TRAINING], oob=True)
    return {
        "parameters": parameters,
        "means": forest.predict(X[N_TRAINING:]).tolist(),
        "intervals": wrapped.predict_int(X[N_TRAINING:], confidence=0.9).tolist(),
    }


def crepes_sets() -> dict[str, Any]:
    X, y = load_iris(return_X_y=True)
    parameters = {"n_estimators": 100, "max_depth": 3, "random_state": 0}
    forest = RandomForestClassifier(oob_score=True, **parameters).fit(X[::2], y[::2])
    answers = {"parameters": parameters, "means": forest.predict_proba(X[1::2]).tolist()}
    for name, by_class in (("sets", False), ("sets_by_class", True)):
        wrapped = WrapClassifier(forest)
        wrapped.calibrate(X[::2], y[::2], oob=True, class_cond=by_class)
        answers[name] = [
            list(map(int, labels)) for labels in wrapped.predict_set(X[1::2], confidence=0.95, smoothing=False)
        ]
    return answers


def mapie_intervals() -> dict[str, Any]:
    X, y = diabetes()
    tree = DecisionTreeRegressor(max_features=0.5, random_state=0)
    jackknife = JackknifeAfterBootstrapRegressor(tree, confidence_level=0.9, resampling=30, random_state=0)
    jackknife.fit_conformalize(X[:120], y[:120])
    inner = jackknife._mapie_regressor.estimator_
    return {
        "is_out_of_bag": (inner.k_.T == 1).astype(int).tolist(),
        "training_answers": [member.predict(X[:120]).tolist() for member in inner.estimators_],
        "new_answers": [member.predict(X[120:150]).tolist() for member in inner.estimators_],
        "intervals": jackknife.predict_interval(X[120:150])[1][:, :, 0].tolist(),
    }


def ranger_errors() -> dict[str, Any]:
    X, y = diabetes()
    table = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])]).assign(target=y)
    with tempfile.TemporaryDirectory() as folder:
        table[:100].to_csv(Path(folder, "train.csv"), index=False)
        table[100:120].to_csv(Path(folder, "test.csv"), index=False)
        subprocess.run(["Rscript", str(HERE / "make_uncertainty.R"), folder], check=True)
        read = {
            f"{name}_{part}": np.loadtxt(Path(folder, f"{name}_{part}.txt"), converters=_number).T.tolist()
            for name in ("bootstrap", "subsample")
            for part in ("errors", "answers", "counts")
        }
        return read | {"version": Path(folder, "version.txt").read_text().strip()}


def _number(text: str) -> float:
    return -1.0 if text == "NaN" else float(text)


def main() -> None:
    golden = {
        "versions": {name: version(name) for name in ("quantile-forest", "crepes", "mapie", "scikit-learn", "numpy")},
        "quantiles": QUANTILES,
        "quantile_forest": [quantiles(1), quantiles(5)],
        "crepes_intervals": crepes_intervals(),
        "crepes_sets": crepes_sets(),
        "mapie": mapie_intervals(),
        "ranger": ranger_errors(),
    }
    FILE.write_bytes(gzip.compress(json.dumps(golden).encode(), mtime=0))


if __name__ == "__main__":
    main()
