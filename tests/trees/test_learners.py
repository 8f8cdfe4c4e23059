"""What is true of every tree learner: scikit-learn's own checks, labels, frames, missing and unseen values, copies."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tremula import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    ID3Classifier,
    REPTreeClassifier,
    REPTreeRegressor,
)
from tremula.errors import InvalidParameter
from tremula.trees.criteria import CLASSIFICATION, REGRESSION

CLASSIFIERS = [
    C45Classifier(),
    C45Classifier(confidence=None),
    C45Classifier(n_best_splits=20, random_state=0),
    C45Classifier(release=1),
    C45Classifier(release="J48", subtree_raising=False),
    C45Classifier(max_features="sqrt", random_state=0),
    *(CARTClassifier(criterion) for criterion in CLASSIFICATION),
    CARTClassifier(ccp_alpha=0.01),
    CARTClassifier(ccp_alpha="cv", random_state=0),
    REPTreeClassifier(random_state=0),
    REPTreeClassifier(prune=False),
    ID3Classifier(categorical_features="all"),
]
REGRESSORS = [
    *(CARTRegressor(criterion) for criterion in REGRESSION),
    CARTRegressor(ccp_alpha="cv", random_state=0),
    CARTRegressor(max_leaf_nodes=5),
    REPTreeRegressor(random_state=0),
    REPTreeRegressor(prune=False),
]
LEARNERS = [*CLASSIFIERS, *REGRESSORS]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
each_classifier = pytest.mark.parametrize("learner", CLASSIFIERS, ids=repr)
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
each_library = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


def expected_failed_checks(learner: Any) -> dict[str, str]:
    """The checks of scikit-learn that a learner cannot pass, and why."""
    if getattr(learner, "prune", False):
        reason = (
            "rows to prune on are drawn among rows: of a row given twice one may be drawn, of weight 2 both or none"
        )
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if getattr(learner, "criterion", None) == "poisson":
        return {"check_regressor_multioutput": "its targets are below 0"}
    return {}


@parametrize_with_checks(LEARNERS, expected_failed_checks=expected_failed_checks)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# ---- a table every learner can learn from: nominal attributes, a class or a number that depends on them

RANDOM = np.random.default_rng(0)
COLOURS, SIZES = RANDOM.choice(["red", "green", "blue"], size=90), RANDOM.choice(["small", "large"], size=90)
NOMINAL = {"colour": COLOURS.tolist(), "size": SIZES.tolist()}
IS_SOLD = (COLOURS == "red") | ((COLOURS == "blue") & (SIZES == "small"))


def target_of(learner: Any) -> Any:
    return np.where(IS_SOLD, "sold", "kept") if is_classifier(learner) else np.where(IS_SOLD, 2.5, 1.0)


def fitted(learner: Any) -> Any:
    return clone(learner).fit(pd.DataFrame(NOMINAL), target_of(learner))


# ---- frames


@each_library
@each_learner
def test_nominal_columns_of_a_frame_are_learned(learner: Any, frame: Any) -> None:
    X, y = frame(NOMINAL), target_of(learner)
    learner = clone(learner).fit(X, y)
    assert learner.feature_names_in_.tolist() == ["colour", "size"]
    assert learner.n_features_in_ == 2
    assert (learner.tree_.n_levels == [3, 2]).all()
    assert learner.get_depth() >= 1
    assert np.array_equal(learner.predict(X), fitted(learner).predict(pd.DataFrame(NOMINAL)))
    if getattr(learner, "n_best_splits", 1) == 1 and getattr(learner, "max_features", None) is None:
        assert learner.score(X, y) == pytest.approx(1.0)


@each_learner
def test_a_level_not_seen_before_is_a_missing_value(learner: Any) -> None:
    learner = fitted(learner)
    predict = learner.predict_proba if is_classifier(learner) else learner.predict
    unseen = predict(pd.DataFrame({"colour": ["purple"] * 2, "size": ["small", None]}))
    missing = predict(pd.DataFrame({"colour": pd.Series([None] * 2, dtype=object), "size": ["small", "huge"]}))
    assert np.array_equal(unseen, missing)
    assert np.isfinite(unseen).all()


@each_learner
def test_a_row_without_values_gets_the_mixture_of_the_leaves(learner: Any) -> None:
    learner = fitted(learner)
    nothing = pd.DataFrame({"colour": pd.Series([None], dtype=object), "size": pd.Series([None], dtype=object)})
    expected = learner.tree_.node_values()[0]
    found = learner.predict_proba(nothing)[0] if is_classifier(learner) else learner.predict(nothing)
    assert found == pytest.approx(expected)


# ---- labels


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-1, 1], [1.0, 2.0], [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")]],
    ids=["strings", "booleans", "integers", "floats", "dates"],
)
@each_classifier
def test_labels_of_any_type_come_back(learner: Any, labels: list[Any]) -> None:
    labels = np.array(labels)
    y = labels[IS_SOLD.astype(int)]
    learner = clone(learner).fit(pd.DataFrame(NOMINAL), y)
    assert np.array_equal(learner.classes_, labels)
    predicted = learner.predict(pd.DataFrame(NOMINAL))
    assert predicted.dtype == labels.dtype
    assert set(predicted.tolist()) <= set(labels.tolist())
    assert learner.predict_proba(pd.DataFrame(NOMINAL)).sum(axis=1) == pytest.approx(1.0)


@each_classifier
def test_labels_of_a_categorical_column(learner: Any) -> None:
    y = pd.Series(np.where(IS_SOLD, "sold", "kept"), dtype="category")
    predicted = clone(learner).fit(pd.DataFrame(NOMINAL), y).predict(pd.DataFrame(NOMINAL))
    assert set(predicted) <= {"sold", "kept"}


# ---- what a fitted tree can do


@each_learner
def test_a_fitted_tree_can_be_looked_at(learner: Any) -> None:
    learner, X = fitted(learner), pd.DataFrame(NOMINAL)
    leaves = learner.apply(X)
    assert learner.get_n_leaves() == learner.tree_.n_leaves
    assert learner.get_depth() == learner.tree_.depth
    assert learner.tree_.is_leaf[leaves].all()
    assert (learner.decision_path(X)[np.arange(len(leaves)), leaves] == 1).all()
    if getattr(learner, "criterion", "") != "absolute_error":
        assert learner.feature_importances_.sum() == pytest.approx(1.0)
        assert (learner.feature_importances_ >= 0).all()
    assert "colour" in learner.export_text()
    assert "colour" in learner.export_dot()
    assert "CASE" in learner.export_sql()
    assert learner.plot() is not None
    assert type(learner).__name__ in repr(learner)
    assert type(learner).__name__ in learner._repr_html_()


@each_learner
def test_nothing_can_be_asked_before_fit(learner: Any) -> None:
    for ask in (learner.get_depth, learner.export_text, lambda: learner.predict(pd.DataFrame(NOMINAL))):
        with pytest.raises(NotFittedError, match=r"not fitted|fit"):
            ask()


@each_learner
def test_a_copy_is_as_good(learner: Any) -> None:
    X = pd.DataFrame(NOMINAL)
    learner = fitted(learner)
    copied = pickle.loads(pickle.dumps(learner))
    assert copied.tree_ == learner.tree_
    assert np.array_equal(copied.predict(X), learner.predict(X))
    assert clone(learner).get_params() == learner.get_params()


@each_learner
def test_the_same_seed_gives_the_same_tree(learner: Any) -> None:
    assert fitted(learner).tree_ == fitted(learner).tree_


@each_learner
def test_it_can_be_cross_validated(learner: Any) -> None:
    scores = cross_val_score(learner, pd.DataFrame(NOMINAL), target_of(learner), cv=3)
    assert (scores > 0.5).all()


# ---- weights


@each_learner
def test_rows_of_weight_zero_are_as_if_they_were_not_there(learner: Any) -> None:
    if getattr(learner, "prune", False) or getattr(learner, "ccp_alpha", None) == "cv":
        pytest.skip("the rows drawn are others")
    weights = np.arange(90) % 3
    X, y = pd.DataFrame(NOMINAL), target_of(learner)
    weighted = clone(learner).fit(X, y, sample_weight=weights)
    kept = clone(learner).fit(X[weights > 0], y[weights > 0], sample_weight=weights[weights > 0])
    assert weighted.tree_ == kept.tree_


# ---- parameters

WRONG = [
    (C45Classifier(confidence=0), "confidence=0 .* above 0 and at most 0.5"),
    (C45Classifier(confidence=0.51), "confidence=0.51 .* at most 0.5"),
    (C45Classifier(confidence="no"), "confidence='no'"),
    (C45Classifier(release=5), "release=5 is not known: choose one of 8, 1, 'J48'"),
    (C45Classifier(release="j48"), "did you mean 'J48'"),
    (C45Classifier(n_best_splits=0), "n_best_splits=0"),
    (C45Classifier(n_best_splits=2.0), "n_best_splits=2.0 .* whole number"),
    (C45Classifier(min_weight_leaf=-1), "min_weight_leaf=-1"),
    (C45Classifier(subtree_raising=1), "subtree_raising=1 .* True or False"),
    (C45Classifier(max_depth=0), "max_depth=0"),
    (C45Classifier(max_features="third"), "max_features='third'"),
    (CARTClassifier("ginni"), "did you mean 'gini'"),
    (CARTClassifier("variance"), "variance"),
    (CARTRegressor("gini"), "gini"),
    (CARTClassifier(ccp_alpha=-0.1), "ccp_alpha=-0.1"),
    (CARTClassifier(ccp_alpha="best"), "ccp_alpha='best'"),
    (CARTClassifier(ccp_alpha="cv", cv=1), "cv=1"),
    (CARTClassifier(min_samples_leaf=-1), "min_samples_leaf=-1"),
    (CARTRegressor(min_samples_split="2"), "min_samples_split='2'"),
    (REPTreeClassifier(prune="yes"), "prune='yes'"),
    (REPTreeClassifier(n_folds=1), "n_folds=1"),
    (REPTreeRegressor(backfit=None), "backfit=None"),
    (REPTreeRegressor(min_variance_share=2), "min_variance_share=2"),
    (ID3Classifier(min_weight_split=-2), "min_weight_split=-2"),
]


@pytest.mark.parametrize(("learner", "message"), WRONG, ids=[repr(learner) for learner, _ in WRONG])
def test_a_wrong_parameter_is_named(learner: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        fitted(learner)


# ---- in company


def test_parameters_can_be_searched() -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(C45Classifier(), {"confidence": [None, 0.1, 0.25], "release": [8, 1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("learner", [CARTRegressor(min_samples_leaf=10), REPTreeRegressor(random_state=0)], ids=repr)
def test_trees_of_a_numeric_target_are_better_than_its_mean(learner: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(learner, X, y, cv=5).mean() > 0.15


@pytest.mark.parametrize("learner", [C45Classifier(), CARTClassifier(), REPTreeClassifier(random_state=0)], ids=repr)
def test_the_unit_of_a_numeric_attribute_does_not_matter(learner: Any) -> None:
    X, y = load_iris(return_X_y=True)
    shifted = clone(learner).fit(X * 4 + 8, y)
    assert np.array_equal(shifted.predict(X * 4 + 8), clone(learner).fit(X, y).predict(X))


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e149])
@pytest.mark.parametrize("learner", [CARTRegressor(max_depth=4), REPTreeRegressor(prune=False)], ids=repr)
def test_the_unit_of_a_numeric_target_does_not_matter(learner: Any, scale: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    scaled, plain = clone(learner).fit(X, y * scale), clone(learner).fit(X, y)
    assert np.array_equal(scaled.tree_.attribute, plain.tree_.attribute)
    assert scaled.predict(X) / scale == pytest.approx(plain.predict(X))
