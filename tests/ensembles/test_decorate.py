"""Decorate: what artificial rows look like, how they are labelled, and which members are taken."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tremula import C45Classifier, DecorateClassifier
from tremula.ensembles.decorate import RowFactory, draw_unlikely
from tremula.errors import InvalidParameter, UnsupportedType
from tremula.seeds import make_root_seed, member_generator


def noisy_table(seed: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=seed
    )


# ---- the method, written out


class NaiveDecorate:
    """Decorate in the words of its authors: one row, one class after another; the random numbers are tremula's."""

    def __init__(self, estimator: Any, size: int, trials: int, share: float, seed: int) -> None:
        self.estimator, self.size, self.trials, self.share, self.seed = estimator, size, trials, share, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> "NaiveDecorate":
        root = make_root_seed(self.seed)
        self.members = [self.estimator().fit(X, y)]
        self.errors, self.accepted = [self.error(X, y)], [True]
        while len(self.members) < self.size and len(self.errors) < self.trials:
            random = member_generator(root, len(self.errors))
            artificial = self.artificial_rows(X, random)
            labels = self.contrary_labels(artificial, random)
            before = self.error(X, y)
            self.members.append(self.estimator().fit(np.vstack([X, artificial]), np.append(y, labels)))
            self.errors.append(self.error(X, y))
            self.accepted.append(self.errors[-1] <= before)
            if not self.accepted[-1]:
                self.members.pop()
        return self

    def distribution(self, row: np.ndarray) -> list[float]:
        sums = np.sum([member.predict_proba([row])[0] for member in self.members], axis=0)
        return (sums / sums.sum()).tolist()

    def error(self, X: np.ndarray, y: np.ndarray) -> float:
        return sum(int(np.argmax(self.distribution(row))) != label for row, label in zip(X, y)) / len(y)

    def artificial_rows(self, X: np.ndarray, random: np.random.Generator) -> np.ndarray:
        n_rows = round(self.share * len(X))
        deviates = random.standard_normal((n_rows, X.shape[1]))
        columns = [X[:, j].mean() + X[:, j].std(ddof=1) * deviates[:, j] for j in range(X.shape[1])]
        return np.array(columns).T

    def contrary_labels(self, rows: np.ndarray, random: np.random.Generator) -> list[int]:
        labels = []
        for row, uniform in zip(rows, random.random(len(rows))):
            shares = self.distribution(row)
            if 0.0 in shares:
                chances = [1.0 if share == 0.0 else 0.0 for share in shares]
            else:
                chances = [1.0 / share for share in shares]
            left, label = uniform * sum(chances), 0
            while left >= chances[label]:
                left -= chances[label]
                label += 1
            labels.append(label)
        return labels


@pytest.mark.parametrize(("seed", "n_classes", "share"), [(0, 2, 1.0), (1, 3, 1.0), (2, 3, 0.5), (3, 2, 0.25)])
def test_members_and_trials_are_those_of_the_method_written_out(seed: int, n_classes: int, share: float) -> None:
    X, y = (part[:70] for part in noisy_table(seed, n_classes))
    naive = NaiveDecorate(C45Classifier, 5, 12, share, seed).fit(X, y)
    model = DecorateClassifier(n_estimators=5, max_trials=12, artificial_share=share, random_state=seed).fit(X, y)
    assert model.trials_ == len(naive.errors)
    assert model.trial_accepted_.tolist() == naive.accepted
    np.testing.assert_allclose(model.trial_errors_, naive.errors, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), [naive.distribution(row) for row in X], atol=1e-12)


def test_some_members_are_taken_and_some_are_not() -> None:
    X, y = make_classification(200, flip_y=0.1, random_state=0)
    model = DecorateClassifier(random_state=0).fit(X, y)
    assert 1 < len(model) == model.trial_accepted_.sum() < model.trials_


@pytest.mark.parametrize("seed", range(3))
def test_a_member_is_taken_if_the_error_does_not_rise(seed: int) -> None:
    X, y = noisy_table(seed)
    model = DecorateClassifier(random_state=seed).fit(X, y)
    least = model.trial_errors_[0]
    for error, accepted in zip(model.trial_errors_, model.trial_accepted_):
        assert accepted == (error <= least)
        least = min(least, error)
    stages = [np.mean(stage != y) for stage in model.staged_predict(X)]
    np.testing.assert_allclose(stages, model.trial_errors_[model.trial_accepted_], atol=1e-12)


def test_at_most_as_many_members_and_trials_as_asked_for() -> None:
    X, y = noisy_table(0)
    assert len(DecorateClassifier(n_estimators=1).fit(X, y)) == 1
    assert DecorateClassifier(max_trials=1).fit(X, y).trials_ == 1
    assert DecorateClassifier(max_trials=4, random_state=0).fit(X, y).trials_ == 4


# ---- artificial rows


