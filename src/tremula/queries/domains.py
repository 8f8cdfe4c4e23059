"""Public knowledge of columns: levels and bounds that are stated, so that nothing has to be read from the rows.

What a schema says of a column with a domain is the same for every table. Values beyond it count as missing, or are in
the first or the last bin; a row of another class is not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.errors import InvalidInput, listed
from tremula.parameters import check_mapping, read_names, read_numbers
from tremula.queries.contributions import check_bounds
from tremula.queries.oracle import Oracle
from tremula.queries.question import Attribute, Schema

ALL = "all"


def stated_cuts(name: str, domain: Any, n_bins: int) -> tuple[float, ...]:
    """Return equally spaced cuts between the bounds of a numeric column.

    Examples
    --------
    >>> stated_cuts("age", (0, 100), 4)
    (25.0, 50.0, 75.0)
    """
    low, high = check_bounds(domain, f"the domain of {name!r}")
    return tuple(np.unique(np.linspace(low, high, n_bins + 1)[1:-1]).tolist())


def stated_levels(name: str, domain: Any) -> tuple[Any, ...]:
    """Return the levels of a nominal column, or the classes of a target, in order.

    Examples
    --------
    >>> stated_levels("ward", ["skin", "eye"])
    ('eye', 'skin')
    """
    is_list = isinstance(domain, Collection) and not isinstance(domain, str | bytes | Mapping)
    levels = list(domain) if is_list and getattr(domain, "ndim", 1) == 1 else []
    is_plain = all(isinstance(level, Hashable) and not isinstance(level, np.void) for level in levels)
    if not levels or not is_plain or any(level is None or level != level for level in levels):
        raise InvalidInput(f"the domain of {name!r} is {domain!r}, expected its levels: give them as a list")
    if len({type(level) for level in levels}) > 1 or len(set(levels)) < len(levels):
        raise InvalidInput(f"the domain of {name!r} is {domain!r}: give each level once, all of one type")
    return tuple(sorted(levels))


def check_cuts(cuts: Any) -> None:
    """Refuse cuts that are not finite, increasing numbers by the name of a column."""
    if cuts is None:
        return
    check_mapping("cuts", cuts)
    for name, given in cuts.items():
        numbers = read_numbers(f"cuts[{name!r}]", given, "a list of numbers")
        if numbers.ndim != 1 or not np.isfinite(numbers).all() or not (np.diff(numbers) > 0).all():
            raise InvalidInput(f"the cuts of {name!r} are {given!r}, expected finite numbers that increase")


def check_domain_names(domains: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    """Return domains by column; raise an error if one is of no column."""
    if domains is not None:
        check_mapping("domains", domains)
    for name in domains or {}:
        if name not in names:
            raise InvalidInput(f"a domain is of {name!r}, but the columns to learn from are {listed(list(names))}")
    return dict(domains or {})


def describe_stated(name: str, is_nominal: bool, domain: Any, n_bins: int) -> Attribute:
    """Describe a column by its domain alone."""
    if is_nominal:
        return Attribute(name, levels=stated_levels(name, domain))
    return Attribute(name, cuts=stated_cuts(name, domain, n_bins))


def check_public(schema: Schema, public: Sequence[str] | str) -> None:
    """Raise an error if a schema has levels, cuts or classes that were read from rows and were not declared public.

    Parameters
    ----------
    schema : Schema
    public : "all" or sequence of str
        Columns, the target included, of which they are public knowledge.
    """
    known = [*(attribute.name for attribute in schema.attributes), schema.target]
    declared = [public] if isinstance(public, str) else read_names("public", public)
    declared = known if declared == [ALL] else declared
    for name in declared:
        if name not in known:
            raise InvalidInput(f"public names {name!r}, but the columns are {listed(known)}")
    disclosed = [name for name in schema.from_rows if name not in declared]
    if not disclosed:
        return
    kinds = {a.name: "levels" if a.is_nominal else "quantiles" for a in schema.attributes} | {schema.target: "classes"}
    parts = ", ".join(f"the {kinds[name]} of {name!r}" for name in disclosed)
    raise InvalidInput(
        f"a privacy budget was given, but {parts} were read from the rows, which no noise protects: state them "
        "as domains (levels, or bounds of numbers), or name the columns as public if everybody knows them"
    )


def check_counts_all(oracle: Oracle) -> None:
    """Raise an error if an oracle leaves counts unknown by what the rows are: no noise would hide which ones."""
    if getattr(oracle, "leaves_unknown", False):
        raise InvalidInput(
            f"a privacy budget was given, but {type(oracle).__name__} does not know the counts of rare values, which "
            "shows that they are rare: guard an oracle of the rows"
        )
