"""AdaBoost.M1 against loops written out: weights, votes, stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.adaboost import votes_of
from tremula.errors import InvalidParameter
from tremula.seeds import make_root_seed, member_generator

from .naive_adaboost import boost_binary, boost_m1, sign, vote

X, Y = load_iris(return_X_y=True)
LEARNERS = {
    "C4.5": tm.C45Classifier(confidence=None, max_depth=2),
    "pruned C4.5": tm.C45Classifier(),
    "CART": tm.CARTClassifier(max_depth=2),
    "scikit-learn's tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "naive Bayes": GaussianNB(),
}


def draw_problem(n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap, so that members err, on values without ties."""
    random = np.random.default_rng(seed)
    codes = np.arange(160) % n_classes
    return random.normal(size=(160, 3)) + codes[:, None] * [1.5, -0.9, 0.5], codes


# --- against loops


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_votes_and_answers_are_those_of_the_loop(name: str, n_classes: int, seed: int) -> None:
    table, codes = draw_problem(n_classes, seed)
    expected = boost_m1(LEARNERS[name], table, codes.tolist(), 8)
    # The loop gives members no seeds; scikit-learn's tree has no use for them where no two splits tie.
    boosted = tm.AdaBoostM1Classifier(LEARNERS[name], n_estimators=8, keep_weights=True).fit(table, codes)
    assert len(boosted) == len(expected.members) >= 2
    np.testing.assert_allclose(boosted.row_weights_ / 160, expected.distributions)
    np.testing.assert_allclose(boosted.member_errors_, expected.errors)
    np.testing.assert_allclose(boosted.member_weights_, expected.votes)
    elsewhere = np.random.default_rng(9).normal(size=(300, 3)) * 2
    assert boosted.predict(elsewhere).tolist() == vote(expected, elsewhere, n_classes)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_for_two_classes_the_form_of_the_slides_is_the_same(name: str, seed: int) -> None:
    table, codes = draw_problem(2, seed)
    signs = 2 * codes - 1
    expected = boost_binary(LEARNERS[name], table, signs.tolist(), 8)
    boosted = tm.AdaBoostM1Classifier(LEARNERS[name], n_estimators=8, keep_weights=True).fit(table, signs)
    assert len(boosted) == len(expected.members) >= 2
    np.testing.assert_allclose(boosted.row_weights_ / 160, expected.distributions)
    np.testing.assert_allclose(boosted.member_weights_, 2 * np.array(expected.votes))
    elsewhere = np.random.default_rng(9).normal(size=(300, 3)) * 2
    assert boosted.predict(elsewhere).tolist() == sign(expected, elsewhere)


def test_for_more_classes_the_form_of_the_slides_would_not_do() -> None:
    # A member that is right on 40 % of three classes stops M1, though it is better than chance.
    table, codes = np.zeros((10, 1)), np.array([0] * 4 + [1] * 3 + [2] * 3)
    boosted = tm.AdaBoostM1Classifier(DummyClassifier(), n_estimators=5).fit(table, codes)
    assert boosted.member_errors_.tolist() == [0.6]
    assert boosted.stopped_ == "error of a half or more"


def test_by_sampling_rows_are_drawn_by_their_weights() -> None:
    table, codes = draw_problem(3, 0)
    learner = tm.C45Classifier(confidence=None, max_depth=2)
    boosted = tm.AdaBoostM1Classifier(learner, 6, resample=True, keep_weights=True, random_state=5).fit(table, codes)
    assert len(boosted) == 6
    for number, (member, weights) in enumerate(zip(boosted.members_, boosted.row_weights_)):
        random = member_generator(make_root_seed(5), number)
        rows = random.choice(160, size=160, p=weights / weights.sum())
        assert member == clone(learner).fit(table[rows], codes[rows]).tree_
        wrong = member.predict_codes(table) != codes
        assert boosted.member_errors_[number] == pytest.approx(weights[wrong].sum() / 160)


def test_estimators_without_weights_are_boosted_by_sampling() -> None:
    table, codes = draw_problem(3, 0)
    boosted = tm.AdaBoostM1Classifier(KNeighborsClassifier(5), 8, resample=True, random_state=0).fit(table, codes)
    assert len(boosted) > 1
    assert boosted.score(table, codes) > 0.7


