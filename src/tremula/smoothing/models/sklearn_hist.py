"""Reads scikit-learn's histogram gradient boosting, whose trees are not public, through treelite.

Values are compared in double precision; those up to a threshold go left.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.errors import MissingLibrary, UnsupportedModel
from tremula.smoothing.models.boosting import link_of
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.sklearn import model_of
from tremula.smoothing.models.sklearn_hist_levels import known_levels
from tremula.smoothing.models.tree_builder import BinaryNodes, build_tree
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, sum_of_trees

LINKS = {
    "log_loss": "softmax",
    "squared_error": "identity",
    "absolute_error": "identity",
    "quantile": "identity",
    "poisson": "exponential",
    "gamma": "exponential",
}
# Node type of a split of levels in treelite.
NOMINAL_SPLIT = 2
# Stands for a level that no split lists.
UNLISTED = -1


def read_histogram(estimator: Any, read: Read) -> TreeModel:
    """Read histogram gradient boosting for classes or numbers."""
    check_is_fitted(estimator)
    trees, header = _load(estimator)
    listed = [_listed_levels(trees, attribute) for attribute in range(estimator.n_features_in_)]
    if all(labels is None for labels in listed):
        return model_of(estimator, _sum(estimator, trees, header, listed))
    with_another = [None if labels is None else np.append(labels, UNLISTED) for labels in listed]
    model = model_of(estimator, _sum(estimator, trees, header, with_another))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows have no names
        levels = known_levels(model.unsmoothed, model.sum, listed)
    return model_of(estimator, _sum(estimator, trees, header, levels), levels=tuple(levels))


def _load(estimator: Any) -> tuple[list[Any], Any]:
    """Load the model into treelite; return its trees and its header."""
    try:
        import treelite.sklearn
    except ImportError as error:
        raise MissingLibrary(
            f"the trees of {name_of(estimator)} are read by treelite, which is not installed: install tremula[models], "
            'or use method="sample"'
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # missing among the levels of a nominal attribute
            given = treelite.sklearn.import_model(estimator)
    except (NotImplementedError, ValueError) as error:
        raise UnsupportedModel(
            f"{name_of(estimator)} has nominal attributes whose levels are strings, which treelite does not read: "
            f"encode them as integers before training, or {USE_SAMPLE}"
        ) from error
    return [given.get_tree_accessor(number) for number in range(given.num_tree)], given.get_header_accessor()


def _sum(estimator: Any, trees: list[Any], header: Any, levels: Sequence[NDArray[np.int64] | None]) -> TreeSum:
    offset = np.atleast_1d(header.get_field("base_scores")).astype(np.float64)
    link = link_of(estimator, estimator.loss, LINKS)
    return sum_of_trees(
        [_tree(tree, levels) for tree in trees],
        offset,
        "logistic" if link == "softmax" and len(offset) == 1 else link,
        outputs=header.get_field("class_id"),
    )


def _listed_levels(trees: list[Any], attribute: int) -> NDArray[np.int64] | None:
    """Levels of an attribute that splits list; None if there are no such splits."""
    parts = [levels for tree in trees for _, tested, levels in _nominal_splits(tree) if tested == attribute]
    return np.unique(np.concatenate(parts)).astype(np.int64) if parts else None


def _nominal_splits(given: Any) -> list[tuple[int, int, NDArray[Any]]]:
    """List the splits of levels: node, attribute, and the levels that go left."""
    levels, starts, ends = (given.get_field(f"category_list{part}") for part in ("", "_begin", "_end"))
    nodes = np.flatnonzero(given.get_field("node_type") == NOMINAL_SPLIT)
    return [(int(node), int(given.get_field("split_index")[node]), levels[starts[node] : ends[node]]) for node in nodes]


def _tree(given: Any, levels: Sequence[Any]) -> Tree:
    """Convert one tree."""
    values: NDArray[np.float64] = given.get_field("leaf_value").astype(np.float64)
    nodes = BinaryNodes(
        left=given.get_field("cleft").astype(np.int64),
        right=given.get_field("cright").astype(np.int64),
        attribute=given.get_field("split_index").astype(np.int64),
        threshold=given.get_field("threshold").astype(np.float64),
        missing_left=given.get_field("default_left").astype(bool),
        values=values[:, None],
        groups={
            node: (~np.isin(levels[attribute], left)).astype(np.uint8)
            for node, attribute, left in _nominal_splits(given)
        },
    )
    n_levels = np.array([0 if labels is None else len(labels) for labels in levels], dtype=np.int32)
    return build_tree(nodes, n_levels, strict=False)
