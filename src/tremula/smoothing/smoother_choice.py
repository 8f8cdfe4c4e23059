"""Chooses how a model is smoothed: as trees, as a linear score, or by sampling; and says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.combine import largest
from tremula.data.encoding import ColumnEncoder
from tremula.errors import InvalidParameter, UnsupportedModel, counted
from tremula.smoothing.linear import is_linear, read_linear
from tremula.smoothing.methods import LinearSmoother, SampledSmoother, Smoother, TreeSmoother
from tremula.smoothing.models import TreeModel, read_model
from tremula.smoothing.sampled import Draws
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MethodChoice:
    """How a model is smoothed.

    Attributes
    ----------
    method : {"exact", "path", "sample"}
    reason : str
        Why this method was chosen.
    """

    method: str
    reason: str


def read_trees(
    model: Any, method: str, X: Any = None, encoder: ColumnEncoder | None = None
) -> tuple[TreeModel | None, str]:
    """Return the trees of a model; or None and the reason why it cannot be read as trees.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> trees, reason = read_trees(GaussianNB().fit([[0.0], [1.0]], [0, 1]), "auto")
    >>> trees is None, reason[:51]
    (True, 'the trees of GaussianNB of sklearn cannot be read. ')
    """
    try:
        return read_model(model, X, encoder), ""
    except UnsupportedModel as error:
        if method == "path":
            raise
        return None, str(error)


def choose_for_trees(trees: TreeModel, method: str, combine: str) -> MethodChoice:
    """Choose the method for a model of trees; combine="vote" is exact for one tree only."""
    if method == "sample":
        return MethodChoice("sample", "method='sample' was given")
    n_trees = len(trees.sum.trees)
    if combine == "vote" and not _is_one_tree(trees):
        reason = (
            f"combine='vote' was given, but {trees.name} has several trees, whose common label under noise has no "
            "closed form"
        )
        if method != "auto":
            raise InvalidParameter(f"{reason}: use combine='average', or method='sample' instead of {method!r}")
        return MethodChoice("sample", f"{reason}: combine='average' is exact")
    form = "path" if method == "path" else "exact"
    return MethodChoice(form, f"{trees.name} was read as a sum of {counted(n_trees, 'tree')}")


def choose_for_others(model: Any, method: str, combine: str, reason: str) -> MethodChoice:
    """Choose the method for a model without trees, which were not read for the given reason."""
    if method == "sample":
        return MethodChoice("sample", "method='sample' was given")
    name = type(model).__name__
    if read_linear(model, combine) is not None:
        return MethodChoice("exact", f"{name} has a linear score, whose answer under noise has a closed form")
    if is_linear(model):
        reason = f"{name} compares several linear scores, and the largest of them has no closed form under noise"
    if method == "exact":
        raise UnsupportedModel(
            f"method='exact' was given, but {name} is neither a model of trees nor a linear one with a closed form: "
            f"use method='auto' or 'sample', which take any model. The reason: {reason}"
        )
    return MethodChoice("sample", reason)


def _is_one_tree(trees: TreeModel) -> bool:
    return len(trees.sum.trees) == 1 and trees.sum.link.is_identity


# --- smoothers ---


def smoother_of_trees(trees: TreeModel, method: str, combine: str, tol: float, draws: Draws) -> Smoother:
    """Return the smoother of a model of trees, by the method chosen.

    With combine="vote" the model's label is averaged.
    """
    whole = trees.sum
    if method == "sample":
        if combine == "vote":
            return SampledSmoother(lambda rows: as_labels(whole.answers(rows)), draws)
        return SampledSmoother(whole.answers, draws)
    if combine == "vote":
        whole = replace(whole, trees=(_labelled(whole.trees[0]),), weights=np.ones(1))
    return TreeSmoother(whole, method, tol, draws)


def as_labels(answers: Floats) -> Floats:
    """Give the class of the largest share a share of 1."""
    labels = np.zeros_like(answers)
    labels[np.arange(len(answers)), largest(answers)] = 1.0
    return labels


def _labelled(tree: Tree) -> Tree:
    """Give the class of the largest share in each leaf a share of 1."""
    return Tree(tree.nodes, as_labels(tree.values), tree.subsets, tree.n_levels, tree.strict)


def smoother_of_others(
    model: Any, method: str, combine: str, is_classifier: bool, answer: Callable[[Floats], Floats], draws: Draws
) -> Smoother:
    """Return the smoother of a model without trees, by the method chosen."""
    score = read_linear(model, combine) if method == "exact" else None
    return SampledSmoother(answer, draws) if score is None else LinearSmoother(score, is_classifier)
