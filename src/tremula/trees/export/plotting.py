"""Draws a tree with matplotlib: the root is at the left, and each leaf has a line, so that labels do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.trees.export.labels import Wording, count_leaves_below
from tremula.trees.tree import Tree

# The palette of Okabe and Ito, which colour-blind readers can distinguish; each leaf also names its class.
PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2", "#999999")
LINE_COLOUR = "#666666"
MAX_TEXT_LENGTH = 28
LARGEST_FONT, SMALLEST_FONT = 10.0, 3.0
# Width of a character and height of a leaf's line, relative to the font size.
CHARACTER_WIDTH, LINE_HEIGHT = 0.55, 2.3
POINTS_PER_INCH = 72.0
SMALLEST_FIGURE, LARGEST_FIGURE = 1.0, 100.0  # inches; renderers reject much larger figures


@dataclass(frozen=True)
class PlacedNode:
    """A node on the canvas: its depth, its height in lines from the top, and its texts.

    `prediction` is None for a split whose branches are drawn.
    """

    node: int
    parent: int
    depth: int
    height: float
    test: str
    prediction: str | None


def plot_tree(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    levels: Sequence[Sequence[Any] | None] | None = None,
    *,
    decimals: int | None = 3,
    max_depth: int | None = None,
    show_weights: bool = True,
    ax: Any = None,
    answers: Sequence[str] | None = None,
) -> Any:
    """Draw a tree.

    Parameters
    ----------
    tree : Tree
    feature_names, class_names, levels, decimals
        As in `export_text`.
    max_depth : int, optional
        A deeper split is drawn as one box with its number of leaves.
    show_weights : bool, default=True
        Whether leaves show their training weight, and the share of the predicted class if it is below 1.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure that is large enough for labels of 10 points.
    answers : sequence of str, optional
        Texts of the predictions of the leaves, in the order of their `index`, instead of their class or mean.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Leaves are coloured by their predicted class, paler if it is less probable, or by their mean.
    """
    words = Wording(tree, feature_names, class_names, levels, decimals, answers)
    placed = _lay_out(words, max_depth, show_weights)
    widths = _column_widths(placed)
    n_lines = sum(place.prediction is not None for place in placed)
    if ax is None:
        ax = _new_axes(sum(widths), n_lines)
    box = ax.get_window_extent()
    points = np.array([box.width, box.height]) * POINTS_PER_INCH / ax.figure.dpi
    room = points / [sum(widths) * CHARACTER_WIDTH, (n_lines + 0.4) * LINE_HEIGHT]
    size = float(np.clip(room.min(), SMALLEST_FONT, LARGEST_FONT))
    ax.set(xlim=(0, max(sum(widths), points[0] / (CHARACTER_WIDTH * size))), ylim=(n_lines - 0.4, -0.8))
    ax.axis("off")
    _draw(ax, words, placed, np.concatenate([[0], np.cumsum(widths)]), size)
    return ax


def _lay_out(words: Wording, max_depth: int | None, show_weights: bool) -> list[PlacedNode]:
    """Place the nodes to draw, children before their parent."""
    tree, n_leaves = words.tree, count_leaves_below(words.tree)
    depths, parents = {0: 0}, {0: -1}
    order: list[int] = []
    ends: set[int] = set()
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.is_leaf[node] or depths[node] == max_depth:
            ends.add(node)
            continue
        first = int(tree.first_child[node])
        children = list(range(first, first + int(tree.n_branches[node])))
        depths.update({child: depths[node] + 1 for child in children})
        parents.update(dict.fromkeys(children, node))
        stack += reversed(children)
    heights: dict[int, float] = {node: float(line) for line, node in enumerate(n for n in order if n in ends)}
    for node in reversed(order):
        if node not in ends:
            first, n_branches = int(tree.first_child[node]), int(tree.n_branches[node])
            heights[node] = (heights[first] + heights[first + n_branches - 1]) / 2

    def prediction(node: int) -> str:
        text = _shortened(words.prediction(node)) + (f" ({words.support(node)})" if show_weights else "")
        return text if tree.is_leaf[node] else f"{text} … {n_leaves[node]} leaves"

    def test(node: int) -> str:
        parent = parents[node]
        if parent < 0:
            return ""
        branch = node - int(tree.first_child[parent])
        return _shortened(f"{words.attribute(parent)} {words.test(parent, branch)}")

    return [
        PlacedNode(
            node, parents[node], depths[node], heights[node], test(node), prediction(node) if node in ends else None
        )
        for node in reversed(order)
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else text[: MAX_TEXT_LENGTH - 1] + "…"


def _column_widths(placed: list[PlacedNode]) -> list[int]:
    """Return the width in characters of each depth's tests, and that of the leaf texts beyond the last depth."""
    widths = [2] * (max(place.depth for place in placed) + 1)
    for place in placed:
        widths[place.depth] = max(widths[place.depth], len(place.test) + 3)
    ends = np.cumsum(widths)
    reach = max(ends[place.depth] + len(place.prediction) + 2 for place in placed if place.prediction is not None)
    return [*widths, int(reach - ends[-1])]


def _new_axes(n_characters: int, n_lines: int) -> Any:
    import matplotlib.pyplot as plt

    points = LARGEST_FONT * np.array([n_characters * CHARACTER_WIDTH, (n_lines + 0.4) * LINE_HEIGHT])
    figure = plt.figure(figsize=tuple(np.clip(points / POINTS_PER_INCH, SMALLEST_FIGURE, LARGEST_FIGURE)))
    return figure.add_axes((0, 0, 1, 1))


def _draw(ax: Any, words: Wording, placed: list[PlacedNode], left: np.ndarray, size: float) -> None:
    """Draw lines from each node to its branches, a test on each line, and a box at the end of each path."""
    colour_of = _colours(words, [place.node for place in placed if place.prediction is not None])
    heights = {place.node: place.height for place in placed}
    thin = {"color": LINE_COLOUR, "linewidth": size / 12, "solid_capstyle": "round"}
    for place in placed:
        start, end = left[place.depth], left[place.depth + 1]
        ax.plot([start, end], [place.height] * 2, **thin)
        if place.parent >= 0:
            ax.plot([start, start], [heights[place.parent], place.height], **thin)
            ax.text(start + 1, place.height - 0.08, place.test, fontsize=size, va="bottom", parse_math=False)
        if place.prediction is not None:
            style = {
                "boxstyle": "round,pad=0.2",
                "facecolor": colour_of[place.node],
                "edgecolor": LINE_COLOUR,
                "linewidth": 0.5,
            }
            ax.text(end + 0.5, place.height, place.prediction, fontsize=size, va="center", bbox=style, parse_math=False)


def _colours(words: Wording, ends: list[int]) -> dict[int, Any]:
    """Return the fill colour of every leaf, light enough for black text."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    values = words.node_values[ends]
    if words.is_classifier:
        strength = 0.15 + 0.6 * values.max(axis=1)
        full = np.array([to_rgb(PALETTE[code % len(PALETTE)]) for code in values.argmax(axis=1)])
    else:
        strength = np.full(len(ends), 0.55)
        spread = float(np.ptp(values)) or 1.0
        full = colormaps["viridis"]((values[:, 0] - values.min()) / spread)[:, :3]
    colours = 1 - strength[:, None] * (1 - full)
    return dict(zip(ends, map(tuple, colours), strict=True))
