"""Reads CatBoost's models through the JSON that `save_model` writes.

Values are rounded to single precision and those up to a border go left; nominal attributes are not read.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.boosting import link_of
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.single_precision import before_rounding
from tremula.smoothing.models.tree_builder import Split, build_tree, flatten
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import sum_of_trees

LINKS = {
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "MultiClass": "softmax",
    **dict.fromkeys(("Poisson", "Tweedie"), "exponential"),
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "Expectile", "MAPE", "LogCosh", "Lq"), "identity"),
}
# Whether a missing value counts as greater than the border.
MISSING_IS_GREATER = {"AsIs": False, "AsFalse": False, "AsTrue": True}


def read_catboost(estimator: Any, read: Read) -> TreeModel:
    """Read a model of trees of any shape."""
    if not estimator.is_fitted():
        raise NotFittedError(f"This {type(estimator).__name__} is not fitted yet: call 'fit' before it is read.")
    dump = dump_of(estimator)
    others = [kind for kind in dump["features_info"] if kind != "float_features"]
    if others:
        raise UnsupportedModel(f"{name_of(estimator)} has {', '.join(others)}, which are not read: {USE_SAMPLE}")
    features = {feature["feature_index"]: feature for feature in dump["features_info"]["float_features"]}
    names = estimator.feature_names_
    objective = dump["model_info"]["params"]["loss_function"]["type"]
    link = link_of(estimator, objective, LINKS)
    scale, bias = dump["scale_and_bias"]
    n_levels = np.zeros(len(names), dtype=np.int32)
    trees = [oblivious_tree(tree, features, len(bias), n_levels) for tree in dump.get("oblivious_trees", [])]
    trees += [free_tree(tree, features, n_levels) for tree in dump.get("trees", [])]
    whole = sum_of_trees(trees, bias, link, weights=np.full(len(trees), float(scale)))
    is_classifier = link in ("logistic", "softmax")
    if is_classifier and not hasattr(estimator, "predict_proba"):
        raise UnsupportedModel(f"{name_of(estimator)} gives no probabilities: use CatBoostClassifier, or {USE_SAMPLE}")
    return TreeModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=estimator.predict_proba if is_classifier else estimator.predict,
        classes=np.asarray(estimator.classes_) if is_classifier else None,
        feature_names=None if names == [str(number) for number in range(len(names))] else tuple(names),
    )


def dump_of(estimator: Any) -> dict[str, Any]:
    """Return the model as CatBoost writes it, which is possible only to a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        dump: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return dump


def split_of(split: dict[str, Any], features: dict[int, dict[str, Any]]) -> Split:
    """Read a test of a number."""
    if split["split_type"] != "FloatFeature":
        raise UnsupportedModel(f"the trees have splits of type {split['split_type']}: {USE_SAMPLE}")
    feature = features[split["float_feature_index"]]
    missing_left = not MISSING_IS_GREATER[feature["nan_value_treatment"]]
    border = np.float32(split["border"])
    # A border at the largest number separates missing values from all others.
    threshold = float(border) if abs(border) < np.finfo(np.float32).max else float(np.copysign(np.inf, border))
    return Split(feature["flat_feature_index"], threshold, missing_left)


def oblivious_tree(
    tree: dict[str, Any], features: dict[int, dict[str, Any]], n_outputs: int, n_levels: NDArray[np.int32]
) -> Tree:
    """Convert a tree whose nodes of one depth have the same split; split 0 is the lowest bit of a leaf's number.

    A split that is decided by those above it is omitted: no row, perturbed or not, reaches its other side.
    """
    splits = [split_of(split, features) for split in tree.get("splits") or []]
    leaves = np.reshape(tree["leaf_values"], (2 ** len(splits), n_outputs))

    def grow(n_open: int, leaf: int, low: dict[int, float], high: dict[int, float]) -> dict[str, Any]:
        """Subtree below the splits from `n_open` on, for values above `low` and up to `high`."""
        if not n_open:
            return {"value": leaves[leaf]}
        split, if_greater = splits[n_open - 1], leaf + 2 ** (n_open - 1)
        attribute, threshold = split.attribute, split.threshold
        if attribute in high and threshold >= high[attribute]:
            return grow(n_open - 1, leaf, low, high)
        if attribute in low and threshold <= low[attribute]:
            return grow(n_open - 1, if_greater, low, high)
        return {
            "split": split,
            "left": grow(n_open - 1, leaf, low, high | {attribute: threshold}),
            "right": grow(n_open - 1, if_greater, low | {attribute: threshold}, high),
        }

    root = grow(len(splits), 0, {}, {})
    nodes = flatten(root, ("left", "right"), lambda node: node["split"], lambda node: node["value"], n_levels)
    return before_rounding(build_tree(nodes, n_levels, strict=False))


def free_tree(tree: dict[str, Any], features: dict[int, dict[str, Any]], n_levels: NDArray[np.int32]) -> Tree:
    """Convert a tree of any shape (grow_policy)."""
    nodes = flatten(
        tree, ("left", "right"), lambda node: split_of(node["split"], features), lambda node: node["value"], n_levels
    )
    return before_rounding(build_tree(nodes, n_levels, strict=False))
