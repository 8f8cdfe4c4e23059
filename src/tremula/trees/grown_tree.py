"""A tree as it leaves the growing kernels, and the means of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.trees.tree import Tree


@dataclass(frozen=True)
class GrownTree:
    """A tree as it leaves the kernel: leaves not yet given values, statistics kept for every node.

    `statistics` holds class weights, or weight, sum and sum of squares of the (centred) target; for the absolute error
    also its median and the sum of absolute differences from it.
    """

    nodes: np.ndarray
    statistics: np.ndarray
    subsets: np.ndarray


def mean_and_variance(target: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Weighted mean and (population) variance, to centre a target and to scale what counts as constant."""
    mean = float(np.average(target, weights=weights))
    return mean, float(np.average((target - mean) ** 2, weights=weights))


def node_means(statistics: np.ndarray) -> np.ndarray:
    """Mean (centred) target of each node, NaN where no row is."""
    weight = statistics[:, 0]
    return np.asarray(np.divide(statistics[:, 1], weight, out=np.full(len(weight), np.nan), where=weight > 0))


def node_predictions(statistics: np.ndarray) -> np.ndarray:
    """Return what each node predicts of the (centred) target: its mean, or its median where statistics have one."""
    return statistics[:, 3] if statistics.shape[1] > 3 else node_means(statistics)


def tree_of_means(grown: GrownTree, statistics: np.ndarray, centre: float, n_levels: np.ndarray, strict: bool) -> Tree:
    """Make the regression tree whose leaves answer with the mean or median of their targets."""
    return Tree.from_node_means(grown.nodes, node_predictions(statistics) + centre, grown.subsets, n_levels, strict)
