"""Reads LightGBM's models through `dump_model`.

Values are compared in double precision and those up to a threshold go left; of a split of levels, those listed go left.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.errors import UnsupportedModel
from tremula.smoothing.models.boosting import classes_of, link_of_answers
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of, whole_numbers
from tremula.smoothing.models.tree_builder import Split, build_tree, flatten
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import sum_of_trees

CHILDREN = ("left_child", "right_child")
LINKS = {
    "binary": "logistic",
    "cross_entropy": "logistic",
    "multiclass": "softmax",
    "poisson": "exponential",
    "gamma": "exponential",
    "tweedie": "exponential",
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), "identity"),
}
NO_NAME = re.compile(r"Column_\d+")


def read_lightgbm(estimator: Any, read: Read, X: Any = None, encoder: ColumnEncoder | None = None) -> TreeModel:
    """Read a booster or a scikit-learn style estimator; after early stopping, up to the best iteration.

    Training rows tell which attributes had categories, and the names of the columns, in which LightGBM replaces spaces.
    """
    if not hasattr(estimator, "dump_model"):
        check_is_fitted(estimator)
    booster = getattr(estimator, "booster_", estimator)
    dump = booster.dump_model()
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    is_frame = isinstance(frame, nw.DataFrame)
    array = None if is_frame or X is None else np.asarray(X)
    levels, codes = levels_of(dump, frame if is_frame else None, array, encoder)
    trees = [tree_of(estimator, info["tree_structure"], codes) for info in dump["tree_info"]]
    objective, *options = str(dump.get("objective", "custom")).split()
    link = link_of_answers(estimator, objective, LINKS, of_numbers=("cross_entropy",))
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
    return TreeModel(
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=getattr(estimator, "predict_proba", estimator.predict),
        classes=classes_of(estimator, link, n_margins),
        feature_names=names_of(dump["feature_names"], encoder if encoder is not None and X is None else frame),
        levels=levels,
    )


def names_of(names: list[str], frame: Any) -> tuple[str, ...] | None:
    """Return the names of the columns: those of the frame if LightGBM would write them so; None if they are unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> names_of(["petal_width"], pd.DataFrame({"petal width": [1.0]}))
    ('petal width',)
    >>> names_of(["petal_width"], None) is None  # the column may have been "petal width"
    True
    """
    if all(map(NO_NAME.fullmatch, names)):
        return None
    given = getattr(frame, "columns", getattr(frame, "names", None))
    columns = () if given is None else tuple(map(str, given))
    if [plain_name(name) for name in columns] == names:
        return columns
    return None if any("_" in name for name in names) else tuple(names)


def plain_name(name: str) -> str:
    """Return a name as LightGBM stores it."""
    return str(name).replace(" ", "_")


def levels_of(
    dump: dict[str, Any], frame: Any, array: NDArray[Any] | None, encoder: ColumnEncoder | None = None
) -> tuple[tuple[NDArray[Any] | None, ...], list[NDArray[np.int64]]]:
    """Name the levels of nominal attributes: by the categories of the training frame, else by their codes.

    Codes that only the training rows have are levels too; no split names them.

    Returns
    -------
    levels : tuple of array or None
        None for a numeric attribute.
    codes : list of int arrays
        The code that LightGBM has for each level; empty for a numeric attribute.
    """
    known = [dump["feature_infos"].get(name, {}).get("values") or [] for name in dump["feature_names"]]
    listed = listed_codes(dump, len(known))
    # Code -1 stands for missing values.
    codes = [
        np.unique([code for code in (*values, *more) if code >= 0]).astype(np.int64)
        for values, more in zip(known, listed)
    ]
    for attribute, each in enumerate(codes):
        if len(each) and array is not None:
            codes[attribute] = np.union1d(each, whole_numbers(array[:, attribute]))
        elif len(each) and frame is not None and frame[:, attribute].dtype.is_numeric():
            codes[attribute] = np.union1d(each, whole_numbers(frame[:, attribute].to_numpy()))
        elif len(each) and array is None and frame is None and encoder is not None:
            codes[attribute] = np.union1d(each, _numbers_among(encoder.levels[attribute]))
    levels: list[NDArray[Any] | None] = [each if len(each) else None for each in codes]
    categories = dump.get("pandas_categorical") or []
    for attribute, labels in zip(_attributes_with_categories(codes, categories, frame, encoder), categories):
        size = max(len(labels), int(codes[attribute].max(initial=-1)) + 1)
        if size > len(labels):
            raise UnsupportedModel(
                f"a nominal attribute of the model has {len(labels)} categories, but a split names code {size - 1}: "
                f"give fit the training rows, or {USE_SAMPLE}"
            )
        codes[attribute] = np.arange(size)
        levels[attribute] = np.array(labels, dtype=None if all(isinstance(k, (int, float)) for k in labels) else object)
    return tuple(levels), codes


def _numbers_among(labels: NDArray[Any] | None) -> NDArray[np.int64]:
    is_numeric = labels is not None and labels.dtype.kind in "biuf"
    return whole_numbers(labels) if labels is not None and is_numeric else np.empty(0, np.int64)


def _attributes_with_categories(
    codes: list[NDArray[np.int64]], categories: list[list[Any]], frame: Any, encoder: ColumnEncoder | None
) -> list[int]:
    """Return the attributes that were columns of categories, in their order."""
    n_categories = len(categories)
    if frame is None and encoder is not None:
        columns: list[int] = []
        for number, labels in enumerate(encoder.levels):
            if labels is not None and len(columns) < n_categories and labels.tolist() == categories[len(columns)]:
                columns.append(number)
    elif frame is not None:
        columns = [number for number, kind in enumerate(frame.schema.values()) if kind in (nw.Categorical, nw.Enum)]
    else:
        columns = [number for number, each in enumerate(codes) if len(each)]
    if n_categories and len(columns) != n_categories:
        raise UnsupportedModel(
            f"the model was trained with {n_categories} columns of categories, and it is not known which they are: "
            f"give fit the training rows as a frame with the same types, or {USE_SAMPLE}"
        )
    return columns if n_categories else []


def listed_codes(dump: dict[str, Any], n_attributes: int) -> list[set[int]]:
    """Return the codes that splits name, by attribute."""
    listed: list[set[int]] = [set() for _ in range(n_attributes)]
    waiting = [info["tree_structure"] for info in dump["tree_info"]]
    while waiting:
        node = waiting.pop()
        if CHILDREN[0] in node:
            waiting += [node[child] for child in CHILDREN]
            if node["decision_type"] == "==":
                listed[node["split_feature"]].update(map(int, node["threshold"].split("||")))
    return listed


def tree_of(estimator: Any, root: dict[str, Any], codes: list[NDArray[np.int64]]) -> Tree:
    """Convert one tree."""
    n_levels = np.array([len(each) for each in codes], dtype=np.int32)

    def split_of(node: dict[str, Any]) -> Split:
        if node["decision_type"] == "==":
            listed = [int(code) for code in node["threshold"].split("||")]
            places = np.searchsorted(codes[node["split_feature"]], listed).tolist()
            return Split(node["split_feature"], 0.0, False, places)
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
