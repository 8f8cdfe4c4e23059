"""A table under a privacy budget: what is told of it, and kinds of columns that no row decides."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tremula.cli.guard_rules import has_budget
from tremula.errors import InvalidInput
from tremula.queries.domains import ALL
from tremula.queries.sql.plan import Plan


def public_by_budget(public: Sequence[str] | str) -> str:
    """Return in words what a privacy budget does not protect."""
    sentence = "The names and types of the columns are disclosed; nothing else is but noisy counts."
    if not public:
        return sentence
    names = "all columns" if public == ALL else ", ".join(public)
    return f"{sentence[:-1]}, and the classes, levels and quantiles of what --public names: {names}."


def check_budget(rules: Mapping[str, Any], cube_rows: int | str) -> None:
    """Raise an error if rows are fetched under a privacy budget: whether they are tells how many there are."""
    if has_budget(rules) and cube_rows != 0:
        raise InvalidInput(
            "--cube-rows was given with a privacy budget: whether rows are fetched would tell how many there are; "
            "leave it out"
        )


def check_stated(plan: Plan, rules: Mapping[str, Any]) -> None:
    """Raise an error, before anything is sent, if a column would be read from rows under a budget and is not public."""
    public = rules["public"]
    if not has_budget(rules) or public == ALL:
        return
    read = [column for column in (plan.target, *plan.columns) if column.query and column.name not in public]
    is_numeric_target = plan.target.kind == "numeric"
    if is_numeric_target and plan.target in read:
        raise InvalidInput(f"the target {plan.target.name!r} is numeric: give its public bounds as --target-bounds")
    if read:
        shown = {c.name: ["LOWEST", "HIGHEST"] if c.kind == "numeric" else ["LEVEL", "..."] for c in read}
        raise InvalidInput(
            f"a privacy budget protects nothing that is read from the rows, such as levels, classes and quantiles: "
            f"state them in a file for --domains, {json.dumps(shown, ensure_ascii=False)}, or name the columns with "
            "--public if everybody knows them"
        )


def stated_kinds(chosen: Mapping[str, Any], target: str) -> dict[str, str]:
    """Return the kinds of the columns of a file that have a domain; two numbers are bounds of a numeric column.

    Examples
    --------
    >>> domains = {"age": [0, 110], "ward": ["eye", "skin"], "floor": [1, 2]}
    >>> stated_kinds({"domains": domains, "classes": ["no", "yes"], "categorical_features": ["floor"]}, "again")
    {'age': 'number', 'ward': 'nominal', 'floor': 'nominal', 'again': 'nominal'}
    """
    nominal = chosen["categorical_features"]
    kinds = {
        name: "number" if name not in nominal and _are_bounds(domain) else "nominal"
        for name, domain in chosen.get("domains", {}).items()
    }
    if "classes" in chosen:
        kinds[target] = "nominal"
    return kinds | {target: "number"} if "target_bounds" in chosen else kinds


def _are_bounds(domain: Sequence[Any]) -> bool:
    return len(domain) == 2 and all(isinstance(end, int | float) and not isinstance(end, bool) for end in domain)


def levels_as_text(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the domains of the columns of a file, whose levels are text, though a domain may have numbers."""
    nominal = chosen["categorical_features"]
    stated: dict[str, Any] = {
        "domains": {
            name: domain if name not in nominal and _are_bounds(domain) else _as_text(domain)
            for name, domain in chosen.get("domains", {}).items()
        }
    }
    return stated | {"classes": _as_text(chosen["classes"])} if "classes" in chosen else stated


def _as_text(levels: Sequence[Any]) -> list[Any]:
    return [level if isinstance(level, bool) else str(level) for level in levels]
