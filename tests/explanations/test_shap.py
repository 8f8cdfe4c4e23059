"""Values equal those of the package shap, as they were stored, on scikit-learn's trees and on tremula's."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import load_diabetes, load_iris

import tremula as tm
from tremula.explanations.explain import explain

GOLDEN = json.loads(gzip.decompress((Path(__file__).parents[1] / "golden" / "shap.json.gz").read_bytes()))
NAMES = {"regression": "RandomForestRegressor", "classification": "RandomForestClassifier"}
DATA = {"regression": load_diabetes, "classification": load_iris}


@pytest.mark.outside
@pytest.mark.parametrize("stored", GOLDEN["values"], ids=lambda stored: f"{stored['library']}, {stored['task']}")
def test_values_are_those_of_shap(stored: dict[str, Any]) -> None:
    X, y = DATA[stored["task"]](return_X_y=True)
    X = np.round(256 * X)
    library: Any = tm if stored["library"] == "tremula" else sklearn.ensemble
    model = getattr(library, NAMES[stored["task"]])(**GOLDEN["parameters"]).fit(X, y)
    answers = model.predict(X[::30]) if stored["task"] == "regression" else model.predict_proba(X[::30])
    if library is sklearn.ensemble and not np.allclose(answers, stored["answers"]):
        pytest.skip(f"scikit-learn grows other trees than {GOLDEN['versions']['scikit-learn']}")
    np.testing.assert_allclose(answers, stored["answers"], err_msg="other trees: run tests/golden/make_shap.py again")
    by_shares = explain(model, X[::30])
    expected = np.reshape(stored["by_shares"], by_shares.values.shape)
    np.testing.assert_allclose(by_shares.values, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.ravel(by_shares.base_values[0]), stored["base"], rtol=1e-12)
    by_background = explain(model, X[::30], background=X[5:60:5]).values
    expected = np.reshape(stored["by_background"], by_background.shape)  # shap computes them in single precision
    np.testing.assert_allclose(by_background, expected, rtol=0, atol=3e-7 * np.abs(answers).max())
