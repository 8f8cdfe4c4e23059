"""The table of methods: every row builds an estimator that learns, told which attributes are nominal."""

import numpy as np
import pytest

from tremula.lab.comparison.cross_validation import cross_validate
from tremula.lab.comparison.methods import METHODS, REGRESSION_METHODS, Method, UnknownMethod, choose_methods
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.comparison.splits import InvalidFolds
from tremula.lab.datasets import Dataset

COLOURS = np.arange(60) % 3
NOMINAL = Dataset("colours", "made here", COLOURS[:, None].astype(float), COLOURS == 1, nominal=(0,))


NUMBERS = Dataset("numbers", "made here", NOMINAL.X, 10.0 * (COLOURS == 1) + COLOURS, (0,), "regression")


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
def test_every_method_learns_from_a_nominal_attribute(method: Method) -> None:
    results = cross_validate([method], NOMINAL, folds=2).results[method.name]
    assert [result.values["error"] for result in results] == [0.0] * 2


@pytest.mark.parametrize("method", REGRESSION_METHODS.values(), ids=REGRESSION_METHODS.keys())
def test_every_method_of_regression_learns_from_a_nominal_attribute(method: Method) -> None:
    results = cross_validate([method], NUMBERS, folds=2).results[method.name]
    assert max(result.values["rmse"] for result in results) < NUMBERS.y.std() / 2


@pytest.mark.parametrize("dataset", [NOMINAL, NUMBERS], ids=["classes", "numbers"])
def test_every_method_of_other_libraries_learns_from_a_nominal_attribute(dataset: Dataset) -> None:
    found = cross_validate(choose_peers(["sklearn", "lightgbm", "xgboost"], dataset.task), dataset, folds=2)
    assert found.failures == {}


def test_no_names_are_the_usual_methods_and_doubles_count_once() -> None:
    assert [method.name for method in choose_methods()] == [name for name, method in METHODS.items() if method.usual]
    assert [method.name for method in choose_methods(["cart", "c45", "cart"])] == ["cart", "c45"]


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UnknownMethod, match="no method 'forest'"):
        choose_methods(["forest"])


def test_too_few_folds_are_refused() -> None:
    with pytest.raises(InvalidFolds, match="at least 2"):
        cross_validate(choose_methods(["c45"]), NOMINAL, folds=1)