def test_boosting_by_weighting_needs_an_estimator_that_takes_weights() -> None:
    with pytest.raises(InvalidParameter, match=r"KNeighborsClassifier does not take sample_weight.*set resample=True"):
        tm.AdaBoostM1Classifier(KNeighborsClassifier()).fit(X, Y)


# --- weights


def test_weights_begin_equal_keep_their_sum_and_give_the_errors_a_half() -> None:
    table, codes = draw_problem(3, 1)
    learner = tm.C45Classifier(max_depth=2)
    boosted = tm.AdaBoostM1Classifier(learner, n_estimators=20, keep_weights=True).fit(table, codes)
    assert boosted.row_weights_.shape == (len(boosted), 160)
    np.testing.assert_array_equal(boosted.row_weights_[0], 1.0)
    np.testing.assert_allclose(boosted.row_weights_.sum(axis=1), 160.0)
    for member, weights in zip(boosted.members_, boosted.row_weights_[1:]):
        wrong = member.predict_codes(table) != codes
        assert weights[wrong].sum() == pytest.approx(80.0)


def test_given_weights_are_where_boosting_begins() -> None:
    table, codes = draw_problem(2, 0)
    weights = np.random.default_rng(0).integers(0, 4, 160).astype(float)
    learner = tm.C45Classifier(confidence=None, max_depth=2)
    boosted = tm.AdaBoostM1Classifier(learner, 6, keep_weights=True).fit(table, codes, weights)
    rows = np.repeat(np.arange(160), weights.astype(int))
    repeated = tm.AdaBoostM1Classifier(learner, 6, keep_weights=True).fit(table[rows], codes[rows])
    np.testing.assert_array_equal(boosted.row_weights_[0], weights)
    np.testing.assert_allclose(boosted.row_weights_.sum(axis=1), weights.sum())
    np.testing.assert_allclose(boosted.member_weights_, repeated.member_weights_)
    np.testing.assert_array_equal(boosted.predict(table), repeated.predict(table))


def test_weights_are_kept_where_asked_for() -> None:
    boosted = tm.AdaBoostM1Classifier(n_estimators=3, keep_weights=True).fit(X, Y)
    assert not hasattr(boosted.set_params(keep_weights=False).fit(X, Y), "row_weights_")


def test_hard_rows_come_to_weigh_more() -> None:
    table, codes = draw_problem(2, 3)
    codes[:8] = 1 - codes[:8]  # corrupted rows
    boosted = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=2), 30, keep_weights=True).fit(table, codes)
    mean_weight = boosted.row_weights_[:, :8].mean(axis=1)
    assert mean_weight[0] == 1.0
    assert mean_weight[-1] > 1.5


# --- when it stops


class Wrong(ClassifierMixin, BaseEstimator):
    """Gives every row of its training a wrong class."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Wrong:
        self.classes_ = np.unique(y)
        self.answers_ = {float(x): (code + 1) % len(self.classes_) for x, code in zip(X[:, 0], y)}
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.array([self.answers_[float(x)] for x in X[:, 0]])


def test_a_member_without_error_is_the_last() -> None:
    table = np.arange(20.0)[:, None]
    boosted = tm.AdaBoostM1Classifier(n_estimators=10).fit(table, table[:, 0] > 9)
    assert boosted.stopped_ == "no error"
    assert len(boosted) == 1
    assert boosted.member_errors_.tolist() == [0.0]
    assert np.isfinite(boosted.member_weights_).all()
    assert boosted.score(table, table[:, 0] > 9) == 1.0


def test_a_later_member_without_error_outvotes_the_others() -> None:
    class PerfectAtLast(DecisionTreeClassifier):
        """A stump, or where weights differ a whole tree."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PerfectAtLast:
            self.set_params(max_depth=1 if np.ptp(sample_weight) == 0 else None)
            return super().fit(X, y, sample_weight=sample_weight)

    table, codes = draw_problem(3, 0)
    boosted = tm.AdaBoostM1Classifier(PerfectAtLast(), n_estimators=10).fit(table, codes)
    assert boosted.stopped_ == "no error"
    assert len(boosted) == 2
    assert boosted.score(table, codes) == 1.0


