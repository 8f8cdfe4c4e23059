"""Kinds of values a parameter takes: the check that runs, and the type that docstrings show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters.checks import check_choice, check_flag, check_jobs, check_number


def quoted(value: Any) -> str:
    """Write a value as code does, strings in double quotes.

    Examples
    --------
    >>> print(quoted("auto"), quoted(None), quoted(1e-9))
    "auto" None 1e-09
    """
    return f'"{value}"' if isinstance(value, str) else repr(value)


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes
    ----------
    text : str
        The type as docstrings show it.
    check : callable or None
        Called with a parameter's name and value, raises InvalidParameter. None leaves the check to the code that reads
        the value.
    """

    text: str
    check: Callable[[str, Any], None] | None = None


def number(low: float, high: float = np.inf, *, whole: bool = False, above: bool = False, none: bool = False) -> Kind:
    """Take a number between `low` and `high`; see `check_number`. With `none`, None is valid as well."""

    def check(name: str, given: Any) -> None:
        if given is not None or not none:
            check_number(name, given, low, high, whole=whole, above=above)

    return Kind(("int" if whole else "float") + (" or None" if none else ""), check)


def choice(choices: Collection[Any], text: str | None = None) -> Kind:
    """Take one of several values.

    Examples
    --------
    >>> choice(["oob", "cv"]).text
    '{"oob", "cv"}'
    """
    shown = "{" + ", ".join(map(quoted, choices)) + "}" if text is None else text
    return Kind(shown, lambda name, given: check_choice(name, given, choices))


def number_or_word(kind: Kind, *words: str) -> Kind:
    """Take what `kind` takes, or one of some words."""

    def check(name: str, given: Any) -> None:
        if isinstance(given, str):
            check_choice(name, given, words)
        elif kind.check is not None:
            kind.check(name, given)

    *first, last = [kind.text, *map(quoted, words)]
    return Kind(f"{', '.join(first)} or {last}", check)


def _check_count_or_auto(name: str, given: Any) -> None:
    if not (isinstance(given, str) and given == "auto"):
        check_number(name, given, 1, whole=True)


def anything(text: str) -> Kind:
    """Take a value that is checked where it is read."""
    return Kind(text)


def _check_verbosity(name: str, given: Any) -> None:
    if not isinstance(given, Real | np.bool_):
        raise InvalidParameter(f"{name}={given!r} was given; expected a whole number: 1 shows a progress bar")


def _check_folds(name: str, given: Any) -> None:
    if isinstance(given, Real):
        check_number(name, given, 2, whole=True)


def _check_directions(name: str, given: Any) -> None:
    if given is None:
        return
    entries = list(given.values()) if isinstance(given, Mapping) else given
    has_entries = isinstance(entries, list | tuple | np.ndarray) and getattr(entries, "ndim", 1) == 1
    if not has_entries or not all(isinstance(entry, Real) and entry in (-1, 0, 1) for entry in entries):
        raise InvalidParameter(
            f"{name}={given!r} was given; expected 1, 0 or -1 for each column, or a dict of these by column name"
        )


def check_max_features(name: str, given: Any) -> None:
    """Refuse what is neither None, a count, a share of the attributes, "sqrt" nor "log2"."""
    if isinstance(given, str):
        check_choice(name, given, ["sqrt", "log2"])
    elif given is not None:
        check_attribute_count(name, given)


def check_attribute_count(name: str, given: Any) -> None:
    """Refuse what is neither a count nor a share of the attributes."""
    if isinstance(given, Integral):
        check_number(name, given, 1, whole=True)
    else:
        check_number(name, given, 0.0, 1.0, above=True)


def check_row_count(name: str, given: Any) -> None:
    """Refuse what is neither a count nor a finite share of the rows."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        check_number(name, given, 1, whole=True)
        return
    check_number(name, given, 0.0, above=True)
    if not np.isfinite(given):
        raise InvalidParameter(f"{name}={given!r} was given; expected a count, or a finite share of the rows")


def check_finite(name: str, given: Any) -> None:
    """Refuse anything but a finite number of at least 0."""
    check_number(name, given, 0.0)
    if not np.isfinite(given):
        raise InvalidParameter(f"{name}={given!r} was given; expected a finite number")


def class_weights(*words: str) -> Kind:
    """Take None, one of some words, or a dict with a weight for each class."""

    def check(name: str, given: Any) -> None:
        if isinstance(given, list) and all(isinstance(each, Mapping) for each in given):  # of several targets
            for number, of_target in enumerate(given):
                check(f"{name}[{number}]", of_target)
        elif isinstance(given, Mapping):
            for label, weight in given.items():
                check_finite(f"{name}[{label!r}]", weight)
        elif given is not None and not (isinstance(given, str) and given in words):
            listed = ", ".join(map(repr, words))
            raise InvalidParameter(
                f"{name}={given!r} was given; expected None, {listed}, or a dict such as {{'ill': 5, 'healthy': 1}}, a "
                "list of such dicts if y has several targets"
            )

    return Kind(", ".join(["dict", "list of dict", *map(quoted, words)]) + " or None", check)


def _check_scoring(name: str, given: Any) -> None:
    if isinstance(given, str):
        from sklearn.metrics import get_scorer_names

        check_choice(name, given, get_scorer_names())
    elif not (isinstance(given, bool | np.bool_) or callable(given)):
        raise InvalidParameter(
            f"{name}={given!r} was given; expected True, False, the name of a scorer such as 'roc_auc', or a callable"
        )


def _check_bootstrap(name: str, given: Any) -> None:
    if not (isinstance(given, bool | np.bool_) or (isinstance(given, str) and given == "balanced")):
        raise InvalidParameter(f"{name}={given!r} was given; expected True, False or 'balanced'")


def _check_noise(name: str, given: Any) -> None:
    if isinstance(given, str) and given != "auto":
        raise InvalidParameter(f"{name}={given!r} was given; expected a number, one for each attribute, or 'auto'")


COUNT = number(1, whole=True)
COUNT_OR_AUTO = Kind('int or "auto"', _check_count_or_auto)
FLAG = Kind("bool", check_flag)
JOBS = Kind("int or None", check_jobs)
VERBOSITY = Kind("int", _check_verbosity)
OOB_SCORE = Kind("bool, str or callable", _check_scoring)
BOOTSTRAP = Kind('bool or "balanced"', _check_bootstrap)
FOLDS = Kind("int, splitter or iterable of (train, test) rows", _check_folds)
MAX_FEATURES = Kind('int, float, "sqrt", "log2" or None', check_max_features)
ATTRIBUTE_COUNT = Kind("float or int", check_attribute_count)
ROW_COUNT = Kind("float or int", check_row_count)
ROW_COUNT_OR_NONE = Kind(
    "int, float or None", lambda name, given: None if given is None else check_row_count(name, given)
)
AMOUNT = Kind("float", check_finite)
AMOUNTS = Kind('float, array of shape (n_attributes,) or "auto"', _check_noise)
DIRECTIONS = Kind("array of shape (n_attributes,), dict or None", _check_directions)
SEED = anything("int, RandomState, Generator or None")
ESTIMATOR = anything("estimator or None")
