"""Displays draw what they are given, where they are told to, and say what is wrong with what they cannot draw."""

import sys
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.collections import PathCollection
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.diagnostics import (
    BiasVarianceDisplay,
    BoundaryDisplay,
    CriticalDifferenceDisplay,
    KappaErrorDisplay,
    KohaviDisplay,
    NoiseCurveDisplay,
    WeightTraceDisplay,
    add_class_noise,
    bias_variance_curve,
    compare,
    compare_over_datasets,
    kappa_error,
    weight_trace,
)
from tremula.diagnostics.displays.boundary import shades
from tremula.diagnostics.displays.critical_difference import joined_ranks
from tremula.errors import InvalidInput, InvalidParameter, MissingLibrary

GRID = np.linspace(0, 1, 4)
DISPLAYS: dict[str, Any] = {
    "kappa-error": KappaErrorDisplay([0.2, 0.5, 0.4], [0.3, 0.2, 0.25], name="bagging"),
    "Kohavi": KohaviDisplay(["a", "b"], [0.1, -0.2], [[0.0, 0.2], [-0.3, -0.1]], "one", "other", "tree"),
    "bias and variance": BiasVarianceDisplay([1, 2], [0.2, 0.1], [0.1, 0.2], [0.1, 0.1], [0.4, 0.4], "depth"),
    "noise curve": NoiseCurveDisplay([0, 1], [0.2, 0.1], [[0.1, 0.3], [0.0, 0.2]], chosen=1),
    "boundary": BoundaryDisplay(GRID, GRID, np.eye(4, dtype=int), ["no", "yes"]),
    "critical difference": CriticalDifferenceDisplay(["a", "b", "c"], [1.2, 1.9, 2.9], 1.0),
    "weight trace": WeightTraceDisplay([1, 2, 3], [1, 0.8, 0.6]),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_plot_makes_a_figure_as_wide_as_a_column(name: str) -> None:
    display = DISPLAYS[name]
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    assert display.figure_.get_figwidth() == 3.5


@pytest.mark.parametrize("name", DISPLAYS)
def test_axes_that_are_given_are_used(name: str) -> None:
    figure, (other, ax) = plt.subplots(1, 2)
    display = DISPLAYS[name].plot(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert not other.has_data()
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", DISPLAYS)
def test_no_text_leaves_the_figure(name: str) -> None:
    display = DISPLAYS[name].plot()
    display.figure_.draw_without_rendering()
    box = display.ax_.get_tightbbox()
    width, height = display.figure_.get_size_inches() * display.figure_.dpi
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= width + 1
    assert box.y1 <= height + 1


@pytest.mark.parametrize("name", DISPLAYS)
def test_without_matplotlib_the_error_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingLibrary, match=r"pip install \"tremula\[plot\]\""):
        DISPLAYS[name].plot()


@pytest.mark.parametrize("name", [name for name in DISPLAYS if name != "critical difference"])
def test_axes_are_labelled(name: str) -> None:
    ax = DISPLAYS[name].plot().ax_
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name == "Kohavi"  # there the names of datasets are the labels


# ---- kappa-error


def offsets(points: PathCollection) -> list[list[float]]:
    return np.asarray(points.get_offsets()).tolist()


def test_kappa_error_from_estimator_draws_the_pairs() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
    result = kappa_error(forest, X, y)
    display = KappaErrorDisplay.from_estimator(forest, X, y)
    assert offsets(display.points_) == np.column_stack([result.kappa, result.mean_error]).tolist()


def test_kappa_error_from_predictions_draws_the_pairs() -> None:
    y, answers = np.array([0, 1, 0, 1]), np.array([[0, 1, 0, 1], [0, 1, 0, 0], [0, 1, 1, 1]])
    display = KappaErrorDisplay.from_predictions(y, answers)
    assert offsets(display.points_) == [[0.5, 0.125], [0.5, 0.125], [0.2, 0.25]]


def test_kappa_error_of_members_that_are_all_alike_is_drawn() -> None:
    display = KappaErrorDisplay(np.ones(6), np.zeros(6)).plot()
    assert len(offsets(display.points_)) == 6


def test_two_kappa_error_diagrams_share_axes_and_histograms() -> None:
    first = KappaErrorDisplay([0.1, 0.3, 0.2], [0.2, 0.3, 0.3], name="one").plot()
    second = KappaErrorDisplay([0.5, 0.6, 0.8], [0.1, 0.3, 0.2], name="other").plot(first.ax_, color="black")
    assert second.marginals_ == first.marginals_
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == ["one", "other"]


def test_kappa_error_without_histograms() -> None:
    display = KappaErrorDisplay([0.1, 0.3], [0.2, 0.3]).plot(marginals=False, density=False)
    assert display.marginals_ == {}
    assert display.ax_.child_axes == []


def test_kappa_error_refuses_arrays_of_different_lengths() -> None:
    with pytest.raises(InvalidInput, match="per pair"):
        KappaErrorDisplay([0.1, 0.2], [0.3]).plot()


# ---- Kohavi


@pytest.fixture(scope="module")
def comparisons() -> dict[str, Any]:
    methods = {"stump": DecisionTreeClassifier(max_depth=1), "Bayes": GaussianNB(), "tree": tm.CARTClassifier()}
    data = {"iris": load_iris, "wine": load_wine, "breast": load_breast_cancer}
    return {name: compare(methods, *load(return_X_y=True), cv=5, random_state=0) for name, load in data.items()}


def test_kohavi_scales_differences_and_intervals_by_the_baseline(comparisons: dict[str, Any]) -> None:
    display = KohaviDisplay.from_results(comparisons, "Bayes", "stump", "tree", test="paired t")
    for number, name in enumerate(comparisons):
        result, unit = comparisons[name].test("Bayes", "stump", "paired t"), comparisons[name].errors[2].mean()
        assert display.differences[number] == pytest.approx(result.difference / unit)
        assert display.intervals[number] == pytest.approx(np.array(result.interval) / unit)


def test_kohavi_sorts_datasets_by_the_difference() -> None:
    display = KohaviDisplay(list("abc"), [0.2, -0.5, 0.1], [[0, 1], [-1, 0], [0, 1]], "one", "other", "tree").plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    drawn = np.concatenate([box.lines[0].get_xydata() for box in display.ax_.containers])
    assert drawn[np.argsort(drawn[:, 1]), 0].tolist() == [-0.5, 0.1, 0.2]


def test_kohavi_tells_who_is_better_in_words() -> None:
    intervals = [[0.1, 0.3], [-0.3, -0.1], [-0.1, 0.1]]
    display = KohaviDisplay(list("abc"), [0.2, -0.2, 0.0], intervals, "one", "other", "tree").plot()
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == ["one better", "other better", "no difference shown"]


def test_kohavi_refuses_a_method_that_is_not_there(comparisons: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="stmp"):
        KohaviDisplay.from_results(comparisons, "Bayes", "stmp", "tree")


def test_kohavi_refuses_a_baseline_without_error() -> None:
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    result = compare({"tree": DecisionTreeClassifier(), "Bayes": GaussianNB()}, X, y, cv=[(np.arange(1, 39), [0, 39])])
    with pytest.raises(InvalidInput, match="easy"):
        KohaviDisplay.from_results({"easy": result}, "Bayes", "tree", "tree", test="proportions")


# ---- bias and variance, noise


@pytest.fixture(scope="module")
def curve() -> Any:
    X, y = load_iris(return_X_y=True)
    options = {"n_models": 5, "random_state": 0}
    return bias_variance_curve(DecisionTreeClassifier(), X, y, parameter="max_depth", values=[3, 1, 2], **options)


def test_bias_and_variance_are_stacked_in_the_order_of_the_parameter(curve: Any) -> None:
    display = BiasVarianceDisplay.from_results(curve)
    order = [1, 2, 0]
    assert display.terms_["bias"].tolist() == curve.bias[order].tolist()
    assert display.ax_.lines[0].get_xydata().tolist() == np.column_stack([[1, 2, 3], curve.error[order]]).tolist()
    top = display.ax_.collections[1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx((curve.bias + curve.variance).max())


def test_bias_and_variance_from_estimator_are_those_of_the_curve(curve: Any) -> None:
    X, y = load_iris(return_X_y=True)
    options: dict[str, Any] = {"parameter": "max_depth", "values": [3, 1, 2], "n_models": 5, "random_state": 0}
    display = BiasVarianceDisplay.from_estimator(DecisionTreeClassifier(), X, y, **options)
    assert np.asarray(display.error).tolist() == curve.error.tolist()


def test_values_that_are_no_numbers_are_drawn_as_bars() -> None:
    display = BiasVarianceDisplay(["gini", "entropy"], [0.2, 0.1], [0.1, 0.3], parameter="criterion").plot()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["gini", "entropy"]
    assert [bar.get_height() for bar in display.ax_.containers[1]] == pytest.approx([0.1, 0.3])
    assert [bar.get_y() for bar in display.ax_.containers[1]] == [0.2, 0.1]


def test_noise_that_is_zero_everywhere_is_left_out() -> None:
    display = BiasVarianceDisplay([1, 2], [0.2, 0.1], [0.1, 0.3], [0.0, 0.0]).plot()
    assert list(display.terms_) == ["bias", "variance"]


def test_terms_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidInput, match="variance"):
        BiasVarianceDisplay([1, 2], [0.2, 0.1], [0.1]).plot()


def test_noise_curve_draws_errors_and_marks_the_smallest_of_the_best(curve: Any) -> None:
    display = NoiseCurveDisplay.from_results(curve)
    assert display.ax_.lines[0].get_ydata().tolist() == curve.error[[1, 2, 0]].tolist()
    best = [value for value, error in zip(curve.values, curve.error) if error == curve.error.min()]
    assert display.chosen == min(best)
    assert np.asarray(display.intervals).tolist() == [list(result.intervals["error"]) for result in curve.results]


def test_noise_curve_from_estimator_is_that_of_the_curve() -> None:
    X, y = load_wine(return_X_y=True)
    options = {"parameter": "max_depth", "values": [1, 3, 2], "n_models": 5, "random_state": 0}
    display = NoiseCurveDisplay.from_estimator(DecisionTreeClassifier(), X, y, chosen=2, **options)
    assert display.errors.tolist() == bias_variance_curve(DecisionTreeClassifier(), X, y, **options).error.tolist()
    assert display.chosen == 2


def test_noise_curve_marks_the_amount_that_is_given() -> None:
    display = NoiseCurveDisplay([0.0, 0.2], [0.3, 0.1], chosen=0.1).plot()
    assert display.ax_.lines[1].get_xdata() == [0.1, 0.1]
    assert display.ax_.lines[2].get_xydata().tolist() == [[0.1, pytest.approx(0.2)]]


def test_noise_curve_refuses_what_it_cannot_mark_or_order(curve: Any) -> None:
    with pytest.raises(InvalidParameter, match="chosen='bset'"):
        NoiseCurveDisplay.from_results(curve, chosen="bset")
    with pytest.raises(InvalidInput, match="'gini', 'entropy': an amount of noise is a number"):
        NoiseCurveDisplay.from_results(replace(curve, parameter="criterion", values=["gini", "entropy"]))


def test_noise_curve_refuses_amounts_without_errors() -> None:
    with pytest.raises(InvalidInput, match="each amount"):
        NoiseCurveDisplay([0.0, 0.1], [0.3]).plot()


# ---- boundary


@pytest.mark.parametrize("frame", [np.asarray, lambda X: pd.DataFrame(X, columns=["u", "v"]), None])
def test_regions_are_what_the_classifier_predicts(frame: Any) -> None:
    X, y = make_moons(60, noise=0.2, random_state=0)
    table = pl.DataFrame(X, schema=["u", "v"]) if frame is None else frame(X)
    labels = np.array(["no", "yes"])[y]
    model = tm.C45Classifier().fit(table, labels)
    display = BoundaryDisplay.from_estimator(model, table, labels, resolution=15)
    plain = tm.C45Classifier().fit(X, labels)
    places = np.array([[x, y] for y in display.y for x in display.x])
    assert np.array(["no", "yes"])[display.codes].ravel().tolist() == plain.predict(places).tolist()
    assert display.probabilities.reshape(-1, 2).tolist() == plain.predict_proba(places).tolist()


def test_points_of_each_class_are_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    display = BoundaryDisplay.from_estimator(GaussianNB().fit(X[:, :2], y), X[:, :2], y, resolution=10)
    drawn = [offsets(points) for points in display.ax_.collections if isinstance(points, PathCollection)]
    assert drawn == [X[y == code, :2].tolist() for code in range(3)]


def test_other_attributes_keep_the_values_of_the_reference_row() -> None:
    X = np.array([[0.0, 0.0, 5.0], [1.0, 1.0, -5.0], [0.5, 0.9, 6.0], [0.3, 0.2, -7.0]])
    model = DecisionTreeClassifier().fit(X, X[:, 2] > 0)
    assert set(np.ravel(BoundaryDisplay.from_estimator(model, X, reference=0, resolution=5).codes)) == {1}
    assert set(np.ravel(BoundaryDisplay.from_estimator(model, X, reference=1, resolution=5).codes)) == {0}


def test_other_attributes_may_be_nominal() -> None:
    X = np.array([[0.0, 0.0, "red"], [1.0, 1.0, "blue"], [0.5, 0.9, "red"], [0.3, 0.2, "blue"]], dtype=object)
    model = tm.C45Classifier(min_weight_leaf=1, categorical_features=[2]).fit(X, ["yes", "no", "yes", "no"])
    display = BoundaryDisplay.from_estimator(model, X, reference=1, resolution=5)
    assert set(np.ravel(display.codes)) == {0}


def test_a_classifier_without_probabilities_is_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    display = BoundaryDisplay.from_estimator(RidgeClassifier().fit(X[:, :2], y), X[:, :2], resolution=10)
    assert display.probabilities is None


def test_uncertain_places_are_white_and_certain_ones_coloured() -> None:
    colours = shades(np.array([[0, 0]]), np.array([[[0.5, 0.5], [1.0, 0.0]]]))
    assert colours[0, 0].tolist() == [1.0, 1.0, 1.0]
    assert colours[0, 1].max() - colours[0, 1].min() > 0.3


def test_boundary_refuses_a_regressor() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidParameter, match="classifier"):
        BoundaryDisplay.from_estimator(LinearRegression().fit(X, y), X)


