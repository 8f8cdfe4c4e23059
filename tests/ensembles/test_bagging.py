"""Bagging, dagging and random subspaces against loops written out; seeds, jobs, rows left out, warm starts."""

from __future__ import annotations

from inspect import signature
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.aspen.base import Aspen
from tremula.combine import largest
from tremula.ensembles.base.ensemble import Ensemble
from tremula.errors import InvalidInput, InvalidParameter
from tremula.seeds import make_root_seed, member_generator

X, Y = load_iris(return_X_y=True)
X_NUMBERS, Y_NUMBERS = load_diabetes(return_X_y=True)
UNPRUNED = tm.C45Classifier(confidence=None)

RANDOM = np.random.default_rng(0)
MIXED = pd.DataFrame(
    {
        "size": np.where(RANDOM.random(200) < 0.1, np.nan, RANDOM.normal(size=200).round(1)),
        "color": pd.Categorical(RANDOM.choice(["red", "green", "blue"], 200)),
        "is_old": RANDOM.random(200) < 0.5,
        "weight": RANDOM.normal(size=200),
    }
)
MIXED_CLASSES = np.where((MIXED["color"] == "red") | (MIXED["weight"] > 0.8), "yes", "no")


def drawn_rows(seed: int, member: int, n_rows: int, n_drawn: int | None = None) -> np.ndarray:
    """The bootstrap sample of a member, as the library draws it."""
    return member_generator(make_root_seed(seed), member).integers(n_rows, size=n_drawn or n_rows)


def same_members(one: Ensemble, other: Ensemble) -> bool:
    return one.members_ == other.members_


# --- against loops


@pytest.mark.parametrize("seed", range(5))
def test_a_member_is_the_tree_of_the_rows_drawn(seed: int) -> None:
    ensemble = tm.BaggingClassifier(n_estimators=6, random_state=seed).fit(X, Y)
    for number, member in enumerate(ensemble.members_):
        rows = drawn_rows(seed, number, len(X))
        assert member == clone(UNPRUNED).fit(X[rows], Y[rows]).tree_


@pytest.mark.parametrize("max_samples", [0.4, 60, 2.0])
def test_a_member_is_the_tree_of_as_many_rows_as_asked_for(max_samples: float) -> None:
    ensemble = tm.BaggingClassifier(n_estimators=4, max_samples=max_samples, random_state=1).fit(X, Y)
    n_drawn = max_samples if isinstance(max_samples, int) else round(150 * max_samples)
    for number, member in enumerate(ensemble.members_):
        rows = drawn_rows(1, number, len(X), n_drawn)
        assert member == clone(UNPRUNED).fit(X[rows], Y[rows]).tree_


@pytest.mark.parametrize("learner", [UNPRUNED, tm.C45Classifier(), tm.CARTClassifier()], ids=str)
def test_members_of_nominal_and_missing_values_are_the_trees_of_the_rows_drawn(learner: BaseEstimator) -> None:
    ensemble = tm.BaggingClassifier(learner, n_estimators=5, random_state=3).fit(MIXED, MIXED_CLASSES)
    for number, member in enumerate(ensemble.members_):
        rows = np.sort(drawn_rows(3, number, len(MIXED)))
        tree = clone(learner).fit(MIXED.iloc[rows], MIXED_CLASSES[rows]).tree_
        assert member.nodes[["attribute", "n_branches", "first_child"]].tolist() == (  # type: ignore[attr-defined]
            tree.nodes[["attribute", "n_branches", "first_child"]].tolist()
        )
        np.testing.assert_allclose(member.values, tree.values)  # type: ignore[attr-defined]


def test_a_regression_member_is_the_tree_of_the_rows_drawn() -> None:
    ensemble = tm.BaggingRegressor(tm.CARTRegressor(max_depth=4), n_estimators=5, random_state=2).fit(
        X_NUMBERS, Y_NUMBERS
    )
    for number, member in enumerate(ensemble.members_):
        rows = drawn_rows(2, number, len(X_NUMBERS))
        tree = tm.CARTRegressor(max_depth=4).fit(X_NUMBERS[rows], Y_NUMBERS[rows])
        np.testing.assert_allclose(member.predict_values(X_NUMBERS)[:, 0], tree.predict(X_NUMBERS))


