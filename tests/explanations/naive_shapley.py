"""Shapley values by their definition, a mean over all sets of known attributes; what the kernel must equal."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial

import numpy as np
from tests.kernels.naive_router import branch_taken, expected_value, shares_of_branches

from tremula.trees.tree import Tree

Worth = Callable[[frozenset[int]], np.ndarray]


def shapley_values(n_attributes: int, worth: Worth) -> np.ndarray:
    """Shapley value of every attribute, given what every set of known attributes is worth."""
    sets = [frozenset(each) for size in range(n_attributes + 1) for each in combinations(range(n_attributes), size)]
    worths = {known: np.asarray(worth(known)) for known in sets}
    values = np.zeros((n_attributes, *worths[frozenset()].shape))
    for attribute in range(n_attributes):
        for known in sets:
            if attribute not in known:
                n_known = len(known)
                share = factorial(n_known) * factorial(n_attributes - n_known - 1) / factorial(n_attributes)
                values[attribute] += share * (worths[known | {attribute}] - worths[known])
    return values


def worth_by_shares(tree: Tree, row: np.ndarray, known: frozenset[int], node: int = 0) -> np.ndarray:
    """Expected value of a tree if an unknown attribute takes every branch by its training weight."""
    if tree.is_leaf[node]:
        return tree.values[tree.nodes["index"][node]]
    first, branch = int(tree.first_child[node]), None
    if int(tree.attribute[node]) in known:
        branch = branch_taken(tree, node, row)
    if branch is not None:
        return worth_by_shares(tree, row, known, first + branch)
    total = np.zeros(tree.n_outputs)
    for each, share in enumerate(shares_of_branches(tree, node)):
        total += share * worth_by_shares(tree, row, known, first + each)
    return total


def worth_by_background(
    answer: Callable[[np.ndarray], np.ndarray], row: np.ndarray, background: np.ndarray, known: frozenset[int]
) -> np.ndarray:
    """Mean answer if unknown attributes have the values of background rows."""
    mixed = background.copy()
    mixed[:, sorted(known)] = row[sorted(known)]
    return np.asarray(answer(mixed)).mean(axis=0)


def answers_of(tree: Tree) -> Callable[[np.ndarray], np.ndarray]:
    return lambda rows: np.array([expected_value(tree, row) for row in rows])


def worth_by_leaves(
    tree: Tree, known: frozenset[int], probability: Callable[[int, Sequence[tuple[int, int]]], float]
) -> np.ndarray:
    """Expected value of a tree as a sum over leaves, given the probability that an attribute passes its tests.

    `probability` takes a known attribute and its tests on the path, as pairs of node and branch.
    """
    total = np.zeros(tree.n_outputs)

    def visit(node: int, tests: list[tuple[int, int]]) -> None:
        if tree.is_leaf[node]:
            factor = 1.0
            for attribute in {int(tree.attribute[above]) for above, _ in tests}:
                own = [(above, branch) for above, branch in tests if tree.attribute[above] == attribute]
                if attribute in known:
                    factor *= probability(attribute, own)
                else:
                    factor *= np.prod([shares_of_branches(tree, above)[branch] for above, branch in own])
            total[:] += factor * tree.values[tree.nodes["index"][node]]
            return
        for branch in range(int(tree.n_branches[node])):
            visit(int(tree.first_child[node]) + branch, [*tests, (node, branch)])

    visit(0, [])
    return total
