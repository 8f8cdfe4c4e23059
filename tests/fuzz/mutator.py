"""Changes a model file where it hurts: numbers, shapes and types of arrays, values and references of the description.

A changed file has the right checksum and stays a valid archive, except for the few whose bytes are changed as they are.
The same random numbers give the same file.
"""

from __future__ import annotations

import contextlib
import copy
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tremula.trees.structure import MISSING_FIRST, MISSING_SECOND, MULTIWAY_SPLIT, NUMERIC_SPLIT

from .archive import Parts, Place, places_in, read_parts, with_checksum, write_parts, zip_entries
from .sound_changes import change_soundly

INTEGERS = [0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 2**15, 2**16, 2**24, 2**31 - 1, -(2**31), 2**32, 2**53, 2**63 - 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 2.0**31, 1e16]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4", "c16", "S2", "U3", "U0"]
DTYPES += ["M8[D]", "m8[s]", "f16"]
SPLIT_KINDS = [NUMERIC_SPLIT, MULTIWAY_SPLIT, MISSING_FIRST, MISSING_SECOND, -5, -(2**31), 0, 1, 2, 3]
MISSING_LEVELS = [1.0, 2.0, float("nan"), 0.0, 3.0, 1.5, float("inf"), -1.0]  # thresholds of splits of levels
PLAIN: list[Any] = [None, True, False, 0, 1, -1, 2**31, 10**30, 0.5, 1e308, "", "x", "<b>", "\x1b[31m", [], {}]
PLAIN += [{"float": "nan"}, {"float": "inf"}, {"float": "x"}, {"tuple": []}, {"tuple": [1, 2]}, {"tuple": None}]
PLAIN += [
    {"objects": [1, "a", None]},
    {"strings": ["a", "b"]},
    {"strings": [1]},
    {"tree": 0},
    {"tree": -1},
    {"tree": 1},
]
PLAIN += [{"tree": True}, {"tree": 10**9}, {"array": "model"}, {"scalar": "trees/values"}, [[0, 1], [1, 0]]]


def mutate(content: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """Return a changed file; parts may be taken from the other files."""
    if draw.random() < 0.03:
        return _with_changed_bytes(content, draw)
    parts = changed_parts(content, others, draw)
    return write_parts(parts, zipfile.ZIP_DEFLATED if draw.random() < 0.05 else zipfile.ZIP_STORED)


def changed_parts(content: bytes, others: list[bytes], draw: random.Random) -> Parts:
    """Return the changed parts of a file.

    One in three is changed only in ways that may well stay valid. Most of the others are refused: they test the checks.
    """
    parts = read_parts(content, with_digest=draw.random() < 0.3)  # a forger would compute the digest anew
    is_sound = draw.random() < 0.35
    for _ in range(draw.choice([1, 1, 1, 1, 2, 2, 3, 5])):
        if is_sound or draw.random() < 0.1:
            change_soundly(parts, draw)
        else:
            _change_somewhere(parts, others, draw)
    return parts


def _change_somewhere(parts: Parts, others: list[bytes], draw: random.Random) -> None:
    kind = draw.random()
    if kind < 0.3 and parts.arrays:
        _change_number(parts, draw)
    elif kind < 0.5 and parts.arrays:
        _change_array(parts, draw)
    elif kind < 0.58 and "trees/sizes.npy" in parts.arrays:
        _change_sizes(parts, draw)
    elif kind < 0.66 and "trees/index.npy" in parts.arrays:
        _change_splits(parts, draw)
    elif kind < 0.74:
        _graft(parts, read_parts(draw.choice(others)), draw)
    else:
        _change_description(parts, draw)


# --- arrays ---


def _change_number(parts: Parts, draw: random.Random) -> None:
    """Change numbers of an array so little that the file may well stay valid."""
    name = draw.choice(list(parts.arrays))
    array = parts.arrays[name].copy()
    flat = array.reshape(-1)
    for _ in range(draw.choice([1, 2, 8]) if flat.size else 0):
        place, other = draw.randrange(flat.size), draw.randrange(flat.size)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):  # infinity is a mutation, too
                larger = flat[place] * 1e10
            flat[place] = draw.choice([flat[other], larger, 0.0, 1.0, -flat[place], 1e308, 5e-324, 1e-300])
        else:
            flat[place] = flat[other]
    parts.arrays[name] = array


