"""After the noise: tables are made consistent and shrunk, and what the budget does not pay for is estimated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import BudgetExhausted
from tremula.queries import ArrayOracle, GuardedOracle, Question
from tremula.queries.estimates import Estimates
from tremula.queries.noisy_answers import noisy_answer
from tremula.queries.possible_cells import possible_cells
from tremula.queries.privacy import Budget
from tremula.queries.question import narrow

EVERYTHING = Question((), (0, 1, 2))


def independent_table() -> ArrayOracle:
    """Make a table whose attributes are independent among the rows of each class: all combinations, repeated."""
    shares = {"no": [(1, 3), (2, 2), (1, 1, 2)], "yes": [(3, 1), (1, 3), (2, 1, 1)]}
    rows, labels = [], []
    for label, attributes in shares.items():
        for values in np.ndindex(2, 2, 3):
            n_rows = 5 * np.prod([weights[value] for weights, value in zip(attributes, values)])
            rows += [values] * int(n_rows)
            labels += [label] * int(n_rows)
    return ArrayOracle(np.array(rows, dtype=object), labels, categorical_features="all")


def with_noise(oracle: ArrayOracle, question: Question, noise: np.random.Generator, deviation: float) -> list[Any]:
    """Return the counts, the noisy counts and the released ones."""
    (counts,) = oracle.count([question])
    known = possible_cells(oracle.schema, question)
    noisy = counts + np.rint(noise.normal(0, deviation, counts.shape)).astype(int) * known
    budget = Budget("epsilon", 1.0, 1.0, lambda _: noisy[known], deviation)
    return [counts, noisy, noisy_answer(oracle.schema, question, counts, known, budget, shrink=True)]


# --- consistent and shrunk ---


@pytest.mark.parametrize("question", [EVERYTHING, Question(narrow((), 2, 0, 1), (0, 2))])
def test_all_tables_of_a_path_have_the_same_rows_of_each_class(question: Question) -> None:
    oracle = independent_table()
    for seed in range(20):
        *_, released = with_noise(oracle, question, np.random.default_rng(seed), 12.0)
        totals = {tuple(released[oracle.schema.cells(number)].sum(axis=0)) for number in question.attributes}
        assert len(totals) == 1
        assert (released >= 0).all()
        assert not released[~possible_cells(oracle.schema, question)].any()


@pytest.mark.parametrize("deviation", [3.0, 12.0, 30.0])
def test_released_counts_are_nearer_to_the_real_ones(deviation: float) -> None:
    oracle, errors = independent_table(), []
    for seed in range(60):
        counts, noisy, released = with_noise(oracle, EVERYTHING, np.random.default_rng(seed), deviation)
        errors.append([((answer - counts) ** 2).sum() for answer in (np.maximum(noisy, 0), released)])
    plain, shrunk = np.mean(errors, axis=0)
    assert shrunk < 0.95 * plain


def test_little_noise_changes_little() -> None:
    oracle = independent_table()
    counts, _, released = with_noise(oracle, EVERYTHING, np.random.default_rng(0), 1e-9)
    np.testing.assert_array_equal(released, counts)


# --- estimates ---


def estimates_of(oracle: ArrayOracle) -> Estimates:
    estimates = Estimates(oracle.schema)
    estimates.add(EVERYTHING, oracle.count([EVERYTHING])[0])
    return estimates


def test_estimates_are_the_counts_where_attributes_are_independent() -> None:
    oracle = independent_table()
    estimates = estimates_of(oracle)
    for path in ((), narrow((), 0, 1, 1), narrow(narrow((), 2, 0, 1), 0, 0, 0), narrow((), 2, 1, 2)):
        for joint in (False, True):
            question = Question(path, (0, 2), joint)
            estimated = estimates.estimate(question)
            assert estimated is not None
            np.testing.assert_allclose(estimated, oracle.count([question])[0], atol=1)


def test_the_nearest_path_is_used() -> None:
    oracle = independent_table()
    estimates = estimates_of(oracle)
    nearer = Question(narrow((), 0, 1, 1), (0, 1, 2))
    estimates.add(nearer, 7 * oracle.count([nearer])[0])
    question = Question(narrow(nearer.path, 2, 0, 0), (1,))
    estimated = estimates.estimate(question)
    assert estimated is not None
    np.testing.assert_allclose(estimated, 7 * oracle.count([question])[0], atol=1)
    assert Estimates(oracle.schema).estimate(question) is None


def private(oracle: Any, **options: Any) -> GuardedOracle:
    pytest.importorskip("opendp")
    rules: dict[str, Any] = {"min_count": 0, "epsilon": 3.0, "delta": 1e-6, "budget_depth": 1, "estimate": True}
    rules["public"] = "all"
    return GuardedOracle(oracle, **rules | options)


def test_the_budget_pays_for_the_table_and_deeper_counts_are_estimated() -> None:
    guarded = private(independent_table())
    model = tm.SimulatedBaggingClassifier(n_estimators=10, max_depth=3, random_state=0).fit(guarded)
    assert guarded.left == pytest.approx(0.0, abs=1e-12)
    outcomes = [(entry.path != "", entry.outcome) for entry in guarded.ledger]
    assert set(outcomes) == {(False, "answered"), (True, "estimated")}
    assert all(entry.cost == 0 for entry in guarded.ledger if entry.outcome == "estimated")
    assert max(tree.depth for tree in model.members_) > 1


def test_without_any_counts_a_question_is_refused() -> None:
    guarded = private(independent_table(), epsilon_per_table=2.0, delta=None)
    with pytest.raises(BudgetExhausted):
        guarded.count([EVERYTHING])
    guarded.count([Question((), (0,))])
    with pytest.raises(BudgetExhausted):
        guarded.count([Question(narrow((), 1, 0, 0), (0,))])
    assert guarded.spent == 2.0


def test_a_new_guard_estimates_from_the_ledger_file(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    place, deeper = tmp_path / "visits.ledger", Question(narrow((), 1, 0, 0), (0, 2))
    first = private(independent_table(), ledger_file=place)
    first.count([EVERYTHING])
    size = place.stat().st_size
    (answer,) = first.count([deeper])
    assert place.stat().st_size == size
    np.testing.assert_array_equal(private(independent_table(), ledger_file=place).count([deeper])[0], answer)
