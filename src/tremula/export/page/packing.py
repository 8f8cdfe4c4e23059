"""Packs a model for the browser: a description, and its arrays in one compressed text."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.aspen.task import PRIOR_SHARE
from tremula.aspen.tree_sum import LogShareLink
from tremula.errors import UnsupportedModel
from tremula.export.linear_basis import basis_of
from tremula.export.model import TIE, ExportedModel
from tremula.losses import MIN_PROBABILITY
from tremula.trees.composite_links import ChainLink, InterpolationLink, LinearLink, StretchLink
from tremula.trees.links import LINKS, Link
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.tree import Tree

ALIGNMENT = 8  # bytes: where numbers of a browser's arrays may start


def describe_link(link: Link) -> dict[str, Any]:
    """Return a link as plain values; its `kind` is a key of LINKS in engine.js.

    Examples
    --------
    >>> from tremula.trees.links import SOFTMAX
    >>> describe_link(SOFTMAX)
    {'kind': 'softmax', 'tie': 1e-12}
    """
    if link.name in LINKS:
        return {"kind": link.name, "tie": TIE}
    if isinstance(link, LinearLink):
        return {"kind": "linear", "matrix": link.matrix.tolist(), "offset": link.offset.tolist()}
    if isinstance(link, StretchLink):
        return {"kind": "stretches", "links": [*map(describe_link, link.links)], "sizes": list(link.sizes)}
    if isinstance(link, ChainLink):
        return {"kind": "chain", "links": [*map(describe_link, link.links)]}
    if isinstance(link, InterpolationLink):
        return {"kind": "interpolation", "scores": link.scores.tolist(), "shares": link.shares.tolist()}
    if isinstance(link, LogShareLink):
        constants = {"prior_share": PRIOR_SHARE, "least": MIN_PROBABILITY}
        return {"kind": "logarithm", "prior": link.prior.tolist(), "power": link.power, **constants}
    raise UnsupportedModel(f"the link {link.name!r} is not written to a page: predict with tremula")


def pack_arrays(exported: ExportedModel) -> tuple[list[dict[str, Any]], str]:
    """Return a list of arrays, each with its name, type, start and length, and their bytes as text."""
    arrays = {**_node_arrays(exported), **_linear_arrays(exported)}
    entries, parts, start = [], [], 0
    for name, array in arrays.items():
        content = array.tobytes()
        entries.append({"name": name, "type": array.dtype.name, "start": start, "length": len(array)})
        parts.append(content + bytes(-len(content) % ALIGNMENT))
        start += len(parts[-1])
    return entries, base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")


def _node_arrays(exported: ExportedModel) -> dict[str, NDArray[Any]]:
    """Return nodes, values and subsets of all members, one after the other, and where each member starts."""
    whole, basis = exported.whole, basis_of(exported.whole)
    trees: list[Tree] = [member.rules if isinstance(member, ModelTree) else member for member in whole.members]
    values = [
        basis.coefficients(member) if isinstance(member, ModelTree) else member.values for member in whole.members
    ]
    nodes = np.concatenate([tree.nodes for tree in trees])
    return {
        "threshold": nodes["threshold"].copy(),
        "weight": nodes["weight"].copy(),
        "values": np.concatenate([each.ravel() for each in values]),
        "member_weights": whole.weights,
        "offset": whole.offset,
        "filling": whole.filling,
        "attribute": nodes["attribute"].copy(),
        "first_child": nodes["first_child"].copy(),
        "branch_counts": nodes["n_branches"].copy(),
        "index": nodes["index"].copy(),
        "node_starts": _starts([tree.n_nodes for tree in trees]),
        "margin_starts": whole.starts.astype(np.int32),
        "output_counts": np.array([each.shape[1] for each in values], np.int32),
        "value_starts": _starts([each.size for each in values]),
        "subset_starts": _starts([len(tree.subsets) for tree in trees]),
        "strict": np.array([tree.strict for tree in trees], np.uint8),
        "subsets": np.concatenate([tree.subsets for tree in trees]),
    }


def _linear_arrays(exported: ExportedModel) -> dict[str, NDArray[Any]]:
    """Return the terms of linear models, and what each model tree replaces missing values by."""
    whole, basis = exported.whole, basis_of(exported.whole)
    is_linear = [isinstance(member, ModelTree) for member in whole.members]
    places = np.cumsum(is_linear) - 1
    fills = [member.terms.fill for member in whole.members if isinstance(member, ModelTree)]
    return {
        "fills": np.concatenate(fills) if fills else np.empty(0),
        "fill_places": np.where(is_linear, places * whole.n_attributes, -1).astype(np.int32),
        "term_attributes": basis.attribute.astype(np.int32),
        "term_codes": basis.code.astype(np.int32),
    }


def _starts(sizes: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
