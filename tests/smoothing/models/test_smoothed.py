"""Models of every library, smoothed exactly: the mean of many draws comes to the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 3))
CLASSES = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8)
NUMBER = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
N_DRAWS = 20_000


def of(library: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(library), name)(**options)


MODELS: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "tree": (lambda: DecisionTreeRegressor(max_depth=6), NUMBER),
    "forest": (lambda: RandomForestClassifier(5, random_state=0), CLASSES),
    "extra trees": (lambda: ExtraTreesRegressor(5, random_state=0), NUMBER),
    "bagging": (lambda: BaggingClassifier(n_estimators=5, max_features=2, random_state=0), CLASSES),
    "votes": (lambda: tm.AdaBoostM1Classifier(n_estimators=5, random_state=0), CLASSES),
    "SAMME": (lambda: AdaBoostClassifier(n_estimators=5, random_state=0), CLASSES),
    "smeared": (lambda: tm.OutputSmearingClassifier(n_estimators=2, method="smear", random_state=0), CLASSES),
    "gradient boosting": (lambda: GradientBoostingClassifier(n_estimators=5, random_state=0), CLASSES),
    "XGBoost": (of("xgboost", "XGBClassifier", n_estimators=5, n_jobs=1), CLASSES),
    "LightGBM": (of("lightgbm", "LGBMRegressor", n_estimators=5, verbose=-1, n_jobs=1), NUMBER),
    "CatBoost": (
        of("catboost", "CatBoostRegressor", iterations=5, verbose=0, allow_writing_files=False, thread_count=1),
        NUMBER,
    ),
}


def largest_deviation(estimator: Any) -> float:
    """Distance of the exact margins from the mean of drawn ones, in standard errors."""
    model = read_model(estimator)
    noise = np.array([0.3, 0.2, 0.0])
    farthest = 0.0
    for row in X[:4]:
        draws = row + noise * np.random.default_rng(1).normal(size=(N_DRAWS, 3))
        margins = model.sum.margins(draws)
        # A leaf reached less than once in all draws may be missed by them.
        error = margins.std(axis=0) / np.sqrt(N_DRAWS) + np.ptp(model.margins(X)) / N_DRAWS
        exact = soften(model.sum, row[None], noise).margins[0]
        farthest = max(farthest, float(np.abs((exact - margins.mean(axis=0)) / error).max()))
    return farthest


@pytest.mark.parametrize("name", MODELS)
def test_mean_of_draws(name: str) -> None:
    make, y = MODELS[name]
    assert largest_deviation(make().fit(X, y)) < 4.5


def test_mean_of_draws_of_histogram_gradient_boosting() -> None:
    pytest.importorskip("treelite")
    assert largest_deviation(HistGradientBoostingRegressor(max_iter=5).fit(X, NUMBER)) < 4.5


def test_thresholds_that_tell_missing_values_from_all_others() -> None:
    catboost = pytest.importorskip("catboost")
    holes = np.where(RANDOM.random((150, 1)) < 0.5, np.nan, X[:, :1])
    fitted = catboost.CatBoostRegressor(iterations=3, verbose=0, allow_writing_files=False, thread_count=1)
    model = read_model(fitted.fit(holes, np.isnan(holes[:, 0]).astype(float)))
    assert any((np.abs(tree.threshold) > 3e38).any() for tree in model.sum.trees)
    soft = soften(model.sum, holes, np.array([0.1])).margins
    assert np.isfinite(soft).all()
    assert np.allclose(soft[np.isnan(holes[:, 0])], model.unsmoothed(holes)[np.isnan(holes[:, 0])])
