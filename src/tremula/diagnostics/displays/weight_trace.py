"""Where boosting puts its weight, round by round: on rows with a wrong label, or on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tremula.diagnostics.displays.style import BLUE, GREY, RED, canvas, legend_above
from tremula.errors import InvalidInput

if TYPE_CHECKING:
    from tremula.diagnostics.class_noise import WeightTrace


class WeightTraceDisplay:
    """Mean weight of corrupted and of clean rows in each round of boosting.

    Parameters
    ----------
    corrupted : array (n_rounds,)
        Mean weight of the rows with a wrong label, where 1 is a fair share.
    clean : array (n_rounds,)
        Mean weight of the other rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from tremula.diagnostics import WeightTraceDisplay
    >>> WeightTraceDisplay([1.0, 2.1, 2.9], [1.0, 0.7, 0.5]).plot().ax_.get_ylabel()
    'mean row weight (1 = fair share)'
    """

    def __init__(self, corrupted: Any, clean: Any) -> None:
        self.corrupted = corrupted
        self.clean = clean

    @classmethod
    def from_estimator(cls, model: Any, mask: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the weights that a boosted ensemble gave its training rows.

        Parameters
        ----------
        model : fitted AdaBoostM1Classifier
            Fitted with ``keep_weights=True``, or any other input of `weight_trace`.
        mask : array of bool (n_rows,)
            Which training rows have a wrong label, as returned by `add_class_noise`.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        WeightTraceDisplay
        """
        from tremula.diagnostics.class_noise import weight_trace

        return cls.from_results(weight_trace(model, mask), ax=ax, **kwargs)

    @classmethod
    def from_results(cls, trace: WeightTrace, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of `weight_trace`.

        Parameters
        ----------
        trace : WeightTrace
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        WeightTraceDisplay
        """
        return cls(trace.corrupted, trace.clean).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the two curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to matplotlib's `plot`, for both curves.

        Returns
        -------
        WeightTraceDisplay
        """
        corrupted, clean = np.asarray(self.corrupted, dtype=float), np.asarray(self.clean, dtype=float)
        if corrupted.ndim != 1 or corrupted.shape != clean.shape or not len(clean):
            raise InvalidInput(
                f"corrupted has shape {corrupted.shape} and clean {clean.shape}: give one mean weight per round in each"
            )
        rounds = np.arange(1, len(clean) + 1)
        with canvas(ax) as ax:
            ax.axhline(1, color=GREY, linewidth=0.8, linestyle=":")
            ax.plot(rounds, corrupted, **{"color": RED, "linewidth": 1.4, "label": "wrong labels", **kwargs})
            ax.plot(rounds, clean, **{"color": BLUE, "linewidth": 1.4, "linestyle": "--", "label": "others", **kwargs})
            ax.set(xlabel="round of boosting", ylabel="mean row weight (1 = fair share)")
            ax.set_ylim(bottom=0)
            ax.xaxis.get_major_locator().set_params(integer=True)
            legend_above(ax, n_columns=2)
        self.ax_, self.figure_ = ax, ax.figure
        return self
