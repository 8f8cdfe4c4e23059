"""Reads XGBoost's models through the JSON that `save_raw` writes.

Values are rounded to single precision and those below a threshold go left; of a split of levels, those listed go right.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.boosting import classes_of, link_of_answers
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.single_precision import before_rounding
from tremula.smoothing.models.tree_builder import BinaryNodes, build_tree
from tremula.trees.links import SOFTMAX
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import sum_of_trees

LINKS = {
    "binary:logistic": "logistic",
    "reg:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exponential"),
    **dict.fromkeys(("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"), "identity"),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), "identity"),
}
# The base score is written after the link; these functions turn it into a margin.
TO_MARGIN = {"logistic": logit, "share": logit, "exponential": np.log}

# Codes that no split lists go left, other than missing values, so they must be levels. The model does not store their
# number; this is the largest number of codes.
N_CODES = 256
MOST_CODES = 2**16
# Leaves, sums and links are in single precision.
PRECISION = 1e-5


def read_xgboost(estimator: Any, read: Read) -> TreeModel:
    """Read a booster or a scikit-learn style estimator; the latter, after early stopping, up to the best iteration."""
    booster = booster_of(estimator)
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    given = learner["gradient_booster"]
    if given["name"] == "gblinear":
        raise UnsupportedModel(f"{name_of(estimator)} is linear (booster='gblinear') and has no trees: {USE_SAMPLE}")
    model, weights = (given["gbtree"]["model"], given["weight_drop"]) if "gbtree" in given else (given["model"], None)
    shape = learner["learner_model_param"]
    if int(shape.get("num_target", 1)) > 1:
        raise UnsupportedModel(f"{name_of(estimator)} predicts {shape['num_target']} targets, but one is read")
    levels = levels_of(model, int(shape["num_feature"]))
    n_levels = np.array([0 if labels is None else len(labels) for labels in levels], dtype=np.int32)
    objective = learner["objective"]["name"]
    link = link_of_answers(estimator, objective, LINKS, of_numbers=("reg:logistic",))
    n_margins = max(int(shape["num_class"]), 1)
    start = np.array(json.loads(shape["base_score"]), dtype=np.float64)
    offset = np.broadcast_to(TO_MARGIN.get(link, np.asarray)(start), n_margins)
    whole = sum_of_trees(
        [tree_of(tree, n_levels) for tree in model["trees"]],
        offset,
        link,
        outputs=model["tree_info"],
        weights=weights,
    )
    return TreeModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=getattr(estimator, "predict_proba", partial(predict, estimator, objective)),
        classes=classes_of(estimator, link, n_margins),
        feature_names=None if booster.feature_names is None else tuple(booster.feature_names),
        levels=levels,
        precision=PRECISION,
    )


def booster_of(estimator: Any) -> Any:
    """Return the booster with the trees that the model predicts with."""
    if not hasattr(estimator, "get_booster"):
        return estimator
    check_is_fitted(estimator)
    missing = estimator.get_params().get("missing", np.nan)
    if not (missing is None or np.isnan(missing)):
        raise UnsupportedModel(f"{name_of(estimator)} takes {missing!r} for a missing value (missing): {USE_SAMPLE}")
    booster = estimator.get_booster()
    if "best_iteration" not in booster.attributes():
        return booster
    return booster[: int(booster.attributes()["best_iteration"]) + 1]


def predict(estimator: Any, objective: str, X: Any) -> Any:
    """Return the predictions of a regressor, ranker or bare booster."""
    if hasattr(estimator, "get_booster"):
        return estimator.predict(X)
    from xgboost import DMatrix

    if hasattr(X, "columns"):
        rows = DMatrix(X, enable_categorical=True)
    else:
        rows = DMatrix(X, feature_names=estimator.feature_names, feature_types=estimator.feature_types)
    if objective == "multi:softmax":  # the booster itself gives labels
        return SOFTMAX.answers(np.asarray(estimator.predict(rows, output_margin=True), dtype=np.float64))
    return estimator.predict(rows)


def levels_of(model: dict[str, Any], n_attributes: int) -> tuple[NDArray[Any] | None, ...]:
    """Name the levels of nominal attributes: by the categories of the frame, else by their codes."""
    n_levels = [0] * n_attributes
    for tree in model["trees"]:
        for node, listed in listed_levels(tree):
            attribute = tree["split_indices"][node]
            n_levels[attribute] = max(n_levels[attribute], N_CODES, max(listed, default=-1) + 1)
    if max(n_levels, default=0) > MOST_CODES:
        raise UnsupportedModel(f"the model has codes of levels above {MOST_CODES}: number the levels from 0 on")
    if any(n_levels) and "cats" not in model:
        raise UnsupportedModel(
            "the model has nominal attributes, whose levels XGBoost does not store before release 3.1: train it with a "
            f"later release, or {USE_SAMPLE}"
        )
    known = [labels_of(written) for written in model.get("cats", {}).get("enc") or []] or [None] * n_attributes
    return tuple(labels if labels is not None else (np.arange(n) if n else None) for labels, n in zip(known, n_levels))


def labels_of(written: dict[str, Any]) -> NDArray[Any] | None:
    """Read categories as XGBoost writes them: numbers, or the bytes of strings with the start of each string.

    Examples
    --------
    >>> labels_of({"offsets": [0, 3, 7], "values": [114, 101, 100, 98, 108, 117, 101]}).tolist()
    ['red', 'blue']
    """
    if not written["values"]:
        return None
    if "offsets" not in written:
        return np.asarray(written["values"])
    text, ends = bytes(code % 256 for code in written["values"]), written["offsets"]
    return np.array([text[start:end].decode() for start, end in pairwise(ends)], dtype=object)


def listed_levels(tree: dict[str, Any]) -> list[tuple[int, list[int]]]:
    """List the splits of levels, with the levels that each names."""
    starts, sizes = tree["categories_segments"], tree["categories_sizes"]
    parts = [tree["categories"][start : start + size] for start, size in zip(starts, sizes)]
    return list(zip(tree["categories_nodes"], parts))


def tree_of(tree: dict[str, Any], n_levels: NDArray[np.int32]) -> Tree:
    """Convert one tree."""
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnsupportedModel(f"the trees have a value for each class (multi_strategy): {USE_SAMPLE}")
    conditions = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    attribute = np.array(tree["split_indices"])
    groups = {}
    for node, levels in listed_levels(tree):
        groups[node] = np.zeros(n_levels[attribute[node]], dtype=np.uint8)
        groups[node][levels] = 1
    nodes = BinaryNodes(
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        attribute=attribute,
        threshold=conditions,
        missing_left=np.array(tree["default_left"]).astype(bool),
        values=conditions[:, None],
        groups=groups,
    )
    return before_rounding(build_tree(nodes, n_levels, strict=True))
