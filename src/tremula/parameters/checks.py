"""Checks of estimator parameters: each says what was given, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from tremula.errors import InvalidParameter, did_you_mean

LARGEST_COUNT = 2**53
MOST_JOBS = 4_096  # as files may ask for


def check_choice(name: str, given: Any, choices: Collection[Any]) -> None:
    """Refuse a value that is not one of the choices."""
    if not any(given is choice or (type(given) is type(choice) and given == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        hint = did_you_mean(given, [c for c in choices if isinstance(c, str)]) if isinstance(given, str) else ""
        raise InvalidParameter(f"{name}={given!r} is not known: choose one of {listed}{hint}")


def check_number(
    name: str, given: Any, low: float, high: float = np.inf, whole: bool = False, above: bool = False
) -> None:
    """Refuse what is not a number between `low` (itself excluded if `above`) and `high`.

    Whole numbers without a limit of their own end at `LARGEST_COUNT`, beyond which floats have gaps.
    """
    kind = Integral if whole else Real
    fits = isinstance(given, kind) and not isinstance(given, bool | np.bool_) and (whole or _is_float(given))
    most_allowed = min(high, LARGEST_COUNT) if whole else high
    if not fits or not (low < given if above else low <= given) or not given <= most_allowed:
        expected = "a whole number" if whole else "a number"
        least = f"above {low:g}" if above else f"of at least {low:g}"
        is_limit = np.isfinite(high) or (fits and given > most_allowed)
        most = f" and at most {most_allowed:g}" if is_limit else ""
        raise InvalidParameter(f"{name}={given!r} was given; expected {expected} {least}{most}")


def _is_float(given: Real) -> bool:
    """Whether a number is in the range of float64; Python's whole numbers have none."""
    try:
        float(given)
    except OverflowError:
        return False
    return True


def check_jobs(name: str, given: Any) -> None:
    """Refuse what is no number of jobs as joblib has them: None, or a whole number other than 0."""
    is_whole = isinstance(given, Integral) and not isinstance(given, bool | np.bool_)
    if given is not None and not (is_whole and given != 0 and -MOST_JOBS <= given <= MOST_JOBS):
        raise InvalidParameter(
            f"{name}={given!r} was given; expected None, a whole number from 1 to {MOST_JOBS:,}, or -1 for all "
            "processors"
        )


def read_numbers(name: str, given: Any, expected: str) -> npt.NDArray[np.float64]:
    """Return what was given as an array of float64, of any shape; `expected` says in the error what that should be.

    Examples
    --------
    >>> read_numbers("quantiles", [0.1, 0.9], "numbers between 0 and 1")
    array([0.1, 0.9])
    """
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise InvalidParameter(f"{name}={given!r} was given; expected {expected}") from error


def check_text(name: str, given: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(given, str):
        raise InvalidParameter(f"{name} is of type {type(given).__name__}: give a text")


def read_names(name: str, given: Any) -> list[str]:
    """Return a list of names; refuse a text alone, which would be read letter by letter.

    Examples
    --------
    >>> read_names("attributes", ("age", "income"))
    ['age', 'income']
    """
    is_list = isinstance(given, Collection) and not isinstance(given, str | bytes)
    if not is_list or getattr(given, "ndim", 1) != 1 or not all(isinstance(each, str) for each in given):
        raise InvalidParameter(f"{name}={given!r} was given; expected a list of names")
    return [str(each) for each in given]


def check_mapping(name: str, given: Any) -> None:
    """Refuse what is no dictionary."""
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"{name} is of type {type(given).__name__}: give a dictionary by name")


def check_flag(name: str, given: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise InvalidParameter(f"{name}={given!r} was given; expected True or False")
