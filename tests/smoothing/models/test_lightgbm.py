"""Trees read from LightGBM's models answer as the models do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import probe_rows

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
X[:, 3] = RANDOM.integers(0, 5, 200)
TWO = np.where(X[:, 0] + np.isin(X[:, 3], [1, 3]) > 0.5, "yes", "no")
THREE = (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
NUMBER = np.abs(X[:, 0]) + X[:, 3] + 0.1
WITH_HOLES = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
SMALL: dict[str, Any] = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}


def difference(estimator: Any, rows: np.ndarray) -> float:
    model = read_model(estimator)
    return max(np.abs(model.answers(table) - model.unsmoothed(table)).max() for table in (rows, probe_rows(model.sum)))


@pytest.mark.parametrize("rows", [X, WITH_HOLES], ids=["whole", "with holes"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "options",
    [{}, {"boosting_type": "dart"}, {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}],
    ids=["gbdt", "dart", "rf"],
)
def test_classes(rows: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> None:
    assert difference(lightgbm.LGBMClassifier(**SMALL, **options).fit(rows, y), rows) < 1e-9


def test_labels_and_the_slope_of_the_logistic() -> None:
    model = read_model(lightgbm.LGBMClassifier(**SMALL, sigmoid=0.5).fit(X, TWO))
    assert model.classes.tolist() == ["no", "yes"]
    assert np.allclose(model.answers(X), model.unsmoothed(X), atol=1e-9)


@pytest.mark.parametrize("objective", ["regression", "regression_l1", "huber", "quantile", "poisson", "gamma"])
def test_numbers(objective: str) -> None:
    assert difference(lightgbm.LGBMRegressor(**SMALL, objective=objective).fit(WITH_HOLES, NUMBER), WITH_HOLES) < 1e-9


@pytest.mark.parametrize("objective", ["binary", "cross_entropy"])
def test_probabilities_as_numbers(objective: str) -> None:
    fitted = lightgbm.LGBMRegressor(**SMALL, objective=objective).fit(X, TWO == "yes")
    assert difference(fitted, X) < 1e-9
    soft = tm.DualPerturbRegressor(fitted, noise=1e-7).fit(X)
    assert soft.method_ == "exact"
    np.testing.assert_allclose(soft.predict(X), fitted.predict(X), atol=1e-6)


def test_missing_where_none_was_seen_counts_as_zero() -> None:
    model = read_model(lightgbm.LGBMRegressor(**SMALL).fit(X, NUMBER))
    assert np.allclose(model.answers(WITH_HOLES), model.unsmoothed(WITH_HOLES), atol=1e-9)


@pytest.mark.parametrize("rows", [X, WITH_HOLES], ids=["whole", "with holes"])
def test_nominal_codes(rows: np.ndarray) -> None:
    fitted = lightgbm.LGBMClassifier(**SMALL, min_data_per_group=5, cat_smooth=1)
    fitted.fit(rows, TWO, categorical_feature=[3])
    model = read_model(fitted)
    assert model.n_levels.tolist() == [0, 0, 0, 5]
    assert any(len(tree.subsets) for tree in model.sum.trees)
    strange = np.vstack([rows, rows[:5] + np.array([0, 0, 0, 90])])
    assert np.allclose(model.answers(strange), model.unsmoothed(strange), atol=1e-9)


def test_categories_of_a_frame() -> None:
    frame = pd.DataFrame({"size": X[:, 0], "color": pd.Categorical(np.array(list("abcde"))[X[:, 3].astype(int)])})
    model = read_model(lightgbm.LGBMRegressor(**SMALL, min_data_per_group=5, cat_smooth=1).fit(frame, NUMBER))
    assert model.feature_names == ("size", "color")
    assert model.levels[1].tolist() == list("abcde")
    assert np.allclose(model.answers(frame), model.unsmoothed(frame), atol=1e-9)


def test_an_unused_nominal_attribute_makes_the_levels_of_others_uncertain() -> None:
    frame = pd.DataFrame(
        {"same": pd.Categorical(["x"] * 200), "color": pd.Categorical(X[:, 3].astype(int).astype(str))}
    )
    fitted = lightgbm.LGBMRegressor(**SMALL, min_data_per_group=5, cat_smooth=1).fit(frame, NUMBER)
    with pytest.raises(UnsupportedModel, match="not known which they are"):
        read_model(fitted)


def test_a_booster_and_early_stopping() -> None:
    data = lightgbm.Dataset(X[:100], NUMBER[:100])
    stop = lightgbm.early_stopping(1, verbose=False)
    options = {"verbose": -1, "min_data_in_leaf": 5, "learning_rate": 0.9, "num_threads": 1}
    booster = lightgbm.train(options, data, 50, valid_sets=[lightgbm.Dataset(X[100:], NUMBER[100:])], callbacks=[stop])
    assert difference(booster, X) < 1e-9
    booster.best_iteration = 2
    assert len(read_model(booster).sum.trees) == 2 < booster.num_trees()
    assert difference(booster, X) < 1e-9


def test_constant_trees() -> None:
    assert difference(lightgbm.LGBMRegressor(**SMALL).fit(X[:4], NUMBER[:4]), X) < 1e-9


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"linear_tree": True}, "linear_tree"),
        ({"zero_as_missing": True}, "zero_as_missing"),
        ({"objective": "cross_entropy_lambda"}, "cross_entropy_lambda"),
        ({"reg_sqrt": True}, "reg_sqrt"),
    ],
    ids=str,
)
def test_options_that_are_no_sum_of_trees(options: dict[str, Any], said: str) -> None:
    target = (X[:, 0] > 0).astype(float)
    with pytest.raises(UnsupportedModel, match=said):
        read_model(lightgbm.LGBMRegressor(**SMALL, **options).fit(X, target))


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        read_model(lightgbm.LGBMClassifier())
