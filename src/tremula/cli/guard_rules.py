"""Reads the rules of disclosure, the budget and the unit of privacy from options, and makes the guard."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tremula.cli.options import split_words
from tremula.errors import InvalidInput
from tremula.parameters import check_number
from tremula.queries import GuardedOracle
from tremula.queries.arrays import DEFAULT_BINS
from tremula.queries.contributions import check_bounds
from tremula.queries.domains import ALL
from tremula.queries.oracle import Oracle
from tremula.queries.privacy import DEFAULT_DEPTH

BUDGET_BINS = 8


def read_limits(person_id: str | None, rows_per_person: int, target_bounds: str | None) -> dict[str, Any]:
    """Return what limits the contribution of a person, as `connect` takes it.

    Examples
    --------
    >>> read_limits("patient", 3, "0,100")
    {'person_id': 'patient', 'rows_per_person': 3, 'target_bounds': (0.0, 100.0)}
    """
    if person_id is None and rows_per_person > 1:
        raise InvalidInput("--rows-per-person was given without --person-id: name the column of persons")
    limits: dict[str, Any] = {}
    if person_id is not None:
        limits = {"person_id": person_id, "rows_per_person": rows_per_person}
    if target_bounds is not None:
        try:
            limits["target_bounds"] = check_bounds(tuple(map(float, split_words(target_bounds))))
        except ValueError as error:
            raise InvalidInput(
                f"--target-bounds is {target_bounds!r}, expected two numbers that increase: give LOW,HIGH"
            ) from error
    return limits


def read_domains(file: Path | None, target: str) -> dict[str, Any]:
    """Return the domains of columns and the classes of the target from a JSON file, as `connect` takes them."""
    if file is None:
        return {}
    try:
        domains = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{str(file)!r} is no JSON file: {error}") from error
    if not isinstance(domains, dict) or not all(isinstance(domain, list) for domain in domains.values()):
        raise InvalidInput(
            f"{str(file)!r} has no lists by column: give levels or bounds, such as "
            '{"ward": ["eye", "skin"], "age": [0, 110]}'
        )
    classes = domains.pop(target, None)
    return {"domains": domains} if classes is None else {"domains": domains, "classes": classes}


def read_rules(
    min_count: int,
    round_to: int | None,
    epsilon: float | None,
    delta: float | None,
    budget_depth: int | None,
    ledger_file: Path | None,
    rho: float | None = None,
    public: str | None = None,
) -> dict[str, Any]:
    """Return the rules of a guard after a check."""
    for name, value in (("--epsilon", epsilon), ("--rho", rho)):
        if value is not None:
            check_number(name, value, 0.0, above=True)
    if delta is not None and epsilon is None:
        raise InvalidInput("--delta was given without --epsilon: give the budget, too")
    if rho is not None and epsilon is not None:
        raise InvalidInput("--rho was given with --epsilon: a budget is one of them")
    for name, other in (("--budget-depth", budget_depth), ("--public", public)):
        if other is not None and epsilon is None and rho is None:
            raise InvalidInput(f"{name} was given without --epsilon or --rho: give the budget, too")
    rules = {"min_count": min_count, "round_to": round_to, "epsilon": epsilon, "delta": delta, "rho": rho}
    declared = ALL if public == ALL else tuple(split_words(public or ""))
    return rules | {"budget_depth": budget_depth, "ledger_file": ledger_file, "public": declared}


def default_bins(epsilon: float | None, rho: float | None) -> int:
    """Return the number of bins of a numeric column if none was given; noise is the same for each of them."""
    return DEFAULT_BINS if epsilon is None and rho is None else BUDGET_BINS


def has_budget(rules: Mapping[str, Any]) -> bool:
    """Whether rules have a privacy budget."""
    return rules["epsilon"] is not None or rules["rho"] is not None


def is_guarded(rules: Mapping[str, Any]) -> bool:
    """Whether there is a rule of disclosure; what is declared public is none."""
    return any(rule for name, rule in rules.items() if name != "public")


def make_guard(oracle: Oracle, rules: Mapping[str, Any], max_depth: int = DEFAULT_DEPTH) -> GuardedOracle:
    """Return a guard; counts of classes that the budget does not pay for are estimated.

    Parameters
    ----------
    oracle : Oracle
    rules : mapping
        As `read_rules` returns them.
    max_depth : int
        Depth of trees that the budget pays for, if the target is numeric and nothing else was given.
    """
    has_classes = oracle.schema.classes is not None
    depth = rules["budget_depth"] or (1 if has_classes else max_depth)
    estimates = has_classes and has_budget(rules)
    return GuardedOracle(
        oracle, **{**rules, "budget_depth": depth, "estimate": estimates, "single_split": estimates and depth == 1}
    )