def test_an_estimator_of_another_library_gets_the_rows_drawn() -> None:
    ensemble = tm.BaggingClassifier(GaussianNB(), n_estimators=5, random_state=2).fit(X, Y)
    for number, estimator in enumerate(ensemble.estimators_):
        rows = np.sort(drawn_rows(2, number, len(X)))
        np.testing.assert_array_equal(estimator.theta_, GaussianNB().fit(X[rows], Y[rows]).theta_)


def test_without_replacement_a_member_has_each_row_at_most_once() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, max_samples=0.6, bootstrap=False, oob_score=True).fit(X, Y)
    assert set(ensemble.inbag_counts_.ravel()) == {0, 1}
    assert ensemble.inbag_counts_.sum(axis=1).tolist() == [90] * 5


def test_members_of_a_whole_sample_are_all_the_same_tree() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=3, bootstrap=False).fit(X, Y)
    assert ensemble.members_ == [clone(UNPRUNED).fit(X, Y).tree_] * 3


@pytest.mark.parametrize("combine", ["vote", "average"])
def test_the_answers_are_votes_or_averages_of_the_members(combine: str) -> None:
    ensemble = tm.BaggingClassifier(n_estimators=7, max_samples=15, combine=combine, random_state=0).fit(X, Y)
    total = np.zeros((150, 3))
    for member in ensemble.members_:
        total += np.eye(3)[member.predict_codes(X)] if combine == "vote" else member.predict_values(X)
    np.testing.assert_allclose(ensemble.predict_proba(X), total / 7)
    np.testing.assert_array_equal(ensemble.predict(X), largest(total))
    *_, last = ensemble.staged_predict(X)
    np.testing.assert_array_equal(last, ensemble.predict(X))


def test_a_regression_answer_is_the_mean_of_the_members() -> None:
    ensemble = tm.BaggingRegressor(n_estimators=7, random_state=0).fit(X_NUMBERS, Y_NUMBERS)
    members = [member.predict_values(X_NUMBERS)[:, 0] for member in ensemble.members_]
    np.testing.assert_allclose(ensemble.predict(X_NUMBERS), np.mean(members, axis=0))
    np.testing.assert_array_equal(ensemble.predict_members(X_NUMBERS), members)


def test_tied_votes_go_to_the_first_class() -> None:
    class Answer(GaussianNB):
        """Gives the class that most of its rows have, which two samples may not agree on."""

        def predict(self, X: Any) -> np.ndarray:
            return np.full(len(X), self.classes_[self.class_count_.argmax()])

    codes = np.repeat([0, 1, 2], 20)
    table = np.arange(60.0)[:, None]
    n_ties = 0
    for seed in range(30):
        ensemble = tm.BaggingClassifier(Answer(), n_estimators=2, combine="vote", random_state=seed).fit(table, codes)
        given = ensemble.predict_members(table[:1])[:, 0]
        n_ties += given[0] != given[1]
        assert ensemble.predict(table[:1]).tolist() == [given.min()]
    assert n_ties > 5


@pytest.mark.parametrize("n_estimators", [1, 3, 10])
def test_dagging_trains_each_member_on_a_part_of_its_own(n_estimators: int) -> None:
    ensemble = tm.DaggingClassifier(n_estimators=n_estimators, oob_score=n_estimators > 1, random_state=0).fit(X, Y)
    if n_estimators == 1:
        assert ensemble.members_ == [tm.C45Classifier().fit(X, Y).tree_]
        return
    parts = ensemble.inbag_counts_
    assert parts.sum(axis=0).tolist() == [1] * 150
    for part, member in zip(parts, ensemble.members_):
        rows = np.flatnonzero(part)
        assert np.ptp(np.bincount(Y[rows])) <= 1
        assert member == tm.C45Classifier().fit(X[rows], Y[rows]).tree_


