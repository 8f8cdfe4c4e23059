"""Gradient boosting from nothing: its trees are those of Newton's method, written plainly here."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.aspen.boosted_corrections import Pace
from tremula.aspen.gradient_rounds import FLOOR, LARGEST_RESIDUAL, GradientRounds
from tremula.aspen.softmax import softmax_of_rows
from tremula.perturb.sample import Sample
from tremula.trees.columns import read_columns
from tremula.trees.tree import Tree

PACE = Pace(n_rounds=1, patience=1, rate=0.3, shrinkage=1.0)


def rounds_of(X: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray) -> GradientRounds:
    columns = read_columns(np.ascontiguousarray(X), np.zeros(X.shape[1], np.int32))
    return GradientRounds(columns, Sample(codes, n_classes, X.shape[1], None), weights, PACE)


def leaves_of(tree: Tree, X: np.ndarray) -> np.ndarray:
    return np.asarray(tree.apply(np.ascontiguousarray(X)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaves_hold_newton_steps(n_classes: int) -> None:
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(300, 4)), random.integers(0, n_classes, 300)
    weights = np.where(np.arange(300) < 200, 1.0, 0.0)
    margins = random.normal(size=(300, n_classes))
    shares, used = softmax_of_rows(margins), weights > 0
    grown = rounds_of(X, codes, n_classes, weights).grow(margins, np.random.default_rng(1))
    trees = [each.tree for each in grown]
    assert len(trees) == (1 if n_classes == 2 else n_classes)
    for number, tree in enumerate(trees):
        k = 1 if n_classes == 2 else number
        leaves, answers = leaves_of(tree, X), tree.predict_values(X)
        for leaf in np.unique(leaves[used]):
            rows = used & (leaves == leaf)
            gradient = ((codes == k) - shares[:, k])[rows].sum()
            curvature = (shares[:, k] * (1.0 - shares[:, k]))[rows].sum()
            step = PACE.rate * gradient / (curvature + PACE.shrinkage)
            expected = [-step / 2, step / 2] if n_classes == 2 else step * (np.arange(n_classes) == k)
            np.testing.assert_allclose(answers[rows], np.tile(expected, (rows.sum(), 1)), atol=1e-12)


def test_the_first_split_has_the_largest_gain_of_newton_steps() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 1))  # one attribute is drawn: the only one
    codes = (X[:, 0] > 0.3).astype(int) ^ (random.random(120) < 0.1)
    margins = random.normal(size=(120, 2))
    (grown,) = rounds_of(X, codes, 2, np.ones(120)).grow(margins, np.random.default_rng(1))
    tree = grown.tree
    shares = softmax_of_rows(margins)[:, 1]
    curvature = np.maximum(shares * (1 - shares), FLOOR)
    target = np.clip((codes - shares) / curvature, -LARGEST_RESIDUAL, LARGEST_RESIDUAL)

    def gain(cut: float) -> float:
        left = X[:, 0] <= cut
        sides = [side for side in (left, ~left) if curvature[side].sum() >= 1.0]
        return sum((curvature * target)[side].sum() ** 2 / curvature[side].sum() for side in sides) * (len(sides) == 2)

    ordered = np.sort(X[:, 0])
    cuts = (ordered[1:] + ordered[:-1]) / 2
    gains = [gain(cut) for cut in cuts]
    assert gain(float(tree.threshold[0])) == pytest.approx(max(gains), rel=1e-3)


def test_steps_are_added_by_leaf_as_by_the_tree() -> None:
    random = np.random.default_rng(3)
    X, codes = random.normal(size=(200, 5)), random.integers(0, 3, 200)
    margins = random.normal(size=(200, 3))
    for grown in rounds_of(X, codes, 3, np.ones(200)).grow(margins, np.random.default_rng(1)):
        assert grown.leaves is not None
        by_leaf, by_tree = margins.copy(), margins.copy()
        grown.add(X, by_leaf)
        grown.tree.add_values(X, 1.0, by_tree)
        np.testing.assert_array_equal(by_leaf, by_tree)
        assert not np.array_equal(by_leaf, margins)
