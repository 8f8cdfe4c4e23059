"""Smoothing by drawing: the same draws for all rows, whatever is asked and however work is spread."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from tremula.smoothing.sampled import ROWS_PER_BLOCK, make_draws, other_level, perturb_rows, sample_moments

SHARES = np.array([0.5, 0.3, 0.2])


def above_zero(rows: np.ndarray) -> np.ndarray:
    return (rows[:, :1] > 0).astype(float)


def test_the_same_seed_gives_the_same_draws() -> None:
    one, two, other = make_draws(7, 5, 3), make_draws(7, 5, 3), make_draws(8, 5, 3)
    assert np.array_equal(one.normal, two.normal)
    assert not np.array_equal(one.normal, other.normal)


def test_more_samples_keep_the_draws_of_fewer() -> None:
    assert np.array_equal(make_draws(7, 5, 3).chance, make_draws(7, 50, 3).chance[:5])


def test_the_mean_goes_to_the_expectation() -> None:
    rows = np.array([[-1.0], [0.0], [0.5]])
    moments = sample_moments(above_zero, rows, np.array([2.0]), make_draws(0, 20_000, 1))
    means, deviations = moments.means, moments.deviations
    expected = ndtr(rows / 2.0)
    assert means == pytest.approx(expected, abs=0.015)
    assert deviations == pytest.approx(np.sqrt(expected * (1 - expected)), abs=0.015)


def test_noise_may_differ_from_row_to_row() -> None:
    rows, spread = np.array([[0.5], [0.5]]), np.array([[1.0], [0.0]])
    means = sample_moments(above_zero, rows, spread, make_draws(0, 10_000, 1)).means
    assert means[:, 0] == pytest.approx([ndtr(0.5), 1.0], abs=0.02)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_rows_and_jobs_change_no_bit(n_jobs: int) -> None:
    rows = np.random.default_rng(0).standard_normal((2 * ROWS_PER_BLOCK + 7, 2))
    draws = make_draws(3, 4, 2)
    together = sample_moments(np.sin, rows, np.ones(2), draws, n_jobs=n_jobs).means
    alone = np.concatenate([sample_moments(np.sin, rows[i : i + 1], np.ones(2), draws).means for i in (0, 1500, 2054)])
    assert np.array_equal(together[[0, 1500, 2054]], alone)


def test_another_level_is_drawn_by_its_share_among_the_others() -> None:
    choices = (np.arange(1000) + 0.5) / 1000
    drawn = np.array([other_level(np.array([0.0]), choice, SHARES)[0] for choice in choices])
    assert np.mean(drawn == 1) == pytest.approx(0.6)
    assert np.mean(drawn == 2) == pytest.approx(0.4)


def test_a_missing_level_stays_missing_and_an_only_level_stays() -> None:
    assert np.isnan(other_level(np.array([np.nan]), 0.3, SHARES)[0])
    assert other_level(np.array([0.0]), 0.3, np.array([1.0, 0.0]))[0] == 0.0


def test_levels_are_replaced_as_often_as_flip_says_and_numbers_are_not_levels() -> None:
    draws, rows = make_draws(0, 2000, 2), np.array([[1.0, 5.0]])
    shaken = np.array([perturb_rows(rows, np.zeros(2), draws, i, 0.25, (SHARES, None))[0] for i in range(2000)])
    assert np.mean(shaken[:, 0] != 1.0) == pytest.approx(0.25, abs=0.03)
    assert np.all(shaken[:, 1] == 5.0)
