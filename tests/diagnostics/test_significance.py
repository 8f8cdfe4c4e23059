"""The paired tests: against SciPy and numbers worked by hand, and how often they find what is not there."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tremula.diagnostics import (
    TestResult,
    adjust_p_values,
    binomial_interval,
    corrected_t_test,
    difference_of_proportions,
    five_by_two_f_test,
    mcnemar_test,
    paired_t_test,
)
from tremula.diagnostics.significance.out_of_bag import out_of_bag_interval
from tremula.errors import InvalidInput, InvalidParameter

FIRST = [0.30, 0.25, 0.28, 0.31, 0.22]
SECOND = [0.27, 0.23, 0.29, 0.25, 0.21]


def mark(only_first: int, only_second: int, both: int = 0, neither: int = 0) -> tuple[list[bool], list[bool]]:
    """Which rows each of two classifiers gets wrong."""
    first = [True] * only_first + [False] * only_second + [True] * both + [False] * neither
    second = [False] * only_first + [True] * only_second + [True] * both + [False] * neither
    return first, second


def test_paired_t_is_that_of_scipy() -> None:
    result, expected = paired_t_test(FIRST, SECOND), stats.ttest_rel(FIRST, SECOND)
    interval = expected.confidence_interval(0.95)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.interval == pytest.approx((interval.low, interval.high))
    assert result.degrees_of_freedom == expected.df


def test_corrected_t_is_paired_t_when_test_sets_are_small_beside_training_sets() -> None:
    corrected = corrected_t_test(FIRST, SECOND, n_train=1e18, n_test=1)
    assert corrected.p_value == pytest.approx(stats.ttest_rel(FIRST, SECOND).pvalue)


def test_a_hundred_splits_of_nine_tenths_inflate_the_variance_to_0_1211() -> None:
    differences = np.random.default_rng(0).normal(0.1, 1, size=100)
    result = corrected_t_test(differences, np.zeros(100), n_train=90, n_test=10)
    variance = (differences.mean() / result.statistic) ** 2
    assert variance / differences.var(ddof=1) == pytest.approx(0.1211, abs=5e-5)
    assert variance / differences.var(ddof=1) == pytest.approx(1 / 100 + 1 / 9)


def test_sizes_of_splits_may_differ() -> None:
    each = corrected_t_test(FIRST, SECOND, n_train=[90, 90, 90, 90, 91], n_test=[10, 10, 10, 10, 9])
    ratio = np.mean([10 / 90] * 4 + [9 / 91])
    assert each.p_value == pytest.approx(corrected_t_test(FIRST, SECOND, n_train=1, n_test=ratio).p_value)


def test_interval_and_p_value_agree() -> None:
    p_value = corrected_t_test(FIRST, SECOND, n_train=80, n_test=20).p_value
    at_its_level = corrected_t_test(FIRST, SECOND, n_train=80, n_test=20, confidence=1 - p_value)
    assert at_its_level.interval[0] == pytest.approx(0, abs=1e-12)


def test_effect_size_is_the_mean_in_standard_deviations() -> None:
    differences = np.subtract(FIRST, SECOND)
    assert paired_t_test(FIRST, SECOND).effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))


@pytest.mark.parametrize("difference", [0.1, -0.1])
def test_equal_differences_that_are_not_zero_have_p_0(difference: float) -> None:
    a = np.array([0.3, 0.25, 0.7, 0.123])
    result = corrected_t_test(a + difference, a, n_train=90, n_test=10)
    assert result.p_value == 0
    assert result.statistic == math.copysign(math.inf, difference)
    assert result.interval == pytest.approx((difference, difference))


@pytest.mark.parametrize("b", [[0.3, 0.2, 0.1], [0.1 + 0.2, 0.2, 0.1]], ids=["equal", "equal but for rounding"])
def test_no_difference_at_all_has_p_1(b: list[float]) -> None:
    result = paired_t_test([0.3, 0.2, 0.1], b)
    assert (result.p_value, result.statistic, result.interval, result.effect_size) == (1, 0, (0, 0), 0)


def test_five_by_two_f_by_hand() -> None:
    # Differences (0.02, 0.04), (0.01, 0.03), (0.05, 0.01), (0.04, 0.02), (0.03, 0.03):
    # squares sum to 0.0094, variances within pairs to 0.0002 + 0.0002 + 0.0008 + 0.0002 + 0 = 0.0014.
    differences = [0.02, 0.04, 0.01, 0.03, 0.05, 0.01, 0.04, 0.02, 0.03, 0.03]
    result = five_by_two_f_test(differences, np.zeros(10))
    assert result.statistic == pytest.approx(0.0094 / (2 * 0.0014))
    assert result.p_value == pytest.approx(stats.f.sf(0.0094 / 0.0028, 10, 5))
    assert result.degrees_of_freedom == (10, 5)


def test_five_by_two_interval_ends_where_the_test_begins_to_reject() -> None:
    differences = np.array([0.02, 0.04, 0.01, 0.03, 0.05, 0.01, 0.04, 0.02, 0.03, 0.03])
    low, high = five_by_two_f_test(differences, np.zeros(10)).interval
    assert five_by_two_f_test(differences, np.full(10, low)).p_value == pytest.approx(0.05)
    assert five_by_two_f_test(differences, np.full(10, high)).p_value == pytest.approx(0.05)


def test_five_by_two_has_no_interval_where_every_difference_is_rejected() -> None:
    result = five_by_two_f_test(np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 2) + np.tile([0, 0.01], 5), np.zeros(10))
    assert result.p_value < 0.05
    assert np.isnan(result.interval).all()


def test_five_by_two_with_equal_folds() -> None:
    assert five_by_two_f_test(np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 2), np.zeros(10)).p_value == 0
    assert five_by_two_f_test(np.ones(10), np.ones((5, 2))).p_value == 1


def test_mcnemar_exact_by_hand() -> None:
    # 9 and 2 rows wrong in one only: 2 (C(11,0) + C(11,1) + C(11,2)) / 2^11 = 2 * 67 / 2048.
    result = mcnemar_test(*mark(9, 2, both=4, neither=85))
    assert result.p_value == pytest.approx(134 / 2048)
    assert result.difference == pytest.approx(0.07)


def test_mcnemar_chi_square_by_hand() -> None:
    # (|40 - 20| - 1)^2 / 60
    result = mcnemar_test(*mark(40, 20, both=10, neither=130))
    assert result.statistic == pytest.approx(361 / 60)
    assert result.p_value == pytest.approx(stats.chi2.sf(361 / 60, 1))
    assert result.difference == pytest.approx(0.1)


@pytest.mark.parametrize(("only_first", "freedom"), [(14, None), (15, 1)])
def test_mcnemar_is_exact_below_25_discordant_rows(only_first: int, freedom: float | None) -> None:
    assert mcnemar_test(*mark(only_first, 10)).degrees_of_freedom == freedom


@pytest.mark.parametrize("method", ["exact", "chi-square"])
@pytest.mark.parametrize("only_first", range(8, 31))
def test_mcnemar_interval_leaves_out_zero_when_p_is_below_5_percent(method: str, only_first: int) -> None:
    result = mcnemar_test(*mark(only_first, 30 - only_first, neither=50), method=method)
    low, high = result.interval
    assert (low > 0 or high < 0) == (result.p_value < 0.05)


@pytest.mark.parametrize("method", ["exact", "chi-square"])
def test_mcnemar_interval_ends_at_zero_at_the_level_of_its_p_value(method: str) -> None:
    marks = mark(40, 20, neither=140)
    p_value = mcnemar_test(*marks, method=method).p_value
    low, high = mcnemar_test(*marks, method=method, confidence=1 - p_value).interval
    assert low == pytest.approx(0, abs=1e-6)
    assert high > 0.1


@pytest.mark.parametrize("method", ["exact", "chi-square"])
def test_mcnemar_of_classifiers_that_err_alike(method: str) -> None:
    result = mcnemar_test(*mark(0, 0, both=3, neither=5), method=method)
    assert (result.p_value, result.difference, result.interval) == (1, 0, (0, 0))


def test_difference_of_proportions_by_hand() -> None:
    # 0.2 - 0.1 +- 1.96 sqrt(0.16 / 100 + 0.09 / 100)
    result = difference_of_proportions(20, 10, 100)
    assert result.interval == pytest.approx((0.1 - 1.96 * 0.05, 0.1 + 1.96 * 0.05), abs=1e-5)
    assert result.p_value == pytest.approx(2 * stats.norm.sf(2))


def test_difference_of_proportions_without_spread() -> None:
    assert difference_of_proportions(10, 0, 10).p_value == 0
    assert difference_of_proportions(0, 0, 10).p_value == 1


def test_normal_interval_is_the_limit_in_the_table_of_dietterich() -> None:
    # satimage, 2,000 test rows: 0.1515 +- 0.0157
    low, high = binomial_interval(303, 2000, method="normal")
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((0.1515, 0.0157), abs=5e-5)


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_binomial_interval_is_that_of_scipy(method: str) -> None:
    expected = stats.binomtest(3, 20).proportion_ci(0.9, method=method)
    assert binomial_interval(3, 20, confidence=0.9, method=method) == pytest.approx((expected.low, expected.high))


def test_holm_by_hand() -> None:
    # 0.01 * 4; 0.02 * 3; max(0.06, 0.03 * 2); max(0.06, 0.04)
    assert adjust_p_values([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_bonferroni_by_hand() -> None:
    assert adjust_p_values([0.01, 0.5, 0.2], "bonferroni") == pytest.approx([0.03, 1, 0.6])


def test_benjamini_hochberg_by_hand() -> None:
    # 0.01 * 4; min(0.03 * 2, 0.04 * 4/3, 0.5) and so on
    adjusted = adjust_p_values([0.5, 0.01, 0.04, 0.03], "benjamini-hochberg")
    assert adjusted == pytest.approx([0.5, 0.04, 0.04 * 4 / 3, 0.04 * 4 / 3])


def test_sentence_says_what_was_found() -> None:
    result = TestResult("paired t", 3.0, 0.02, 9, 0.019, (0.008, 0.03), 0.95, 1.0)
    assert result.sentence("C4.5", "bagging") == (
        "C4.5 minus bagging is 0.019 (95 % interval 0.008 to 0.03), p = 0.02 by the paired t test."
    )


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2], "a has 3 values and b has 2"),
        ([0.1], [0.2], "1 split was given: a paired test needs at least 2"),
        ([0.1, math.nan], [0.1, 0.2], "a is nan at split 1"),
        ([0.1, 0.2], [math.inf, 0.2], "b is inf at split 0"),
        ([[0.1, 0.2]], [0.1, 0.2], "a has 2 dimensions"),
        ([0.1, 0.2], ["low", "high"], "b holds something that is not a number"),
    ],
)
def test_splits_that_cannot_be_paired(a: list[float], b: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        paired_t_test(a, b)
    with pytest.raises(InvalidInput, match=message):
        corrected_t_test(a, b, n_train=90, n_test=10)


@pytest.mark.parametrize(("n_train", "n_test"), [(0, 10), (90, -1), (math.nan, 10), ([90, 90, 90], 10)])
def test_sizes_that_cannot_be(n_train: float, n_test: float) -> None:
    with pytest.raises(InvalidInput, match=r"n_(train|test) (is|has)"):
        corrected_t_test([0.1, 0.2], [0.2, 0.2], n_train=n_train, n_test=n_test)


def test_five_by_two_needs_ten_values() -> None:
    with pytest.raises(InvalidInput, match=r"shape \(9,\).*10 values"):
        five_by_two_f_test(np.ones(9), np.ones(9))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([True], [True, False], "1 row and second_wrong has 2"), ([], [], "must be one"), ([0.5], [0.2], "must be one")],
)
def test_marks_that_mcnemar_cannot_use(first: list[bool], second: list[bool], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        mcnemar_test(first, second)


@pytest.mark.parametrize(("wrong", "n_rows"), [(11, 10), (-1, 10), (2.5, 10), (0, 0), ("3", 10), (3, None)])
def test_counts_that_cannot_be(wrong: Any, n_rows: Any) -> None:
    with pytest.raises(InvalidInput, match="whole numbers"):
        binomial_interval(wrong, n_rows)


@pytest.mark.parametrize("confidence", [0, 1, 95, "0.95", None])
def test_confidence_is_between_0_and_1(confidence: Any) -> None:
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        paired_t_test(FIRST, SECOND, confidence=confidence)


@pytest.mark.parametrize("p_values", [[0.1, math.nan], [1.1], [], [[0.1]]])
def test_p_values_that_cannot_be(p_values: list[float]) -> None:
    with pytest.raises(InvalidInput, match="numbers from 0 to 1"):
        adjust_p_values(p_values)


def test_p_values_that_are_no_numbers() -> None:
    with pytest.raises(InvalidInput, match="p_values holds something that is not a number"):
        adjust_p_values(["small"])


def test_unknown_correction_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'holm'"):
        adjust_p_values([0.1], "holms")


# --- false findings: shares of simulated pairs of equal methods that a test at 5 % calls different ---

N_TRIALS = 1000
FOUR_DEVIATIONS = 4 * math.sqrt(0.05 * 0.95 / N_TRIALS)


def test_paired_t_finds_5_percent_in_independent_splits() -> None:
    draws = np.random.default_rng(1).normal(size=(N_TRIALS, 10))
    found = np.mean([paired_t_test(row, np.zeros(10)).p_value <= 0.05 for row in draws])
    assert found == pytest.approx(0.05, abs=FOUR_DEVIATIONS)


def draw_resampled(n_splits: int) -> np.ndarray:
    """Draw differences that go together as those of random splits of nine tenths: correlation n_test / n."""
    random = np.random.default_rng(2)
    shared = random.normal(size=(N_TRIALS, 1))
    return math.sqrt(0.1) * shared + math.sqrt(0.9) * random.normal(size=(N_TRIALS, n_splits))


def test_corrected_t_finds_5_percent_in_resampled_splits() -> None:
    zeros = np.zeros(100)
    rows = draw_resampled(100)
    found = np.mean([corrected_t_test(row, zeros, n_train=90, n_test=10).p_value <= 0.05 for row in rows])
    assert found == pytest.approx(0.05, abs=FOUR_DEVIATIONS)


def test_paired_t_finds_more_than_half_in_resampled_splits() -> None:
    # Its t is sqrt((1/100 + 1/9) / (1/100)) times too long.
    found = np.mean([paired_t_test(row, np.zeros(100)).p_value <= 0.05 for row in draw_resampled(100)])
    expected = 2 * stats.t.sf(stats.t.ppf(0.975, 99) / math.sqrt(1 + 100 / 9), 99)
    assert expected > 0.5
    assert found == pytest.approx(expected, abs=4 * math.sqrt(0.25 / N_TRIALS))


def test_five_by_two_f_finds_at_most_5_percent() -> None:
    # With independent differences F is 1/2 + F(5, 5) / 2, less than the F(10, 5) it is compared with.
    draws = np.random.default_rng(3).normal(size=(N_TRIALS, 10))
    found = np.mean([five_by_two_f_test(row, np.zeros(10)).p_value <= 0.05 for row in draws])
    expected = stats.f.sf(2 * stats.f.ppf(0.95, 10, 5) - 1, 5, 5)
    assert expected < 0.05
    assert found == pytest.approx(expected, abs=FOUR_DEVIATIONS)


def draw_marks(correlated: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw which of 400 rows two classifiers of error 0.2 get wrong; correlated, they share half of their errors."""
    random = np.random.default_rng(4)
    first, second = random.random((2, N_TRIALS, 400)) < 0.2
    if correlated:
        shared = random.random((N_TRIALS, 400)) < 0.5
        second = np.where(shared, first, second)
    return first, second