@pytest.mark.parametrize(("max_features", "n_seen"), [(0.5, 2), (3, 3), (0.01, 1), (1.0, 4)])
def test_a_subspace_member_is_the_tree_of_its_columns(max_features: float, n_seen: int) -> None:
    ensemble = tm.RandomSubspaceClassifier(n_estimators=5, max_features=max_features, random_state=1).fit(X, Y)
    for number, member in enumerate(ensemble.members_):
        random = member_generator(make_root_seed(1), number)
        seen = np.sort(random.choice(4, size=n_seen, replace=False))
        tree = clone(UNPRUNED).fit(X[:, seen], Y).tree_
        np.testing.assert_array_equal(member.predict_values(X), tree.predict_values(X[:, seen]))
        assert {a for a in member.attribute if a >= 0} <= set(seen)  # type: ignore[attr-defined]


def test_a_subspace_of_another_library_is_asked_with_its_columns() -> None:
    ensemble = tm.RandomSubspaceClassifier(GaussianNB(), n_estimators=5, max_features=2, random_state=1).fit(X, Y)
    assert [estimator.n_features_in_ for estimator in ensemble.estimators_] == [2] * 5
    assert ensemble.score(X, Y) > 0.8


# --- the same members for any jobs and backends


ENSEMBLES = {
    "bagging": tm.BaggingClassifier(n_estimators=9, oob_score=True, random_state=5),
    "forest": tm.RandomForestClassifier(n_estimators=9, oob_score=True, random_state=5),
    "pruned by cross-validation": tm.BaggingClassifier(tm.CARTClassifier(ccp_alpha="cv"), 9, random_state=5),
    "dagging": tm.DaggingClassifier(n_estimators=9, random_state=5),
    "auto": tm.BaggingClassifier(n_estimators="auto", max_estimators=200, random_state=5),
    "other library": tm.BaggingClassifier(DecisionTreeClassifier(max_features=1), 9, oob_score=True, random_state=5),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize(
    ("backend", "n_jobs"),
    [("threading", 2), ("threading", -1), ("loky", 2), pytest.param("multiprocessing", 2, marks=pytest.mark.slow)],
)
def test_members_do_not_depend_on_jobs_or_backend(name: str, backend: str, n_jobs: int) -> None:
    alone = clone(ENSEMBLES[name]).fit(X, Y)
    with joblib.parallel_config(backend=backend):
        together = clone(ENSEMBLES[name]).set_params(n_jobs=n_jobs).fit(X, Y)
    if name == "other library":
        assert [e.tree_.threshold.tobytes() for e in alone.estimators_] == [
            e.tree_.threshold.tobytes() for e in together.estimators_
        ]
    else:
        assert same_members(alone, together)
    assert alone.predict_proba(X).tobytes() == together.predict_proba(X).tobytes()
    if alone.oob_score:
        assert alone.oob_decision_function_.tobytes() == together.oob_decision_function_.tobytes()


def test_members_of_a_table_that_workers_map_from_disk_are_the_same() -> None:
    random = np.random.default_rng(0)
    table = random.normal(size=(20_000, 8))  # joblib maps arrays of more than a megabyte, read-only
    classes = (table[:, 0] > table[:, 1]).astype(int)
    ensemble = tm.RandomForestClassifier(n_estimators=2, max_depth=3, random_state=0)
    alone = clone(ensemble).fit(table, classes)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        together = clone(ensemble).fit(table, classes)
    assert same_members(alone, together)


@pytest.mark.parametrize("order", ["C", "F"])
def test_predictions_do_not_depend_on_jobs(order: str) -> None:
    table = np.asarray(np.random.default_rng(0).normal(size=(3001, 4)), order=order)  # type: ignore[call-overload]
    ensemble = tm.BaggingClassifier(n_estimators=20, random_state=0).fit(X, Y)
    alone = ensemble.predict_proba(table)
    assert ensemble.set_params(n_jobs=2).predict_proba(table).tobytes() == alone.tobytes()


# --- rows left out


@pytest.mark.parametrize("combine", ["vote", "average"])
def test_rows_left_out_are_judged_by_the_members_that_left_them_out(combine: str) -> None:
    ensemble = tm.BaggingClassifier(n_estimators=12, combine=combine, oob_score=True, random_state=4).fit(X, Y)
    total, n_answers = np.zeros((150, 3)), np.zeros(150)
    for number, member in enumerate(ensemble.members_):
        counts = np.bincount(drawn_rows(4, number, 150), minlength=150)
        np.testing.assert_array_equal(ensemble.inbag_counts_[number], counts)
        for row in np.flatnonzero(counts == 0):
            answer = member.predict_values(X[[row]])[0]
            total[row] += np.eye(3)[answer.argmax()] if combine == "vote" else answer
            n_answers[row] += 1
    judged = n_answers > 0
    np.testing.assert_allclose(ensemble.oob_decision_function_[judged], total[judged] / n_answers[judged, None])
    assert np.isnan(ensemble.oob_decision_function_[~judged]).all()
    assert ensemble.oob_score_ == pytest.approx(np.mean(largest(total[judged]) == Y[judged]))


def test_regression_rows_left_out_give_the_share_of_variance_explained() -> None:
    ensemble = tm.BaggingRegressor(n_estimators=30, oob_score=True, random_state=4).fit(X_NUMBERS, Y_NUMBERS)
    left_out = ensemble.inbag_counts_ == 0
    answers = ensemble.predict_members(X_NUMBERS)
    predicted = np.sum(answers * left_out, axis=0) / left_out.sum(axis=0)
    np.testing.assert_allclose(ensemble.oob_prediction_, predicted)
    explained = 1 - np.mean((predicted - Y_NUMBERS) ** 2) / Y_NUMBERS.var()
    assert ensemble.oob_score_ == pytest.approx(explained)


def test_rows_of_weight_zero_are_neither_drawn_nor_judged() -> None:
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    ensemble = tm.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, Y, weights)
    assert (ensemble.inbag_counts_[:, ::3] == -1).all()
    assert np.isnan(ensemble.oob_decision_function_[::3]).all()
    assert (ensemble.inbag_counts_[:, weights > 0].sum(axis=1) == 100).all()


