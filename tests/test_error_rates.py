"""Tests and intervals err as often as they state: the page has the stored simulation, and a broken rule is noticed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tremula.diagnostics.comparison import decision
from tremula.diagnostics.significance import multiple_testing, paired
from tremula.diagnostics.significance.looks import Look
from tremula.lab.comparison.best_method import numbers
from tremula.uncertainty import intervals, label_sets

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FEW_TRIALS = 60


@pytest.fixture(scope="module")
def error_rates() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("error_rates")


@pytest.fixture(scope="module")
def cells(error_rates: ModuleType) -> list[dict[str, Any]]:
    return list(json.loads(error_rates.RESULTS.read_text(encoding="utf-8")))


def rate_of(error_rates: ModuleType, statement: str, data: str = "") -> Any:
    return next(rate for rate in error_rates.RATES if rate.statement == statement and data in rate.data)


def test_the_page_has_the_tables_of_the_stored_results(error_rates: ModuleType, cells: list[dict[str, Any]]) -> None:
    page = error_rates.PAGE.read_text(encoding="utf-8")
    assert error_rates.with_table(page, cells) == page
    shown = [(cell["statement"], cell["data"], cell["kind"], cell["stated"]) for cell in cells]
    assert shown == [rate[:4] for rate in error_rates.RATES]


def test_every_stated_rate_is_kept_or_the_page_says_why_not(
    error_rates: ModuleType, cells: list[dict[str, Any]]
) -> None:
    broken = [cell for cell in cells if error_rates.is_kept(cell) is False]
    assert [cell for cell in broken if not rate_of(error_rates, cell["statement"], cell["data"]).reason] == []
    assert all(cell["trials"] >= 150 for cell in cells)


def test_a_rate_beyond_three_standard_errors_is_not_kept(error_rates: ModuleType) -> None:
    cell = {"stated": 0.05, "kind": "false findings", "trials": 1900, "standard_error": 0.005}
    assert error_rates.is_kept({**cell, "rate": 0.065})
    assert not error_rates.is_kept({**cell, "rate": 0.066})
    cell = {"stated": 0.95, "kind": "coverage", "trials": 1900, "standard_error": 0.005}
    assert error_rates.is_kept({**cell, "rate": 0.935})
    assert not error_rates.is_kept({**cell, "rate": 0.934})
    assert error_rates.is_kept({**cell, "rate": 0.5, "stated": None}) is None


def test_without_holm_too_much_is_found(error_rates: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = rate_of(error_rates, "any adjusted p-value, Holm")
    assert error_rates.is_kept(error_rates.simulate(rate, 40))
    monkeypatch.setitem(multiple_testing.CORRECTIONS, "holm", lambda p_values: p_values)
    assert not error_rates.is_kept(error_rates.simulate(rate, 40))


def break_correction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(paired, "ratio_of_sizes", lambda n_train, n_test, n_splits: 0.0)


def break_best(patch: pytest.MonkeyPatch) -> None:
    p_values = decision.p_values_with_the_best
    patch.setattr(decision, "p_values_with_the_best", lambda errors, ratio: p_values(errors, ratio) / 10)


def break_mean(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(numbers, "CONFIDENCE", 0.8)


def break_looks(patch: pytest.MonkeyPatch) -> None:
    """Every look spends the whole level, and repetitions count as new data."""
    p_values = decision.p_values_with_the_best
    patch.setattr(decision, "p_values_with_the_best", lambda errors, ratio: p_values(errors, 0.0))
    patch.setattr("decisions.plan_looks", lambda most: [Look(times, 1.0) for times in (1, 2, 5, 10)])


def break_rank(patch: pytest.MonkeyPatch) -> None:
    for module in (intervals, label_sets):
        patch.setattr(module, "upper_rank", lambda n_rows, coverage: int(0.7 * n_rows))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("statement", "data", "break_rule"),
    [
        ("corrected t", "10 times", break_correction),
        ("the best is worse", "made errors, 2", break_best),
        ("mean residual", "", break_mean),
        ("`--until-clear`: a method is worse", "nearest mean", break_looks),
        ("`predict_interval`, scaled", "", break_rank),
    ],
)
def test_a_broken_rule_is_noticed(
    statement: str, data: str, break_rule: Any, error_rates: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = rate_of(error_rates, statement, data)
    break_rule(monkeypatch)
    n_trials = 5 * FEW_TRIALS if break_rule is break_mean else FEW_TRIALS
    assert not error_rates.is_kept(error_rates.simulate(rate, n_trials))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_few_trials_of_every_rate_agree_with_those_stored(error_rates: ModuleType, cells: list[dict[str, Any]]) -> None:
    """Where the truth itself takes thousands of models, only the stored trials are judged."""
    long = set(error_rates.OF_MODELS) - {rate for rate in error_rates.OF_MODELS if "`predict_" in rate.statement}
    long.add(rate_of(error_rates, "`predict_std`"))
    for rate, stored in zip(error_rates.RATES, cells):
        if rate not in long:
            cell = error_rates.simulate(rate, FEW_TRIALS)
            deviation = max((stored["rate"] * (1 - stored["rate"]) / FEW_TRIALS) ** 0.5, 1 / FEW_TRIALS)
            assert abs(cell["rate"] - stored["rate"]) <= 4 * deviation, (cell, stored)
