"""Each perturbation changes what it says, by as much as it says, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula import CARTClassifier, CARTRegressor, PerturbCombineClassifier, PerturbCombineRegressor
from tremula.errors import InvalidInput, InvalidParameter
from tremula.perturb import (
    AttributeSubset,
    BalancedBootstrap,
    BlockBootstrap,
    Bootstrap,
    DisjointParts,
    Draw,
    FlippedClasses,
    Perturbation,
    RandomAttributes,
    RandomSplits,
    RandomThresholds,
    Sample,
    SmearedTarget,
)
from tremula.perturb.targets import flip_probabilities, highest_rate, robust_spread
from tremula.seeds import member_generator

CLASSES = Sample(np.repeat([0, 1, 2], [50, 30, 20]).astype(np.int32), n_classes=3, n_attributes=10)
NUMBERS = Sample(np.linspace(-1.0, 1.0, 100), n_classes=0, n_attributes=10)
EVERY_KIND = [
    (Bootstrap(), CLASSES),
    (Bootstrap(0.5, bootstrap=False), CLASSES),
    (DisjointParts(), CLASSES),
    (AttributeSubset(), CLASSES),
    (RandomSplits(), CLASSES),
    (RandomAttributes(), CLASSES),
    (RandomThresholds(), CLASSES),
    (FlippedClasses(), CLASSES),
    (SmearedTarget(), NUMBERS),
]


def draw(member: int = 0, n_members: int = 5, seed: int = 1) -> Draw:
    return Draw(member, n_members, member_generator(seed, member), shared_seed=seed)


def weights_of(perturbation: Perturbation, sample: Sample = CLASSES, **kwargs: int) -> np.ndarray:
    weights = perturbation.apply(sample, draw(**kwargs)).weights
    assert weights is not None
    return weights


@pytest.mark.parametrize(("perturbation", "sample"), EVERY_KIND, ids=str)
def test_the_same_draw_gives_the_same_sample(perturbation: Perturbation, sample: Sample) -> None:
    perturbation.check(sample)
    one, other = perturbation.apply(sample, draw(3)), perturbation.apply(sample, draw(3))
    np.testing.assert_equal(vars(one), vars(other))


@pytest.mark.parametrize(("perturbation", "sample"), EVERY_KIND, ids=str)
def test_the_sample_given_is_left_as_it_was(perturbation: Perturbation, sample: Sample) -> None:
    before = sample.target.copy()
    perturbed = perturbation.apply(sample, draw())
    np.testing.assert_array_equal(sample.target, before)
    assert sample.weights is None
    assert sample.attributes is None
    assert (perturbed.n_classes, perturbed.n_attributes, perturbed.n_rows) == (sample.n_classes, 10, 100)
    assert perturbed.target.dtype == sample.target.dtype


@pytest.mark.parametrize(("perturbation", "sample"), EVERY_KIND, ids=str)
def test_one_thing_is_shaken(perturbation: Perturbation, sample: Sample) -> None:
    perturbed = perturbation.apply(sample, draw())
    changed = [
        not np.array_equal(perturbed.target, sample.target),
        perturbed.weights is not None,
        perturbed.attributes is not None,
        bool(perturbed.options),
    ]
    assert sum(changed) == 1


# --- rows


@pytest.mark.parametrize(
    ("max_samples", "n_drawn"), [(1.0, 100), (0.5, 50), (0.001, 1), (2.5, 250), (7, 7), (1, 1), (300, 300)]
)
def test_multiplicities_sum_to_the_rows_drawn(max_samples: float, n_drawn: int) -> None:
    counts = weights_of(Bootstrap(max_samples))
    assert counts.sum() == n_drawn
    assert counts.dtype.kind == "i"


@pytest.mark.parametrize("max_samples", [1.0, 0.63, 0.01, 1, 100])
def test_without_replacement_a_row_is_drawn_at_most_once(max_samples: float) -> None:
    counts = weights_of(Bootstrap(max_samples, bootstrap=False))
    assert set(counts) <= {0, 1}
    assert counts.sum() == (max_samples if isinstance(max_samples, int) else round(100 * max_samples))


def test_a_bootstrap_sample_has_the_share_of_distinct_rows_that_theory_gives() -> None:
    shares = [np.mean(weights_of(Bootstrap(), member=member) > 0) for member in range(400)]
    expected = 1 - (1 - 1 / 100) ** 100
    assert abs(np.mean(shares) - expected) < 5 * np.std(shares) / 20


@pytest.mark.parametrize("replaced", [True, False])
def test_rows_are_drawn_alike(replaced: bool) -> None:
    bootstrap = Bootstrap(0.5, replaced)
    counts = np.sum([weights_of(bootstrap, member=member) for member in range(1000)], axis=0)
    spread = np.sqrt(1000 * 50 * (1 / 100) * (1 - 1 / 100))
    assert np.abs(counts - 500).max() < 5 * spread


def test_weights_are_kept_and_rows_of_weight_zero_not_drawn() -> None:
    weights = np.where(np.arange(100) % 4 == 0, 0.0, 0.5)
    perturbed = weights_of(Bootstrap(), replace(CLASSES, weights=weights))
    assert perturbed.sum() == 0.5 * 75
    assert not perturbed[::4].any()
    assert np.count_nonzero(perturbed) > 75 * 0.5


@pytest.mark.parametrize("max_samples", [0, -1, 0.0, -0.5, True, "all", None, float("nan")])
def test_a_sample_of_no_size_is_refused(max_samples: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"max_samples=.* was given; expected"):
        Bootstrap(max_samples).check(CLASSES)


@pytest.mark.parametrize("max_samples", [101, 1.5])
def test_more_rows_than_there_are_cannot_be_drawn_once_each(max_samples: float) -> None:
    with pytest.raises(InvalidParameter, match="without replacement: ask for fewer, or draw with replacement"):
        Bootstrap(max_samples, bootstrap=False).check(CLASSES)


def test_rows_of_weight_zero_are_not_among_those_to_draw() -> None:
    sample = replace(CLASSES, weights=np.repeat([0.0, 1.0], 50))
    with pytest.raises(InvalidParameter, match="asks for 60 of 50 rows"):
        Bootstrap(60, bootstrap=False).check(sample)


def test_replace_is_true_or_false() -> None:
    with pytest.raises(InvalidParameter, match="bootstrap='yes' was given; expected True or False"):
        Bootstrap(bootstrap="yes").check(CLASSES)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 12), st.integers(0, 5))
def test_parts_are_disjoint_cover_all_rows_and_mix_the_classes(codes: list[int], n_parts: int, seed: int) -> None:
    n_parts = min(n_parts, len(codes))
    sample = Sample(np.array(codes, np.int32), n_classes=4, n_attributes=1)
    parts = np.array(
        [weights_of(DisjointParts(), sample, member=m, n_members=n_parts, seed=seed) for m in range(n_parts)]
    )
    assert parts.sum(axis=0).tolist() == [1] * len(codes)
    sizes = parts.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1
    for code in range(4):
        of_class = parts[:, sample.target == code].sum(axis=1)
        assert of_class.max() - of_class.min() <= 1


def test_parts_of_a_numeric_target_are_disjoint_and_cover_all_rows() -> None:
    parts = [weights_of(DisjointParts(), NUMBERS, member=member) for member in range(5)]
    assert np.sum(parts, axis=0).tolist() == [1] * 100


def test_parts_are_drawn_by_the_seed() -> None:
    assert not np.array_equal(weights_of(DisjointParts(), seed=1), weights_of(DisjointParts(), seed=2))


def test_rows_of_weight_zero_are_in_no_part() -> None:
    weights = np.where(np.arange(100) < 90, 0.0, 2.0)
    parts = [weights_of(DisjointParts(), replace(CLASSES, weights=weights), member=member) for member in range(5)]
    assert [part.sum() for part in parts] == [4.0] * 5


def test_more_parts_than_rows_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="100 rows cannot be divided into 101 parts"):
        DisjointParts().apply(CLASSES, draw(0, n_members=101))


# --- attributes


@pytest.mark.parametrize(
    ("max_features", "count"), [(0.5, 5), (1.0, 10), (0.01, 1), (0.34, 3), (0.36, 4), (1, 1), (10, 10)]
)
def test_so_many_attributes_are_seen(max_features: float, count: int) -> None:
    subset = AttributeSubset(max_features)
    subset.check(CLASSES)
    attributes = subset.apply(CLASSES, draw()).attributes
    assert attributes is not None
    assert len(set(attributes)) == len(attributes) == count
    assert attributes.tolist() == sorted(attributes)


def test_attributes_are_drawn_alike() -> None:
    drawn = np.concatenate([AttributeSubset(3).apply(CLASSES, draw(member)).attributes for member in range(1000)])
    assert np.abs(np.bincount(drawn, minlength=10) - 300).max() < 5 * np.sqrt(1000 * 0.3 * 0.7)


def test_a_subset_of_a_subset_is_drawn_from_it() -> None:
    first = AttributeSubset(4).apply(CLASSES, draw(1))
    second = AttributeSubset(2).apply(first, draw(2))
    assert set(second.attributes) <= set(first.attributes)  # type: ignore[arg-type]
    assert len(second.attributes) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("max_features", [0, -1, 0.0, 1.5, True, "half", None])
def test_no_attributes_or_what_is_no_number_is_refused(max_features: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"max_features=.* was given; expected"):
        AttributeSubset(max_features).check(CLASSES)


def test_more_attributes_than_there_are_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="max_features=11 was given, but there are 10 attributes"):
        AttributeSubset(11).check(CLASSES)


# --- the choice of split


def test_options_add_up() -> None:
    sample = CLASSES
    for perturbation in (RandomSplits(7), RandomAttributes(0.3), RandomThresholds()):
        sample = perturbation.apply(sample, draw())
    assert dict(sample.options) == {"n_best_splits": 7, "max_features": 0.3, "splitter": "random"}
    assert CLASSES.options == {}


# --- classes


PROPORTIONS = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6).map(lambda p: np.array(p) / np.sum(p))


@given(PROPORTIONS, st.floats(0.0, 1.0))
def test_flips_keep_the_proportions_and_have_the_rate(proportions: np.ndarray, share: float) -> None:
    rate = share * highest_rate(proportions)
    table = flip_probabilities(proportions, rate)
    assert table.min() >= -1e-12
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    np.testing.assert_allclose(proportions @ table, proportions)
    np.testing.assert_allclose(proportions @ (1.0 - np.diag(table)), rate, atol=1e-12)
    flow = proportions[:, None] * table
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)  # detailed balance: as many from j to i as from i to j


def test_flipped_rows_have_the_share_and_the_classes_that_were_asked_for() -> None:
    n_draws, rate = 400, 0.2
    flipped = np.array([FlippedClasses(rate).apply(CLASSES, draw(member)).target for member in range(n_draws)])
    spread = np.sqrt(0.25 / (n_draws * 100))  # of a share, at most
    assert abs(np.mean(flipped != CLASSES.target) - rate) < 5 * spread
    np.testing.assert_allclose(np.bincount(flipped.ravel()) / flipped.size, [0.5, 0.3, 0.2], atol=5 * spread)


def test_flips_go_from_class_to_class_as_the_table_says() -> None:
    table = flip_probabilities(np.array([0.5, 0.3, 0.2]), 0.3)
    flipped = np.array([FlippedClasses(0.3).apply(CLASSES, draw(member)).target for member in range(1000)])
    for code in range(3):
        counts = np.bincount(flipped[:, CLASSES.target == code].ravel(), minlength=3)
        assert np.abs(counts / counts.sum() - table[code]).max() < 5 * np.sqrt(0.25 / counts.sum())


def test_no_rate_flips_nothing() -> None:
    np.testing.assert_array_equal(FlippedClasses(0.0).apply(CLASSES, draw()).target, CLASSES.target)


def test_with_weights_it_is_their_proportions_that_are_kept() -> None:
    weights = np.array([1.0, 1.0, 5.0])[CLASSES.target]  # 50 : 30 : 100
    sample = replace(CLASSES, weights=weights)
    flipped = np.array([FlippedClasses(0.2).apply(sample, draw(member)).target for member in range(1000)])
    shares = [np.average(np.mean(flipped == code, axis=0), weights=weights) for code in range(3)]
    np.testing.assert_allclose(shares, [5 / 18, 3 / 18, 10 / 18], atol=5 * np.sqrt(0.25 * 5 / 100_000))
    changed = np.average(np.mean(flipped != CLASSES.target, axis=0), weights=weights)
    assert abs(changed - 0.2) < 5 * np.sqrt(0.25 * 5 / 100_000)


@pytest.mark.parametrize("proportions", [[0.98, 0.02], [0.9, 0.1], [0.5, 0.3, 0.2], [0.7, 0.299, 0.001]])
def test_a_rate_the_rarest_class_cannot_bear_is_refused_with_one_that_it_can(proportions: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="would flip more rows of the rarest class than there are") as raised:
        flip_probabilities(np.array(proportions), 0.999)
    advised = float(str(raised.value).split("at most ")[1].split()[0])
    assert 0.9 * highest_rate(np.array(proportions)) < advised < 0.999
    flip_probabilities(np.array(proportions), advised)


def test_the_rate_is_checked_before_anything_is_trained() -> None:
    with pytest.raises(InvalidParameter, match=r"at most 0\.775 for these classes"):
        FlippedClasses(0.8).check(CLASSES)
    with pytest.raises(InvalidParameter, match=r"rate=1\.5 was given; expected a number of at least 0 and at most 1"):
        FlippedClasses(1.5).check(CLASSES)


def test_a_bootstrap_sample_flips_what_it_can_bear() -> None:
    sample = Sample(np.repeat([0, 1], [97, 3]).astype(np.int32), n_classes=2, n_attributes=1)
    flipping = FlippedClasses(0.06)
    flipping.check(sample)
    for member in range(100):  # some samples have one row of the rare class, or none
        drawn = Bootstrap().apply(sample, draw(member))
        perturbed = flipping.apply(drawn, draw(member))
        assert set(perturbed.target) <= {0, 1}
        if not drawn.weights[97:].any():  # type: ignore[index]
            np.testing.assert_array_equal(perturbed.target[:97], 0)


# --- numbers


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 3.0])
def test_noise_has_the_spread_of_the_target_times_the_scale(scale: float) -> None:
    target = np.random.default_rng(0).normal(5.0, 2.0, 500)
    sample = Sample(target, n_classes=0, n_attributes=1)
    noise = np.array([SmearedTarget(scale).apply(sample, draw(member)).target - target for member in range(100)])
    expected = scale * robust_spread(target)
    assert abs(noise.std() - expected) <= 5 * expected / np.sqrt(2 * noise.size)
    assert abs(noise.mean()) <= 5 * expected / np.sqrt(noise.size)


def test_each_member_has_its_own_noise() -> None:
    one, other = (SmearedTarget().apply(NUMBERS, draw(member)).target - NUMBERS.target for member in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(100)


def test_the_spread_leaves_out_what_lies_far_off() -> None:
    plain = np.random.default_rng(0).normal(size=1000)
    inside = plain[np.abs(plain) < 2.0]
    assert robust_spread(inside) == pytest.approx(inside.std())
    assert robust_spread(np.append(inside, [1e6, -1e7])) == pytest.approx(inside.std(), rel=0.01)


def test_rows_of_weight_zero_have_no_part_in_the_spread() -> None:
    target = np.r_[np.linspace(-1, 1, 50), np.linspace(-100, 100, 50)]
    weighted = Sample(target, 0, 1, weights=np.repeat([1.0, 0.0], 50))
    noise = SmearedTarget().apply(weighted, draw()).target - target
    assert np.abs(noise).max() < 5


def test_each_target_has_its_own_perturbation() -> None:
    with pytest.raises(InvalidParameter, match="the target has classes: use FlippedClasses"):
        SmearedTarget().check(CLASSES)
    with pytest.raises(InvalidParameter, match="the target is numeric: use SmearedTarget"):
        FlippedClasses().check(NUMBERS)
    with pytest.raises(InvalidParameter, match="noise=-1 was given; expected a number of at least 0"):
        SmearedTarget(-1).check(NUMBERS)


# --- extremes ---


class NoRows(Perturbation):
    """A perturbation of a user's own that leaves every row out."""

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        return sample.with_copies(np.zeros(sample.n_rows, np.int64))


