"""Thresholds on training values are moved off them: no training row changes, and little noise changes no answer."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.smoothing.models.tree_builder import BinaryNodes, build_tree
from tremula.smoothing.thresholds import NEAR, find_ties, move_thresholds
from tremula.trees.tree_sum import TreeSum, mean_of_trees

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)
X = np.column_stack([RANDOM.integers(0, 7, (300, 2)), np.where(RANDOM.random(300) < 0.5, 0.0, RANDOM.random(300))])
Y = ((X[:, 0] + X[:, 1] > 6) ^ (X[:, 2] > 0.3)).astype(int)


def stumps(thresholds: Floats, strict: bool) -> TreeSum:
    """Return one tree of a single split of attribute 0 for each threshold."""
    trees = []
    for threshold in thresholds:
        children, tested = np.array([[1, -1, -1], [2, -1, -1]]), np.array([0, -1, -1])
        places, values = np.array([threshold, 0, 0]), np.array([[0.0], [0.0], [1.0]])
        trees.append(
            build_tree(BinaryNodes(*children, tested, places, np.zeros(3, bool), values), np.zeros(1, np.int32), strict)
        )
    return mean_of_trees(trees)


def expected_place(threshold: float, strict: bool, values: Floats) -> float:
    """Return the largest value of the first branch after the move; the naive twin."""
    last = float(np.nextafter(threshold, -np.inf)) if strict else threshold
    known = np.unique(values[np.abs(values) < np.finfo(float).max / 4])
    if len(known) > 1:
        known = np.array([known[0] - (known[1] - known[0]), *known, known[-1] + (known[-1] - known[-2])])
    below, above = known[known <= last], known[known > last]
    if not len(below) or not len(above):
        return last
    low, high = float(below.max()), float(above.min())
    middle = low + 0.5 * (high - low)
    is_near = min(last - low, high - last) <= NEAR * (high - low)
    return middle if is_near and low <= middle < high else last


VALUES = {
    "integers": np.arange(-3.0, 4.0),
    "neighbouring doubles": np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0), 1.1]),
    "subnormal": np.array([0.0, 5e-324, 1e-323, 2.0**-149, 1.0]),
    "huge": np.array([-1e307, 0.0, 1e307]),
    "beside zero": np.array([-2.0, 0.0, 3.0]),
    "constant": np.ones(3),
    "with holes": np.array([np.nan, 1.0, np.inf, 2.0, -np.inf]),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_naive_twin(name: str, strict: bool) -> None:
    values = VALUES[name]
    known = values[np.isfinite(values)]
    thresholds = np.concatenate(
        [known, np.nextafter(known, 9e307), known + 0.25, known + 1e-35, known - 1e-35, known + 0.1]
    )
    model = stumps(thresholds, strict)
    ties = find_ties(model, values[:, None])
    moved = move_thresholds(model, ties)
    for threshold, before, after in zip(thresholds, model.trees, moved.trees):
        place = np.nextafter(after.threshold[0], -np.inf) if strict else after.threshold[0]
        assert place == expected_place(threshold, strict, known)
        rows = known[:, None]
        np.testing.assert_array_equal(after.predict_values(rows), before.predict_values(rows))


def test_thresholds_between_values_stay() -> None:
    model = stumps(np.array([0.3, 0.5, 0.9]), strict=False)
    assert len(find_ties(model, np.array([[0.0], [1.0]]))) == 0
    assert move_thresholds(model, np.empty((0, 3))) is model


def test_a_threshold_shared_by_trees_of_both_kinds() -> None:
    rows = np.array([[0.0], [1.0], [2.0]])
    for strict, place in ((False, 1.5), (True, 0.5)):
        moved = move_thresholds(stumps(np.ones(1), strict), find_ties(stumps(np.ones(1), strict), rows))
        assert moved.trees[0].threshold[0] == pytest.approx(place, abs=1e-15)


# --- every library ---


def of(library: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(library), name)(**options)


MODELS: dict[str, Callable[[], Any]] = {
    "C4.5": tm.C45Classifier,
    "CART": tm.CARTClassifier,
    "bagging": lambda: tm.BaggingClassifier(n_estimators=5, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "histogram": lambda: pytest.importorskip("treelite") and HistGradientBoostingClassifier(max_iter=5),
    "XGBoost": of("xgboost", "XGBClassifier", n_estimators=8, n_jobs=1),
    "XGBoost exact": of("xgboost", "XGBClassifier", n_estimators=8, n_jobs=1, tree_method="exact"),
    "LightGBM": of("lightgbm", "LGBMClassifier", n_estimators=8, verbose=-1, n_jobs=1),
    "CatBoost": of("catboost", "CatBoostClassifier", iterations=8, verbose=0, allow_writing_files=False),
}
ON_VALUES = ("C4.5", "XGBoost", "LightGBM")


@pytest.mark.parametrize("method", ["exact", "path"])
@pytest.mark.parametrize("name", MODELS)
def test_little_noise_gives_the_models_own_answers(name: str, method: str) -> None:
    fitted = MODELS[name]().fit(X, Y)
    soft = tm.DualPerturbClassifier(fitted, noise=1e-5, method=method).fit(X)
    np.testing.assert_allclose(soft.predict_proba(X), fitted.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "CatBoost"])
def test_little_noise_gives_the_models_own_answers_with_missing_values(name: str) -> None:
    rows, target = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X), Y.copy()
    target[np.isnan(rows[:, 0])] = 1  # worth a split of missing values from all others
    fitted = MODELS[name]().fit(rows, target)
    soft = tm.DualPerturbClassifier(fitted, noise=1e-7).fit(rows)
    assert soft.method_ == "exact"
    np.testing.assert_allclose(soft.predict_proba(rows), fitted.predict_proba(rows), atol=2e-6)


@pytest.mark.parametrize("fill", [-3.0, 50.0])
def test_values_that_are_filled_in_are_separated_from_the_others(fill: float) -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
    imputer, model = SimpleImputer(strategy="constant", fill_value=fill), xgboost.XGBClassifier(n_estimators=5)
    fitted = make_pipeline(imputer, model).fit(rows, np.isnan(rows[:, 0]) ^ Y)
    soft = tm.DualPerturbClassifier(fitted, noise=1e-7).fit(rows)
    assert soft.method_ == "exact"
    np.testing.assert_allclose(soft.predict_proba(rows), fitted.predict_proba(rows), atol=2e-6)


@pytest.mark.parametrize("name", ON_VALUES)
def test_kept_thresholds_are_ties(name: str) -> None:
    fitted = MODELS[name]().fit(X, Y)
    kept = tm.DualPerturbClassifier(fitted, noise=1e-5, thresholds="kept").fit(X)
    assert abs(kept.predict_proba(X) - fitted.predict_proba(X)).max() > 0.01
    assert len(kept.moved_thresholds_) == 0
    assert len(tm.DualPerturbClassifier(fitted, noise=1e-5).fit(X).moved_thresholds_) > 0


def test_without_rows_thresholds_stay() -> None:
    fitted = tm.C45Classifier().fit(X, Y)
    bare = tm.DualPerturbClassifier(fitted, noise=0.1, scale=X.std(axis=0)).fit()
    kept = tm.DualPerturbClassifier(fitted, noise=0.1, thresholds="kept").fit(X)
    np.testing.assert_allclose(bare.predict_proba(X), kept.predict_proba(X), atol=1e-12)


# --- one model for answers, draws, gradients, certificates, files and the choice of the noise ---


@pytest.fixture(scope="module")
def soft() -> tm.DualPerturbClassifier:
    return tm.DualPerturbClassifier(tm.C45Classifier().fit(X, Y), noise=0.2, tol=0.0).fit(X)


def test_draws_have_the_same_thresholds(soft: tm.DualPerturbClassifier) -> None:
    drawn = tm.DualPerturbClassifier(soft.estimator_, noise=0.2, method="sample", n_draws=4000, random_state=0).fit(X)
    smoothed = drawn.smooth(X[:20])
    assert (abs(smoothed.answers - soft.predict_proba(X[:20])).max(axis=1) < 4.5 * smoothed.bound + 0.002).all()


def test_gradients_are_those_of_the_answers(soft: tm.DualPerturbClassifier) -> None:
    rows, step = X[:20], 1e-6
    slopes = soft.gradient(rows)
    for attribute in range(3):
        away = np.eye(3)[attribute] * step
        change = (soft.predict_proba(rows + away) - soft.predict_proba(rows - away)) / (2 * step)
        np.testing.assert_allclose(slopes[:, :, attribute], change, atol=1e-6)


def test_no_move_within_the_radius_changes_the_class(soft: tm.DualPerturbClassifier) -> None:
    rows = X[:30]
    radii, labels = soft.certified_radius(rows), soft.predict(rows)
    directions = np.random.default_rng(3).normal(size=(200, 30, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    for direction in directions:
        moved = rows + 0.999 * radii[:, None] * direction * 0.2 * soft.scale_
        assert (soft.predict(moved) == labels).all()


def test_copies_and_files_have_the_same_thresholds(soft: tm.DualPerturbClassifier, tmp_path: Path) -> None:
    tm.save(soft, tmp_path / "soft.tremula")
    for again in (tm.load(tmp_path / "soft.tremula"), pickle.loads(pickle.dumps(soft))):
        np.testing.assert_array_equal(again.predict_proba(X), soft.predict_proba(X))


def test_attributes_without_noise_have_the_models_own_thresholds() -> None:
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    fitted = tm.C45Classifier().fit(np.tile(rows, (5, 1)), np.tile([0, 1, 1, 1], 5))
    soft = tm.DualPerturbClassifier(fitted, noise=[0.0, 1e-5]).fit(rows)
    between = np.array([[0.25, 0.0]])  # above the model's threshold 0, below the middle of the gap
    np.testing.assert_allclose(soft.predict_proba(between), fitted.predict_proba(between), atol=1e-9)
    both = tm.DualPerturbClassifier(fitted, noise=1e-5).fit(rows)
    assert abs(both.predict_proba(between) - fitted.predict_proba(between)).max() > 0.5
    without = tm.DualPerturbClassifier(fitted, noise=0.0).fit(rows)
    np.testing.assert_array_equal(without.predict_proba(between), fitted.predict_proba(between))


def test_no_noise_is_judged_by_the_models_own_answers() -> None:
    fitted = DecisionTreeRegressor(max_depth=1).fit([[0.0], [2.0], [2.0]], [0.0, 1.0, 1.0])
    held_out = np.array([[1.1], [1.2]])
    rows = np.array([[1.0], [2.0], [0.0]])  # the threshold 1 lies on a value: it is moved to 1.5
    soft = tm.DualPerturbRegressor(fitted).fit(rows, X_val=held_out, y_val=[1.0, 1.0])
    assert len(soft.moved_thresholds_) == 1
    assert soft.noise_curve_[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("tune_on", ["model", "tree"])
def test_out_of_bag_rows_are_judged_with_moved_thresholds(tune_on: str) -> None:
    bagging = tm.BaggingClassifier(tm.C45Classifier(), n_estimators=10, random_state=0).fit(X, Y)
    soft = tm.DualPerturbClassifier(bagging, noise=0.1, tuning="oob", tune_on=tune_on).fit(X, Y)
    (judged,) = soft._validation_rows(X, Y, None, None, None)
    np.testing.assert_allclose(judged.answers(np.full(3, 1e-5)), judged.answers(np.zeros(3)), atol=1e-6)
