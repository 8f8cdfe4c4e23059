"""The layout of a word: C, Cython and Python agree, and a word is what `words.pxd` draws."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula._kernels import sort, words
from tremula.trees import columns, growing_sorted

KERNELS = Path(__file__).parents[2] / "src" / "tremula" / "_kernels"


def test_the_fields_of_a_packed_word_follow_each_other_and_leave_the_highest_bit_free() -> None:
    assert words.CLASS_SHIFT == 2 * words.ROW_BITS
    assert words.COUNT_SHIFT == words.CLASS_SHIFT + words.CLASS_BITS
    assert words.COUNT_SHIFT + words.COUNT_BITS == 63
    assert 2 * words.WIDE_ROW_BITS == 64
    assert words.CLASS_MASK == (1 << words.CLASS_BITS) - 1


def test_python_takes_its_limits_from_the_layout() -> None:
    assert columns.MAX_PACKED_ROWS == 1 << words.ROW_BITS
    assert growing_sorted.MAX_PACKED_CLASSES == 1 << words.CLASS_BITS
    assert growing_sorted.MAX_PACKED_COUNT == (1 << words.COUNT_BITS) - 1


def field(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


@given(field(words.ROW_BITS), field(words.ROW_BITS), field(words.CLASS_BITS), field(words.COUNT_BITS))
def test_a_packed_word_has_row_rank_class_and_count_where_the_diagram_says(row, rank, code, count) -> None:
    word = row | rank << 24 | code << 48 | count << 56
    np.testing.assert_array_equal(words.unpack(np.array([word], np.uint64)), [[row, rank, code, count]])


@given(field(words.WIDE_ROW_BITS), field(words.WIDE_ROW_BITS))
def test_a_wide_word_has_row_and_rank(row, rank) -> None:
    word = np.array([row | rank << 32], np.uint64)
    np.testing.assert_array_equal(words.unpack(word, words.WIDE_ROW_BITS), [[row, rank]])


@pytest.mark.parametrize("row_bits", [words.ROW_BITS, words.WIDE_ROW_BITS])
def test_sorting_writes_row_and_rank(row_bits: int) -> None:
    values = np.array([[2.5], [1.0], [2.5], [-3.0]])
    lists, lengths = np.empty((1, 4), np.uint64), np.empty(1, np.int64)
    sort.sort_columns(values, 0.0, row_bits, lists, lengths)
    fields = words.unpack(lists[0], row_bits)
    np.testing.assert_array_equal(fields[:, 0], [3, 1, 0, 2])
    np.testing.assert_array_equal(fields[:, 1], [0, 1, 2, 2])


@given(st.lists(st.tuples(field(words.CLASS_BITS), st.integers(0, 300)), min_size=1, max_size=20))
def test_the_marks_that_python_makes_are_unpacked_by_the_kernel(rows: list[tuple[int, int]]) -> None:
    codes, weights = (np.array(column) for column in zip(*rows))
    listed = np.arange(len(rows), dtype=np.uint64)
    words.add_marks(listed, growing_sorted._marks(codes, weights.astype(np.float64)))
    fields = words.unpack(listed)
    np.testing.assert_array_equal(fields[:, 2], codes)
    np.testing.assert_array_equal(fields[:, 3], np.where(weights <= growing_sorted.MAX_PACKED_COUNT, weights, 0))


def test_only_the_layout_writes_the_bits_of_a_word() -> None:
    shifts = [f"{sign} {bits}" for sign in ("<<", ">>") for bits in (24, 48, 56)]
    kernels = [path for path in KERNELS.glob("*.pxd") if path.name != "words.pxd"]
    for path in [*kernels, KERNELS / "sort.pyx", KERNELS / "grow.pyx"]:
        assert [shift for shift in shifts if shift in path.read_text()] == [], path.name
