"""Aspen's boosting grows the same trees whatever the last bits of its margins are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from tremula.aspen.boosted_corrections import ClassRounds, NumberRounds
from tremula.aspen.gradient_rounds import GradientRounds
from tremula.perturb.sample import Sample
from tremula.trees.columns import read_columns


@pytest.mark.parametrize("kind", [ClassRounds, GradientRounds, NumberRounds])
def test_last_bits_of_the_margins_do_not_change_a_tree(kind: Any) -> None:
    is_class = kind is not NumberRounds
    X, y = (load_breast_cancer if is_class else load_diabetes)(return_X_y=True)
    X = np.ascontiguousarray(X, float)
    columns = read_columns(X, np.zeros(X.shape[1], np.int32))
    random = np.random.default_rng(0)
    margins = random.normal(size=(len(X), 2)) if is_class else random.normal(y.mean(), y.std(), size=(len(X), 1))
    rounds = kind(
        columns,
        Sample(target=y, weights=None, n_attributes=X.shape[1], n_classes=2 * is_class),
        np.ones(len(X)),
    )
    trees = [
        rounds.grow(margins * (1 + 2e-16 * random.integers(-3, 4, margins.shape)), np.random.default_rng(1))[0].tree
        for _ in range(10)
    ]
    assert len(trees[0].nodes) > 10
    assert len({tree.nodes[["attribute", "threshold"]].tobytes() for tree in trees}) == 1
