"""Ours against published numbers: bands, margins, and words for misses on both sides."""

import math

import numpy as np
import pytest
from scipy import stats

from tremula.lab.papers.count_verdict import count_power, judge_counts
from tremula.lab.papers.published import read_published
from tremula.lab.papers.verdict import (
    judge_cross_validated,
    judge_mean,
    judge_means,
    judge_on_test_set,
    not_comparable,
    raw_band,
)


def test_a_rate_over_n_plus_ten_stands_for_a_band_of_raw_errors() -> None:
    # 71 of 218 is what the paper prints for sonar; from 66 to 71 of its 208 rows may have been wrong.
    assert raw_band(71 / 218, 208) == pytest.approx((66 / 208, 71 / 208))


def test_the_band_ends_at_zero() -> None:
    assert raw_band(1 / 160, 150)[0] == 0


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.2, "better"), (0.26, "within"), (0.33, "within"), (0.40, "within"), (0.41, "worse")]
)
def test_a_cross_validated_error_is_within_the_band_and_its_sampling_error(ours: float, verdict: str) -> None:
    # The band is 0.317 to 0.341, the sampling error of 208 rows 0.064.
    assert judge_cross_validated(ours, 208, 0.3257, 208).verdict == verdict


def test_fewer_rows_tested_widen_the_interval() -> None:
    low, high = judge_cross_validated(0.3, 208, 0.3257, 208).interval
    lower, higher = judge_cross_validated(0.3, 62, 0.3257, 208).interval
    assert lower < low
    assert higher > high


def test_more_rows_than_the_published_ones_do_not_narrow_it() -> None:
    assert judge_on_test_set(0.1, 10**6, 0.1, 2000).interval == judge_on_test_set(0.1, 2000, 0.1, 2000).interval


def test_an_error_on_a_test_set_has_no_band_but_sampling_error() -> None:
    judgement = judge_on_test_set(0.0935, 2000, 0.0890, 2000)
    margin = 1.96 * math.sqrt(0.089 * 0.911 / 2000)
    assert judgement.interval == pytest.approx((0.089 - margin, 0.089 + margin))
    assert judgement.difference == pytest.approx(0.0045)


@pytest.mark.parametrize("row", read_published("dietterich2000_table1").rows, ids=lambda row: row["domain"])
def test_the_printed_limits_are_those_of_the_sizes_in_the_file(row: dict[str, str]) -> None:
    error, n_rows = float(row["error"]), int(row["n"])
    assert 1.96 * math.sqrt(error * (1 - error) / n_rows) == pytest.approx(float(row["limit"]), abs=6e-5)


def test_a_mean_is_judged_by_the_spread_of_its_divisions() -> None:
    ours = [0.30, 0.32, 0.28, 0.31, 0.29]
    assert judge_mean(ours, 0.31, 100).verdict == "within"
    assert judge_mean(ours, 0.35, 100).verdict == "better"
    assert judge_mean(ours, 0.25, 100).verdict == "worse"


def test_one_division_has_no_spread_to_judge_by() -> None:
    judgement = judge_mean([0.3], 0.3, 100)
    assert judgement.verdict == "not comparable"
    assert "a spread needs two" in judgement.reason


def test_nothing_measured_is_not_comparable() -> None:
    assert judge_cross_validated(math.nan, 0, 0.3, 208).verdict == "not comparable"
    assert judge_mean([], 0.3, 100).verdict == "not comparable"


@pytest.mark.parametrize(("ours", "verdict"), [((14, 0, 19), "within"), ((25, 0, 8), "better"), ((2, 5, 26), "worse")])
def test_wins_and_losses_are_judged_by_their_lead(ours: tuple[int, int, int], verdict: str) -> None:
    assert judge_counts(ours, (14, 0, 19)).verdict == verdict


MIRRORED = {"better": "worse", "worse": "better", "within": "within"}


def test_wins_and_losses_are_mirror_images() -> None:
    counts = [(wins, losses, 9 - wins - losses) for wins in range(10) for losses in range(10 - wins)]
    for ours in counts:
        for published in counts:
            verdict = judge_counts(ours, published).verdict
            swapped = judge_counts((ours[1], ours[0], ours[2]), (published[1], published[0], published[2])).verdict
            assert swapped == MIRRORED[verdict]


def test_differences_of_errors_are_mirror_images_too() -> None:
    for published in (-0.03, -0.01, 0.0, 0.01, 0.03):
        for mean in np.linspace(-0.06, 0.06, 13):
            ours = mean + np.array([-0.01, 0.0, 0.01])
            verdict = judge_mean(ours, published, 100, signed=True).verdict
            assert judge_mean(-ours, -published, 100, signed=True).verdict == MIRRORED[verdict]


@pytest.mark.parametrize("published", [(3, 3, 3), (6, 0, 3), (0, 9, 0)])
def test_the_power_of_a_verdict_on_counts_is_the_share_of_outcomes_outside(published: tuple[int, int, int]) -> None:
    outcomes = [(wins, losses, 9 - wins - losses) for wins in range(10) for losses in range(10) if wins + losses < 10]
    outside = [outcome for outcome in outcomes if judge_counts(outcome, published).verdict != "within"]
    assert count_power(published) == len(outside) / 55


def test_the_power_of_a_band_counts_the_numbers_outside() -> None:
    judgement = judge_on_test_set(0.10, 2000, 0.10, 2000)  # 0.087 to 0.113
    assert judgement.power([0.05, 0.10, 0.11, 0.12]) == "2 of 4"
    assert not_comparable(0.1, 0.2, "other rows").power([0.3]) is None


def test_a_published_spread_widens_the_interval() -> None:
    ours = [0.20, 0.24, 0.19, 0.21]
    narrow, wide = (judge_means(ours, 0.29, spread, 10).interval for spread in (0.01, 0.2))
    assert wide[0] < narrow[0]
    assert wide[1] > narrow[1]
    assert judge_means(ours, 0.29, 0.01, 10).verdict == "better"
    assert judge_means(ours, 0.29, 0.2, 10).verdict == "within"


def test_welchs_interval_is_that_of_scipy() -> None:
    ours, theirs = np.array([0.2, 0.24, 0.19, 0.21]), np.array([0.3, 0.26, 0.31])
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    low, high = judge_means(ours, theirs.mean(), theirs.std(ddof=1), 3).interval
    assert (high - low) == pytest.approx(expected.high - expected.low)


def test_counts_over_other_numbers_of_domains_are_not_comparable() -> None:
    assert judge_counts((5, 0, 4), (14, 0, 19)).reason == "9 domains of ours, 33 of theirs"


def test_a_miss_is_a_miss_on_both_sides() -> None:
    assert judge_on_test_set(0.2, 2000, 0.1, 2000).is_miss
    assert judge_on_test_set(0.02, 2000, 0.1, 2000).is_miss
    assert not judge_on_test_set(0.1, 2000, 0.1, 2000).is_miss
    assert not not_comparable(0.2, 0.1, "other rows").is_miss
