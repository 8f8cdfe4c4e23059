"""Writes the linear models of a model tree as equations, and names the model of each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.trees.export.labels import number_text
from tremula.trees.m5.model_tree import ModelTree


def leaves_in_reading_order(tree: ModelTree) -> list[int]:
    """Return the leaves in the order of `export_text`, as row numbers of `models`."""
    rules, stack, leaves = tree.rules, [0], []
    while stack:
        node = stack.pop()
        if rules.is_leaf[node]:
            leaves.append(int(rules.nodes["index"][node]))
        else:
            first = int(rules.first_child[node])
            stack += reversed(range(first, first + int(rules.n_branches[node])))
    return leaves


def model_names(tree: ModelTree) -> list[str]:
    """Return the names of the leaves' models: "model 1", "model 2", ... in the order of `export_text`."""
    names = [""] * tree.n_leaves
    for number, leaf in enumerate(leaves_in_reading_order(tree), start=1):
        names[leaf] = f"model {number}"
    return names


def equation(
    tree: ModelTree, leaf: int, names: Sequence[str] | None, levels: Sequence[Any], decimals: int | None
) -> str:
    """Write the model of a leaf: the constant, then the terms whose coefficient is not 0."""
    model = tree.models[leaf]
    text = number_text(model[-1], decimals)
    for term in np.flatnonzero(model[:-1]):
        sign = "-" if model[term] < 0 else "+"
        text += f" {sign} {number_text(abs(model[term]), decimals)} * {tree.terms.name(int(term), names, levels)}"
    return text


def export_equations(
    tree: ModelTree, names: Sequence[str] | None, levels: Sequence[Any], decimals: int | None = 3
) -> str:
    """Write all models, one line for each, in the order of `export_text`.

    Parameters
    ----------
    tree : ModelTree
    names : sequence of str, optional
        Names of the attributes.
    levels : sequence
        Levels of every attribute, or None if it is numeric.
    decimals : int or None, default=3
        Number of decimals, more if a number would round to 0; None writes every digit.
    """
    titles = model_names(tree)
    lines = (
        f"{titles[leaf]}: {equation(tree, leaf, names, levels, decimals)}" for leaf in leaves_in_reading_order(tree)
    )
    return "\n".join(lines)
