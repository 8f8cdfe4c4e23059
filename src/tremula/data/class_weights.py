"""Class weights as weights of rows, with scikit-learn's meaning: the weight of a row times that of its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tremula.data.column import Array, Floats, show
from tremula.data.target import LARGEST_WEIGHT, LEAST_WEIGHT
from tremula.errors import InvalidParameter


def balanced_weights(counts: npt.NDArray[Any]) -> Floats:
    """Return the weights by which all classes weigh the same and the rows as much as before; 0 without rows.

    Parameters
    ----------
    counts : array (n_classes,)
        Number of rows of each class.

    Examples
    --------
    >>> balanced_weights(np.array([2, 6]))
    array([2.        , 0.66666667])
    """
    weights = np.zeros(len(counts))
    has_rows = counts > 0
    weights[has_rows] = counts.sum() / (has_rows.sum() * counts[has_rows])
    return weights


def weigh_classes(
    class_weight: Any, classes: Array, codes: npt.NDArray[np.int32], weights: Floats | None
) -> Floats | None:
    """Return the weights of rows times those of their classes.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        "balanced" counts the rows of each class, whatever their weights.
    classes : array (n_classes,)
    codes : int array (n_rows,)
    weights : float64 array (n_rows,) or None

    Examples
    --------
    >>> weigh_classes({"ill": 5}, np.array(["healthy", "ill"]), np.array([0, 1, 0]), None)
    array([1., 5., 1.])
    """
    if class_weight is None:
        return weights
    if isinstance(class_weight, list):
        raise InvalidParameter(
            f"class_weight is a list of {len(class_weight)}, which is for several targets, but y has one: give a dict"
        )
    if isinstance(class_weight, Mapping):
        of_class = _given_weights(class_weight, classes)
    else:
        of_class = balanced_weights(np.bincount(codes, minlength=len(classes)))
    weighed = of_class[codes] if weights is None else weights * of_class[codes]
    _check_product(class_weight, classes, codes, weighed)
    return weighed


def _given_weights(class_weight: Mapping[Any, Any], classes: Array) -> Floats:
    """Return the weight of each class; 1 for a class without one."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    without = [label for label in labels if label not in class_weight]
    if unknown and without:
        raise InvalidParameter(
            f"class_weight has weights of {show(unknown)}, and y has the classes {show(labels)}: give weights of "
            "classes of y, such as {" + repr(without[0]) + ": 5}"
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def _check_product(class_weight: Any, classes: Array, codes: npt.NDArray[np.int32], weighed: Floats) -> None:
    present = np.unique(codes[weighed > 0])
    if len(present) < 2:
        kept = "no class" if not len(present) else f"only the class {classes.tolist()[present[0]]!r}"
        raise InvalidParameter(
            f"class_weight={class_weight!r} leaves rows of positive weight to {kept}: a classifier needs two classes "
            "or more"
        )
    if not LEAST_WEIGHT <= weighed.max() <= LARGEST_WEIGHT:
        raise InvalidParameter(
            f"with class_weight={class_weight!r} the largest weight of a row is {weighed.max():.3g}; expected between "
            f"{LEAST_WEIGHT:g} and {LARGEST_WEIGHT:g}: multiply all weights by a constant"
        )
