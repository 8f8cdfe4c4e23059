"""The linear models of a model tree in words: which leaf has which, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.trees.export.labels import number_text
from tremula.trees.m5.model_tree import ModelTree


def leaves_in_reading_order(tree: ModelTree) -> list[int]:
    """Return the leaves as a text of the tree lists them, by the number of their model."""
    rules, waiting, found = tree.rules, [0], []
    while waiting:
        node = waiting.pop()
        if rules.is_leaf[node]:
            found.append(int(rules.nodes["index"][node]))
        else:
            first = int(rules.first_child[node])
            waiting += reversed(range(first, first + int(rules.n_branches[node])))
    return found


def model_names(tree: ModelTree) -> list[str]:
    """Return what the leaves' models are called, from "model 1" in the order of a text of the tree."""
    names = [""] * tree.n_leaves
    for number, leaf in enumerate(leaves_in_reading_order(tree), start=1):
        names[leaf] = f"model {number}"
    return names


def equation(
    tree: ModelTree, leaf: int, names: Sequence[str] | None, levels: Sequence[Any], decimals: int | None
) -> str:
    """Write a leaf's model: the constant, then the terms that count."""
    model = tree.models[leaf]
    text = number_text(model[-1], decimals)
    for term in np.flatnonzero(model[:-1]):
        sign = "-" if model[term] < 0 else "+"
        text += f" {sign} {number_text(abs(model[term]), decimals)} * {tree.terms.name(int(term), names, levels)}"
    return text


def export_equations(
    tree: ModelTree, names: Sequence[str] | None, levels: Sequence[Any], decimals: int | None = 3
) -> str:
    """Write all models, one line each, in the order of a text of the tree.

    Parameters
    ----------
    tree : ModelTree
    names : sequence of str, optional
        Of the attributes.
    levels : sequence
        For every attribute its levels, or None if it is numeric.
    decimals : int or None, default=3
        Decimals of numbers, more where these would hide one; None writes every digit.
    """
    titles = model_names(tree)
    lines = (
        f"{titles[leaf]}: {equation(tree, leaf, names, levels, decimals)}" for leaf in leaves_in_reading_order(tree)
    )
    return "\n".join(lines)
