"""The classes that a model file may name. Each class registers itself where it is defined.

A module registers its classes when it is imported. Whoever asks for a class by its name has every such module imported
first, so a file can be loaded without knowing what it contains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from numpy.typing import NDArray

Class = TypeVar("Class", bound=type)

_CLASSES: dict[str, type] = {}
_PACKINGS: dict[type, Packing] = {}


@dataclass(frozen=True)
class Packing:
    """How all values of one class in a model are stored together, as a few arrays.

    Attributes
    ----------
    kind : type
        The class.
    key : str
        Marks a reference to one of the values in the description of the model.
    folder : str
        Folder of the arrays inside the file.
    pack : callable
        From the values to arrays by name.
    unpack : callable
        From the arrays to the values; raises ValueError if they are not sound.
    """

    kind: type
    key: str
    folder: str
    pack: Callable[[Sequence[Any]], dict[str, NDArray[Any]]]
    unpack: Callable[[Mapping[str, NDArray[Any]]], list[Any]]


def storable(kind: Class) -> Class:
    """Register a class, so that files may hold its instances; used as a decorator.

    Dataclasses are stored by their fields. Estimators are stored by their parameters and fitted attributes. The name
    of the class stands in the files: it must stay the same, and no two storable classes may share it.

    Examples
    --------
    >>> from tremula import C45Classifier
    >>> is_storable(C45Classifier), find_class("C45Classifier") is C45Classifier
    (True, True)
    >>> class Derived(C45Classifier):
    ...     "Not registered itself."
    >>> is_storable(Derived)
    False
    """
    _add(kind)
    return kind


def register_packing(packing: Packing) -> None:
    """Register a class whose values are stored together rather than one by one."""
    _add(packing.kind)
    _PACKINGS[packing.kind] = packing


def _add(kind: type) -> None:
    known = _CLASSES.get(kind.__name__)
    if known is not None and full_name(known) != full_name(kind):
        raise TypeError(
            f"{full_name(kind)} has the same name as {full_name(known)}, and a file could not tell them apart: rename "
            "one of them"
        )
    _CLASSES[kind.__name__] = kind


def full_name(kind: type) -> str:
    """Return the name of a class with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _import_all() -> None:
    """Import the modules of all public names, and the others that the package lists."""
    package = import_module(__name__.partition(".")[0])
    for module in dict.fromkeys([*package.MODULE_OF.values(), *package.STORABLE_MODULES]):
        import_module(f"{package.__name__}.{module}")


def is_storable(kind: type) -> bool:
    """Whether files may hold instances of exactly this class."""
    _import_all()
    return _CLASSES.get(kind.__name__) is kind


def storable_classes() -> list[type]:
    """List all registered classes."""
    _import_all()
    return list(_CLASSES.values())


def find_class(name: str) -> type | None:
    """Return the class that a file describes by name, parameters and fitted attributes; None if there is none."""
    _import_all()
    kind = _CLASSES.get(name)
    return None if kind in _PACKINGS else kind


def packing_of(kind: type) -> Packing | None:
    """Return how values of a class are packed, None if they are stored one by one."""
    _import_all()
    return _PACKINGS.get(kind)


def all_packings() -> list[Packing]:
    """List the packings of all classes that have one."""
    _import_all()
    return list(_PACKINGS.values())
