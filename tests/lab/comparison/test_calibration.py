"""Calibration from sums: the same as from all probabilities, however the rows are divided."""

import numpy as np
import pytest

from tremula.lab.comparison.calibration import count_answers, reliability

PROBABILITIES = np.array([[0.55, 0.45], [0.92, 0.08], [0.02, 0.98], [0.4, 0.6], [1.0, 0.0]])
TRUTH = np.array([0, 0, 1, 0, 1])


def test_bins_tell_what_was_promised_and_what_came_true() -> None:
    found = reliability([count_answers(TRUTH, PROBABILITIES)])
    assert [(one["low"], one["rows"], one["observed"]) for one in found["bins"]] == [
        (0.5, 1, 1.0),
        (0.6, 1, 0.0),
        (0.9, 3, pytest.approx(2 / 3)),
    ]
    assert found["bins"][2]["predicted"] == pytest.approx((0.92 + 0.98 + 1) / 3)


def test_folds_sum_to_the_whole() -> None:
    folds = [count_answers(TRUTH[part], PROBABILITIES[part]) for part in (slice(0, 2), slice(2, 5))]
    whole = reliability([count_answers(TRUTH, PROBABILITIES)])
    assert reliability(folds)["expected_error"] == pytest.approx(whole["expected_error"])


def test_the_expected_error_weighs_bins_by_their_rows() -> None:
    found = reliability([{"calibration 9 rows": 3, "calibration 9 confidence": 2.7, "calibration 9 right": 3}])
    assert found["expected_error"] == pytest.approx(0.1)


def test_a_class_that_no_column_has_is_wrong() -> None:
    assert count_answers(np.array([-1]), np.array([[1.0, 0.0]]))["calibration 9 right"] == 0


def test_without_rows_there_is_no_error() -> None:
    assert reliability([]) == {"rows": 0, "bins": [], "expected_error": None}
