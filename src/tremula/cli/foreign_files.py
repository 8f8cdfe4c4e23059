"""Checks model files of other libraries before these read them: they crash or hang on damaged files.

The nodes of every tree must form a tree. The library then reads the file in a child process first, which may crash.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tremula.errors import FileDamaged

SECONDS = 120
PARAMETER = re.compile(r"\[\w+: .*\]")  # a line of LightGBM's parameters
LOAD_LIGHTGBM = """
import sys, lightgbm, numpy
booster = lightgbm.Booster(model_file=sys.argv[1])
booster.dump_model()
booster.predict(numpy.zeros((2, booster.num_feature())))
"""
LOAD_XGBOOST = """
import sys, numpy, xgboost
booster = xgboost.Booster()
booster.load_model(sys.argv[1])
sys.stdout.buffer.write(bytes(booster.save_raw("json")))
rows = xgboost.DMatrix(
    numpy.zeros((2, booster.num_features())), feature_names=booster.feature_names, feature_types=booster.feature_types
)
booster.predict(rows)
"""


def damaged(path: Path, library: str, reason: str) -> FileDamaged:
    """Return the error for a file that is not a sound model."""
    return FileDamaged(f"{str(path)!r} is not a sound {library} model: {reason}. Save the model again")


def _in_child(path: Path, library: str, program: str) -> bytes:
    """Run a program that reads the file in another process, which may crash; return what it prints."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, str(path)],
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise damaged(path, library, f"{library} does not finish reading it") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"{library} crashes on it"]
        raise damaged(path, library, lines[-1] if done.returncode == 1 else f"{library} crashes on it")
    return done.stdout


def check_children(left: Sequence[int], right: Sequence[int], parent_of_all: int = 0) -> None:
    """Raise ValueError unless nodes, whose leaves have negative children, form one tree with the given root.

    Examples
    --------
    >>> check_children([1, -1, -1], [2, -1, -1])
    >>> check_children([1, 0, -1], [2, 0, -1])
    Traceback (most recent call last):
    ValueError: a node of a tree has several parents
    """
    children = np.array([left, right], dtype=np.int64)
    is_split = children[0] >= 0
    if np.any(is_split != (children[1] >= 0)):
        raise ValueError("a node of a tree has one child")
    reached = children[:, is_split].ravel()
    if np.any(reached >= children.shape[1]) or len(np.unique(reached)) != len(reached) or parent_of_all in reached:
        raise ValueError("a node of a tree has several parents")
    waiting, n_reached = [parent_of_all], 0
    while waiting:
        node = waiting.pop()
        n_reached += 1
        if is_split[node]:
            waiting += children[:, node].tolist()
    if n_reached != 1 + len(reached):
        raise ValueError("a node of a tree is its own ancestor")


# --- XGBoost ---


def check_xgboost(path: Path) -> None:
    """Raise FileDamaged unless the trees of a file of XGBoost are trees."""
    try:
        if path.suffix.lower() == ".json":  # XGBoost may hang on what is no tree
            _check_xgboost_model(json.loads(path.read_bytes())["learner"])
        _check_xgboost_model(json.loads(_in_child(path, "XGBoost", LOAD_XGBOOST))["learner"])
    except FileDamaged:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise damaged(path, "XGBoost", reason) from error


def _check_xgboost_model(learner: Mapping[str, Any]) -> None:
    booster = learner["gradient_booster"]
    if booster.get("name") == "gblinear":
        return
    model = booster["gbtree"]["model"] if "gbtree" in booster else booster["model"]
    shape = learner["learner_model_param"]
    n_attributes = int(shape["num_feature"])
    n_groups = max(int(shape["num_class"]), int(shape.get("num_target", 1)), 1)
    groups = np.array(model["tree_info"], dtype=np.int64)
    if len(groups) != len(model["trees"]) or np.any((groups < 0) | (groups >= n_groups)):
        raise ValueError("trees belong to classes that it does not have")
    ends = np.array(model.get("iteration_indptr", [0, len(groups)]), dtype=np.int64)
    if len(ends) and (ends[0] != 0 or ends[-1] != len(groups) or np.any(np.diff(ends) < 0)):
        raise ValueError("rounds have other trees than there are")
    _check_xgboost_categories(model.get("cats", {}))
    for tree in model["trees"]:
        _check_xgboost_tree(tree, n_attributes)


def _check_xgboost_categories(categories: Mapping[str, Any]) -> None:
    """Raise ValueError unless every attribute has as many categories, in some order, as its segment says."""
    written = categories.get("enc") or []
    if not written:
        return
    ends, order = np.array(categories["feature_segments"]), np.array(categories["sorted_idx"], dtype=np.int64)
    sizes = [len(each["values"]) if "offsets" not in each else max(len(each["offsets"]) - 1, 0) for each in written]
    is_sound = ends.tolist() == [0, *np.cumsum(sizes).tolist()] and len(order) == ends[-1]
    if not is_sound or any(np.any(np.sort(part) != np.arange(len(part))) for part in np.split(order, ends[1:-1])):
        raise ValueError("its categories do not fit together")
    for each in written:
        offsets = np.array(each.get("offsets", [0]), dtype=np.int64)
        if len(offsets) and (np.any(np.diff(offsets) < 0) or offsets[0] != 0 or offsets[-1] > len(each["values"])):
            raise ValueError("its categories do not fit together")


