"""Compiled counting against loops over rows, for every type that codes have."""

from __future__ import annotations

import numpy as np
import pytest

from tremula._kernels import counts

N_VALUES, N_CLASSES, N_ROWS = (3, 5, 2), 4, 60
STARTS = np.array([0, 3, 8, 10], dtype=np.int64)
CODE_TYPES = [np.uint8, np.uint16, np.int32]


def random_codes(dtype: type, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.array([random.integers(n_values, size=N_ROWS) for n_values in N_VALUES], dtype=dtype)


def some_rows(seed: int = 0) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(seed).random(N_ROWS) < 0.6).astype(np.int32)


@pytest.mark.parametrize("dtype", CODE_TYPES)
def test_rows_kept_are_those_with_a_value_in_the_range(dtype: type) -> None:
    codes, rows = random_codes(dtype), some_rows()
    kept = np.full(len(rows) + 1, -1, dtype=np.int32)
    n_kept = counts.keep_rows(codes, rows, 1, 2, 3, kept)
    assert kept[:n_kept].tolist() == [row for row in rows if 2 <= codes[1, row] <= 3]


@pytest.mark.parametrize("dtype", CODE_TYPES)
def test_classes_are_counted_by_value(dtype: type) -> None:
    codes, rows = random_codes(dtype), some_rows()
    classes = np.random.default_rng(1).integers(N_CLASSES, size=N_ROWS).astype(np.int32)
    out, expected = np.zeros((2, STARTS[-1], N_CLASSES), dtype=np.int64)
    counts.count_classes(codes, classes, rows, np.array([0, 2], dtype=np.int32), STARTS, out)
    for attribute in (0, 2):
        for row in rows:
            expected[STARTS[attribute] + codes[attribute, row], classes[row]] += 1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", CODE_TYPES)
def test_moments_are_added_by_value(dtype: type) -> None:
    codes, rows = random_codes(dtype), some_rows()
    target = np.random.default_rng(2).normal(size=N_ROWS)
    out, expected = np.zeros((2, STARTS[-1], 3))
    counts.add_moments(codes, target, rows, np.array([1], dtype=np.int32), STARTS, out)
    for row in rows:
        expected[STARTS[1] + codes[1, row]] += [1.0, target[row], target[row] ** 2]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_counts_are_added_to_what_is_there() -> None:
    codes, rows, classes = random_codes(np.uint8), some_rows(), np.zeros(N_ROWS, dtype=np.int32)
    out = np.ones((STARTS[-1], 1), dtype=np.int64)
    counts.count_classes(codes, classes, rows, np.array([0], dtype=np.int32), STARTS, out)
    assert out.sum() == STARTS[-1] + len(rows)


def test_no_rows_count_nothing() -> None:
    none = np.empty(0, dtype=np.int32)
    out = np.zeros((STARTS[-1], 2), dtype=np.int64)
    classes = np.zeros(N_ROWS, dtype=np.int32)
    counts.count_classes(random_codes(np.uint8), classes, none, np.arange(3, dtype=np.int32), STARTS, out)
    assert out.sum() == 0
    assert counts.keep_rows(random_codes(np.uint8), none, 0, 0, 2, np.empty(1, dtype=np.int32)) == 0
