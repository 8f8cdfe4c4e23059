"""Reads scikit-learn's trees, forests, bagging, AdaBoost and gradient boosting through their public attributes.

These trees round values to single precision, and values up to a threshold go left.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.inbag import has_leaves_to_compare, times_sampled
from tremula.smoothing.models.members import (
    USE_SAMPLE,
    PlacedMember,
    constant_sum,
    mean_of_members,
    voting_member,
)
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.single_precision import before_rounding
from tremula.smoothing.models.tree_builder import BinaryNodes, build_tree
from tremula.trees.links import SOFTMAX
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees, sum_of_trees, tree_with_values


def tree_of(estimator: Any) -> Tree:
    """Convert a fitted tree of scikit-learn."""
    given = estimator.tree_
    nodes = BinaryNodes(
        left=given.children_left,
        right=given.children_right,
        attribute=given.feature,
        threshold=given.threshold,
        missing_left=np.asarray(given.missing_go_to_left).astype(bool),
        values=given.value[:, 0, :],
    )
    return before_rounding(build_tree(nodes, np.zeros(estimator.n_features_in_, np.int32), strict=False))


def model_of(estimator: Any, whole: TreeSum, **known: Any) -> TreeModel:
    """Return the model of a scikit-learn estimator and its trees."""
    names = getattr(estimator, "feature_names_in_", None)
    return TreeModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=estimator.predict_proba if hasattr(estimator, "classes_") else estimator.predict,
        classes=getattr(estimator, "classes_", None),
        feature_names=None if names is None else tuple(names),
        **known,
    )


def check_one_target(estimator: Any) -> None:
    """Refuse a model that predicts several targets at once."""
    n_targets = getattr(estimator, "n_outputs_", 1)
    if n_targets != 1:
        raise UnsupportedModel(
            f"{name_of(estimator)} was trained on {n_targets} targets, but one is read: train a model for each target"
        )


def read_tree(estimator: Any, read: Read) -> TreeModel:
    """Read a decision tree or extra tree."""
    check_is_fitted(estimator)
    check_one_target(estimator)
    return model_of(estimator, sum_of_trees([tree_of(estimator)]))


def read_dummy(estimator: Any, read: Read) -> TreeModel:
    """Read a constant prediction; ensembles have such members where a sample has one class."""
    check_is_fitted(estimator)
    check_one_target(estimator)
    n_attributes, row = getattr(estimator, "n_features_in_", 1), np.zeros((1, 1))
    answer = estimator.predict_proba(row) if hasattr(estimator, "classes_") else estimator.predict(row)
    return model_of(estimator, constant_sum(np.asarray(answer, dtype=np.float64), n_attributes))


def read_forest(estimator: Any, read: Read) -> TreeModel:
    """Read a random forest or extra trees: the mean of the trees."""
    check_is_fitted(estimator)
    check_one_target(estimator)
    whole = mean_of_trees([tree_of(tree) for tree in estimator.estimators_])
    counter = partial(times_sampled, estimator) if estimator.bootstrap else None
    return model_of(estimator, whole, inbag_counter=counter)


def read_bagging(estimator: Any, read: Read) -> TreeModel:
    """Read bagging: the mean of its members, each with the attributes it was given."""
    check_is_fitted(estimator)
    n_attributes, n_outputs = estimator.n_features_in_, len(getattr(estimator, "classes_", [0]))
    members = []
    for member, attributes in zip(estimator.estimators_, estimator.estimators_features_):
        inner = read(member)
        columns = np.zeros(1, np.int64) if inner.classes is None else np.asarray(inner.classes).astype(np.int64)
        members.append(PlacedMember(inner.sum, columns, np.asarray(attributes)))
    weights = np.ones(len(members))
    whole = mean_of_members(name_of(estimator), members, weights, n_outputs, n_attributes)
    counter = partial(times_sampled, estimator)
    return model_of(estimator, whole, inbag_counter=counter, checks_inbag=has_leaves_to_compare(estimator))


def read_adaboost(estimator: Any, read: Read) -> TreeModel:
    """Read AdaBoost (SAMME): class shares are the softmax of the votes."""
    check_is_fitted(estimator)
    name, n_classes = name_of(estimator), len(estimator.classes_)
    if n_classes < 2:
        raise UnsupportedModel(f"{name} was trained on one class: {USE_SAMPLE}")
    members = []
    for member in estimator.estimators_:
        inner = read(member)
        members.append(PlacedMember(inner.sum, np.searchsorted(estimator.classes_, member.classes_)))
    weights = np.asarray(estimator.estimator_weights_, dtype=np.float64)[: len(members)]
    voting = [voting_member(name, member) for member in members]
    votes = mean_of_members(name, voting, weights, n_classes, estimator.n_features_in_)
    trees = tuple(tree_with_values(tree, (n_classes * tree.values - 1) / (n_classes - 1) ** 2) for tree in votes.trees)
    return model_of(estimator, replace(votes, trees=trees, link=SOFTMAX))


def refuse_adaboost_regressor(estimator: Any, read: Read) -> TreeModel:
    """Refuse AdaBoost for regression, whose prediction is a weighted median."""
    raise UnsupportedModel(
        f"{name_of(estimator)} predicts the weighted median of its members, which is not a sum of trees: {USE_SAMPLE}"
    )


def read_gradient_boosting(estimator: Any, read: Read) -> TreeModel:
    """Read gradient boosting: a constant and the trees, each times the learning rate, on the scale of the margins."""
    check_is_fitted(estimator)
    name, by_round = name_of(estimator), estimator.estimators_
    if not (estimator.init_ == "zero" or isinstance(estimator.init_, (DummyClassifier, DummyRegressor))):
        raise UnsupportedModel(
            f"{name} starts from another model (init={type(estimator.init_).__name__}), not from a constant: "
            f"{USE_SAMPLE}"
        )
    n_margins = by_round.shape[1]
    trees = tuple(tree_of(tree) for tree in by_round.ravel())
    is_classifier = hasattr(estimator, "classes_")
    whole = sum_of_trees(
        trees,
        np.zeros(n_margins),
        ("logistic" if n_margins == 1 else "softmax") if is_classifier else "identity",
        outputs=np.tile(np.arange(n_margins), len(by_round)),
        weights=np.full(len(trees), float(estimator.learning_rate)),
    )
    row = np.zeros((1, estimator.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the row has no names
        total = estimator.decision_function(row) if is_classifier else estimator.predict(row)
    whole = replace(whole, offset=np.reshape(total, n_margins) - whole.margins(row)[0])
    if is_classifier and estimator.loss == "exponential":
        whole = replace(whole, weights=2.0 * whole.weights, offset=2.0 * whole.offset)
    return model_of(estimator, whole)
