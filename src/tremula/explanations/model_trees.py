"""Factors of model trees, whose leaves hold linear models.

A leaf is divided into one part for each attribute of its model, and one for the constant. The part of an attribute is a
product game too: the factor of that attribute is multiplied by its term of the model. A constant is added to every
term, and taken from that of the leaf, so that all factors are positive and can be divided by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.shapley as kernel
from tremula.explanations.leaf_factors import in_blocks, n_blocks
from tremula.explanations.leaf_games import entered_attributes, quadrature
from tremula.smoothing.tree_program import list_values
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.structure import branch_shares

Floats = NDArray[np.float64]

MARGIN = 1.5  # constant added to a term, in its largest magnitude


@dataclass(frozen=True, eq=False)
class LeafParts:
    """The parts of the leaves of a model tree.

    Attributes
    ----------
    leaf, attribute : int arrays (n_parts,)
        The node each part belongs to, and its attribute.
    coefficients : float64 array (n_terms, n_parts)
        The model of each part; zeros for a constant.
    constants : float64 array (n_parts,)
        Added to a term.
    values : float64 array (n_parts,)
        1 for a term, the constant of the leaf for the others.
    """

    leaf: NDArray[np.intp]
    attribute: NDArray[np.intp]
    coefficients: Floats
    constants: Floats
    values: Floats

    @classmethod
    def of(cls, tree: ModelTree, largest: Floats) -> LeafParts:
        """Divide the leaves; `largest` has the largest magnitude of each term among all rows that will be asked."""
        entered, parts = entered_attributes(tree.rules), []
        for leaf in np.flatnonzero(tree.rules.is_leaf):
            model = tree.models[tree.rules.nodes["index"][leaf]]
            constant = float(model[-1])
            for attribute in np.unique(tree.terms.attribute[model[:-1] != 0]):
                coefficients = np.where(tree.terms.attribute == attribute, model[:-1], 0.0)
                added = MARGIN * float(np.abs(coefficients) @ largest)
                if added > 0.0:
                    constant -= added
                    parts.append((leaf, attribute, coefficients, added, 1.0))
            parts.append((leaf, max(entered[leaf], 0), np.zeros(len(largest)), 1.0, constant))
        leaves, attributes, coefficients, constants, values = (np.array(each) for each in zip(*parts))
        return cls(leaves, attributes, coefficients.T, constants, values)


@dataclass(frozen=True, eq=False)
class ModelTreeFactors:
    """Factors of rows in model trees.

    Attributes
    ----------
    trees : sequence of ModelTree
    weights : float64 array (n_trees,)
        Weights of the trees in their mean.
    all_rows : float64 array (n_all_rows, n_attributes)
        All rows that will be asked, those of the background too.
    """

    trees: Sequence[ModelTree]
    weights: Floats
    all_rows: Floats

    @cached_property
    def parts(self) -> list[LeafParts]:
        """The parts of the leaves of every tree."""
        return [
            LeafParts.of(tree, np.abs(tree.terms.evaluate(tree.terms.complete(self.all_rows))).max(axis=0))
            for tree in self.trees
        ]

    def games(self) -> list[kernel.LeafGames]:
        """Return the games of the mean of the trees."""
        return [_games(*given) for given in zip(self.trees, self.parts, self.weights / self.weights.sum())]

    def factors(self, number: int, games: kernel.LeafGames, rows: Floats) -> Floats:
        """Return the factors of the tests, and those of the parts of leaves."""
        tree, parts = self.trees[number], self.parts[number]
        completed = np.ascontiguousarray(tree.terms.complete(rows))
        tests = np.empty((n_blocks(len(rows)), tree.rules.n_nodes, kernel.LANES))
        kernel.fill_factors(games, tree.rules._view, branch_shares(tree.rules.nodes), completed, False, tests)
        earlier = games.earlier[tree.rules.n_nodes :]
        terms = in_blocks((tree.terms.evaluate(completed) @ parts.coefficients + parts.constants).T)
        terms[:, earlier >= 0] *= tests[:, earlier[earlier >= 0]]
        return np.concatenate([tests, terms], axis=1)

    def margins(self, rows: Floats) -> Floats:
        """Return the mean of the trees."""
        answers = [tree.predict_values(rows) for tree in self.trees]
        return np.average(answers, axis=0, weights=self.weights)


def _games(tree: ModelTree, parts: LeafParts, weight: float) -> kernel.LeafGames:
    """Return the games of the parts of all leaves; the parts are nodes below their leaf."""
    rules, n_parts = tree.rules, len(parts.leaf)
    leaves, starts, counts = np.unique(parts.leaf, return_index=True, return_counts=True)
    nodes = np.zeros(n_parts, np.int32)
    first_child, n_branches = np.append(rules.first_child, nodes), np.append(rules.n_branches, nodes)
    first_child[leaves], n_branches[leaves] = rules.n_nodes + starts, counts
    attribute = np.append(entered_attributes(rules), parts.attribute.astype(np.int32))
    value_row = np.append(np.zeros(rules.n_nodes, np.int32), np.arange(n_parts, dtype=np.int32))
    values = list_values(weight * parts.values[:, None], 0, 1)
    listed = values.start, values.output, values.value
    n_factors = min(rules.depth + 1, rules.n_attributes)
    return kernel.LeafGames(
        (first_child, n_branches), attribute, value_row, rules.n_attributes, 1, listed, quadrature(n_factors)
    )
