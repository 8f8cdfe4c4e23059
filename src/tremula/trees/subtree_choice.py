"""Chooses among the subtrees that weakest-link pruning goes through: by their losses on held-out rows or in folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tremula.persistence.registry import storable
from tremula.trees.growing import GrownTree
from tremula.trees.learner import HeldOut
from tremula.trees.pruning import subtree_losses, weakest_link_prices


@storable
@dataclass(frozen=True)
class PrunedSequence:
    """The subtrees that weakest-link pruning went through, and the one that was taken.

    Attributes
    ----------
    alphas : array
        Complexity prices per leaf, increasing.
    losses : array
        Loss of the subtree at each price, on the rows that chose among them: error share, or mean squared error.
    alpha : float
        The price taken: the largest among those of least loss.
    """

    alphas: np.ndarray
    losses: np.ndarray
    alpha: float


def choose_price(alphas: np.ndarray, losses: np.ndarray) -> PrunedSequence:
    """Take the least loss, ties to the larger price, which is the smaller tree."""
    slack = 1e-12 * max(1.0, float(losses.max()))
    best = np.flatnonzero(losses <= losses.min() + slack)[-1]
    return PrunedSequence(alphas, losses, float(alphas[best]))


def cross_validated_losses(
    alphas: np.ndarray,
    risk: Callable[[GrownTree], np.ndarray],
    losses: Callable[[GrownTree, HeldOut], np.ndarray],
    folds: list[tuple[GrownTree, HeldOut]],
) -> np.ndarray:
    """Mean loss of the folds' own trees at the geometric means of neighbouring prices."""
    between = np.sqrt(alphas * np.append(alphas[1:], np.inf))
    total, weight = np.zeros(len(alphas)), 0.0
    for grown, held_out in folds:
        prices = weakest_link_prices(grown.nodes, risk(grown))
        levels, level_losses = subtree_losses(grown.nodes, prices, losses(grown, held_out))
        total += level_losses[np.searchsorted(levels, between, side="right") - 1]
        weight += float(held_out.weights.sum())
    return total / weight
