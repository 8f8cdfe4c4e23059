"""Aspen: families are weighed by rows they left out, and nothing else about the data is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.metrics import log_loss, mean_squared_error, r2_score

import tremula as tm
from tremula.aspen.blend_weights import number_weights
from tremula.aspen.boosted_corrections import ROUNDS
from tremula.aspen.missing_values import Filling
from tremula.aspen.report import AspenReport, Tried
from tremula.ensembles.base.ensemble import Ensemble
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget
from tremula.perturb import Sample
from tremula.trees.columns import read_columns

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
FEW: dict[str, Any] = {"n_estimators": 10, "random_state": 0}


def rule_of_levels(n_rows: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """A class that depends on two nominal attributes together, with values missing."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.choice(list("abc"), n_rows) for name in ("first", "second", "third")})
    classes = np.where(frame["first"] == frame["second"], "same", "other")
    frame["size"] = random.normal(size=n_rows)
    frame.loc[random.random(n_rows) < 0.1, "size"] = np.nan
    frame.loc[random.random(n_rows) < 0.05, "third"] = None
    return frame, classes


@pytest.fixture(scope="module")
def classifier() -> tm.AspenClassifier:
    return tm.AspenClassifier(**FEW).fit(*IRIS)


@pytest.fixture(scope="module")
def regressor() -> tm.AspenRegressor:
    return tm.AspenRegressor(**FEW).fit(*DIABETES)


# --- what is chosen, and told


def test_members_weigh_one_together(classifier: tm.AspenClassifier, regressor: tm.AspenRegressor) -> None:
    for model in (classifier, regressor):
        assert len(model.member_weights_) == len(model.members_)
        assert model.member_weights_.min() > 0.0
        assert model.member_weights_.sum() == pytest.approx(1.0)


def test_the_report_tells_what_was_tried(classifier: tm.AspenClassifier) -> None:
    report = classifier.report_
    assert {one.name for one in report.chosen} <= {one.name for one in report.tried}
    assert sum(one.weight for one in report.tried) == pytest.approx(1.0)
    assert sum(one.n_members for one in report.chosen) == len(classifier.members_)
    text = str(report)
    assert all(one.name in text for one in report.tried)
    assert f"on {report.n_rows} out-of-bag rows" in text


def test_the_report_of_numbers_has_no_error(regressor: tm.AspenRegressor) -> None:
    assert np.isnan(regressor.report_.error)
    assert str(regressor.report_).splitlines()[1].split() == ["family", "members", "weight", "RMSE"]
    assert regressor.report_._repr_html_().startswith("<table>")


def test_the_loss_told_is_that_of_the_rows_left_out(
    classifier: tm.AspenClassifier, regressor: tm.AspenRegressor
) -> None:
    shares = classifier.oob_decision_function_
    judged = ~np.isnan(shares[:, 0])
    assert judged.sum() == classifier.report_.n_rows
    assert classifier.report_.loss == pytest.approx(log_loss(IRIS[1][judged], shares[judged]))
    assert classifier.oob_score_ == pytest.approx(np.mean(shares[judged].argmax(axis=1) == IRIS[1][judged]))
    answers = regressor.oob_prediction_
    judged = ~np.isnan(answers)
    assert regressor.report_.loss**2 == pytest.approx(mean_squared_error(DIABETES[1][judged], answers[judged]))


def test_noise_cannot_be_learned_and_shares_say_so() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 4)), random.integers(2, size=200)
    fresh = random.normal(size=(200, 4))
    shares = tm.AspenClassifier(n_estimators=25, random_state=0).fit(X, y).predict_proba(fresh)
    forest = tm.RandomForestClassifier(n_estimators=25, random_state=0).fit(X, y).predict_proba(fresh)
    assert shares.std() < 0.7 * forest.std()


def test_of_rivals_one_is_kept() -> None:
    frame, classes = rule_of_levels(200)
    tried = tm.AspenClassifier(n_estimators=25, random_state=0).fit(frame, classes).report_.tried
    forests = [one for one in tried if one.name.startswith("random forest")]
    assert [one.weight > 0.0 for one in forests].count(True) == 1
    kept = next(one for one in forests if one.weight > 0.0)
    assert (kept.n_members, sum(one.n_members for one in forests)) == (25, 45)


