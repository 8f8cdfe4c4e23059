"""Reads scikit-learn's histogram gradient boosting, whose trees are not public, through treelite.

Values are compared in double precision; those up to a threshold go left.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.errors import MissingLibrary, UnsupportedModel
from tremula.smoothing.models.boosting import link_of
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of, whole_numbers
from tremula.smoothing.models.sklearn import model_of
from tremula.smoothing.models.sklearn_hist_levels import MOST_LEVELS, known_levels
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


def read_histogram(estimator: Any, read: Read, X: Any = None, encoder: ColumnEncoder | None = None) -> TreeModel:
    """Read histogram gradient boosting for classes or numbers.

    Training rows may have levels that the model does not distinguish from missing values: they are levels too.
    """
    check_is_fitted(estimator)
    trees, header = _load(estimator)
    listed = [_listed_levels(trees, attribute) for attribute in range(estimator.n_features_in_)]
    other_levels = UnsupportedModel(
        f"{name_of(estimator)} has nominal attributes with levels other than whole numbers from 0 to "
        f"{MOST_LEVELS - 1}: encode them so before training, or {USE_SAMPLE}"
    )
    if any(labels is not None and labels.max(initial=0) >= MOST_LEVELS for labels in listed):
        raise other_levels
    if all(labels is None for labels in listed):
        return model_of(estimator, _sum(estimator, trees, header, listed))
    with_another = [None if labels is None else np.append(labels, UNLISTED) for labels in listed]
    model = model_of(estimator, _sum(estimator, trees, header, with_another))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows have no names
        levels = known_levels(model.unsmoothed, model.sum, listed)
    others = [_other_levels(labels, X, encoder, attribute) for attribute, labels in enumerate(levels)]
    names = [None if labels is None else np.append(labels, more) for labels, more in zip(levels, others)]
    if any(labels is not None and not len(labels) for labels in names):
        raise other_levels
    whole = _sum(estimator, trees, header, levels, others)
    return model_of(estimator, whole, levels=tuple(names))


def _other_levels(
    labels: NDArray[np.int64] | None, X: Any, encoder: ColumnEncoder | None, attribute: int
) -> NDArray[np.int64]:
    """Return the levels of the training rows that are not among those known."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if labels is None or (X is None and encoder is None):
        return np.empty(0, np.int64)
    if X is None:
        column: Any = None if encoder is None else encoder.levels[attribute]
    else:
        column = frame[:, attribute].to_numpy() if isinstance(frame, nw.DataFrame) else np.asarray(X)[:, attribute]
    try:
        codes = whole_numbers(column)
    except (TypeError, ValueError):  # labels that are no numbers
        return np.empty(0, np.int64)
    return np.setdiff1d(codes[codes < MOST_LEVELS], labels)


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
    except (NotImplementedError, ValueError, TypeError) as error:
        raise UnsupportedModel(
            f"{name_of(estimator)} has nominal attributes whose levels are strings, which treelite does not read: "
            f"encode them as integers before training, or {USE_SAMPLE}"
        ) from error
    return [given.get_tree_accessor(number) for number in range(given.num_tree)], given.get_header_accessor()


def _sum(
    estimator: Any,
    trees: list[Any],
    header: Any,
    levels: Sequence[NDArray[np.int64] | None],
    others: Sequence[NDArray[np.int64]] | None = None,
) -> TreeSum:
    offset = np.atleast_1d(header.get_field("base_scores")).astype(np.float64)
    link = link_of(estimator, estimator.loss, LINKS)
    return sum_of_trees(
        [_tree(tree, levels, others or [np.empty(0, np.int64)] * len(levels)) for tree in trees],
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


def _tree(given: Any, levels: Sequence[Any], others: Sequence[NDArray[np.int64]]) -> Tree:
    """Convert one tree; levels that the model does not know take the branch of missing values."""
    missing_left = given.get_field("default_left").astype(bool)
    values: NDArray[np.float64] = given.get_field("leaf_value").astype(np.float64)
    nodes = BinaryNodes(
        left=given.get_field("cleft").astype(np.int64),
        right=given.get_field("cright").astype(np.int64),
        attribute=given.get_field("split_index").astype(np.int64),
        threshold=given.get_field("threshold").astype(np.float64),
        missing_left=missing_left,
        values=values[:, None],
        groups={
            node: np.append(
                ~np.isin(levels[attribute], left), np.full(len(others[attribute]), not missing_left[node])
            ).astype(np.uint8)
            for node, attribute, left in _nominal_splits(given)
        },
    )
    sizes = [0 if labels is None else len(labels) + len(more) for labels, more in zip(levels, others)]
    n_levels = np.array(sizes, dtype=np.int32)
    return build_tree(nodes, n_levels, strict=False)
