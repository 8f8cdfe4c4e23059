"""Lookup of methods by name; the error for an unknown name lists the known ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tremula.errors import InvalidParameter, did_you_mean


def place_of(name: str, names: Sequence[str]) -> int:
    """Return the index of a method by its name.

    Examples
    --------
    >>> place_of("bagging", ["C4.5", "bagging"])
    1
    """
    if not isinstance(name, Hashable) or name not in names:
        hint = did_you_mean(str(name), names) or ":"
        raise InvalidParameter(f"no method is called {name!r}{hint} there are {', '.join(map(repr, names))}")
    return names.index(name)
