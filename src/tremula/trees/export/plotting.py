"""A tree drawn with matplotlib: the root at the left, one line a leaf, so that labels never share a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.trees.export.labels import Wording, leaves_below
from tremula.trees.tree import Tree

# Okabe and Ito's colours, distinct to colour-blind eyes; each leaf also names its class.
PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2", "#999999")
LINE_COLOUR = "#666666"
LONGEST_TEXT = 28
LARGEST_FONT, SMALLEST_FONT = 10.0, 3.0
# Relative to the font size: width of a character, height of a leaf's line.
CHARACTER_WIDTH, LINE_HEIGHT = 0.55, 2.3
POINTS_PER_INCH = 72.0
SMALLEST_FIGURE, LARGEST_FIGURE = 1.0, 100.0  # inches; renderers refuse much larger ones


@dataclass(frozen=True)
class Drawn:
    """A node on the canvas: its depth, its height in leaves from the top, and its texts."""

    node: int
    parent: int
    depth: int
    height: float
    test: str
    answer: str | None


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
        Deeper splits are drawn as one box that tells how many leaves they have.
    show_weights : bool, default=True
        Whether leaves show their training weight and the share of the predicted class if there are others.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure, large enough for labels of 10 points.
    answers : sequence of str, optional
        What leaves predict, in the order of their `index`, in place of their class or mean.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Leaves are coloured by the class they predict, paler where it is less certain, or by their mean.
    """
    words = Wording(tree, feature_names, class_names, levels, decimals, answers)
    drawn = _lay_out(words, max_depth, show_weights)
    widths = _column_widths(drawn)
    n_lines = sum(place.answer is not None for place in drawn)
    if ax is None:
        ax = _new_axes(sum(widths), n_lines)
    box = ax.get_window_extent()
    points = np.array([box.width, box.height]) * POINTS_PER_INCH / ax.figure.dpi
    room = points / [sum(widths) * CHARACTER_WIDTH, (n_lines + 0.4) * LINE_HEIGHT]
    size = float(np.clip(room.min(), SMALLEST_FONT, LARGEST_FONT))
    ax.set(xlim=(0, max(sum(widths), points[0] / (CHARACTER_WIDTH * size))), ylim=(n_lines - 0.4, -0.8))
    ax.axis("off")
    _draw(ax, words, drawn, np.concatenate([[0], np.cumsum(widths)]), size)
    return ax


def _lay_out(words: Wording, max_depth: int | None, show_weights: bool) -> list[Drawn]:
    """Places of the nodes to be drawn, children before their parent."""
    tree, below = words.tree, leaves_below(words.tree)
    depths, parents = {0: 0}, {0: -1}
    order: list[int] = []
    ends: set[int] = set()
    waiting = [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.is_leaf[node] or depths[node] == max_depth:
            ends.add(node)
            continue
        first = int(tree.first_child[node])
        children = list(range(first, first + int(tree.n_branches[node])))
        depths.update({child: depths[node] + 1 for child in children})
        parents.update(dict.fromkeys(children, node))
        waiting += reversed(children)
    heights: dict[int, float] = {node: float(line) for line, node in enumerate(n for n in order if n in ends)}
    for node in reversed(order):
        if node not in ends:
            first, n_branches = int(tree.first_child[node]), int(tree.n_branches[node])
            heights[node] = (heights[first] + heights[first + n_branches - 1]) / 2

    def answer(node: int) -> str:
        text = _shortened(words.verdict(node)) + (f" ({words.support(node)})" if show_weights else "")
        return text if tree.is_leaf[node] else f"{text} … {below[node]} leaves"

    def test(node: int) -> str:
        parent = parents[node]
        if parent < 0:
            return ""
        branch = node - int(tree.first_child[parent])
        return _shortened(f"{words.attribute(parent)} {words.test(parent, branch)}")

    return [
        Drawn(node, parents[node], depths[node], heights[node], test(node), answer(node) if node in ends else None)
        for node in reversed(order)
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _column_widths(drawn: list[Drawn]) -> list[int]:
    """Characters each depth needs for its tests, and after the last for the leaves that reach beyond."""
    widths = [2] * (max(place.depth for place in drawn) + 1)
    for place in drawn:
        widths[place.depth] = max(widths[place.depth], len(place.test) + 3)
    ends = np.cumsum(widths)
    reach = max(ends[place.depth] + len(place.answer) + 2 for place in drawn if place.answer is not None)
    return [*widths, int(reach - ends[-1])]


def _new_axes(n_characters: int, n_lines: int) -> Any:
    import matplotlib.pyplot as plt

    points = LARGEST_FONT * np.array([n_characters * CHARACTER_WIDTH, (n_lines + 0.4) * LINE_HEIGHT])
    figure = plt.figure(figsize=tuple(np.clip(points / POINTS_PER_INCH, SMALLEST_FIGURE, LARGEST_FIGURE)))
    return figure.add_axes((0, 0, 1, 1))


def _draw(ax: Any, words: Wording, drawn: list[Drawn], left: np.ndarray, size: float) -> None:
    """Lines from the end of a node's column to its branches; a test stands on its line, a box at the end of a path."""
    colour_of = _colours(words, [place.node for place in drawn if place.answer is not None])
    heights = {place.node: place.height for place in drawn}
    thin = {"color": LINE_COLOUR, "linewidth": size / 12, "solid_capstyle": "round"}
    for place in drawn:
        start, end = left[place.depth], left[place.depth + 1]
        ax.plot([start, end], [place.height] * 2, **thin)
        if place.parent >= 0:
            ax.plot([start, start], [heights[place.parent], place.height], **thin)
            ax.text(start + 1, place.height - 0.08, place.test, fontsize=size, va="bottom", parse_math=False)
        if place.answer is not None:
            style = {
                "boxstyle": "round,pad=0.2",
                "facecolor": colour_of[place.node],
                "edgecolor": LINE_COLOUR,
                "linewidth": 0.5,
            }
            ax.text(end + 0.5, place.height, place.answer, fontsize=size, va="center", bbox=style, parse_math=False)


def _colours(words: Wording, ends: list[int]) -> dict[int, Any]:
    """Fill of every leaf, light enough for black text."""
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
