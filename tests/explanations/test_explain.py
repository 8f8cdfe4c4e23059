"""`explain` on models of every kind: sums, definitions, the package shap, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.ensemble import RandomForestRegressor as SklearnForest
from tests.explanations.naive_shapley import shapley_values, worth_by_background, worth_by_leaves
from tests.uncertainty.made_tables import classes_of, made_table

import tremula as tm
from tremula.errors import InvalidInput, MarginWarning, UnsupportedModel
from tremula.explanations.explain import explain
from tremula.explanations.explanation import Explanation
from tremula.explanations.shap_trees import shap_trees

X, Y = load_diabetes(return_X_y=True)
NARROW = X[:, :5]
IRIS, SPECIES = load_iris(return_X_y=True)
TABLE, TARGET = made_table(150, 0)
NEW, _ = made_table(20, 1)
CLASSES = classes_of(TARGET)
FEW: dict[str, Any] = {"n_estimators": 4, "random_state": 0}


def outputs_of(model: Any, rows: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows))


MIXED = {
    "cart": (tm.CARTRegressor(max_depth=5), TARGET),
    "cart, missing in shares": (tm.CARTRegressor(max_depth=5, missing="shares"), TARGET),
    "c4.5": (tm.C45Classifier(), classes_of(TARGET)),
    "forest": (tm.RandomForestClassifier(**FEW), classes_of(TARGET)),
    "extra trees": (tm.ExtraTreesRegressor(**FEW), TARGET),
    "bagging": (tm.BaggingRegressor(**FEW), TARGET),
    "smeared": (tm.SmearedBaggingRegressor(tm.CARTRegressor(), noise=0.2, **FEW), TARGET),
}


@pytest.mark.parametrize("name", MIXED)
def test_values_sum_to_predictions_with_levels_and_missing_values(name: str) -> None:
    estimator, target = MIXED[name]
    model = estimator.fit(TABLE, target)
    for background in (None, TABLE[:15]):
        explanation = explain(model, NEW, background=background)
        np.testing.assert_allclose(explanation.sums, outputs_of(model, NEW), rtol=0, atol=1e-12)
        assert explanation.feature_names == ("a", "b", "c")
        assert np.abs(explanation.values).max() > 0.05


@pytest.mark.parametrize("name", ["c4.5", "forest", "cart, missing in shares"])
def test_interventional_values_equal_their_definition_with_levels_and_missing_values(name: str) -> None:
    estimator, target = MIXED[name]
    model = estimator.fit(TABLE, target)
    background = TABLE[:6]
    values = explain(model, NEW[:4], background=background).values

    def worth(known: frozenset[int], row: int) -> np.ndarray:
        mixed = background.copy()
        for attribute in known:
            column = TABLE.columns[attribute]
            mixed[column] = pd.Series([NEW[column].iloc[row]] * len(mixed), index=mixed.index).astype(
                mixed[column].dtype
            )
        return outputs_of(model, mixed).mean(axis=0)

    for row in range(4):
        expected = shapley_values(3, lambda known, row=row: worth(known, row))
        np.testing.assert_allclose(values[row], expected, rtol=0, atol=1e-13)


def test_equals_shap_on_identical_trees() -> None:
    shap = pytest.importorskip("shap")
    for model, rows in (
        (tm.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, Y), X[:15]),
        (tm.RandomForestClassifier(n_estimators=10, random_state=0).fit(IRIS, SPECIES), IRIS[::9]),
        (SklearnForest(n_estimators=10, random_state=0).fit(X.astype(np.float32), Y), X[:15]),
    ):
        explainer = shap.TreeExplainer(shap_trees(model), feature_perturbation="tree_path_dependent")
        expected = explainer.shap_values(rows, check_additivity=False).reshape(len(rows), rows.shape[1], -1)
        explanation = explain(model, rows)
        np.testing.assert_allclose(explanation.values.reshape(expected.shape), expected, rtol=0, atol=1e-10)
        base = np.ravel(explainer.expected_value)
        np.testing.assert_allclose(np.ravel(explanation.base_values[0]), base, rtol=1e-12)


def test_equals_interventional_shap_up_to_its_single_precision() -> None:
    shap = pytest.importorskip("shap")
    rows = np.round(100 * X)  # shap rounds rows and factors to single precision: its own sums are off on other numbers
    model = tm.RandomForestRegressor(n_estimators=5, random_state=0).fit(rows, Y)
    explainer = shap.TreeExplainer(shap_trees(model), rows[50:80], feature_perturbation="interventional")
    expected = explainer.shap_values(rows[:10], check_additivity=False).squeeze()
    np.testing.assert_allclose(explain(model, rows[:10], background=rows[50:80]).values, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("method", ["exact", "path"])
@pytest.mark.parametrize("flip", [0.0, 0.2])
def test_smoothed_values_equal_their_definition(method: str, flip: float) -> None:
    model = tm.CARTRegressor(max_depth=4, missing="shares").fit(TABLE, TARGET)
    smooth = tm.DualPerturbRegressor(model, noise=0.4, flip=flip, method=method, tol=0.0).fit(TABLE)
    background = TABLE[:6]
    values = explain(smooth, NEW[:4], background=background)
    np.testing.assert_allclose(values.sums, smooth.predict(NEW[:4]), rtol=0, atol=1e-12)

    def worth(known: frozenset[int], row: int) -> np.ndarray:
        mixed = background.copy()
        for attribute in known:
            column = TABLE.columns[attribute]
            mixed[column] = pd.Series([NEW[column].iloc[row]] * len(mixed), index=mixed.index).astype(
                mixed[column].dtype
            )
        return np.asarray(smooth.predict(mixed).mean())

    for row in range(4):
        expected = shapley_values(3, lambda known, row=row: worth(known, row))
        np.testing.assert_allclose(values.values[row], expected, rtol=0, atol=1e-12)


def test_smoothed_path_dependent_values_are_a_sum_over_boxes() -> None:
    model = tm.CARTRegressor(max_depth=4).fit(NARROW, Y)
    smooth = tm.DualPerturbRegressor(model, noise=0.3, tol=0.0, thresholds="kept").fit(NARROW)
    rows, sd, tree = NARROW[:5], 0.3 * NARROW.std(axis=0), model.tree_
    explanation = explain(smooth, rows)
    np.testing.assert_allclose(explanation.sums, smooth.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(explanation.base_values, Y.mean(), rtol=1e-12)

    def probability(row: np.ndarray, attribute: int, tests: Any) -> float:
        low = max([tree.threshold[node] for node, branch in tests if branch == 1], default=-np.inf)
        high = min([tree.threshold[node] for node, branch in tests if branch == 0], default=np.inf)
        below = norm(row[attribute], sd[attribute]).cdf
        return float(below(high) - below(low))

    for row, values in zip(rows, explanation.values):
        expected = shapley_values(
            5,
            lambda known, row=row: worth_by_leaves(
                tree, known, lambda attribute, tests: probability(row, attribute, tests)
            ),
        )
        np.testing.assert_allclose(values, expected[:, 0], rtol=0, atol=1e-11)


def test_smoothed_forests() -> None:
    forest = tm.RandomForestClassifier(**FEW).fit(IRIS, SPECIES)
    for options in ({}, {"method": "path"}):
        smooth = tm.DualPerturbClassifier(forest, noise=0.2, tol=0.0, **options).fit(IRIS)
        explanation = explain(smooth, IRIS[::10])
        np.testing.assert_allclose(explanation.sums, smooth.predict_proba(IRIS[::10]), rtol=0, atol=1e-12)
    by_tree = np.random.default_rng(0).random((4, 4))
    smooth = tm.DualPerturbClassifier(forest, noise=by_tree, tol=0.0).fit(IRIS)
    for background in (None, IRIS[::15]):
        explanation = explain(smooth, IRIS[::10], background=background)
        np.testing.assert_allclose(explanation.sums, smooth.predict_proba(IRIS[::10]), rtol=0, atol=1e-12)
    none = tm.DualPerturbClassifier(forest, noise=0.0).fit(IRIS)
    np.testing.assert_array_equal(explain(none, IRIS[:5]).values, explain(forest, IRIS[:5]).values)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "estimator", [tm.M5Regressor(), tm.BaggingRegressor(tm.M5Regressor(), n_estimators=3, random_state=0)]
)
def test_model_trees_equal_their_definition(estimator: Any, missing: bool) -> None:
    rows, target = NARROW, Y
    if missing:
        rows = rows.copy()
        rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    model = estimator.fit(rows, target)
    background = rows[30:35]
    explanation = explain(model, rows[:3], background=background)
    np.testing.assert_allclose(explanation.sums, model.predict(rows[:3]), rtol=1e-12)
    for row, values in zip(rows[:3], explanation.values):
        expected = shapley_values(5, lambda known, row=row: worth_by_background(model.predict, row, background, known))
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)


def test_model_trees_with_levels() -> None:
    model = tm.M5Regressor().fit(TABLE, TARGET)
    explanation = explain(model, NEW, background=TABLE[:9])
    np.testing.assert_allclose(explanation.sums, model.predict(NEW), rtol=0, atol=1e-12)


def test_margins_are_explained_before_a_link_with_a_warning() -> None:
    target = SPECIES == 2
    model = tm.AspenClassifier(n_estimators=5, random_state=0).fit(IRIS, target)
    with pytest.warns(MarginWarning, match="before its link"):
        explanation = explain(model, IRIS[:5], background=IRIS[::15])
    assert explanation.explains == "margin"
    np.testing.assert_allclose(explanation.sums, model.as_tree_sum().margins(IRIS[:5]), rtol=0, atol=1e-12)


def test_boosting_of_other_libraries() -> None:
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(NARROW, Y)
    for background in (None, NARROW[:20]):
        explanation = explain(model, NARROW[:4], background=background)
        np.testing.assert_allclose(explanation.sums, model.predict(NARROW[:4]), rtol=1e-12)


def test_trees_without_training_weights_need_a_background() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3).fit(NARROW, Y)
    with pytest.raises(UnsupportedModel, match="give background rows"):
        explain(model, NARROW[:4])
    explanation = explain(model, NARROW[:4], background=NARROW[:20])
    np.testing.assert_allclose(explanation.sums, model.predict(NARROW[:4]), rtol=1e-5)


def test_votes_are_explained_only_without_missing_values() -> None:
    numbers = TABLE[["a", "b"]].fillna(0.0)
    model = tm.BaggingClassifier(combine="vote", **FEW).fit(numbers, CLASSES)
    explanation = explain(model, numbers[:9])
    np.testing.assert_allclose(explanation.sums, model.predict_proba(numbers[:9]), rtol=0, atol=1e-12)
    model = tm.BaggingClassifier(combine="vote", **FEW).fit(TABLE[["a", "b"]], CLASSES)
    with pytest.raises((InvalidInput, UnsupportedModel), match="a vote of a mixture"):
        explain(model, TABLE[["a", "b"]])


def test_refusals() -> None:
    forest = tm.RandomForestRegressor(**FEW).fit(NARROW, Y)
    with pytest.raises(InvalidInput, match="minimum of 1 is required"):
        explain(forest, NARROW[:2], background=NARROW[:0])
    with pytest.raises(InvalidInput, match="4 columns"):
        explain(forest, NARROW[:2], background=NARROW[:, :4])
    with pytest.raises(UnsupportedModel, match="give background rows"):
        explain(tm.M5Regressor().fit(NARROW, Y), NARROW[:2])
    sampled = tm.DualPerturbRegressor(forest, noise=0.1, method="sample").fit(NARROW)
    with pytest.raises(UnsupportedModel, match="smoothed by draws"):
        explain(sampled, NARROW[:2])
    with pytest.raises(UnsupportedModel, match="shap takes"):
        shap_trees(tm.C45Classifier().fit(TABLE, classes_of(TARGET)))


def test_parts_of_an_explanation() -> None:
    model = tm.RandomForestClassifier(**FEW).fit(IRIS, np.array(["x", "y", "z"])[SPECIES])
    explanation = explain(model, IRIS[:10])
    assert len(explanation) == 10
    assert "mean magnitude" in repr(explanation)
    np.testing.assert_array_equal(explanation[3:5].values, explanation.values[3:5])
    np.testing.assert_array_equal(explanation[..., "y"].values, explanation.values[:, :, 1])
    np.testing.assert_array_equal(explanation[..., 2].base_values, explanation.base_values[:, 2])
    with pytest.raises(IndexError, match="expected"):
        explanation[0, 1, 2]


def test_plots_of_shap_take_an_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    shap = pytest.importorskip("shap")
    plt = pytest.importorskip("matplotlib.pyplot")
    model = tm.RandomForestRegressor(**FEW).fit(X, Y)
    explanation: Explanation = explain(model, X[:12])
    given = explanation.to_shap()
    assert isinstance(given, shap.Explanation)
    for draw in (
        lambda: shap.plots.bar(given, show=False),
        lambda: shap.plots.waterfall(given[0], show=False),
        lambda: shap.plots.beeswarm(given, show=False),
        lambda: shap.plots.scatter(given[:, 2], show=False),
    ):
        draw()
        assert plt.gcf().get_axes()
        plt.close("all")
