"""A trained model of trees, whoever trained it: a weighted sum of trees, an offset, and a link after the sum.

What smoothing works on. Without noise, and up to rounding, `link(margins(X))` is what the model itself answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tremula.combine import largest
from tremula.trees.structure import branch_shares
from tremula.trees.tree import Tree


def _two_classes(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    share = expit(margins)
    return np.hstack([1.0 - share, share])


def _positive_shares(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative numbers count as 0; where all do, the largest has all."""
    shares = np.maximum(margins, 0.0)
    is_none = shares.sum(axis=1) <= 0.0
    shares[is_none, largest(margins)[is_none]] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)


LINKS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "identity": lambda margins: margins,
    "logistic": _two_classes,
    "softmax": lambda margins: softmax(margins, axis=1),
    "exponential": np.exp,
    "positive": _positive_shares,
}


@dataclass(frozen=True)
class TreeSum:
    """A weighted sum of trees.

    Attributes
    ----------
    trees : tuple of Tree
        All with the same attributes.
    weights : float64 array (n_trees,)
        What each tree's values are multiplied by; 1 / n_trees for a mean.
    outputs : int array (n_trees,)
        The margin a tree with one output adds to; -1 for a tree that has a value for every margin.
    offset : float64 array (n_margins,)
        What the sum starts from.
    link : {"identity", "logistic", "softmax", "exponential", "positive"}
        What is done with the margins: nothing (class shares or numbers), or how they become class shares or numbers.
    shares : tuple of float64 arrays, one a tree
        For every node its share in what its parent passes on when the value tested is missing: by training weight in
        tremula's trees, all to one branch in those of models that learn where missing values go.
    single_precision : bool
        Whether the model rounds values to single precision before it tests them.
    """

    trees: tuple[Tree, ...]
    weights: NDArray[np.float64]
    outputs: NDArray[np.int64]
    offset: NDArray[np.float64]
    link: str
    shares: tuple[NDArray[np.float64], ...]
    single_precision: bool = False

    @property
    def n_margins(self) -> int:
        """Number of sums: classes, or 1."""
        return len(self.offset)

    @property
    def n_attributes(self) -> int:
        """Number of attributes a row must have."""
        return self.trees[0].n_attributes

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """For every attribute its number of levels, 0 if it is numeric."""
        return self.trees[0].n_levels

    def margins(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the trees' values for every row, without noise; shape (n_rows, n_margins)."""
        total = np.tile(self.offset, (len(rows), 1))
        for tree, weight, output in zip(self.trees, self.weights, self.outputs):
            if output < 0:
                tree.add_values(rows, float(weight), total)
            else:
                total[:, output] += weight * tree.predict_values(rows)[:, 0]
        return total

    def answers(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Answer every row without noise: class shares, or numbers in one column."""
        return LINKS[self.link](self.margins(rows))


def mean_of_trees(trees: list[Tree], weights: NDArray[np.float64] | None = None) -> TreeSum:
    """Take the (weighted) mean of tremula's trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> tree = C45Classifier().fit(*load_iris(return_X_y=True)).tree_
    >>> mean_of_trees([tree, tree]).weights
    array([0.5, 0.5])
    """
    given = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64)
    return TreeSum(
        trees=tuple(trees),
        weights=given / given.sum(),
        outputs=np.full(len(trees), -1),
        offset=np.zeros(trees[0].n_outputs),
        link="identity",
        shares=tuple(branch_shares(tree.nodes) for tree in trees),
    )