def _check_xgboost_tree(tree: Mapping[str, Any], n_attributes: int) -> None:
    left, right = tree["left_children"], tree["right_children"]
    fields = ("right_children", "split_indices", "split_conditions", "default_left", "parents")
    if not left or any(len(tree[field]) != len(left) for field in fields):
        raise ValueError("the arrays of a tree have different lengths")
    check_children(left, right)
    if min(*left, *right, -1) < -1:
        raise ValueError("a leaf of a tree has children other than -1")
    tested = np.array(tree["split_indices"], dtype=np.int64)
    if np.any((tested < 0) | (tested >= max(n_attributes, 1))):
        raise ValueError(f"a tree tests an attribute outside 0..{n_attributes - 1}")
    starts, sizes = np.array(tree["categories_segments"]), np.array(tree["categories_sizes"])
    nodes = np.array(tree["categories_nodes"], dtype=np.int64)
    is_wrong = np.any((nodes < 0) | (nodes >= len(left))) or not len(starts) == len(sizes) == len(nodes)
    if is_wrong or np.any((starts < 0) | (sizes < 0) | (starts + sizes > len(tree["categories"]))):
        raise ValueError("a tree names levels that it does not have")


# --- LightGBM ---


def check_lightgbm(path: Path) -> None:
    """Raise FileDamaged unless the trees of a file of LightGBM are trees, and LightGBM reads it."""
    try:
        text = path.read_text(encoding="utf-8")
        header, *blocks = text.split("\nTree=")
        fields = _fields(header)
        n_attributes = int(fields["max_feature_idx"]) + 1
        _check_lightgbm_sizes(text, header, fields.get("tree_sizes"))
        for block in blocks:
            _check_lightgbm_tree(_fields(block), n_attributes)
        _check_lightgbm_parameters(text)
    except (ValueError, KeyError, IndexError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"it has no {error}"
        raise damaged(path, "LightGBM", reason) from error
    _in_child(path, "LightGBM", LOAD_LIGHTGBM)


def _fields(block: str) -> dict[str, str]:
    pairs = [line.split("=", 1) for line in block.split("\n\n")[0].splitlines() if "=" in line]
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a tree or the header has a field twice")
    return fields


def _check_lightgbm_sizes(text: str, header: str, sizes: str | None) -> None:
    """Raise ValueError unless trees have the sizes that the header lists: LightGBM starts to read each at its place."""
    if sizes is None:
        return
    trees = text[len(header) + 1 :].encode()
    place = 0
    for number, size in enumerate(map(int, sizes.split())):
        if size < 1 or not trees.startswith(b"Tree=%d\n" % number, place):
            raise ValueError("trees have other sizes than its header lists")
        place += size
    if not trees.startswith(b"end of trees", place):
        raise ValueError("trees have other sizes than its header lists")


def _check_lightgbm_parameters(text: str) -> None:
    """Raise ValueError unless all lines of parameters are such: LightGBM may crash on others."""
    _, start, rest = text.partition("\nparameters:")
    lines, end, _ = rest.partition("\nend of parameters")
    is_wrong = any(line and not PARAMETER.fullmatch(line) for line in lines.splitlines())
    if start and (is_wrong or not end):
        raise ValueError("it has parameters that are none")


def _check_lightgbm_tree(fields: Mapping[str, str], n_attributes: int) -> None:
    n_leaves = int(fields["num_leaves"])
    if n_leaves < 1 or len(fields["leaf_value"].split()) != n_leaves:
        raise ValueError("a tree has other leaves than it says")
    if n_leaves == 1:
        return
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    columns = {name: np.array(fields[name].split(), dtype=np.float64) for name in names}
    if any(len(column) != n_leaves - 1 for column in columns.values()):
        raise ValueError("the arrays of a tree have different lengths")
    left, right = columns["left_child"].astype(np.int64), columns["right_child"].astype(np.int64)
    both = np.concatenate([left, right])
    if np.any(both >= n_leaves - 1) or np.any(~both[both < 0] >= n_leaves):
        raise ValueError("a branch leads to a node that does not exist")
    n_splits = n_leaves - 1  # leaf k is numbered after the splits
    as_nodes = [np.where(side < 0, n_splits + ~side, side) for side in (left, right)]
    leaves = np.full(n_leaves, -1)
    check_children(np.append(as_nodes[0], leaves).tolist(), np.append(as_nodes[1], leaves).tolist())
    if np.any((columns["split_feature"] < 0) | (columns["split_feature"] >= n_attributes)):
        raise ValueError(f"a tree tests an attribute outside 0..{n_attributes - 1}")
    _check_lightgbm_levels(fields, columns)


def _check_lightgbm_levels(fields: Mapping[str, str], columns: Mapping[str, Any]) -> None:
    is_nominal = columns["decision_type"].astype(np.int64) % 2 == 1
    if not is_nominal.any():
        return
    n_sets = int(fields["num_cat"])
    ends = np.array(fields["cat_boundaries"].split(), dtype=np.int64)
    chosen = columns["threshold"][is_nominal]
    is_wrong = len(ends) != n_sets + 1 or np.any(np.diff(ends) < 0) or ends[0] != 0
    if is_wrong or ends[-1] != len(fields["cat_threshold"].split()) or np.any((chosen < 0) | (chosen >= n_sets)):
        raise ValueError("a tree names levels that it does not have")
