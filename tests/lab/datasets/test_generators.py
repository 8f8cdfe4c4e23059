"""Made problems: their shapes, means, class shares and the errors that nobody can undercut."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from tremula import CARTClassifier
from tremula.errors import InvalidParameter
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.generators import (
    GENERATORS,
    STANDARD_WAVEFORM_NOISE,
    diagonal_square,
    one_machine_proxy,
    ring_norm,
    sine_points,
    sine_value,
    three_norm,
    two_norm,
    wave_shapes,
    waveform,
)
from tremula.lab.datasets.one_machine import MACHINE_RANGES, critical_seconds

EVERY = pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)
A = 2 / np.sqrt(20)


@EVERY
def test_the_same_seed_gives_the_same_rows(generate: Callable[..., Dataset]) -> None:
    first, second, other = generate(50, 7), generate(50, 7), generate(50, 8)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert not np.array_equal(first.X, other.X)


@EVERY
def test_as_many_rows_as_asked_for_and_a_name_for_every_attribute(generate: Callable[..., Dataset]) -> None:
    dataset = generate(33, 0)
    assert dataset.X.shape == (33, len(dataset.attributes))
    assert dataset.y.shape == (33,)
    assert dataset.source == "generated"


@EVERY
@pytest.mark.parametrize("n_rows", [0, -1, 2.5, True, "10"])
def test_no_rows_is_refused(generate: Callable[..., Dataset], n_rows: object) -> None:
    with pytest.raises(InvalidParameter, match=r"n_rows=.*: give a whole number from 1 to"):
        generate(n_rows)


@EVERY
def test_classes_are_equally_likely(generate: Callable[..., Dataset]) -> None:
    dataset = generate(20_000, 1)
    if dataset.task == "classification":
        shares = np.unique(dataset.y, return_counts=True)[1] / 20_000
        np.testing.assert_allclose(shares, 1 / len(shares), atol=0.015)


def test_waveform_has_21_or_40_attributes() -> None:
    assert waveform(5, 0).X.shape[1] == 21
    assert waveform(5, 0, noise_attributes=STANDARD_WAVEFORM_NOISE).X.shape[1] == 40


def test_a_wave_rises_to_six_and_its_neighbours_are_shifted_by_four() -> None:
    first, second, third = wave_shapes()
    assert first.tolist() == [0] * 5 + [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1] + [0] * 5
    np.testing.assert_array_equal(second[4:], first[:-4])
    np.testing.assert_array_equal(third[:-4], first[4:])


def test_waveform_means_are_half_of_each_of_two_waves_and_spread_is_that_of_noise_and_mixture() -> None:
    dataset, waves = waveform(30_000, 0, noise_attributes=2), wave_shapes()
    for label, (one, other) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = dataset.X[dataset.y == label]
        np.testing.assert_allclose(rows[:, :21].mean(axis=0), (waves[one] + waves[other]) / 2, atol=0.06)
        spread = 1 + (waves[one] - waves[other]) ** 2 / 12
        np.testing.assert_allclose(rows.var(axis=0), [*spread, 1, 1], rtol=0.06)


def likelihoods_of_waves(X: NDArray[np.float64], one: int, other: int) -> NDArray[np.float64]:
    """Log density of a mixture of two waves, up to what all classes share; the share in steps of 1/40."""
    share, waves = (np.arange(40)[:, None] + 0.5) / 40, wave_shapes()
    means = share * waves[one] + (1 - share) * waves[other]
    return np.logaddexp.reduce(X @ means.T - (means**2).sum(axis=1) / 2, axis=1)


def test_bayes_error_of_waveform() -> None:
    dataset = waveform(10_000, 0)
    best = np.argmax([likelihoods_of_waves(dataset.X, *pair) for pair in [(0, 1), (0, 2), (1, 2)]], axis=0)
    assert np.mean(best != dataset.y) == pytest.approx(0.13, abs=0.011)


def test_bayes_error_of_two_norm() -> None:
    dataset = two_norm(50_000, 0)
    assert norm.cdf(-2) == pytest.approx(0.023, abs=0.0005)
    assert np.mean((dataset.X.sum(axis=1) < 0) != dataset.y) == pytest.approx(norm.cdf(-2), abs=0.002)


def log_normal(X: NDArray[np.float64], mean: float | NDArray[np.float64], spread: float = 1) -> NDArray[np.float64]:
    return -((X - mean) ** 2).sum(axis=1) / (2 * spread**2) - X.shape[1] * np.log(spread)


def test_bayes_error_of_three_norm() -> None:
    dataset = three_norm(40_000, 0)
    outside = np.logaddexp(log_normal(dataset.X, A), log_normal(dataset.X, -A)) - np.log(2)
    between = log_normal(dataset.X, A * np.resize([1.0, -1.0], 20))
    assert np.mean((between > outside) != dataset.y) == pytest.approx(0.105, abs=0.005)


def test_bayes_error_of_ring_norm() -> None:
    dataset = ring_norm(40_000, 0)
    narrow = log_normal(dataset.X, A) > log_normal(dataset.X, 0, 2)
    assert np.mean(narrow != dataset.y) == pytest.approx(0.013, abs=0.002)


@pytest.mark.parametrize(("generate", "means", "spreads"), [(two_norm, (A, -A), (1, 1)), (ring_norm, (0, A), (2, 1))])
def test_means_and_spreads_of_normal_classes(
    generate: Callable[..., Dataset], means: tuple[float, float], spreads: tuple[float, float]
) -> None:
    dataset = generate(20_000, 0)
    for label in (0, 1):
        rows = dataset.X[dataset.y == label]
        np.testing.assert_allclose(rows.mean(axis=0), means[label], atol=0.08)
        np.testing.assert_allclose(rows.std(axis=0), spreads[label], rtol=0.04)


def test_the_square_is_divided_by_its_diagonal_without_noise_and_in_equal_parts() -> None:
    dataset = diagonal_square(10_000, 0)
    np.testing.assert_array_equal(dataset.y == 1, dataset.X.sum(axis=1) > 0)
    assert np.bincount(dataset.y).tolist() == [5000, 5000]


def test_points_lie_evenly_in_the_square() -> None:
    X = diagonal_square(20_000, 0).X
    counts = np.histogram2d(X[:, 0], X[:, 1], bins=4, range=[(-1, 1), (-1, 1)])[0]
    np.testing.assert_allclose(counts, 1250, rtol=0.12)


def test_points_of_the_sine_lie_around_it_with_noise_of_a_fifth() -> None:
    points = sine_points(20_000, 0)
    residuals = points.y - sine_value(points.X[:, 0])
    assert points.task == "regression"
    assert residuals.mean() == pytest.approx(0, abs=0.006)
    assert residuals.std() == pytest.approx(0.2, abs=0.005)
    assert sine_value(np.array([np.pi])) == pytest.approx(np.pi - 2)


def test_half_of_the_machines_are_unstable() -> None:
    assert np.mean(one_machine_proxy(20_000, 0).y == "unstable") == pytest.approx(0.5, abs=0.01)


def test_a_tree_errs_on_the_proxy_about_as_the_specification_says() -> None:
    train, test = one_machine_proxy(2000, 0), one_machine_proxy(5000, 1)
    tree = CARTClassifier(criterion="entropy").fit(train.X, train.y)
    assert np.mean(tree.predict(test.X) != test.y) == pytest.approx(0.078, abs=0.012)


def test_a_machine_bears_less_the_more_power_it_gives_and_the_longer_its_line() -> None:
    middle = np.mean(list(MACHINE_RANGES.values()), axis=1)
    for attribute in ("active power", "line reactance"):
        column = list(MACHINE_RANGES).index(attribute)
        states = np.tile(middle, (5, 1))
        states[:, column] = np.linspace(*MACHINE_RANGES[attribute], 5)
        assert (np.diff(critical_seconds(states)) < 0).all()


def swing(state: NDArray[np.float64], fault_seconds: float, step: float = 1e-4) -> float:
    """Largest angle, from that of the equilibrium, of the machine's swing equation solved step by step."""
    active, reactive, load = state[:3] / 1000
    local, remote, line = state[3:]
    inner = abs(local + 0.37 * complex(reactive, active) / local)
    resistor = local**2 / load
    beside = 1j * line * resistor / (resistor + 1j * line)
    source, impedance = remote * resistor / (resistor + 1j * line), 0.37j + beside

    def electric(angle: float) -> float:
        voltage = inner * np.exp(1j * angle)
        return float((voltage * np.conj((voltage - abs(source)) / impedance)).real)

    grid = np.linspace(-1, 2, 3001)
    start = grid[np.argmax([electric(angle) >= active for angle in grid])]
    angle, speed, farthest = start, 0.0, start
    for number in range(int(1.5 / step)):
        force = active - (0 if number * step < fault_seconds else electric(angle))
        speed += step * force / (12 / (100 * np.pi))
        angle += step * speed
        farthest = max(farthest, angle)
        if speed < 0 or angle > 4:
            break
    return farthest


def test_the_critical_time_is_that_of_the_swing_equation() -> None:
    state = one_machine_proxy(1, 3).X[0]
    critical = critical_seconds(state[None])[0]
    assert swing(state, 0.97 * critical) < np.pi < 4 < swing(state, 1.03 * critical)
