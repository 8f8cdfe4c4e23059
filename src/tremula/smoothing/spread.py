"""Spread of the answer of a sum of trees when noise is added to the row: variances by pairs of leaves.

The variance of a sum is the sum of the covariances of all pairs of trees. The covariance of two trees is a sum over
pairs of leaves: the product of their values, each less the mean of its tree, times the probability that the perturbed
row lies in the boxes of both. A missing value stays missing and takes its branches by shares, as in the model: it adds
no variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray

import tremula._kernels.spread as kernel
from tremula.parallel import cut
from tremula.parameters import check_number
from tremula.smoothing.kernel_input import KernelInput, prepare
from tremula.trees.structure import children_and_parents, copy_nodes, depths_of
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
MAX_VISITS = 2_000_000  # nodes visited for a row, about 20 ms


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance of every margin of each row.

    Attributes
    ----------
    values : float64 array (n_rows, n_margins)
        NaN for a row with too many pairs of leaves.
    bound : float64 array (n_rows, n_margins)
        Largest error of the variance from subtrees that were cut off, apart from rounding; infinite where the
        variance is NaN.
    n_visits : int64 array (n_rows,)
        Nodes that were visited; 0 if there were too many.
    """

    values: Floats
    bound: Floats
    n_visits: NDArray[np.int64]

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether the variance of a row was computed."""
        return self.n_visits > 0


def variances(
    model: TreeSum,
    X: Floats,
    noise_sd: ArrayLike,
    *,
    flip: float = 0.0,
    level_shares: Sequence[ArrayLike | None] | None = None,
    tol: float = TOLERANCE,
    max_visits: float = MAX_VISITS,
    n_jobs: int | None = None,
) -> Variances:
    """Compute the variance of every margin that the noise causes.

    Parameters
    ----------
    model : TreeSum
    X : float64 array (n_rows, n_attributes)
        Numbers, or codes of levels; NaN where missing.
    noise_sd : array (n_attributes,) or (n_rows, n_attributes)
        Standard deviation of the noise of each attribute, or of each value.
    flip : float, default=0.0
        Probability that a level is replaced by another one.
    level_shares : sequence of arrays, one per attribute, optional
        How frequent each level of a nominal attribute is; None for a numeric one.
    tol : float, default=1e-9
        Pairs of subtrees that the noise leads to with a smaller probability count with the middle of their values.
        `bound` is the largest error of it. With 0 nothing is cut off.
    max_visits : float, default=2000000
        A row is given up after so many visits of nodes. Infinite for no limit.
    n_jobs : int, optional
        Threads, as in joblib. Results do not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> spread = variances(forest.as_tree_sum(), X[70:71], noise_sd=0.2 * X.std(axis=0))
    >>> np.sqrt(spread.values).round(3)
    array([[0.004, 0.291, 0.291]])
    >>> bool(spread.bound.max() < 1e-6)
    True
    """
    check_number("max_visits", max_visits, 1)
    task = prepare(model, X, noise_sd, "exact", flip, level_shares, tol, n_jobs)
    pairs = _pairs(model, task)
    shape = len(task.rows), model.n_margins
    values, bound, n_visits = np.zeros(shape), np.zeros(shape), np.zeros(shape[0], dtype=np.int64)
    n_nodes, depth = sum(tree.n_nodes for tree in model.trees), max(tree.depth for tree in model.trees)
    limit = int(min(max_visits, np.iinfo(np.int64).max // 2))
    levels = task.own, task.others, task.programs.level_shares, task.programs.level_start

    def work(part: range) -> None:
        rows = slice(part.start, part.stop)
        inverse = task.inverse if len(task.inverse) == 1 else task.inverse[rows]
        buffers = kernel.Buffers(len(model.trees), shape[1], n_nodes, depth, model.n_levels.tolist(), flip > 0)
        given = (task.rows[rows], inverse)
        pairs.run(given, levels, buffers, task.tol, limit, values[rows], bound[rows], n_visits[rows])

    parts = cut(range(len(task.rows)), 4 * effective_n_jobs(n_jobs))
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(work)(part) for part in parts)
    values[n_visits == 0], bound[n_visits == 0] = np.nan, np.inf
    places = np.argsort(task.order)
    return Variances(np.maximum(values, 0.0)[places], bound[places], n_visits[places])


def _pairs(model: TreeSum, task: KernelInput) -> kernel.Pairs:
    """Put the trees of a model into one array of nodes."""
    roots = np.cumsum([0, *(tree.n_nodes for tree in model.trees)])
    subset_starts = np.cumsum([0, *(len(tree.subsets) for tree in model.trees)])
    nodes = np.concatenate([copy_nodes(tree.nodes) for tree in model.trees])
    tree_numbers = np.repeat(np.arange(len(model.trees)), np.diff(roots))
    nodes["first_child"] += roots[tree_numbers].astype(np.int32)
    is_subset = (nodes["n_branches"] > 0) & (nodes["index"] >= 0)
    nodes["index"][is_subset] += subset_starts[tree_numbers[is_subset]].astype(np.int32)
    ranges = [value_ranges(tree, float(weight)) for tree, weight in zip(model.trees, model.weights)]
    middle, half = (np.concatenate([each[k].ravel() for each in ranges]) for k in range(2))
    n_outputs = np.array([tree.n_outputs for tree in model.trees])
    thresholds = task.programs.thresholds
    return kernel.Pairs(
        nodes,
        tuple(np.concatenate(parts) for parts in (model.shares, thresholds.of_nodes, thresholds.last)),
        (np.concatenate([*(tree.subsets for tree in model.trees), np.zeros(1, np.uint8)]), model.n_levels),
        roots[:-1].astype(np.int32),
        (
            np.cumsum([0, *(len(each[0].ravel()) for each in ranges)]).astype(np.int64),
            np.maximum(model.outputs, 0).astype(np.int32),
            n_outputs.astype(np.int32),
            middle,
            half,
        ),
    )


def value_ranges(tree: Tree, weight: float) -> tuple[Floats, Floats]:
    """Return the middle of the values below every node, times a weight, and half their range.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import CARTRegressor
    >>> tree = CARTRegressor(max_depth=1).fit(*load_diabetes(return_X_y=True)).tree_
    >>> tree.values.ravel().round(), [each.ravel().round() for each in value_ranges(tree, 1.0)]
    (array([110., 193.]), [array([152., 110., 193.]), array([42.,  0.,  0.])])
    """
    low = np.full((tree.n_nodes, tree.n_outputs), np.inf)
    low[tree.is_leaf] = weight * tree.values[tree.nodes["index"][tree.is_leaf]]
    high = np.where(np.isinf(low), -np.inf, low)
    children, parents = children_and_parents(tree.nodes)
    depths = depths_of(tree.nodes)[children]
    for depth in range(int(depths.max(initial=0)), 0, -1):
        here = depths == depth
        np.minimum.at(low, parents[here], low[children[here]])
        np.maximum.at(high, parents[here], high[children[here]])
    return low + (high - low) / 2, (high - low) / 2
