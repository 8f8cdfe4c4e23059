"""Cuts of numeric columns that a part of the privacy budget pays for: ``tremula query --private-cuts``.

The budget is divided before anything is asked. What one part has left over, the other does not get.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.cli.guard_rules import has_budget
from tremula.errors import InvalidInput
from tremula.queries import GuardedOracle, connect, private_cuts
from tremula.queries.privacy import rho_for
from tremula.queries.sql.plan import Plan

GRID_BINS = 64  # of a column, equally wide between its stated bounds, among whose ends the cuts are chosen
MAX_SHARE = 0.9


@dataclass(frozen=True)
class DividedBudget:
    """The rules of the guard that chooses cuts, and those of the guard that counts."""

    of_cuts: dict[str, Any]
    of_counts: dict[str, Any]


def check_private_cuts(share: float | None, rules: Mapping[str, Any]) -> None:
    """Raise an error if there is no budget to divide, or nothing would be left of it."""
    if share is None:
        return
    if not has_budget(rules):
        raise InvalidInput("--private-cuts was given without --epsilon or --rho: without a budget, cuts are quantiles")
    if not 0 < share <= MAX_SHARE:
        raise InvalidInput(f"--private-cuts is {share:g}, expected the share of the budget, above 0, up to {MAX_SHARE}")


def divide_budget(rules: Mapping[str, Any], share: float) -> DividedBudget:
    """Divide a budget into two that add up to it; one with a delta is divided by its rho.

    Examples
    --------
    >>> rules = {"epsilon": 2.0, "delta": None, "rho": None, "ledger_file": Path("visits.ledger")}
    >>> divided = divide_budget(rules, 0.25)
    >>> divided.of_cuts["epsilon"], divided.of_counts["epsilon"], str(divided.of_cuts["ledger_file"])
    (0.5, 1.5, 'visits.ledger.cuts')
    """
    if rules["epsilon"] is not None and rules["delta"] is None:
        unit, total = "epsilon", rules["epsilon"]
    else:
        unit, total = "rho", rules["rho"] or rho_for(rules["epsilon"], rules["delta"])
    plain = {**rules, "epsilon": None, "delta": None, "rho": None}
    file = rules["ledger_file"]
    own_file = None if file is None else Path(f"{file}.cuts")
    of_cuts = {**plain, unit: total * share, "ledger_file": own_file}
    return DividedBudget(of_cuts, {**plain, unit: total - total * share})


def numeric_domains(plan: Plan, domains: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stated bounds of the numeric columns; raise an error if there are none to choose cuts between."""
    stated = {column.name: domains[column.name] for column in plan.columns if _has_bounds(column, domains)}
    if not stated:
        raise InvalidInput(
            "--private-cuts was given, but no numeric column has bounds: state them in the file of --domains"
        )
    return stated


def _has_bounds(column: Any, domains: Mapping[str, Any]) -> bool:
    return column.kind == "numeric" and column.name in domains


def choose_cuts(
    source: Any,
    table: str | None,
    connecting: Mapping[str, Any],
    domains: Mapping[str, Any],
    divided: DividedBudget,
    on_query: Callable[[str], None],
) -> tuple[dict[str, list[float]], GuardedOracle]:
    """Choose the cuts of the columns with bounds from noisy counts, and return them with the guard that paid."""
    options = {**connecting, "attributes": list(domains), "domains": dict(domains), "n_bins": GRID_BINS}
    options["categorical_features"] = []
    with connect(source, table, on_query=on_query, **options) as oracle:
        rules = {name: divided.of_cuts[name] for name in ("epsilon", "delta", "rho", "ledger_file")}
        public = oracle.schema.from_rows  # the target at most, which was declared, or the plan had been refused
        guarded = GuardedOracle(oracle, min_count=0, budget_depth=1, public=public, **rules)
        return private_cuts(guarded, connecting["n_bins"]), guarded
