"""Noise of its own for every tree, and derivatives of smoothed margins by the amounts of noise.

A mean of regression trees with noise of its own for every tree is the smoothed random forest of Liu, Luong, Boley and
Schmidt (2026), *Improving random forests by smoothing*, Machine Learning 115:152.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tremula._kernels.bandwidths as kernel
from tremula.errors import InvalidParameter
from tremula.parallel import map_members
from tremula.smoothing.exact import TOLERANCE, Softened, gradient, soften
from tremula.smoothing.tree_program import finite, programs_of
from tremula.trees.structure import parents_of
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

SLOPE_TOLERANCE = 1e-7  # weight below which a branch is left out of a derivative


# --- noise of its own for every tree ---

_SINGLE_TREES: dict[int, list[TreeSum]] = {}


def single_trees(model: TreeSum) -> list[TreeSum]:
    """Return the terms of a sum of trees as models without offset; they are kept as long as the model exists."""
    if id(model) not in _SINGLE_TREES:
        weakref.finalize(model, _SINGLE_TREES.pop, id(model), None)
        _SINGLE_TREES[id(model)] = [
            replace(
                model,
                trees=(tree,),
                weights=model.weights[[number]],
                outputs=model.outputs[[number]],
                offset=np.zeros(model.n_margins),
                shares=(model.shares[number],),
                tree_members=np.zeros(1, np.int64),
            )
            for number, tree in enumerate(model.trees)
        ]
    return _SINGLE_TREES[id(model)]


def noise_of_trees(model: TreeSum, noise_sd: ArrayLike) -> list[Floats]:
    """Check the noise of every tree, (n_trees, 1 or n_rows, n_attributes), and take it apart."""
    noise = np.asarray(noise_sd, dtype=np.float64)
    if noise.ndim != 3 or len(noise) != len(model.trees) or noise.shape[2] != model.n_attributes:
        raise InvalidParameter(
            f"noise_sd has shape {noise.shape}: expected ({len(model.trees)}, n_rows or 1, {model.n_attributes}), one "
            "standard deviation for each tree, row and attribute"
        )
    return [each[0] if len(each) == 1 else each for each in noise]


def soften_per_tree(
    model: TreeSum,
    X: Floats,
    noise_sd: ArrayLike,
    *,
    form: str = "exact",
    flip: float = 0.0,
    level_shares: Sequence[ArrayLike | None] | None = None,
    tol: float = TOLERANCE,
    n_jobs: int | None = None,
) -> Softened:
    """Compute the expected margins where every tree has noise of its own.

    Parameters are those of `soften`, except for

    noise_sd : array (n_trees, 1, n_attributes) or (n_trees, n_rows, n_attributes)
        Standard deviation of the noise for each tree, row (or all rows) and attribute.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mean_of_trees([CARTClassifier(max_depth=depth).fit(X, y).tree_ for depth in (2, 3)])
    >>> noise_sd = np.array([0.2, 0.0])[:, None, None] * X.std(axis=0)
    >>> soften_per_tree(model, X[70:71], noise_sd).margins.round(3)
    array([[0.   , 0.342, 0.658]])
    """
    terms, noise = single_trees(model), noise_of_trees(model, noise_sd)

    def work(number: int) -> Softened:
        options: dict[str, Any] = {"form": form, "flip": flip, "level_shares": level_shares, "tol": tol}
        return soften(terms[number], X, noise[number], **options)

    parts = map_members(work, len(terms), n_jobs)
    margins, bound = np.tile(model.offset, (len(X), 1)), np.zeros(len(X))
    for part in parts:
        margins += part.margins
        bound += part.bound
    return Softened(margins, bound)


def gradient_per_tree(model: TreeSum, X: Floats, noise_sd: ArrayLike, **options: Any) -> Floats:
    """Differentiate every expected margin by every attribute where every tree has noise of its own; see `gradient`.

    Parameters are those of `soften_per_tree`.
    """
    n_jobs = options.pop("n_jobs", None)
    terms, noise = single_trees(model), noise_of_trees(model, noise_sd)
    slopes = map_members(lambda number: gradient(terms[number], X, noise[number], **options), len(terms), n_jobs)
    return np.asarray(sum(slopes))


def least_noise(model: TreeSum, noise_sd: Floats) -> Floats:
    """Return the least noise of any tree that tests an attribute, (1 or n_rows, n_attributes).

    A move of the row is longest in these units, so a certificate in them holds for every tree. By Jensen's inequality
    it then holds for the sum: the share that a tree may lose by a move is concave in its share.
    """
    is_tested = np.zeros((len(model.trees), model.n_attributes), dtype=bool)
    for number, tree in enumerate(model.trees):
        is_tested[number, tree.attribute[tree.attribute >= 0]] = True
    least = np.where(is_tested[:, None, :], noise_sd, np.inf).min(axis=0)
    return np.asarray(np.where(np.isfinite(least), least, noise_sd.max(axis=0)))


# --- derivatives by the amounts ---


@dataclass(frozen=True, eq=False)
class AmountSlopes:
    """Derivatives of a weighted sum of a model's margins by the logarithms of the amounts of noise.

    Parameters
    ----------
    model : TreeSum
    form : {"exact", "path"}, default="exact"
    tol : float, default=1e-7
        Weight below which a branch is left out. It changes a row's derivative at each split by at most about 30 times
        as much, as a share of the spread of a tree's values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mean_of_trees([CARTClassifier(max_depth=2).fit(X, y).tree_])
    >>> third_class = np.array([[0.0, 0.0, 1.0]])
    >>> AmountSlopes(model).of_tree(0, X[70:71], 0.2 * X.std(axis=0), third_class).round(3)
    array([ 0.  ,  0.  ,  0.  , -0.11])
    """

    model: TreeSum
    form: str = "exact"
    tol: float = SLOPE_TOLERANCE

    @cached_property
    def _splits(self) -> list[tuple[Any, ...]]:
        """For the nodes of each tree: shares of missing values, thresholds, and the splits that limit an attribute."""
        model = self.model
        thresholds = programs_of(model, np.zeros(model.n_levels.sum()), self.form == "path").thresholds
        limits = [self._limits(number, thresholds.of_nodes[number]) for number in range(len(model.trees))]
        return list(zip(model.shares, thresholds.of_nodes, thresholds.last, limits))

    def _limits(self, number: int, thresholds: Floats) -> NDArray[np.int32]:
        """Return for every split the splits above it that bound its attribute; none if every test has its own noise."""
        tree = self.model.trees[number]
        limits = np.full((tree.n_nodes, 2), -1, dtype=np.int32)
        if self.form == "exact":
            kernel.fill_limits(tree.nodes, thresholds, parents_of(tree.nodes).astype(np.int32), limits)
        return limits

    def of_tree(self, number: int, rows: Floats, noise_sd: Floats, rates: Floats) -> Floats:
        """Differentiate the sum of ``rates * margins`` by the logarithm of each attribute's noise in one tree.

        Parameters
        ----------
        number : int
            The tree.
        rows : float64 array (n_rows, n_attributes)
        noise_sd : float64 array (n_attributes,)
        rates : float64 array (n_rows, n_margins)
            Factors of the margins, such as the derivative of a loss by each of them.

        Returns
        -------
        float64 array (n_attributes,)
        """
        model, out = self.model, np.zeros(self.model.n_attributes)
        tree, output = model.trees[number], int(model.outputs[number])
        used = rates if output < 0 else rates[:, output : output + 1]
        leaves = np.ascontiguousarray(used @ (model.weights[number] * tree.values.T))
        inverse = np.divide(1.0, noise_sd, out=np.zeros(len(out)), where=(noise_sd > 0) & (model.n_levels == 0))
        kernel.add_slopes(tree, self._splits[number], (finite(rows), inverse, leaves), self.tol, out)
        return out
