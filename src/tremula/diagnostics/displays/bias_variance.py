"""Bias, variance and noise stacked, as functions of a parameter, with the error they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tremula.diagnostics.displays.style import BLACK, BLUE, GREY, ORANGE, canvas, legend_above
from tremula.errors import InvalidInput

if TYPE_CHECKING:
    from tremula.diagnostics.decomposition.bias_variance import BiasVarianceCurve

TERMS = {"bias": ("bias²", BLUE), "variance": ("variance", ORANGE), "noise": ("noise", GREY)}


def positions_of(values: Any) -> tuple[np.ndarray, bool]:
    """Return the positions of values on an axis, and whether they are numbers; other values are placed in their order.

    Examples
    --------
    >>> positions_of([0.5, 2]), positions_of(["gini", "entropy"])
    ((array([0.5, 2. ]), True), (array([0, 1]), False))
    """
    try:
        return np.array([float(value) for value in values]), True
    except (TypeError, ValueError):
        return np.arange(len(values)), False


class BiasVarianceDisplay:
    """Bias², variance and noise as functions of a parameter, stacked, and the error as a line.

    Parameters
    ----------
    values : sequence
        Values of the parameter; numbers are drawn as areas, anything else as bars.
    bias, variance : array (n_values,)
        The terms; bias is already squared.
    noise : array (n_values,) or None, default=None
        The third term; left out if None, or 0 everywhere.
    error : array (n_values,) or None, default=None
        The sum of the terms; drawn as a line unless None.
    parameter : str, default="parameter"
        Name of the parameter, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
    terms_ : dict of str to array
        The stacked terms, from the bottom.

    Examples
    --------
    >>> from tremula.diagnostics import BiasVarianceDisplay
    >>> display = BiasVarianceDisplay([1, 2, 4], [0.2, 0.1, 0.05], [0.01, 0.02, 0.05], parameter="depth").plot()
    >>> list(display.terms_), display.ax_.get_xlabel()
    (['bias', 'variance'], 'depth')
    """

    def __init__(
        self, values: Any, bias: Any, variance: Any, noise: Any = None, error: Any = None, parameter: str = "parameter"
    ) -> None:
        self.values = values
        self.bias = bias
        self.variance = variance
        self.noise = noise
        self.error = error
        self.parameter = parameter

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, parameter: str, values: Any, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Decompose the error for each value of a parameter and draw it.

        Parameters
        ----------
        estimator : estimator
            It is cloned and fitted, not changed.
        X : array or data frame of shape (n_rows, n_attributes), or callable
            As for `bias_variance`.
        y : array of shape (n_rows,) or None, default=None
            As for `bias_variance`.
        parameter : str
            Name of the parameter to vary.
        values : sequence
            Its values.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `bias_variance_curve`.

        Returns
        -------
        BiasVarianceDisplay
        """
        from tremula.diagnostics.decomposition.bias_variance import bias_variance_curve

        curve = bias_variance_curve(estimator, X, y, parameter=parameter, values=values, **kwargs)
        return cls.from_results(curve, ax=ax)

    @classmethod
    def from_results(cls, curve: BiasVarianceCurve, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of `bias_variance_curve`.

        Parameters
        ----------
        curve : BiasVarianceCurve
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        BiasVarianceDisplay
        """
        terms = (curve.bias, curve.variance, curve.noise, curve.error)
        return cls(curve.values, *terms, parameter=curve.parameter).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, xscale: str = "linear") -> Self:
        """Draw the terms.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        xscale : {"linear", "log", "symlog"}, default="linear"
            Scale of the parameter, for numbers.

        Returns
        -------
        BiasVarianceDisplay
        """
        positions, numeric = positions_of(self.values)
        order = np.argsort(positions, kind="stable")
        self.terms_ = self._terms(order)
        areas = numeric and len(positions) > 1
        places = positions[order] if areas else np.arange(len(positions))
        with canvas(ax) as ax:
            labels = [TERMS[term][0] for term in self.terms_]
            colours = [TERMS[term][1] for term in self.terms_]
            (_draw_areas if areas else _draw_bars)(ax, places, list(self.terms_.values()), labels, colours)
            if areas:
                ax.set(xscale=xscale, xlim=(places[0], places[-1]))
            else:
                ax.set_xticks(places, [str(self.values[place]) for place in order])
            if self.error is not None:
                error = np.asarray(self.error, dtype=float)[order]
                style = {"linestyle": "-" if areas else "none", "linewidth": 1.2, "marker": "o", "markersize": 2.5}
                ax.plot(places, error, color=BLACK, label="error", **style)
            ax.set(xlabel=self.parameter, ylabel="error and its terms")
            ax.set_ylim(bottom=min(0.0, *(term.min() for term in self.terms_.values())))
            legend_above(ax, n_columns=4)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _terms(self, order: np.ndarray) -> dict[str, np.ndarray]:
        terms = {
            name: np.asarray(getattr(self, name), dtype=float) for name in TERMS if getattr(self, name) is not None
        }
        wrong = [name for name, term in terms.items() if term.shape != order.shape]
        if wrong or not len(order):
            raise InvalidInput(
                f"{len(order)} values of {self.parameter!r} were given, but {wrong[0] if wrong else 'terms'} of "
                "another length: give one per value"
            )
        return {name: term[order] for name, term in terms.items() if name != "noise" or term.any()}


def _draw_areas(ax: Any, places: np.ndarray, terms: list[np.ndarray], labels: list[str], colours: list[str]) -> None:
    ax.stackplot(places, *terms, labels=labels, colors=colours, alpha=0.75)


def _draw_bars(ax: Any, places: np.ndarray, terms: list[np.ndarray], labels: list[str], colours: list[str]) -> None:
    base = np.zeros(len(places))
    for term, label, colour in zip(terms, labels, colours):
        ax.bar(places, term, bottom=base, width=0.6, color=colour, alpha=0.75, label=label)
        base = base + term
