"""Arguments that are no numbers, tables or names: the error is one of tremula's, and nothing is silently NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tremula import CARTClassifier
from tremula.diagnostics import (
    compare,
    compare_over_datasets,
    decide,
    detectable_difference,
    plan_looks,
    planned_repetitions,
    skillings_mack_test,
)
from tremula.errors import TremulaError


def name_of_type(given: Any) -> str:
    return type(given).__name__


NO_NUMBERS = [None, "x", b"\x00", [], {}, object(), np.nan, -1, np.zeros(3), True]
ERRORS = np.random.default_rng(0).random((6, 3))


@pytest.mark.parametrize("given", NO_NUMBERS, ids=name_of_type)
@pytest.mark.parametrize("name", ["deviation", "ratio", "n_splits", "power"])
def test_differences_of_no_numbers_are_refused(name: str, given: Any) -> None:
    arguments = {"deviation": 0.1, "ratio": 0.1, "n_splits": 10, "power": 0.8, name: given}
    with pytest.raises(TremulaError, match=f"{name}="):
        detectable_difference(**arguments)


@pytest.mark.parametrize("given", NO_NUMBERS, ids=name_of_type)
@pytest.mark.parametrize("name", ["deviation", "ratio", "cv", "difference"])
def test_repetitions_of_no_numbers_are_refused(name: str, given: Any) -> None:
    arguments = {"deviation": 0.1, "ratio": 0.1, "cv": 10, "difference": 0.01, name: given}
    with pytest.raises(TremulaError, match=f"{name}="):
        planned_repetitions(**arguments)


def test_numbers_of_folds_beyond_those_of_float64_are_refused() -> None:
    with pytest.raises(TremulaError, match="cv="):
        planned_repetitions(0.1, 0.1, cv=10**30, difference=0.01)


@pytest.mark.parametrize("given", [*NO_NUMBERS, 2.5, np.inf], ids=name_of_type)
def test_looks_after_no_number_of_repetitions_are_refused(given: Any) -> None:
    """2.5 and infinitely many repetitions were planned."""
    with pytest.raises(TremulaError, match="most_repetitions="):
        plan_looks(given)


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "no comparison": (decide, {"comparison": ERRORS}, "give a Comparison"),
    "no errors": (skillings_mack_test, {"errors": "x"}, "without numbers"),
    "errors of one dataset": (skillings_mack_test, {"errors": ERRORS[0]}, "1 dimensions"),
    "errors in three dimensions": (skillings_mack_test, {"errors": ERRORS[None]}, "3 dimensions"),
    "methods of the same name": (
        compare_over_datasets,
        {"results": pd.DataFrame(ERRORS, columns=list("aab"))},
        "several columns of the same name",
    ),
    "a number for names": (compare_over_datasets, {"results": ERRORS, "names": 3}, "names is int: give a list"),
    "a word for names": (compare_over_datasets, {"results": ERRORS, "dataset_names": "abc"}, "give a list of names"),
    "an array for a flag": (
        compare,
        {"estimators": {"a": CARTClassifier()}, "X": ERRORS, "y": [0, 1] * 3, "allow_missing_classes": ERRORS},
        "allow_missing_classes=",
    ),
}


@pytest.mark.parametrize(("function", "arguments", "message"), CALLS.values(), ids=CALLS)
def test_other_arguments_are_refused(function: Callable[..., Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TremulaError, match=message):
        function(**arguments)
