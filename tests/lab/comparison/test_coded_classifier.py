"""Classifiers that know the classes 0, 1, ... only are trained on codes, and give the classes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.preprocessing import LabelEncoder

from tremula.lab.comparison.peers import CodedClassifier
from tremula.lab.studies.default.learners import CLASS_LEARNERS

X, CODES = load_iris(return_X_y=True)
LABELS = {"strings": np.array(["setosa", "virginica", "versicolor"]), "numbers with a gap": np.array([-1, 7, 3])}


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame], ids=["array", "frame"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_the_wrapped_model_is_that_of_the_codes(labels: np.ndarray, table: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    y = labels[CODES]
    encoder = LabelEncoder().fit(y)
    plain = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, random_state=0).fit(table(X), encoder.transform(y))
    coded = CodedClassifier(xgboost.XGBClassifier(n_estimators=3, n_jobs=1, random_state=0)).fit(table(X), y)
    assert_array_equal(coded.classes_, encoder.classes_, strict=True)
    assert_array_equal(coded.predict_proba(table(X)), plain.predict_proba(table(X)))
    assert_array_equal(coded.predict(table(X)), encoder.inverse_transform(plain.predict(table(X))))


def test_the_default_study_and_the_comparison_use_the_same_wrapper() -> None:
    pytest.importorskip("xgboost")
    assert isinstance(CLASS_LEARNERS["XGBoost"].make([], 0), CodedClassifier)
