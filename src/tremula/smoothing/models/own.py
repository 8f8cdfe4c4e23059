"""Reads tremula's own trees and ensembles: the trees are taken as they are, nominal splits and shares included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.boosted import boosted_sum
from tremula.smoothing.models.members import USE_SAMPLE, Placed, mean_of_members, voting_member
from tremula.smoothing.models.model import ForeignModel, as_votes
from tremula.smoothing.models.names import Read, name_of
from tremula.smoothing.tree_sum import TreeSum, mean_of_trees
from tremula.trees.tree import Tree


def read_own_tree(estimator: Any, read: Read) -> ForeignModel:
    """Take a single tree."""
    check_is_fitted(estimator, "tree_")
    _refuse_models_in_leaves(estimator, [estimator.tree_])
    return _model(estimator, mean_of_trees([estimator.tree_]))


def read_own_ensemble(estimator: Any, read: Read) -> ForeignModel:
    """Take an ensemble: of trees, of regression trees for each class, or of other estimators."""
    check_is_fitted(estimator, "members_")
    members = estimator.members_
    votes = getattr(estimator, "combine", "average") == "vote" and hasattr(estimator, "classes_")
    weights = np.asarray(getattr(estimator, "member_weights_", np.ones(len(members))), dtype=np.float64)
    drawn = _drawing(estimator)
    if all(isinstance(member, Tree) for member in members):
        whole = mean_of_trees(members, weights)
        return _model(estimator, as_votes(whole) if votes else whole, whole if votes else None, drawn=drawn)
    if all(hasattr(member, "regressors") for member in members):
        _refuse_models_in_leaves(estimator, [tree for member in members for tree in member.regressors])
        return _read_per_class(estimator, weights, votes, drawn)
    _refuse_models_in_leaves(estimator, members)
    return _read_estimators(estimator, weights, votes, drawn, read)


def _refuse_models_in_leaves(estimator: Any, members: Sequence[Any]) -> None:
    """Refuse trees whose leaves hold something else than a value, as those of M5."""
    others = [member for member in members if not isinstance(member, Tree) and not hasattr(member, "estimator")]
    if others:
        raise UnsupportedModel(
            f"{name_of(estimator)} has models in the leaves of its trees ({type(others[0]).__name__}), which is no sum "
            f"of constants: {USE_SAMPLE}"
        )


def _model(estimator: Any, whole: TreeSum, distributions: TreeSum | None = None, **known: Any) -> ForeignModel:
    encoder = estimator.encoder_
    names = getattr(estimator, "feature_names_in_", None)
    return ForeignModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        asked=estimator.predict_proba if hasattr(estimator, "classes_") else estimator.predict,
        classes=getattr(estimator, "classes_", None),
        distributions=distributions,
        feature_names=None if names is None else tuple(names),
        levels=None if encoder is None else encoder.levels,
        **known,
    )


def _read_per_class(estimator: Any, weights: NDArray[np.float64], votes: bool, drawn: Any) -> ForeignModel:
    regressors: Sequence[Sequence[Any]] = [member.regressors for member in estimator.members_]
    if votes or not all(isinstance(tree, Tree) for row in regressors for tree in row):
        raise UnsupportedModel(
            f"{name_of(estimator)} has members of a regressor for each class, which are read only if they are "
            f"tremula's trees and averaged, not if they vote: {USE_SAMPLE}"
        )
    trees = tuple(tree for row in regressors for tree in row)
    n_classes = len(estimator.classes_)
    whole = boosted_sum(
        trees,
        np.zeros(n_classes),
        "positive",
        outputs=np.tile(np.arange(n_classes), len(regressors)),
        weights=np.repeat(weights / weights.sum(), n_classes),
    )
    return _model(estimator, whole, tree_members=np.repeat(np.arange(len(regressors)), n_classes), drawn=drawn)


def _read_estimators(estimator: Any, weights: NDArray[np.float64], votes: bool, drawn: Any, read: Read) -> ForeignModel:
    """Take an ensemble whose members are estimators of other libraries, fitted on class codes."""
    name, n_attributes = name_of(estimator), estimator.n_features_in_
    members = [_placed(member, n_attributes, read) for member in estimator.members_]
    n_outputs = max(estimator.members_[0].n_classes, 1)
    whole, tree_members = mean_of_members(name, members, weights, n_outputs, n_attributes)
    distributions = None
    if votes:
        voting = [voting_member(name, member) for member in members]
        distributions, (whole, tree_members) = whole, mean_of_members(name, voting, weights, n_outputs, n_attributes)
    model = _model(estimator, whole, distributions, tree_members=tree_members, drawn=drawn)
    return replace(model, levels=None)


def _placed(member: Any, n_attributes: int, read: Read) -> Placed:
    inner = read(member.estimator)
    columns = np.zeros(1, np.int64) if inner.classes is None else np.asarray(inner.classes).astype(np.int64)
    return Placed(inner.sum, columns, member.attributes)


def _drawing(estimator: Any) -> Any:
    """Tell how often members had each row, if the ensemble can draw them again."""
    is_known = hasattr(estimator, "inbag_counts_") or getattr(estimator, "_drawn_by", None) is not None
    return partial(_count_inbag, estimator) if is_known else None


def _count_inbag(estimator: Any, X: Any, y: Any, sample_weight: Any) -> NDArray[Any]:
    return estimator.count_inbag(X, y, sample_weight)
