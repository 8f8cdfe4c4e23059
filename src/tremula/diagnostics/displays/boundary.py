"""Decision regions: the class that a classifier predicts at each point of a plane, and how certain it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from tremula.data.names import attribute_name
from tremula.data.several_targets import check_one_target
from tremula.data.take import take_rows
from tremula.diagnostics.displays.style import MARKERS, PALETTE, canvas, legend_above
from tremula.errors import InvalidInput, InvalidParameter

STRONGEST = 0.55  # share of colour where a class is certain; the rest is white
MARGIN = 0.08  # of the range of the data, on every side


def shades(codes: np.ndarray, probabilities: np.ndarray | None) -> np.ndarray:
    """Return the colour of each point: that of its class, paler where it is less certain.

    Parameters
    ----------
    codes : array of int (height, width)
    probabilities : array (height, width, n_classes) or None
        None colours all points as certain.

    Returns
    -------
    array (height, width, 3)
    """
    colours = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in PALETTE])
    strength = np.full(codes.shape, STRONGEST)
    if probabilities is not None:
        chance = 1 / probabilities.shape[-1]
        strength *= np.clip((probabilities.max(axis=-1) - chance) / (1 - chance), 0, 1)
    return np.asarray(1 - strength[..., None] * (1 - colours[codes]))


class BoundaryDisplay:
    """Decision regions of a classifier in the plane of two attributes.

    Each region has the colour of its class, paler where the classifier is less certain, and a dark line around it.

    Parameters
    ----------
    x, y : array (width,) and array (height,)
        Coordinates of the grid along the two axes.
    codes : array of int (height, width)
        Number of the class at each point.
    classes : sequence
        Labels of the classes.
    probabilities : array (height, width, n_classes) or None, default=None
        Class probabilities at each point; without them, all points of a region have the same shade.
    points : array (n_rows, 2) or None, default=None
        Rows to draw over the regions.
    labels : array (n_rows,) or None, default=None
        Their classes.
    names : sequence of two str, default=("x", "y")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the drawing.
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
        The regions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import tremula as tm
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X = X[["petal length (cm)", "petal width (cm)"]]
    >>> display = tm.diagnostics.BoundaryDisplay.from_estimator(tm.C45Classifier().fit(X, y), X, y)
    >>> display.codes.shape, display.ax_.get_xlabel()
    ((200, 200), 'petal length (cm)')
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        codes: Any,
        classes: Any,
        probabilities: Any = None,
        points: Any = None,
        labels: Any = None,
        names: Sequence[str] = ("x", "y"),
    ) -> None:
        self.x = x
        self.y = y
        self.codes = codes
        self.classes = classes
        self.probabilities = probabilities
        self.points = points
        self.labels = labels
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int, int] = (0, 1),
        reference: int = 0,
        resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Predict on a grid over the range of the data with a fitted classifier, and draw the predictions.

        Parameters
        ----------
        estimator : fitted classifier
            Its ``predict_proba`` is used if it has one.
        X : array or data frame of shape (n_rows, n_attributes)
            Rows that determine the range; they are drawn as points if y is given.
        y : array of shape (n_rows,) or None, default=None
            Their classes.
        features : tuple of two int, default=(0, 1)
            Numbers of the attributes along the axes.
        reference : int, default=0
            Number of the row whose values all other attributes keep.
        resolution : int, default=200
            Points of the grid along each axis.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        BoundaryDisplay
        """
        if not hasattr(estimator, "classes_"):
            check_is_fitted(estimator)
            raise InvalidParameter(f"{type(estimator).__name__} has no classes_: give a classifier")
        check_one_target(estimator, "a decision boundary")
        names, points = _two_columns(X, features)
        axes = [_axis(column, name, resolution) for column, name in zip(points.T, names)]
        grid = _grid(X, names, features, reference, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
        shape, classes = (resolution, resolution), np.asarray(estimator.classes_)
        codes = np.searchsorted(classes, np.asarray(estimator.predict(grid))).reshape(shape)
        sure = estimator.predict_proba(grid).reshape(*shape, -1) if hasattr(estimator, "predict_proba") else None
        shown = {} if y is None else {"points": points, "labels": np.asarray(y)}
        return cls(axes[0], axes[1], codes, classes, sure, names=names, **shown).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> Self:
        """Draw regions, boundaries and points.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to name the classes above the axes.
        **kwargs
            Passed to matplotlib's `scatter`, for the points.

        Returns
        -------
        BoundaryDisplay
        """
        codes, n_classes = np.asarray(self.codes), len(self.classes)
        if n_classes > len(PALETTE):
            raise InvalidInput(f"{n_classes} classes were given: at most {len(PALETTE)} can be drawn")
        with canvas(ax, height=3.0) as ax:
            extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
            colours = shades(codes, None if self.probabilities is None else np.asarray(self.probabilities))
            self.image_ = ax.imshow(colours, extent=extent, origin="lower", aspect="auto", interpolation="nearest")
            for code in np.unique(codes)[1:]:  # the outlines of all classes but one show every boundary
                ax.contour(self.x, self.y, codes == code, [0.5], colors=["#222222"], linewidths=0.9)
            self._draw_points(ax, kwargs)
            ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=extent[:2], ylim=extent[2:])
            if legend:
                legend_above(ax, n_columns=min(n_classes, 3))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax: Any, options: dict[str, Any]) -> None:
        for code, label in enumerate(self.classes):
            if self.points is None:
                ax.scatter([], [], s=30, marker="s", color=PALETTE[code], alpha=STRONGEST, label=str(label))
                continue
            rows = np.asarray(self.points)[np.asarray(self.labels) == label]
            style = {"s": 10, "edgecolors": "white", "linewidths": 0.4, **options}
            ax.scatter(*rows.T, color=PALETTE[code], marker=MARKERS[code], label=str(label), **style)


def _two_columns(X: Any, features: Sequence[int]) -> tuple[list[str], np.ndarray]:
    """Return names and values of the two attributes."""
    if not hasattr(X, "columns"):
        table = np.asarray(X)
        if table.ndim != 2 or table.shape[1] < 2:
            raise InvalidInput(f"X has shape {table.shape}: a plane needs at least two columns")
        _check_features(features, table.shape[1])
        return [attribute_name(None, number) for number in features], table[:, list(features)].astype(float)
    frame = nw.from_native(X, eager_only=True)
    _check_features(features, len(frame.columns))
    names = [frame.columns[number] for number in features]
    return names, np.column_stack([frame[:, number].to_numpy() for number in features]).astype(float)


def _check_features(features: Any, n_columns: int) -> None:
    given = list(features) if hasattr(features, "__len__") else [features]
    if len(set(given)) != 2 or len(given) != 2 or not all(number in range(n_columns) for number in given):
        raise InvalidParameter(f"features={features!r} was given: give two different numbers from 0 to {n_columns - 1}")


def _axis(column: np.ndarray, name: str, resolution: int) -> np.ndarray:
    known = column[np.isfinite(column)]
    if not len(known) or np.ptp(known) == 0:
        raise InvalidInput(f"{name} has fewer than two values: choose another attribute for this axis")
    margin = MARGIN * np.ptp(known)
    return np.linspace(known.min() - margin, known.max() + margin, resolution)


def _grid(X: Any, names: Sequence[str], features: Sequence[int], reference: int, places: np.ndarray) -> Any:
    """Return copies of the reference row with the two attributes set to each grid point."""
    if not hasattr(X, "columns"):
        table = np.asarray(X)
        table = np.repeat(table[[reference]], len(places), axis=0).astype(object if table.dtype.kind == "O" else float)
        table[:, list(features)] = places
        return table
    frame = nw.from_native(take_rows(X, np.full(len(places), reference)), eager_only=True)
    moved = [nw.new_series(name, places[:, i], backend=frame.implementation) for i, name in enumerate(names)]
    return nw.to_native(frame.with_columns(*moved))