def test_boundary_refuses_one_column() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInput, match="two columns"):
        BoundaryDisplay.from_estimator(GaussianNB().fit(X[:, :1], y), X[:, :1])


@pytest.mark.parametrize("features", [(0, 7), (0,), (1, 1), ("u", "v"), 0])
@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame])
def test_boundary_refuses_attributes_that_are_not_there(features: Any, frame: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X = frame(X)
    with pytest.raises(InvalidParameter, match="give two different numbers from 0 to 3"):
        BoundaryDisplay.from_estimator(GaussianNB().fit(X, y), X, y, features=features)


def test_boundary_refuses_a_constant_axis() -> None:
    X, y = np.column_stack([np.arange(4.0), np.ones(4)]), np.array([0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="x1 has fewer than two values"):
        BoundaryDisplay.from_estimator(DecisionTreeClassifier().fit(X, y), X)


# ---- critical difference


def test_joined_are_ranks_nearer_than_the_critical_difference() -> None:
    assert joined_ranks(np.array([3.0, 1.0, 2.0, 5.0]), 1.5) == [(1.0, 2.0), (2.0, 3.0)]


def test_a_difference_as_large_as_the_critical_one_joins_nothing() -> None:
    assert joined_ranks(np.array([1.0, 2.0]), 1.0) == []


@pytest.mark.parametrize("by", ["nemenyi", "wilcoxon"])
def test_critical_difference_joins_the_cliques_of_the_ranking(by: str) -> None:
    errors = np.array([0.0, 0.002, 0.1, 0.2]) + np.random.default_rng(0).normal(0, 0.02, (20, 4))
    ranking = compare_over_datasets(errors, names=["a", "b", "c", "d"])
    rank = dict(zip(ranking.names, ranking.mean_ranks))
    display = CriticalDifferenceDisplay.from_results(ranking, by=by)
    assert display.bars_ == [(rank[group[0]], rank[group[-1]]) for group in ranking.cliques(by)]
    assert display.bars_


def test_critical_difference_names_every_method_with_its_rank() -> None:
    display = CriticalDifferenceDisplay(["tree", "bagging"], [1.75, 1.25], 0.3).plot()
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"tree 1.75", "bagging 1.25", "critical difference 0.30"} <= texts


def test_critical_difference_of_methods_that_always_tie_is_drawn() -> None:
    display = CriticalDifferenceDisplay(["A", "B", "C"], [2.0, 2.0, 2.0], 0.5).plot()
    assert display.ax_.get_xlim() == (2, 3)
    assert display.bars_ == [(2, 2)]


def test_a_critical_difference_wider_than_the_ranks_stays_in_the_figure() -> None:
    display = CriticalDifferenceDisplay(["A", "B", "C"], [1.5, 2.0, 2.5], 3.4).plot()
    assert display.ax_.get_xlim() == pytest.approx((1, 4.4))
    display.figure_.draw_without_rendering()
    box = display.ax_.get_tightbbox()
    assert box.x0 >= -1
    assert box.x1 <= display.figure_.bbox.width + 1


def test_critical_difference_refuses_one_method() -> None:
    with pytest.raises(InvalidInput, match="two methods"):
        CriticalDifferenceDisplay(["tree"], [1.0], 0.3).plot()


# ---- weights


def test_weight_trace_from_estimator_draws_the_trace() -> None:
    X, y = load_iris(return_X_y=True)
    noisy, mask = add_class_noise(y, 0.1, random_state=0)
    model = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=3), n_estimators=4, keep_weights=True).fit(X, noisy)
    trace, display = weight_trace(model, mask), WeightTraceDisplay.from_estimator(model, mask)
    _, corrupted, clean = display.ax_.lines
    assert corrupted.get_xydata().tolist() == [[i + 1, weight] for i, weight in enumerate(trace.corrupted)]
    assert clean.get_ydata().tolist() == trace.clean.tolist()


def test_weight_trace_refuses_curves_of_different_lengths() -> None:
    with pytest.raises(InvalidInput, match="per round"):
        WeightTraceDisplay([1.0, 2.0], [1.0]).plot()
