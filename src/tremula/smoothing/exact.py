"""Expected answer of a sum of trees when Gaussian noise is added to the row: exactly, or as a product along paths.

The weights of a tree's leaves sum to 1. Without noise the answer is that of the model, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.smoothing.kernel_input import KernelInput, prepare
from tremula.smoothing.tree_program import Values
from tremula.trees.structure import branch_shares, copy_nodes
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

TOLERANCE = 1e-6
ROWS_AT_ONCE = 1024  # where a result has a number for every leaf


@dataclass(frozen=True)
class Softened:
    """Expected margins and their largest error.

    Attributes
    ----------
    margins : float64 array (n_rows, n_margins)
        Expected margins: offset included, link not applied.
    bound : float64 array (n_rows,)
        Largest error of the margins of a row, apart from rounding (about 1e-14 times the magnitude of the values).
    """

    margins: NDArray[np.float64]
    bound: NDArray[np.float64]


def soften(
    model: TreeSum,
    X: NDArray[np.float64],
    noise_sd: ArrayLike,
    *,
    form: str = "exact",
    flip: float = 0.0,
    level_shares: Sequence[ArrayLike | None] | None = None,
    tol: float = TOLERANCE,
    n_jobs: int | None = None,
) -> Softened:
    """Compute the expected margins of every row under noise.

    Parameters
    ----------
    model : TreeSum
    X : float64 array (n_rows, n_attributes)
        Numbers, or codes of levels; NaN where missing. A missing value stays missing under noise and goes down every
        branch by the model's shares.
    noise_sd : array (n_attributes,) or (n_rows, n_attributes)
        Standard deviation of the noise of each attribute, or of each value; 0 leaves a test as it is. That of nominal
        attributes is ignored.
    form : {"exact", "path"}, default="exact"
        Whether noise is drawn once for the row, so that what several tests leave of an attribute is an interval (the
        expected answer), or anew at every test (the product along the path).
    flip : float, default=0.0
        Probability that a level is replaced by another one, drawn by how frequent the others are.
    level_shares : sequence of arrays, one per attribute, optional
        How frequent each level of a nominal attribute is; None for a numeric one. Needed if levels are flipped.
    tol : float, default=1e-6
        Largest error of a tree's answer, in terms of the spread of its values. Subtrees that hardly any noise leads to
        are cut off and count with the mean of the tree's values; if at most half of `tol` is needed for it, the normal
        distribution function is computed with an error of 5e-11, which takes a third of the time. The bound is never
        above tol times the sum, over trees, of the magnitude of the tree's weight times the spread of its values. With
        0 nothing is cut but what has weight 0, and nothing is approximated.
    n_jobs : int, optional
        Threads, as in joblib. Results do not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mean_of_trees([CARTClassifier(max_depth=2).fit(X, y).tree_])
    >>> soften(model, X[70:71], noise_sd=0.2 * X.std(axis=0)).margins.round(3)
    array([[0.  , 0.35, 0.65]])
    """
    task = prepare(model, X, noise_sd, form, flip, level_shares, tol, n_jobs)
    if not flip and not task.inverse.any() and _is_plain(model, task):
        return _without_noise(model, task)
    sums, bound = task.run(task.programs.all_steps, model.n_margins)
    low, high = task.programs.range
    np.maximum(sums, low, out=sums)
    np.minimum(sums, high, out=sums)
    sums += model.offset
    return Softened(sums, bound)


def gradient(
    model: TreeSum,
    X: NDArray[np.float64],
    noise_sd: ArrayLike,
    *,
    form: str = "exact",
    flip: float = 0.0,
    level_shares: Sequence[ArrayLike | None] | None = None,
    tol: float = TOLERANCE,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Differentiate every expected margin by every attribute: shape (n_rows, n_margins, n_attributes).

    It is 0 for nominal attributes, for missing values, and where there is no noise: there the margin jumps at
    thresholds, and does not change between them. Parameters are those of `soften`; cutting changes a derivative by at
    most 0.8 tol / noise_sd times the weight and spread of the trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mean_of_trees([CARTClassifier(max_depth=2).fit(X, y).tree_])
    >>> gradient(model, X[70:71], noise_sd=0.2 * X.std(axis=0))[0, 2].round(2)
    array([0. , 0. , 0. , 2.2])
    """
    task = prepare(model, X, noise_sd, form, flip, level_shares, tol, n_jobs)
    lists = task.programs.values
    out = np.zeros((len(task.rows), model.n_margins, model.n_attributes))
    for attribute in np.flatnonzero((model.n_levels == 0) & task.inverse.any(axis=0)):
        rank, more = 1, True
        while more:
            steps = [task.programs.steps(number, each, int(attribute), rank) for number, each in enumerate(lists)]
            steps = [each for each in steps if each.n_leaves > 0]
            out[:, :, attribute] += task.run(steps, model.n_margins)[0]
            rank, more = rank + 1, form == "path" and len(steps) > 0
    return out