@pytest.mark.parametrize(
    "drawing",
    [Bootstrap(), Bootstrap(0.5, bootstrap=False), DisjointParts(), BalancedBootstrap(), BlockBootstrap(1)],
    ids=lambda drawing: repr(drawing),
)
def test_no_rows_to_draw_from_are_an_error(drawing: Perturbation) -> None:
    """NumPy's own error said that a low was not below a high."""
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    ensemble = PerturbCombineClassifier(CARTClassifier(), perturb=[NoRows(), drawing], n_estimators=2, random_state=0)
    with pytest.raises(InvalidInput, match="No row of positive weight is left to draw from"):
        ensemble.fit(X, y)


def test_copies_of_copies_do_not_overflow() -> None:
    """The copies of a row are multiplied: such draws gave negative weights, and a model of no rows."""
    X, y = np.arange(12.0)[:, None], np.arange(12.0)
    draws = [Bootstrap(max_samples=1_000.0)]
    few = PerturbCombineRegressor(CARTRegressor(), perturb=draws * 2, n_estimators=2, random_state=0).fit(X, y)
    assert few.predict(X) == pytest.approx(y)
    with pytest.raises(InvalidInput, match="A row would be drawn more than 9,007,199,254,740,992 times"):
        PerturbCombineRegressor(CARTRegressor(), perturb=draws * 8, n_estimators=2, random_state=0).fit(X, y)
