"""Drawn trees: every node has its place, and no label lies on another."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.transforms import Bbox

from tremula.trees.export.plotting import plot_tree
from tremula.trees.tree import NODE_DTYPE, Tree


@pytest.fixture(autouse=True)
def closed_figures() -> object:
    yield
    plt.close("all")


def random_tree(n_leaves: int, n_outputs: int) -> Tree:
    rng = np.random.default_rng(0)
    nodes = np.zeros(2 * n_leaves - 1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"] = -1, rng.integers(1, 100, size=len(nodes))
    leaves = [0]
    for first in range(1, len(nodes), 2):
        node = leaves.pop(int(rng.integers(len(leaves))))
        nodes[node] = (rng.normal(), nodes["weight"][node], rng.integers(5), first, 2, -1)
        leaves += [first, first + 1]
    nodes["index"][leaves] = np.arange(n_leaves)
    values = rng.dirichlet(np.ones(n_outputs), n_leaves) if n_outputs > 1 else rng.normal(size=(n_leaves, 1))
    return Tree(nodes, values, [], np.zeros(5), strict=False)


def text_boxes(ax: plt.Axes) -> list[Bbox]:
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def overlaps(boxes: list[Bbox]) -> int:
    return sum(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])


@pytest.mark.parametrize("n_outputs", [1, 3, 12])
def test_thirty_leaves_fit_without_overlap(n_outputs: int) -> None:
    ax = plot_tree(random_tree(30, n_outputs))
    assert len(ax.texts) == 30 + 58
    assert overlaps(text_boxes(ax)) == 0


def test_thirty_leaves_fit_into_a_given_column_width() -> None:
    _, ax = plt.subplots(figsize=(7, 7), layout="constrained")
    assert plot_tree(random_tree(30, 3), ax=ax) is ax
    assert overlaps(text_boxes(ax)) == 0


def test_labels_are_inside_the_figure() -> None:
    ax = plot_tree(random_tree(10, 3), class_names=["first", "second", "third"])
    ax.figure.canvas.draw()
    whole = ax.figure.bbox
    for box in text_boxes(ax):
        assert box.x0 >= whole.x0
        assert box.x1 <= whole.x1
        assert box.y0 >= whole.y0
        assert box.y1 <= whole.y1


def test_deep_splits_are_drawn_as_one_box() -> None:
    ax = plot_tree(random_tree(30, 3), max_depth=1)
    assert [text.get_text() for text in ax.texts if "leaves" in text.get_text()]
    assert len(ax.texts) == 4


def test_names_are_not_read_as_formulas() -> None:
    ax = plot_tree(random_tree(2, 2), feature_names=["$x", "y$", "$x", "y$", "_^$"], class_names=["<$50", ">$50"])
    ax.figure.canvas.draw()


def test_a_leaf_alone_is_drawn() -> None:
    tree = Tree(np.array([(0, 7, -1, 0, 0, 0)], dtype=NODE_DTYPE), [[0.25, 0.75]], [], [0], strict=False)
    assert [text.get_text() for text in plot_tree(tree).texts] == ["1 (7, p=0.75)"]
