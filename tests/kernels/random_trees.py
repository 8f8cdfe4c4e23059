"""Sound random trees with splits of every kind, and rows that try them: what kernels and their slow twins are given."""

import numpy as np

from tremula.trees.tree import NODE_DTYPE, Tree

N_LEVELS = np.array([0, 3, 0, 5, 2], dtype=np.int32)
GRID = np.arange(5.0)


def random_tree(
    rng: np.random.Generator, n_outputs: int = 3, most_splits: int = 14, only_numeric: bool = False
) -> Tree:
    """A sound tree with splits of every kind; attributes come again on a path, and some tests no value passes."""
    nodes = np.zeros(400, dtype=NODE_DTYPE)
    subsets: list[int] = []
    waiting, n_nodes, n_splits = [0], 1, int(rng.integers(0, most_splits))
    values = rng.dirichlet(np.ones(n_outputs), size=6) if n_outputs > 1 else rng.normal(size=(6, 1))
    values[0] = 1 / n_outputs  # every class alike
    values[1:3] = np.eye(n_outputs)[0]  # one class alone
    nodes["weight"] = rng.choice([0.0, 0.0, 1.0, 2.5, 7.0, 1 / 3], size=len(nodes))
    while waiting:
        node = waiting.pop(int(rng.integers(len(waiting))))
        if n_splits == 0:
            nodes[node] = (np.nan, nodes["weight"][node], -1, 0, 0, rng.integers(len(values)))
            continue
        n_splits -= 1
        attribute = int(rng.choice(np.flatnonzero(N_LEVELS == 0)) if only_numeric else rng.integers(len(N_LEVELS)))
        n_levels, threshold, n_branches, index = int(N_LEVELS[attribute]), np.nan, 2, -1
        if n_levels == 0:
            threshold = rng.choice(GRID)
        elif rng.random() < 0.4:
            n_branches, index = n_levels, -2
        else:
            index = len(subsets)
            subsets += rng.integers(0, 3, size=n_levels).tolist()
        nodes[node] = (threshold, nodes["weight"][node], attribute, n_nodes, n_branches, index)
        waiting += range(n_nodes, n_nodes + n_branches)
        n_nodes += n_branches
    tree = Tree(nodes[:n_nodes].copy(), values, np.array(subsets, np.uint8), N_LEVELS, bool(rng.integers(2)))
    tree.check()
    return tree


def with_missing_branches(rng: np.random.Generator, tree: Tree) -> Tree:
    """The tree with a branch for missing values at some of its splits."""
    nodes = tree.nodes.copy()
    named = ~tree.is_leaf & (rng.random(tree.n_nodes) < 0.6)
    numeric, subset = named & (nodes["index"] == -1), named & (nodes["index"] >= 0)
    nodes["index"][numeric] = rng.choice([-3, -4], size=numeric.sum())
    nodes["threshold"][subset] = rng.choice([1.0, 2.0], size=subset.sum())
    made = Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict)
    made.check()
    return made


def random_rows(rng: np.random.Generator, n_rows: int = 100) -> np.ndarray:
    """Rows that often equal a threshold, some with missing values and levels that do not exist."""
    rows = rng.choice(GRID, size=(n_rows, len(N_LEVELS)))
    nominal = N_LEVELS > 0
    rows[:, nominal] = rng.integers(0, N_LEVELS[nominal], size=(n_rows, nominal.sum()))
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.1, 0.5])] = np.nan
    odd = rng.random(rows.shape) < 0.02
    rows[odd] = rng.choice([-1.0, 5.0, 1e300, np.inf, -np.inf], size=odd.sum())
    return rows