def leaf_weights(
    model: TreeSum,
    number: int,
    X: NDArray[np.float64],
    noise_sd: ArrayLike,
    *,
    form: str = "exact",
    flip: float = 0.0,
    level_shares: Sequence[ArrayLike | None] | None = None,
    tol: float = 0.0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Probability of every leaf of one tree, shape (n_rows, n_leaves), leaves in the order of their nodes.

    Parameters are those of `soften`, and the number of the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mean_of_trees([CARTClassifier(max_depth=2).fit(X, y).tree_])
    >>> leaf_weights(model, 0, X[70:71], noise_sd=0.2 * X.std(axis=0)).round(3)
    array([[0.   , 0.371, 0.629]])
    """
    leaf_model = _numbered_leaves(model, number)
    n_leaves = len(leaf_model.trees[0].values)
    task = prepare(leaf_model, X, noise_sd, form, flip, level_shares, tol, n_jobs)
    each_its_own = Values(
        start=np.arange(n_leaves + 1, dtype=np.int32),
        output=np.arange(n_leaves, dtype=np.int32),
        value=np.ones(n_leaves),
        mean=np.full(n_leaves, 1.0 / n_leaves),
        spread=1.0,
    )
    return np.clip(task.run([task.programs.steps(0, each_its_own)], n_leaves)[0], 0.0, 1.0)


def _numbered_leaves(model: TreeSum, number: int) -> TreeSum:
    """One tree of a model, in which no two leaves share a row of values."""
    tree = model.trees[number]
    nodes = copy_nodes(tree.nodes)
    nodes["index"][tree.is_leaf] = np.arange(tree.n_leaves)
    numbered = Tree(nodes, np.zeros((tree.n_leaves, 1)), tree.subsets, tree.n_levels, tree.strict)
    return replace(model, trees=(numbered,), shares=(model.shares[number],), tree_members=np.zeros(1, np.int64))


def _is_plain(model: TreeSum, task: KernelInput) -> bool:
    """Whether `Tree` sends the rows as the model does: no value is missing, or shares follow training weights."""
    if not task.is_missing.any():
        return True
    return all(np.array_equal(shares, branch_shares(tree.nodes)) for tree, shares in zip(model.trees, model.shares))


def _without_noise(model: TreeSum, task: KernelInput) -> Softened:
    """Compute margins without noise, in the same way as the trees do."""
    rows = np.empty_like(task.rows)
    rows[task.order] = task.rows
    margins = np.tile(model.offset, (len(rows), 1))
    for tree, weight, output in zip(model.trees, model.weights, model.outputs):
        if output < 0:
            tree.add_values(rows, weight, margins)
        else:
            margins[:, output] += weight * tree.predict_values(rows)[:, 0]
    return Softened(margins, np.zeros(len(rows)))
