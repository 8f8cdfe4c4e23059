"""Kappa and error of pairs: by the definition, by known cases, and for every kind of ensemble."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.diagnostics import kappa_error
from tremula.diagnostics.members.kappa import kappa_of
from tremula.diagnostics.members.predictions import member_predictions
from tremula.errors import InvalidInput, InvalidTarget


def naive_kappa(first: np.ndarray, second: np.ndarray, n_classes: int) -> float:
    """The definition, with a table of counts."""
    table = np.zeros((n_classes, n_classes))
    for one, other in zip(first, second):
        table[one, other] += 1
    share = table / len(first)
    agreed = share.trace()
    by_chance = sum(share[i].sum() * share[:, i].sum() for i in range(n_classes))
    return 1.0 if by_chance == 1.0 else (agreed - by_chance) / (1 - by_chance)


@pytest.mark.parametrize("seed", range(20))
def test_kappa_is_that_of_the_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_classes = int(random.integers(2, 5))
    answers = random.integers(0, n_classes, (4, int(random.integers(1, 16))))
    truth = random.integers(0, n_classes, answers.shape[1])
    found = kappa_error(answers, None, truth)
    assert found.pairs.tolist() == [list(pair) for pair in combinations(range(4), 2)]
    expected = [naive_kappa(answers[i], answers[j], n_classes) for i, j in found.pairs]
    assert found.kappa == pytest.approx(expected, abs=1e-12)
    wrong = [np.mean(member != truth) for member in answers]
    assert found.mean_error == pytest.approx([(wrong[i] + wrong[j]) / 2 for i, j in found.pairs])


def test_identical_members_have_kappa_1() -> None:
    answers = np.tile([0, 1, 1, 2, 0], (3, 1))
    assert kappa_error(answers, None, np.array([0, 1, 2, 2, 0])).kappa.tolist() == [1.0, 1.0, 1.0]


def test_independent_members_have_kappa_near_0() -> None:
    answers = np.random.default_rng(0).choice(3, size=(10, 5000), p=[0.6, 0.3, 0.1])
    kappa = kappa_error(answers, None, answers[0]).kappa
    assert np.abs(kappa).max() < 0.05
    assert abs(kappa.mean()) < 0.005


def test_opposite_members_have_kappa_below_0() -> None:
    assert kappa_of(np.array([[0, 1, 0, 1]]), np.array([[1, 0, 1, 0]]), 2).tolist() == [[-1.0]]


def test_members_that_always_give_the_same_class_have_kappa_1() -> None:
    assert kappa_error(np.zeros((2, 4), dtype=int), None, np.array([0, 1, 0, 1])).kappa.tolist() == [1.0]


def test_members_that_always_give_two_different_classes_have_kappa_0() -> None:
    answers = np.array([[0, 0, 0], [1, 1, 1]])
    assert kappa_error(answers, None, np.array([0, 1, 0])).kappa.tolist() == [0.0]


def test_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(1)
    answers, truth, order = random.integers(0, 3, (5, 40)), random.integers(0, 3, 40), random.permutation(40)
    shuffled = kappa_error(answers[:, order], None, truth[order])
    assert shuffled.kappa.tolist() == kappa_error(answers, None, truth).kappa.tolist()


# ---- diversity


def test_diversity_of_two_members_by_hand() -> None:
    truth = np.zeros(10, dtype=int)
    # Both right in 5 rows, the first alone in 2, the second alone in 1, none in 2.
    answers = np.array([[0, 0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1, 0, 1, 1]])
    found = kappa_error(answers, None, truth).diversity
    assert found["disagreement"] == pytest.approx(0.3)
    assert found["double_fault"] == pytest.approx(0.2)
    assert found["q_statistic"] == pytest.approx((5 * 2 - 2 * 1) / (5 * 2 + 2 * 1))
    assert found["entropy"] == pytest.approx(0.3)


@pytest.mark.parametrize("n_members", [2, 5, 8])
def test_kohavi_wolpert_variance_is_a_share_of_the_disagreement(n_members: int) -> None:
    random = np.random.default_rng(n_members)
    found = kappa_error(random.integers(0, 2, (n_members, 30)), None, random.integers(0, 2, 30)).diversity
    assert found["kohavi_wolpert"] == pytest.approx(found["disagreement"] * (n_members - 1) / (2 * n_members))


def test_members_without_error_have_no_diversity() -> None:
    truth = np.array([0, 1, 1])
    found = kappa_error(np.tile(truth, (3, 1)), None, truth).diversity
    assert np.isnan(found.pop("q_statistic"))
    assert found == {
        "kappa": 1.0,
        "disagreement": 0.0,
        "double_fault": 0.0,
        "entropy": 0.0,
        "kohavi_wolpert": 0.0,
        "interrater_agreement": 1.0,
    }


# ---- every kind of ensemble


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=2, random_state=0)


ENSEMBLES = {
    "bagging": BaggingClassifier(tree(), n_estimators=5, max_features=0.5, random_state=0),
    "bagging of neighbours": BaggingClassifier(KNeighborsClassifier(), n_estimators=5, random_state=0),
    "forest": RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0),
    "AdaBoost": AdaBoostClassifier(tree(), n_estimators=5, random_state=0),
    "voting": VotingClassifier([("tree", tree()), ("bayes", GaussianNB()), ("neighbours", KNeighborsClassifier())]),
    "pipeline": make_pipeline(StandardScaler(), BaggingClassifier(tree(), n_estimators=5, random_state=0)),
    "tremula": tm.BaggingClassifier(n_estimators=5, random_state=0),
    "tremula's boosting": tm.AdaBoostM1Classifier(tm.C45Classifier(min_weight_leaf=20), n_estimators=5),
    "tremula around scikit-learn": tm.RandomSubspaceClassifier(tree(), n_estimators=5, random_state=0),
}
LABELS = {"strings": np.array(["virginica", "setosa", "other"]), "numbers": np.array([7, 3, 5])}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_answer_in_the_labels_of_y(name: str, labels: str) -> None:
    X, codes = load_iris(return_X_y=True)
    y = LABELS[labels][codes]
    ensemble = ENSEMBLES[name].fit(X, y)
    found = kappa_error(ensemble, X, y)
    assert found.ensemble_error == pytest.approx(np.mean(ensemble.predict(X) != y))
    assert found.member_error.min() < 0.2
    assert found.n_members > 2


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_frame_gives_what_an_array_gives(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_array = kappa_error(ENSEMBLES[name].fit(X, y), X, y)
    by_frame = kappa_error(ENSEMBLES[name].fit(frame, y), frame, y)
    assert by_frame.kappa.tolist() == by_array.kappa.tolist()


def test_bagged_members_are_given_their_own_columns() -> None:
    X, y = make_classification(n_samples=80, n_features=6, random_state=0)
    ensemble = BaggingClassifier(tree(), n_estimators=4, max_features=2, random_state=1).fit(X, y)
    chosen = zip(ensemble.estimators_, ensemble.estimators_features_)
    expected = [member.predict(X[:, columns]).tolist() for member, columns in chosen]
    assert member_predictions(ensemble, X).tolist() == expected


def test_a_list_of_classifiers_votes() -> None:
    X, y = load_iris(return_X_y=True)
    members = [tree().fit(X, y), GaussianNB().fit(X, y), KNeighborsClassifier().fit(X, y)]
    voting = VotingClassifier([("tree", tree()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]).fit(X, y)
    listed, voted = kappa_error(members, X, y), kappa_error(voting, X, y)
    assert listed.kappa.tolist() == voted.kappa.tolist()
    assert listed.ensemble_error == voted.ensemble_error
    assert listed.ensemble_kappa.tolist() == voted.ensemble_kappa.tolist()


def test_kappa_with_the_ensemble_is_1_for_a_member_that_always_wins() -> None:
    answers = np.array([[0, 1, 0, 1], [0, 1, 0, 0], [0, 1, 1, 1]])
    found = kappa_error(answers, None, np.array([0, 1, 0, 1]))
    assert found.ensemble_kappa[0] == 1.0
    assert found.ensemble_kappa[1:].max() < 1.0


# ---- bad input


@pytest.mark.parametrize("answers", [np.zeros((1, 4), dtype=int), []])
def test_fewer_than_two_members_are_refused(answers: Any) -> None:
    with pytest.raises(InvalidInput, match="at least two"):
        kappa_error(answers, None, np.zeros(4, dtype=int))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestRegressor(n_estimators=2), "predicts numbers"),
        (GradientBoostingClassifier(n_estimators=2), "not a classifier"),
        (OneVsRestClassifier(GaussianNB()), "no members that each predict the class"),
        (GaussianNB(), "no members that each predict the class"),
    ],
)
def test_what_has_no_classifiers_as_members_is_refused(model: BaseEstimator, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInput, match=message):
        kappa_error(model.fit(X, y), X, y)


def test_an_ensemble_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        kappa_error(RandomForestClassifier(), np.zeros((2, 1)), np.zeros(2))


def test_other_numbers_of_rows_are_refused() -> None:
    with pytest.raises(InvalidTarget, match="one class for each row"):
        kappa_error(np.zeros((2, 4), dtype=int), None, np.zeros(3, dtype=int))


def test_predictions_of_one_dimension_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"\(n_members, n_rows\)"):
        kappa_error(np.zeros(4, dtype=int), None, np.zeros(4, dtype=int))


def test_labels_of_another_kind_are_refused() -> None:
    with pytest.raises(InvalidTarget, match="y holds numbers, but members predict strings"):
        kappa_error(np.array([["a", "b"], ["b", "a"]]), None, [0, 1])


@pytest.mark.parametrize("y", [[0.0, np.nan], np.array(["a", None], dtype=object)])
def test_a_missing_class_is_refused(y: Any) -> None:
    with pytest.raises(InvalidTarget, match="in row 1: leave out rows"):
        kappa_error(np.zeros((2, 2)), None, y)


@pytest.mark.parametrize("ensemble", [pd.DataFrame({"first": [0, 1], "second": [1, 1]}), None, 3])
def test_what_is_no_ensemble_is_refused(ensemble: Any) -> None:
    with pytest.raises(InvalidInput, match="give a fitted ensemble, a list of fitted classifiers, or an array"):
        kappa_error(ensemble, np.zeros((2, 1)), [0, 1])


def test_an_ensemble_without_rows_to_predict_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInput, match="X is None: give the rows"):
        kappa_error(RandomForestClassifier(2, random_state=0).fit(X, y), None, y)


def test_two_targets_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidTarget, match=r"\(150, 2\)"):
        kappa_error(forest, X, np.column_stack([y, y]))


def test_no_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        kappa_error(np.zeros((2, 0), dtype=int), None, np.zeros(0, dtype=int))
