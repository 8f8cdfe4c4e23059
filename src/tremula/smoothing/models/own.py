"""Reads tremula's own trees and ensembles: they offer themselves as a sum of trees by `as_tree_sum`.

An ensemble whose members are estimators of other libraries is read member by member.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.members import USE_SAMPLE, PlacedMember, mean_of_members, voting_member
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.trees.tree_sum import TreeSum


def read_own(estimator: Any, read: Read) -> TreeModel:
    """Read a tree, an ensemble, or trees stored from another library."""
    members = getattr(estimator, "members_", [])
    if members and all(hasattr(member, "estimator") for member in members):
        return replace(_model(estimator, _sum_of_estimators(estimator, read)), levels=None)
    try:
        return _model(estimator, estimator.as_tree_sum())
    except UnsupportedModel as error:
        raise UnsupportedModel(f"{error}; or {USE_SAMPLE}") from error


def _model(estimator: Any, whole: TreeSum) -> TreeModel:
    names = getattr(estimator, "feature_names_in_", None)
    return TreeModel(
        estimator=estimator,
        name=getattr(estimator, "source", "") or name_of(estimator),
        sum=whole,
        predictor=estimator.predict_proba if hasattr(estimator, "classes_") else estimator.predict,
        classes=getattr(estimator, "classes_", None),
        feature_names=None if names is None else tuple(names),
        levels=None if estimator.encoder_ is None else estimator.encoder_.levels,
        inbag_counter=estimator.count_inbag if getattr(estimator, "can_count_inbag", False) else None,
    )


def _sum_of_estimators(estimator: Any, read: Read) -> TreeSum:
    """Sum an ensemble whose members are estimators of any library, fitted on class codes."""
    name, n_attributes = name_of(estimator), estimator.n_features_in_
    members = [_placed(member, read) for member in estimator.members_]
    if getattr(estimator, "combine", "average") == "vote" and hasattr(estimator, "classes_"):
        members = [voting_member(name, member) for member in members]
    weights: NDArray[np.float64] = getattr(estimator, "member_weights_", np.ones(len(members)))
    return mean_of_members(name, members, weights, max(estimator.members_[0].n_classes, 1), n_attributes)


def _placed(member: Any, read: Read) -> PlacedMember:
    inner = read(member.estimator)
    columns = np.zeros(1, np.int64) if inner.classes is None else np.asarray(inner.classes).astype(np.int64)
    return PlacedMember(inner.sum, columns, member.attributes)