def test_two_rows_of_positive_weight_are_enough() -> None:
    weights = np.zeros(150)
    weights[[0, 149]] = 1.0
    for estimator in (None, DecisionTreeClassifier()):
        ensemble = tm.BaggingClassifier(estimator, n_estimators=30, random_state=0).fit(X, Y, weights)
        np.testing.assert_array_equal(ensemble.predict_proba(X)[:, 1], 0.0)


@pytest.mark.parametrize(
    "ensemble",
    [
        tm.BaggingClassifier(bootstrap=False, oob_score=True, n_estimators=3),
        tm.BaggingRegressor(bootstrap=False, oob_score=True, n_estimators=3),
        tm.BaggingClassifier(bootstrap=False, n_estimators="auto", max_estimators=20),
        tm.DaggingClassifier(n_estimators=1, oob_score=True),
    ],
    ids=str,
)
def test_where_nothing_is_left_out_nothing_can_judge(ensemble: Ensemble) -> None:
    with pytest.raises(InvalidParameter, match="no row is out of bag for any member"):
        ensemble.fit(X, Y)
    assert not hasattr(ensemble, "members_")


def test_members_that_see_all_rows_have_none_to_be_judged_by() -> None:
    with pytest.raises(InvalidParameter, match="every member is trained on all rows"):
        tm.RandomSubspaceClassifier(oob_score=True).fit(X, Y)


def test_a_score_of_rows_left_out_goes_with_its_members() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=10, oob_score=True, random_state=0).fit(X, Y)
    ensemble.set_params(oob_score=False).fit(X, Y)
    assert not [name for name in vars(ensemble) if "oob_" in name.replace("oob_score", "", 1) or name == "oob_score_"]


