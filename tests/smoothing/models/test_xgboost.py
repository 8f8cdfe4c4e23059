"""Trees read from XGBoost's models answer as the models do, to single precision."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import probe_rows

xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
X[:, 3] = RANDOM.integers(0, 5, 200)
TWO = (X[:, 0] + np.isin(X[:, 3], [1, 3]) > 0.5).astype(int)
THREE = (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
NUMBER = np.abs(X[:, 0]) + X[:, 3] + 0.1
WITH_HOLES = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
SMALL: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
SINGLE = 2e-6


def difference(estimator: Any, rows: np.ndarray) -> float:
    model = read_model(estimator)
    scale = np.abs(model.unsmoothed(rows)).max()
    return max(
        np.abs(model.answers(table) - model.unsmoothed(table)).max() / scale for table in (rows, probe_rows(model.sum))
    )


@pytest.mark.parametrize("rows", [X, WITH_HOLES], ids=["whole", "with holes"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "options",
    [{}, {"booster": "dart", "rate_drop": 0.5}, {"base_score": 0.3, "tree_method": "exact"}],
    ids=["gbtree", "dart", "exact"],
)
def test_classes(rows: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> None:
    assert difference(xgboost.XGBClassifier(**SMALL, **options).fit(rows, y), rows) < SINGLE


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_forests(y: np.ndarray) -> None:
    assert difference(xgboost.XGBRFClassifier(**SMALL).fit(X, y), X) < SINGLE


def test_softmax_objective() -> None:
    assert difference(xgboost.XGBClassifier(**SMALL, objective="multi:softmax").fit(X, THREE), X) < SINGLE


@pytest.mark.parametrize(
    "objective",
    ["reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "count:poisson", "reg:gamma", "reg:tweedie"],
)
def test_numbers(objective: str) -> None:
    fitted = xgboost.XGBRegressor(**SMALL, objective=objective).fit(WITH_HOLES, NUMBER)
    assert difference(fitted, WITH_HOLES) < SINGLE


def test_a_value_on_a_threshold_goes_right() -> None:
    fitted = xgboost.XGBRegressor(n_estimators=1, max_depth=1, n_jobs=1, min_child_weight=0).fit([[0.0], [1.0]], [0, 1])
    model = read_model(fitted)
    threshold = model.sum.trees[0].threshold[0]
    on = np.array([[threshold], [np.nextafter(np.float32(threshold), np.float32(-9))]])
    assert np.allclose(model.answers(on), model.unsmoothed(on))
    assert model.answers(on)[0] > model.answers(on)[1]


@pytest.mark.parametrize("options", [{"max_cat_to_onehot": 1}, {"max_cat_to_onehot": 99}], ids=["groups", "one by one"])
def test_categories_of_a_frame(options: dict[str, Any]) -> None:
    colors = pd.Categorical(np.array(list("abcde"))[X[:, 3].astype(int)])
    frame = pd.DataFrame({"size": WITH_HOLES[:, 0], "color": colors})
    frame.loc[:9, "color"] = None
    fitted = xgboost.XGBClassifier(**SMALL, enable_categorical=True, **options).fit(frame, TWO)
    model = read_model(fitted)
    assert model.feature_names == ("size", "color")
    assert model.levels[1].tolist() == list("abcde")
    assert any(len(tree.subsets) for tree in model.sum.trees)
    assert np.allclose(model.answers(frame), model.unsmoothed(frame), atol=SINGLE)


def test_nominal_codes_of_an_array() -> None:
    types = ["float", "float", "float", "c"]
    fitted = xgboost.XGBClassifier(**SMALL, enable_categorical=True, feature_types=types).fit(X, TWO)
    model = read_model(fitted)
    assert model.n_levels[:3].tolist() == [0, 0, 0]
    assert model.n_levels[3] > 0
    others = np.vstack([X, WITH_HOLES, X[:20] + np.array([0, 0, 0, 5])])
    assert np.allclose(model.answers(others), model.unsmoothed(others), atol=SINGLE)


def test_a_booster() -> None:
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, TWO), 3)
    assert difference(booster, X) < SINGLE
    assert read_model(booster).classes.tolist() == [0, 1]


def test_early_stopping() -> None:
    stopped = xgboost.XGBRegressor(n_estimators=50, learning_rate=0.9, early_stopping_rounds=2, n_jobs=1)
    stopped.fit(X[:100], NUMBER[:100], eval_set=[(X[100:], NUMBER[100:])], verbose=False)
    assert stopped.best_iteration + 1 < stopped.get_booster().num_boosted_rounds()
    assert len(read_model(stopped).sum.trees) == stopped.best_iteration + 1
    assert difference(stopped, X) < SINGLE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"booster": "gblinear"}, "gblinear"),
        ({"missing": 0.0}, "missing"),
        ({"objective": "reg:squaredlogerror"}, "reg:squaredlogerror"),
    ],
    ids=str,
)
def test_options_that_are_no_sum_of_trees(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedModel, match=said):
        read_model(xgboost.XGBRegressor(n_estimators=2, n_jobs=1, **options).fit(X, TWO))


def test_several_targets() -> None:
    with pytest.raises(UnsupportedModel, match="2 targets"):
        read_model(xgboost.XGBRegressor(**SMALL).fit(X, np.column_stack([NUMBER, NUMBER])))


def test_a_value_for_each_class_in_a_leaf() -> None:
    fitted = xgboost.XGBClassifier(**SMALL, multi_strategy="multi_output_tree").fit(X, THREE)
    with pytest.raises(UnsupportedModel, match="multi_strategy"):
        read_model(fitted)


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        read_model(xgboost.XGBClassifier())


def booster(objective: str, target: np.ndarray, **options: Any) -> Any:
    return xgboost.train({"objective": objective, "max_depth": 3, **options}, xgboost.DMatrix(X, label=target), 3)


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softmax", "multi:softprob"])
def test_a_booster_of_classes_is_no_regressor(objective: str) -> None:
    options = {} if objective.startswith("binary") else {"num_class": 3}
    given = booster(objective, TWO, **options)
    with pytest.raises(InvalidParameter, match="predicts classes: use DualPerturbClassifier"):
        tm.DualPerturbRegressor(given, noise=0.1).fit(X)


def test_a_booster_of_numbers_is_no_classifier() -> None:
    with pytest.raises(InvalidParameter, match="predicts numbers: use DualPerturbRegressor"):
        tm.DualPerturbClassifier(booster("reg:squarederror", NUMBER), noise=0.1).fit(X)


def test_a_booster_that_is_not_read_is_refused_with_the_reason() -> None:
    with pytest.raises(UnsupportedModel, match="objective 'binary:logitraw', whose link is not known"):
        tm.DualPerturbRegressor(booster("binary:logitraw", TWO), noise=0.1).fit(X)


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:logistic"])
def test_probabilities_as_numbers(objective: str) -> None:
    fitted = xgboost.XGBRegressor(**SMALL, objective=objective).fit(X, TWO)
    assert difference(fitted, X) < SINGLE
    soft = tm.DualPerturbRegressor(fitted, noise=1e-7).fit(X)
    assert soft.method_ == "exact"
    np.testing.assert_allclose(soft.predict(X), fitted.predict(X), atol=1e-6)
    given = booster("reg:logistic", TWO)
    bare = tm.DualPerturbRegressor(given, noise=1e-7).fit(X)
    np.testing.assert_allclose(bare.predict(X), given.predict(xgboost.DMatrix(X)), atol=1e-6)


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_numbers_as_categories_stay_whole_beside_missing_ones(method: str) -> None:
    codes = pd.Categorical((10 * X[:, 3]).astype(int), categories=[40, 30, 20, 10, 0, 50])
    frame = pd.DataFrame({"size": X[:, 0], "kind": codes})
    frame = frame.mask(RANDOM.random(frame.shape) < 0.1)
    fitted = xgboost.XGBClassifier(**SMALL, enable_categorical=True).fit(frame, TWO)
    soft = tm.DualPerturbClassifier(fitted, noise=1e-7, method=method, n_draws=2).fit(frame)
    expected = fitted.predict_proba(frame)
    np.testing.assert_allclose(soft.predict_proba(frame), expected, atol=1e-6 if method == "exact" else 0.5)
