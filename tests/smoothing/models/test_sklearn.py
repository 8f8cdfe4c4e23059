"""Trees read from scikit-learn's models answer as the models do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from tremula import C45Classifier
from tremula.errors import ColumnMismatch, InvalidInput, UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import probe_rows

X, TWO = make_classification(200, 6, n_informative=4, random_state=0)
THREE = make_classification(200, 6, n_informative=4, n_classes=3, random_state=1)[1]
NUMBER = make_regression(200, 6, random_state=0)[1]
WITH_HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
LABELS = np.array(["a", "b", "c"])

CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=9, criterion="entropy", random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    BaggingClassifier(n_estimators=5, random_state=0),
    BaggingClassifier(n_estimators=5, max_samples=5, max_features=0.5, bootstrap_features=True, random_state=0),
    BaggingClassifier(RandomForestClassifier(2), n_estimators=3, random_state=0),
    BaggingClassifier(C45Classifier(), n_estimators=3, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=5, learning_rate=0.5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, init="zero", subsample=0.5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, init=DummyClassifier(strategy="prior"), random_state=0),
    GradientBoostingClassifier(n_estimators=30, n_iter_no_change=2, learning_rate=0.7, random_state=0),
]
REGRESSORS = [
    DecisionTreeRegressor(random_state=0),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=3, random_state=0),
    ExtraTreeRegressor(random_state=0),
    RandomForestRegressor(5, random_state=0),
    ExtraTreesRegressor(5, bootstrap=True, random_state=0),
    BaggingRegressor(n_estimators=5, max_features=0.5, random_state=0),
    BaggingRegressor(GradientBoostingRegressor(n_estimators=3), n_estimators=3, random_state=0),
    GradientBoostingRegressor(n_estimators=5, random_state=0),
    GradientBoostingRegressor(n_estimators=5, loss="huber", random_state=0),
    GradientBoostingRegressor(n_estimators=5, loss="quantile", init="zero", random_state=0),
]


def difference(estimator: Any, rows: Any) -> float:
    """Largest difference between what a model answers and what its trees do, on rows and on its thresholds."""
    model = read_model(estimator)
    scale = np.abs(model.unsmoothed(rows)).max()
    return max(
        np.abs(model.answers(table) - model.unsmoothed(table)).max() / scale for table in (rows, probe_rows(model.sum))
    )


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("y", [TWO, LABELS[THREE]], ids=["two", "three"])
def test_classes(estimator: Any, y: np.ndarray) -> None:
    fitted = estimator.fit(X, y)
    assert difference(fitted, X + 0.1) < 1e-9
    assert read_model(fitted).classes.tolist() == np.unique(y).tolist()


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_numbers(estimator: Any) -> None:
    fitted = estimator.fit(X, NUMBER)
    assert difference(fitted, X + 0.1) < 1e-9
    assert read_model(fitted).classes is None


def test_exponential_loss() -> None:
    assert difference(GradientBoostingClassifier(n_estimators=5, loss="exponential").fit(X, TWO), X) < 1e-9


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(5), ExtraTreesClassifier(5)], ids=str
)
def test_missing_values_go_where_the_model_sends_them(estimator: Any) -> None:
    assert difference(estimator.set_params(random_state=0).fit(WITH_HOLES, TWO), WITH_HOLES) < 1e-9


def test_values_are_rounded_to_single_precision() -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    just_above = np.array([[0.5 + 1e-12]])
    assert tree.predict(just_above)[0] == 0
    assert read_model(tree).answers(just_above)[0].tolist() == [1.0, 0.0]


def test_a_single_leaf() -> None:
    assert difference(DecisionTreeRegressor(max_depth=1).fit(X, np.ones(len(X))), X) == 0


def test_votes_of_boosting() -> None:
    model = read_model(AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(X, THREE))
    assert all(len(np.unique(tree.values)) == 2 for tree in model.sum.trees)


def test_members_of_bagging() -> None:
    model = read_model(BaggingClassifier(RandomForestClassifier(2), n_estimators=3).fit(X, TWO))
    assert model.sum.tree_members.tolist() == [0, 0, 1, 1, 2, 2]
    assert model.n_members == 3


@pytest.mark.parametrize("kind", [BaggingClassifier, RandomForestClassifier])
def test_rows_left_out_give_the_models_own_score(kind: Any) -> None:
    fitted = kind(n_estimators=60, oob_score=True, random_state=0).fit(X, TWO)
    model = read_model(fitted)
    is_out = model.inbag_counts(X, TWO) == 0
    shares = np.zeros((len(X), 2))
    for tree, member in zip(model.sum.trees, model.sum.tree_members):
        shares[is_out[member]] += tree.predict_values(model.rows(X)[is_out[member]])
    assert np.mean(shares.argmax(axis=1) == TWO) == fitted.oob_score_


def test_rows_left_out_are_not_known_without_a_draw() -> None:
    assert not read_model(ExtraTreesClassifier(3).fit(X, TWO)).knows_inbag
    assert read_model(GradientBoostingClassifier(n_estimators=3).fit(X, TWO)).inbag_counts(X, TWO) is None


def test_fewer_rows_than_those_of_the_training() -> None:
    model = read_model(RandomForestClassifier(3).fit(X, TWO))
    with pytest.raises(InvalidInput, match="trained on more"):
        model.inbag_counts(X[:50], TWO[:50])


def test_frames_by_name() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = read_model(RandomForestClassifier(3).fit(frame, TWO))
    assert model.feature_names == tuple("abcdef")
    assert np.allclose(model.answers(frame), model.unsmoothed(frame))
    with pytest.raises(ColumnMismatch, match="columns of fit in their order"):
        model.rows(frame.rename(columns={"f": "g"}))


def test_another_number_of_attributes() -> None:
    model = read_model(DecisionTreeClassifier().fit(X, TWO))
    with pytest.raises(ColumnMismatch, match="X has 5 columns, but 6 were expected"):
        model.rows(X[:, :5])


UNREAD = [
    (LogisticRegression(), TWO),
    (make_pipeline(PCA(), DecisionTreeClassifier()), TWO),
    (IsolationForest(n_estimators=5), None),
    (AdaBoostRegressor(n_estimators=3), NUMBER),
    (AdaBoostClassifier(RandomForestClassifier(3), n_estimators=2), TWO),
    (BaggingClassifier(GradientBoostingClassifier(n_estimators=2), n_estimators=2), TWO),
    (BaggingClassifier(C45Classifier(categorical_features=[0]), n_estimators=2), TWO),
    (GradientBoostingRegressor(n_estimators=2, init=DecisionTreeRegressor(max_depth=1)), NUMBER),
]


@pytest.mark.parametrize(("estimator", "y"), UNREAD, ids=lambda given: type(given).__name__)
def test_what_is_not_read_is_sent_to_sampling(estimator: Any, y: Any) -> None:
    with pytest.raises(UnsupportedModel, match='method="sample"'):
        read_model(estimator.fit(X, y))


def test_a_class_instead_of_a_model() -> None:
    with pytest.raises(UnsupportedModel, match="an instance, not the class"):
        read_model(DecisionTreeClassifier)


def test_several_targets() -> None:
    with pytest.raises(UnsupportedModel, match="2 targets"):
        read_model(DecisionTreeRegressor().fit(X, np.column_stack([NUMBER, NUMBER])))


@pytest.mark.parametrize("estimator", [CLASSIFIERS[0], CLASSIFIERS[3], CLASSIFIERS[5], CLASSIFIERS[11]], ids=str)
def test_not_fitted(estimator: Any) -> None:
    with pytest.raises(NotFittedError):
        read_model(type(estimator)())


class Contrary(DecisionTreeClassifier):
    """A tree that answers otherwise than it was grown."""

    def predict_proba(self, X: Any, check_input: bool = True) -> np.ndarray:
        return 1.0 - super().predict_proba(X, check_input)


def test_a_model_that_is_not_its_trees_is_found_out() -> None:
    with pytest.raises(UnsupportedModel, match="do not give its own predictions"):
        read_model(Contrary(max_depth=2).fit(X, TWO))
