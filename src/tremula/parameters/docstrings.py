"""The decorator that gives an estimator its checks and the Parameters section of its docstring.

The texts are in `table.py`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tremula.parameters.kinds import Kind, quoted
from tremula.parameters.table import TABLE, Parameter

T = TypeVar("T", bound=type)

WIDTH = 112  # of a line of text, so that a docstring of a class fits a line of code
SECTION = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)


def with_parameters(**special: str | Kind | Parameter) -> Callable[[T], T]:
    """Describe the parameters of an estimator by the table.

    Parameters
    ----------
    **special
        What differs from the table for this estimator, by parameter: a meaning, a kind of value, or both.

    Examples
    --------
    >>> @with_parameters(prune="Whether to prune on held-out rows.")
    ... class Stump:
    ...     '''A tree of one split.'''
    ...
    ...     def __init__(self, prune: bool = True) -> None:
    ...         self.prune = prune
    >>> Stump.__doc__.splitlines()[4:]
    ['prune : bool, default=True', '    Whether to prune on held-out rows.']
    """

    def decorate(cls: T) -> T:
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(cls.__init__).parameters.items()  # type: ignore[misc]
            if name != "self"
        }
        unknown = sorted((special.keys() - defaults) | (defaults.keys() - TABLE))
        if unknown:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}, or the table of parameters lacks it")
        parameters = {name: specialised(TABLE[name], special.get(name)) for name in defaults}
        cls._parameters = parameters  # type: ignore[attr-defined]
        if cls.__doc__ is not None:  # None under python -OO
            cls.__doc__ = insert_section(inspect.cleandoc(cls.__doc__), render(parameters, defaults))
        return cls

    return decorate


def specialised(parameter: Parameter, special: str | Kind | Parameter | None) -> Parameter:
    """Return a parameter of the table with what an estimator says about it."""
    if isinstance(special, Parameter):
        return special
    if isinstance(special, Kind):
        return replace(parameter, kind=special)
    return parameter if special is None else replace(parameter, meaning=special)


def render(parameters: Mapping[str, Parameter], defaults: Mapping[str, Any]) -> str:
    """Write the Parameters section of a numpydoc docstring."""
    entries = [
        f"{name} : {parameter.kind.text}, default={quoted(defaults[name])}\n"
        + textwrap.fill(
            parameter.meaning, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
        for name, parameter in parameters.items()
    ]
    return "\n".join(["Parameters", "----------", *entries])


def insert_section(docstring: str, section: str) -> str:
    """Put a section in front of the first one of a docstring, or at its end."""
    first = SECTION.search(docstring)
    place = first.start() if first else len(docstring)
    before, after = docstring[:place].rstrip(), docstring[place:]
    return "\n\n".join(part for part in (before, section, after) if part)


def check_parameters(estimator: Any) -> None:
    """Raise InvalidParameter for the first parameter whose value the table refuses."""
    for name, parameter in estimator._parameters.items():
        if parameter.kind.check is not None:
            parameter.kind.check(name, getattr(estimator, name))