def test_members_are_trained_until_the_rows_left_out_are_judged_alike() -> None:
    ensemble = tm.BaggingClassifier(n_estimators="auto", max_estimators=400, random_state=0).fit(X, Y)
    n_members = ensemble.oob_trace_[:, 0]
    assert n_members.tolist() == list(range(20, len(ensemble) + 1, 20))
    assert 120 <= len(ensemble) < 400
    assert ensemble.oob_trace_[-1, 1] == pytest.approx(1 - ensemble.oob_score_)
    alone = tm.BaggingClassifier(n_estimators=len(ensemble), random_state=0).fit(X, Y)
    assert same_members(ensemble, alone)


def test_no_more_members_are_trained_than_allowed() -> None:
    assert len(tm.BaggingClassifier(n_estimators="auto", max_estimators=50, random_state=0).fit(X, Y)) == 50


# --- adding members


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    "ensemble",
    [
        tm.BaggingClassifier(oob_score=True, random_state=3),
        tm.BaggingRegressor(oob_score=True, random_state=3),
        tm.RandomForestClassifier(oob_score=True, random_state=3),
        tm.RandomSubspaceClassifier(random_state=3),
        tm.RandomizedC45Classifier(random_state=3),
        tm.OutputSmearingClassifier(random_state=3),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_adding_members_is_as_training_them_at_once(ensemble: Ensemble, n_jobs: int | None) -> None:
    at_once = clone(ensemble).set_params(n_estimators=17).fit(X, Y)
    added = clone(ensemble).set_params(n_estimators=5, warm_start=True, n_jobs=n_jobs).fit(X, Y)
    first_five = added.members_
    added.set_params(n_estimators=6).fit(X, Y)
    added.set_params(n_estimators=17).fit(X, Y)
    assert same_members(at_once, added)
    assert all(one is other for one, other in zip(first_five, added.members_))
    if ensemble.oob_score:
        assert at_once._oob_total.tobytes() == added._oob_total.tobytes()
        assert at_once.oob_score_ == added.oob_score_
        np.testing.assert_array_equal(at_once.inbag_counts_, added.inbag_counts_)


def test_the_members_there_are_are_enough() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, warm_start=True, oob_score=True, n_jobs=2).fit(X, Y)
    before = ensemble.members_, ensemble.oob_score_
    ensemble.fit(X, Y)
    assert (ensemble.members_, ensemble.oob_score_) == before


def test_without_a_warm_start_all_members_are_new() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, random_state=np.random.default_rng(0)).fit(X, Y)
    before = ensemble.members_
    assert len(ensemble.fit(X, Y)) == 5
    assert ensemble.members_ != before


def test_members_are_only_added() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, warm_start=True).fit(X, Y)
    with pytest.raises(InvalidParameter, match="n_estimators=4 is less than the 5 members there are"):
        ensemble.set_params(n_estimators=4).fit(X, Y)
    assert len(ensemble) == 5


def test_the_score_of_rows_left_out_cannot_be_asked_for_later() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, warm_start=True, oob_score=True).fit(X, Y)
    ensemble.set_params(n_estimators=8, oob_score=False).fit(X, Y)
    with pytest.raises(InvalidParameter, match="oob_score=True was set after members had been trained without it"):
        ensemble.set_params(n_estimators=10, oob_score=True).fit(X, Y)


def test_members_are_added_to_the_same_problem_only() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=5, warm_start=True, oob_score=True).fit(X, Y)
    ensemble.set_params(n_estimators=8)
    with pytest.raises(
        InvalidInput, match="y has classes 0, 1, but the members that warm_start=True keeps know 0, 1, 2"
    ):
        ensemble.fit(X[:100], Y[:100])
    with pytest.raises(InvalidInput, match="X has other columns or levels"):
        ensemble.fit(X[:, :3], Y)
    with pytest.raises(InvalidInput, match="140 rows were given, but 150 to the members"):
        ensemble.fit(X[10:], Y[10:])
    assert len(ensemble) == 5
    assert len(ensemble.fit(X, Y)) == 8