def test_a_first_member_no_better_than_chance_is_kept_alone() -> None:
    table = np.arange(12.0)[:, None]
    codes = np.arange(12) % 2
    boosted = tm.AdaBoostM1Classifier(Wrong(), n_estimators=10).fit(table, codes)
    assert boosted.stopped_ == "error of a half or more"
    assert len(boosted) == 1
    assert boosted.member_errors_.tolist() == [1.0]
    assert boosted.member_weights_.tolist() == [1.0]
    np.testing.assert_array_equal(boosted.predict(table), 1 - codes)


@pytest.mark.parametrize("n_rows", range(5, 40))
def test_a_member_that_repeats_the_one_before_errs_on_a_half_and_is_dropped(n_rows: int) -> None:
    # Its error is a half but for rounding, whichever way that goes.
    for n_ones in range(1, (n_rows + 1) // 2):
        codes = np.r_[np.zeros(n_rows - n_ones, int), np.ones(n_ones, int)]
        boosted = tm.AdaBoostM1Classifier(DummyClassifier(strategy="constant", constant=0), n_estimators=5)
        boosted.fit(np.zeros((n_rows, 1)), codes)
        assert (len(boosted), boosted.stopped_) == (1, "error of a half or more")
        assert boosted.member_errors_[0] == pytest.approx(n_ones / n_rows)


def test_there_are_as_many_members_as_asked_for() -> None:
    table, codes = draw_problem(3, 4)
    boosted = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=2), n_estimators=7).fit(table, codes)
    assert (len(boosted), boosted.stopped_) == (7, "enough")


@pytest.mark.parametrize(
    ("error", "weight"),
    [
        (0.25, np.log(3)),
        (0.0, np.log((1 - 1e-10) / 1e-10)),
        (0.5, 1.0),
        (0.9, 1.0),
        (1e-12, np.log((1 - 1e-10) / 1e-10)),
    ],
)
def test_votes(error: float, weight: float) -> None:
    assert votes_of(np.array([error])) == pytest.approx(weight)


# --- answers


def test_stages_end_in_the_answer_and_begin_with_the_first_member() -> None:
    table, codes = draw_problem(3, 4)
    boosted = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=2), n_estimators=9).fit(table, codes)
    stages, shares = list(boosted.staged_predict(table)), list(boosted.staged_predict_proba(table))
    assert len(stages) == len(shares) == len(boosted)
    np.testing.assert_array_equal(stages[0], boosted.members_[0].predict_codes(table))
    np.testing.assert_array_equal(stages[-1], boosted.predict(table))
    np.testing.assert_allclose(shares[-1], boosted.predict_proba(table))
    np.testing.assert_allclose(np.sum(shares, axis=2), 1.0)
    first_four = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=2), n_estimators=4).fit(table, codes)
    np.testing.assert_array_equal(stages[3], first_four.predict(table))


def test_tied_votes_go_to_the_first_class() -> None:
    boosted = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=2), n_estimators=2).fit(X, Y)
    codes = np.array([member.predict_codes(X) for member in boosted.members_])
    assert (codes[0] != codes[1]).any()
    boosted.member_weights_ = np.array([0.1 + 0.2, 0.3])  # equal but for rounding
    np.testing.assert_array_equal(boosted.predict(X), codes.min(axis=0))


def test_names_of_classes_and_nominal_columns_are_taken() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"sky": random.choice(["sun", "rain", "snow"], 100), "wind": random.normal(size=100)})
    labels = np.where((table["sky"] == "sun") ^ (table["wind"] > 0), "go", "stay")
    boosted = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=1), n_estimators=10).fit(table, labels)
    assert set(boosted.predict(table)) == {"go", "stay"}


@pytest.mark.parametrize("name", ["resample", "keep_weights"])
def test_flags_are_true_or_false(name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"{name}=1 was given; expected True or False"):
        tm.AdaBoostM1Classifier(**{name: 1}).fit(X, Y)  # type: ignore[arg-type]
