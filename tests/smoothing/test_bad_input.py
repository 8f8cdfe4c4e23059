"""Input that cannot be used, one by one: each error says what was given and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostRegressor, IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import ColumnMismatch, InvalidInput, InvalidParameter, NotStorable, UnsupportedModel

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"noise": -0.1}, "noise holds -0.1"),
        ({"noise": np.nan}, "noise holds nan"),
        ({"noise": np.inf}, "noise holds inf"),
        ({"noise": [0.1, -1, 0, 0]}, "noise holds -1.0"),
        ({"noise": [0.1, 0.2]}, r"shape \(2,\), but there are 4 attributes"),
        ({"noise": "lots"}, "noise='lots' was given; expected a number, one for each attribute, or 'auto'"),
        ({"noise": [["a"]]}, "expected 'auto', a number or one number per attribute"),
        ({"scale": [1.0]}, r"scale has shape \(1,\)"),
        ({"scale": [1, 1, -1, 1]}, "scale holds -1.0"),
        ({"method": "exakt"}, "did you mean 'exact'"),
        ({"combine": "votes"}, "did you mean 'vote'"),
        ({"flip": 1.5}, "flip=1.5"),
        ({"tuning": "bootstrap"}, "tuning='bootstrap'"),
        ({"scoring": "squared_error"}, "scoring='squared_error'"),
        ({"max_noise": 0.0}, "max_noise=0.0"),
        ({"n_draws": 0}, "n_draws=0"),
        ({"cv": 1}, "cv=1"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"prefit": "maybe"}, "prefit='maybe'"),
        ({"tune_on": "leaf"}, "tune_on='leaf'"),
        ({"per_attribute": 2}, "per_attribute=2"),
        ({"estimator": DecisionTreeRegressor()}, "learns numbers"),
        ({"estimator": LinearSVC()}, "use combine='vote'"),
    ],
)
def test_a_parameter_that_cannot_be_used(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        tm.DualPerturbClassifier(**{"noise": 0.1} | parameters).fit(X, y)


def test_a_regressor_wants_a_regressor() -> None:
    with pytest.raises(InvalidParameter, match="learns classes"):
        tm.DualPerturbRegressor(DecisionTreeClassifier()).fit(X, y)


@pytest.mark.parametrize("wrapper", [tm.DualPerturbClassifier, tm.DualPerturbRegressor])
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (IsolationForest(random_state=0), "is an outlier detector"),
        (make_pipeline(StandardScaler(), IsolationForest(random_state=0)), "is an outlier detector"),
        (KMeans(2, n_init=1), "is a clusterer"),
    ],
)
def test_a_model_of_neither_classes_nor_numbers(wrapper: Any, model: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        wrapper(model.fit(X), noise=0.1).fit(X)


@pytest.mark.parametrize("method", ["exact", "path"])
def test_a_method_that_the_model_does_not_allow_is_refused_in_fit(method: str) -> None:
    median = AdaBoostRegressor(n_estimators=3, random_state=0)
    with pytest.raises(UnsupportedModel, match="weighted median"):
        tm.DualPerturbRegressor(median, noise=0.1, method=method).fit(X, y)


def test_exact_needs_a_model_of_trees() -> None:
    with pytest.raises(
        UnsupportedModel,
        match=r"GaussianNB is neither a model of trees.*'sample', which take any model.*the trees of GaussianNB",
    ):
        tm.DualPerturbClassifier(GaussianNB(), noise=0.1, method="exact").fit(X, y)


def test_path_needs_a_model_of_trees() -> None:
    with pytest.raises(UnsupportedModel):
        tm.DualPerturbClassifier(LogisticRegression(max_iter=500), noise=0.1, method="path").fit(X, y)


def test_an_exact_vote_of_several_trees_has_no_closed_form() -> None:
    bagged = tm.BaggingClassifier(n_estimators=3, random_state=0)
    with pytest.raises(InvalidParameter, match="has no closed form"):
        tm.DualPerturbClassifier(bagged, noise=0.1, method="exact", combine="vote").fit(X, y)


def test_a_foreign_model_needs_its_training_rows_or_a_scale() -> None:
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(InvalidInput, match=r"give fit the training rows X, or set scale="):
        tm.DualPerturbClassifier(tree, noise=0.1).fit()


def test_an_untrained_model_needs_training_rows() -> None:
    with pytest.raises(InvalidInput, match="is not trained yet"):
        tm.DualPerturbClassifier(DecisionTreeClassifier(), noise=0.1).fit()


def test_training_rows_of_another_width() -> None:
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ColumnMismatch, match="X has 3 attributes, but DecisionTreeClassifier was trained on 4"):
        tm.DualPerturbClassifier(tree, noise=0.1).fit(X[:, :3])


def test_training_rows_of_other_names() -> None:
    tree = DecisionTreeClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ColumnMismatch, match="'x' where DecisionTreeClassifier was trained on other names"):
        tm.DualPerturbClassifier(tree, noise=0.1).fit(pd.DataFrame(X, columns=list("axcd")))


def test_rows_of_another_width() -> None:
    soft = tm.DualPerturbClassifier(noise=0.1).fit(X, y)
    with pytest.raises(ColumnMismatch, match="X has 3 features, but DualPerturbClassifier is expecting 4"):
        soft.predict(X[:, :3])


def test_missing_values_where_the_model_takes_none() -> None:
    soft = tm.DualPerturbClassifier(LogisticRegression(max_iter=500), noise=0.1, method="sample").fit(X, y)
    rows = X.copy()
    rows[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="X contains NaN, which LogisticRegression does not take"):
        soft.predict(rows)


@pytest.mark.parametrize("method", ["auto", "sample"])
def test_infinite_values(method: str) -> None:
    soft = tm.DualPerturbClassifier(noise=0.1, method=method).fit(X, y)
    rows = X.copy()
    rows[0, 0] = np.inf
    with pytest.raises(InvalidInput, match="inf"):
        soft.predict(rows)


@pytest.mark.parametrize(
    ("X_std", "said"),
    [
        ([0.1, 0.1], "X_std has shape"),
        ([-0.1, 0, 0, 0], "X_std holds -0.1"),
        ([np.nan, 0, 0, 0], "X_std holds nan"),
        (np.ones((2, 4)), "X_std has shape"),
    ],
)
def test_measurement_errors_that_cannot_be(X_std: Any, said: str) -> None:
    soft = tm.DualPerturbClassifier(noise=0.1).fit(X, y)
    with pytest.raises(ValueError, match=said):
        soft.predict(X, X_std=X_std)


def test_validation_rows_without_their_classes() -> None:
    with pytest.raises(InvalidInput, match="X_val was given without y_val"):
        tm.DualPerturbClassifier().fit(X, y, X_val=X)


def test_validation_rows_that_nobody_uses() -> None:
    with pytest.raises(InvalidParameter, match="is not chosen on them"):
        tm.DualPerturbClassifier(noise=0.1).fit(X, y, X_val=X, y_val=y)


def test_weights_for_a_model_that_takes_none() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(InvalidParameter, match="does not take sample_weight"):
        tm.DualPerturbClassifier(KNeighborsClassifier(), noise=0.1).fit(X, y, sample_weight=np.ones(len(X)))


def test_flips_need_the_shares_of_levels() -> None:
    frame = pd.DataFrame({"color": ["red", "blue"] * 20})
    tree = tm.C45Classifier().fit(frame, [0, 1] * 20)
    with pytest.raises(InvalidInput, match="flip needs the training shares"):
        tm.DualPerturbClassifier(tree, noise=0.0, flip=0.1, scale=[0.0]).fit()


def test_nothing_is_answered_before_fit() -> None:
    with pytest.raises(NotFittedError):
        tm.DualPerturbClassifier(noise=0.1).predict(X)


def test_a_foreign_model_is_not_saved(tmp_path: Any) -> None:
    soft = tm.DualPerturbClassifier(DecisionTreeClassifier(), noise=0.1).fit(X, y)
    with pytest.raises(NotStorable):
        tm.save(soft, tmp_path / "soft")
