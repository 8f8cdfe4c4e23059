"""Chooses a subtree of the weakest-link pruning sequence, by the losses on held-out rows or in cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tremula.errors import InvalidInput
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require_numbers
from tremula.trees.grown_tree import GrownTree
from tremula.trees.learner import HeldOut
from tremula.trees.pruning import subtree_losses, weakest_link_alphas


@storable
@dataclass(frozen=True)
class PrunedSequence:
    """The sequence of subtrees of weakest-link pruning, and the chosen one.

    Attributes
    ----------
    alphas : array
        The costs of a leaf (scikit-learn's effective alphas), increasing.
    losses : array
        Loss of the subtree of each alpha on the held-out rows: error rate, or mean squared error.
    alpha : float
        The chosen alpha: the largest of those with minimum loss.
    """

    alphas: np.ndarray
    losses: np.ndarray
    alpha: float

    def _check_stored(self) -> None:
        require_numbers("alphas", self.alphas, (None,))
        require_numbers("losses", self.losses, (len(self.alphas),))


def choose_alpha(alphas: np.ndarray, losses: np.ndarray) -> PrunedSequence:
    """Choose the alpha of minimum loss; of ties the largest, which gives the smallest tree."""
    if not np.isfinite(losses).all():
        raise InvalidInput("the squared errors of the subtrees overflow: divide the target by a constant")
    slack = 1e-12 * float(losses.max())
    best = np.flatnonzero(losses <= losses.min() + slack)[-1]
    return PrunedSequence(alphas, losses, float(alphas[best]))


def cross_validated_losses(
    alphas: np.ndarray,
    risk: Callable[[GrownTree], np.ndarray],
    losses: Callable[[GrownTree, HeldOut], np.ndarray],
    folds: list[tuple[GrownTree, HeldOut]],
) -> np.ndarray:
    """Return the mean loss of the trees of the folds, at the geometric means of neighbouring alphas."""
    roots = np.sqrt(alphas)  # products of alphas may overflow
    between = np.append(roots[:-1] * roots[1:], np.inf)
    total, weight = np.zeros(len(alphas)), 0.0
    for grown, held_out in folds:
        node_alphas = weakest_link_alphas(grown.nodes, risk(grown))
        fold_alphas, fold_losses = subtree_losses(grown.nodes, node_alphas, losses(grown, held_out))
        total += fold_losses[np.searchsorted(fold_alphas, between, side="right") - 1]
        weight += float(held_out.weights.sum())
    return total / weight