def test_members_are_not_added_where_levels_have_other_codes() -> None:
    ensemble = tm.BaggingClassifier(n_estimators=3, warm_start=True).fit(MIXED, MIXED_CLASSES)
    other = MIXED.assign(color=MIXED["color"].cat.set_categories(["green", "red", "blue"]))
    with pytest.raises(InvalidInput, match="X has other columns or levels"):
        ensemble.set_params(n_estimators=4).fit(other, MIXED_CLASSES)


# --- classes and rows that are rare


RARE = np.r_[np.zeros(25, int), np.ones(24, int), 2]  # one row of class 2: a third of the samples lack it


@pytest.mark.parametrize("combine", ["vote", "average"])
@pytest.mark.parametrize("estimator", [None, tm.CARTClassifier(), DecisionTreeClassifier(), GaussianNB()], ids=str)
def test_a_class_that_a_sample_lacks_has_its_column(estimator: Any, combine: str) -> None:
    table = np.random.default_rng(0).normal(size=(50, 3))
    ensemble = tm.BaggingClassifier(estimator, n_estimators=20, combine=combine, oob_score=True, random_state=0)
    shares = ensemble.fit(table, RARE).predict_proba(table)
    assert (ensemble.inbag_counts_[:, -1] == 0).any()
    assert shares.shape == (50, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(ensemble.oob_decision_function_[:-1, 2] >= 0, True)


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(), LogisticRegression(), LinearSVC()], ids=str)
def test_a_sample_of_one_class_makes_a_member_that_knows_no_other(estimator: Any) -> None:
    table, classes = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b"]
    ensemble = tm.BaggingClassifier(estimator, n_estimators=30, combine="vote", random_state=0).fit(table, classes)
    answers = ensemble.predict_members(table)
    assert (answers == "a").all(axis=1).any()
    assert (answers == "b").any()
    assert ensemble.predict([[0.0]]).tolist() == ["a"]


def test_attributes_of_a_member_that_saw_one_class_have_no_importance() -> None:
    table, classes = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b"]
    ensemble = tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=30, random_state=0).fit(table, classes)
    assert 0 < ensemble.feature_importances_[0] < 1


def test_classes_come_back_as_they_went_in() -> None:
    labels = np.array(["setosa", "versicolor", "virginica"])[Y]
    ensemble = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X, labels)
    assert ensemble.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert (ensemble.predict(X) == labels).mean() > 0.9
    assert set(ensemble.predict_members(X).ravel()) <= set(labels)


# --- what is refused


KINDS = [
    kind
    for name in tm.__all__
    if isinstance(kind := getattr(tm, name), type)
    and issubclass(kind, Ensemble | Aspen)
    and "n_estimators" in signature(kind).parameters
]


@pytest.mark.parametrize("n_estimators", [0, -1, 1.5, "many", None, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_ensemble_has_members(kind: Any, n_estimators: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"n_estimators=.* was given; expected a whole number of at least 1"):
        kind(n_estimators=n_estimators).fit(X, Y)


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVC().set_params(C=2.0)], ids=str)
def test_averages_need_probabilities(estimator: Any) -> None:
    with pytest.raises(
        InvalidParameter, match=r"combine='average' needs class probabilities, which LinearSVC does not"
    ):
        tm.BaggingClassifier(estimator, combine="average").fit(X, Y)
    assert tm.BaggingClassifier(estimator, n_estimators=5, combine="vote").fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("estimator", [tm.CARTRegressor(), Ridge()], ids=str)
def test_classes_are_not_learned_by_regressors(estimator: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"is a regressor, but y has classes: give a classifier"):
        tm.BaggingClassifier(estimator, combine="vote").fit(X, Y)


@pytest.mark.parametrize("estimator", [tm.C45Classifier(), GaussianNB()], ids=str)
def test_numbers_are_not_learned_by_classifiers(estimator: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"is a classifier, but y has numbers: give a regressor"):
        tm.BaggingRegressor(estimator).fit(X_NUMBERS, Y_NUMBERS)


