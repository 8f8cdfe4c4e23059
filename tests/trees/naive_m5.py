"""M5' written down plainly: slow, by the rules alone, to compare the compiled one with."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np


@dataclass
class NaiveNode:
    """A node with its own rows; `model` maps attributes to coefficients, with the constant beside it."""

    X: np.ndarray
    y: np.ndarray
    attribute: int = -1
    threshold: float = np.nan
    branches: list[NaiveNode] = field(default_factory=list)
    model: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    @property
    def tested(self) -> list[int]:
        below = {attribute for branch in self.branches for attribute in branch.tested}
        return sorted(below | {self.attribute}) if self.branches else []

    @property
    def leaves(self) -> list[NaiveNode]:
        return [leaf for branch in self.branches for leaf in branch.leaves] if self.branches else [self]

    def answer(self, X: np.ndarray) -> np.ndarray:
        return self.constant + sum((c * X[:, a] for a, c in self.model.items()), np.zeros(len(X)))

    def squares(self) -> float:
        return float(((self.answer(self.X) - self.y) ** 2).sum())


def merit_of(y: np.ndarray, is_left: np.ndarray) -> float:
    def root(part: np.ndarray) -> float:
        return len(part) / len(y) * part.var() ** 0.2

    return float(y.var() ** 0.2 - root(y[is_left]) - root(y[~is_left]))


def best_split(X: np.ndarray, y: np.ndarray) -> tuple[int, float] | None:
    """The first attribute and lowest threshold of (nearly) the best merit; both sides have more than a fifth."""
    least = (len(y) // 5 if len(y) >= 5 else 1) + 1
    best, found = -1.0, None
    for attribute in range(X.shape[1]):
        known = np.unique(X[:, attribute])
        for low, high in pairwise(known):
            is_left = X[:, attribute] <= low
            if min(is_left.sum(), (~is_left).sum()) >= least and merit_of(y, is_left) > best + 1e-9:
                best, found = merit_of(y, is_left), (attribute, (low + high) / 2)
    return found


def grow(X: np.ndarray, y: np.ndarray, least_deviation: float) -> NaiveNode:
    node = NaiveNode(X, y)
    split = best_split(X, y) if len(y) >= 4 and y.std() > least_deviation else None
    if split is not None:
        node.attribute, node.threshold = split
        is_left = X[:, node.attribute] <= node.threshold
        node.branches = [grow(X[side], y[side], least_deviation) for side in (is_left, ~is_left)]
    return node


def least_squares(X: np.ndarray, y: np.ndarray, chosen: list[int]) -> tuple[np.ndarray, float, np.ndarray]:
    """Coefficients with the constant last, squared error, and the sizes of the coefficients in standard deviations."""
    columns = np.column_stack([X[:, chosen], np.ones(len(y))])
    found = np.linalg.lstsq(columns, y, rcond=None)[0]
    sizes = np.abs(found[:-1]) * X[:, chosen].std(axis=0) / y.std()
    return found, float(((columns @ found - y) ** 2).sum()), sizes


def choose_model(X: np.ndarray, y: np.ndarray, chosen: list[int]) -> tuple[dict[int, float], float]:
    """Drop collinear attributes, then those whose loss lowers Akaike's criterion."""
    found, squares, sizes = least_squares(X, y, chosen)
    while chosen and sizes.max() > 1.5:
        chosen = [a for i, a in enumerate(chosen) if i != sizes.argmax()]
        found, squares, sizes = least_squares(X, y, chosen)
    full, parameters = squares, len(chosen) + 1
    akaike = len(y) - parameters + 2 * len(chosen)
    while chosen:
        fewer = [a for i, a in enumerate(chosen) if i != sizes.argmin()]
        fewer_found, fewer_squares, fewer_sizes = least_squares(X, y, fewer)
        lower = fewer_squares / full * (len(y) - parameters) + 2 * len(fewer)
        if lower >= akaike:
            break
        chosen, found, sizes, akaike = fewer, fewer_found, fewer_sizes, lower
    return dict(zip(chosen, found[:-1].tolist())), float(found[-1])


def fit_models(node: NaiveNode) -> None:
    node.model, node.constant = choose_model(node.X, node.y, node.tested)
    for branch in node.branches:
        fit_models(branch)


def expected_error(squares: float, n_rows: int, n_parameters: int) -> float:
    factor = 10.0 if n_rows <= n_parameters else (n_rows + 2 * n_parameters) / (n_rows - n_parameters)
    return float(np.sqrt(squares / n_rows) * factor)


def prune(node: NaiveNode, deviation: float) -> int:
    """Cut off what is not expected to err less; return the parameters of what is left."""
    n_parameters = len(node.model) + 1
    if not node.branches:
        return n_parameters
    below = sum(prune(branch, deviation) for branch in node.branches) + 1
    own = expected_error(node.squares(), len(node.y), n_parameters)
    if own <= expected_error(sum(leaf.squares() for leaf in node.leaves), len(node.y), below) or own < 1e-5 * deviation:
        node.branches = []
        return n_parameters
    return below


def predict(node: NaiveNode, X: np.ndarray, smoothing: float) -> np.ndarray:
    """What the leaf answers, mixed with the answers of the nodes above it from the leaf up."""
    if not node.branches:
        return node.answer(X)
    out, own = np.empty(len(X)), node.answer(X)
    is_left = X[:, node.attribute] <= node.threshold
    for branch, side in zip(node.branches, (is_left, ~is_left)):
        weight = len(branch.y)
        out[side] = (weight * predict(branch, X[side], smoothing) + smoothing * own[side]) / (weight + smoothing)
    return out


def fit_naive_m5(X: np.ndarray, y: np.ndarray, pruned: bool) -> NaiveNode:
    root = grow(X, y, 0.05 * y.std())
    fit_models(root)
    if pruned:
        prune(root, y.std())
    return root
