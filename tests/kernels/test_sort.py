"""Sorted columns against NumPy's stable sort, on values that sorting by bits could get wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula._kernels import sort
from tremula.trees.columns import read_columns

NUMERIC = np.zeros(1, np.int32)
LARGEST = np.finfo(np.float64).max
SMALLEST = np.nextafter(0.0, 1.0)
EDGES = [0.0, -0.0, 1.0, -1.0, SMALLEST, -SMALLEST, 2.0**-1022, -(2.0**-1022), LARGEST, -LARGEST, np.nan]


def sorted_column(column: np.ndarray, gap: float = 0.0, row_bits: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Rows and ranks as the kernel gives them."""
    lists, lengths = np.zeros((1, len(column)), np.uint64), np.zeros(1, np.int64)
    sort.sort_columns(column[:, None], gap, row_bits, lists, lengths)
    words = lists[0, : lengths[0]]
    rows, ranks = words & np.uint64((1 << row_bits) - 1), words >> np.uint64(row_bits)
    return rows.astype(np.int64), ranks.astype(np.int64)


def expected_column(column: np.ndarray, gap: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Known rows by value, earlier rows first; ranks step up where a value is further than the gap from the last."""
    rows = np.argsort(column, kind="stable")
    rows = rows[~np.isnan(column[rows])]
    values = column[rows]
    return rows, np.cumsum(np.r_[False, values[1:] > values[:-1] + gap])[: len(rows)]


def short_column(column: np.ndarray, gap: float, row_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and ranks of a list of items, whose upper bit says that a value is tied with the one before."""
    items, lengths = np.zeros((1, len(column)), np.uint32), np.zeros(1, np.int64)
    sort.sort_items(column[:, None], gap, row_bits, items, lengths)
    known = items[0, : lengths[0]].astype(np.int64)
    return known & (2**31 - 1), np.cumsum(np.r_[False, known[1:] < 2**31])[: len(known)]


def assert_sorted(column: np.ndarray, gap: float = 0.0, row_bits: int = 24) -> None:
    for form in (sorted_column, short_column):
        for given_, expected in zip(form(column, gap, row_bits), expected_column(column, gap)):
            np.testing.assert_array_equal(given_, expected)


@given(
    st.lists(st.one_of(st.floats(allow_infinity=False), st.sampled_from(EDGES)), min_size=1, max_size=200),
    st.booleans(),
)
def test_any_doubles_are_sorted_as_numpy_sorts_them(values: list[float], wide: bool) -> None:
    assert_sorted(np.array(values, np.float64), row_bits=32 if wide else 24)


@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 66, 1000])
@pytest.mark.parametrize("n_values", [1, 2, 5, 2000])
def test_ties_keep_the_order_of_rows_however_long_the_column(n_rows: int, n_values: int) -> None:
    """Short columns are sorted by insertion, longer ones by digits."""
    column = np.random.default_rng(n_rows).integers(-n_values // 2, n_values // 2 + 1, size=n_rows) / 8
    assert_sorted(column)
    assert_sorted(np.where(np.arange(n_rows) % 3 == 1, np.nan, column))


@pytest.mark.parametrize("reach", [3, 12_287, 12_288, 2**31 - 1, 2**31, 2**53])
@pytest.mark.parametrize("start", [0, -1, -(2**31), 1 - 2**31, -(2**40)])
def test_whole_numbers_are_sorted_like_others(reach: int, start: int) -> None:
    """Those of a small range are counted instead."""
    column = start + np.random.default_rng(4).integers(min(reach, 9000), size=300).astype(np.float64)
    column[[7, 70, 170]] = start, start + reach, np.nan
    for gap in (0.0, 0.9, 1.0, 5.0):
        assert_sorted(column, gap)
    column[17] += 0.5
    assert_sorted(column)


@pytest.mark.parametrize("n_copies", [1, 20])
def test_both_zeros_are_one_value_and_the_smallest_doubles_are_not_zero(n_copies: int) -> None:
    column = np.array([0.0, -0.0, SMALLEST, -SMALLEST, -0.0, 0.0] * n_copies)
    assert_sorted(column)
    _, ranks = sorted_column(column)
    assert np.bincount(ranks).tolist() == [n_copies, 4 * n_copies, n_copies]
    assert_sorted(np.array([1.0, -0.0, 0.0, -1.0, 0.0, -0.0] * n_copies))


def test_values_of_every_magnitude_are_sorted() -> None:
    random = np.random.default_rng(0)
    powers = 2.0 ** random.uniform(-1074, 1023.9, size=5000)
    assert_sorted(np.concatenate([powers, -powers, EDGES, [np.nan]]))


def test_more_values_than_fit_into_two_bytes_have_ranks_of_their_own() -> None:
    column = np.random.default_rng(1).permutation(70_000).astype(np.float64)
    assert_sorted(column)
    assert sorted_column(column)[1].max() == 69_999


@pytest.mark.parametrize("gap", [0.5, 1e-5])
@pytest.mark.parametrize("n_rows", [20, 500])
def test_a_value_within_the_gap_of_its_neighbour_shares_its_rank(gap: float, n_rows: int) -> None:
    random = np.random.default_rng(2)
    for step in (0.1, 1.0, 3.0):
        assert_sorted(random.integers(-n_rows, n_rows, size=n_rows) * gap * step, gap)


def test_the_gap_is_to_the_neighbour_and_not_to_the_first_of_the_rank() -> None:
    assert sorted_column(np.array([0.0, 0.9, 1.8, 2.9]), gap=1.0)[1].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("n_rows", [1, 5, 100])
def test_missing_values_are_left_out(n_rows: int) -> None:
    assert_sorted(np.full(n_rows, np.nan))
    assert_sorted(np.r_[np.full(n_rows, np.nan), 1.0, -np.nan, 1.0])


def test_columns_are_sorted_each_for_itself_whatever_the_layout() -> None:
    random = np.random.default_rng(3)
    values = random.integers(20, size=(80, 37)) / random.integers(1, 3, size=37)
    values[random.random(values.shape) < 0.2] = np.nan
    padded = np.full((160, 111), 99.0)
    padded[1::2, 2::3] = values
    layouts = [values, np.asfortranarray(values), padded[1::2, 2::3], values[::-1, ::-1].copy()[::-1, ::-1]]
    for layout in layouts:
        columns = read_columns(layout, np.zeros(37, np.int32))
        assert np.shares_memory(columns.values, layout)
        for attribute in range(37):
            rows, ranks = expected_column(values[:, attribute])
            words = columns.lists[attribute, : columns.lengths[attribute]]
            np.testing.assert_array_equal(words, rows | (ranks << 24))


def test_a_table_says_how_large_and_how_complete_it_is() -> None:
    columns = read_columns(np.array([[1.0], [np.nan], [0.0]]), NUMERIC)
    assert (columns.n_rows, columns.n_attributes, columns.row_bits, columns.is_complete) == (3, 1, 24, False)
    assert read_columns(np.ones((2, 1)), NUMERIC).is_complete


@pytest.mark.parametrize("n_rows", [100, 2047, 2048, 5000])
@pytest.mark.parametrize("apart", [2.0**-30, 2.0**-36, 2.0**-44, 2.0**-51])
@pytest.mark.parametrize("order", ["shuffled", "falling", "rising"])
def test_values_that_agree_in_their_leading_bits_are_told_apart(n_rows: int, apart: float, order: str) -> None:
    """Few such are put right one by one; where there are many, all bits are sorted."""
    steps = np.arange(n_rows) // 2
    column = 1.0 + apart * {"shuffled": np.random.default_rng(0).permutation(steps), "falling": steps[::-1]}.get(
        order, steps
    )
    assert_sorted(column)
    assert_sorted(-column)
    assert_sorted(np.where(np.arange(n_rows) % 5 == 0, np.nan, column))


@pytest.mark.parametrize("n_rows", [500, 4000])
def test_noise_on_few_values_is_sorted(n_rows: int) -> None:
    random = np.random.default_rng(n_rows)
    assert_sorted(random.integers(0, 4, n_rows) + 1e-9 * random.standard_normal(n_rows))
    assert_sorted(random.integers(0, 4, n_rows) + 0.05 * random.standard_normal(n_rows))