def test_corrections_are_tried_and_help_where_boosting_does() -> None:
    random = np.random.default_rng(0)
    X = random.uniform(-1.0, 1.0, size=(400, 8))
    y = np.sign(X).sum(axis=1)  # a sum of steps, which neither forests nor model trees find
    with_them, without = (
        tm.AspenRegressor(n_estimators=20, boosting=boosting, random_state=0).fit(X[:300], y[:300])
        for boosting in (True, False)
    )
    assert with_them.report_.n_rounds > 0
    assert with_them.report_.loss < with_them.report_.blend_loss
    assert np.mean((with_them.predict(X[300:]) - y[300:]) ** 2) < np.mean((without.predict(X[300:]) - y[300:]) ** 2)


def test_noise_is_not_corrected() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(150, 3)), random.normal(size=150)
    model = tm.AspenRegressor(n_estimators=20, random_state=0).fit(X, y)
    assert model.corrections_ == []
    assert "no corrections" in str(model.report_)


def test_boosting_can_be_left_out() -> None:
    model = tm.AspenClassifier(boosting=False, **FEW).fit(*IRIS)
    assert model.corrections_ == []
    assert "Boosting was not tried: there are no corrections." in model.report_.sentences()


def test_the_report_compares_the_blend_with_families_in_it() -> None:
    tried = (Tried("forest", 9, 0.1, 0.0, 0.0), Tried("other", 9, 0.3, 0.0, 0.6), Tried("third", 9, 0.2, 0.0, 0.4))
    said = AspenReport(tried, 50, "log loss", 0.15, 0.15, 0.0, 1.0, 0).sentences()
    assert said[1] == "The blend has 0.15; the best of its families alone, third, has 0.2."
    assert said[2] == "Dropped: forest (a rival did at least as well, or the weight was under 5 %)."


def test_the_report_says_that_no_row_judged() -> None:
    model = tm.AspenRegressor(n_estimators=1, random_state=0).fit([[1.0], [2.0]], [1.0, 2.0])
    assert model.report_.n_rows == 0
    assert "so the weights are equal." in model.report_.sentences()[0]
    assert "nan" not in str(model.report_)


def test_no_class_is_impossible(classifier: tm.AspenClassifier) -> None:
    assert classifier.predict_proba(IRIS[0]).min() > 0.0
    assert np.allclose(classifier.predict_proba(IRIS[0]).sum(axis=1), 1.0)


# --- the same whatever is done


@pytest.mark.parametrize("kind", [tm.AspenClassifier, tm.AspenRegressor])
def test_jobs_change_nothing(kind: Any) -> None:
    X, y = IRIS
    alone, together = (kind(n_jobs=n_jobs, **FEW).fit(X, y) for n_jobs in (None, 3))
    assert alone.report_ == together.report_ or np.isnan(alone.report_.error)
    assert (alone.predict_members(X) == together.predict_members(X)).all()
    assert (alone.predict(X) == together.predict(X)).all()


@pytest.mark.parametrize("kind", [tm.AspenClassifier, tm.AspenRegressor])
def test_members_added_later_are_those_of_a_single_training(kind: Any) -> None:
    X, y = IRIS
    grown = kind(n_estimators=26, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=30).fit(X, y)
    at_once = kind(n_estimators=30, random_state=0).fit(X, y)
    assert len(grown.members_) == len(at_once.members_)
    assert (grown.predict(X) == at_once.predict(X)).all()
    if kind is tm.AspenClassifier:
        assert (grown.predict_proba(X) == at_once.predict_proba(X)).all()


