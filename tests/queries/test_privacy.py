"""Differential privacy: conversions, noise, the unit of privacy, keyed rounding, private cuts, and an audit."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import BudgetWarning, InvalidInput, InvalidParameter
from tremula.queries import ArrayOracle, Condition, GuardedOracle, Question, limit_rows, private_cuts
from tremula.queries.privacy import epsilon_for, noise_scale, rho_for
from tremula.queries.question import GRID, narrow

from .test_guard import EVERYTHING, behind

dp: Any = pytest.importorskip("opendp.prelude")


def constant_table(n_rows: int = 2000) -> ArrayOracle:
    return ArrayOracle(np.full((n_rows, 1), "a", dtype=object), [0, 1] * (n_rows // 2), categorical_features="all")


def noise_of(guarded: GuardedOracle, n_questions: int, real: float) -> np.ndarray:
    """Return the noise on counts of paths that all rows are on."""
    answers = [guarded.count([Question((Condition(0, 0, last),), (0,))])[0][0] for last in range(n_questions)]
    return np.concatenate(answers) - real


# --- zero-concentrated differential privacy ---


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_epsilons_are_those_of_opendp(rho: float, delta: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    mechanism = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=np.sqrt(0.5 / rho)))
    expected = mechanism.map(1.0).epsilon(delta)
    assert epsilon_for(rho, delta) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("sensitivity", [1, 7, 3 * GRID**2])
@pytest.mark.parametrize("cost", [0.003, 0.4, 2.0])
def test_noise_has_the_privacy_that_opendp_computes(sensitivity: int, cost: float) -> None:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise_scale(sensitivity, cost, "epsilon"))
    gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=noise_scale(sensitivity, cost, "rho"))
    assert laplace.map(sensitivity) == pytest.approx(cost, rel=1e-9)
    assert gaussian.map(float(sensitivity)) == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_budget_of_rho_is_within_epsilon_and_uses_it(epsilon: float) -> None:
    rho = rho_for(epsilon, 1e-6)
    assert epsilon * 0.999 < epsilon_for(rho, 1e-6) <= epsilon


def test_noise_is_gaussian_with_the_variance_of_its_rho() -> None:
    guarded = GuardedOracle(constant_table(), min_count=0, public="all", epsilon=2.0, delta=1e-6)
    cost = rho_for(2.0, 1e-6) / 8
    noise = noise_of(guarded, 8, 1000.0)
    assert guarded.spent == pytest.approx(8 * cost)
    direct = np.concatenate([guarded._budget.add_noise(np.zeros(100)) for _ in range(30)])  # type: ignore[union-attr]
    assert np.std(direct) == pytest.approx(np.sqrt(1 / (2 * cost)), rel=0.08)
    assert np.abs(noise).max() < 6 * np.sqrt(1 / (2 * cost))


def test_with_delta_many_tables_have_less_noise() -> None:
    scales = []
    for delta in (None, 1e-6):
        guarded = GuardedOracle(behind(), public="all", epsilon=1.0, delta=delta)
        scales.append(np.std(guarded._budget.add_noise(np.zeros(3000))))  # type: ignore[union-attr]
    assert scales[1] < 0.8 * scales[0]


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_fewer_depths_have_dearer_tables(delta: float | None) -> None:
    costs = []
    for depth in (2, 8):
        guarded = GuardedOracle(behind(), public="all", epsilon=1.0, delta=delta, budget_depth=depth)
        guarded.count([EVERYTHING])
        costs.append(guarded.spent / (guarded.spent + guarded.left))
    assert costs == pytest.approx([1 / 2, 1 / 8])


def test_a_fit_stays_within_rho() -> None:
    guarded = GuardedOracle(behind(), min_count=0, public="all", epsilon=40.0, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # by the noise, the trees may end before the budget does
        tm.SimulatedBaggingClassifier(n_estimators=10, random_state=0).fit(guarded)
    assert 0.0 < guarded.spent <= rho_for(40.0, 1e-6) * (1 + 1e-9)
    assert "rho spent" in repr(guarded)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"delta": 1e-6}, "delta was given without epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "expected less than 1"),
        ({"epsilon": 1.0, "delta": 1e-6, "epsilon_per_table": 0.1}, "tables cost rho: set budget_depth instead"),
    ],
)
def test_budgets_are_checked(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        GuardedOracle(behind(), **options)


# --- persons ---


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_noise_grows_with_the_rows_of_a_person(delta: float | None) -> None:
    noise = {}
    for rows_per_person in (1, 5):
        guarded = GuardedOracle(
            constant_table(), public="all", epsilon=4.0, delta=delta, rows_per_person=rows_per_person
        )
        noise[rows_per_person] = np.std(guarded._budget.add_noise(np.zeros(4000)))  # type: ignore[union-attr]
    assert noise[5] / noise[1] == pytest.approx(5, rel=0.12)


def test_rows_of_a_person_are_limited_in_the_same_way_for_ever() -> None:
    persons = np.random.default_rng(0).integers(0, 40, 300)
    kept = limit_rows(persons, 3, key="secret")
    assert (
        np.bincount(persons[kept], minlength=40).tolist() == np.minimum(np.bincount(persons, minlength=40), 3).tolist()
    )
    np.testing.assert_array_equal(kept, limit_rows(persons, 3, key=b"secret"))
    assert (kept != limit_rows(persons, 3, key="other")).any()


@pytest.mark.parametrize("persons", [["ann", None], [1.0, np.nan], [["ann"], ["bob"]]])
def test_persons_are_checked(persons: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="give one person for each row"):
        limit_rows(persons, 1, key="secret")
    with pytest.raises(InvalidParameter, match="rows_per_person"):
        limit_rows(["ann"], 0, key="secret")


# --- cuts ---


def test_private_cuts_have_about_equally_many_rows_between_them() -> None:
    values = np.random.default_rng(0).exponential(20.0, (40_000, 1))  # noise has no seed: few rows fail by chance
    grid = ArrayOracle(values, (values[:, 0] > 9).astype(int), cuts={"x0": np.arange(1.0, 150.0)})
    guarded = GuardedOracle(grid, min_count=0, public="all", epsilon=1.0, epsilon_per_table=0.5)
    cuts = private_cuts(guarded, 5)["x0"]
    assert guarded.spent == pytest.approx(0.5)
    assert set(cuts) <= set(np.arange(1.0, 150.0))
    shares = np.histogram(values, [-np.inf, *cuts, np.inf])[0] / len(values)
    np.testing.assert_allclose(shares, 0.2, atol=0.05)


def test_private_cuts_of_unknown_attributes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no numeric attribute 'colour': it has size"):
        private_cuts(GuardedOracle(behind()), 4, ["colour"])


# --- rounding by a key ---


ROUNDED = """
from tests.queries.test_guard import EVERYTHING, behind
from tremula.queries import GuardedOracle
print(GuardedOracle(behind(), min_count=0, round_to=10, key="secret").count([EVERYTHING])[0].tolist())
"""


def rounded(key: str, question: Question = EVERYTHING, oracle: Any = None) -> np.ndarray:
    return GuardedOracle(oracle or behind(), min_count=0, round_to=10, key=key).count([question])[0]


def test_a_key_rounds_up_or_down_and_without_bias() -> None:
    oracle = behind()
    (real,) = oracle.count([EVERYTHING])
    answers = np.array([rounded(f"secret {number}", oracle=oracle) for number in range(200)])
    assert (answers % 10 == 0).all()
    assert (np.abs(answers - real) < 10).all()
    np.testing.assert_allclose(answers.mean(axis=0), real, atol=5 * 5 / np.sqrt(200))


def test_a_cell_is_rounded_in_the_same_way_by_any_question() -> None:
    one = rounded("secret", Question(narrow((), 0, 1, 1), (2,)))
    other = rounded("secret", Question(narrow((), 2, 0, 0), (0,)))
    joint = rounded("secret", Question((), (0, 2), joint=True))
    assert one[9].tolist() == other[1].tolist() == joint[1, 0].tolist()


def test_sums_are_rounded_by_a_key_with_their_counts() -> None:
    answer = rounded("secret", oracle=behind("cost"))
    np.testing.assert_array_equal(answer, rounded("secret", oracle=behind("cost")))
    assert (answer[:, 0] % 10 == 0).all()
    assert (answer != rounded("other", oracle=behind("cost"))).any()


@pytest.mark.slow
def test_another_process_rounds_in_the_same_way() -> None:
    told = subprocess.run([sys.executable, "-c", ROUNDED], capture_output=True, text=True, check=True).stdout
    assert told.strip() == str(rounded("secret").tolist())


# --- an audit ---


def largest_log_ratio(first: np.ndarray, second: np.ndarray) -> float:
    """Return a lower bound, at 99.9 %, of the epsilon at which outputs above some threshold tell two tables apart."""
    from scipy.stats import beta

    bounds = [0.0]
    for threshold in np.quantile(first, np.linspace(0.05, 0.95, 19)):
        hits, false_hits = int((first >= threshold).sum()), int((second >= threshold).sum())
        low = beta.ppf(0.001 / 38, hits, len(first) - hits + 1) if hits else 0.0
        high = beta.ppf(1 - 0.001 / 38, false_hits + 1, len(second) - false_hits) if false_hits < len(second) else 1.0
        bounds.append(np.log(low / high) if low > 0 else 0.0)
    return float(max(bounds))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_measured_epsilon_is_below_the_promise(epsilon: float) -> None:
    """The attacker knows all rows but one, and sums up what all answers say about that row."""
    sums = []
    for n_rows in (101, 100):
        X, y = np.full((n_rows, 2), "a", dtype=object), ["no"] * 60 + ["yes"] * (n_rows - 60)
        guarded = GuardedOracle(
            ArrayOracle(X, y, categorical_features="all"),
            min_count=0,
            public="all",
            epsilon=epsilon,
            epsilon_per_table=epsilon / 2,
        )
        assert guarded._budget is not None
        guarded.count([Question((), (0, 1))])
        assert guarded.spent == pytest.approx(epsilon)
        draws = guarded._budget.add_noise(np.full(8000, n_rows - 60)).reshape(-1, 2)
        sums.append(draws.sum(axis=1))
    measured = largest_log_ratio(*sums)
    assert 0.2 * epsilon < measured <= epsilon


@pytest.mark.parametrize(
    "budget",
    [{"epsilon": np.inf, "delta": 1e-5}, {"epsilon": 1e-320}, {"epsilon": 1.0, "delta": 1e-320}, {"rho": np.inf}],
    ids=str,
)
def test_budgets_without_sensible_noise_are_refused(budget: dict[str, float]) -> None:
    """An infinite epsilon searched for its rho for ever; tiny ones raised errors of OpenDP."""
    with pytest.raises(InvalidParameter, match="expected a number of at least"):
        GuardedOracle(constant_table(), public="all", **budget)


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
@pytest.mark.parametrize("delta", [None, 1e-9, 0.999])
def test_the_least_and_the_largest_budget_give_answers(epsilon: float, delta: float | None) -> None:
    guarded = GuardedOracle(constant_table(), min_count=0, epsilon=epsilon, delta=delta, public="all")
    assert np.isfinite(guarded.count([Question((), (0,))])[0]).all()


def test_a_budget_too_small_for_its_delta_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no noise is large enough"):
        GuardedOracle(constant_table(), epsilon=1e-6, delta=1e-100, public="all")
