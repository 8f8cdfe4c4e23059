"""Before and after on the same rows: the numbers, the side of the verdict, and its words."""

import numpy as np
import pytest

from tremula.lab.comparison.model_pair import compare_classes, compare_numbers

CODES = np.array([0, 1] * 50)
RIGHT, WRONG = np.eye(2)[CODES] * 0.8 + 0.1, np.eye(2)[1 - CODES] * 0.8 + 0.1


def test_errors_and_log_losses_are_means_over_rows() -> None:
    error, log_loss = compare_classes((WRONG, RIGHT), CODES)
    assert (error.before, error.after, error.gain) == (100.0, 0.0, 100.0)
    assert log_loss.before == pytest.approx(-np.log(0.1))
    assert log_loss.after == pytest.approx(-np.log(0.9))


def test_a_class_that_the_model_does_not_know_is_always_wrong() -> None:
    error, _ = compare_classes((RIGHT, RIGHT), np.where(np.arange(100) < 10, -1, CODES))
    assert error.before == 10.0


@pytest.mark.parametrize(
    ("shares", "verdict", "words"),
    [
        ((WRONG, RIGHT), "after", "is better by 100.00 points"),
        ((RIGHT, WRONG), "before", "is worse by 100.00 points"),
        ((RIGHT, 0.9 * RIGHT + 0.05), "open", "is not shown to differ"),
        ((RIGHT, RIGHT), "same", "nothing changes: both models predict the same for all 100 rows"),
    ],
)
def test_the_verdict_has_the_right_side(shares: tuple[np.ndarray, np.ndarray], verdict: str, words: str) -> None:
    error = compare_classes(shares, CODES)[0]
    assert error.verdict == verdict
    assert words in error.sentence(100)


def test_roots_of_squared_errors() -> None:
    target = np.zeros(100)
    random = np.random.default_rng(0)
    far, near = random.normal(scale=3, size=100), random.normal(scale=1, size=100)
    (change,) = compare_numbers((far, near), target)
    assert change.before == pytest.approx(np.sqrt(np.mean(far**2)))
    assert change.gain == pytest.approx(change.before - change.after)
    assert change.interval[0] < change.gain < change.interval[1]
    assert change.verdict == "after"


def test_no_interval_is_a_point() -> None:
    error, _ = compare_classes((RIGHT, 0.9 * RIGHT + 0.05), CODES)
    assert error.interval is not None
    assert error.interval == pytest.approx((-3.62, 3.62), abs=0.01)  # 1 - 0.025 ** (1 / 100)
    assert [change.interval for change in compare_classes((RIGHT, RIGHT), CODES)] == [None, None]
    assert compare_numbers((np.zeros(9), np.zeros(9)), np.arange(9.0))[0].interval is None
