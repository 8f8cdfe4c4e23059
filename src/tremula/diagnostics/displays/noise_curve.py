"""Error against the amount of noise, with the chosen amount marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tremula.data.column import show
from tremula.diagnostics.displays.style import BLUE, RED, canvas, legend_above
from tremula.errors import InvalidInput
from tremula.parameters import check_choice

if TYPE_CHECKING:
    from tremula.diagnostics.decomposition.bias_variance import BiasVarianceCurve


def best_amount(amounts: np.ndarray, errors: np.ndarray) -> float:
    """Return the amount with the lowest error, the smallest if several are equal.

    Examples
    --------
    >>> import numpy as np
    >>> best_amount(np.array([0.5, 0.2, 0.0]), np.array([0.1, 0.1, 0.3]))
    0.2
    """
    return float(amounts[errors == errors.min()].min())


def _read_amounts(curve: BiasVarianceCurve) -> np.ndarray:
    try:
        return np.asarray(curve.values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"values of {curve.parameter!r} are {show(curve.values)}: an amount of noise is a number; for other "
            "values use BiasVarianceDisplay"
        ) from error


class NoiseCurveDisplay:
    """Error against the amount of noise; the chosen amount is marked.

    Parameters
    ----------
    amounts : array (n_amounts,)
        Amounts of noise: lambda of dual perturb and combine, p of smearing, or any number that was varied.
    errors : array (n_amounts,)
        Error at each amount.
    intervals : array (n_amounts, 2) or None, default=None
        Lower and upper ends of the errors, drawn as a band.
    chosen : float or None, default=None
        The amount to mark; None marks none.
    parameter : str, default="noise"
        Name of the parameter that was varied, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from tremula.diagnostics import NoiseCurveDisplay
    >>> display = NoiseCurveDisplay([0.0, 0.1, 0.2], [0.30, 0.22, 0.25], chosen=0.1).plot()
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['error', 'chosen: 0.1']
    """

    def __init__(
        self, amounts: Any, errors: Any, intervals: Any = None, chosen: float | None = None, parameter: str = "noise"
    ) -> None:
        self.amounts = amounts
        self.errors = errors
        self.intervals = intervals
        self.chosen = chosen
        self.parameter = parameter

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        parameter: str,
        values: Any,
        chosen: float | str | None = "best",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Measure the error at each amount of noise, and draw it.

        Parameters
        ----------
        estimator : estimator
            It is cloned and fitted, not changed.
        X : array or data frame of shape (n_rows, n_attributes), or callable
            As for `bias_variance`.
        y : array of shape (n_rows,) or None, default=None
            As for `bias_variance`.
        parameter : str
            Name of the parameter that is the amount of noise.
        values : sequence of numbers
            The amounts.
        chosen : float, "best" or None, default="best"
            The amount to mark; "best" is the one with the lowest error.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `bias_variance_curve`.

        Returns
        -------
        NoiseCurveDisplay
        """
        from tremula.diagnostics.decomposition.bias_variance import bias_variance_curve

        curve = bias_variance_curve(estimator, X, y, parameter=parameter, values=values, **kwargs)
        return cls.from_results(curve, chosen=chosen, ax=ax)

    @classmethod
    def from_results(
        cls, curve: BiasVarianceCurve, *, chosen: float | str | None = "best", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the errors of a curve over a parameter that holds numbers.

        Parameters
        ----------
        curve : BiasVarianceCurve
            Result of `bias_variance_curve`.
        chosen : float, "best" or None, default="best"
            The amount to mark; "best" is the one with the lowest error.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        NoiseCurveDisplay
        """
        if isinstance(chosen, str):
            check_choice("chosen", chosen, ["best"])
        amounts, errors = _read_amounts(curve), np.asarray(curve.error, dtype=float)
        marked = best_amount(amounts, errors) if isinstance(chosen, str) else chosen
        bands = [result.intervals.get("error") for result in curve.results]
        intervals = None if any(band is None for band in bands) else np.array(bands, dtype=float)
        return cls(amounts, errors, intervals, marked, curve.parameter).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str = "error", color: str = BLUE, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        name : str, default="error"
            Name of the curve in the legend.
        color : str, default="#0072b2"
            Colour of the curve and its band.
        **kwargs
            Passed to matplotlib's `plot`.

        Returns
        -------
        NoiseCurveDisplay
        """
        amounts, errors = np.asarray(self.amounts, dtype=float), np.asarray(self.errors, dtype=float)
        if amounts.ndim != 1 or amounts.shape != errors.shape or not len(amounts):
            raise InvalidInput(
                f"amounts have shape {amounts.shape} and errors {errors.shape}: give one error for each amount"
            )
        order = np.argsort(amounts, kind="stable")
        with canvas(ax) as ax:
            if self.intervals is not None:
                low, high = np.asarray(self.intervals, dtype=float)[order].T
                ax.fill_between(amounts[order], low, high, color=color, alpha=0.2, linewidth=0)
            style = {"color": color, "linewidth": 1.2, "marker": "o", "markersize": 3, "label": name, **kwargs}
            ax.plot(amounts[order], errors[order], **style)
            if self.chosen is not None:
                self._mark(ax, amounts[order], errors[order])
            ax.set(xlabel=self.parameter, ylabel="error")
            legend_above(ax, n_columns=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any, amounts: np.ndarray, errors: np.ndarray) -> None:
        chosen = float(self.chosen)  # type: ignore[arg-type]
        ax.axvline(chosen, color=RED, linestyle="--", linewidth=1, label=f"chosen: {chosen:g}", zorder=1)
        height = float(np.interp(chosen, amounts, errors))
        ax.plot([chosen], [height], color=RED, marker="o", markersize=6, fillstyle="none", linestyle="none")
