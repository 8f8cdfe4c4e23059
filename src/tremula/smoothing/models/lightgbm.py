"""Reads LightGBM's models through `dump_model`.

Values are compared in double precision and those up to a threshold go left; of a split of levels, those listed go left.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.boosting import classes_of, link_of
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.tree_builder import Split, build_tree, flatten
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import sum_of_trees

CHILDREN = ("left_child", "right_child")
LINKS = {
    "binary": "logistic",
    "multiclass": "softmax",
    "poisson": "exponential",
    "gamma": "exponential",
    "tweedie": "exponential",
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), "identity"),
}
NO_NAME = re.compile(r"Column_\d+")


def read_lightgbm(estimator: Any, read: Read) -> TreeModel:
    """Read a booster or a scikit-learn style estimator; after early stopping, up to the best iteration."""
    if not hasattr(estimator, "dump_model"):
        check_is_fitted(estimator)
    booster = getattr(estimator, "booster_", estimator)
    dump = booster.dump_model()
    n_levels, levels = levels_of(dump)
    trees = [tree_of(estimator, info["tree_structure"], n_levels) for info in dump["tree_info"]]
    objective, *options = str(dump.get("objective", "custom")).split()
    link = link_of(estimator, objective, LINKS)
    if "sqrt" in options:
        raise UnsupportedModel(f"{name_of(estimator)} squares the sum of its trees (reg_sqrt): {USE_SAMPLE}")
    slope = next((float(option.split(":")[1]) for option in options if option.startswith("sigmoid:")), 1.0)
    n_margins = int(dump["num_tree_per_iteration"])
    weight = slope * (n_margins / len(trees) if dump["average_output"] else 1.0)
    whole = sum_of_trees(
        trees,
        np.zeros(n_margins),
        link,
        outputs=np.arange(len(trees)) % n_margins,
        weights=np.full(len(trees), weight),
    )
    names = dump["feature_names"]
    return TreeModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=getattr(estimator, "predict_proba", estimator.predict),
        classes=classes_of(estimator, link, n_margins),
        feature_names=None if all(map(NO_NAME.fullmatch, names)) else tuple(names),
        levels=levels,
    )


def levels_of(dump: dict[str, Any]) -> tuple[NDArray[np.int32], tuple[NDArray[Any] | None, ...]]:
    """Count the levels of nominal attributes, and name them: by the categories of the frame, else by their codes."""
    known = [dump["feature_infos"].get(name, {}).get("values") or [] for name in dump["feature_names"]]
    categories = dump.get("pandas_categorical") or []
    if categories and len(categories) != sum(map(bool, known)):
        raise UnsupportedModel(
            "the model has nominal attributes that it does not use beside others that it does, and its dump does not "
            f"say which is which: omit them from the training, or {USE_SAMPLE}"
        )
    labels_in_order = iter(categories)
    levels: list[NDArray[Any] | None] = []
    for codes in known:
        if not codes:
            levels.append(None)
            continue
        levels.append(np.asarray(next(labels_in_order, np.arange(max(codes) + 1))))
    n_levels = [0 if labels is None else len(labels) for labels in levels]
    return np.array(n_levels, dtype=np.int32), tuple(levels)


def tree_of(estimator: Any, root: dict[str, Any], n_levels: NDArray[np.int32]) -> Tree:
    """Convert one tree."""

    def split_of(node: dict[str, Any]) -> Split:
        if node["decision_type"] == "==":
            return Split(node["split_feature"], 0.0, False, [int(level) for level in node["threshold"].split("||")])
        if node["missing_type"] == "Zero":
            raise UnsupportedModel(f"{name_of(estimator)} takes 0 for a missing value (zero_as_missing): {USE_SAMPLE}")
        threshold = float(node["threshold"])
        # If no value was missing in training, a missing value counts as 0.
        missing_left = threshold >= 0.0 if node["missing_type"] == "None" else bool(node["default_left"])
        return Split(node["split_feature"], threshold, missing_left)

    def value_of(node: dict[str, Any]) -> float:
        if "leaf_coeff" in node:
            raise UnsupportedModel(f"{name_of(estimator)} has linear models in its leaves (linear_tree): {USE_SAMPLE}")
        return float(node["leaf_value"])

    return build_tree(flatten(root, CHILDREN, split_of, value_of, n_levels), n_levels, strict=False)
