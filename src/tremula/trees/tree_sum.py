"""A trained model as a weighted sum of trees, an offset and a link; smoothing works on this form.

Without noise, `answers` gives the predictions of the model itself, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.errors import InvalidInput
from tremula.trees.links import IDENTITY, Link, as_link
from tremula.trees.structure import branch_shares
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TreeSum:
    """A weighted sum of trees.

    Attributes
    ----------
    trees : tuple of Tree
        All with the same attributes.
    weights : float64 array (n_trees,)
        Factor of each tree's values; 1 / n_trees for a mean.
    outputs : int array (n_trees,)
        The margin that a tree with one output adds to; -1 for a tree with a value for every margin.
    offset : float64 array (n_margins,)
        Added to the sum.
    link : Link
        Turns margins into class shares or numbers.
    shares : tuple of float64 arrays, one per tree
        For every node the share of its parent's weight that it receives if the tested value is missing. In tremula's
        trees shares follow training weights; other libraries send a missing value down one branch.
    tree_members : int array (n_trees,)
        The member of the ensemble that each tree belongs to; by default each tree is a member.
    """

    trees: tuple[Tree, ...]
    weights: Floats
    outputs: NDArray[np.int64]
    offset: Floats
    link: Link
    shares: tuple[Floats, ...]
    tree_members: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if not len(self.tree_members):
            object.__setattr__(self, "tree_members", np.arange(len(self.trees)))

    def check(self) -> None:
        """Raise an error unless the parts fit together: the kernels of smoothing rely on it."""
        n_trees, outputs, first = len(self.trees), self.outputs, self.trees[0]
        lengths = {len(part) for part in (self.weights, outputs, self.shares, self.tree_members)}
        if lengths != {n_trees} or np.any((outputs < -1) | (outputs >= self.n_margins)):
            raise InvalidInput(f"{n_trees} trees do not have one weight, one output and shares each")
        for tree, output, shares in zip(self.trees, outputs.tolist(), self.shares):
            has_levels = tree.n_levels is first.n_levels or np.array_equal(tree.n_levels, first.n_levels)
            n_outputs = self.n_margins if output < 0 else 1
            if not has_levels or tree.n_outputs != n_outputs or len(shares) != tree.n_nodes:
                raise InvalidInput(
                    f"{tree} does not fit the levels, or the {self.n_margins} margins, of the other trees"
                )

    @property
    def n_margins(self) -> int:
        """Number of margins: one per class, or 1."""
        return len(self.offset)

    @property
    def n_attributes(self) -> int:
        """Number of attributes of a row."""
        return self.trees[0].n_attributes

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """Number of levels of every attribute, 0 if it is numeric."""
        return self.trees[0].n_levels

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
        return int(np.max(self.tree_members, initial=-1)) + 1

    def margins(self, rows: Floats) -> Floats:
        """Return the weighted sum of the trees for every row, offset included; shape (n_rows, n_margins).

        Rows hold numbers and codes of levels, NaN where a value is missing.
        """
        total = np.tile(self.offset, (len(rows), 1))
        for tree, weight, output in zip(self.trees, self.weights, self.outputs):
            if output < 0:
                tree.add_values(rows, float(weight), total)
            else:
                total[:, output] += weight * tree.predict_values(rows)[:, 0]
        return total

    def answers(self, rows: Floats) -> Floats:
        """Return class shares, or numbers in one column, for every row."""
        return self.link.answers(self.margins(rows))

    def member_tree(self, number: int) -> TreeSum:
        """Return one tree of a mean of trees as a model of its own."""
        return replace(
            self,
            trees=(self.trees[number],),
            weights=np.ones(1),
            outputs=self.outputs[[number]],
            shares=(self.shares[number],),
            tree_members=np.zeros(1, np.int64),
        )

    def with_votes(self) -> TreeSum:
        """Return the sum in which each leaf gives its most probable class, the first of equals, a share of 1."""
        return replace(self, trees=tuple(tree_with_votes(tree) for tree in self.trees))


def sum_of_trees(
    trees: Sequence[Tree],
    offset: ArrayLike | None = None,
    link: Link | str = IDENTITY,
    *,
    outputs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    tree_members: ArrayLike | None = None,
) -> TreeSum:
    """Sum trees. By default each has the weight 1, a value for every margin, and is a member of its own."""
    whole = TreeSum(
        trees=tuple(trees),
        weights=np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64),
        outputs=np.full(len(trees), -1) if outputs is None else np.asarray(outputs, dtype=np.int64),
        offset=np.zeros(trees[0].n_outputs) if offset is None else np.array(offset, dtype=np.float64),
        link=as_link(link),
        shares=tuple(branch_shares(tree.nodes) for tree in trees),
        tree_members=np.arange(len(trees)) if tree_members is None else np.asarray(tree_members, dtype=np.int64),
    )
    whole.check()
    return whole


def mean_of_trees(trees: Sequence[Tree], weights: ArrayLike | None = None) -> TreeSum:
    """Return the (weighted) mean of trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> tree = C45Classifier().fit(*load_iris(return_X_y=True)).tree_
    >>> mean_of_trees([tree, tree]).weights
    array([0.5, 0.5])
    """
    given = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=np.float64)
    return sum_of_trees(trees, weights=given / given.sum())


def tree_with_values(tree: Tree, values: Floats) -> Tree:
    """Return a tree with the same splits and other values."""
    return Tree(tree.nodes, values, tree.subsets, tree.n_levels, tree.strict)


def tree_with_votes(tree: Tree) -> Tree:
    """Return a tree whose leaves give their most probable class, the first of equals, a share of 1."""
    return tree_with_values(tree, np.eye(tree.n_outputs)[tree.values.argmax(axis=1)])
