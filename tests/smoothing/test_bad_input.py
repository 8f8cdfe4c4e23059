"""Input that cannot be used, one by one: each error says what was given and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostRegressor, IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
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
        ({"noise": "auto", "tuning": "cv", "cv": object()}, "cv is of type object"),
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


# --- models of several targets, and other models that cannot be used ---


@pytest.mark.parametrize("method", ["auto", "sample"])
@pytest.mark.parametrize("model", [KNeighborsRegressor(), RandomForestRegressor(n_estimators=2), LinearRegression()])
def test_several_numbers_are_refused_in_fit(model: Any, method: str) -> None:
    with pytest.raises(UnsupportedModel, match="target"):
        tm.DualPerturbRegressor(model.fit(X, np.column_stack([y, y])), noise=0.1, method=method).fit(X)


@pytest.mark.parametrize("method", ["auto", "sample"])
@pytest.mark.parametrize("model", [KNeighborsClassifier(), RandomForestClassifier(n_estimators=2)])
def test_several_classes_for_a_row_are_refused_in_fit(model: Any, method: str) -> None:
    with pytest.raises(UnsupportedModel, match="target"):
        tm.DualPerturbClassifier(model.fit(X, np.column_stack([y, y])), noise=0.1, method=method).fit(X)


class WithoutClasses:
    """A model that does not name its classes."""

    def predict_proba(self, rows: Any) -> np.ndarray:
        return np.full((len(rows), 2), 0.5)

    def predict(self, rows: Any) -> np.ndarray:
        return np.zeros(len(rows))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (WithoutClasses(), "WithoutClasses has no classes_"),
        (object(), "which does not predict"),
        ("tree", "estimator is 'tree', which does not predict"),
        (DecisionTreeClassifier, "estimator is the class DecisionTreeClassifier"),
    ],
)
def test_what_is_no_classifier_is_refused(model: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        tm.DualPerturbClassifier(model, noise=0.1, method="sample").fit(X, y)


# --- validation rows and classes ---


def test_validation_rows_and_classes_of_other_numbers() -> None:
    with pytest.raises(InvalidInput, match="X_val has 150 rows and y_val 10 values"):
        tm.DualPerturbClassifier().fit(X, y, X_val=X, y_val=y[:10])


def test_classes_that_the_model_does_not_know() -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(InvalidInput, match="no row has a class that DecisionTreeClassifier knows"):
        tm.DualPerturbClassifier(tree).fit(X, X_val=X, y_val=y + 10)
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(InvalidInput, match="a row has a class that the model does not know"):
        tm.DualPerturbClassifier(forest).fit(X, y.astype(str))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_are_refused(make: Any) -> None:
    soft = tm.DualPerturbClassifier(DecisionTreeClassifier(), noise=0.1).fit(X, y)
    with pytest.raises(InvalidInput, match="dense data is required"):
        soft.predict(make(X))
    with pytest.raises(InvalidInput, match="dense data is required"):
        tm.DualPerturbClassifier(soft.estimator_, noise=0.1).fit(make(X))


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), KNeighborsClassifier(), tm.C45Classifier()])
def test_columns_in_another_order_are_refused(model: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    soft = tm.DualPerturbClassifier(model.fit(frame, y), noise=0.1, method="sample", n_draws=2).fit(frame)
    for turned in (frame[list("dcba")], pl.from_pandas(frame[list("dcba")])):
        with pytest.raises(ColumnMismatch, match="in the same order"):
            soft.predict(turned)
        with pytest.raises(ColumnMismatch, match="in their order"):
            tm.DualPerturbClassifier(model, noise=0.1, method="sample").fit(turned)


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_no_rows_are_refused(method: str) -> None:
    soft = tm.DualPerturbClassifier(DecisionTreeClassifier(), noise=0.1, method=method, n_draws=2).fit(X, y)
    for answer in (soft.predict, soft.predict_proba, soft.smooth):
        with pytest.raises(InvalidInput, match="0 sample"):
            answer(X[:0])