def test_artificial_rows_have_means_deviations_and_frequencies_of_the_columns_but_no_correlation() -> None:
    random = np.random.default_rng(0)
    number = random.normal(5.0, 2.0, size=400)
    table = np.column_stack([number, 3.0 * number, random.choice(3, size=400, p=[0.7, 0.2, 0.1])])
    rows = RowFactory.learn(table, np.array([0, 0, 3])).draw(40_000, random)
    np.testing.assert_allclose(rows[:, :2].mean(axis=0), table[:, :2].mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(rows[:, :2].std(axis=0), table[:, :2].std(axis=0, ddof=1), rtol=0.02)
    np.testing.assert_allclose(np.bincount(rows[:, 2].astype(int)) / 40_000, [0.7, 0.2, 0.1], atol=0.03)
    assert np.abs(np.corrcoef(rows.T) - np.eye(3)).max() < 0.03


def test_a_level_that_no_row_has_is_counted_once() -> None:
    factory = RowFactory.learn(np.array([[0.0], [0.0], [2.0], [np.nan]]), np.array([4]))
    assert factory.frequencies[0].tolist() == [3 / 7, 1 / 7, 2 / 7, 1 / 7]


def test_missing_values_are_passed_over_and_a_column_of_nothing_else_stays_missing() -> None:
    table = np.array([[1.0, np.nan, 7.0], [np.nan, np.nan, np.nan], [4.0, np.nan, np.nan]])
    factory = RowFactory.learn(table, np.zeros(3, int))
    np.testing.assert_allclose(factory.means, [2.5, np.nan, 7.0])
    np.testing.assert_allclose(factory.spreads, [np.sqrt(4.5), np.nan, 0.0])
    rows = factory.draw(10, np.random.default_rng(0))
    assert np.isnan(rows).all(axis=0).tolist() == [False, True, False]
    assert (rows[:, 2] == 7.0).all()


def test_large_numbers_do_not_overflow() -> None:
    factory = RowFactory.learn(np.array([[1e300], [3e300]]), np.zeros(1, int))
    np.testing.assert_allclose([factory.means[0], factory.spreads[0]], [2e300, np.sqrt(2) * 1e300])


def test_whole_weights_are_rows_given_several_times() -> None:
    random = np.random.default_rng(0)
    table = np.column_stack([random.normal(size=30), random.integers(3, size=30)])
    weights = random.integers(0, 4, size=30)
    weighted = RowFactory.learn(table, np.array([0, 3]), weights.astype(float))
    repeated = RowFactory.learn(np.repeat(table, weights, axis=0), np.array([0, 3]))
    np.testing.assert_allclose(weighted.means[0], repeated.means[0])
    np.testing.assert_allclose(weighted.spreads[0], repeated.spreads[0], rtol=0.05)
    np.testing.assert_allclose(weighted.frequencies[1], repeated.frequencies[1], rtol=0.1)


@pytest.mark.parametrize(
    ("shares", "chances"),
    [
        ([0.5, 0.3, 0.2], np.array([2, 10 / 3, 5]) / (31 / 3)),
        ([0.5, 0.5, 0.0], [0, 0, 1]),
        ([1.0, 0.0, 0.0], [0, 0.5, 0.5]),
        ([1 - 1e-310, 1e-310, 0.0], [0, 0.5, 0.5]),
    ],
)
def test_classes_are_drawn_by_the_inverse_of_their_shares(shares: list[float], chances: Any) -> None:
    drawn = draw_unlikely(np.tile(shares, (30_000, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 30_000, chances, atol=0.01)


# ---- estimators and tables


def test_members_of_any_estimator_see_the_rows_and_the_artificial_ones() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecorateClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0).fit(X, y)
    sizes = [tree.tree_.n_node_samples[0] for tree in model.estimators_]
    assert sizes[0] == 150
    assert set(sizes[1:]) == {300}


def test_other_estimators_are_given_frames_as_numbers() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = X.assign(kind=pd.Categorical(np.where(X.iloc[:, 0] > 6, "long", "short")))
    model = DecorateClassifier(GaussianNB(), random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert set(model.members_[0].estimator.theta_[:, 4]) <= set(np.linspace(0, 1, 51))


def test_frames_with_nominal_and_missing_values() -> None:
    X, y = noisy_table(0)
    frame = pd.DataFrame(X).rename(columns=str).assign(color=np.where(X[:, 0] > 0, "red", "blue"))
    frame.iloc[::5, 1] = np.nan
    model = DecorateClassifier(random_state=0).fit(frame, y)
    assert len(model) > 1
    assert model.score(frame, y) > 0.8


def test_same_seed_same_model() -> None:
    X, y = noisy_table(0)
    again = [DecorateClassifier(random_state=seed).fit(X, y) for seed in (1, 1, 2)]
    assert again[0].members_ == again[1].members_
    assert again[0].members_ != again[2].members_


def test_rows_of_no_weight_are_as_if_they_were_not_there() -> None:
    X, y = noisy_table(0)
    weights = np.random.default_rng(0).integers(0, 3, size=120).astype(float)
    there = weights > 0
    model = DecorateClassifier(random_state=0).fit(X, y, sample_weight=weights)
    without = DecorateClassifier(random_state=0).fit(X[there], y[there], sample_weight=weights[there])
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_trials": 0}, "max_trials"),
        ({"max_trials": 2.5}, "max_trials"),
        ({"artificial_share": 0}, "artificial_share"),
        ({"artificial_share": "1"}, "artificial_share"),
        ({"estimator": RidgeClassifier()}, "predict_proba"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(parameters: dict[str, Any], message: str) -> None:
    X, y = noisy_table(0)
    with pytest.raises(InvalidParameter, match=message):
        DecorateClassifier(**parameters).fit(X, y)


def test_sparse_tables_are_refused() -> None:
    X, y = noisy_table(0)
    with pytest.raises(UnsupportedType, match=r"[Ss]parse"):
        DecorateClassifier(GaussianNB()).fit(csr_array(X), y)
