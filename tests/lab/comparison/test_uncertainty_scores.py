"""Coverage and size of intervals and sets, as the comparison measures them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

import tremula as tm
from tremula.lab.comparison.cross_validation import cross_validate
from tremula.lab.comparison.methods import METHODS_OF, choose_methods
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.comparison.uncertainty_scores import score_uncertainty
from tremula.lab.datasets import Dataset, load_dataset
from tremula.report.summary import summarize

X, NUMBERS = load_diabetes(return_X_y=True)
SPLIT = np.arange(0, 300), np.arange(300, 442)


def test_coverage_and_width_are_those_of_the_intervals() -> None:
    model = tm.RandomForestRegressor(20, random_state=0).fit(X[:300], NUMBERS[:300])
    low, high = tm.Uncertainty(model, X[:300], NUMBERS[:300]).predict_interval(X[300:], 0.9).T
    inside = [lower <= number <= upper for lower, number, upper in zip(low, NUMBERS[300:], high)]
    assert score_uncertainty(model, X, NUMBERS, SPLIT, "regression") == {
        "coverage": sum(inside) / 142,
        "width": pytest.approx(np.mean(high - low)),
    }


def test_a_class_without_training_rows_is_not_covered() -> None:
    wine, classes = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"])[classes]
    train, test = np.flatnonzero((classes < 2) & (np.arange(178) % 2 > 0)), np.flatnonzero(np.arange(178) % 2 == 0)
    model = tm.RandomForestClassifier(20, random_state=0).fit(wine[train], names[train])
    sets = tm.Uncertainty(model, wine[train], names[train]).predict_set(wine[test])
    inside = [name in np.array(["a", "b"])[each] for name, each in zip(names[test], sets)]
    scores = score_uncertainty(model, wine, names, (train, test), "classification")
    assert scores == {"coverage": pytest.approx(np.mean(inside)), "set_size": pytest.approx(sets.sum() / len(test))}
    assert scores["coverage"] < 0.8


@pytest.mark.parametrize("model", [tm.CARTRegressor(), tm.ExtraTreesRegressor(5)], ids=repr)
def test_models_that_leave_no_rows_out_have_no_scores(model: tm.CARTRegressor) -> None:
    assert score_uncertainty(model.fit(X[:300], NUMBERS[:300]), X, NUMBERS, SPLIT, "regression") == {}


def test_too_few_rows_for_a_bound_have_no_scores() -> None:
    model = tm.RandomForestRegressor(20, random_state=0).fit(X[:6], NUMBERS[:6])
    assert score_uncertainty(model, X, NUMBERS, (np.arange(6), np.arange(6, 20)), "regression") == {}


def test_the_summary_has_the_columns_of_methods_that_measure_them() -> None:
    methods = choose_methods(["random-forest", "c45"])
    wine = load_dataset("wine")
    summary = summarize(wine, methods, cross_validate(methods, wine, 3))
    names = [metric["name"] for metric in summary["metrics"]]
    assert names == ["error", "log_loss", "brier", "coverage", "set_size"]
    assert next(metric for metric in summary["metrics"] if metric["name"] == "coverage")["aim"] == 90.0
    forest, tree = sorted(summary["methods"], key=lambda method: method["name"], reverse=True)
    assert 80.0 < forest["metrics"]["coverage"]["mean"] <= 100.0
    assert forest["metrics"]["coverage"]["high"] <= 100.0
    assert tree["metrics"]["coverage"] is None
    assert any(note.startswith("Coverage is the share of test rows") for note in summary["notes"])
    alone = choose_methods(["c45"])
    summary = summarize(wine, alone, cross_validate(alone, wine, 3))
    assert [metric["name"] for metric in summary["metrics"]] == ["error", "log_loss", "brier"]
    assert not any(note.startswith("Coverage") for note in summary["notes"])


def test_two_methods_are_judged_by_the_width_of_their_intervals() -> None:
    dataset = Dataset("diabetes", "scikit-learn", X[:150], NUMBERS[:150], task="regression")
    methods = choose_methods(["random-forest", "bagging"], "regression")
    summary = summarize(dataset, methods, cross_validate(methods, dataset, 2))
    assert [metric["name"] for metric in summary["metrics"]] == ["rmse", "mae", "r2", "coverage", "width"]
    assert {pair["metric"] for pair in summary["pairs"]} == {"rmse", "mae", "r2", "width"}


@pytest.mark.slow
@pytest.mark.parametrize("task", METHODS_OF)
def test_every_method_is_scored_as_asked_for_or_not_at_all(task: str) -> None:
    target = NUMBERS if task == "regression" else NUMBERS > 140
    scored = set()
    for method in [*METHODS_OF[task].values(), *choose_peers(["scikit-learn"], task)]:
        if method.name == "id3":
            continue
        model = method.build((), 0).fit(X[:300], target[:300])
        scores = score_uncertainty(model, X, target, SPLIT, task)
        if scores:
            scored.add(method.name)
            assert 0.82 < scores["coverage"] < 0.97, method.name
    assert scored == {"aspen", "smeared-bagging", "random-forest", "bagging", "sklearn-random-forest"}
