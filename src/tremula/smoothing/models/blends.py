"""Reads soft votes and means of several models, and models inside a search or a frozen estimator.

Members that apply a link to their sums, as boosting does, keep it: the sums are smoothed, and the links are applied to
the expected sums before the mean is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.members import USE_SAMPLE, PlacedMember, mean_of_members
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.sklearn import model_of
from tremula.trees.composite_links import blend_link
from tremula.trees.links import IDENTITY
from tremula.trees.tree_sum import TreeSum


def read_search(estimator: Any, read: Read) -> TreeModel:
    """Read the best model of a search."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "best_estimator_"):
        raise UnsupportedModel(f"{name_of(estimator)} kept no model (refit=False): set refit=True, or {USE_SAMPLE}")
    return replace(read(estimator.best_estimator_), estimator=estimator, name=name_of(estimator))


def read_frozen(estimator: Any, read: Read) -> TreeModel:
    """Read the model inside a frozen estimator."""
    return replace(read(estimator.estimator), estimator=estimator)


def read_voting(estimator: Any, read: Read) -> TreeModel:
    """Read a soft vote of classifiers, or a mean of regressors."""
    check_is_fitted(estimator)
    name = name_of(estimator)
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier and estimator.voting != "soft":
        raise UnsupportedModel(f"{name} counts labels (voting='hard'), and that is not a sum of trees: {USE_SAMPLE}")
    members = [read(member) for member in estimator.estimators_]
    given = [1.0] * len(estimator.estimators) if estimator.weights is None else estimator.weights
    weights = [weight for (_, member), weight in zip(estimator.estimators, given) if not isinstance(member, str)]
    n_answers = len(estimator.classes_) if is_classifier else 1
    if is_classifier and any(member.n_outputs != n_answers for member in members):
        raise UnsupportedModel(f"{name} has members that do not know all classes: {USE_SAMPLE}")
    whole = mean_of_answers(name, members, weights, n_answers)
    return model_of(estimator, whole)


def mean_of_answers(name: str, members: list[TreeModel], weights: Any, n_answers: int) -> TreeSum:
    """Return the weighted mean of what models answer; each answers for all classes, in the same order."""
    parts = [member.sum for member in members]
    n_attributes = parts[0].n_attributes
    shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    if all(part.link.is_identity for part in parts):
        placed = [PlacedMember(part, np.arange(n_answers)) for part in parts]
        return mean_of_members(name, placed, shares, n_answers, n_attributes)
    link = blend_link([part.link for part in parts], [part.n_margins for part in parts], shares, n_answers)
    return replace(side_by_side(name, parts), link=link)


def side_by_side(name: str, parts: Sequence[TreeSum]) -> TreeSum:
    """Return the margins of several sums, one stretch after the other, without their links."""
    ends = np.cumsum([part.n_margins for part in parts])
    placed = [
        PlacedMember(replace(part, link=IDENTITY), np.arange(end - part.n_margins, end))
        for part, end in zip(parts, ends)
    ]
    return sum_of_members(name, placed, int(ends[-1]), parts[0].n_attributes)


def sum_of_members(name: str, members: Sequence[PlacedMember], n_outputs: int, n_attributes: int) -> TreeSum:
    """Return the sum of members."""
    mean = mean_of_members(name, members, np.ones(len(members)), n_outputs, n_attributes)
    return replace(mean, weights=len(members) * mean.weights, offset=len(members) * mean.offset)
