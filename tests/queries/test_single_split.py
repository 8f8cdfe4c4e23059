"""A budget that is small for its table: the number of rows decides, the split is chosen and counted with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.queries import ArrayOracle, GuardedOracle, Question
from tremula.queries.privacy import make_budget
from tremula.queries.single_split import CHOICE_SHARE, ROWS_SHARE, _part_counts, _parts

pytest.importorskip("opendp")
WHOLE = Question((), (0, 1, 2))


def table(n_rows: int, seed: int = 0) -> ArrayOracle:
    """Return rows whose class depends on one of three attributes."""
    random = np.random.default_rng(seed)
    X = np.c_[random.integers(0, 3, n_rows), random.random(n_rows), random.random(n_rows)]
    y = np.where((X[:, 1] > 0.5) ^ (random.random(n_rows) < 0.05), "yes", "no")
    domains: dict[str, Any] = {"x0": [0.0, 1.0, 2.0], "x1": (0, 1), "x2": (0, 1)}
    return ArrayOracle(X, y, categorical_features=[0], domains=domains, classes=["no", "yes"], n_bins=4)


def guard(oracle: ArrayOracle, epsilon: float, **options: Any) -> GuardedOracle:
    rules = {"min_count": 0, "budget_depth": 1, "estimate": True, "single_split": True}
    return GuardedOracle(oracle, epsilon=epsilon, **rules | options)


def dependent(guarded: GuardedOracle) -> list[int]:
    """Return the attributes of which the released counts depend on the class."""
    (answer,) = guarded.count([WHOLE])
    tables = [answer[guarded.schema.cells(number)] for number in range(3)]
    return [number for number, own in enumerate(tables) if (np.ptp(own / own.sum(axis=0), axis=0) > 0.1).any()]


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_a_small_budget_pays_for_one_split_and_a_large_one_for_all_tables(
    delta: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the noise, only what it would have been decides."""
    monkeypatch.setattr("tremula.queries.privacy._adder", lambda _: lambda counts: counts.copy())
    monkeypatch.setattr("tremula.queries.privacy.Budget.choose", lambda self, scores, cost: int(scores.argmax()))
    small = guard(table(400), 0.12 if delta is None else 0.3, delta=delta)
    assert dependent(small) == [1]
    assert small.left == pytest.approx(0.0, abs=1e-9)
    (answer,) = small.count([WHOLE])
    (real,) = table(400).count([WHOLE])
    cells = small.schema.cells(1)  # four bins, and missing
    np.testing.assert_allclose(answer[cells][:2].sum(axis=0), real[cells][:2].sum(axis=0), atol=1)
    np.testing.assert_allclose(answer[cells][2:].sum(axis=0), real[cells][2:].sum(axis=0), atol=1)
    model = tm.SimulatedBaggingClassifier(n_estimators=5, max_depth=3, random_state=0).fit(small)
    rows = np.c_[np.zeros(200), np.linspace(0, 1, 200), np.full(200, 0.5)]
    assert (model.predict(rows) == np.where(rows[:, 1] > 0.5, "yes", "no")).mean() > 0.95
    large = guard(table(400), 300.0, delta=delta, shrink=False)
    np.testing.assert_array_equal(large.count([WHOLE])[0], real)


def test_noise_of_a_split_is_noise() -> None:
    drawn = [guard(table(400), 0.05).count([WHOLE])[0].tolist() for _ in range(3)]
    assert drawn[0] != drawn[1] or drawn[1] != drawn[2]


def test_the_parts_of_the_cost_are_the_whole_cost() -> None:
    """OpenDP computes the privacy of each mechanism from its scale."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    schema = table(10).schema
    for unit, budget in (
        ("epsilon", make_budget(schema, 0.6, None, None, 2, 1)),
        ("rho", make_budget(schema, None, None, None, 2, 1, rho=0.6)),
    ):
        assert budget is not None
        cost = 3 * budget.per_table
        assert cost == pytest.approx(0.6)
        counts = ROWS_SHARE * cost, (1 - CHOICE_SHARE) * (1 - ROWS_SHARE) * cost
        choice = CHOICE_SHARE * (1 - ROWS_SHARE) * cost
        assert sum(counts) + choice == pytest.approx(cost)
        measure = dp.max_divergence() if unit == "epsilon" else dp.zero_concentrated_divergence()
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
        scale = 2 / (choice if unit == "epsilon" else np.sqrt(8 * choice))
        assert dp.m.make_noisy_max(*space, measure, scale=float(scale)).map(2) == pytest.approx(choice, rel=1e-9)


def test_a_row_changes_all_scores_in_one_direction_by_at_most_1() -> None:
    """The choice pays for no more than this."""
    random = np.random.default_rng(1)
    for attribute in table(10).schema.attributes:
        for _ in range(20):
            counts = random.integers(0, 4, (attribute.n_values + 1, 3))
            more = counts.copy()
            more[random.integers(len(counts)), random.integers(3)] += 1
            change = [
                _part_counts(more, part).max(axis=1).sum() - _part_counts(counts, part).max(axis=1).sum()
                for part in _parts(attribute)
            ]
            assert set(change) <= {0, 1}


def test_the_choice_has_the_privacy_of_its_cost() -> None:
    """A row changes the first score only: its choice becomes up to e times as probable, at twice the cost 7 times."""
    budget = make_budget(table(10).schema, 3.0, None, None, 1, 1)
    assert budget is not None
    without, with_row = (
        np.mean([budget.choose(np.array([score, 6]), 1.0) == 0 for _ in range(700)]) for score in (5, 6)
    )
    assert 1.7 < with_row / without < 3.9


def test_without_estimates_there_is_no_single_split() -> None:
    with pytest.raises(tm.errors.InvalidInput, match="set estimate=True"):
        guard(table(10), 1.0, estimate=False)
