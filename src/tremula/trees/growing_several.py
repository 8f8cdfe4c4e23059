"""Grows one tree for several targets, and makes a `Tree` of it: the impurity of a node is the mean over the targets.

Targets are an array (n_rows, n_targets): numbers, or the outputs of classes, numbered one target after the other. The
statistics of a node are its weight and a sum for each output; sums of squares of the numbers follow.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from tremula.errors import InvalidParameter
from tremula.trees.columns import Columns
from tremula.trees.criteria import Criterion
from tremula.trees.growing import in_given_columns
from tremula.trees.growing_sorted import KernelRows, KernelTargets, grow_from_lists
from tremula.trees.grown_tree import GrownTree
from tremula.trees.identifiers import attributes_to_test
from tremula.trees.level_numbers import number_levels
from tremula.trees.pruning import cut_at, weakest_link_alphas
from tremula.trees.refilling import refill_several
from tremula.trees.rules import Rules

# Sums of squares up to this are exact.
MAX_SQUARES = 2.0**52
# What rounding may leave of the variance of a constant number, as a share of that of all rows.
LEAST_VARIANCE = 1e-13


def grow_for_targets(
    columns: Columns,
    target: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None,
    rules: Rules,
    random: np.random.Generator,
    attributes: np.ndarray | None = None,
) -> GrownTree:
    """Grow a tree for several targets.

    Parameters
    ----------
    columns : Columns
    target : array (n_rows, n_targets)
        Outputs of classes, or numbers, which should be centred.
    n_classes : int
        Classes of all targets together; 0 for numbers.
    weights : array (n_rows,) or None
    rules : Rules
    random : numpy.random.Generator
    attributes : int array or None
        The columns that may be tested; None is all.
    """
    if columns.is_sparse:
        raise InvalidParameter(
            "X is sparse, and y has several targets, for which one tree needs a dense table: give X.toarray(), or fit "
            "a model for each target by sklearn.multioutput"
        )
    weights = np.ones(columns.n_rows) if weights is None else np.ascontiguousarray(weights, np.float64)
    given = columns
    attributes = attributes_to_test(columns, attributes)
    columns, levels = number_levels(columns.to_grow_from, target, weights, n_classes, random)
    targets = _kernel_targets(columns, target, n_classes, weights)
    rows = KernelRows(None, None, weights, None, None, 0.0, 0, targets=targets)
    grown = in_given_columns(grow_from_lists(columns, rows, rules, random, attributes), columns, levels)
    return refill_several(grown, given, row_statistics(target, n_classes), weights) if levels else grown


def _kernel_targets(columns: Columns, target: np.ndarray, n_classes: int, weights: np.ndarray) -> KernelTargets:
    if not n_classes:
        target = np.ascontiguousarray(target, np.float64)
        means = np.average(target, axis=0, weights=weights)
        least = LEAST_VARIANCE * np.average((target - means) ** 2, axis=0, weights=weights)
        return KernelTargets(None, target, least, target.shape[1], are_counted=False)
    is_whole = columns.is_complete and bool((weights == np.floor(weights)).all())
    are_counted = is_whole and weights.sum() ** 2 * target.shape[1] < MAX_SQUARES
    return KernelTargets(np.ascontiguousarray(target, np.int32), None, None, n_classes, are_counted)


def row_statistics(target: np.ndarray, n_classes: int) -> np.ndarray:
    """Return what each row of weight 1 adds to the statistics of its node.

    Examples
    --------
    >>> row_statistics(np.array([[2.0, 3.0]]), 0)
    array([[1., 2., 3., 4., 9.]])
    >>> row_statistics(np.array([[0, 3]]), 4)
    array([[1., 1., 0., 0., 1.]])
    """
    ones = np.ones((len(target), 1))
    if not n_classes:
        return np.hstack([ones, target, target**2])
    indicators = np.zeros((len(target), n_classes))
    np.put_along_axis(indicators, target, 1.0, axis=1)
    return np.hstack([ones, indicators])


def output_means(statistics: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return the share of each class, or the mean of each number, in every node; NaN where no row is."""
    weight = statistics[:, :1]
    sums = statistics[:, 1 : 1 + n_outputs]
    return np.asarray(np.divide(sums, weight, out=np.full(sums.shape, np.nan), where=weight > 0))


def impurities_of_targets(n_outputs: int, statistics: np.ndarray, criterion: Criterion) -> np.ndarray:
    """Return weight times impurity of every node, summed over targets, but for a term shared with the branches."""
    weight = statistics[:, 0]
    means = np.nan_to_num(output_means(statistics, n_outputs))
    if criterion.impurity in ("gini", "variance"):
        return np.asarray(-weight * (means**2).sum(axis=1))
    return np.asarray(-weight * xlogy(means, means).sum(axis=1))  # entropy in nats, or the Poisson deviance


def prune_for_targets(grown: GrownTree, target: np.ndarray, n_classes: int, ccp_alpha: float) -> GrownTree:
    """Return the tree pruned at its weakest links, by the mean over the targets of the training error."""
    if ccp_alpha == 0.0:
        return grown
    # Every class occurs in the target.
    risks = training_risks(grown.statistics, n_classes, target.min(axis=0).astype(np.intp))
    return cut_at(grown, (weakest_link_alphas(grown.nodes, risks) <= ccp_alpha) & (grown.nodes["n_branches"] > 0))


def training_risks(statistics: np.ndarray, n_classes: int, starts: np.ndarray) -> np.ndarray:
    """Return the training error rate, or squared error, of every node, as a mean over targets and a share of all rows.

    Parameters
    ----------
    statistics : float64 array (n_nodes, n_statistics)
    n_classes : int
        0 for numbers.
    starts : int array (n_targets,)
        The first output of each target.
    """
    weight = statistics[:, 0]
    if n_classes:
        sums = statistics[:, 1 : 1 + n_classes]
        errors = weight[:, None] - np.maximum.reduceat(sums, starts, axis=1)
    else:
        sums, squares = np.split(statistics[:, 1:], 2, axis=1)
        spread = np.divide(sums**2, weight[:, None], out=np.zeros(sums.shape), where=weight[:, None] > 0)
        errors = np.maximum(squares - spread, 0.0)
    return np.asarray(errors.mean(axis=1) / weight[0])