def _change_array(parts: Parts, draw: random.Random) -> None:
    name = draw.choice(list(parts.arrays))
    changes: list[Callable[[np.ndarray], np.ndarray]] = [
        *[lambda array: _with_other_entry(array, draw)] * 8,
        lambda array: array[: draw.randrange(len(array) + 1)] if array.ndim else array,
        lambda array: np.concatenate([array, array[: draw.randrange(1, 5)]]) if array.ndim and len(array) else array,
        lambda array: _permuted(array, draw),
        lambda array: array.reshape(draw.choice([(-1,), (1, -1), (-1, 1), (*array.shape, 1)])),
        lambda array: np.asfortranarray(np.flip(array)),
        lambda array: _converted(array, draw.choice(DTYPES)),
        lambda array: parts.arrays[draw.choice(list(parts.arrays))],
        lambda array: np.empty(draw.choice([(0,), (0, 3), (3, 0), (0, 10**9), ()]), array.dtype),
        lambda array: np.full_like(array, array.ravel()[0] if array.size else 0),
    ]
    with contextlib.suppress(ValueError, TypeError, OverflowError, IndexError):  # not every array can be changed so
        parts.arrays[name] = draw.choice(changes)(parts.arrays[name])


def _with_other_entry(array: np.ndarray, draw: random.Random) -> np.ndarray:
    changed = array.copy()
    if not changed.size:
        return changed
    flat = changed.reshape(-1)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        place, other = draw.randrange(flat.size), draw.randrange(flat.size)
        if array.dtype.kind in "iu":
            number = draw.choice([*INTEGERS, int(flat[place]) + 1, int(flat[place]) - 1, int(flat[other]), array.size])
            flat[place] = np.array(number).astype(array.dtype)
        elif array.dtype.kind == "f":
            flat[place] = draw.choice([*FLOATS, float(flat[other]), -float(flat[place])])
        elif array.dtype.kind == "b":
            flat[place] = not flat[place]
        else:
            flat[place] = flat[other]
    return changed


def _permuted(array: np.ndarray, draw: random.Random) -> np.ndarray:
    order = list(range(len(array))) if array.ndim else []
    draw.shuffle(order)
    return array[order] if array.ndim else array


