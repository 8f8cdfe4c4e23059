"""The best method of a comparison as a plain dict: what it predicts for held-out rows, and where it is least sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.lab.comparison.best_method.classes import (
    describe_calibration,
    describe_confusions,
    describe_curves,
    least_sure,
)
from tremula.lab.comparison.best_method.held_out import HeldOut, held_out_predictions
from tremula.lab.comparison.best_method.numbers import case_of, describe_groups, describe_residuals, largest_misses
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset

N_CASES = 5
N_VALUES = 3  # attributes shown of a case
UNSURE, MISSED = "least sure", "largest misses"


def describe_best(
    method: Method, dataset: Dataset, validation: CrossValidation, attributes: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Describe what a method does, by its predictions for the test rows of the first repetition.

    Parameters
    ----------
    method : Method
    dataset : Dataset
    validation : CrossValidation
        The results of the method and others.
    attributes : mapping, default=None
        What `analyze_attributes` found for the method, if it was run.

    Returns
    -------
    dict or None
        ``method``, ``label``, ``rows``, ``folds`` and ``cases``; for classes ``confusions``, ``curves`` and
        ``calibration``, for numbers ``residuals`` and ``groups``. None if no predictions were stored.

    Examples
    --------
    >>> from tremula.lab.comparison.cross_validation import cross_validate
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> from tremula.lab.datasets import load_dataset
    >>> methods, iris = choose_methods(["c45"]), load_dataset("iris")
    >>> best = describe_best(methods[0], iris, cross_validate(methods, iris, folds=3))
    >>> best["confusions"]["counts"][0], best["rows"]
    ([48, 2, 0], 150)
    """
    held_out = held_out_predictions(dataset, validation, method.name)
    if held_out is None:
        return None
    about = {"method": method.name, "label": method.label, "rows": len(held_out.rows), "folds": validation.folds.folds}
    ranges = (attributes or {}).get("ranges") or []
    if dataset.task == "classification":
        parts: dict[str, Any] = {
            "confusions": describe_confusions(held_out),
            "curves": describe_curves(held_out),
            "calibration": describe_calibration(held_out),
        }
        cases: dict[str, Any] = {"kind": UNSURE, "cases": least_sure(held_out, N_CASES)}
    else:
        parts = {"residuals": describe_residuals(held_out, validation.seed), "groups": describe_groups(held_out)}
        cases = _cases_of_numbers(held_out, ranges)
    names = _shown_attributes(dataset, attributes)
    for case in cases["cases"]:
        case["values"] = [dataset.value(case["row"] - 1, dataset.attribute_names.index(name)) for name in names]
    return {**about, **parts, "cases": {**cases, "attributes": names}}


def _cases_of_numbers(held_out: HeldOut, ranges: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the rows with the widest ranges; without ranges, those with the largest residuals."""
    if not ranges:
        return {"kind": MISSED, "cases": largest_misses(held_out, N_CASES)}
    ranges = [case for case in ranges if case["row"] in held_out.rows]  # in time order the first rows are not tested
    places = np.searchsorted(held_out.rows, [case["row"] for case in ranges])
    ends = [{"low": case["low"], "high": case["high"]} for case in ranges]
    return {"kind": UNSURE, "cases": [case_of(held_out, int(place)) | end for place, end in zip(places, ends)]}


def _shown_attributes(dataset: Dataset, attributes: Mapping[str, Any] | None) -> list[str]:
    """Return the most important attributes, or the first ones."""
    if not attributes:
        return list(dataset.attribute_names[:N_VALUES])
    return [entry["attribute"] for entry in attributes["importances"][:N_VALUES]]