def test_weights_are_not_dropped_in_silence() -> None:
    with pytest.raises(InvalidParameter, match="KNeighborsClassifier does not take sample_weight"):
        tm.BaggingClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=np.linspace(1, 2, 150))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"combine": "mean"}, "combine='mean' is not known: choose one of 'vote', 'average'"),
        ({"oob_score": 1}, "oob_score=1 was given; expected True, False, the name of a scorer"),
        ({"warm_start": "no"}, "warm_start='no' was given; expected True or False"),
        ({"bootstrap": 1}, "bootstrap=1 was given; expected True, False or 'balanced'"),
        ({"max_samples": np.inf}, "max_samples=inf was given; expected a count, or a finite share of the rows"),
        ({"max_samples": np.nan}, "max_samples=nan was given; expected a number above 0"),
        ({"max_samples": 1e308}, "max_samples=1e\\+308 was given; expected a count, or a finite share"),
        ({"max_samples": 0}, "max_samples=0 was given; expected a whole number of at least 1"),
        ({"max_samples": 151, "bootstrap": False}, "asks for 151 of 150 rows without replacement"),
        ({"estimator": tm.C45Classifier(confidence=2)}, "confidence=2 was given"),
        ({"n_estimators": "auto", "max_estimators": 0}, "max_estimators=0 was given"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        tm.BaggingClassifier(**parameters).fit(X, Y)


@pytest.mark.parametrize("kind", [tm.RandomForestClassifier, tm.RandomForestRegressor])
def test_a_forest_names_its_own_parameter(kind: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"bootstrap=1 was given; expected True(, False)? or "):
        kind(bootstrap=1).fit(X, Y)


NOMINAL = np.array([[0, 1], [1, 1], [2, 0], [0, 0], [1, 0], [2, 1]] * 5)
NOMINAL_CLASSES = np.array([0, 1, 0, 0, 1, 0] * 5)


@pytest.mark.parametrize("kind", [tm.BaggingClassifier, tm.AdaBoostM1Classifier, tm.DecorateClassifier])
def test_nominal_columns_are_chosen_for_the_ensemble_not_for_its_estimator(kind: Any) -> None:
    message = (
        r"C45Classifier\(categorical_features=\[0\]\) was given, but the ensemble reads the table for all members, "
        rf"with categorical_features='from_dtype': set categorical_features of {kind.__name__} instead"
    )
    with pytest.raises(InvalidParameter, match=message):
        kind(tm.C45Classifier(categorical_features=[0])).fit(NOMINAL, NOMINAL_CLASSES)


@pytest.mark.parametrize("own", ["from_dtype", [0], (0,), np.array([0])], ids=repr)
def test_an_estimator_may_repeat_the_choice_of_nominal_columns(own: Any) -> None:
    ensemble = tm.BaggingClassifier(tm.C45Classifier(categorical_features=own), 3, categorical_features=[0])
    assert ensemble.fit(NOMINAL, NOMINAL_CLASSES).encoder_.n_levels.tolist() == [3, 0]


@pytest.mark.parametrize("kind", [tm.BaggingClassifier, tm.DecorateClassifier])
def test_a_column_that_a_member_cannot_take_is_called_by_its_name(kind: Any) -> None:
    with pytest.raises(InvalidInput, match="column 'size' is numeric, but ID3 splits nominal attributes only"):
        kind(tm.ID3Classifier()).fit(MIXED, MIXED_CLASSES)


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier()], ids=str)
def test_a_table_without_rows_is_refused(estimator: Any) -> None:
    with pytest.raises(InvalidInput, match="0 rows and 2 columns: give at least one of each"):
        tm.BaggingClassifier(estimator).fit(pd.DataFrame({"a": [], "b": []}), [])


def test_dagging_needs_a_row_for_each_member() -> None:
    with pytest.raises(InvalidParameter, match="4 rows cannot be divided into 10 parts"):
        tm.DaggingClassifier().fit(X[48:52], Y[48:52])


def test_an_ensemble_is_asked_after_training() -> None:
    for ask in ("predict", "predict_proba", "predict_members"):
        with pytest.raises(NotFittedError):
            getattr(tm.BaggingClassifier(), ask)(X)
