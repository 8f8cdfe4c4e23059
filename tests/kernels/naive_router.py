"""A slow, obvious router, which the kernels that send rows down trees must equal."""

import numpy as np

from tremula.trees.tree import Tree


def branch_taken(tree: Tree, node: int, row: np.ndarray) -> int | None:
    """Branch of a row at a split, None where it has no value that the split knows."""
    record, x = tree.nodes[node], row[tree.attribute[node]]
    if record["index"] in (-1, -3, -4):
        if np.isnan(x):
            return {-1: None, -3: 0, -4: 1}[int(record["index"])]
        return int(x >= record["threshold"] if tree.strict else x > record["threshold"])
    is_level = x in range(tree.n_levels[record["attribute"]])
    if record["index"] == -2:
        return int(x) if is_level else None
    branch = int(tree.subsets[record["index"] + int(x)]) if is_level else 2
    return branch if branch < 2 else {1.0: 0, 2.0: 1}.get(float(record["threshold"]))


def shares_of_branches(tree: Tree, node: int) -> list[float]:
    children = range(tree.first_child[node], tree.first_child[node] + tree.n_branches[node])
    weights = [float(tree.weight[child]) for child in children]
    return [weight / sum(weights) if sum(weights) > 0 else 1 / len(weights) for weight in weights]


def nodes_reached(tree: Tree, row: np.ndarray) -> list[tuple[int, float]]:
    """Nodes that a row reaches, level by level, with its share in each."""
    reached = [(0, 1.0)]
    for node, share in reached:  # grows while it is read
        if tree.is_leaf[node]:
            continue
        branch = branch_taken(tree, node, row)
        for each, part in enumerate(shares_of_branches(tree, node)):
            if branch == each:
                reached.append((int(tree.first_child[node]) + each, share))
            elif branch is None and share * part > 0:
                reached.append((int(tree.first_child[node]) + each, share * part))
    return reached


def expected_value(tree: Tree, row: np.ndarray, node: int = 0) -> np.ndarray:
    """Expected leaf value by its definition, from the node down."""
    if tree.is_leaf[node]:
        return tree.values[tree.nodes["index"][node]]
    branch, first = branch_taken(tree, node, row), int(tree.first_child[node])
    if branch is not None:
        return expected_value(tree, row, first + branch)
    total = np.zeros(tree.n_outputs)
    for each, share in enumerate(shares_of_branches(tree, node)):
        total += share * expected_value(tree, row, first + each)
    return total


def heaviest_leaf(tree: Tree, row: np.ndarray) -> int:
    node = 0
    while not tree.is_leaf[node]:
        branch = branch_taken(tree, node, row)
        children = tree.weight[tree.first_child[node] : tree.first_child[node] + tree.n_branches[node]]
        node = int(tree.first_child[node]) + (int(np.argmax(children)) if branch is None else branch)
    return node
