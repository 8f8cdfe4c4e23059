"""Checks of estimator parameters: each says what was given, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter, did_you_mean


def check_choice(name: str, given: Any, choices: Collection[Any]) -> None:
    """Refuse a value that is not one of the choices."""
    if not any(given is choice or (type(given) is type(choice) and given == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        hint = did_you_mean(given, [c for c in choices if isinstance(c, str)]) if isinstance(given, str) else ""
        raise InvalidParameter(f"{name}={given!r} is not known: choose one of {listed}{hint}")


def check_number(
    name: str, given: Any, low: float, high: float = np.inf, whole: bool = False, above: bool = False
) -> None:
    """Refuse what is not a number between `low` (itself excluded if `above`) and `high`."""
    kind = Integral if whole else Real
    fits = isinstance(given, kind) and not isinstance(given, bool | np.bool_)
    if not fits or not (low < given if above else low <= given) or not given <= high:
        expected = "a whole number" if whole else "a number"
        least = f"above {low:g}" if above else f"of at least {low:g}"
        most = "" if np.isinf(high) else f" and at most {high:g}"
        raise InvalidParameter(f"{name}={given!r} was given; expected {expected} {least}{most}")


def check_flag(name: str, given: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise InvalidParameter(f"{name}={given!r} was given; expected True or False")