def _converted(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        try:
            return array.astype(dtype)
        except (TypeError, ValueError, RuntimeError):  # words of dates that are too short, and the like
            return array


def _change_sizes(parts: Parts, draw: random.Random) -> None:
    """Change trees so that the lengths of their arrays still add up."""
    sizes = parts.arrays["trees/sizes.npy"].copy()
    if sizes.ndim != 2 or not len(sizes) or sizes.shape[1] != 6 or sizes.dtype.kind not in "iu":
        return
    tree, other = draw.randrange(len(sizes)), draw.randrange(len(sizes))
    change = draw.randrange(4)
    if change == 0:  # rows of values become outputs, or the reverse
        sizes[tree, [1, 2]] = sizes[tree, [2, 1]]
    elif change == 1:  # one attribute moves from a tree to another
        sizes[tree, 4] += 1
        sizes[other, 4] -= 1
    elif change == 2:  # an attribute more, or a level more
        levels = parts.arrays.get("trees/n_levels.npy", np.empty((0, 0)))
        place = int(sizes[:tree, 4].sum())
        if levels.ndim == 1 and 0 <= place <= len(levels):
            parts.arrays["trees/n_levels.npy"] = np.insert(levels, place, draw.choice([0, 2, 100]))
            sizes[tree, 4] += 1
    else:
        sizes[tree, 5] = draw.choice([0, 1, 2, -1])
    parts.arrays["trees/sizes.npy"] = sizes


def _change_splits(parts: Parts, draw: random.Random) -> None:
    """Change the kinds of splits: the branch of missing values, thresholds without end, levels for numbers."""
    names = [f"trees/{name}.npy" for name in ("index", "threshold", "n_branches")]
    if any(name not in parts.arrays or parts.arrays[name].dtype.kind not in "iuf" for name in names):
        return
    index, threshold, n_branches = (parts.arrays[name] for name in names)
    splits = np.flatnonzero(n_branches) if n_branches.ndim == 1 else np.empty(0, int)
    if index.shape != n_branches.shape or threshold.shape != n_branches.shape or not len(splits):
        return
    with np.errstate(all="ignore"):
        index, threshold = index.astype(np.int64), threshold.astype(np.float64)
    for _ in range(draw.choice([1, 2, len(splits)])):
        split = draw.choice(splits)
        if draw.random() < 0.2:
            index[split] = draw.choice(SPLIT_KINDS)
        elif index[split] >= 0:
            threshold[split] = draw.choice(MISSING_LEVELS)
        elif draw.random() < 0.5:
            threshold[split] = draw.choice([float("inf"), float("-inf")])
        else:
            index[split] = draw.choice([NUMERIC_SPLIT, MISSING_FIRST, MISSING_SECOND])
    parts.arrays["trees/index.npy"], parts.arrays["trees/threshold.npy"] = index, threshold


# --- description ---


def _places(parts: Parts) -> list[Place]:
    """Return the places of all values but the whole."""
    return (parts.pristine_places or list(places_in(parts.description)))[1:]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _change_description(parts: Parts, draw: random.Random) -> None:
    model = parts.description
    places = _places(parts)
    parts.pristine_places = None
    path = draw.choice([*places, *[place for place in places if "fitted" in place] * 2])
    owner, key = _at(model, path[:-1]), path[-1]
    change = draw.randrange(9)
    if change <= 2:
        owner[key] = copy.deepcopy(draw.choice(PLAIN))
    elif change == 3:
        owner[key] = copy.deepcopy(_at(model, draw.choice(places)))
    elif change == 4:
        del owner[key]
    elif change == 5 and isinstance(owner, list):
        owner.extend([copy.deepcopy(owner[key])] * draw.choice([1, 2, 50]))
    elif change == 5:
        owner[draw.choice(["x", "predict", "__class__", "members_", "tree_", "classes_", "_x"])] = owner.pop(key)
    elif change == 6 and parts.arrays:
        owner[key] = {draw.choice(["array", "scalar"]): draw.choice(list(parts.arrays)).removesuffix(".npy")}
    elif change == 7:
        owner[key] = draw.choice(INTEGERS + FLOATS[:6])
    else:
        owner[key] = _nested(owner[key], draw.choice([1, 2, 300]))


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def _graft(parts: Parts, other: Parts, draw: random.Random) -> None:
    """Replace a value by one of another model, with its arrays; references to trees then name trees of this file."""
    parts.arrays = {**{name: array for name, array in other.arrays.items() if draw.random() < 0.9}, **parts.arrays}
    here, there = _places(parts), _places(other)
    parts.pristine_places = None
    path = draw.choice([place for place in here if "model" in place] or here)
    source = _at(other.description, draw.choice([place for place in there if "model" in place]))
    _at(parts.description, path[:-1])[path[-1]] = copy.deepcopy(source)


# --- bytes ---


def _with_changed_bytes(content: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        parts = read_parts(content)
        names = list(parts.arrays)
        raw = {"model.json": b"{}"} | {draw.choice(names or ["x.npy"]): draw.randbytes(200)}
        return zip_entries(raw, draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    changed = bytearray(content)
    for _ in range(draw.choice([1, 2, 8])):
        changed[draw.randrange(len(changed) - 71)] = draw.randrange(256)
    return with_checksum(bytes(changed))
