"""Checks the trees of scikit-learn in a file: its compiled loops follow the numbers of nodes without checking them."""

from typing import Any

import numpy as np

from tremula.errors import FileDamaged

# Types of scikit-learn's trees that skops does not know to be harmless. They hold arrays, which are checked here.
CHECKED_TYPES = frozenset(
    {"sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"}
)
NO_CHILD = -1


def check_foreign_trees(model: Any) -> None:
    """Refuse unsound trees of scikit-learn directly inside an estimator."""
    inner = vars(model).get("tree_")
    if hasattr(inner, "n_node_samples"):
        _check(inner.n_features == model.n_features_in_, "a tree has other attributes than its estimator")
        _check_tree(inner)
    for predictor in _predictors(model):
        _check_predictor(predictor, model.n_features_in_)
    _check_members(model)


def _check(is_sound: Any, problem: str) -> None:
    if not is_sound:
        raise FileDamaged(f"{problem}: the file was damaged or manipulated")


def _check_tree(tree: Any) -> None:
    left, right, attribute = tree.children_left, tree.children_right, tree.feature
    is_split = left != NO_CHILD
    number = np.arange(tree.node_count)
    _check(tree.node_count > 0 and np.array_equal(is_split, right != NO_CHILD), "a tree has a node with one child")
    for children in (left[is_split], right[is_split]):
        _check(((children > number[is_split]) & (children < tree.node_count)).all(), "a tree has a child out of range")
    children = np.concatenate([left[is_split], right[is_split]])
    _check(len(np.unique(children)) == len(children), "a tree has a node with several parents")
    _check(np.isfinite(tree.value).all(), "a tree has a value that is not a number")
    used = attribute[is_split]
    _check(((used >= 0) & (used < tree.n_features)).all(), "a tree tests an attribute out of range")


def _predictors(model: Any) -> list[Any]:
    """Return the trees of histogram gradient boosting."""
    rounds = vars(model).get("_predictors", [])
    return [tree for trees in rounds for tree in trees] if isinstance(rounds, list) else []


def _check_predictor(predictor: Any, n_attributes: int) -> None:
    nodes = predictor.nodes
    is_split, number = nodes["is_leaf"] == 0, np.arange(len(nodes))
    _check(len(nodes) > 0, "a tree has no nodes")
    for side in ("left", "right"):
        children = nodes[side][is_split].astype(np.int64)
        _check(((children > number[is_split]) & (children < len(nodes))).all(), "a tree has a child out of range")
    children = np.concatenate([nodes[side][is_split].astype(np.int64) for side in ("left", "right")])
    _check(len(np.unique(children)) == len(children), "a tree has a node with several parents")
    used = nodes["feature_idx"][is_split].astype(np.int64)
    _check(((used >= 0) & (used < n_attributes)).all(), "a tree tests an attribute out of range")
    subsets = nodes["bitset_idx"][is_split & (nodes["is_categorical"] != 0)]
    n_subsets = min(len(predictor.raw_left_cat_bitsets), len(predictor.binned_left_cat_bitsets))
    _check((subsets < n_subsets).all(), "a tree has a set of levels out of range")


def _check_members(model: Any) -> None:
    """Refuse members of an ensemble that read more attributes than the ensemble gives them."""
    members, n_attributes = vars(model).get("estimators_"), vars(model).get("n_features_in_")
    if members is None or n_attributes is None:
        return
    columns = vars(model).get("estimators_features_")
    for number, member in enumerate(np.ravel(np.asarray(members, dtype=object)).tolist()):
        if not hasattr(vars(member).get("tree_"), "n_node_samples"):
            continue
        given = n_attributes if columns is None else len(columns[number])
        _check(member.n_features_in_ == given, "a member has other attributes than its ensemble")
        _check(columns is None or np.max(columns[number]) < n_attributes, "a member has an attribute out of range")
