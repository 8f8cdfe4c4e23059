"""The Kohavi plot: how two methods differ on many datasets, relative to a baseline's error, sorted, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tremula.diagnostics.displays.style import BLUE, GREY, RED, canvas, legend_above
from tremula.errors import InvalidInput

if TYPE_CHECKING:
    from tremula.diagnostics.comparison.comparison import Comparison

ROW_HEIGHT, FRAME_HEIGHT = 0.15, 0.95  # inches
LINE_LENGTH = 44  # characters per line of the axis label
# Verdict by the side of 0 that the interval lies on; markers differ too, so colour is not needed to tell them apart.
VERDICTS = {-1: (BLUE, "o", "{first} better"), 1: (RED, "s", "{second} better"), 0: (GREY, "D", "no difference shown")}


def verdict_of(interval: tuple[float, float]) -> int:
    """Return -1 if the interval lies below 0, 1 if above, 0 if it contains 0 or is NaN.

    Examples
    --------
    >>> [verdict_of(interval) for interval in [(-0.2, -0.1), (-0.1, 0.2), (0.1, 0.3)]]
    [-1, 0, 1]
    """
    low, high = interval
    return -1 if high < 0 else int(low > 0)


class KohaviDisplay:
    """Differences of two methods' errors over datasets, divided by the error of a baseline.

    Parameters
    ----------
    datasets : list of str
        Names of the datasets.
    differences : array (n_datasets,)
        (error of the first - error of the second) / error of the baseline: below 0 the first is better.
    intervals : array (n_datasets, 2)
        Lower and upper ends of the differences, in the same units.
    first, second, baseline : str
        Names of the methods.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
    order_ : array of int (n_datasets,)
        Numbers of the datasets as drawn, from the top.

    Examples
    --------
    >>> from tremula.diagnostics import KohaviDisplay
    >>> display = KohaviDisplay(
    ...     ["iris", "wine"], [0.1, -0.5], [[-0.1, 0.3], [-0.7, -0.3]], "bagging", "boosting", "one tree"
    ... ).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['wine', 'iris']
    """

    def __init__(self, datasets: Any, differences: Any, intervals: Any, first: str, second: str, baseline: str) -> None:
        self.datasets = datasets
        self.differences = differences
        self.intervals = intervals
        self.first = first
        self.second = second
        self.baseline = baseline

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Comparison],
        first: str,
        second: str,
        baseline: str,
        *,
        test: str = "auto",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw comparisons of the same methods on several datasets.

        Parameters
        ----------
        results : mapping of str to Comparison
            Results of `compare` by name of the dataset.
        first : str
            Name of a method.
        second : str
            Name of the method it is compared with.
        baseline : str
            Name of the method whose mean error is the unit.
        test : str, default="auto"
            Test for the 95 % intervals, as in `Comparison.test`; the paper uses "paired t".
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        KohaviDisplay
        """
        from tremula.diagnostics.comparison.error_table import name_datasets

        named = name_datasets(results)
        scaled = [_scaled(name, comparison, first, second, baseline, test) for name, comparison in named.items()]
        differences, intervals = [row[0] for row in scaled], [row[1] for row in scaled]
        return cls(list(named), differences, intervals, first, second, baseline).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the differences, the smallest at the top.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure, taller for more datasets.
        **kwargs
            Passed to matplotlib's `errorbar`.

        Returns
        -------
        KohaviDisplay
        """
        differences, intervals = np.asarray(self.differences, dtype=float), np.asarray(self.intervals, dtype=float)
        if not len(differences) or intervals.shape != (len(differences), 2) or len(self.datasets) != len(differences):
            raise InvalidInput(
                f"{len(self.datasets)} datasets, {len(differences)} differences and intervals of shape "
                f"{intervals.shape} were given: each dataset needs one difference and a low and a high end"
            )
        self.order_ = np.argsort(differences, kind="stable")
        with canvas(ax, height=FRAME_HEIGHT + ROW_HEIGHT * len(differences)) as ax:
            ax.axvline(0, color="black", linewidth=0.8)
            self._draw_points(ax, differences[self.order_], intervals[self.order_], kwargs)
            ax.set_yticks(range(len(differences)), [str(self.datasets[place]) for place in self.order_])
            ax.set(ylim=(len(differences) - 0.4, -0.6))
            unit = f"(error of {self.first} \N{MINUS SIGN} error of {self.second}) / error of {self.baseline}"
            ax.set_xlabel(fill(unit, LINE_LENGTH))
            legend_above(ax, n_columns=1)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax: Any, differences: np.ndarray, intervals: np.ndarray, options: dict[str, Any]) -> None:
        verdicts = np.array([verdict_of(interval) for interval in intervals])
        for verdict, (colour, marker, words) in VERDICTS.items():
            rows = np.flatnonzero(verdicts == verdict)
            if not len(rows):
                continue
            reach = np.abs(intervals[rows] - differences[rows, None]).T
            label = words.format(first=self.first, second=self.second)
            style = {"fmt": marker, "color": colour, "markersize": 3, "linewidth": 1, "label": label, **options}
            ax.errorbar(differences[rows], rows, xerr=reach, **style)


def _scaled(
    dataset: str, comparison: Comparison, first: str, second: str, baseline: str, test: str
) -> tuple[float, tuple[float, float]]:
    """Return the difference of two methods and its interval, in units of the baseline's mean error."""
    unit = float(comparison.mean_errors[comparison.place(baseline)])
    if unit <= 0:
        raise InvalidInput(
            f"{baseline!r} has an error of {unit:g} on {dataset!r}, so differences cannot be divided by it: leave "
            "that dataset out, or choose another baseline"
        )
    result = comparison.test(first, second, test)
    low, high = result.interval
    return result.difference / unit, (low / unit, high / unit)
