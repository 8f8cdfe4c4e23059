"""Thresholds in single precision: every number of single precision keeps its side, and so do given rows if they can."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import InvalidInput
from tremula.export.thresholds import ThresholdRounding, single_thresholds

NUMBERS = st.floats(-1e30, 1e30, width=64)


def neighbours(threshold: float) -> np.ndarray:
    """Numbers of single precision around a threshold."""
    near = np.float32(threshold)
    values = [near]
    for direction in (np.float32(-np.inf), np.float32(np.inf)):
        value = near
        for _ in range(3):
            value = np.nextafter(value, direction)
            values.append(value)
    return np.array(values, np.float32)


@given(NUMBERS, st.booleans())
def test_numbers_of_single_precision_keep_their_sides(threshold: float, strict: bool) -> None:
    rounded = single_thresholds(np.array([threshold]), strict)[0]
    assert rounded.dtype == np.float32
    values = neighbours(threshold)
    before = values.astype(np.float64) < threshold if strict else values.astype(np.float64) <= threshold
    after = values < rounded if strict else values <= rounded
    np.testing.assert_array_equal(after, before)


def test_thresholds_beyond_single_precision_divide_finite_numbers() -> None:
    values = np.array([-3e38, 0.0, 3e38], np.float32)
    high, low = single_thresholds(np.array([1e300, -1e300]), strict=False)
    assert (values <= high).all()
    assert not (values <= low).any()


@given(st.lists(NUMBERS, min_size=2, max_size=30, unique=True), st.booleans(), st.data())
def test_given_rows_keep_their_sides_or_are_refused(values: list[float], strict: bool, data: st.DataObject) -> None:
    rows = np.array(values)[:, None]
    threshold = data.draw(st.sampled_from(values))  # on a value, as those of C4.5 are
    rounding = ThresholdRounding.of("float32", rows, ("size",))
    is_left = rows[:, 0] < threshold if strict else rows[:, 0] <= threshold
    singles = rows[:, 0].astype(np.float32)
    if is_left.any() and not is_left.all() and singles[is_left].max() >= singles[~is_left].min():
        with pytest.raises(InvalidInput, match="the same number in single precision"):
            rounding.round(np.zeros(1, int), np.array([threshold]), strict)
        return
    rounded = rounding.round(np.zeros(1, int), np.array([threshold]), strict)[0]
    np.testing.assert_array_equal(singles < rounded if strict else singles <= rounded, is_left)


def test_double_precision_leaves_thresholds_as_they_are() -> None:
    thresholds = np.array([0.1, 1e300])
    assert ThresholdRounding.of("float64", None, ()).round(np.zeros(2, int), thresholds, False) is thresholds
