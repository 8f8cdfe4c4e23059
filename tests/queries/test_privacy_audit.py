"""The audit of whole fits: what it measures stays below the promise, and it notices a guard with half of the noise.

A reconstruction by integer programming finds the whole table where there is no budget.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tremula.queries.privacy import epsilon_for, rho_for

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return benchmark("privacy_audit")


@pytest.fixture(scope="module")
def reconstruction() -> ModuleType:
    return benchmark("privacy_reconstruction")


def test_the_bound_of_pure_privacy_is_the_ratio_of_hits(audit: ModuleType) -> None:
    """Many fits of the best attack on randomized answers, which tell the truth with probability e / (1 + e)."""
    n_fits, told = 10**6, np.e / (1 + np.e)
    bound = audit.epsilon_bound(int(told * n_fits), int((1 - told) * n_fits), n_fits, None)
    assert 0.98 < bound < 1.0


def test_the_bound_of_gaussian_noise_is_below_that_of_its_rho(audit: ModuleType) -> None:
    """A Gaussian of which rho is known: its exact epsilon is a little below that of the conversion from rho."""
    from scipy.stats import norm

    rho, n_fits = rho_for(4.0, 1e-5), 10**7
    mu = np.sqrt(2 * rho)
    hits, false_hits = int(norm.cdf(mu / 2) * n_fits), int(norm.cdf(-mu / 2) * n_fits)
    bound = audit.epsilon_bound(hits, false_hits, n_fits, 1e-5)
    assert 0.8 * 4 < bound < epsilon_for(rho, 1e-5) <= 4
    assert audit.epsilon_bound(50, 50, 100, 1e-5) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "n_attributes", "n_fits"), [(2.0, None, 1, 1500), (8.0, 1e-5, 2, 400)])
def test_an_audit_of_fits_stays_below_the_promise_and_notices_half_the_noise(
    audit: ModuleType, epsilon: float, delta: float | None, n_attributes: int, n_fits: int
) -> None:
    """The noise has no seed: bounds are so sure, and fits so many, that this fails by chance once in 10,000 runs."""
    pytest.importorskip("opendp")
    honest = audit.Setting(epsilon, delta, 2, n_attributes)
    by_answers, by_model = audit.attack(honest, n_fits, error=1e-5)
    assert 0.2 * epsilon < by_answers < epsilon
    assert by_model < epsilon
    by_answers, _ = audit.attack(honest._replace(halved=True), n_fits)
    assert by_answers > epsilon


def test_without_a_budget_the_table_is_reconstructed(reconstruction: ModuleType) -> None:
    table = reconstruction.draw_table(0)
    assert reconstruction.whole_table_error(table, None, 20, 0) == 0
    assert reconstruction.baseline_error(table, 0) > 0.1
    assert reconstruction.right_coins(table, None, 20, 0) > 20


def test_coins_bound_epsilon(reconstruction: ModuleType) -> None:
    """An attacker who is right with the probability that a promise allows for a changed row measures half of it."""
    n_coins = 10**6
    right = int(n_coins / (1 + np.exp(-2.0)))
    assert 0.98 < reconstruction.epsilon_of_coins(right, n_coins) < 1.0
    assert reconstruction.epsilon_of_coins(n_coins // 2, n_coins) == 0.0


@pytest.mark.slow
def test_a_budget_withstands_the_reconstruction(reconstruction: ModuleType) -> None:
    pytest.importorskip("opendp")
    tables = [reconstruction.draw_table(seed) for seed in range(4)]
    wrong = np.mean([reconstruction.whole_table_error(table, 1.0, 1, seed) for seed, table in enumerate(tables)])
    assert wrong > np.mean([reconstruction.baseline_error(table, seed) for seed, table in enumerate(tables)])
    right = sum(reconstruction.right_coins(table, 1.0, 1, seed) for seed, table in enumerate(tables))
    assert reconstruction.epsilon_of_coins(right, 100, level=0.001) < 1.0
