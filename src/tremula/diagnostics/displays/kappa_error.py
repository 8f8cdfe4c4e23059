"""The kappa-error diagram: one point for each pair of members; accurate and diverse pairs lie near the origin."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tremula.diagnostics.displays.style import BLUE, canvas, legend_size
from tremula.diagnostics.members.kappa import KappaError, kappa_error
from tremula.errors import InvalidInput

N_CELLS = 60
MARGINALS = {"kappa": (0.0, 1.03, 1.0, 0.2), "mean_error": (1.03, 0.0, 0.2, 1.0)}
CONTOURS = (0.1, 0.5)  # of the highest density


def smoothed_counts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centres of cells and the smoothed density of points in them, along y and x.

    Unlike a kernel density estimate, it needs no covariance, which is singular for points on a line.
    """
    from scipy.ndimage import gaussian_filter

    edges = [np.linspace(*_range(values), N_CELLS + 1) for values in (x, y)]
    counts, *_ = np.histogram2d(x, y, bins=edges)
    centres = [(edge[1:] + edge[:-1]) / 2 for edge in edges]
    return centres[0], centres[1], gaussian_filter(counts, 2.0).T


def _range(values: np.ndarray) -> tuple[float, float]:
    margin = max(0.1 * np.ptp(values), 0.01)
    return values.min() - margin, values.max() + margin


class KappaErrorDisplay:
    """Kappa-error diagram of the pairs of an ensemble's members.

    Each pair is a point: its kappa, and the mean of its two error rates. Contours show where points are dense, and
    histograms along the edges show the two distributions. A good ensemble has points at the bottom (accurate members)
    and on the left (diverse members).

    Parameters
    ----------
    kappa : array (n_pairs,)
        Agreement of each pair.
    mean_error : array (n_pairs,)
        Mean error rate of each pair.
    name : str or None, default=None
        Name of the ensemble in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
    points_ : matplotlib PathCollection
        The pairs.
    marginals_ : dict of matplotlib Axes
        Axes of the histograms, by ``"kappa"`` and ``"mean_error"``; empty without histograms.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from tremula.diagnostics import KappaErrorDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(20, max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> KappaErrorDisplay.from_estimator(forest, X[1::2], y[1::2]).ax_.get_xlabel()
    'kappa (agreement of two members)'
    """

    def __init__(self, kappa: Any, mean_error: Any, *, name: str | None = None) -> None:
        self.kappa = kappa
        self.mean_error = mean_error
        self.name = name

    @classmethod
    def from_estimator(
        cls, ensemble: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Measure the pairs of an ensemble and draw them.

        Parameters
        ----------
        ensemble : fitted ensemble or sequence of fitted classifiers
            As in `kappa_error`.
        X : array or data frame of shape (n_rows, n_attributes)
        y : array of shape (n_rows,)
        name : str or None, default=None
            Name of the ensemble in the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        KappaErrorDisplay
        """
        return cls.from_results(kappa_error(ensemble, X, y), name=name, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: Any, predictions: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the pairs of members whose predictions are given.

        Parameters
        ----------
        y_true : array of shape (n_rows,)
        predictions : array of shape (n_members, n_rows)
        name : str or None, default=None
            Name of the ensemble in the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        KappaErrorDisplay
        """
        return cls.from_results(kappa_error(np.asarray(predictions), None, y_true), name=name, ax=ax, **kwargs)

    @classmethod
    def from_results(cls, result: KappaError, *, name: str | None = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of `kappa_error`.

        Parameters
        ----------
        result : KappaError
        name : str or None, default=None
            Name of the ensemble in the legend.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        KappaErrorDisplay
        """
        return cls(result.kappa, result.mean_error, name=name).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, color: str = BLUE, density: bool = True, marginals: bool = True, **kwargs: Any
    ) -> Self:
        """Draw the diagram; a second one on the same axes shares the histograms' axes.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        color : str, default="#0072b2"
            Colour of points, contours and bars.
        density : bool, default=True
            Whether to draw contours where there are half and a tenth as many points as at the densest place.
        marginals : bool, default=True
            Whether to draw the histograms.
        **kwargs
            Passed to matplotlib's `scatter`.

        Returns
        -------
        KappaErrorDisplay
        """
        kappa, error = np.asarray(self.kappa, dtype=float), np.asarray(self.mean_error, dtype=float)
        if kappa.shape != error.shape or kappa.ndim != 1 or not len(kappa):
            raise InvalidInput(
                f"kappa has shape {kappa.shape} and mean_error {error.shape}: give one number per pair in each"
            )
        with canvas(ax, height=3.0) as ax:
            # Many points are faint, so that dense places show; a vector file holds them as one picture.
            faint = float(np.clip(150 / len(kappa), 0.08, 0.8))
            options = {"s": 6, "alpha": faint, "linewidths": 0, "rasterized": True, **kwargs}
            self.points_ = ax.scatter(kappa, error, color=color, **options)
            if density and len(kappa) > 2:
                x, y, heights = smoothed_counts(kappa, error)
                ax.contour(x, y, heights, [level * heights.max() for level in CONTOURS], colors=[color], linewidths=0.9)
            ax.set(xlabel="kappa (agreement of two members)", ylabel="mean error of the two")
            self.marginals_ = self._draw_marginals(ax, kappa, error, color) if marginals else {}
            if self.name is not None:
                self._draw_legend(ax, color)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_marginals(self, ax: Any, kappa: np.ndarray, error: np.ndarray, color: str) -> dict[str, Any]:
        axes = {child.get_label(): child for child in ax.child_axes}
        for side, values in {"kappa": kappa, "mean_error": error}.items():
            if side not in axes:
                shared = {"sharex": ax} if side == "kappa" else {"sharey": ax}
                axes[side] = ax.inset_axes(MARGINALS[side], label=side, **shared)
                axes[side].axis("off")
            orientation = "vertical" if side == "kappa" else "horizontal"
            bins = np.linspace(*_range(values), 31)
            axes[side].hist(values, bins, density=True, color=color, alpha=0.5, orientation=orientation)
        return {side: axes[side] for side in MARGINALS}

    def _draw_legend(self, ax: Any, color: str) -> None:
        ax.scatter([], [], s=16, color=color, label=self.name)
        # Pairs lie along a slope from the upper left to the lower right.
        ax.legend(loc="upper right", handletextpad=0.1, borderaxespad=0.0, frameon=False, fontsize=legend_size(ax))
