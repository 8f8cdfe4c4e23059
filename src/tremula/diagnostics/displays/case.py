"""One case: which attributes push its prediction how far, which training rows stand behind it, and how it moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tremula.diagnostics.displays.style import (
    BLUE,
    COLUMN_WIDTH,
    FONTS,
    GREY,
    ORANGE,
    PALETTE,
    import_pyplot,
    legend_above,
)
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel
from tremula.explanations.explain import explain
from tremula.explanations.response import Response, answers_of, encoder_of, responses
from tremula.explanations.row_weights import row_weights

N_ATTRIBUTES, N_CURVES, N_ROWS = 8, 3, 8
NO_WEIGHTS = "the prediction is no weighted mean\nof training rows"


class CaseDisplay:
    """Why a model predicts what it does for one row.

    Parameters
    ----------
    names : sequence of str
        The attributes that push most, with their values, the first of them first.
    pushes : array (n_shown,)
        Their Shapley values.
    base : float
        Prediction if no attribute is known.
    prediction : float
        Base and all Shapley values; those of attributes that are not shown are the rest.
    rows : sequence of (str, float)
        Training rows with the largest weights in the prediction, each with its label and its weight; empty if the
        prediction is no weighted mean of rows.
    curves : sequence of Response
        How the prediction moves with single attributes.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Pushes, rows, and curves.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor
    >>> from tremula.diagnostics import CaseDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> display = CaseDisplay.from_estimator(forest, X[:1], X, y)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['change of the prediction', 'weight in the prediction', 'place in the training range']
    """

    def __init__(
        self,
        names: Sequence[str],
        pushes: Any,
        base: float,
        prediction: float,
        rows: Sequence[tuple[str, float]],
        curves: Sequence[Response],
    ) -> None:
        self.names = names
        self.pushes = pushes
        self.base = base
        self.prediction = prediction
        self.rows = rows
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        X_train: Any,
        y_train: Any,
        *,
        sample_weight: Any = None,
        output: Any = None,
        background: Any = None,
        axes: Any = None,
    ) -> Self:
        """Explain the prediction of one row and draw it.

        Parameters
        ----------
        model : fitted estimator
            A tree or an ensemble that `tremula.explain` takes.
        X : table of one row
        X_train, y_train : table and array
            The rows of training and their targets, in the same order.
        sample_weight : array or None, default=None
            Their weights, if they were given to `fit`.
        output : class label or None, default=None
            The class whose probability is explained; None takes the most probable one. Without meaning for numbers.
        background : table or None, default=None
            Background rows for interventional values; see `tremula.explain`.
        axes : sequence of three matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CaseDisplay
        """
        explanation = explain(model, X, background=background)
        if len(explanation) != 1:
            raise InvalidInput(f"X has {len(explanation)} rows: give the one row to explain, as X[:1]")
        number = _number_of_output(model, X, output)
        if explanation.output_names is not None:
            explanation = explanation[..., number]
        values = explanation.values[0]
        order = np.argsort(-np.abs(values), kind="stable")
        shown = [each for each in order[:N_ATTRIBUTES] if values[each] != 0]
        levels = encoder_of(model).levels
        return cls(
            [
                f"{explanation.feature_names[each]} = {_shown_value(explanation.data[0, each], levels[each])}"
                for each in shown
            ],
            values[shown],
            float(explanation.base_values[0]),
            float(explanation.sums[0]),
            _heaviest_rows(model, X, X_train, y_train, sample_weight),
            responses(model, X, X_train, shown[:N_CURVES], number),
        ).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw the three parts.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CaseDisplay
        """
        plt = import_pyplot()
        if axes is not None and np.size(axes) != 3:
            raise InvalidInput(f"axes has {np.size(axes)} entries: give three, for pushes, rows and curves")
        with plt.rc_context(FONTS if axes is None else {}):
            if axes is None:
                _, axes = plt.subplots(3, 1, figsize=(COLUMN_WIDTH, 6.2), layout="constrained")
            self.axes_ = np.ravel(axes)
            self._draw_pushes(self.axes_[0])
            self._draw_rows(self.axes_[1])
            self._draw_curves(self.axes_[2])
        self.figure_ = self.axes_[0].figure
        return self

    def _draw_pushes(self, ax: Any) -> None:
        pushes = np.asarray(self.pushes, dtype=float)
        rest = self.prediction - self.base - pushes.sum()
        names, sizes = [*self.names], pushes.tolist()
        if abs(rest) > 1e-9 * max(1.0, abs(self.prediction)):
            names, sizes = [*names, "others"], [*sizes, rest]
        places = -np.arange(len(sizes))
        ax.barh(places, sizes, color=[ORANGE if size > 0 else BLUE for size in sizes], height=0.7)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.set_yticks(places, names)
        ax.set(xlabel="change of the prediction", title=f"from {self.base:.3g} to {self.prediction:.3g}")

    def _draw_rows(self, ax: Any) -> None:
        ax.set(xlabel="weight in the prediction", title="training rows behind it: targets")
        if not self.rows:
            ax.text(0.5, 0.5, NO_WEIGHTS, ha="center", va="center", transform=ax.transAxes, color=GREY)
            ax.set(xticks=[], yticks=[])
            return
        places = -np.arange(len(self.rows))
        ax.barh(places, [weight for _, weight in self.rows], color=GREY, height=0.7)
        ax.set_yticks(places, [label for label, _ in self.rows])

    def _draw_curves(self, ax: Any) -> None:
        for color, curve in zip(PALETTE, self.curves):
            if not len(curve.values):
                continue
            low, high = curve.values.min(), curve.values.max()
            width = high - low if high > low else 1.0
            style = "-" if curve.levels is None else "o"
            ax.plot((curve.values - low) / width, curve.answers, style, color=color, linewidth=1.2, markersize=3)
            ax.plot([], [], "-", color=color, label=curve.name)
            is_own = curve.values == curve.own
            ax.plot((curve.values[is_own] - low) / width, curve.answers[is_own], "D", color=color, markersize=5)
        ax.set(xlabel="place in the training range", ylabel="prediction")
        if len(self.curves):
            legend_above(ax, n_columns=min(3, len(self.curves)))


def _number_of_output(model: Any, X: Any, output: Any) -> int:
    """Return the number of the class to explain; 0 for numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return 0
    if output is None:
        return int(np.argmax([answers_of(model, X, number)[0] for number in range(len(classes))]))
    places = np.flatnonzero(np.asarray(classes) == output)
    if not len(places):
        raise InvalidParameter(f"output={output!r} was given; expected one of the classes {list(classes)}")
    return int(places[0])


def _shown_value(value: float, levels: Any) -> str:
    if np.isnan(value):
        return "missing"
    return f"{value:.3g}" if levels is None else str(levels[int(value)])


def _heaviest_rows(model: Any, X: Any, X_train: Any, y_train: Any, sample_weight: Any) -> list[tuple[str, float]]:
    """Return the labels and weights of the training rows behind a prediction; none if it is no mean of rows."""
    try:
        weights = row_weights(model, X, X_train=X_train, y_train=y_train, sample_weight=sample_weight)
    except UnsupportedModel:
        return []
    targets = np.asarray(y_train)
    order = np.argsort(-weights.data, kind="stable")[:N_ROWS]
    return [
        (f"row {row}: {_shown_target(targets[row])}", float(weight))
        for row, weight in zip(weights.indices[order], weights.data[order])
    ]


def _shown_target(target: Any) -> str:
    return f"{target:.4g}" if isinstance(target, float | np.floating) else str(target)
