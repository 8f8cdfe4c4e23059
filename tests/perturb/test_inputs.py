"""Noise on attribute values: as large as it says, on every copy of a row, and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tremula.errors import InvalidParameter
from tremula.perturb import Bootstrap, Draw, Sample, SmearedInputs
from tremula.perturb.inputs import Draws
from tremula.perturb.noise_units import deviation, likeliest_bandwidth, rule_of_thumb
from tremula.perturb.sample import Values
from tremula.seeds import member_generator

N_ROWS = 4000
RANDOM = np.random.default_rng(0)
VALUES = np.column_stack(
    [
        RANDOM.normal(100.0, 5.0, N_ROWS),
        RANDOM.exponential(2.0, N_ROWS),
        RANDOM.integers(0, 7, N_ROWS),
        np.where(RANDOM.random(N_ROWS) < 0.2, np.nan, RANDOM.normal(size=N_ROWS)),
        np.full(N_ROWS, 3.0),
        RANDOM.integers(0, 4, N_ROWS),
    ]
)
N_LEVELS = np.array([0, 0, 0, 0, 0, 4])
SAMPLE = Sample(np.zeros(N_ROWS), n_classes=0, n_attributes=6)
TABLE = Values(VALUES, N_LEVELS)


def draw(member: int = 0) -> Draw:
    return Draw(member, 5, member_generator(1, member), shared_seed=1)


def smeared(noise: Any = 0.2, rows: np.ndarray | None = None, member: int = 0, **options: Any) -> np.ndarray:
    learned = SmearedInputs(noise, **options).learn(SAMPLE, lambda: TABLE)
    values = VALUES.copy() if rows is None else VALUES[rows]
    for noise in learned.apply(SAMPLE, draw(member)).noise:
        values = noise.smear(values, np.arange(len(values)))
    return values


def changes(**options: Any) -> np.ndarray:
    return smeared(**options) - VALUES


# --- how large


@pytest.mark.parametrize("distribution", ["gaussian", "uniform", "poisson"])
def test_the_noise_has_the_share_of_the_attributes_deviation_that_is_asked_for(distribution: str) -> None:
    spread = np.nanstd(VALUES, axis=0, ddof=1)
    deviations = np.nanstd(changes(noise=0.2, distribution=distribution), axis=0)
    assert deviations[:4] == pytest.approx(0.2 * spread[:4], rel=0.06)


def test_gaussian_noise_is_gaussian_and_independent_of_the_value() -> None:
    noise = changes(noise=0.2)[:, 0]
    assert stats.kstest(noise / (0.2 * VALUES[:, 0].std(ddof=1)), "norm").pvalue > 0.01
    assert abs(np.corrcoef(noise, VALUES[:, 0])[0, 1]) < 0.05


def test_noise_of_two_attributes_goes_its_own_way() -> None:
    noise = changes(noise=0.2)
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 0.05


def test_each_attribute_can_have_a_level_of_its_own() -> None:
    noise = changes(noise=[0.1, 0.0, 0.4, 0.0, 0.0, 0.0])
    assert noise[:, 0].std() == pytest.approx(0.1 * VALUES[:, 0].std(), rel=0.05)
    assert noise[:, 2].std() == pytest.approx(0.4 * VALUES[:, 2].std(), rel=0.05)
    assert not noise[:, 1].any()


def test_the_deviation_is_that_of_the_rows_that_can_be_drawn() -> None:
    weights = (np.abs(VALUES[:, 0] - 100.0) < 2.0).astype(float)
    learned: Any = SmearedInputs(1.0).learn(Sample(SAMPLE.target, 0, 6, weights), lambda: TABLE)
    assert learned.units[0] == pytest.approx(VALUES[weights > 0, 0].std(ddof=1))


def test_a_heavier_row_counts_more_in_the_deviation() -> None:
    weights = np.where(VALUES[:, 0] > 100.0, 1.0, 1e-9)
    learned: Any = SmearedInputs(1.0).learn(Sample(SAMPLE.target, 0, 6, weights), lambda: TABLE)
    assert learned.units[0] == pytest.approx(VALUES[VALUES[:, 0] > 100.0, 0].std(ddof=1), rel=1e-3)


# --- on what


def test_missing_values_stay_missing_and_no_other_becomes_so() -> None:
    assert (np.isnan(smeared()) == np.isnan(VALUES)).all()


def test_constant_and_nominal_attributes_stay_as_they_are() -> None:
    assert (smeared(noise=0.3)[:, 4:] == VALUES[:, 4:]).all()


def test_no_noise_changes_nothing_at_all() -> None:
    perturbation = SmearedInputs(0.0)
    assert perturbation.learn(SAMPLE, lambda: TABLE) is perturbation
    assert perturbation.apply(SAMPLE, draw()) is SAMPLE


def test_the_members_own_stream_is_left_as_it_is() -> None:
    drawn = draw()
    SmearedInputs(0.2).learn(SAMPLE, lambda: TABLE).apply(SAMPLE, drawn).noise[0].smear(
        VALUES.copy(), np.arange(len(VALUES))
    )
    assert drawn.random.random() == member_generator(1, 0).random()


def test_members_get_noise_of_their_own() -> None:
    assert (smeared(member=0)[:, 0] != smeared(member=1)[:, 0]).all()


def test_two_perturbations_in_a_list_draw_apart() -> None:
    learned = SmearedInputs(0.2).learn(SAMPLE, lambda: TABLE)
    sample = learned.apply(learned.apply(SAMPLE, draw()), draw())
    noises = [noise.smear(VALUES.copy(), np.arange(len(VALUES)))[:, 0] - VALUES[:, 0] for noise in sample.noise]
    assert abs(np.corrcoef(noises[0], noises[1])[0, 1]) < 0.05


def test_amounts_share_the_same_standard_draws() -> None:
    assert changes(noise=0.2)[:, 0] == pytest.approx(2.0 * changes(noise=0.1)[:, 0], abs=1e-10)


def test_the_first_rows_have_the_same_draws_however_many_there_are() -> None:
    draws = [Draws(np.random.SeedSequence(3)) for _ in range(2)]
    assert (draws[0].normals((50, 3))[:20] == draws[1].normals((20, 3))).all()


# --- copies of rows


def test_every_copy_of_a_row_is_a_row_of_its_own() -> None:
    sample = Sample(np.arange(4.0), 0, 2).with_copies(np.array([2, 0, 1, 3]))
    rows, alone = sample.expand_copies()
    assert rows.tolist() == [0, 0, 2, 3, 3, 3]
    assert alone.target.tolist() == [0, 0, 2, 3, 3, 3]
    assert alone.weights is None


def test_copies_keep_the_weight_of_their_row() -> None:
    given = Sample(np.arange(3.0), 0, 2, weights=np.array([0.5, 2.0, 0.0]))
    rows, alone = given.with_copies(np.array([3, 1, 0])).expand_copies()
    assert rows.tolist() == [0, 0, 0, 1]
    assert alone.weights is not None
    assert alone.weights.tolist() == [0.5, 0.5, 0.5, 2.0]


def test_rows_drawn_twice_are_copies_of_copies() -> None:
    sample = Sample(np.arange(2.0), 0, 1).with_copies(np.array([2, 1])).with_copies(np.array([3, 0]))
    assert sample.expand_copies()[0].tolist() == [0] * 6


def test_without_drawing_real_weights_are_kept() -> None:
    rows, alone = Sample(np.arange(3.0), 0, 1, weights=np.array([0.5, 0.0, 2.0])).expand_copies()
    assert rows.tolist() == [0, 2]
    assert alone.weights is not None
    assert alone.weights.tolist() == [0.5, 2.0]


def test_copies_of_a_row_get_different_noise() -> None:
    values = smeared(rows=np.zeros(10, np.intp))
    assert len(np.unique(values[:, 0])) == 10


def test_a_bootstrap_sample_has_as_many_copies_as_rows() -> None:
    rows, alone = Bootstrap().apply(SAMPLE, draw()).expand_copies()
    assert len(rows) == alone.n_rows == N_ROWS


# --- other noise


def test_poisson_noise_is_larger_on_larger_values_and_leaves_0_alone() -> None:
    before = VALUES[:, 2]
    noise = changes(noise=0.3, distribution="poisson")[:, 2]
    assert not noise[before == 0].any()
    assert noise[before == 6].std() == pytest.approx(np.sqrt(6) * noise[before == 1].std(), rel=0.1)


def test_noise_on_the_log_scale_is_relative_and_never_negative() -> None:
    after = smeared(noise=0.3, distribution="log")[:, 1]
    shift = np.log1p(after) - np.log1p(VALUES[:, 1])
    assert after.min() >= 0.0
    assert shift[VALUES[:, 1] > 3.0].std() == pytest.approx(0.3 * np.log1p(VALUES[:, 1]).std(ddof=1), rel=0.1)


@pytest.mark.parametrize("distribution", ["poisson", "log"])
def test_attributes_with_negative_values_get_gaussian_noise_instead(distribution: str) -> None:
    counts, plain = smeared(distribution=distribution)[:, 3], smeared()[:, 3]
    assert np.array_equal(counts, plain, equal_nan=True)


def test_uniform_noise_has_bounds() -> None:
    noise = changes(noise=0.2, distribution="uniform")[:, 0]
    assert np.abs(noise).max() <= np.sqrt(3) * 0.2 * VALUES[:, 0].std(ddof=1)


def test_values_stay_within_the_attributes_bounds() -> None:
    after = smeared(noise=0.8, within_bounds=True)
    assert (np.nanmin(after, axis=0) >= np.nanmin(VALUES, axis=0)).all()
    assert (np.nanmax(after, axis=0) <= np.nanmax(VALUES, axis=0)).all()
    assert (after[:, 1] == VALUES[:, 1].min()).mean() < 0.01  # reflected, not heaped up


def test_integers_stay_integers() -> None:
    after = smeared(noise=0.3, keep_integers=True)
    assert (after[:, 2] == np.rint(after[:, 2])).all()
    assert (after[:, 2] != VALUES[:, 2]).any()
    assert (after[:, 0] != np.rint(after[:, 0])).any()


def test_a_nominal_value_is_replaced_by_another_level_with_the_chance_given() -> None:
    before, after = VALUES[:, 5], smeared(noise=0.3, smear_nominal=True)[:, 5]
    assert (before != after).mean() == pytest.approx(0.3, abs=0.03)
    moved = np.bincount(after[(before == 1) & (after != 1)].astype(int), minlength=4)
    assert set(np.flatnonzero(moved)) == {0, 2, 3}
    assert moved[[0, 2, 3]] == pytest.approx(moved.sum() / 3, rel=0.3)


def test_missing_nominal_values_stay_missing() -> None:
    values = np.array([[np.nan], [0.0], [1.0]])
    sample = Sample(np.zeros(3), 0, 1)
    learned = SmearedInputs(1.0, smear_nominal=True).learn(sample, lambda: Values(values, np.array([2])))
    after = learned.apply(sample, draw()).noise[0].smear(values.copy(), np.arange(len(values)))
    assert np.array_equal(after, [[np.nan], [1.0], [0.0]], equal_nan=True)


# --- units


def test_the_rule_of_thumb_shrinks_with_the_number_of_rows() -> None:
    values = RANDOM.normal(size=3200)
    assert rule_of_thumb(values) == pytest.approx(0.9 * 3200**-0.2, rel=0.05)
    assert rule_of_thumb(values[:100]) > 1.5 * rule_of_thumb(values)


def test_the_likeliest_bandwidth_of_normal_values_is_near_the_best_one() -> None:
    widths = [likeliest_bandwidth(np.random.default_rng(seed).normal(size=400)) for seed in range(5)]
    assert np.mean(widths) == pytest.approx(1.06 * 400**-0.2, rel=0.35)


@pytest.mark.parametrize("unit", [rule_of_thumb, likeliest_bandwidth])
def test_counts_that_are_mostly_0_have_no_bandwidth(unit: Any) -> None:
    assert unit(np.where(np.arange(300) % 5 == 0, np.arange(300) % 3, 0.0)) == 0.0


def test_large_numbers_have_a_deviation() -> None:
    assert deviation(np.array([-1e200, 1e200])) == pytest.approx(np.sqrt(2) * 1e200)


def test_equal_numbers_have_none() -> None:
    assert deviation(np.full(7, 0.1)) == 0.0


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise=-0.1 was given; expected a number of at least 0"),
        ({"noise": np.inf}, "expected a finite number"),
        ({"noise": np.nan}, "noise=nan was given"),
        ({"noise": "much"}, "noise='much' was given"),
        ({"noise": [0.1, 0.2]}, "noise has 2 amounts, but there are 6 attributes"),
        ({"noise": [0.1, 0.2, 0.1, 0.1, 0.1, -1.0]}, "noise=-1.0 was given"),
        ({"distribution": "normal"}, "distribution='normal' is not known"),
        ({"unit": "metre"}, "unit='metre' is not known"),
        ({"smear_nominal": 1}, "smear_nominal=1 was given; expected True or False"),
    ],
)
def test_what_cannot_be_added_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        SmearedInputs(**options).check(SAMPLE)


def test_amounts_given_as_an_array_can_be_compared() -> None:
    assert SmearedInputs(np.array([0.1, 0.2])) == SmearedInputs([0.1, 0.2])
