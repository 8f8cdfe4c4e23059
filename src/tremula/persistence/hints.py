"""Whether a value is what the annotation of an attribute says; the annotations of a class describe what files hold."""

from __future__ import annotations

import collections.abc
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

NUMBERS: dict[type, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
    str: (str,),
}


_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(kind: type) -> dict[str, Any]:
    """Return the annotations of a class and its bases, by attribute."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that an annotation names, in depth.

    Examples
    --------
    >>> fits([1, 2], list[int]), fits([1, "2"], list[int]), fits(None, list[int] | None)
    (True, False, True)
    >>> fits(np.zeros(2), np.ndarray[Any, np.dtype[np.float64]]), fits(np.zeros(2), np.ndarray[Any, np.dtype[np.int64]])
    (True, False)
    """
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if hint in NUMBERS:
        is_boolean = isinstance(value, NUMBERS[bool])
        return isinstance(value, NUMBERS[hint]) and (hint is bool or hint is str or not is_boolean)
    origin, arguments = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # a `type` statement: NDArray of NumPy 2.5 and newer on Python 3.12 and newer
        return fits(value, origin.__value__[arguments])
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_dtype(value, arguments[1])
    if origin in (list, tuple, collections.abc.Sequence):
        return _fits_sequence(value, origin, arguments)
    if isinstance(hint, type):
        return _has_methods(value, hint) if getattr(hint, "_is_protocol", False) else isinstance(value, hint)
    raise TypeError(f"the annotation {hint} is of a kind that files are not checked for")


def _has_dtype(array: np.ndarray, dtype: Any) -> bool:
    (scalar,) = get_args(dtype)
    return scalar is Any or (isinstance(scalar, type) and issubclass(array.dtype.type, scalar))


def _fits_sequence(value: Any, origin: type, arguments: tuple[Any, ...]) -> bool:
    expected: tuple[type, ...] = (list, tuple) if origin is collections.abc.Sequence else (origin,)
    if not isinstance(value, expected):
        return False
    items: Any = value
    if origin is tuple and arguments[-1] is not Ellipsis:
        return len(items) == len(arguments) and all(map(fits, items, arguments))
    return all(fits(item, arguments[0]) for item in items)


def _has_methods(value: Any, protocol: type) -> bool:
    return all(callable(getattr(type(value), name, None)) for name in vars(protocol) if not name.startswith("_"))
