"""Reads stacked models whose final estimator is linear: the links of the members, a matrix, and its link.

A stacked regressor of sums of trees is itself a sum of trees. Otherwise the sums of the members are smoothed, and all
links are applied to the expected sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.blends import side_by_side, sum_of_members
from tremula.smoothing.models.members import USE_SAMPLE, PlacedMember
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.sklearn import model_of
from tremula.trees.composite_links import ChainLink, LinearLink, StretchLink
from tremula.trees.links import LINKS
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]


def read_stacking(estimator: Any, read: Read) -> TreeModel:
    """Read a stacked classifier or regressor."""
    check_is_fitted(estimator)
    name, final = name_of(estimator), estimator.final_estimator_
    if estimator.passthrough:
        raise UnsupportedModel(f"{name} gives the attributes to its final estimator too (passthrough): {USE_SAMPLE}")
    is_classifier = hasattr(estimator, "classes_")
    if not hasattr(final, "coef_") or (is_classifier and not isinstance(final, LogisticRegression)):
        expected = "LogisticRegression" if is_classifier else "a linear model"
        raise UnsupportedModel(f"the final estimator of {name} is {name_of(final)}, not {expected}: {USE_SAMPLE}")
    members = [read(member) for member in estimator.estimators_]
    coefficients = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64))
    intercepts = np.atleast_1d(np.asarray(final.intercept_, dtype=np.float64))
    if is_classifier:
        check_class_shares(estimator, members)
        return model_of(estimator, sum_of_classifiers(estimator, members, coefficients, intercepts))
    if len(coefficients) != 1:
        raise UnsupportedModel(f"{name} was trained on several targets, and one is read: train a model for each target")
    return model_of(estimator, sum_of_regressors(name, members, coefficients, intercepts))


def check_class_shares(estimator: Any, members: list[TreeModel]) -> None:
    """Refuse members of which other answers than the shares of all classes are stacked."""
    if any(method != "predict_proba" for method in estimator.stack_method_):
        given = ", ".join(dict.fromkeys(estimator.stack_method_))
        raise UnsupportedModel(f"{name_of(estimator)} stacks other answers than probabilities ({given}): {USE_SAMPLE}")
    if any(member.n_outputs != len(estimator.classes_) for member in members):
        raise UnsupportedModel(f"{name_of(estimator)} has members that do not know all classes: {USE_SAMPLE}")


def sum_of_regressors(name: str, members: list[TreeModel], coefficients: Floats, intercepts: Floats) -> TreeSum:
    """Return the linear combination of numbers: a sum of trees if the members are such sums."""
    parts = [member.sum for member in members]
    if any(not part.link.is_identity for part in parts):
        link = ChainLink((stretches_of(parts), LinearLink(coefficients, intercepts)))
        return replace(side_by_side(name, parts), link=link)
    scaled = [
        replace(part, weights=factor * part.weights, offset=factor * part.offset)
        for part, factor in zip(parts, coefficients[0])
    ]
    placed = [PlacedMember(part, np.zeros(1, np.int64)) for part in scaled]
    whole = sum_of_members(name, placed, 1, parts[0].n_attributes)
    return replace(whole, offset=whole.offset + intercepts)


def sum_of_classifiers(estimator: Any, members: list[TreeModel], coefficients: Floats, intercepts: Floats) -> TreeSum:
    """Return the margins of all members, with the link of a logistic regression of their class shares.

    Of two classes, the final estimator sees the share of the second alone.
    """
    parts, n_classes = [member.sum for member in members], len(estimator.classes_)
    matrix, outer = coefficients, LINKS["softmax"]
    if n_classes == 2:
        matrix = np.zeros((1, 2 * len(parts)))
        matrix[:, 1::2] = coefficients
        outer = LINKS["logistic"]
    link = ChainLink((stretches_of(parts), LinearLink(matrix, intercepts), outer))
    return replace(side_by_side(name_of(estimator), parts), link=link)


def stretches_of(parts: list[TreeSum]) -> StretchLink:
    """Return the links of several sums, side by side."""
    return StretchLink(tuple(part.link for part in parts), tuple(part.n_margins for part in parts))
