"""Which parameters of CART go together: constraints of order and medians in leaves do not go with all others."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from tremula.errors import InvalidInput, InvalidParameter
from tremula.trees.columns import Columns


def check_bins(max_bins: int | None, way: str, directions: np.ndarray | None) -> None:
    """Refuse bins with what the kernel of codes does not do: constraints of order, and one level against the rest."""
    if max_bins is None:
        return
    if directions is not None:
        raise InvalidParameter(f"max_bins={max_bins} was given with monotonic_cst: set one of them to None")
    if way == "one_vs_rest":
        raise InvalidParameter(
            f"max_bins={max_bins} was given with nominal='one_vs_rest': set max_bins=None, or nominal='auto'"
        )


def way_of_levels(nominal: str, criterion: str, n_levels: np.ndarray, directions: np.ndarray | None) -> str:
    """Return how nominal columns are split: as was asked for, but sets of levels where values of leaves must stay.

    With numbers that stand for levels, leaves are filled anew with other rows than they were grown from.

    Examples
    --------
    >>> way_of_levels("auto", "absolute_error", np.array([9], np.int32), None)
    'subsets'
    """
    has_medians = criterion == "absolute_error"
    if nominal == "auto":
        return "subsets" if has_medians or directions is not None else "auto"
    if not n_levels.any():
        return "subsets"
    if has_medians and nominal != "subsets":
        _refuse_way(nominal, "criterion='absolute_error'", "'auto' or 'subsets'")
    if directions is not None and nominal in ("statistics", "codes"):
        _refuse_way(nominal, "monotonic_cst", "'auto', 'subsets' or 'one_vs_rest'")
    return nominal


def _refuse_way(nominal: str, reason: str, others: str) -> NoReturn:
    raise InvalidParameter(
        f"nominal={nominal!r} was given with {reason}, which does not go with it: set nominal={others}"
    )


def check_classes(n_classes: int, directions: np.ndarray | None) -> None:
    """Refuse constraints of order for more than two classes."""
    if directions is not None and n_classes > 2:
        raise InvalidParameter(
            f"monotonic_cst was given, but y has {n_classes} classes: constraints of order need two, or a number"
        )


def why_one_target(criterion: str, max_bins: int | None, ccp_alpha: float | str, has_order: bool) -> str:
    """Return the parameter that a tree for several targets cannot be grown with, and what to set instead, or ''.

    Examples
    --------
    >>> why_one_target("gini", 255, 0.0, has_order=False)
    'max_bins=255 was given: set max_bins=None'
    """
    if criterion in ("absolute_error", "fifth_root_variance"):
        return f"criterion={criterion!r} was given: set criterion='squared_error'"
    if max_bins is not None:
        return f"max_bins={max_bins} was given: set max_bins=None"
    if isinstance(ccp_alpha, str):
        return f"ccp_alpha={ccp_alpha!r} was given: set a number for ccp_alpha"
    return "monotonic_cst was given: set monotonic_cst=None" if has_order else ""


def check_targets(criterion: str, max_bins: int | None, ccp_alpha: float | str, directions: np.ndarray | None) -> None:
    """Refuse what a tree for several targets cannot be grown with."""
    reason = why_one_target(criterion, max_bins, ccp_alpha, directions is not None)
    if reason:
        given, instead = reason.split(": ")
        raise InvalidParameter(
            f"{given}, but y has several targets, and one tree for all cannot be grown with it: {instead}, or fit a "
            "model for each target by sklearn.multioutput"
        )


def check_counts(target: np.ndarray) -> None:
    """Refuse targets that are no counts or rates."""
    if not (target.min() >= 0.0 and target.sum() > 0.0):
        raise InvalidInput(
            "criterion='poisson' needs targets of at least 0 that are not all 0; the least is "
            f"{target.min():g}, their sum {target.sum():g}: choose criterion='squared_error'"
        )


def check_medians(ccp_alpha: float | str, columns: Columns) -> None:
    """Refuse what trees with medians in their leaves cannot be used with."""
    if ccp_alpha != 0.0:
        raise InvalidParameter(
            f"ccp_alpha={ccp_alpha!r} was given with criterion='absolute_error', but pruning compares squared errors: "
            "set ccp_alpha=0.0, and limit the tree by max_leaf_nodes or min_samples_leaf"
        )
    if columns.directions is not None and not columns.is_complete and not columns.has_missing_branch:
        raise InvalidParameter(
            "missing='shares' was given with criterion='absolute_error' and monotonic_cst, and X has missing values, "
            "but medians of shared rows keep no order: set missing='branch'"
        )
