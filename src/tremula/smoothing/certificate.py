"""How far a row may move before its smoothed answer can change. Deterministic: it holds for every direction.

A mean over Gaussian noise of a function with values in [lo, hi], put through Φ⁻¹((· - lo) / (hi - lo)), changes by at
most 1 while the row moves by one standard deviation of the noise; two answers that differ therefore keep
their order up to some distance. For the path form this holds if every test on a path counts as one of an attribute of
its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tremula.errors import InvalidParameter
from tremula.trees.links import LINKS, LOGISTIC, SOFTMAX
from tremula.trees.structure import children_and_parents, depths_of, is_numeric
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

UNITS = ("noise", "attribute")
ROUNDING = 1e-11  # of the magnitude of the margins: above what rounding can do, and above what counts as a tie


# --- bounds of the model ---


def tests_on_path(tree: Tree) -> NDArray[np.int64]:
    """Count for every attribute its numeric tests on one path, the most over all paths; 0 if it is never tested.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> tests_on_path(C45Classifier().fit(*load_iris(return_X_y=True)).tree_)
    array([0, 0, 1, 3])
    """
    nodes = tree.nodes
    counts = np.zeros((len(nodes), tree.n_attributes), dtype=np.int64)
    children, parents = children_and_parents(nodes)
    depths = depths_of(nodes)[children]
    for depth in range(1, depths.max(initial=0) + 1):
        child, parent = children[depths == depth], parents[depths == depth]
        counts[child] = counts[parent]
        numeric = is_numeric(nodes)[parent]
        counts[child[numeric], nodes["attribute"][parent[numeric]]] += 1
    return np.asarray(counts.max(axis=0))


def most_tests(model: TreeSum) -> NDArray[np.int64]:
    """Count for every attribute the tests on one path, the most over all paths of all trees."""
    return np.asarray(np.max([tests_on_path(tree) for tree in model.trees], axis=0))


def tested_nominal(model: TreeSum) -> NDArray[np.bool_]:
    """Whether any tree tests each nominal attribute."""
    tested = np.zeros(model.n_attributes, dtype=bool)
    for tree in model.trees:
        nodes = tree.nodes[tree.nodes["n_branches"] > 0]
        tested[nodes["attribute"][~is_numeric(nodes)]] = True
    return tested


def _extremes(values: Floats, weight: float) -> tuple[Floats, Floats]:
    ends = weight * values.min(axis=0), weight * values.max(axis=0)
    return np.minimum(*ends), np.maximum(*ends)


def margin_ranges(model: TreeSum, less: int | None = None) -> tuple[Floats, Floats]:
    """Return bounds of each margin, or of the difference between one margin and each of all.

    They are sums of the extremes of the trees, so no row has a margin outside them.

    Parameters
    ----------
    model : TreeSum
    less : int or None, default=None
        The margin from which the others are subtracted; None bounds each margin itself.

    Returns
    -------
    low, high : float64 arrays (n_margins,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> model = mean_of_trees([C45Classifier().fit(*load_iris(return_X_y=True)).tree_])
    >>> [ends.round(2).tolist() for ends in margin_ranges(model, less=0)]
    [[0.0, -0.98, -1.0], [0.0, 1.0, 1.0]]
    """
    low = (model.offset if less is None else model.offset[less] - model.offset).astype(np.float64)
    high = low.copy()
    for tree, weight, output in zip(model.trees, model.weights, model.outputs):
        if output < 0:
            values = tree.values
        else:
            values = np.zeros((len(tree.values), model.n_margins))
            values[:, output] = tree.values[:, 0]
        least, most = _extremes(values if less is None else values[:, [less]] - values, weight)
        low, high = low + least, high + most
    return low, high


def rounding_slack(model: TreeSum) -> float:
    """Bound the error of a margin by rounding, together with the difference that still counts as a tie.

    It is relative to the terms of the sum. Shares made from margins by a link lie in [0, 1] whatever the
    magnitude of the margins, so a tie of shares is not relative to the margins.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> from tremula.trees.tree_sum import mean_of_trees
    >>> rounding_slack(mean_of_trees([C45Classifier().fit(*load_iris(return_X_y=True)).tree_]))
    1e-11
    """
    terms = [abs(weight) * np.abs(tree.values).max() for tree, weight in zip(model.trees, model.weights)]
    magnitude = float(np.abs(model.offset).max() + np.sum(terms))
    return ROUNDING * (magnitude + (model.link in (LOGISTIC, SOFTMAX)))


# --- the radius, in standard deviations of the noise ---


def _distance(differences: Floats, slack: Floats, low: float, high: float) -> Floats:
    """How far a row may move before a mean that is now `differences` can be 0."""
    if low >= 0.0:
        return np.where(differences > slack, np.inf, 0.0)
    if high <= 0.0:
        return np.zeros(len(differences))
    safe = differences - slack
    shares = np.clip((safe - low) / (high - low), 0.0, 1.0)
    return np.asarray(np.maximum(ndtri(shares) - ndtri(-low / (high - low)), 0.0))


def _half_distance(own: Floats, other: Floats, slack: Floats) -> Floats:
    """Return the same for two class shares, each of which is bounded by itself."""
    least, most = np.clip(own - slack, 0.0, 1.0), np.clip(other + slack, 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        apart = 0.5 * (ndtri(least) - ndtri(most))
    return np.asarray(np.maximum(np.nan_to_num(apart, nan=0.0, posinf=np.inf, neginf=0.0), 0.0))


def certified_radii(model: TreeSum, margins: Floats, bound: Floats) -> Floats:
    """Radius of each row within which the class of the largest margin stays the same.

    Parameters
    ----------
    model : TreeSum
        Whose smoothed margins are given; the link must keep the order of the margins.
    margins : float64 array (n_rows, n_margins)
    bound : float64 array (n_rows,)
        How far the margins may be from their exact values.

    Returns
    -------
    float64 array (n_rows,)
        In standard deviations of the noise; 0 where two classes are tied, infinite where no other class can win.
    """
    if not model.link.keeps_order:
        certified = ", ".join(repr(link.name) for link in LINKS.values() if link.keeps_order)
        raise InvalidParameter(
            f"a model whose answers are made by the link {model.link.name!r} has no certificate: links {certified} "
            "have one"
        )
    bound = bound + rounding_slack(model)
    if model.n_margins == 1:
        (low,), (high,) = margin_ranges(model)
        up, down = _distance(margins[:, 0], bound, low, high), _distance(-margins[:, 0], bound, -high, -low)
        return np.maximum(up, down)
    least, most = margin_ranges(model)
    # Class shares alone lie in [0, 1] each.
    are_shares = model.link.is_identity and bool(np.all(least >= 0.0) and np.all(most <= 1.0 + ROUNDING))
    radii = np.full(len(margins), np.inf)
    winners = margins.argmax(axis=1)
    for winner in np.unique(winners):
        rows = winners == winner
        radii[rows] = _nearest_other(model, margins[rows], bound[rows], int(winner), are_shares)
    return radii


def _nearest_other(model: TreeSum, margins: Floats, bound: Floats, winner: int, are_shares: bool) -> Floats:
    """Return the least distance to a tie with another class, by the better of two bounds for each class."""
    low, high = margin_ranges(model, less=winner)
    radii = np.full(len(margins), np.inf)
    for other in range(model.n_margins):
        if other == winner:
            continue
        apart = _distance(margins[:, winner] - margins[:, other], 2 * bound, low[other], high[other])
        if are_shares:
            apart = np.maximum(apart, _half_distance(margins[:, winner], margins[:, other], bound))
        radii = np.minimum(radii, apart)
    return radii


def certified_interval(model: TreeSum, margins: Floats, bound: Floats, radii: Floats) -> tuple[Floats, Floats]:
    """Least and largest margin that a row can have after it moved by at most `radii` standard deviations."""
    if not model.link.is_increasing or model.n_margins != 1:
        raise InvalidParameter(
            f"a model whose answers are made by the link {model.link.name!r} has no certified interval: use a model "
            "that is one sum of trees"
        )
    (low,), (high,) = margin_ranges(model)
    slack = bound + rounding_slack(model)
    if low == high:
        return low - slack, high + slack
    least = ndtr(ndtri(np.clip((margins[:, 0] - slack - low) / (high - low), 0.0, 1.0)) - radii)
    most = ndtr(ndtri(np.clip((margins[:, 0] + slack - low) / (high - low), 0.0, 1.0)) + radii)
    rounding = rounding_slack(model)
    return low + (high - low) * least - rounding, low + (high - low) * most + rounding


# --- other units ---


def radii_in_unit(
    radii: Floats, unit: str, noise_sd: Floats, n_tests: NDArray[np.int64], nominal_tested: NDArray[np.bool_]
) -> Floats:
    """Convert radii to standard deviations of the noise, or to the distance that each attribute may move alone.

    Parameters
    ----------
    radii : float64 array (n_rows,)
    unit : {"noise", "attribute"}
    noise_sd : float64 array (n_rows, n_attributes)
    n_tests : int array (n_attributes,)
        How often the noise on an attribute is drawn anew on a path: 1 in the exact form, its number of tests in the
        path form; 0 where it is not tested.
    nominal_tested : bool array (n_attributes,)
        Nominal attributes that are tested, for which no change is certified.

    Returns
    -------
    float64 array (n_rows,) or (n_rows, n_attributes)
    """
    if unit == "noise":
        tests = np.where(noise_sd > 0, n_tests, 0).max(axis=1, initial=1)
        return np.asarray(radii / np.sqrt(tests))
    with np.errstate(invalid="ignore"):
        distances = radii[:, None] * noise_sd / np.sqrt(np.maximum(n_tests, 1))
    distances[np.broadcast_to(n_tests == 0, distances.shape)] = np.inf
    distances[(n_tests > 0) & (noise_sd == 0)] = 0.0
    distances[:, nominal_tested] = 0.0
    return distances
