"""Digests of all answers of every public estimator: `python -m tests.fuzz.digests 2` prints them, for two jobs.

A digest is of the bits of the answers, so that two are equal only if the last digits are.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

import tremula as tm
from tremula.errors import TremulaError

from .stored_models import classes, fitted, numbers, table

ESTIMATORS = [
    kind
    for kind in (getattr(tm, name) for name in tm.__all__)
    if isinstance(kind, type) and issubclass(kind, BaseEstimator)
]
METHODS = ("predict", "predict_proba", "apply", "decision_path", "predict_members", "smooth", "spread", "gradient")
METHODS += ("certified_radius", "certified_interval")
STAGED = ("staged_predict", "staged_predict_proba")
TEXTS = ("export_text", "export_sql", "export_dot")
PROPERTIES = ("feature_importances_", "oob_score_", "oob_prediction_", "oob_decision_function_")


def make(kind: type[BaseEstimator], n_jobs: int | None = None) -> Any:
    """Return an estimator with four members, if it has members."""
    wanted = {"n_estimators": 4, "random_state": 0, "n_jobs": n_jobs, "oob_score": "Bagging" in kind.__name__}
    model = kind()
    return model.set_params(**{name: value for name, value in wanted.items() if name in model.get_params()})


def columns_for(kind: type[BaseEstimator]) -> pd.DataFrame:
    """Return the rows that an estimator learns from and is asked about."""
    return table()[["new"]].assign(color=table()["color"].astype(str)) if kind is tm.ID3Classifier else table()


def fit_one(kind: type[BaseEstimator], n_jobs: int | None = None) -> Any:
    """Fit an estimator; what it warns of does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(make(kind, n_jobs), columns_for(kind))


def digest(model: Any, methods: tuple[str, ...] = (*METHODS, *STAGED, *TEXTS, *PROPERTIES, "count_inbag")) -> str:
    """Return the digest of all answers that a model gives about the rows it was fitted on."""
    rows, summed = columns_for(type(model)), hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in methods:
            if not hasattr(model, name):
                continue
            answer = _ask(model, name, rows)
            summed.update(f"{name}:".encode() + _as_bytes(answer))
    return summed.hexdigest()[:16]


def _ask(model: Any, name: str, rows: pd.DataFrame) -> Any:
    try:
        return _answer(model, name, rows)
    except TremulaError as error:  # not every estimator has an answer
        return str(error)


def _answer(model: Any, name: str, rows: pd.DataFrame) -> Any:
    if name in PROPERTIES:
        return getattr(model, name)
    if name in TEXTS:
        return getattr(model, name)()
    if name == "count_inbag":
        return model.count_inbag(rows, classes() if hasattr(model, "classes_") else numbers())
    answer = getattr(model, name)(rows)
    return list(answer) if name in STAGED else answer


def _as_bytes(answer: Any) -> bytes:
    if issparse(answer):
        return _as_bytes(answer.toarray())
    if isinstance(answer, tuple | list):
        return b"".join(map(_as_bytes, answer))
    array = np.asarray(answer)
    head = f"{array.dtype}{array.shape}".encode()
    return head + (json.dumps(array.tolist(), default=str).encode() if array.dtype.kind in "OU" else array.tobytes())


def all_digests(n_jobs: int | None = None, backend: str | None = None) -> dict[str, str]:
    """Fit every public estimator, with jobs of a joblib backend, and return the digests by name."""
    if backend is None:
        return {kind.__name__: digest(fit_one(kind, n_jobs)) for kind in ESTIMATORS}
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        return {kind.__name__: digest(fit_one(kind)) for kind in ESTIMATORS}


if __name__ == "__main__":
    print(json.dumps(all_digests(int(sys.argv[1]))))
