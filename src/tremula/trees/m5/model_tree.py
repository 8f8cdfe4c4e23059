"""A fitted model tree: a tree of rules with a linear model in each leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import tremula._kernels.model_tree as kernel
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.trees.importances import attribute_importances
from tremula.trees.m5.terms import Terms
from tremula.trees.size_limit import MAX_SUBSETS, too_large
from tremula.trees.structure import NUMERIC_SPLIT, copy_nodes
from tremula.trees.tree import Tree


@storable
@dataclass(frozen=True, eq=False, repr=False)
class ModelTree:
    """One fitted model tree.

    Attributes
    ----------
    rules : Tree
        Tree that routes a row to its leaf; its values are the mean targets of the leaves.
    terms : Terms
        Turns attributes into the numeric terms of the models.
    models : float64 array (n_leaves, n_terms + 1)
        Coefficients of the linear model of each leaf, the constant last, in the order of the leaves' `index`.

    Examples
    --------
    >>> from tremula import M5Regressor
    >>> X = np.arange(40.0)[:, None]
    >>> y = np.where(X[:, 0] < 20, 3 * X[:, 0] + 1, 200 - X[:, 0])
    >>> tree = M5Regressor(smoothing=0).fit(X, y).tree_
    >>> tree
    ModelTree(n_leaves=2, depth=1, n_attributes=1, n_terms=1)
    >>> tree.models.round(3)
    array([[  3.,   1.],
           [ -1., 200.]])
    """

    rules: Tree
    terms: Terms
    models: np.ndarray

    def __post_init__(self) -> None:
        expected = (self.rules.n_leaves, self.terms.n_terms + 1)
        if self.models.shape != expected or self.rules.n_attributes != len(self.terms.n_levels):
            raise ValueError(
                f"models have shape {self.models.shape} and rules have {self.rules.n_attributes} attributes: expected "
                f"shape {expected} and {len(self.terms.n_levels)} attributes"
            )

    def _check_stored(self) -> None:
        require_numbers("models", self.models, (None, None), low=-np.inf)
        leaves = np.sort(self.rules.nodes["index"][self.rules.is_leaf])
        require(np.array_equal(leaves, np.arange(len(leaves))), "a leaf has no model of its own")
        require(np.array_equal(self.rules.n_levels, self.terms.n_levels), "rules and models have other levels")

    def check_fits(self, n_levels: NDArray[np.int32] | None, n_outputs: int) -> None:
        """Raise ValueError unless the tree belongs to a model with these levels and one output."""
        self.rules.check_fits(n_levels, n_outputs)

    def __repr__(self) -> str:
        return (
            f"ModelTree(n_leaves={self.n_leaves}, depth={self.depth}, n_attributes={self.n_attributes}, "
            f"n_terms={self.terms.n_terms})"
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves, each with a rule and a model."""
        return self.rules.n_leaves

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return self.rules.n_nodes

    @property
    def nbytes(self) -> int:
        """Bytes of the rules and models in memory."""
        return self.rules.nbytes + self.models.nbytes

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return self.rules.depth

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self.rules.n_attributes

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of every row."""
        return self.rules.apply(self.terms.complete(np.asarray(X, dtype=np.float64)))

    def decision_path(self, X: Any) -> csr_array:
        """Return the nodes that every row reaches, as a matrix of shape (n_rows, n_nodes)."""
        return self.rules.decision_path(self.terms.complete(np.asarray(X, dtype=np.float64)))

    def add_values(self, X: Any, weight: float, out: np.ndarray) -> None:
        """Add `weight` times the result of `predict_values` to `out`, to sum over an ensemble."""
        completed = self.terms.complete(np.asarray(X, dtype=np.float64))
        model_of_row = self.rules.nodes["index"][self.rules.apply(completed)]
        kernel.add_models(self.terms.evaluate(completed), model_of_row, self.models, weight, out)

    def predict_values(self, X: Any) -> np.ndarray:
        """Predict the target of every row, shape (n_rows, 1)."""
        out = np.zeros((len(X), 1))
        self.add_values(X, 1.0, out)
        return out

    def predict_codes(self, X: Any) -> np.ndarray:
        """Return 0 for every row, since a model tree has no classes."""
        return np.zeros(len(X), np.intp)

    def importances(self, n_attributes: int) -> np.ndarray:
        """Return the share of each attribute in the total decrease of variance by the rules."""
        return attribute_importances(self.rules, "variance")


def rules_of(nodes: np.ndarray, means: np.ndarray, terms: Terms) -> Tree:
    """Make a tree that tests attributes, from node records that test terms."""
    nodes = copy_nodes(nodes)
    splits = np.flatnonzero(nodes["n_branches"])
    tested = nodes["attribute"][splits]
    nodes["attribute"][splits] = terms.attribute[tested]
    nodes["index"][splits] = NUMERIC_SPLIT
    subsets = [np.empty(0, np.uint8)]
    is_nominal = terms.from_place[tested] != 0
    cuts = np.where(terms.from_place[tested] > 0, 0.5, nodes["threshold"][splits])
    for term, threshold in sorted(set(zip(tested[is_nominal].tolist(), cuts[is_nominal].tolist()))):
        same = splits[(tested == term) & (cuts == threshold)]  # splits into the same levels share one subset
        n_before = sum(map(len, subsets))
        if n_before + int(terms.n_levels.max()) > MAX_SUBSETS:
            raise too_large(terms.n_levels)
        nodes["index"][same] = n_before
        nodes["threshold"][same] = np.nan
        subsets.append(terms.levels_above(term, threshold).astype(np.uint8))
    return Tree.from_node_means(nodes, means, np.concatenate(subsets), terms.n_levels, strict=False)
