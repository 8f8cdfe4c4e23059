"""The models of nodes: attributes chosen as by the rules written down plainly, whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.trees.m5.linear_models import NodeModels, fit_node_models
from tremula.trees.structure import NODE_DTYPE

from .naive_m5 import choose_model

LEAF = (0.0, 0.0, -1, 0, 0, -1)


def chain_of_splits(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A tree whose splits test one attribute after the other, and the leaf of each row."""
    n_attributes = X.shape[1]
    nodes = np.array([LEAF] * (2 * n_attributes + 1), dtype=NODE_DTYPE)
    leaves = np.zeros(len(X), np.int32)
    node = 0
    for attribute in range(n_attributes):
        inside = leaves == node
        threshold = float(np.quantile(X[inside, attribute], 0.1))
        nodes[node] = (threshold, inside.sum(), attribute, 2 * attribute + 1, 2, -1)
        leaves[inside] = np.where(X[inside, attribute] <= threshold, 2 * attribute + 1, 2 * attribute + 2)
        node = 2 * attribute + 2
    for leaf in np.flatnonzero(nodes["n_branches"] == 0):
        nodes["weight"][leaf] = np.count_nonzero(leaves == leaf)
    return nodes, leaves


def fit_root(X: np.ndarray, y: np.ndarray) -> tuple[NodeModels, np.ndarray]:
    """The models of a chain of splits, and that of its root, for which every attribute is a candidate."""
    nodes, leaves = chain_of_splits(X)
    fitted = fit_node_models(nodes, leaves, X, y, np.ones(len(y)))
    return fitted, fitted.models[0]


@pytest.mark.parametrize("seed", range(15))
def test_attributes_are_chosen_as_written_down_plainly(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 7)) @ random.normal(size=(7, 7))
    y = X[:, 0] - 2 * X[:, 3] + random.normal(scale=3, size=80)
    fitted, model = fit_root(X, y)
    chosen, constant = choose_model(X, y, list(range(7)))
    assert np.flatnonzero(model[:-1]).tolist() == sorted(chosen)
    assert model[:-1][sorted(chosen)] == pytest.approx([chosen[a] for a in sorted(chosen)], rel=1e-6)
    assert model[-1] == pytest.approx(constant, rel=1e-6, abs=1e-6)
    assert fitted.squares[0] == pytest.approx(((X @ model[:-1] + model[-1] - y) ** 2).sum())
    assert fitted.n_terms[0] == len(chosen)


def test_every_node_has_the_model_of_its_own_rows_and_attributes() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = X @ [1.0, 0.0, 2.0, 0.0, 0.5] + random.normal(size=300)
    nodes, leaves = chain_of_splits(X)
    fitted = fit_node_models(nodes, leaves, X, y, np.ones(300))
    for attribute in range(5):
        inside = leaves >= 2 * attribute + 1 if attribute else leaves >= 0
        chosen, _ = choose_model(X[inside], y[inside], list(range(attribute, 5)))
        assert np.flatnonzero(fitted.models[2 * attribute, :-1]).tolist() == sorted(chosen)


def test_the_same_attribute_twice_is_no_trouble() -> None:
    random = np.random.default_rng(1)
    X = np.repeat(random.normal(size=(60, 2)), 2, axis=1)
    y = X[:, 0] + 3 * X[:, 2] + random.normal(scale=0.1, size=60)
    _, model = fit_root(X, y)
    once = np.linalg.lstsq(np.column_stack([X[:, ::2], np.ones(60)]), y, rcond=None)[0]
    assert X @ model[:-1] + model[-1] == pytest.approx(X[:, ::2] @ once[:-1] + once[-1], abs=1e-5)


def test_a_constant_attribute_has_no_coefficient() -> None:
    random = np.random.default_rng(2)
    X = np.column_stack([random.normal(size=50), np.full(50, 7.0)])
    _, model = fit_root(X, 2 * X[:, 0] + random.normal(scale=0.1, size=50))
    assert model[1] == 0.0
    assert model[0] != 0.0


def test_units_far_apart_are_no_trouble() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(100, 3)) * [1e-8, 1.0, 1e8] + [0.0, 1e3, 1e9]
    y = X @ [1e8, 2.0, 3e-8] + random.normal(scale=0.1, size=100)
    _, model = fit_root(X, y)
    assert model[:-1] == pytest.approx([1e8, 2.0, 3e-8], rel=0.1)


def test_weights_are_rows_given_more_than_once() -> None:
    random = np.random.default_rng(4)
    X, weights = random.normal(size=(90, 4)), random.integers(0, 3, size=90)
    y = X @ [1.0, 2.0, 0.0, 0.1] + random.normal(size=90)
    nodes, leaves = chain_of_splits(np.repeat(X, weights, axis=0))
    repeated = fit_node_models(
        nodes, leaves, np.repeat(X, weights, axis=0), np.repeat(y, weights), np.ones(len(leaves))
    )
    leaf_of_row = np.full(90, -1, np.int32)
    leaf_of_row[np.repeat(np.arange(90), weights)] = leaves
    weighted = fit_node_models(nodes, leaf_of_row, X, y, weights.astype(float))
    assert weighted.models == pytest.approx(repeated.models)
