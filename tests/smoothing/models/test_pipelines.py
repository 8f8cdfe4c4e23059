"""Pipelines and blends of trees: read exactly where each attribute is transformed on its own, refused elsewhere."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from tremula.errors import InvalidInput, UnsupportedModel
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model

RANDOM = np.random.default_rng(0)
X = np.column_stack([RANDOM.normal(50.0, 9.0, 300), np.exp(RANDOM.normal(size=300)), RANDOM.integers(0, 9, 300)])
NUMBER = X[:, 0] / 9.0 + X[:, 1] * X[:, 2] + RANDOM.normal(size=300)
CLASSES = np.digitize(NUMBER, np.quantile(NUMBER, [0.4, 0.7]))
HOLES = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
FRAME = pd.DataFrame(X, columns=["age", "income", "rooms"])


def tree() -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_leaf_nodes=12, random_state=0)


def by_number(*parts: Any, **options: Any) -> ColumnTransformer:
    return make_column_transformer(*parts, **options)


STEPS: dict[str, list[Any]] = {
    "standard": [StandardScaler()],
    "range": [MinMaxScaler((-1, 3), clip=True)],
    "robust": [RobustScaler()],
    "largest": [MaxAbsScaler()],
    "power": [PowerTransformer()],
    "quantile": [QuantileTransformer(n_quantiles=40)],
    "quantile normal": [QuantileTransformer(n_quantiles=40, output_distribution="normal")],
    "bins": [KBinsDiscretizer(6, encode="ordinal")],
    "two values": [Binarizer(threshold=3.0)],
    "several": [VarianceThreshold(), StandardScaler(), "passthrough", MinMaxScaler(), SelectKBest(f_regression, k=2)],
    "no function": [FunctionTransformer()],
    "columns": [by_number((StandardScaler(), [1]), ("passthrough", [2]), ("drop", [0]))],
    "columns in another order": [by_number((RobustScaler(), [2, 0]), remainder="passthrough")],
    "one column twice": [by_number((StandardScaler(), slice(0, 2)), (QuantileTransformer(n_quantiles=9), [0, 2]))],
    "mask": [by_number((make_pipeline(SimpleImputer(), PowerTransformer()), np.array([True, False, True])))],
}


def fit_pipeline(name: str, model: Any = None) -> Pipeline:
    return make_pipeline(*STEPS[name], tree() if model is None else model).fit(X, NUMBER)


@pytest.mark.parametrize("name", STEPS)
def test_rows_around_every_threshold_are_answered_alike(name: str) -> None:
    fitted = fit_pipeline(name)
    model = read_model(fitted)
    (whole,) = model.sum.trees
    splits = ~whole.is_leaf
    for attribute, threshold in zip(whole.attribute[splits], whole.threshold[splits]):
        if not np.isfinite(threshold):
            continue
        steps = 1 if name not in ("power", "quantile", "quantile normal", "one column twice", "mask") else 200
        near = threshold * (1 + steps * np.finfo(float).eps * np.array([-1.0, 1.0]))
        rows = np.repeat(X[:40], 2, axis=0)
        rows[:, attribute] = np.tile(near, 40)
        np.testing.assert_allclose(model.answers(rows)[:, 0], fitted.predict(rows), rtol=1e-12)


def check_draws(fitted: Any, n_draws: int = 20_000) -> None:
    """Compare exact answers with means over draws of the original."""
    wrapper = tm.DualPerturbClassifier if hasattr(fitted, "classes_") else tm.DualPerturbRegressor
    soft = wrapper(fitted, noise=0.2, method="exact", thresholds="kept").fit(X)
    answer = fitted.predict_proba if hasattr(fitted, "classes_") else fitted.predict
    for row in X[:4]:
        drawn = np.atleast_2d(answer(row + 0.2 * X.std(axis=0) * RANDOM.normal(size=(n_draws, 3))).T).T
        error = (
            4.5 * drawn.std(axis=0) / np.sqrt(n_draws) + 5 * np.ptp(answer(X)) / n_draws
        )  # a rare leaf may not be drawn
        assert (np.abs(soft.smooth(row[None]).answers[0] - drawn.mean(axis=0)) <= error).all()


@pytest.mark.parametrize("name", STEPS)
def test_mean_of_draws(name: str) -> None:
    check_draws(fit_pipeline(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_mean_of_many_draws_of_a_forest(name: str) -> None:
    check_draws(fit_pipeline(name, RandomForestRegressor(10, max_depth=6, random_state=0)), n_draws=100_000)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_trees_of_other_libraries(library: str) -> None:
    kind = {"xgboost": "XGBRegressor", "lightgbm": "LGBMRegressor"}[library]
    options: dict[str, Any] = {"verbose": -1} if library == "lightgbm" else {}
    model = getattr(pytest.importorskip(library), kind)(n_estimators=5, n_jobs=1, **options)
    check_draws(fit_pipeline("standard", model), n_draws=5000)


def test_missing_values_are_filled_in_before_the_trees() -> None:
    fitted = make_pipeline(SimpleImputer(), StandardScaler(), tree()).fit(HOLES, NUMBER)
    model = read_model(fitted)
    np.testing.assert_allclose(model.answers(HOLES)[:, 0], fitted.predict(HOLES), rtol=1e-12)
    noise = np.array([1.0, 0.2, 0.3])
    draws = HOLES[:60, None, :] + noise * RANDOM.normal(size=(60, 3000, 3))
    drawn = fitted.predict(draws.reshape(-1, 3)).reshape(60, 3000)
    error = 5 * drawn.std(axis=1) / np.sqrt(3000) + np.ptp(NUMBER) / 300
    assert (np.abs(soften(model.sum, HOLES[:60], noise).margins[:, 0] - drawn.mean(axis=1)) < error).all()


@pytest.mark.parametrize("steps", [(SimpleImputer(),), (StandardScaler(), SimpleImputer()), (StandardScaler(),)])
def test_rows_with_missing_values_are_smoothed_if_the_pipeline_takes_them(steps: tuple[Any, ...]) -> None:
    fitted = make_pipeline(*steps, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(HOLES, CLASSES)
    soft = tm.DualPerturbClassifier(fitted, noise=1e-9).fit(HOLES)
    assert soft.method_ == "exact"
    np.testing.assert_allclose(soft.predict_proba(HOLES), fitted.predict_proba(HOLES), atol=1e-12)
    noisy = tm.DualPerturbClassifier(fitted, noise=0.3).fit(HOLES)
    drawn = tm.DualPerturbClassifier(fitted, noise=0.3, method="sample", n_draws=4000, random_state=0).fit(HOLES)
    np.testing.assert_allclose(noisy.predict_proba(HOLES), drawn.predict_proba(HOLES), atol=0.05)


def test_rows_with_missing_values_are_refused_if_the_pipeline_refuses_them() -> None:
    fitted = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=3)).fit(X, CLASSES)
    soft = tm.DualPerturbClassifier(fitted, noise=0.1).fit(X)
    for wrapper in (soft, pickle.loads(pickle.dumps(soft))):
        with pytest.raises(InvalidInput, match="X contains NaN, which Pipeline does not take"):
            wrapper.predict(HOLES)


def test_missing_values_that_steps_leave_missing() -> None:
    fitted = make_pipeline(StandardScaler(), tree()).fit(HOLES, NUMBER)
    np.testing.assert_allclose(read_model(fitted).answers(HOLES)[:, 0], fitted.predict(HOLES), rtol=1e-12)


def test_frames_and_columns_by_name() -> None:
    columns = make_column_transformer((StandardScaler(), ["rooms", "age"]), ("passthrough", ["income"]))
    fitted = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(FRAME, CLASSES)
    soft = tm.DualPerturbClassifier(fitted, noise=0.2, method="exact").fit(FRAME)
    plain = tm.DualPerturbClassifier(RandomForestClassifier(5, random_state=0).fit(X, CLASSES), noise=0.2).fit(X)
    assert soft.method_ == "exact"
    assert soft.predict_proba(FRAME).shape == plain.predict_proba(X).shape
    np.testing.assert_allclose(read_model(fitted).answers(FRAME), fitted.predict_proba(FRAME), atol=1e-12)


def test_a_scaled_tree_is_the_tree() -> None:
    scaled = tm.DualPerturbRegressor(fit_pipeline("standard"), noise=0.3).fit(X)
    bare = tm.DualPerturbRegressor(tree().fit(X, NUMBER), noise=0.3).fit(X)
    np.testing.assert_allclose(scaled.predict(X), bare.predict(X), rtol=1e-5)


def test_out_of_bag_rows_of_a_pipeline() -> None:
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(30, random_state=0)).fit(X, CLASSES)
    soft = tm.DualPerturbClassifier(forest, tuning="oob").fit(X, CLASSES)
    assert soft.noise_ >= 0


@pytest.mark.parametrize(
    "step",
    [
        Normalizer(),
        PCA(2),
        PolynomialFeatures(),
        FunctionTransformer(np.log1p),
        PowerTransformer("box-cox"),
        KBinsDiscretizer(3),
        SimpleImputer(add_indicator=True, missing_values=np.nan),
        SimpleImputer(missing_values=0),
        make_column_transformer((OneHotEncoder(), [2]), remainder="passthrough"),
    ],
    ids=str,
)
def test_other_steps_are_refused_with_a_reason(step: Any) -> None:
    fitted = make_pipeline(step, tree()).fit(np.abs(X) + 1.0, NUMBER)
    with pytest.raises(UnsupportedModel, match="is not known to transform each attribute on its own"):
        read_model(fitted)


# --- blends ---


def test_soft_votes_of_forests() -> None:
    parts = [("a", RandomForestClassifier(3, random_state=0)), ("b", make_pipeline(RobustScaler(), tm.C45Classifier()))]
    names = np.array(["low", "middle", "high"])[CLASSES]
    fitted = VotingClassifier([*parts, ("c", "drop")], voting="soft", weights=[1, 3, 9]).fit(X, names)
    assert read_model(fitted).sum.link.is_identity
    check_draws(fitted, n_draws=5000)


def test_means_of_regressors() -> None:
    parts = [("a", tree()), ("b", GradientBoostingRegressor(n_estimators=5)), ("c", tm.CARTRegressor())]
    check_draws(VotingRegressor(parts, weights=[1, 2, 1]).fit(X, NUMBER), n_draws=5000)


def test_soft_votes_of_boosters_keep_their_links() -> None:
    parts = [
        ("a", GradientBoostingClassifier(n_estimators=4, random_state=0)),
        ("b", RandomForestClassifier(3, random_state=0)),
    ]
    for target in (CLASSES, CLASSES > 0):
        fitted = VotingClassifier(parts, voting="soft", weights=[2, 1]).fit(X, target)
        soft = tm.DualPerturbClassifier(fitted, noise=0.2, thresholds="kept").fit(X)
        members = [tm.DualPerturbClassifier(each, noise=0.2, thresholds="kept").fit(X) for each in fitted.estimators_]
        first, second = (each.predict_proba(X) for each in members)
        np.testing.assert_allclose(soft.predict_proba(X), (2 * first + second) / 3, atol=1e-9)


def test_hard_votes_are_refused() -> None:
    fitted = VotingClassifier([("a", RandomForestClassifier(3))]).fit(X, CLASSES)
    with pytest.raises(UnsupportedModel, match="counts labels"):
        read_model(fitted)


def test_the_best_model_of_a_search() -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), tree()), {"decisiontreeregressor__max_depth": [2, 4]}, cv=3)
    fitted = search.fit(X, NUMBER)
    np.testing.assert_allclose(read_model(fitted).answers(X)[:, 0], fitted.predict(X), rtol=1e-12)
    check_draws(fitted, n_draws=5000)


def test_frozen_models_inside() -> None:
    frozen = FrozenEstimator(RandomForestRegressor(3, random_state=0).fit(X, NUMBER))
    check_draws(VotingRegressor([("a", frozen), ("b", tree())]).fit(X, NUMBER), n_draws=5000)
