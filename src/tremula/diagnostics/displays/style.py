"""Style of all figures: as wide as a column of a page, with legible text and colours safe for colour-blind readers.

A figure is made only if no axes are given; only then are its font sizes set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tremula.errors import MissingLibrary

COLUMN_WIDTH = 3.5  # inches
# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#f0e442",
)
PALETTE = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW)
GREY, BLACK = "#8c8c8c", "#222222"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FONTS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
}


def import_pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingLibrary(
            'drawing needs matplotlib, which is not installed: pip install "tremula[plot]", or pip install matplotlib'
        ) from error
    return plt


@contextmanager
def canvas(ax: Any = None, height: float = 2.6) -> Iterator[Any]:
    """Yield the given axes, or new ones as wide as a column and `height` inches tall."""
    plt = import_pyplot()
    if ax is not None:
        yield ax
        return
    with plt.rc_context(FONTS):
        yield plt.subplots(figsize=(COLUMN_WIDTH, height), layout="constrained")[1]


def legend_size(ax: Any) -> float:
    """Return a font size that fits the axes, which may belong to the user's own figure."""
    return 0.9 * float(ax.xaxis.label.get_size())


def legend_above(ax: Any, n_columns: int) -> None:
    """Put the legend above the axes, where it covers no data."""
    ax.legend(
        fontsize=legend_size(ax),
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=n_columns,
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
        handletextpad=0.5,
    )
