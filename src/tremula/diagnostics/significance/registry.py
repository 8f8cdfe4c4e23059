"""Registry of the paired tests by name; each takes what it needs from a comparison or says why it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics.comparison.scoring import has_row_losses
from tremula.diagnostics.comparison.splits import is_five_by_two, tests_each_row_once
from tremula.diagnostics.significance.one_test_set import difference_of_proportions, mcnemar_test
from tremula.diagnostics.significance.paired import TestResult, corrected_t_test, five_by_two_f_test, paired_t_test
from tremula.errors import InvalidParameter

if TYPE_CHECKING:
    from tremula.diagnostics.comparison.comparison import Comparison


def _row_t_or_paired_t(comparison: Comparison, first: int, second: int, confidence: float) -> TestResult:
    if len(comparison.test_rows) > 1 or not has_row_losses(comparison.scoring):
        return paired_t_test(comparison.errors[first], comparison.errors[second], confidence=confidence)
    first_losses, second_losses = (comparison.row_losses(comparison.names[place])[0] for place in (first, second))
    return replace(paired_t_test(first_losses, second_losses, confidence=confidence), test="paired t over rows")


def _corrected_t(comparison: Comparison, first: int, second: int, confidence: float) -> TestResult:
    sizes = {"n_train": comparison.n_train, "n_test": comparison.n_test}
    return corrected_t_test(comparison.errors[first], comparison.errors[second], confidence=confidence, **sizes)


def _five_by_two(comparison: Comparison, first: int, second: int, confidence: float) -> TestResult:
    if not is_five_by_two(comparison.splits):
        raise InvalidParameter(
            f"the 5x2 F test needs five repetitions of two folds, but there are {len(comparison.splits)} splits of "
            "another form: compare with cv='5x2'"
        )
    return five_by_two_f_test(comparison.errors[first], comparison.errors[second], confidence=confidence)


def _wrong(comparison: Comparison, test: str, place: int) -> NDArray[np.bool_]:
    """Return which rows one method gets wrong, where each row is tested once."""
    if comparison.scoring != "error":
        raise InvalidParameter(
            f"test {test!r} counts errors, but the scoring is {comparison.scoring!r}: take 'corrected t'"
        )
    if not tests_each_row_once(comparison.splits):
        raise InvalidParameter(
            f"test {test!r} needs rows that are tested once, but these splits test some rows several times: take "
            "'corrected t', or compare on one test set or by one cross-validation"
        )
    return np.concatenate(comparison.row_losses(comparison.names[place])) > 0


def _mcnemar(comparison: Comparison, first: int, second: int, confidence: float) -> TestResult:
    marks = (_wrong(comparison, "mcnemar", place) for place in (first, second))
    return mcnemar_test(*marks, confidence=confidence)


def _proportions(comparison: Comparison, first: int, second: int, confidence: float) -> TestResult:
    first_wrong, second_wrong = (_wrong(comparison, "proportions", place) for place in (first, second))
    return difference_of_proportions(
        int(first_wrong.sum()), int(second_wrong.sum()), len(first_wrong), confidence=confidence
    )


TESTS: dict[str, Callable[[Comparison, int, int, float], TestResult]] = {
    "corrected t": _corrected_t,
    "paired t": _row_t_or_paired_t,
    "5x2 F": _five_by_two,
    "mcnemar": _mcnemar,
    "proportions": _proportions,
}
