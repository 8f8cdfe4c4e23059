"""Three-member boosting: which rows each member gets, who decides, and what happens when there is little to learn."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tremula import C45Classifier, ThreeBoostClassifier
from tremula.ensembles.three_boost import flip_for_rows
from tremula.errors import InvalidParameter

NOT_KEPT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row is drawn once, whatever its weight"
    for kind in ("dense", "sparse")
}
OF_OTHER_ESTIMATORS = [ThreeBoostClassifier(LogisticRegression(), random_state=0)]


@pytest.mark.slow
@parametrize_with_checks(OF_OTHER_ESTIMATORS, expected_failed_checks=lambda _: NOT_KEPT)
def test_scikit_learn_checks_of_other_estimators(estimator: Any, check: Any) -> None:
    check(estimator)


def noisy_table(seed: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(300, 8, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=seed)


def naive_flips(wrong: list[int], right: list[int], random: np.random.Generator) -> list[int]:
    """One coin after another."""
    wrong, right, taken = list(wrong), list(right), []
    while True:
        kind = wrong if random.random() < 0.5 else right
        if not kind:
            return taken
        taken.append(kind.pop(0))


@pytest.mark.parametrize("seed", range(40))
def test_coins_choose_the_rows_of_the_second_member(seed: int) -> None:
    n_wrong, n_right = np.random.default_rng(seed).integers(0, 12, size=2)
    wrong, right = np.arange(n_wrong), 100 + np.arange(n_right)
    flipped = flip_for_rows(wrong, right, np.random.default_rng(seed))
    assert sorted(flipped) == sorted(naive_flips(wrong.tolist(), right.tolist(), np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(5))
def test_members_are_those_of_the_method_written_out(seed: int) -> None:
    X, y = noisy_table(seed)
    model = ThreeBoostClassifier(random_state=seed).fit(X, y)
    rows_1, rows_2, rows_3 = map(set, model.member_rows_)
    first = C45Classifier(confidence=None).fit(X[sorted(rows_1)], y[sorted(rows_1)]).predict(X)
    second = C45Classifier(confidence=None).fit(X[sorted(rows_2)], y[sorted(rows_2)]).predict(X)
    third = C45Classifier(confidence=None).fit(X[sorted(rows_3)], y[sorted(rows_3)]).predict(X)
    rest = set(range(len(y))) - rows_1
    wrong = {row for row in rest if first[row] != y[row]}
    assert len(rows_1) == 100
    assert rows_2 <= rest
    assert wrong <= rows_2 or rest - wrong <= rows_2
    assert rows_3 == {row for row in rest - rows_2 if first[row] != second[row]}
    assert model.predict_members(X).tolist() == [first.tolist(), second.tolist(), third.tolist()]
    assert model.predict(X).tolist() == [a if a == b else c for a, b, c in zip(first, second, third)]


def test_half_of_the_second_members_rows_are_errors_of_the_first() -> None:
    shares = []
    for seed in range(30):
        X, y = noisy_table(seed, n_classes=2)
        model = ThreeBoostClassifier(random_state=seed).fit(X, y)
        rows = model.member_rows_[1]
        shares.append(np.mean(model.predict_members(X)[0][rows] != y[rows]))
    assert abs(np.mean(shares) - 0.5) < 0.03


@pytest.mark.parametrize("seed", range(10))
def test_exactly_half_of_the_second_members_rows_may_be_errors(seed: int) -> None:
    X, y = noisy_table(seed, n_classes=2)
    model = ThreeBoostClassifier(second_rows="half", random_state=seed).fit(X, y)
    first, second = model.member_rows_[:2]
    is_wrong = model.predict_members(X)[0] != y
    rest = np.setdiff1d(np.arange(len(y)), first)
    assert 2 * is_wrong[second].sum() == len(second)
    assert len(second) == 2 * min(is_wrong[rest].sum(), (~is_wrong[rest]).sum())
    coin = ThreeBoostClassifier(random_state=seed).fit(X, y)
    assert np.array_equal(coin.member_rows_[0], first)


def test_a_count_of_rows_that_leaves_none_is_refused() -> None:
    X, y = noisy_table(0)
    with pytest.raises(InvalidParameter, match="of 300 rows leaves none"):
        ThreeBoostClassifier(first_share=300).fit(X, y)


def test_an_unknown_way_to_draw_rows_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="second_rows"):
        ThreeBoostClassifier(second_rows="thirds").fit(*noisy_table(0))


@pytest.mark.parametrize(
    ("share", "n_first"), [(None, 100), (0.5, 150), (0.001, 1), (0.9999, 299), (1, 1), (120, 120), (299, 299)]
)
def test_share_of_the_first_member(share: float | None, n_first: int) -> None:
    X, y = noisy_table(0)
    model = ThreeBoostClassifier(first_share=share, random_state=0).fit(X, y)
    assert len(model.member_rows_[0]) == n_first


def test_a_first_member_without_errors_stays_alone() -> None:
    X = np.arange(400.0)[:, None] % 20
    y = np.where(X[:, 0] < 10, "low", "high")
    model = ThreeBoostClassifier(random_state=0).fit(X, y)
    assert len(model) == 1
    assert (model.predict(X) == y).all()


def test_without_disputes_there_is_no_third_member_and_the_first_decides() -> None:
    X, y = noisy_table(0, n_classes=2)
    model = ThreeBoostClassifier(DummyClassifier(strategy="constant", constant=1), random_state=0).fit(X, y)
    assert len(model) == 2
    assert (model.predict(X) == 1).all()


def test_the_first_of_two_members_decides_where_they_differ() -> None:
    X, y = noisy_table(0)
    model = ThreeBoostClassifier(random_state=0).fit(X, y)
    model.members_, model.member_weights_ = model.members_[:2], model.member_weights_[:2]
    first, second = model.predict_members(X)
    assert (first != second).any()
    assert (model.predict(X) == first).all()


def test_probabilities_are_shares_of_votes_of_3_2_and_4() -> None:
    X, y = noisy_table(0)
    model = ThreeBoostClassifier(random_state=0).fit(X, y)
    first, second, third = model.predict_members(X)
    expected = 3 * np.eye(3)[first] + 2 * np.eye(3)[second] + 4 * np.eye(3)[third]
    np.testing.assert_allclose(model.predict_proba(X), expected / 9)


def test_a_class_that_the_first_member_never_saw_has_a_column() -> None:
    X, y = noisy_table(0, n_classes=2)
    y[np.argsort(X[:, 0])[-3:]] = 2
    model = ThreeBoostClassifier(first_share=0.05, random_state=0).fit(X, y)
    assert 2 not in y[model.member_rows_[0]]
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (300, 3)


def test_rows_of_one_class_make_a_member_that_gives_it_always() -> None:
    X, y = noisy_table(0, n_classes=2)
    model = ThreeBoostClassifier(LogisticRegression(), first_share=0.001, random_state=0).fit(X, y)
    (row,) = model.member_rows_[0]
    assert (model.predict_members(X)[0] == y[row]).all()


def test_any_classifier_can_be_a_member_even_without_probabilities() -> None:
    X, y = noisy_table(0)
    model = ThreeBoostClassifier(RidgeClassifier(), random_state=0).fit(X, y)
    first, second, third = model.predict_members(X)
    assert (model.predict(X) == np.where(first == second, first, third)).all()


def test_frames_with_nominal_and_missing_values() -> None:
    X, y = noisy_table(0)
    frame = pd.DataFrame(X).rename(columns=str).assign(color=np.where(X[:, 0] > 0, "red", "blue"))
    frame.iloc[::7, 2] = np.nan
    model = ThreeBoostClassifier(random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.5


def test_same_seed_same_model() -> None:
    X, y = noisy_table(0)
    again = [ThreeBoostClassifier(random_state=seed).fit(X, y) for seed in (1, 1, 2)]
    assert again[0].members_ == again[1].members_
    assert again[0].members_ != again[2].members_


def test_rows_of_no_weight_are_as_if_they_were_not_there() -> None:
    X, y = noisy_table(0)
    weights = np.random.default_rng(0).integers(0, 3, size=300).astype(float)
    there = weights > 0
    model = ThreeBoostClassifier(random_state=0).fit(X, y, sample_weight=weights)
    without = ThreeBoostClassifier(random_state=0).fit(X[there], y[there], sample_weight=weights[there])
    assert there[np.concatenate(model.member_rows_)].all()
    assert (model.predict_proba(X) == without.predict_proba(X)).all()


@pytest.mark.parametrize("share", [0, 1.0, 1.5, -0.2, "a third", True])
def test_a_share_that_cannot_be_used_is_refused(share: Any) -> None:
    X, y = noisy_table(0)
    with pytest.raises(InvalidParameter, match="first_share"):
        ThreeBoostClassifier(first_share=share).fit(X, y)
