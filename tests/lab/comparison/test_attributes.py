"""Attributes of the best method: the one that decides is first, and what it does is what the rows say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from tremula import BaggingClassifier, BaggingRegressor, C45Classifier, ExtraTreesClassifier
from tremula.data.column import date_text
from tremula.lab.comparison.analyses import attributes
from tremula.lab.comparison.analyses.attributes import analyze_attributes
from tremula.lab.comparison.analyses.effects import partial_effect, values_to_try
from tremula.lab.comparison.analyses.workbench import Skipped, Workbench, random_halves
from tremula.lab.comparison.methods import Method, learner
from tremula.lab.datasets.dataset import Dataset

OPTIONS = {"store": None, "n_jobs": None, "progress": False}
BAGGING = Method("bagging", "bagging", learner(BaggingClassifier, n_estimators=8))
TREE = Method("c45", "C4.5", learner(C45Classifier), family="tree")
EXTRA = Method("extra", "extra trees", learner(ExtraTreesClassifier, n_estimators=8))
NUMBERS = Method("bagging", "bagging", learner(BaggingRegressor, n_estimators=8))


def made(task: str = "classification", n_rows: int = 200) -> Dataset:
    random = np.random.default_rng(2)
    X = random.random((n_rows, 3))
    X[:, 2] = np.floor(3 * X[:, 2])
    y = X[:, 1] + 0.5 * (X[:, 2] == 1)
    target = np.where(y > 0.7, "yes", "no") if task == "classification" else y
    levels = (None, None, np.array(["red", "green", "blue"]))
    return Dataset("made", "a test", X, target, (2,), task, ("noise", "weight", "colour"), levels)


def bench(dataset: Dataset, method: Method, **options: Any) -> Workbench:
    return Workbench(dataset, [method], 0, {}, len(dataset.y), OPTIONS, **options)


@pytest.mark.parametrize(("method", "out_of_bag"), [(BAGGING, True), (TREE, False), (EXTRA, False)])
def test_what_decides_comes_first_and_noise_does_not_matter(method: Method, out_of_bag: bool) -> None:
    found = analyze_attributes(bench(made(), method), 20)
    assert found["out_of_bag"] is out_of_bag
    names = [entry["attribute"] for entry in found["importances"]]
    assert names == ["weight", "colour", "noise"]
    assert all(entry["low"] <= entry["mean"] <= entry["high"] for entry in found["importances"])
    assert found["importances"][0]["low"] > 10 > found["importances"][2]["mean"]
    assert (found["train_rows"], found["shuffled_rows"]) == ((200, 200) if out_of_bag else (100, 100))


def test_out_of_bag_importances_are_those_of_the_estimator() -> None:
    dataset = made()
    found = analyze_attributes(bench(dataset, BAGGING), 20)
    model = BAGGING.build((2,), 0).fit(dataset.X, dataset.y)
    expected = model.permutation_importances(dataset.X, dataset.y, random_state=0)
    means = {entry["attribute"]: entry["mean"] / 100 for entry in found["importances"]}
    assert [means[name] for name in ("noise", "weight", "colour")] == pytest.approx(expected.importances.tolist())
    weight = found["importances"][0]
    half = 2.3646 * expected.standard_errors[1]  # of Student's t with 7 degrees of freedom
    assert (weight["high"] - weight["low"]) / 200 == pytest.approx(half, rel=1e-4)


def test_an_effect_is_the_mean_of_predictions_with_one_value_replaced() -> None:
    dataset = made("regression")
    model = BaggingRegressor(n_estimators=5, random_state=0).fit(dataset.X[:, :2], dataset.y)
    numeric = Dataset("made", "a test", dataset.X[:, :2], dataset.y, task="regression")
    values = values_to_try(numeric, 1)
    mean, low, high = partial_effect(model, numeric, np.arange(50), 1, values)
    expected = partial_dependence(model, numeric.X[:50], [1], custom_values={1: values}, kind="average")
    np.testing.assert_allclose(mean[:, 0], expected["average"][0])
    assert (low <= high).all()


def test_effects_are_of_the_attributes_that_matter_and_name_levels() -> None:
    found = analyze_attributes(bench(made(), BAGGING), 20)
    weight, colour = found["effects"][:2]
    assert weight["curves"][0]["class"] == "yes"
    assert weight["curves"][0]["mean"][-1] - weight["curves"][0]["mean"][0] > 0.5
    assert (colour["attribute"], colour["kind"], colour["values"]) == ("colour", "nominal", ["red", "green", "blue"])
    assert np.argmax(colour["curves"][0]["mean"]) == 1


def test_effects_of_dates_are_at_dates_of_the_column() -> None:
    dataset = made()
    days = np.round(1000 * dataset.X[:, 1])
    dated = replace(dataset, X=np.column_stack([dataset.X[:, 0], days, dataset.X[:, 2]]), dates=(1,))
    effect = analyze_attributes(bench(dated, BAGGING), 20)["effects"][0]
    assert effect["kind"] == "date"
    assert set(effect["values"]) <= set(map(date_text, days))


def test_numbers_have_ranges_of_rows_that_members_left_out() -> None:
    dataset = made("regression")
    found = analyze_attributes(bench(dataset, NUMBERS, row_numbers=np.arange(200) + 1000), 20)
    assert len(found["ranges"]) == 5
    assert all(case["low"] < case["high"] and case["row"] >= 1000 for case in found["ranges"])
    widths = [case["high"] - case["low"] for case in found["ranges"]]
    assert widths == sorted(widths, reverse=True)
    assert found["unit"] == "% of the target's variance"


def test_slow_predictions_are_asked_for_fewer_rows_or_not_at_all() -> None:
    dataset = made()
    slow = {"c45": 1.0 / (3 * 3 * 60)}  # a second shuffles 60 rows
    found = analyze_attributes(bench(dataset, TREE, predict_seconds=slow), 2)
    assert found["shuffled_rows"] == 50
    with pytest.raises(Skipped, match=r"shuffling 3 attributes of .* takes too long"):
        analyze_attributes(bench(dataset, TREE, predict_seconds={"c45": 0.01}), 2)


def test_shuffled_rows_are_not_those_of_training() -> None:
    dataset = made()
    trained = attributes.train_for_shuffling(TREE, dataset, 0, 30)
    assert set(trained.shuffled) <= set(random_halves(200, 0, 0)[1])
    assert not set(trained.shuffled) & set(trained.train)
    assert len(trained.shuffled) == 30


def test_without_an_attribute_that_matters_there_are_no_effects() -> None:
    random = np.random.default_rng(0)
    dataset = Dataset("made", "a test", np.ones((60, 2)), random.choice(["a", "b"], 60))
    assert analyze_attributes(bench(dataset, TREE), 20)["effects"] == []
