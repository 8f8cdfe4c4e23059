"""Several targets for each row: the columns of y, read as classes or numbers, and the refusal of more than one.

Classes of several targets are numbered one target after the other. Such a number is an output: predictions have a
column for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from tremula.data.class_weights import weigh_classes
from tremula.data.column import Array, Floats, refuse_masked
from tremula.data.target import is_constant, read_further_target, read_labels, read_target
from tremula.errors import ConstantTarget, InvalidParameter, InvalidTarget, OneClassTarget, UnsupportedModel


def target_columns(y: Any) -> list[Any] | None:
    """Return the columns of several targets; None if y is one target, or is not known to be a table.

    Examples
    --------
    >>> target_columns([[1, "a"], [2, "b"]])
    [array([1, 2], dtype=object), array(['a', 'b'], dtype=object)]
    >>> target_columns([1, 2])
    """
    try:
        table = nw.from_native(y, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidTarget(f"y has several columns of the same name: rename them ({error})") from error
    if isinstance(table, nw.DataFrame):
        return [column.to_numpy() for column in table.iter_columns()] if table.shape[1] > 1 else None
    if isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        kinds = {type(value) is str for row in y for value in row}
        try:
            y = np.array(y, dtype=object if len(kinds) > 1 else None)
        except ValueError:  # rows of different lengths
            return None
    refuse_masked("y", y)
    is_table = isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1
    return list(y.T) if is_table else None


def read_class_targets(
    columns: Sequence[Any], n_rows: int, weights: Floats | None
) -> tuple[list[Array], npt.NDArray[np.int32]]:
    """Return the classes of each target, and the output of each row's class of each target.

    Examples
    --------
    >>> read_class_targets([["no", "yes"], [7, 8]], 2, None)
    ([array(['no', 'yes'], dtype='<U3'), array([7, 8])], array([[0, 2],
           [1, 3]], dtype=int32))
    """
    classes: list[Array] = []
    codes: list[npt.NDArray[np.int32]] = []
    n_constant = 0
    for number, column in enumerate(columns):
        labels, own_codes = _read(number, read_labels, column, n_rows)
        counted = own_codes if weights is None else own_codes[weights > 0]
        n_constant += bool((counted == counted[0]).all())
        codes.append(own_codes + sum(len(each) for each in classes))
        classes.append(labels)
    if n_constant == len(classes):
        raise OneClassTarget(
            f"each of the {len(classes)} targets of y has one class in all rows of positive weight: a classifier needs "
            "a target of two classes or more"
        )
    return classes, np.ascontiguousarray(np.column_stack(codes), np.int32)


def read_number_targets(columns: Sequence[Any], n_rows: int, weights: Floats | None) -> Floats:
    """Return numeric targets as a float64 array (n_rows, n_targets); one of them at least is not constant."""
    targets, n_constant = [], 0
    for number, column in enumerate(columns):
        target = _read(number, read_further_target, column, n_rows, weights)
        if is_constant(target, weights):
            n_constant += 1
        else:
            _read(number, read_target, column, n_rows, weights)
        targets.append(target)
    if n_constant == len(targets):
        raise ConstantTarget(
            f"each of the {len(targets)} targets of y is constant in the rows of positive weight: a regressor needs a "
            "target of two values or more"
        )
    return np.ascontiguousarray(np.column_stack(targets))


def _read(number: int, read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except InvalidTarget as error:
        raise type(error)(f"target {number} of y, a column: {error}") from error


def weigh_class_targets(
    class_weight: Any, classes: Sequence[Array], codes: npt.NDArray[np.int32], weights: Floats | None
) -> Floats | None:
    """Return the weights of rows times those of their class of every target, as scikit-learn does.

    Parameters
    ----------
    class_weight : None, "balanced" or list of dict
        One dict for each target.
    classes : list of array
    codes : int array (n_rows, n_targets)
        Outputs.
    weights : float64 array (n_rows,) or None
    """
    given = [class_weight] * len(classes) if class_weight is None or isinstance(class_weight, str) else class_weight
    if not isinstance(given, list) or len(given) != len(classes):
        raise InvalidParameter(
            f"class_weight={class_weight!r} was given, but y has {len(classes)} targets: give a list with a dict for "
            "each of them, or 'balanced'"
        )
    first = 0
    for of_target, labels, column in zip(given, classes, codes.T, strict=True):
        if len(labels) > 1:
            weights = weigh_classes(of_target, labels, column - first, weights)
        first += len(labels)
    return weights


def has_several_targets(model: Any) -> bool:
    """Return whether a fitted model predicts several targets."""
    return int(getattr(model, "n_outputs_", 1)) > 1


def check_one_target(model: Any, purpose: str) -> None:
    """Raise UnsupportedModel if a fitted model predicts several targets.

    Parameters
    ----------
    model : fitted estimator
    purpose : str
        What takes one target only, as the subject of a sentence.
    """
    if has_several_targets(model):
        raise UnsupportedModel(
            f"{type(model).__name__} was fitted to {model.n_outputs_} targets, but {purpose} takes models of one "
            "target: fit a model for each target, for example by sklearn.multioutput.MultiOutputClassifier or "
            "MultiOutputRegressor, and use its estimators_"
        )
