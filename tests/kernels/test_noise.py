"""Compiled resampling: it is NumPy's multinomial, draw for draw where cells are drawn in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from tremula._kernels import noise


@pytest.mark.parametrize("n_rows", [5, 60, 100_000])
def test_cells_are_the_binomials_that_numpy_draws(n_rows: int) -> None:
    """Small cells are drawn by inversion, large ones by BTPE."""
    counts = np.array([[n_rows, 2 * n_rows, 0, n_rows], [3 * n_rows, 0, 1, 0]], dtype=np.int64)
    drawn = np.empty_like(counts)
    random = np.random.default_rng(1)
    noise.resample(random.bit_generator, counts, drawn)
    again = np.random.default_rng(1)
    for table, ours in zip(counts, drawn, strict=True):
        rest = to_draw = int(table.sum())
        for count, ours_of_cell in zip(table.tolist(), ours.tolist(), strict=True):
            if count == 0 or to_draw == 0:
                expected = 0
            elif count == rest:
                expected = to_draw
            else:
                expected = int(again.binomial(to_draw, count / rest))
            assert ours_of_cell == expected
            rest, to_draw = rest - count, to_draw - expected


def test_the_stream_goes_on_where_it_was() -> None:
    counts = np.array([[10, 20, 30]], dtype=np.int64)
    random = np.random.default_rng(2)
    first, second = np.empty_like(counts), np.empty_like(counts)
    noise.resample(random.bit_generator, counts, first)
    noise.resample(random.bit_generator, counts, second)
    both = np.empty((2, 3), dtype=np.int64)
    noise.resample(np.random.default_rng(2).bit_generator, np.repeat(counts, 2, axis=0), both)
    np.testing.assert_array_equal(both, np.concatenate([first, second]))