def test_a_warm_start_keeps_the_families_that_were_chosen() -> None:
    X = np.random.default_rng(1).normal(size=(150, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.3 * np.sin(3.0 * X[:, 0])
    model = tm.AspenRegressor(n_estimators=20, warm_start=True, boosting=False, random_state=0).fit(X, y)
    first, n_members = model.report_, len(model.members_)
    model.set_params(n_estimators=24).fit(X, y)
    assert {one.name for one in model.report_.chosen} == {one.name for one in first.chosen}
    assert [one.name for one in model.report_.tried] == [one.name for one in first.tried]
    assert len(model.members_) > n_members
    at_once = tm.AspenRegressor(n_estimators=24, boosting=False, random_state=0).fit(X, y)
    assert (model.predict(X) == at_once.predict(X)).all()


def test_a_family_kept_for_nothing_can_come_first_in_stages(regressor: tm.AspenRegressor) -> None:
    random = np.random.default_rng(0)
    target = random.normal(size=1000)
    noise = random.normal(size=1000)
    weights = number_weights(np.stack([target + 9.0 * noise, target + noise])[:, :, None], target, np.ones(1000))
    assert 0.0 < weights[0] < 1e-50
    one = clone(regressor).fit(*DIABETES)
    n_members = [tried.n_members for tried in one.report_.tried if tried.weight > 0.0]
    one.member_weights_ = np.where(np.arange(len(one.members_)) < n_members[0], weights[0], 1.0)
    assert np.allclose(next(one.staged_predict(DIABETES[0])), one.predict_members(DIABETES[0])[0])


def test_a_warm_start_needs_the_same_rows() -> None:
    model = tm.AspenClassifier(warm_start=True, **FEW).fit(*IRIS)
    with pytest.raises(InvalidInput, match=r"149 rows were given, but 150 to the members"):
        model.set_params(n_estimators=12).fit(IRIS[0][1:], IRIS[1][1:])


def test_rows_of_weight_zero_are_not_there() -> None:
    X, y = IRIS
    weights = np.ones(150)
    weights[::3] = 0.0
    weighted = tm.AspenClassifier(**FEW).fit(X, y, sample_weight=weights)
    without = tm.AspenClassifier(**FEW).fit(X[weights > 0], y[weights > 0])
    assert np.allclose(weighted.predict_proba(X), without.predict_proba(X), atol=0.05)


def test_the_score_of_rows_left_out_is_weighted() -> None:
    X, y = DIABETES
    weights = np.where(np.arange(len(y)) % 3 == 0, 5.0, 0.5)
    model = tm.AspenRegressor(n_estimators=4, random_state=0).fit(X, y, sample_weight=weights)
    judged = ~np.isnan(model.oob_prediction_)
    expected = r2_score(y[judged], model.oob_prediction_[judged], sample_weight=weights[judged])
    assert model.oob_score_ == pytest.approx(expected)


@pytest.mark.parametrize(
    ("target", "n_classes", "margins", "expected"),
    [
        (np.array([0.0, 0.0, 1.0, 2.0]), 0, [[0.0], [0.0]], (1.0 * 1.0 + 3.0 * 4.0) / 4.0),
        (np.array([0, 1, 0, 1]), 2, np.log([[0.5, 0.5], [0.9, 0.1]]), -(np.log(0.5) + 3.0 * np.log(0.1)) / 4.0),
    ],
)
def test_rounds_of_boosting_are_judged_by_weighted_rows(
    target: np.ndarray, n_classes: int, margins: Any, expected: float
) -> None:
    columns = read_columns(np.arange(4.0)[:, None], np.zeros(1, np.int32))
    sample = Sample(target, n_classes, 1, np.array([1.0, 1.0, 1.0, 3.0]))
    rounds = ROUNDS[n_classes > 0](columns, sample, np.array([1.0, 1.0, 0.0, 0.0]))
    assert rounds.loss(np.array(margins), np.array([2, 3])) == pytest.approx(expected)


# --- tables of all kinds


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_with_levels_and_missing_values(library: Any) -> None:
    frame, classes = rule_of_levels(200)
    table = frame if library is pd.DataFrame else pl.from_pandas(frame)
    model = tm.AspenClassifier(**FEW).fit(table, classes)
    assert model.score(table, classes) > 0.9
    assert model.feature_names_in_.tolist() == list(frame.columns)


def test_that_a_value_is_missing_can_be_learned() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 3)), random.integers(2, size=200)
    X[y == 1, 0] = np.nan
    model = tm.AspenClassifier(**FEW).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) == 1.0


def test_a_value_missing_for_the_first_time_is_no_trouble(classifier: tm.AspenClassifier) -> None:
    assert classifier.predict_proba(np.full((1, 4), np.nan)).max() < 0.9


