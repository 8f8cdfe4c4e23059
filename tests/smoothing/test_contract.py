"""scikit-learn's own checks, for the two wrappers around several kinds of model."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import tremula as tm

WEIGHTS_AS_ROWS = "check_sample_weight_equivalence_on_dense_data"
TIED_SPLITS = "weights instead of rows may choose another of two equally good splits; only hard answers stay the same"

WRAPPERS = [
    tm.DualPerturbClassifier(random_state=0),
    tm.DualPerturbClassifier(noise=0.3),
    tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.2, method="path"),
    tm.DualPerturbClassifier(LogisticRegression(), noise=0.3, n_draws=5, random_state=0),
    tm.DualPerturbClassifier(noise=0.3, method="sample", combine="vote", n_draws=5, random_state=0),
    tm.DualPerturbRegressor(random_state=0),
    tm.DualPerturbRegressor(noise=0.3),
    tm.DualPerturbRegressor(LinearRegression(), noise=0.1),
]


def expected_to_fail(estimator: BaseEstimator) -> dict[str, str]:
    is_soft_tree = isinstance(estimator, tm.DualPerturbRegressor) and estimator.estimator is None
    return {WEIGHTS_AS_ROWS: TIED_SPLITS} if is_soft_tree and estimator.noise != "auto" else {}


@pytest.mark.filterwarnings("ignore::tremula.errors.SamplingWarning")
@parametrize_with_checks(WRAPPERS, expected_failed_checks=expected_to_fail)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)
