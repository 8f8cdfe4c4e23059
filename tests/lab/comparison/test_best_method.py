"""The best method: what is said of its predictions is counted from held-out rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

from tremula import BaggingClassifier, BaggingRegressor, C45Classifier, ExtraTreesRegressor
from tremula.lab.comparison.best_method import classes, numbers
from tremula.lab.comparison.best_method.description import MISSED, UNSURE, describe_best
from tremula.lab.comparison.best_method.held_out import HeldOut, held_out_predictions
from tremula.lab.comparison.cross_validation import CrossValidation, cross_validate
from tremula.lab.comparison.methods import Method, learner
from tremula.lab.comparison.splits import Folds
from tremula.lab.datasets.dataset import Dataset

BAGGING = Method("bagging", "bagging", learner(BaggingClassifier, n_estimators=5))
TREE = Method("c45", "C4.5", learner(C45Classifier), family="tree")
NUMBERS = Method("bagging", "bagging", learner(BaggingRegressor, n_estimators=5))


def made(task: str = "classification", n_classes: int = 2, n_rows: int = 120) -> Dataset:
    random = np.random.default_rng(1)
    X = random.random((n_rows, 3))
    X[:, 2] = np.floor(3 * X[:, 2])
    X[5, 0] = np.nan
    noisy = np.nan_to_num(X[:, 0]) + 0.3 * random.random(n_rows)
    names = np.array(["no", "yes", "some", "all", "few", "many", "most"])[:n_classes]
    y = names[np.minimum((noisy * n_classes).astype(int), n_classes - 1)] if task == "classification" else 10 * noisy
    levels = (None, None, np.array(["red", "green", "blue"]))
    return Dataset("made", "a test", X, y, (2,), task, ("<b>", "weight", "colour"), levels)


def validated(method: Method, dataset: Dataset, folds: Folds) -> CrossValidation:
    return cross_validate([method], dataset, folds, progress=False)


@pytest.fixture(scope="module")
def two_classes() -> tuple[Dataset, CrossValidation]:
    dataset = made()
    return dataset, validated(BAGGING, dataset, Folds(3, 2))


def test_each_row_is_predicted_once_by_a_model_that_has_not_seen_it(
    two_classes: tuple[Dataset, CrossValidation],
) -> None:
    dataset, validation = two_classes
    held_out = held_out_predictions(dataset, validation, "bagging")
    assert held_out.rows.tolist() == list(range(120))
    for number, (train, test) in enumerate(validation.splits[:3]):
        model = BAGGING.build((2,), number).fit(dataset.X[train], dataset.y[train])
        np.testing.assert_allclose(held_out.probabilities[test], model.predict_proba(dataset.X[test]), atol=1e-6)


def test_confusions_are_those_of_scikit_learn_and_their_error_that_of_the_folds(
    two_classes: tuple[Dataset, CrossValidation],
) -> None:
    dataset, validation = two_classes
    held_out = held_out_predictions(dataset, validation, "bagging")
    confusions = describe_best(BAGGING, dataset, validation)["confusions"]
    assert confusions["counts"] == confusion_matrix(held_out.truth, held_out.answers).tolist()
    n_wrong = sum(round(one.n_test * one.values["error"]) for one in validation.results["bagging"][:3])
    assert confusions["rows"] - confusions["right"] == n_wrong
    assert confusions["n_other"] == 0
    first = confusions["most_frequent"][0]
    assert first["rows"] == max(confusions["counts"][0][1], confusions["counts"][1][0])


def test_classes_that_are_not_those_of_the_largest_probability_are_counted() -> None:
    dataset = made()
    validation = validated(TREE, dataset, Folds(2))
    result = validation.results["c45"][0]
    result.values["error"] += 3 / result.n_test
    assert held_out_predictions(dataset, validation, "c45").n_other == 3


def test_two_classes_have_the_curves_of_the_second(two_classes: tuple[Dataset, CrossValidation]) -> None:
    dataset, validation = two_classes
    held_out = held_out_predictions(dataset, validation, "bagging")
    (curve,) = classes.describe_curves(held_out)
    assert curve["class"] == "yes"
    assert curve["area"] == pytest.approx(roc_auc_score(held_out.truth == "yes", held_out.probabilities[:, 1]))
    for name in ("roc", "precision_recall"):
        assert [point[0] for point in curve[name]] == sorted(point[0] for point in curve[name])
        assert (curve[name][0][0], curve[name][-1][0]) == (0.0, 1.0)


@pytest.mark.parametrize(("n_classes", "n_curves"), [(3, 3), (7, 0)])
def test_few_classes_have_a_curve_each_and_many_none(n_classes: int, n_curves: int) -> None:
    dataset = made(n_classes=n_classes)
    best = describe_best(BAGGING, dataset, validated(BAGGING, dataset, Folds(2)))
    assert len(best["curves"]) == n_curves


def test_long_curves_are_thinned_and_their_area_is_not() -> None:
    random = np.random.default_rng(0)
    score, truth = random.random(5000), np.where(random.random(5000) > 0.5, "b", "a")
    held_out = HeldOut(np.arange(5000), truth, truth, np.column_stack([1 - score, score]), np.array(["a", "b"]))
    (curve,) = classes.describe_curves(held_out)
    assert len(curve["roc"]) == classes.MOST_POINTS
    assert curve["area"] == roc_auc_score(truth == "b", score)


def test_many_classes_have_their_most_frequent_confusions_only() -> None:
    names = np.array([f"class {number:02}" for number in range(40)])
    truth = np.repeat(names, 2)
    held_out = HeldOut(np.arange(80), truth, np.roll(truth, 1), classes=names)
    confusions = classes.describe_confusions(held_out)
    assert confusions["counts"] is None
    assert len(confusions["most_frequent"]) == classes.MOST_CONFUSIONS


def test_calibration_counts_every_row_once(two_classes: tuple[Dataset, CrossValidation]) -> None:
    calibration = describe_best(BAGGING, *two_classes)["calibration"]
    assert calibration["class"] == "yes"
    assert sum(point["rows"] for point in calibration["bins"]) == 120
    assert all(point["low"] <= point["observed"] <= point["high"] for point in calibration["bins"])


def test_the_least_sure_cases_have_the_smallest_probabilities(two_classes: tuple[Dataset, CrossValidation]) -> None:
    dataset, validation = two_classes
    held_out = held_out_predictions(dataset, validation, "bagging")
    best = describe_best(BAGGING, dataset, validation)
    cases, smallest = best["cases"]["cases"], np.sort(held_out.probabilities.max(axis=1))[:5]
    assert [case["probability"] for case in cases] == pytest.approx(smallest.tolist())
    assert best["cases"]["attributes"] == ["<b>", "weight", "colour"]
    row = cases[0]["row"] - 1
    level = dataset.levels[2][int(dataset.X[row, 2])]
    assert cases[0]["values"][1:] == [dataset.X[row, 1], level]
    assert cases[0]["truth"] == dataset.y[row]


def test_a_method_without_probabilities_has_confusions_and_no_cases() -> None:
    held_out = HeldOut(np.arange(2), np.array(["a", "b"]), np.array(["a", "a"]), classes=np.array(["a", "b"]))
    assert classes.describe_confusions(held_out)["counts"] == [[1, 0], [1, 0]]
    assert (classes.describe_curves(held_out), classes.describe_calibration(held_out)) == ([], None)
    assert classes.least_sure(held_out, 5) == []


def attributes_with(ranges: list[dict[str, Any]]) -> dict[str, Any]:
    return {"ranges": ranges, "importances": [{"attribute": "weight"}]}


def test_numbers_have_residuals_groups_and_the_widest_ranges() -> None:
    dataset = made("regression")
    validation = validated(NUMBERS, dataset, Folds(3))
    held_out = held_out_predictions(dataset, validation, "bagging")
    best = describe_best(NUMBERS, dataset, validation, attributes_with([{"row": 7, "low": 1.0, "high": 9.0}]))
    sizes = np.abs(held_out.answers - dataset.y)
    assert best["residuals"]["median_size"] == pytest.approx(np.median(sizes))
    assert (sizes <= best["residuals"]["size_of_nine_in_ten"]).mean() == pytest.approx(0.9, abs=0.01)
    assert sum(group["rows"] for group in best["groups"]) == 120
    assert best["cases"]["kind"] == UNSURE
    (case,) = best["cases"]["cases"]
    assert (case["row"], case["truth"], case["low"]) == (8, dataset.y[7], 1.0)
    assert case["values"] == [dataset.X[7, 1]]


def test_numbers_without_ranges_have_their_largest_misses() -> None:
    dataset = made("regression")
    method = Method("extra", "extra", learner(ExtraTreesRegressor, n_estimators=3))
    validation = validated(method, dataset, Folds(2))
    best = describe_best(method, dataset, validation)
    held_out = held_out_predictions(dataset, validation, "extra")
    assert best["cases"]["kind"] == MISSED
    assert best["cases"]["cases"][0]["row"] == np.argmax(np.abs(held_out.answers - held_out.truth)) + 1


def test_a_group_of_equal_values_has_an_interval_of_no_width() -> None:
    held_out = HeldOut(np.arange(10), np.ones(10), np.ones(10))
    groups = numbers.describe_groups(held_out)
    assert [(group["low"], group["high"]) for group in groups] == [(1.0, 1.0)] * 2
