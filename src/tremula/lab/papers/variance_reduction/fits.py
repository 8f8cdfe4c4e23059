"""Bias, variance and noise of 50 fits of 20 points each on y = x + 2 sin(1.5 x) + noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures

from tremula import BaggingRegressor, CARTRegressor
from tremula.diagnostics import BiasVarianceDisplay, bias_variance
from tremula.lab.datasets.generators import SINE_RANGE, sine_points, sine_value
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Budget, ShownFigure, ShownTable
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.shared_protocol import seed_of
from tremula.lab.papers.variance_reduction.rules import FIT_RULES

SEED = 0
DATASET = "sine"
N_FITS = 50
N_POINTS = 20
N_TEST: dict[Budget, int] = {"quick": 500, "default": 2000, "full": 10000}
N_BAGGED = 50
DRAWN = "straight line"


def _polynomial(degree: int) -> Any:
    # The range of the sample becomes -1 to 1, or powers of ten overflow the precision of least squares.
    return make_pipeline(MinMaxScaler((-1, 1)), PolynomialFeatures(degree), LinearRegression())


MAKERS: dict[str, Callable[[], Any]] = {
    "constant": DummyRegressor,
    DRAWN: LinearRegression,
    "polynomial of degree 4": partial(_polynomial, 4),
    "polynomial of degree 9": partial(_polynomial, 9),
    "tree": CARTRegressor,
    "bagged trees": partial(BaggingRegressor, CARTRegressor(), N_BAGGED),
}


def _draw_points(n_rows: int, seed: Any) -> tuple[np.ndarray, np.ndarray]:
    points = sine_points(n_rows, seed)
    return points.X, points.y


def _truth(X: np.ndarray) -> np.ndarray:
    return sine_value(np.asarray(X)[:, 0])


@dataclass(frozen=True)
class MeasureFits:
    """Fits a method to 50 samples of 20 points, and decomposes its error on new points."""

    n_test: int
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Keep the terms, their intervals, and of straight lines the fits themselves."""
        seed = seed_of(self.seed, DATASET, cell.split)
        terms = bias_variance(
            MAKERS[cell.method](), _draw_points, n_models=N_FITS, train_size=N_POINTS, test_size=self.n_test,
            truth=_truth, random_state=seed,
        )  # fmt: skip
        values = {name: float(getattr(terms, name)) for name in ("error", "bias", "variance", "noise")}
        if cell.method == DRAWN:
            values |= _lines(seed)
        return Outcome(values, n_test=self.n_test, seed=seed)


def _lines(seed: int) -> dict[str, float]:
    """Return slope and intercept of straight lines through samples of 20 points."""
    values: dict[str, float] = {}
    for number in range(N_FITS):
        X, y = _draw_points(N_POINTS, seed_of(seed, number))
        slope, intercept = np.polyfit(X[:, 0], y, 1)
        values |= {f"slope {number}": float(slope), f"intercept {number}": float(intercept)}
    return values


def fits_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the table of fits."""
    cells = [Cell(DATASET, method, 0) for method in MAKERS]
    settings = {"fits": N_FITS, "points": N_POINTS, "test": N_TEST[budget], "bagged": N_BAGGED, "seed": SEED}
    measure = MeasureFits(N_TEST[budget], SEED)
    return Experiment("variance_reduction/fits", settings, cells, measure, lambda _: N_TEST[budget])


def show_fits(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    """Show the terms of every method, what the slides claim of them, and the fits."""
    by_method = {result.method: result for result in results if result.failure is None}
    terms = ("bias", "variance", "noise", "error")
    rows = [[name, *(round(result.values[term], 4) for term in terms)] for name, result in by_method.items()]
    notes = [
        f"{N_FITS} fits of {N_POINTS} points each, judged at {N_TEST[budget]} new points, x even from 0 to 10; the "
        "slides do not give the range. Noise has a standard deviation of 0.2, so the third term is about 0.04.",
        "The terms are freed of the finite number of fits and sum to the error exactly. The slides print no numbers.",
        *(f"{result.method} failed: {result.failure}" for result in results if result.failure),
    ]
    table = ShownTable(
        "fits", "Squared error taken apart", ["method", "bias²", "variance", "noise", "error"], rows, notes
    )
    shown: list[ShownTable | ShownFigure] = [table]
    claim_rows = [{"method": name, **result.values} for name, result in by_method.items()]
    shuffled = "bias and variance, together, go to other methods."
    caption = "What the slides say of bias and variance"
    shown.append(claims_table("fits_claims", caption, FIT_RULES, claim_rows, shuffled))
    if by_method:
        shown.append(ShownFigure("fits_terms", "Bias², variance and noise by method", partial(_draw_terms, by_method)))
    if DRAWN in by_method:
        caption = f"{N_FITS} straight lines, each through {N_POINTS} points"
        shown.append(ShownFigure("fits_lines", caption, partial(_draw_lines, by_method[DRAWN])))
    return shown


def _draw_terms(by_method: dict[str, Result]) -> Any:
    # The ninth degree, whose terms are many times those of the others, would leave nothing of them to see.
    names = [name for name, result in by_method.items() if result.values["error"] < 20]
    terms = [[by_method[name].values[term] for name in names] for term in ("bias", "variance", "noise", "error")]
    labels = [name.replace(" ", "\n") for name in names]
    return BiasVarianceDisplay(labels, *terms, parameter="method").plot().figure_


def _draw_lines(result: Result) -> Any:
    from tremula.diagnostics.displays.style import BLACK, BLUE, canvas

    x = np.linspace(*SINE_RANGE, 200)
    with canvas() as ax:
        for number in range(N_FITS):
            line = result.values[f"slope {number}"] * x + result.values[f"intercept {number}"]
            ax.plot(x, line, color=BLUE, linewidth=0.5, alpha=0.5)
        ax.plot(x, sine_value(x), color=BLACK, linewidth=1.4)
        ax.set(xlabel="x", ylabel="y")
    return ax.figure
