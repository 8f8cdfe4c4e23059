"""Changes a model so that it may well stay valid: what a forger would write who knows the format and its checks.

Trees grow anew in any shape, members are left out or doubled together with all that belongs to them, levels and classes
become other labels, parameters get other values, and numbers other sizes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tremula.trees.structure import MISSING_FIRST, MISSING_SECOND, MULTIWAY_SPLIT, NUMERIC_SPLIT

from .archive import Parts

NODES = ("threshold", "weight", "attribute", "first_child", "n_branches", "index")
MOST_LEVELS = 10_000  # of an attribute whose trees are grown anew: a split can have a branch for each
THRESHOLDS = [0.0, -0.0, 0.3, -0.7, 1.0, 1e300, -1e300, 1e-310, 1.7e308, float("inf"), float("-inf")]
WEIGHTS = [0.0, 1.0, 2.0, 3.5, 40.0, 5e-324, 1e-300, 1e300]
MISSING_LEVELS = [float("nan"), 0.0, 1.0, 2.0]
LABELS: list[Callable[[int], np.ndarray]] = [
    lambda n: np.arange(n) - 1,
    lambda n: np.arange(n) + 2**62,
    lambda n: np.linspace(-1e300, 1e300, n),
    lambda n: np.array([f"<b>\x1b[31m={number}" for number in range(n)]),
    lambda n: np.array(["", " ", "nan", "a" * 300, "é", "None", "0"])[:n],
    lambda n: np.array([False, True])[:n],
    lambda n: np.datetime64("2020-01-01") + np.arange(n),
]
VALUES: list[Any] = [None, True, False, 0, 1, 2, 5, 0.0, 0.1, 0.5, 1.0, "auto", "balanced", "sqrt", "all", "cv"]
SCALES = [0.0, -1.0, 0.5, 3.0, 1e150, 1e-150, 1e300, 1e-310]


def change_soundly(parts: Parts, draw: random.Random) -> None:
    """Change a model once."""
    parts.pristine_places = None
    change = draw.choice([regrow, regrow, _choose_members, _relabel, _set_parameter, _scale_numbers, _scale_numbers])
    change(parts, draw)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get("parameters"), dict) and isinstance(value.get("fitted"), dict):
        yield value
    for item in items:
        yield from _objects(item)


# --- trees ---


def regrow(parts: Parts, draw: random.Random) -> None:
    """Grow some of the trees anew, with their attributes, levels and values."""
    names = [f"trees/{name}.npy" for name in ("sizes", "subsets", "n_levels", *NODES)]
    if any(name not in parts.arrays for name in names):
        return
    sizes, subsets, n_levels, *nodes = (parts.arrays[name] for name in names)
    if sizes.ndim != 2 or any(each.ndim != 1 for each in [*nodes, subsets, n_levels]):
        return
    if sizes.shape[1] != 6 or sizes.dtype != np.int64:
        return
    if sizes.min(initial=0) < 0 or any(len(column) != sizes[:, 0].sum() for column in nodes):
        return
    if len(subsets) != sizes[:, 3].sum() or len(n_levels) != sizes[:, 4].sum() or n_levels.dtype.kind != "i":
        return
    if any(column.dtype.kind not in "if" for column in nodes) or n_levels.max(initial=0) > MOST_LEVELS:
        return
    share, sizes = draw.choice([0.0, 0.3, 1.0]), sizes.copy()
    always = draw.randrange(max(len(sizes), 1))
    ends = np.cumsum(sizes[:, [0, 3, 4]], axis=0)
    grown, lists = [], []
    for number, size in enumerate(sizes):
        (node, subset, attribute), (n_nodes, n_subsets, n_attributes) = ends[number], size[[0, 3, 4]]
        own = subsets[subset - n_subsets : subset]
        if number == always or draw.random() < share:
            levels = n_levels[attribute - n_attributes : attribute].tolist()
            columns, own = _tree(levels, int(size[1]), own, draw)
            sizes[number, [0, 3]] = len(columns[0]), len(own)
            grown.append(columns)
        else:
            grown.append([column[node - n_nodes : node] for column in nodes])
        lists.append(own)
    for name, columns in zip(NODES, zip(*grown)):
        parts.arrays[f"trees/{name}.npy"] = np.concatenate(columns) if columns else np.empty(0)
    parts.arrays |= {"trees/sizes.npy": sizes, "trees/subsets.npy": np.concatenate(lists)}


def _tree(levels: list[int], n_values: int, subsets: np.ndarray, draw: random.Random) -> tuple[list[Any], np.ndarray]:
    """Return the fields of the nodes of a random tree, and its subsets: a stump, a bush or a chain."""
    n_splits, is_chain = draw.choice([0, 1, 3, 8, 40]), draw.random() < 0.4
    nodes: list[tuple[float, float, int, int, int, int]] = []
    n_known, n_open, bits = 1, n_splits, bytearray(subsets.tobytes())
    while len(nodes) < n_known:
        is_split = n_open > 0 and levels and (not is_chain or len(nodes) == n_known - 1 or not nodes)
        is_last = len(nodes) == n_known - 1
        if not is_split or (not is_chain and not is_last and draw.random() < 0.3):
            nodes.append((0.0, draw.choice(WEIGHTS), -1, 0, 0, draw.randrange(max(n_values, 1))))
            continue
        attribute = draw.randrange(len(levels))
        n_branches, index, threshold = _split(levels[attribute], bits, draw)
        nodes.append((threshold, draw.choice(WEIGHTS), attribute, n_known - len(nodes), n_branches, index))
        n_known, n_open = n_known + n_branches, n_open - 1
    kinds = (np.float64, np.float64, np.int32, np.int32, np.int32, np.int32)
    fields = [np.array(column, dtype) for column, dtype in zip(zip(*nodes), kinds)]
    return fields, np.frombuffer(bytes(bits), np.uint8)


def _split(n_levels: int, bits: bytearray, draw: random.Random) -> tuple[int, int, float]:
    """Return the number of branches, the kind and the threshold of a split; subsets of levels are added to the bits."""
    if n_levels <= 0:
        return 2, draw.choice([NUMERIC_SPLIT, NUMERIC_SPLIT, MISSING_FIRST, MISSING_SECOND]), draw.choice(THRESHOLDS)
    if draw.random() < 0.4:
        return n_levels, MULTIWAY_SPLIT, 0.0
    bits.extend(draw.randrange(3) for _ in range(min(n_levels, 1000)))
    return 2, max(len(bits) - n_levels, 0), draw.choice(MISSING_LEVELS)


# --- members, labels, parameters, numbers ---


def _choose_members(parts: Parts, draw: random.Random) -> None:
    """Leave members out, double them or change their order, with all that has as many entries."""
    owners = [owner for owner in _objects(parts.description) if isinstance(owner["fitted"].get("members_"), list)]
    if not owners:
        return
    fitted = draw.choice(owners)["fitted"]
    n_members = len(fitted["members_"])
    chosen = [draw.randrange(n_members) for _ in range(draw.choice([1, n_members, 2 * n_members]))] if n_members else []
    for name, value in list(fitted.items()):
        if isinstance(value, list) and len(value) == n_members:
            fitted[name] = [value[number] for number in chosen]
        elif isinstance(value, dict) and isinstance(value.get("array"), str):
            entry = f"{value['array']}.npy"
            array = parts.arrays.get(entry)
            if array is not None and array.ndim and len(array) == n_members:
                parts.arrays[entry] = array[chosen]


def _relabel(parts: Parts, draw: random.Random) -> None:
    """Give classes or the levels of a column other labels, as many as they were."""
    entries = [name for name in parts.arrays if ".levels[" in name or name.endswith("classes_.npy")]
    owners = [owner for owner in _objects(parts.description) if "classes_" in owner["fitted"]]
    if entries and (not owners or draw.random() < 0.6):
        name = draw.choice(entries)
        parts.arrays[name] = draw.choice(LABELS)(parts.arrays[name].size)
    elif owners:
        fitted = draw.choice(owners)["fitted"]
        labels = fitted["classes_"].get("objects") if isinstance(fitted["classes_"], dict) else None
        if isinstance(labels, list):
            fitted["classes_"] = {"objects": [str(label) for label in draw.choice(LABELS)(len(labels)).tolist()]}


def _set_parameter(parts: Parts, draw: random.Random) -> None:
    """Give a parameter another value: one that occurs in the model, or a common one."""
    owners = [owner for owner in _objects(parts.description) if owner["parameters"]]
    if owners:
        parameters = draw.choice(owners)["parameters"]
        name = draw.choice(list(parameters))
        plain = [value for value in parameters.values() if not isinstance(value, dict | list)]
        is_flag = isinstance(parameters[name], bool)
        parameters[name] = not parameters[name] if is_flag and draw.random() < 0.7 else draw.choice(VALUES + plain)


def _scale_numbers(parts: Parts, draw: random.Random) -> None:
    """Multiply all numbers of an array, or put them in another order."""
    names = [name for name, array in parts.arrays.items() if array.dtype == np.float64 and array.size]
    if not names:
        return
    name = draw.choice(names)
    array = parts.arrays[name]
    if draw.random() < 0.3:
        order = draw.sample(range(array.size), array.size)
        parts.arrays[name] = array.reshape(-1)[order].reshape(array.shape)
    else:
        with np.errstate(all="ignore"):
            parts.arrays[name] = array * draw.choice(SCALES)
