"""Demšar's diagram: mean ranks of methods over datasets; bars join methods that do not differ significantly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tremula.diagnostics.displays.style import BLACK, BLUE, canvas
from tremula.errors import InvalidInput

if TYPE_CHECKING:
    from tremula.diagnostics.comparison.ranking import Ranking

# In lines of text: from the axis down to the first bar, between bars, from the last bar to the first name.
FIRST_BAR, BETWEEN_BARS, TO_NAMES = 0.5, 0.4, 0.7
ABOVE_AXIS, LINE_HEIGHT = 2.6, 0.17  # lines; inches
MOST_TICKS = 8


def joined_ranks(ranks: np.ndarray, critical_difference: float) -> list[tuple[float, float]]:
    """Return the longest ranges of ranks that differ by less than the critical difference.

    Examples
    --------
    >>> import numpy as np
    >>> joined_ranks(np.array([1.0, 1.8, 2.5, 4.7]), 1.6)
    [(1.0, 2.5)]
    """
    ordered = np.sort(ranks)
    last = [int(np.flatnonzero(ordered - low < critical_difference)[-1]) for low in ordered]
    starts = [i for i in range(len(ordered)) if last[i] > i and (i == 0 or last[i] > last[i - 1])]
    return [(float(ordered[i]), float(ordered[last[i]])) for i in starts]


class CriticalDifferenceDisplay:
    """Critical difference diagram of methods compared over datasets.

    Methods are placed at their mean ranks, the best on the left; a bar joins those whose ranks differ by less than the
    critical difference.

    Parameters
    ----------
    names : sequence of str
        Names of the methods.
    mean_ranks : array (n_methods,)
        Their mean ranks over the datasets; 1 is best.
    critical_difference : float or None, default=None
        Smallest significant difference of mean ranks; None shows none.
    cliques : sequence of sequences of str, default=None
        Names of methods to join; None joins those whose ranks differ by less than the critical difference.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
    bars_ : list of tuple of float
        Ranges of ranks that are joined.

    Examples
    --------
    >>> from tremula.diagnostics import CriticalDifferenceDisplay
    >>> CriticalDifferenceDisplay(["tree", "bagging", "boosting"], [2.9, 1.7, 1.4], 0.8).plot().bars_
    [(1.4, 1.7)]
    """

    def __init__(
        self,
        names: Sequence[str],
        mean_ranks: Any,
        critical_difference: float | None = None,
        cliques: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self.names = names
        self.mean_ranks = mean_ranks
        self.critical_difference = critical_difference
        self.cliques = cliques

    @classmethod
    def from_results(cls, ranking: Ranking, *, by: str = "nemenyi", ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of `compare_over_datasets`.

        Parameters
        ----------
        ranking : Ranking
        by : {"nemenyi", "wilcoxon"}, default="nemenyi"
            Test that decides which methods are joined, as in `Ranking.cliques`; "wilcoxon" has no critical difference.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        difference = ranking.critical_difference if by == "nemenyi" else None
        return cls(ranking.names, ranking.mean_ranks, difference, ranking.cliques(by)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, color: str = BLUE) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure, taller for more methods.
        color : str, default="#0072b2"
            Colour of the bars.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        ranks = np.asarray(self.mean_ranks, dtype=float)
        if len(ranks) < 2 or ranks.shape != (len(self.names),):
            raise InvalidInput(
                f"{len(self.names)} names and mean ranks of shape {ranks.shape} were given: give one rank for each of "
                "at least two methods"
            )
        self.bars_ = self._bars(ranks)
        names_from = FIRST_BAR + BETWEEN_BARS * len(self.bars_) + TO_NAMES
        n_lines = names_from + (len(ranks) + 1) // 2
        low = float(np.floor(ranks.min()))
        high = max(float(np.ceil(ranks.max())), low + 1)
        with canvas(ax, height=LINE_HEIGHT * (n_lines + ABOVE_AXIS)) as ax:
            # With few datasets the critical difference may be wider than the ranks.
            ax.set(xlim=(low, max(high, low + (self.critical_difference or 0))), ylim=(n_lines - 0.5, -ABOVE_AXIS))
            ax.axis("off")
            self._draw_scale(ax, low, high)
            for number, (start, end) in enumerate(self.bars_):
                height, reach = FIRST_BAR + BETWEEN_BARS * number, 0.006 * (high - low)
                ax.plot([start - reach, end + reach], [height] * 2, color=color, linewidth=3, solid_capstyle="butt")
            self._draw_names(ax, ranks, names_from)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bars(self, ranks: np.ndarray) -> list[tuple[float, float]]:
        if self.cliques is None:
            return [] if self.critical_difference is None else joined_ranks(ranks, self.critical_difference)
        rank_of = dict(zip(self.names, ranks.tolist()))
        joined = [[rank_of[name] for name in clique] for clique in self.cliques]
        return [(min(group), max(group)) for group in joined if len(group) > 1]

    def _draw_scale(self, ax: Any, low: float, high: float) -> None:
        ax.plot([low, high], [0, 0], color=BLACK, linewidth=1, clip_on=False)
        step = int(np.ceil((high - low + 1) / MOST_TICKS))
        for rank in np.arange(low, high + 1, step):
            ax.plot([rank, rank], [0, -0.3], color=BLACK, linewidth=1, clip_on=False)
            ax.text(rank, -0.45, f"{rank:g}", ha="center", va="bottom")
        if self.critical_difference is None:
            return
        end = low + self.critical_difference
        ax.plot([low, end], [-2.0, -2.0], color=BLACK, linewidth=1, marker="|", markersize=5, clip_on=False)
        words = f"critical difference {self.critical_difference:.2f}"
        ax.text((low + end) / 2, -2.2, words, ha="center", va="bottom", fontsize="small")

    def _draw_names(self, ax: Any, ranks: np.ndarray, names_from: float) -> None:
        """Write names at both sides; a line joins each to its rank, and no two lines cross."""
        order = np.argsort(ranks, kind="stable")
        n_left = (len(ranks) + 1) // 2
        low, high = ax.get_xlim()
        pad = 0.02 * (high - low)
        for methods, edge, outward in [(order[:n_left], low, -pad), (order[n_left:][::-1], high, pad)]:
            for line, method in enumerate(methods):
                height = names_from + line
                places = [ranks[method], ranks[method], edge + outward]
                ax.plot(places, [0, height, height], color=BLACK, linewidth=0.8, clip_on=False)
                alignment = {"ha": "right" if outward < 0 else "left", "va": "center", "fontsize": "small"}
                ax.text(edge + 2 * outward, height, f"{self.names[method]} {ranks[method]:.2f}", **alignment)
