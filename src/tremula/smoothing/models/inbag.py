"""Which rows each member of a scikit-learn ensemble was trained on, and whether the rows given are those rows.

scikit-learn keeps the numbers of the rows that a member was trained on, not the rows. Rows in another order would make
training rows pass for out-of-bag rows, so the leaves of the members are compared with the rows given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput
from tremula.smoothing.models.model import name_of

TOLERANCE = 1e-6  # of the magnitude of the targets


def times_sampled(estimator: Any, X: Any, y: Any, sample_weight: Any) -> NDArray[np.int64]:
    """Count how often each member was trained on each row.

    Parameters
    ----------
    estimator : fitted forest or bagging of scikit-learn
    X, y, sample_weight
        Its training rows, in the order of its training; others are refused where the leaves of a member show it.

    Returns
    -------
    int array of shape (n_members, n_rows)
    """
    n_rows, drawn = len(y), estimator.estimators_samples_
    if max(rows.max() for rows in drawn) >= n_rows:
        raise InvalidInput(
            f"{n_rows} rows were given, but {name_of(estimator)} was trained on more: give the rows of its training"
        )
    counts = np.array([np.bincount(rows, minlength=n_rows) for rows in drawn])
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for number, (tree, leaves) in enumerate(_leaves_of_members(estimator, X)):
        target = _target_of(estimator, tree, y)
        reason = _mismatch(tree, leaves, counts[number], weights, target)
        if reason:
            raise InvalidInput(
                f"the rows are not the training rows of {name_of(estimator)} in the order of its training: in member "
                f"{number}, {reason}. Give X, y and sample_weight as they were in its training, or choose the noise on "
                "other rows by X_val and y_val"
            )
    return counts


def has_leaves(member: Any) -> bool:
    """Whether a member is a tree of scikit-learn, whose leaves know how many rows they were trained on."""
    return hasattr(getattr(member, "tree_", None), "n_node_samples")


def has_leaves_to_compare(estimator: Any) -> bool:
    """Whether `times_sampled` would notice rows in another order than in training."""
    return all(map(has_leaves, estimator.estimators_))


def _leaves_of_members(estimator: Any, X: Any) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Yield the members that are scikit-learn's trees, with the leaf of each row."""
    attributes = getattr(estimator, "estimators_features_", [slice(None)] * len(estimator.estimators_))
    rows = np.asarray(X, dtype=np.float32)
    for member, columns in zip(estimator.estimators_, attributes):
        if has_leaves(member):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the rows have no names
                yield member, np.asarray(member.apply(rows[:, columns]))


def _target_of(estimator: Any, tree: Any, y: Any) -> NDArray[Any]:
    """Return numbers, or the columns of the tree's values that belong to the classes; -1 for an unknown class."""
    if not hasattr(estimator, "classes_"):
        return np.asarray(y, dtype=np.float64)
    code_of = {label: code for code, label in enumerate(estimator.classes_.tolist())}
    column_of = {int(code): column for column, code in enumerate(tree.classes_)}
    return np.array([column_of.get(code_of.get(label, -1), -1) for label in np.asarray(y).tolist()])


def _mismatch(
    tree: Any, leaves: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64], target: NDArray[Any]
) -> str:
    """Return how the leaves of a tree contradict the rows it was trained on; an empty string if they do not.

    What is compared holds for positive weights of any size, whether they are given or not.
    """
    class_weight = getattr(tree, "class_weight", None)
    if isinstance(class_weight, dict) and 0 in class_weight.values():
        return ""
    inbag, n_nodes = counts > 0, tree.tree_.node_count
    known, is_leaf = tree.tree_.n_node_samples, tree.tree_.children_left < 0
    n_distinct = np.bincount(leaves[inbag], minlength=n_nodes)
    n_weighted = np.bincount(leaves[inbag & (weights > 0)], minlength=n_nodes)
    n_drawn = np.bincount(leaves, weights=counts, minlength=n_nodes)
    if not any(np.array_equal(known[is_leaf], number[is_leaf]) for number in (n_distinct, n_weighted, n_drawn)):
        wrong = int(np.flatnonzero(is_leaf & (known != n_distinct))[0])
        return f"leaf {wrong} was trained on {known[wrong]} rows, but {n_distinct[wrong]} of these reach it"
    rows = inbag & (weights > 0)
    if hasattr(tree, "classes_") and (target[rows] < 0).any():
        return "a row has a class that the model does not know"
    is_wrong = _wrong_leaves(tree, leaves[rows], target[rows])
    return "the targets of a leaf's rows do not give its value" if is_wrong.any() else ""


def _wrong_leaves(tree: Any, leaves: NDArray[np.int64], target: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each node with rows has a value that their targets cannot give."""
    values = tree.tree_.value[:, 0, :]
    has_rows = np.bincount(leaves, minlength=len(values)) > 0
    if getattr(tree, "monotonic_cst", None) is not None:
        return np.zeros(len(values), dtype=bool)
    if hasattr(tree, "classes_"):
        present = np.zeros(values.shape, dtype=bool)
        present[leaves, target] = True
        return np.asarray(has_rows & (present != (values > 0)).any(axis=1))
    low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
    np.minimum.at(low, leaves, target)
    np.maximum.at(high, leaves, target)
    slack = TOLERANCE * max(1e-300, float(np.abs(target).max(initial=0.0)))
    return np.asarray(has_rows & ((values[:, 0] < low - slack) | (values[:, 0] > high + slack)))
