"""The wrappers: which model they ask, what they learn from the training rows, and what they answer."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import SamplingWarning

X, y = load_iris(return_X_y=True)
REGRESSION = make_regression(200, 4, noise=5.0, random_state=0)
MODELS = [
    tm.C45Classifier(),
    tm.BaggingClassifier(n_estimators=5, random_state=0),
    tm.AdaBoostM1Classifier(n_estimators=5),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    LogisticRegression(max_iter=500),
    KNeighborsClassifier(),
]


# --- which model is asked ---


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_without_noise_the_model_answers_bit_for_bit(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model, noise=0.0).fit(X, y)
    hard = clone(model).fit(X, y)
    assert np.array_equal(soft.predict_proba(X), hard.predict_proba(X))
    assert np.array_equal(soft.predict(X), hard.predict(X))


def test_regression_without_noise_is_the_model_bit_for_bit() -> None:
    rows, target = REGRESSION
    model = tm.BaggingRegressor(n_estimators=5, random_state=0).fit(rows, target)
    assert np.array_equal(tm.DualPerturbRegressor(model, noise=0.0).fit(rows).predict(rows), model.predict(rows))


def test_a_fitted_estimator_is_not_trained_again() -> None:
    tree = tm.C45Classifier().fit(X, y)
    assert tm.DualPerturbClassifier(tree, noise=0.1).fit(X).estimator_ is tree


def test_a_fitted_estimator_is_trained_again_if_that_is_wanted() -> None:
    tree = tm.C45Classifier().fit(X[:60], y[:60])
    soft = tm.DualPerturbClassifier(tree, noise=0.1, prefit=False).fit(X, y)
    assert soft.classes_.tolist() == [0, 1, 2]
    assert tree.classes_.tolist() == [0, 1]


def test_a_copy_of_the_wrapper_is_trained_again_unless_frozen() -> None:
    tree = tm.C45Classifier().fit(X, y)
    again = clone(tm.DualPerturbClassifier(tree, noise=0.1)).fit(X[:60], y[:60])
    frozen = clone(tm.DualPerturbClassifier(FrozenEstimator(tree), noise=0.1)).fit(X[:60])
    assert len(again.classes_) == 2
    assert frozen.estimator_ is tree


class Plain:
    """A model of a library that knows nothing of scikit-learn."""

    classes_ = np.arange(3)
    n_features_in_ = 4

    def predict_proba(self, rows: Any) -> np.ndarray:
        return np.eye(3)[np.clip(rows[:, 0].astype(int) - 5, 0, 2)]

    def predict(self, rows: Any) -> np.ndarray:
        return self.predict_proba(rows).argmax(axis=1)


def test_a_model_that_is_no_estimator_is_taken_as_trained() -> None:
    model = Plain()
    soft = tm.DualPerturbClassifier(model, noise=0.5, method="sample", random_state=0).fit(X)
    assert soft.estimator_ is model
    assert soft.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert np.array_equal(tm.DualPerturbClassifier(model, noise=0.0).fit(X).predict(X), model.predict(X))


def test_rows_that_prune_the_tree_choose_the_noise() -> None:
    tree = tm.CARTClassifier(ccp_alpha="validation")
    soft = tm.DualPerturbClassifier(tree).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert soft.estimator_.get_n_leaves() < tm.CARTClassifier().fit(X[::2], y[::2]).get_n_leaves()
    assert soft.noise_loss_ in soft.noise_curve_[:, 1]


# --- scale ---


def test_scale_is_the_population_standard_deviation() -> None:
    soft = tm.DualPerturbClassifier(noise=0.1).fit(X, y)
    assert soft.scale_ == pytest.approx(X.std(axis=0))


def test_a_constant_attribute_has_scale_zero_and_a_hard_test() -> None:
    rows = np.column_stack([X[:, 3], np.full(len(X), 0.1)])
    soft = tm.DualPerturbClassifier(DecisionTreeClassifier(), noise=5.0).fit(rows, y)
    assert soft.scale_[1] == 0.0
    assert soft.certified_radius(rows[:1], unit="attribute")[0, 1] == np.inf  # it is not tested


def test_noise_on_a_scale_given_is_that_of_the_rows() -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    by_rows = tm.DualPerturbClassifier(tree, noise=0.3, thresholds="kept").fit(X)
    by_scale = tm.DualPerturbClassifier(tree, noise=0.3, scale=X.std(axis=0)).fit()
    assert by_scale.predict_proba(X) == pytest.approx(by_rows.predict_proba(X))


def test_levels_by_attribute_shake_those_attributes_alone() -> None:
    stump = tm.CARTClassifier(max_depth=1).fit(X[:100], y[:100])
    tested = stump.tree_.attribute[0]
    others = np.where(np.arange(4) == tested, 0.0, 1.0)
    soft = tm.DualPerturbClassifier(stump, noise=others).fit(X[:100])
    assert np.array_equal(soft.predict_proba(X), stump.predict_proba(X))


# --- answers ---


def test_a_stump_is_smoothed_by_the_normal_distribution() -> None:
    stump = tm.CARTClassifier(max_depth=1).fit(X[:100], y[:100])
    attribute, threshold = stump.tree_.attribute[0], stump.tree_.threshold[0]
    soft = tm.DualPerturbClassifier(stump, noise=0.5).fit(X[:100])
    below = ndtr((threshold - X[:, attribute]) / (0.5 * X[:100, attribute].std()))
    assert soft.predict_proba(X)[:, 0] == pytest.approx(below, abs=1e-8)


@pytest.mark.parametrize("method", ["exact", "path"])
@pytest.mark.parametrize("model", MODELS[:6], ids=lambda model: type(model).__name__)
def test_class_shares_sum_to_one(model: Any, method: str) -> None:
    soft = tm.DualPerturbClassifier(model, noise=0.4, method=method).fit(X, y)
    assert soft.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[2], MODELS[3]], ids=lambda model: type(model).__name__)
def test_exact_is_what_drawing_comes_to(model: Any) -> None:
    # Votes are drawn from the model itself, so with its own thresholds.
    options = {"noise": 0.4, "thresholds": "kept"}
    exact = tm.DualPerturbClassifier(model, **options).fit(X, y)
    drawn = tm.DualPerturbClassifier(model, method="sample", n_draws=4000, random_state=1, **options).fit(X, y)
    rows = X[::10]
    away = np.abs(exact.predict_proba(rows) - drawn.predict_proba(rows)).max(axis=1)
    assert np.all(away <= 4.5 * drawn.smooth(rows).bound + 1e-6)


def test_measurement_error_is_noise_in_the_attributes_own_units() -> None:
    tree = tm.C45Classifier().fit(X, y)
    soft = tm.DualPerturbClassifier(tree, noise=0.3).fit(X)
    hard = tm.DualPerturbClassifier(tree, noise=0.0).fit(X)
    assert hard.predict_proba(X, X_std=0.3 * X.std(axis=0)) == pytest.approx(soft.predict_proba(X))


def test_measurement_error_comes_on_top_of_the_noise() -> None:
    tree = tm.C45Classifier().fit(X, y)
    soft = tm.DualPerturbClassifier(tree, noise=0.3).fit(X)
    more = tm.DualPerturbClassifier(tree, noise=0.5).fit(X)
    errors = np.tile(0.4 * X.std(axis=0), (len(X), 1))  # 0.3² + 0.4² = 0.5²
    assert soft.predict_proba(X, X_std=errors) == pytest.approx(more.predict_proba(X))


def test_deviation_of_a_tree_is_that_of_its_answers_under_noise() -> None:
    rows, target = REGRESSION
    tree = tm.CARTRegressor(max_depth=3).fit(rows, target)
    soft = tm.DualPerturbRegressor(tree, noise=0.5).fit(rows)
    random = np.random.default_rng(0)
    drawn = [tree.predict(rows[:5] + 0.5 * rows.std(axis=0) * random.standard_normal((5, 4))) for _ in range(4000)]
    mean, deviation = soft.predict(rows[:5], return_std=True)
    assert mean == pytest.approx(np.mean(drawn, axis=0), abs=4.5 * np.max(deviation) / np.sqrt(4000))
    assert deviation == pytest.approx(np.std(drawn, axis=0), rel=0.1)


def test_deviation_of_an_ensemble_is_at_most_that_of_a_vote() -> None:
    bagged = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X, y)
    soft = tm.DualPerturbClassifier(bagged, noise=0.4).fit(X)
    shares, deviations = soft.predict_proba(X[50:53], return_std=True)
    assert shares.shape == deviations.shape == (3, 3)
    assert np.all(deviations <= np.sqrt(shares * (1 - shares)) + 1e-9)
    assert deviations.max() > 0.01


def test_a_vote_of_one_tree_is_the_expected_label() -> None:
    tree = tm.CARTClassifier(max_depth=2).fit(X, y)
    votes = tm.DualPerturbClassifier(tree, noise=0.4, combine="vote").fit(X)
    random = np.random.default_rng(0)
    drawn = [tree.predict(X[50:53] + 0.4 * X.std(axis=0) * random.standard_normal((3, 4))) for _ in range(2000)]
    shares = np.mean(np.array(drawn)[:, :, None] == np.arange(3), axis=0)
    assert votes.predict_proba(X[50:53]) == pytest.approx(shares, abs=0.05)


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), make_pipeline(StandardScaler(), SVC())])
def test_a_model_without_probabilities_is_asked_for_votes(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model, noise=0.2, method="sample", combine="vote", random_state=0).fit(X, y)
    assert soft.score(X, y) > 0.9


def test_a_neural_network_is_smoothed_by_drawing() -> None:
    model = make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=2000, random_state=0)).fit(X, y)
    soft = tm.DualPerturbClassifier(model, noise=0.3, method="sample", n_draws=20, random_state=0).fit(X)
    assert not np.array_equal(soft.predict_proba(X), model.predict_proba(X))
    assert soft.score(X, y) > 0.9


def test_drawn_answers_depend_neither_on_other_rows_nor_on_jobs() -> None:
    model = KNeighborsClassifier().fit(X, y)
    options: dict[str, Any] = {"noise": 0.3, "method": "sample", "n_draws": 7, "random_state": 0}
    one = tm.DualPerturbClassifier(model, **options).fit(X)
    two = tm.DualPerturbClassifier(model, **options, n_jobs=2).fit(X)
    many = np.tile(X, (20, 1))
    assert np.array_equal(one.predict_proba(many), two.predict_proba(many))
    assert np.array_equal(one.predict_proba(many)[:10], one.predict_proba(X[:10]))


# --- tables ---


@pytest.fixture
def colors() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size": random.normal(size=300), "color": random.choice(["blue", "green", "red"], 300)})
    return frame, ((frame["color"] == "red") ^ (frame["size"] > 0)).to_numpy().astype(int)


def test_a_nominal_level_is_flipped_by_its_training_shares(colors: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, _ = colors
    is_red = (frame["color"] == "red").to_numpy()
    soft = tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.0, flip=0.2).fit(frame, is_red)
    shares = soft.predict_proba(frame)[:, 1]
    green, red = (np.mean(frame["color"] == color) for color in ("green", "red"))
    assert shares[is_red] == pytest.approx(0.8)
    assert shares[(frame["color"] == "blue").to_numpy()] == pytest.approx(0.2 * red / (green + red))


def test_flips_are_drawn_for_other_models_as_for_trees(colors: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, target = colors
    encode = OneHotEncoder(sparse_output=False)
    model = make_pipeline(encode, LogisticRegression()).fit(frame[["color"]], target)
    options: dict[str, Any] = {"flip": 0.3, "method": "sample", "n_draws": 3000, "random_state": 0}
    soft = tm.DualPerturbClassifier(model, noise=0.0, **options).fit(frame[["color"]])
    hard = {color: model.predict_proba(pd.DataFrame({"color": [color]}))[0, 1] for color in ("blue", "green", "red")}
    share = frame["color"].value_counts(normalize=True)
    expected = 0.7 * hard["red"] + 0.3 * (share["blue"] * hard["blue"] + share["green"] * hard["green"]) / (
        share["blue"] + share["green"]
    )
    assert soft.predict_proba(pd.DataFrame({"color": ["red"]}))[0, 1] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda given: pl.from_pandas(pd.DataFrame(given))])
def test_frames_are_read_and_shaken(colors: tuple[pd.DataFrame, np.ndarray], make: Any) -> None:
    frame, target = colors
    table = make(frame)
    exact = tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.3, flip=0.1).fit(table, target)
    drawn = clone(exact).set_params(method="sample", n_draws=2000, random_state=0).fit(table, target)
    assert drawn.predict_proba(table[:20]) == pytest.approx(exact.predict_proba(table[:20]), abs=0.06)


@pytest.mark.filterwarnings("ignore::tremula.errors.SamplingWarning")
@pytest.mark.parametrize("model", [RandomForestClassifier(n_estimators=3, random_state=0), KNeighborsClassifier()])
def test_a_model_trained_on_a_frame_is_asked_with_frames(model: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_frame = tm.DualPerturbClassifier(clone(model).fit(frame, y), noise=0.3, n_draws=10, random_state=0).fit(frame)
    by_array = tm.DualPerturbClassifier(clone(model).fit(X, y), noise=0.3, n_draws=10, random_state=0).fit(X)
    assert list(by_frame.feature_names_in_) == list("abcd")
    assert by_frame.predict_proba(frame) == pytest.approx(by_array.predict_proba(X))


def test_jobs_change_no_bit_of_exact_answers() -> None:
    model = tm.BaggingClassifier(n_estimators=4, random_state=0).fit(X, y)
    many = np.tile(X, (20, 1))
    one, two = (tm.DualPerturbClassifier(model, noise=0.3, n_jobs=jobs).fit(X).predict_proba(many) for jobs in (1, 2))
    assert np.array_equal(one, two)


def test_the_answers_bound_holds_against_cutting_nothing() -> None:
    model = tm.BaggingClassifier(n_estimators=4, random_state=0).fit(X, y)
    cut = tm.DualPerturbClassifier(model, noise=0.3, tol=1e-3).fit(X).smooth(X)
    whole = tm.DualPerturbClassifier(model, noise=0.3, tol=0.0).fit(X).smooth(X)
    assert np.all(np.abs(cut.answers - whole.answers).max(axis=1) <= cut.bound + 1e-12)
    assert np.all(whole.bound <= 1e-12)


def test_missing_values_go_down_all_branches_under_noise() -> None:
    rows = X.copy()
    rows[::3, 2] = np.nan
    soft = tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.2).fit(rows, y)
    shares = soft.predict_proba(rows)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(X)))


# --- files ---


@pytest.mark.parametrize("model", [tm.C45Classifier(), tm.RandomForestClassifier(n_estimators=4, random_state=0)])
def test_a_wrapper_of_tremulas_model_is_saved_and_loaded(model: Any, tmp_path: Path) -> None:
    soft = tm.DualPerturbClassifier(model, random_state=0).fit(X, y)
    tm.save(soft, tmp_path / "soft")
    again = tm.load(tmp_path / "soft")
    assert np.array_equal(again.predict_proba(X), soft.predict_proba(X))
    assert again.noise_ == soft.noise_
    assert np.array_equal(again.noise_curve_, soft.noise_curve_)


# --- regression ---


def test_smoothing_helps_a_regression_tree_on_a_smooth_function() -> None:
    random = np.random.default_rng(0)
    points = random.uniform(0, 10, (400, 1))
    target = np.sin(points[:, 0]) + random.normal(scale=0.3, size=400)
    tree = DecisionTreeRegressor(min_samples_leaf=5).fit(points[:200], target[:200])
    soft = tm.DualPerturbRegressor(tree).fit(points[:200], X_val=points[200:300], y_val=target[200:300])
    assert soft.noise_ > 0
    assert soft.score(points[300:], target[300:]) > tree.score(points[300:], target[300:])


def test_gradient_boosting_margins_are_smoothed() -> None:
    rows, target = make_classification(200, 5, random_state=0)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(rows, target)
    soft = tm.DualPerturbClassifier(model, noise=0.5).fit(rows)
    random = np.random.default_rng(0)
    shaken = rows[0] + 0.5 * rows.std(axis=0) * random.standard_normal((20_000, 5))
    margin = model.decision_function(shaken).mean()
    assert soft.predict_proba(rows[:1])[0, 1] == pytest.approx(1 / (1 + np.exp(-margin)), abs=5e-3)


# --- how a model is smoothed, and why ---


@pytest.mark.parametrize(
    ("model", "options", "method", "reason"),
    [
        (tm.C45Classifier(), {}, "exact", "C45Classifier of tremula was read as a sum of 1 tree"),
        (tm.C45Classifier(), {"method": "path"}, "path", "was read as a sum of 1 tree"),
        (tm.C45Classifier(), {"method": "sample"}, "sample", "method='sample' was given"),
        (tm.C45Classifier(), {"combine": "vote"}, "exact", "was read as a sum of 1 tree"),
        (MODELS[4], {}, "exact", "RandomForestClassifier of sklearn was read as a sum of 5 trees"),
        (MODELS[4], {"combine": "vote"}, "sample", "has several trees, whose common label under noise has no closed"),
        (LogisticRegression(max_iter=500), {}, "sample", "compares several linear scores"),
        (KNeighborsClassifier(), {}, "sample", "the trees of KNeighborsClassifier of sklearn cannot be read"),
    ],
)
def test_the_method_and_the_reason_are_stated(model: Any, options: dict[str, Any], method: str, reason: str) -> None:
    wrapper = tm.DualPerturbClassifier(model, noise=0.1, n_draws=7, **options)
    is_drawn_silently = method != "sample" or "method" in options
    with nullcontext() if is_drawn_silently else pytest.warns(SamplingWarning, match=f"{reason}.*n_draws=7 draws"):
        wrapper.fit(X, y)
    assert wrapper.method_ == method
    assert reason in wrapper.method_reason_


def test_two_classes_by_a_linear_score_are_exact() -> None:
    soft = tm.DualPerturbClassifier(LogisticRegression(max_iter=500), noise=0.1).fit(X[:100], y[:100])
    assert soft.method_ == "exact"
    assert "LogisticRegression has a linear score" in soft.method_reason_


def test_drawing_is_warned_of_only_where_there_is_noise() -> None:
    model = KNeighborsClassifier().fit(X, y)
    hard = tm.DualPerturbClassifier(model, noise=0.0).fit(X)
    hard.predict(X)
    hard.predict(X, X_std=np.zeros(4))
    with pytest.warns(SamplingWarning, match="n_draws=100"):
        hard.predict(X[:1], X_std=np.ones(4))


def test_the_method_is_kept_in_copies_and_files(tmp_path: Path) -> None:
    soft = tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.3).fit(X, y)
    tm.save(soft, tmp_path / "soft")
    for again in (tm.load(tmp_path / "soft"), pickle.loads(pickle.dumps(soft))):
        assert (again.method_, again.method_reason_) == (soft.method_, soft.method_reason_)


# --- after fit ---


def test_parameters_set_after_fit_wait_for_the_next_fit() -> None:
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    soft = tm.DualPerturbClassifier(forest, noise=0.2).fit(X)
    before = soft.predict_proba(X)
    soft.set_params(method="sample", n_draws=2, tol=0.1, noise=0.5, estimator=tm.C45Classifier())
    for again in (soft, copy.deepcopy(soft), pickle.loads(pickle.dumps(soft))):
        assert np.array_equal(again.predict_proba(X), before)
        assert again.method_ == "exact"


@pytest.mark.parametrize("kind", [object, np.float32, np.int64])
def test_arrays_of_other_types_are_the_same_rows(kind: Any) -> None:
    rows = np.round(X)
    soft = tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.2).fit(X, y)
    assert np.array_equal(soft.predict_proba(rows.astype(kind)), soft.predict_proba(rows))
    assert np.array_equal(soft.predict_proba(rows.astype(kind)[:1]), soft.predict_proba(rows)[:1])


def test_weights_of_zero_choose_the_noise_without_these_rows() -> None:
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    soft = tm.DualPerturbClassifier(RandomForestClassifier(n_estimators=10, random_state=0)).fit(X, y, weights)
    assert np.isfinite(soft.noise_curve_).all()
    assert soft.scale_ == pytest.approx(X[weights > 0].std(axis=0))
