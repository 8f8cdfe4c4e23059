"""The audit of whole fits: what it measures stays below the promise, and it notices a guard with half of the noise."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tremula.queries.privacy import epsilon_for, rho_for

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "privacy_audit.py"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("privacy_audit", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["privacy_audit"] = module
    spec.loader.exec_module(module)
    return module


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
@pytest.mark.parametrize(("epsilon", "delta", "n_attributes"), [(2.0, None, 1), (8.0, 1e-5, 2)])
def test_an_audit_of_fits_stays_below_the_promise_and_notices_half_the_noise(
    audit: ModuleType, epsilon: float, delta: float | None, n_attributes: int
) -> None:
    pytest.importorskip("opendp")
    honest = audit.Setting(epsilon, delta, 2, n_attributes)
    by_answers, by_model = audit.attack(honest, 240, error=0.002)
    assert 0.2 * epsilon < by_answers < epsilon
    assert by_model < epsilon
    by_answers, _ = audit.attack(honest._replace(halved=True), 240, error=0.002)
    assert by_answers > epsilon
