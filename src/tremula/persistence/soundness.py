"""Checks an object that was read from a file: the types of its attributes, and how they fit together.

The kernels rely on these checks and do not repeat them. A class says what must hold between its attributes in a method
`_check_stored`, which raises ValueError; those of its bases are called first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter
from tremula.parameters import check_parameters
from tremula.persistence.hints import fits, hints_of

MAX_JOBS = 4096
LABEL_TYPES = (str, bool, int, float, np.generic)


def check_object(value: Any, attributes: Iterable[str]) -> None:
    """Raise an error unless an object that was read from a file is sound.

    Parameters
    ----------
    value : estimator or dataclass
    attributes : iterable of str
        Fields of the dataclass, or attributes that `fit` set.
    """
    try:
        _check_object(value, attributes)
    except InvalidParameter as error:
        raise ValueError(f"{type(value).__name__}: {error}") from error


def _check_object(value: Any, attributes: Iterable[str]) -> None:
    kind, hints = type(value), hints_of(type(value))
    for name in attributes:
        require(name in hints, f"{kind.__name__} has no attribute {name!r}")
        require(fits(getattr(value, name), hints[name]), f"{kind.__name__}.{name} has a wrong type")
    if hasattr(kind, "_parameters"):
        check_parameters(value)
    check_unfitted(value)
    n_jobs = getattr(value, "n_jobs", None)
    require(n_jobs is None or 1 <= abs(n_jobs) <= MAX_JOBS, f"{kind.__name__} would run in {n_jobs} jobs")
    for base in reversed(kind.__mro__):
        if "_check_stored" in vars(base):
            vars(base)["_check_stored"](value)


def check_unfitted(value: Any) -> None:
    """Raise ValueError unless the parameters that tags and pages read are sound; `fit` checks the others."""
    name, estimator = type(value).__name__, getattr(value, "estimator", None)
    require(estimator is None or hasattr(estimator, "get_params"), f"{name}.estimator is no estimator")
    require(isinstance(getattr(value, "criterion", ""), str), f"{name}.criterion is no name")


def require(holds: Any, fault: str) -> None:
    """Raise ValueError with a description of the fault, unless something holds."""
    if not holds:
        raise ValueError(fault)


def require_numbers(
    name: str, array: NDArray[Any], shape: tuple[int | None, ...], kinds: str = "f", low: float = -math.inf
) -> None:
    """Raise ValueError unless an array has a shape (None: any length), a kind of numbers, and none below `low` or NaN.

    Examples
    --------
    >>> require_numbers("weights", np.array([0.5, 0.5]), (2,))
    >>> require_numbers("weights", np.array([0.5, -0.5]), (None,), low=0.0)
    Traceback (most recent call last):
    ValueError: weights has a number below 0.0, or none
    """
    is_shaped = len(array.shape) == len(shape) and all(n in (None, given) for n, given in zip(shape, array.shape))
    if not is_shaped or array.dtype.kind not in kinds or (kinds == "f" and array.dtype != np.float64):
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}: expected shape {shape}")
    require((array >= low).all(), f"{name} has a number below {low}, or none")


def require_labels(name: str, labels: NDArray[Any], sortable: bool = False) -> None:
    """Raise ValueError unless an array holds distinct labels: words, numbers or truth values.

    With `sortable`, words and numbers may not stand side by side.

    Examples
    --------
    >>> require_labels("classes", np.array(["a", "b"]))
    >>> require_labels("classes", np.array(["a", "a"]))
    Traceback (most recent call last):
    ValueError: classes are not distinct labels
    """
    listed = labels.tolist() if labels.ndim == 1 else []
    is_plain = labels.ndim == 1 and labels.dtype.kind in "biufUTSOM"
    if labels.dtype.kind == "O":
        is_plain = is_plain and all(isinstance(label, LABEL_TYPES) for label in listed)
    if labels.dtype.kind == "f":
        is_plain = is_plain and bool(np.isfinite(labels).all())
    is_mixed = sortable and len({isinstance(label, str) for label in listed}) > 1
    require(is_plain and not is_mixed and len(set(listed)) == len(listed), f"{name} are not distinct labels")
