"""An AD-tree holds every count, leaves the most common values out, and is refused where it would be too large."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.errors import InvalidInput, InvalidParameter
from tremula.queries import ADTreeOracle, ArrayOracle, Question
from tremula.queries.adtree import Node
from tremula.queries.question import narrow


def random_rows(n_rows: int = 80, n_attributes: int = 4, n_values: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.integers(n_values, size=(n_rows, n_attributes)), random.integers(2, size=n_rows)


def all_nodes(node: Node) -> list[Node]:
    children = [child for _, others in node.vary for child in others.values()]
    return [node, *(found for child in children for found in all_nodes(child))]


def test_one_attribute_needs_a_node_for_each_value_but_the_most_common() -> None:
    X = np.array([[0]] * 5 + [[1]] * 3 + [[2]] * 2)
    oracle = ADTreeOracle(X, [0, 1] * 5, categorical_features="all", max_list=0)
    assert oracle.n_nodes == 3  # the root, and those of 1 and 2
    ((common, others),) = oracle._root.vary
    assert common == 0
    assert set(others) == {1, 2}


def test_all_nodes_are_counted_and_their_counts_are_those_of_their_rows() -> None:
    X, y = random_rows()
    oracle = ADTreeOracle(X, y, categorical_features="all", max_list=0)
    nodes = all_nodes(oracle._root)
    assert len(nodes) == oracle.n_nodes
    assert oracle._root.counts.tolist() == np.bincount(y).tolist()
    for node in nodes:
        for _, others in node.vary:
            assert sum(child.counts.sum() for child in others.values()) <= node.counts.sum()


def test_binary_attributes_without_lists_need_at_most_a_node_for_each_set_of_them() -> None:
    X, y = random_rows(n_values=2)
    assert ADTreeOracle(X, y, categorical_features="all", max_list=0).n_nodes <= 2**4


def test_small_nodes_are_lists() -> None:
    X, y = random_rows()
    nodes = all_nodes(ADTreeOracle(X, y, categorical_features="all", max_list=16)._root)
    assert all((node.rows is None) == (node.counts.sum() >= 16) for node in nodes)
    assert any(node.rows is not None for node in nodes)


def test_lists_make_the_tree_smaller() -> None:
    X, y = random_rows()
    sizes = [ADTreeOracle(X, y, categorical_features="all", max_list=most).n_nodes for most in (0, 8, 32)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 1}, {"max_list": 0}, {"max_list": 1000}])
def test_answers_do_not_depend_on_the_limits(limits: dict[str, int]) -> None:
    X, y = random_rows()
    rows, tree = ArrayOracle(X, y, categorical_features="all"), ADTreeOracle(X, y, categorical_features="all", **limits)
    asked = [
        Question(narrow(narrow((), 3, 1, 1), 0, 0, 1), (1, 2)),
        Question((), (3, 1, 2), joint=True),
        Question(narrow((), 2, 0, 0), (2, 3)),
    ]
    for ours, expected in zip(tree.count(asked), rows.count(asked), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_depth_is_limited() -> None:
    X, y = random_rows()
    root = ADTreeOracle(X, y, categorical_features="all", max_list=0, max_depth=1)._root
    assert all(not child.vary for _, others in root.vary for child in others.values())


def test_a_tree_of_too_many_nodes_is_refused_with_advice() -> None:
    X, y = random_rows()
    with pytest.raises(InvalidInput, match="more than 10 nodes: give fewer attributes, a max_depth"):
        ADTreeOracle(X, y, categorical_features="all", max_list=0, max_nodes=10)


@pytest.mark.parametrize("limits", [{"max_list": -1}, {"max_nodes": 0}, {"max_depth": -1}, {"max_depth": 1.5}])
def test_limits_are_checked(limits: dict[str, float]) -> None:
    X, y = random_rows()
    with pytest.raises(InvalidParameter, match=next(iter(limits))):
        ADTreeOracle(X, y, categorical_features="all", **limits)
