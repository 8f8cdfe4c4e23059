"""The choice of the noise: on which rows it is made, how many amounts are tried, and when noise is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.naive_bayes import GaussianNB

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter
from tremula.smoothing.noise.search import ChosenNoise, golden_section, search_by_attribute

random = np.random.default_rng(0)
NORMAL = random.standard_normal((600, 10))
TARGET = (NORMAL.sum(axis=1) + random.standard_normal(600) > 0).astype(int)
PAPER = {"scoring": "error", "search": "golden_section"}


def test_at_most_15_amounts_are_tried() -> None:
    tried: list[float] = []

    def loss(amount: float) -> float:
        tried.append(amount)
        return abs(amount - 0.7)

    chosen = golden_section(loss, 2.0)
    assert len(tried) == len(set(tried)) == 15
    assert chosen.amount == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize("best", [0.0, 0.04, 0.25, 1.1, 1.99])
def test_the_bottom_of_a_valley_is_found(best: float) -> None:
    assert golden_section(lambda amount: (amount - best) ** 2, 2.0).amount == pytest.approx(best, abs=0.02)


def test_ties_go_to_the_smaller_amount() -> None:
    chosen = golden_section(lambda amount: float(amount < 0.3), 2.0)
    tried = chosen.curve[:, 0]
    assert chosen.amount == tried[tried >= 0.3].min()


def test_no_noise_is_taken_where_noise_does_not_help() -> None:
    assert golden_section(lambda amount: 0.1, 2.0).amount == 0.0


def test_the_curve_is_kept_in_order_of_the_amount() -> None:
    chosen = golden_section(lambda amount: amount, 1.0)
    assert chosen.curve[0].tolist() == [0.0, 0.0]
    assert np.all(np.diff(chosen.curve[:, 0]) > 0)


def test_amounts_by_attribute_never_do_worse_than_a_common_one() -> None:
    best = np.array([0.0, 0.4, 0.8])

    def loss(amounts: np.ndarray) -> float:
        return float(np.sum((amounts - best) ** 2))

    start = ChosenNoise(0.4, np.zeros((0, 2)), loss(np.full(3, 0.4)))
    chosen = search_by_attribute(loss, start, np.ones(3, dtype=bool))
    assert chosen.amount == pytest.approx(best)
    assert chosen.loss == pytest.approx(0.0)


# --- who judges ---


def test_noise_chosen_on_validation_rows_is_the_best_of_the_curve() -> None:
    tree = tm.CARTClassifier().fit(NORMAL[:200], TARGET[:200])
    soft = tm.DualPerturbClassifier(tree, **PAPER).fit(NORMAL[:200], X_val=NORMAL[200:400], y_val=TARGET[200:400])
    errors = [
        1 - tm.DualPerturbClassifier(tree, noise=amount).fit(NORMAL[:200]).score(NORMAL[200:400], TARGET[200:400])
        for amount in soft.noise_curve_[:, 0]
    ]
    assert soft.noise_curve_[:, 1] == pytest.approx(errors)
    assert soft.noise_ == soft.noise_curve_[np.argmin(errors), 0] > 0
    assert soft.score(NORMAL[400:], TARGET[400:]) > tree.score(NORMAL[400:], TARGET[400:])


@pytest.mark.parametrize(
    "model",
    [
        tm.BaggingClassifier(n_estimators=10, random_state=0),
        tm.BaggingClassifier(n_estimators=10, combine="vote", random_state=0),
        tm.RandomForestClassifier(n_estimators=10, random_state=0),
        RandomForestClassifier(n_estimators=10, random_state=0),
        BaggingClassifier(n_estimators=10, random_state=0),
    ],
)
def test_rows_left_out_judge_a_bagged_model(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model, tuning="oob", **PAPER).fit(NORMAL[:200], TARGET[:200])
    assert soft.noise_curve_.shape == (15, 2)
    assert soft.noise_curve_[0, 1] > 0.05  # no noise: as wrong as rows not trained on are


def test_loss_without_noise_is_the_out_of_bag_error() -> None:
    forest = tm.RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0).fit(NORMAL[:200], TARGET[:200])
    soft = tm.DualPerturbClassifier(forest, tuning="oob", scoring="error").fit(NORMAL[:200], TARGET[:200])
    assert soft.noise_curve_[0, 1] == pytest.approx(1 - forest.oob_score_)


def test_rows_left_out_judge_a_regression_forest() -> None:
    forest = RandomForestRegressor(n_estimators=10, random_state=0)
    soft = tm.DualPerturbRegressor(forest, tuning="oob").fit(NORMAL[:200], NORMAL[:200].sum(axis=1))
    assert soft.noise_ > 0


def test_auto_takes_rows_left_out_before_folds() -> None:
    forest = RandomForestClassifier(n_estimators=5, random_state=0)
    auto = tm.DualPerturbClassifier(forest).fit(NORMAL[:200], TARGET[:200])
    out_of_bag = tm.DualPerturbClassifier(forest, tuning="oob").fit(NORMAL[:200], TARGET[:200])
    assert np.array_equal(auto.noise_curve_, out_of_bag.noise_curve_)


def test_folds_judge_what_was_trained_on_the_others() -> None:
    soft = tm.DualPerturbClassifier(tm.CARTClassifier(), tuning="cv", scoring="error", random_state=0)
    soft.fit(NORMAL[:200], TARGET[:200])
    assert 0.2 < soft.noise_curve_[0, 1] < 0.5  # a tree has no error on its own training rows
    assert soft.noise_ > 0


def test_folds_judge_copies_of_a_fitted_model() -> None:
    tree = tm.CARTClassifier().fit(NORMAL[:200], TARGET[:200])
    soft = tm.DualPerturbClassifier(tree, random_state=0).fit(NORMAL[:200], TARGET[:200])
    assert soft.estimator_ is tree
    assert soft.noise_curve_[0, 1] > 0.2  # judged by its own training rows it would be right everywhere


def test_folds_may_be_given() -> None:
    rows = np.arange(200)
    folds = [(rows[100:], rows[:100]), (rows[:100], rows[100:])]
    soft = tm.DualPerturbClassifier(tm.CARTClassifier(), tuning="cv", scoring="error", cv=folds)
    soft.fit(NORMAL[:200], TARGET[:200])
    hard = [np.mean(tm.CARTClassifier().fit(NORMAL[a], TARGET[a]).predict(NORMAL[b]) != TARGET[b]) for a, b in folds]
    assert soft.noise_curve_[0, 1] == pytest.approx(np.mean(hard))


def test_any_model_is_judged_by_folds() -> None:
    X, y = load_iris(return_X_y=True)
    soft = tm.DualPerturbClassifier(GaussianNB(), method="sample", n_draws=10, random_state=0).fit(X, y)
    assert soft.noise_curve_.shape[0] > 5


def test_log_loss_prefers_noise_to_the_certainty_of_pure_leaves() -> None:
    X, y = make_classification(200, random_state=0)
    tree = tm.CARTClassifier()
    soft = tm.DualPerturbClassifier(tree, scoring="log_loss", random_state=0).fit(X, y)
    assert soft.noise_ > 0
    assert soft.noise_curve_[0, 1] > soft.noise_curve_[:, 1].min() + 0.5


def test_the_shortcut_judges_one_tree_and_shakes_all() -> None:
    bagged = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, random_state=0).fit(NORMAL[:200], TARGET[:200])
    judges = {"X_val": NORMAL[200:400], "y_val": TARGET[200:400]}
    short = tm.DualPerturbClassifier(bagged, tune_on="tree", scoring="error").fit(NORMAL[:200], **judges)
    first = bagged.members_[0].predict_codes(NORMAL[200:400])
    assert short.noise_curve_[0, 1] == pytest.approx(np.mean(first != TARGET[200:400]))
    same = tm.DualPerturbClassifier(bagged, noise=short.noise_).fit(NORMAL[:200])
    assert np.array_equal(short.predict_proba(NORMAL), same.predict_proba(NORMAL))


def test_an_amount_for_each_attribute_fits_validation_rows_no_worse() -> None:
    tree = tm.CARTClassifier().fit(NORMAL[:200], TARGET[:200])
    judges = {"X_val": NORMAL[200:400], "y_val": TARGET[200:400]}
    common = tm.DualPerturbClassifier(tree).fit(NORMAL[:200], **judges)
    each = tm.DualPerturbClassifier(tree, per_attribute=True).fit(NORMAL[:200], **judges)
    assert each.noise_.shape == (10,)
    assert each.score(NORMAL[200:400], TARGET[200:400]) >= common.score(NORMAL[200:400], TARGET[200:400])


# --- who cannot ---


def test_rows_left_out_need_a_bagged_model() -> None:
    with pytest.raises(InvalidParameter, match=r"no out-of-bag rows, or .* its members are not averaged"):
        tm.DualPerturbClassifier(ExtraTreesClassifier(n_estimators=3), tuning="oob").fit(NORMAL, TARGET)


def test_validation_needs_validation_rows() -> None:
    with pytest.raises(InvalidParameter, match="give fit X_val and y_val"):
        tm.DualPerturbClassifier(tuning="validation").fit(NORMAL, TARGET)


def test_a_fitted_model_needs_rows_to_choose_the_noise_by() -> None:
    tree = tm.CARTClassifier().fit(NORMAL, TARGET)
    with pytest.raises(InvalidInput, match="needs rows to choose the noise on"):
        tm.DualPerturbClassifier(tree).fit(NORMAL)


def test_the_shortcut_needs_a_mean_of_trees() -> None:
    with pytest.raises(InvalidParameter, match="not a mean of trees"):
        tm.DualPerturbClassifier(GaussianNB(), tune_on="tree", tuning="cv").fit(NORMAL, TARGET)