def test_errors_too_large_to_be_multiplied_still_weigh() -> None:
    target = np.linspace(0.0, 1.0, 1000)
    answers = np.stack([target + 0.1, np.full(1000, 0.5)])[:, :, None]
    expected = number_weights(answers, target, np.ones(1000))
    assert number_weights(1e200 * answers, 1e200 * target, np.ones(1000)) == pytest.approx(expected)
    with np.errstate(invalid="ignore"):
        assert (number_weights(np.inf * answers, target, np.ones(1000)) == 0.5).all()


def test_huge_targets_are_learned_or_refused() -> None:
    X, y = IRIS
    model = tm.AspenRegressor(n_estimators=2, random_state=0)
    plain, factor = clone(model).fit(X, y + 1.0).predict(X), 2.0**500
    assert (clone(model).fit(X, (y + 1.0) * factor).predict(X) == plain * factor).all()
    with pytest.raises(InvalidTarget, match="divide y by a constant"):
        model.fit(X, (y + 1.0) * 1e200)


def test_the_place_of_missing_values_is_a_number() -> None:
    filling = Filling.of(np.array([[1.7e308], [-1.7e308], [np.nan]]), np.array([0]))
    assert filling.values[0] == -np.finfo(np.float64).max


def test_models_are_saved(tmp_path: Path, regressor: tm.AspenRegressor) -> None:
    frame, classes = rule_of_levels(100)
    model = tm.AspenClassifier(**FEW).fit(frame, classes)
    tm.save(model, tmp_path / "classes.tremula")
    tm.save(regressor, tmp_path / "numbers.tremula")
    again = tm.load(tmp_path / "classes.tremula")
    assert (again.predict_proba(frame) == model.predict_proba(frame)).all()
    assert str(again.report_) == str(model.report_)
    assert (tm.load(tmp_path / "numbers.tremula").predict(DIABETES[0]) == regressor.predict(DIABETES[0])).all()


def test_importances_find_the_attribute_that_matters() -> None:
    X, y = make_classification(
        150, 5, n_informative=1, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=0
    )
    model = tm.AspenClassifier(**FEW).fit(X, y)
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_of_numbers_sum_to_one(regressor: tm.AspenRegressor) -> None:
    assert regressor.feature_importances_.sum() == pytest.approx(1.0)


def test_shuffled_attributes_are_judged_by_rows_left_out(classifier: tm.AspenClassifier) -> None:
    found = classifier.permutation_importances(*IRIS, random_state=0)
    assert found.importances[2:].min() > found.importances[:2].max()
    assert (classifier.count_inbag(*IRIS).sum(axis=1) == 150).all()


def test_stages_end_with_the_answer(classifier: tm.AspenClassifier, regressor: tm.AspenRegressor) -> None:
    assert np.allclose(list(classifier.staged_predict_proba(IRIS[0]))[-1], classifier.predict_proba(IRIS[0]))
    assert np.allclose(list(regressor.staged_predict(DIABETES[0]))[-1], regressor.predict(DIABETES[0]))


@pytest.mark.parametrize("given", [{"boosting": "yes"}, {"warm_start": 1}])
def test_flags_are_flags(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(given))):
        tm.AspenClassifier(**given).fit(*IRIS)


def test_few_rows_are_enough() -> None:
    for n_rows in (2, 3, 6):
        X = np.arange(float(n_rows))[:, None]
        assert tm.AspenClassifier(**FEW).fit(X, np.arange(n_rows) % 2).predict(X).shape == (n_rows,)
        assert np.isfinite(tm.AspenRegressor(**FEW).fit(X, X[:, 0]).predict(X)).all()


def test_a_clone_is_not_fitted(classifier: tm.AspenClassifier) -> None:
    assert not hasattr(clone(classifier), "report_")


def test_aspen_is_no_ensemble_with_parts_replaced() -> None:
    for kind in (tm.AspenClassifier, tm.AspenRegressor):
        assert not issubclass(kind, Ensemble)


def test_parameters_of_the_ensembles_are_not_those_of_aspen(classifier: tm.AspenClassifier) -> None:
    assert not {"estimator", "combine", "oob_score"} & set(dir(classifier))
