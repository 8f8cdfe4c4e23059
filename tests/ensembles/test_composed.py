"""Any estimator, any list of perturbations, any table: what is composed is what the named ensembles do."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.ensembles.base.ensemble import Ensemble
from tremula.errors import InvalidParameter, UnsupportedType
from tremula.perturb import (
    AttributeSubset,
    Bootstrap,
    DisjointParts,
    Draw,
    FlippedClasses,
    Perturbation,
    RandomAttributes,
    RandomSplits,
    RandomThresholds,
    Sample,
    SmearedTarget,
)

X, Y = load_iris(return_X_y=True)
X_NUMBERS, Y_NUMBERS = load_diabetes(return_X_y=True)
FIVE: dict[str, Any] = {"n_estimators": 5, "random_state": 11}


def compose(perturb: list[Perturbation], estimator: Any = None, **kwargs: Any) -> tm.PerturbCombineClassifier:
    return tm.PerturbCombineClassifier(estimator, perturb, **FIVE, **kwargs)


# --- the named ensembles are recipes


@pytest.mark.parametrize(
    ("named", "composed"),
    [
        (tm.BaggingClassifier(**FIVE), compose([Bootstrap()])),
        (tm.BaggingClassifier(max_samples=0.5, **FIVE), compose([Bootstrap(0.5)])),
        (tm.DaggingClassifier(**FIVE), compose([DisjointParts()], tm.C45Classifier())),
        (tm.RandomSubspaceClassifier(**FIVE), compose([AttributeSubset(0.5)])),
        (tm.RandomizedC45Classifier(**FIVE), compose([RandomSplits(20)], combine="vote")),
        (tm.OutputSmearingClassifier(**FIVE), compose([FlippedClasses(0.2)])),
        (tm.RandomForestClassifier(**FIVE), compose([Bootstrap(), RandomAttributes()], tm.CARTClassifier())),
        (tm.ExtraTreesClassifier(**FIVE), compose([RandomAttributes(), RandomThresholds()], tm.CARTClassifier())),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_a_named_ensemble_of_classes_is_a_list_of_perturbations(named: Ensemble, composed: Ensemble) -> None:
    assert named.fit(X, Y).members_ == composed.fit(X, Y).members_
    assert named.predict_proba(X).tobytes() == composed.predict_proba(X).tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("named", "estimator", "perturb"),
    [
        (tm.BaggingRegressor(**FIVE), None, [Bootstrap()]),
        (tm.OutputSmearingRegressor(**FIVE), None, [SmearedTarget()]),
        (tm.RandomForestRegressor(**FIVE), tm.CARTRegressor(), [Bootstrap(), RandomAttributes(1.0)]),
        (tm.ExtraTreesRegressor(**FIVE), tm.CARTRegressor(), [RandomAttributes(1.0), RandomThresholds()]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_named_ensemble_of_numbers_is_a_list_of_perturbations(named: Any, estimator: Any, perturb: Any) -> None:
    composed = tm.PerturbCombineRegressor(estimator, perturb, **FIVE).fit(X_NUMBERS, Y_NUMBERS)
    assert named.fit(X_NUMBERS, Y_NUMBERS).members_ == composed.members_


def test_perturbations_add_up() -> None:
    ensemble = compose([Bootstrap(0.5), AttributeSubset(2), FlippedClasses(0.1), RandomSplits(5)], oob_score=True)
    ensemble.fit(X, Y)
    assert ensemble.inbag_counts_.sum(axis=1).tolist() == [75] * 5
    for member in ensemble.members_:
        assert len({a for a in member.attribute if a >= 0}) <= 2  # type: ignore[attr-defined]


def test_a_part_of_the_rows_can_be_bootstrapped() -> None:
    ensemble = compose([DisjointParts(), Bootstrap()], oob_score=True).fit(X, Y)
    assert ensemble.inbag_counts_.sum(axis=1).tolist() == [30] * 5
    assert ((ensemble.inbag_counts_ > 0).sum(axis=0) <= 1).all()


@pytest.mark.parametrize("perturb", [None, [], ()])
def test_nothing_shaken_gives_the_same_member_each_time(perturb: Any) -> None:
    ensemble = tm.PerturbCombineClassifier(perturb=perturb, n_estimators=3).fit(X, Y)
    assert ensemble.members_ == [tm.C45Classifier(confidence=None).fit(X, Y).tree_] * 3


@dataclass(frozen=True)
class EverySecondRow(Perturbation):
    """A perturbation as a user may write it."""

    leaves_rows_out = True

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        return replace(sample, weights=np.arange(sample.n_rows) % 2 == draw.member % 2)


def test_a_perturbation_of_ones_own_is_taken() -> None:
    ensemble = compose([EverySecondRow()], tm.C45Classifier()).fit(X, Y)
    assert ensemble.members_[1] == tm.C45Classifier().fit(X[1::2], Y[1::2]).tree_


# --- what is refused


@pytest.mark.parametrize(
    ("perturb", "message"),
    [
        (Bootstrap(), r"perturb=Bootstrap\(.*\) was given; expected a list, such as \[Bootstrap\(\)"),
        ("bootstrap", "perturb='bootstrap' was given; expected a list"),
        ([Bootstrap], "perturb holds <class .*Bootstrap'>, which is no perturbation"),
        (["rows"], "perturb holds 'rows', which is no perturbation"),
        ([Bootstrap(0)], "max_samples=0 was given"),
        ([AttributeSubset(5)], "max_features=5 was given, but there are 4 attributes"),
        ([SmearedTarget()], "the target has classes: use FlippedClasses"),
    ],
)
def test_what_cannot_be_shaken_is_refused(perturb: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        tm.PerturbCombineClassifier(perturb=perturb).fit(X, Y)


def test_flipping_is_not_for_numbers() -> None:
    with pytest.raises(InvalidParameter, match="the target is numeric: use SmearedTarget"):
        tm.PerturbCombineRegressor(perturb=[FlippedClasses()]).fit(X_NUMBERS, Y_NUMBERS)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("estimator", [tm.CARTClassifier(), DecisionTreeClassifier()], ids=str)
def test_a_choice_of_splits_needs_a_tree_that_has_it(estimator: BaseEstimator, n_jobs: int) -> None:
    with pytest.raises(InvalidParameter, match=r"sets 'n_best_splits', which \w+ does not have: use it with"):
        compose([RandomSplits()], estimator, n_jobs=n_jobs).fit(X, Y)


def test_members_cannot_be_added_where_each_has_its_part_of_the_rows() -> None:
    with pytest.raises(InvalidParameter, match="DisjointParts depends on the number of members"):
        compose([DisjointParts()], warm_start=True).fit(X, Y)


# --- estimators of other libraries


def test_every_random_state_inside_a_member_is_set_from_the_seed() -> None:
    def thresholds(seed: int) -> list[bytes]:
        pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(splitter="random"))
        ensemble = tm.PerturbCombineClassifier(pipeline, [Bootstrap()], n_estimators=4, random_state=seed).fit(X, Y)
        return [estimator[-1].tree_.threshold.tobytes() for estimator in ensemble.estimators_]

    assert thresholds(1) == thresholds(1)
    assert thresholds(1) != thresholds(2)
    assert len(set(thresholds(1))) == 4


def test_options_reach_estimators_of_other_libraries() -> None:
    ensemble = compose([RandomAttributes(1), RandomThresholds()], DecisionTreeClassifier()).fit(X, Y)
    assert {(e.max_features, e.splitter) for e in ensemble.estimators_} == {(1, "random")}
    assert ensemble.score(X, Y) > 0.9


def test_numbers_are_averaged_over_any_regressors() -> None:
    perturb = [AttributeSubset(4)]
    ensemble = tm.PerturbCombineRegressor(LinearRegression(), perturb, n_estimators=20, random_state=0)
    ensemble.fit(X_NUMBERS, Y_NUMBERS)
    assert all(estimator.coef_.shape == (4,) for estimator in ensemble.estimators_)
    assert ensemble.score(X_NUMBERS, Y_NUMBERS) > 0.3


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_sparse_tables_go_to_estimators_that_take_them(kind: Any) -> None:
    table = kind(np.random.default_rng(0).poisson(0.3, size=(120, 30)) * 1.0)
    classes = np.asarray(table.sum(axis=1)).ravel() > 9
    dense = table.toarray()
    for estimator in (MultinomialNB(), LinearSVC(random_state=0)):
        given = compose([Bootstrap(), AttributeSubset(0.7)], estimator, combine="vote", oob_score=True).fit(
            table, classes
        )
        as_array = clone(given).fit(dense, classes)
        np.testing.assert_array_equal(given.predict(table), as_array.predict(dense))
        assert given.oob_score_ == as_array.oob_score_


def test_sparse_tables_are_refused_by_the_trees() -> None:
    with pytest.raises(UnsupportedType, match="Sparse data was passed"):
        compose([Bootstrap()]).fit(sparse.csr_array(X), Y)


# --- frames


RANDOM = np.random.default_rng(0)
COLUMNS: dict[str, Any] = {
    "size": RANDOM.normal(size=150),
    "color": RANDOM.choice(["red", "green", "blue"], 150),
    "is_old": RANDOM.random(150) < 0.5,
    "dtype": RANDOM.normal(size=150),  # the name of an attribute that arrays have
}
LABELS = np.where((COLUMNS["color"] == "red") ^ (COLUMNS["size"] > 0), "yes", "no")
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS).assign(color=lambda frame: frame["color"].astype("category")),
    "pandas strings": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "polars enum": pl.DataFrame(COLUMNS).with_columns(pl.col("color").cast(pl.Enum(["blue", "green", "red"]))),
    "pyarrow": pa.table(COLUMNS),
}
EXPECTED = tm.BaggingClassifier(oob_score=True, **FIVE).fit(FRAMES["pandas"], LABELS)


@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_frame_gives_the_same_members(name: str) -> None:
    ensemble = tm.BaggingClassifier(oob_score=True, **FIVE).fit(FRAMES[name], LABELS)
    assert ensemble.members_ == EXPECTED.members_
    assert ensemble.oob_score_ == EXPECTED.oob_score_
    assert ensemble.encoder_.n_levels.tolist() == [0, 3, 2, 0]  # type: ignore[union-attr]
    np.testing.assert_array_equal(ensemble.predict(FRAMES[name]), EXPECTED.predict(FRAMES["pandas"]))


@pytest.mark.parametrize(
    "ensemble",
    [
        tm.RandomForestClassifier(**FIVE),
        tm.ExtraTreesClassifier(**FIVE),
        tm.RandomSubspaceClassifier(**FIVE),
        tm.RandomizedC45Classifier(**FIVE),
        tm.DaggingClassifier(**FIVE),
        tm.OutputSmearingClassifier(**FIVE),
        tm.AdaBoostM1Classifier(**FIVE),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_every_ensemble_takes_nominal_columns_and_missing_values(ensemble: Any) -> None:
    holes = FRAMES["pandas"].mask(np.random.default_rng(1).random((150, 4)) < 0.05)
    holes["is_old"] = holes["is_old"].astype("boolean")
    assert ensemble.fit(holes, LABELS).encoder_.n_levels.tolist() == [0, 3, 2, 0]
    assert ensemble.score(holes, LABELS) > 0.6
    np.testing.assert_allclose(ensemble.predict_proba(holes).sum(axis=1), 1.0)


def test_a_level_never_seen_is_missing() -> None:
    unseen = FRAMES["pandas strings"].assign(color="mauve")
    missing = FRAMES["pandas strings"].assign(color=None)
    ensemble = tm.BaggingClassifier(**FIVE).fit(FRAMES["pandas strings"], LABELS)
    np.testing.assert_array_equal(ensemble.predict_proba(unseen), ensemble.predict_proba(missing))


@pytest.mark.parametrize("name", ["pandas", "pandas strings", "polars", "polars enum"])
def test_pipelines_of_other_libraries_get_frames_with_their_columns(name: str) -> None:
    columns = make_column_transformer((OneHotEncoder(), ["color", "is_old"]), ("passthrough", ["size", "dtype"]))
    ensemble = compose([Bootstrap()], make_pipeline(columns, DecisionTreeClassifier()), oob_score=True)
    ensemble.fit(FRAMES[name], LABELS)
    assert ensemble.feature_names_in_.tolist() == list(COLUMNS)
    assert ensemble.estimators_[0].feature_names_in_.tolist() == list(COLUMNS)
    assert ensemble.score(FRAMES[name], LABELS) > 0.9
    assert ensemble.oob_score_ > 0.6


def test_columns_chosen_by_type_may_be_fewer_for_a_member() -> None:
    by_type = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=["category", "bool"])),
        remainder=StandardScaler(),
    )
    ensemble = compose([AttributeSubset(3)], make_pipeline(by_type, LogisticRegression())).fit(FRAMES["pandas"], LABELS)
    seen = [estimator.feature_names_in_.tolist() for estimator in ensemble.estimators_]
    assert all(len(names) == 3 for names in seen)
    assert len(set(map(tuple, seen))) > 1
    assert ensemble.predict(FRAMES["pandas"]).shape == (150,)


def test_estimators_with_nominal_columns_of_their_own_get_them() -> None:
    learner = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2)
    ensemble = compose([Bootstrap()], learner).set_params(n_estimators=2).fit(FRAMES["pandas"], LABELS)
    assert ensemble.score(FRAMES["pandas"], LABELS) > 0.8


def test_names_of_columns_are_checked_for_any_estimator() -> None:
    frame = FRAMES["pandas"][["size", "dtype"]]
    for estimator in (None, DecisionTreeClassifier()):
        ensemble = compose([Bootstrap()], estimator).fit(frame, LABELS)
        with pytest.raises(ValueError, match="feature names should match"):
            ensemble.predict(frame[["dtype", "size"]])


# --- as scikit-learn's users expect


@pytest.mark.parametrize(
    "ensemble",
    [
        compose([Bootstrap(), RandomSplits(3)], oob_score=True),
        compose([Bootstrap(), AttributeSubset(2)], DecisionTreeClassifier()),
        tm.AdaBoostM1Classifier(**FIVE),
    ],
    ids=str,
)
def test_a_pickled_ensemble_gives_the_same_answers(ensemble: Any) -> None:
    ensemble.fit(X, Y)
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.predict_proba(X).tobytes() == ensemble.predict_proba(X).tobytes()


def test_a_pickled_ensemble_can_be_given_more_members() -> None:
    ensemble = compose([Bootstrap()], oob_score=True, warm_start=True).fit(X, Y)
    again = pickle.loads(pickle.dumps(ensemble)).set_params(n_estimators=12).fit(X, Y)
    assert again.members_ == ensemble.set_params(n_estimators=12).fit(X, Y).members_


def test_a_search_reaches_parameters_of_members_and_perturbations() -> None:
    grid = {"estimator__max_depth": [1, 3], "perturb": [[Bootstrap()], [AttributeSubset(1)]]}
    search = GridSearchCV(compose([], tm.CARTClassifier()), grid, cv=3).fit(X, Y)
    assert search.best_params_["estimator__max_depth"] == 3
    assert search.best_score_ > 0.9


def test_an_ensemble_can_be_a_member() -> None:
    inner = tm.RandomForestClassifier(n_estimators=3)
    ensemble = tm.BaggingClassifier(inner, n_estimators=3, random_state=0).fit(X, Y)
    assert [len(forest) for forest in ensemble.estimators_] == [3, 3, 3]
    assert cross_val_score(ensemble, X, Y, cv=3).mean() > 0.9


def test_regressors_of_other_libraries_are_judged_by_rows_left_out() -> None:
    ensemble = tm.BaggingRegressor(DecisionTreeRegressor(), n_estimators=30, oob_score=True, random_state=0)
    assert 0.2 < ensemble.fit(X_NUMBERS, Y_NUMBERS).oob_score_ < 0.6
