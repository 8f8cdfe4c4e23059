"""Trees read from CatBoost's models answer as the models do."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import probe_rows

catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
TWO = np.where(X[:, 0] + X[:, 1] > 0.5, "yes", "no")
THREE = (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
NUMBER = np.abs(X[:, 0]) + X[:, 3] ** 2 + 0.1
WITH_HOLES = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
SMALL: dict[str, Any] = {
    "iterations": 4,
    "depth": 3,
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
    "random_seed": 0,
}
SHAPES = ["SymmetricTree", "Depthwise", "Lossguide"]


def difference(estimator: Any, rows: np.ndarray) -> float:
    model = read_model(estimator)
    return max(np.abs(model.answers(table) - model.unsmoothed(table)).max() for table in (rows, probe_rows(model.sum)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_classes(shape: str, y: np.ndarray, nan_mode: str) -> None:
    fitted = catboost.CatBoostClassifier(**SMALL, grow_policy=shape, nan_mode=nan_mode).fit(WITH_HOLES, y)
    model = read_model(fitted)
    assert np.allclose(model.answers(WITH_HOLES), model.unsmoothed(WITH_HOLES), atol=1e-9)
    assert model.classes.tolist() == np.unique(y).tolist()


@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Poisson", "Quantile:alpha=0.3"])
def test_numbers(loss: str) -> None:
    assert difference(catboost.CatBoostRegressor(**SMALL, loss_function=loss).fit(X, NUMBER), X) < 1e-9


def test_nominal_attributes_are_not_read() -> None:
    table = np.column_stack([X[:, 0].astype(object), np.where(X[:, 1] > 0, "a", "b").astype(object)])
    with pytest.raises(UnsupportedModel, match="categorical_features"):
        read_model(catboost.CatBoostClassifier(**SMALL, cat_features=[1]).fit(table, TWO))


def test_another_loss() -> None:
    fitted = catboost.CatBoostClassifier(**SMALL, loss_function="MultiClassOneVsAll").fit(X, THREE)
    with pytest.raises(UnsupportedModel, match="MultiClassOneVsAll"):
        read_model(fitted)


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        read_model(catboost.CatBoostClassifier())


def test_margins_instead_of_probabilities_are_refused() -> None:
    given = catboost.CatBoost({"loss_function": "Logloss", **SMALL}).fit(X, TWO)
    with pytest.raises(UnsupportedModel, match="gives no probabilities: use CatBoostClassifier"):
        read_model(given)


def test_shares_that_do_not_sum_to_1_are_refused_in_fit() -> None:
    given = catboost.CatBoostClassifier(loss_function="MultiClassOneVsAll", **SMALL).fit(X, THREE)
    with pytest.raises(UnsupportedModel, match="do not sum to 1"):
        tm.DualPerturbClassifier(given, noise=0.1, method="sample").fit(X)
