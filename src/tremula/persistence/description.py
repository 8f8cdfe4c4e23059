"""Describes values in JSON and reads them back. Arrays and packed values are kept aside and referred to by name.

A value that JSON lacks is an object with one key, such as ``{"tuple": [...]}`` or ``{"array": "arrays/..."}``; an
estimator or dataclass has the keys "class", "parameters" and "fitted".
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import NotStorable, UnknownClass
from tremula.persistence.hints import hints_of
from tremula.persistence.registry import Packing, all_packings, find_class, full_name, is_storable, packing_of
from tremula.persistence.soundness import LABEL_TYPES, check_object, check_unfitted
from tremula.persistence.stored_arrays import ARRAY_KINDS

PLAIN_TYPES = (type(None), bool, int, str)
STRINGS = np.dtypes.StringDType()
MAX_DEPTH = 150  # of values in values: what is deeper could not be cloned or printed
CALLBACKS = "_skl_callbacks"  # set by scikit-learn's `set_callbacks`: these watch training and are no part of a model


class ValueEncoder:
    """Describes values in JSON.

    Attributes
    ----------
    arrays : dict of arrays
        Arrays met so far, by the name that stands for each.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._packed: dict[type, list[Any]] = {}

    def describe(self, value: Any, place: str) -> Any:
        """Describe a value; `place` is the expression that a user would write for it."""
        kind = type(value)
        if kind in PLAIN_TYPES or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"float": repr(value)}
        if kind in (list, tuple):
            items = [self.describe(item, f"{place}[{number}]") for number, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind is dict:
            return {"dict": self.describe([list(pair) for pair in value.items()], place)}
        if isinstance(value, np.ndarray | np.generic):
            return self._describe_array(value, place)
        if not is_storable(kind):
            raise _not_storable(value, place)
        packing = packing_of(kind)
        if packing is None:
            return self._describe_object(value, place)
        values = self._packed.setdefault(kind, [])
        values.append(value)
        return {packing.key: len(values) - 1}

    def packed_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that hold the packed values met so far."""
        arrays: dict[str, NDArray[Any]] = {}
        for packing in all_packings():
            if packing.kind in self._packed:
                packed = packing.pack(self._packed[packing.kind])
                arrays |= {f"{packing.folder}/{name}": array for name, array in packed.items()}
        return arrays

    def _describe_array(self, value: Any, place: str) -> dict[str, Any]:
        if value.dtype.kind in ARRAY_KINDS:
            self.arrays[f"arrays/{place}"] = np.asarray(value)
            return {"array" if isinstance(value, np.ndarray) else "scalar": f"arrays/{place}"}
        if value.ndim != 1 or (value.dtype != object and value.dtype != STRINGS):
            raise _not_storable(value, place)
        for number, item in enumerate(value.tolist()):
            if item is not None and not isinstance(item, LABEL_TYPES):
                raise _not_storable(item, f"{place}[{number}]")
        return {"objects" if value.dtype == object else "strings": self.describe(value.tolist(), place)}

    def _describe_object(self, value: Any, place: str) -> dict[str, Any]:
        if is_dataclass(value):
            parameters = {field.name: getattr(value, field.name) for field in fields(value)}
            fitted = {}
        else:
            parameters = value.get_params(deep=False)
            fitted = {n: content for n, content in vars(value).items() if n not in parameters and n != CALLBACKS}
            _check_names(value, fitted, place)
        return {
            "class": type(value).__name__,
            "parameters": {name: self.describe(content, f"{place}.{name}") for name, content in parameters.items()},
            "fitted": {name: self.describe(content, f"{place}.{name}") for name, content in fitted.items()},
        }


def _check_names(value: Any, fitted: Mapping[str, Any], place: str) -> None:
    """Raise an error for an attribute that the class does not have: the file could not be loaded."""
    for name in fitted:
        if name not in hints_of(type(value)):
            raise NotStorable(
                f"{place}.{name} is not an attribute of {type(value).__name__}, and tm.save saves only what that has: "
                "delete it, or use pickle"
            )


def _not_storable(value: Any, place: str) -> NotStorable:
    """Return the error that says why a value cannot be saved, and what to do."""
    problem = f"{place} is of type {full_name(type(value))}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        name = place.rpartition(".")[2]
        return NotStorable(
            f"{problem}, whose state is not saved: give an integer or None, such as model.set_params({name}=None); "
            "predictions do not depend on it"
        )
    if hasattr(value, "get_params"):
        return NotStorable(
            f"{problem}, which is not one of tremula's own classes, and tm.save saves only those: use skops.io.dump or "
            "pickle"
        )
    if isinstance(value, np.ndarray):
        problem = f"{place} is an array of {value.dtype} and shape {value.shape}"
    return NotStorable(
        f"{problem}: tm.save saves numbers, strings, lists, arrays and trees; change it, or use skops.io.dump or pickle"
    )


def _label(key: Any) -> Any:
    if not isinstance(key, str | int | float | np.generic):
        raise ValueError(f"a dict has the key {key!r}")
    return key


@cache
def _parameter_names(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


class ValueDecoder:
    """Makes values from their descriptions.

    Parameters
    ----------
    read_array : callable
        From the name of an array to the array.
    array_names : sequence of str
        The names of all arrays.
    written_by : str
        Release of tremula that wrote the file, for messages.
    """

    def __init__(self, read_array: Callable[[str], NDArray[Any]], array_names: list[str], written_by: str) -> None:
        self._arrays = read_array
        self._names_read: set[str] = set()
        self._written_by = written_by
        self._depth = 0
        self._packed = {packing.key: self._unpack(packing, array_names) for packing in all_packings()}

    def _unpack(self, packing: Packing, array_names: list[str]) -> list[Any]:
        prefix = f"{packing.folder}/"
        arrays = {name.removeprefix(prefix): self._read_array(name) for name in array_names if name.startswith(prefix)}
        return packing.unpack(arrays) if arrays else []

    def _read_array(self, name: str) -> NDArray[Any]:
        """Read an array, once: with many references to it a small file would fill the memory."""
        if name in self._names_read:
            raise ValueError(f"array {name} is referred to twice")
        self._names_read.add(name)
        return self._arrays(name)

    def read(self, described: Any) -> Any:
        """Return the value described."""
        if self._depth >= MAX_DEPTH:
            raise ValueError(f"values are nested more than {MAX_DEPTH} deep")
        self._depth += 1
        try:
            return self._read(described)
        finally:
            self._depth -= 1

    def _read(self, described: Any) -> Any:
        match described:
            case list():
                return [self.read(item) for item in described]
            case {"float": text}:
                return float(text)
            case {"tuple": items}:
                return tuple(self.read(items))
            case {"dict": [*pairs]}:
                return {_label(self.read(key)): self.read(each) for key, each in pairs}
            case {"array": name}:
                return self._read_array(name)
            case {"scalar": name}:
                return self._read_array(name)[()]
            case {"objects": items}:
                return np.fromiter(self.read(items), dtype=object, count=len(items))
            case {"strings": items}:
                return np.array(items, dtype=STRINGS)
            case {"class": name, "parameters": dict(parameters), "fitted": dict(fitted)}:
                return self._read_object(name, parameters, fitted)
            case dict():
                return self._read_packed(described)
        return described

    def _read_packed(self, described: dict[str, Any]) -> Any:
        for key, number in described.items():
            if key in self._packed:
                return self._packed[key][number]
        raise ValueError(f"a value described by {', '.join(map(repr, described))}")

    def _read_object(self, name: str, parameters: Mapping[str, Any], fitted: Mapping[str, Any]) -> Any:
        kind = find_class(name)
        if kind is None:
            raise UnknownClass(f"the file names the class {name!r}, which {self._advice()}")
        unknown = [parameter for parameter in parameters if parameter not in _parameter_names(kind)]
        if unknown:
            raise UnknownClass(f"the file gives {name} a parameter {unknown[0]!r}, which {self._advice()}")
        value = kind(**{parameter: self.read(content) for parameter, content in parameters.items()})
        if is_dataclass(value):
            if fitted:
                raise ValueError(f"{name} has fields only, but fitted attributes {', '.join(map(repr, fitted))}")
            check_object(value, [field.name for field in fields(value)])
        elif fitted:
            unknown = [attribute for attribute in fitted if attribute not in hints_of(kind)]
            if unknown:
                raise UnknownClass(f"the file gives {name} an attribute {unknown[0]!r}, which {self._advice()}")
            vars(value).update({attribute: self.read(content) for attribute, content in fitted.items()})
            check_object(value, fitted)
        else:
            check_unfitted(value)
        return value

    def _advice(self) -> str:
        return f"tremula {version('tremula')} does not have: install tremula {self._written_by}, which wrote it"