@pytest.mark.parametrize("correlated", [False, True])
def test_mcnemar_finds_nearly_5_percent(correlated: bool) -> None:
    pairs = list(zip(*draw_marks(correlated)))[:400]
    found = np.mean([mcnemar_test(*pair).p_value <= 0.05 for pair in pairs])
    assert 0.01 < found < 0.075


@pytest.mark.parametrize(("correlated", "low", "high"), [(False, 0.035, 0.065), (True, 0.0, 0.02)])
def test_difference_of_proportions_is_right_for_independent_errors_only(
    correlated: bool, low: float, high: float
) -> None:
    counts = [marks.sum(axis=1) for marks in draw_marks(correlated)]
    pairs = [(int(first), int(second)) for first, second in zip(*counts)]
    found = np.mean([difference_of_proportions(*pair, 400).p_value <= 0.05 for pair in pairs])
    assert low < found < high


def test_an_out_of_bag_interval_is_that_of_63_percent_of_the_rows() -> None:
    low, high = out_of_bag_interval(300_000, 1_000_000)
    fewer = binomial_interval(round(0.3 * 632_121), 632_121)
    assert (low, high) == pytest.approx(fewer, abs=1e-6)
    assert out_of_bag_interval(0, 50)[0] == 0.0
    assert out_of_bag_interval(50, 50)[1] == pytest.approx(1.0)
    shorter = binomial_interval(15, 50)
    assert out_of_bag_interval(15, 50)[0] < shorter[0] < shorter[1] < out_of_bag_interval(15, 50)[1]


@pytest.mark.parametrize(("n_wrong", "n_rows"), [(5, 4), (-1, 4), (0, 0)])
def test_impossible_counts_out_of_bag_are_refused(n_wrong: int, n_rows: int) -> None:
    with pytest.raises(InvalidParameter, match="wrong of"):
        out_of_bag_interval(n_wrong, n_rows)
