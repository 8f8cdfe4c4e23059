"""Bias and variance against the noise (Figures 3 and 4), and the boundary of one tree (Figure 2), on a 2-D problem.

The paper draws its problem but does not define it; ours is the diagonal of a square, noiseless and balanced as theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula import CARTClassifier, DualPerturbClassifier
from tremula.diagnostics import BoundaryDisplay
from tremula.diagnostics.displays.style import BLACK, FONTS, PALETTE, canvas, import_pyplot, legend_above
from tremula.lab.datasets.generators import diagonal_square
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.geurts2001.problems import SEED
from tremula.lab.papers.geurts2001.protocol import CRITERION, FORMS, SIZES
from tremula.lab.papers.geurts2001.rules import CURVE_RULES
from tremula.lab.papers.paper import Budget, ShownFigure, ShownTable
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.shared_protocol import seed_of

SQUARE = "diagonal square"
N_ROWS, N_POOL, LEARNING_ROWS = 20_000, 18_000, 500
AMOUNTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0)
FIGURE2_ROWS, FIGURE2_AMOUNTS = 100, (0.0, 0.28, 1.5)
MEASURES = ("error", "bias", "variance", "share_bias", "share_variance")

Floats = NDArray[np.float64]


def decompose(labels: NDArray[np.intp], shares: Floats, truth: NDArray[Any]) -> dict[str, float]:
    """Decompose the error of models on test rows without noise in their classes, by equations 7 to 12 of the paper.

    Parameters
    ----------
    labels : int array (n_models, n_rows)
    shares : float64 array (n_models, n_rows, n_classes)
    truth : int array (n_rows,)

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> import numpy as np
    >>> parts = decompose(np.array([[0, 1], [0, 0]]), np.full((2, 2, 2), 0.5), np.array([0, 1]))
    >>> parts["error"], parts["bias"] + parts["variance"], parts["share_variance"]
    (0.25, 0.25, 0.0)
    """
    n_classes = shares.shape[2]
    true_shares = np.eye(n_classes)[truth]
    given = np.mean(labels[:, :, None] == np.arange(n_classes), axis=0)
    return {
        "error": float(np.mean(labels != truth)),
        "bias": float(np.mean(0.5 * np.sum((true_shares - given) ** 2, axis=1))),
        "variance": float(np.mean(0.5 * (1 - np.sum(given**2, axis=1)))),
        "share_bias": float(np.mean((shares.mean(axis=0) - true_shares) ** 2)),
        "share_variance": float(np.mean(shares.var(axis=0))),
    }


@dataclass(frozen=True)
class MeasureAmount:
    """Trains trees on learning sets from a pool, and decomposes their error at one amount of noise."""

    learning_sets: int

    def __call__(self, cell: Cell) -> Outcome:
        """Measure at the amount of noise that the number of the split stands for."""
        problem = diagonal_square(N_ROWS, seed_of(SEED, SQUARE))
        X_test, y_test = problem.X[N_POOL:], problem.y[N_POOL:]
        shares = []
        for number in range(self.learning_sets):
            rows = np.random.default_rng(seed_of(SEED, SQUARE, number)).choice(N_POOL, LEARNING_ROWS, replace=False)
            tree = CARTClassifier(criterion=CRITERION).fit(problem.X[rows], problem.y[rows])
            soft = DualPerturbClassifier(tree, noise=AMOUNTS[cell.split], method=cell.method, thresholds="kept").fit(
                problem.X[rows]
            )
            shares.append(soft.predict_proba(X_test))
        stacked = np.array(shares)
        return Outcome(decompose(stacked.argmax(axis=2), stacked, y_test), len(y_test))


def curves_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Figures 3 and 4: one cell per amount of noise and form."""
    cells = [Cell(SQUARE, form, number) for form in FORMS for number in range(len(AMOUNTS))]
    n_sets = SIZES[budget].learning_sets
    settings = {"learning_sets": n_sets, "levels": list(AMOUNTS), "seed": SEED}
    return Experiment("geurts2001/curves", settings, cells, MeasureAmount(n_sets))


def _curve(results: Sequence[Result], form: str) -> dict[str, Floats]:
    by_split = {r.split: r.values for r in results if r.method == form and r.failure is None}
    numbers = sorted(by_split)
    curve = {name: np.array([by_split[number][name] for number in numbers]) for name in MEASURES}
    return curve | {"amount": np.array([AMOUNTS[number] for number in numbers])}


def _draw(results: Sequence[Result], names: dict[str, str], label: str) -> Any:
    with canvas(height=3.0) as axes:
        for form, style in zip(FORMS, ("-", "--")):
            curve = _curve(results, form)
            for colour, (name, said) in zip(PALETTE, names.items()):
                said = said if form == FORMS[0] else f"{said}, exact form"
                axes.plot(curve["amount"], curve[name], style, color=colour, label=said, linewidth=1.2)
        axes.set(xlabel="amount of noise λ", ylabel=label, ylim=(0, None))
        legend_above(axes, n_columns=2)
        return axes.figure


def show_curves(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    """Show Figures 3 and 4, and the claims of the paper about them."""
    zero_one = {"error": "error", "bias": "bias²", "variance": "variance"}
    of_shares = {"share_bias": "bias²", "share_variance": "variance"}
    said = (
        f"{SIZES[budget].learning_sets} trees of {LEARNING_ROWS} rows; full lines the path form, dashed the exact one."
    )
    return [
        ShownFigure("figure3", f"Bias and variance of the error. {said}", partial(_draw, results, zero_one, "share")),
        ShownFigure(
            "figure4",
            f"Bias and variance of class shares. {said}",
            partial(_draw, results, of_shares, "of class shares"),
        ),
        _curve_table(results),
        *_curve_claims(results),
    ]


def _curve_table(results: Sequence[Result]) -> ShownTable:
    curve = _curve(results, "path")
    rows = [
        [f"{amount:g}", *(f"{100 * curve[name][i]:.2f}" for name in MEASURES)]
        for i, amount in enumerate(curve["amount"])
    ]
    columns = ["λ", "error %", "bias² %", "variance %", "bias² of shares %", "variance of shares %"]
    return ShownTable("curves", "Bias and variance against the noise, path form", columns, rows)


def curve_rows(results: Sequence[Result], form: str) -> list[dict[str, float]]:
    """Return the measures at every amount of noise."""
    curve = _curve(results, form)
    return [{name: float(values[i]) for name, values in curve.items()} for i in range(len(curve["amount"]))]


def _curve_claims(results: Sequence[Result]) -> list[ShownTable]:
    """Judge the claims of the paper about Figures 3 and 4, for both forms."""
    notes = ["The problem is not the paper's, which is drawn there and not defined."]
    return [
        claims_table(
            f"curve_claims_{form}",
            f"Claims of the paper about its figures, {form} form",
            [replace(rule, claim=f"{rule.claim}, {form} form") for rule in CURVE_RULES],
            curve_rows(results, form),
            "the points of the curves are put in another order.",
            notes,
        )
        for form in FORMS
    ]


# --- Figure 2 ---


@dataclass(frozen=True)
class MeasureBoundary:
    """Tests one tree with the amounts of noise of Figure 2."""

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors on fresh rows."""
        tree, X, _ = _figure2_tree()
        test = diagonal_square(5000, seed_of(SEED, SQUARE, "figure2 test"))
        soft = DualPerturbClassifier(tree, noise=FIGURE2_AMOUNTS[cell.split], method="path", thresholds="kept").fit(X)
        return Outcome({"error": 1 - soft.score(test.X, test.y), "noise": FIGURE2_AMOUNTS[cell.split]}, 5000)


def _figure2_tree() -> tuple[CARTClassifier, Floats, NDArray[Any]]:
    problem = diagonal_square(FIGURE2_ROWS, seed_of(SEED, SQUARE, "figure2"))
    return CARTClassifier(criterion=CRITERION).fit(problem.X, problem.y), problem.X, problem.y


def boundary_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Figure 2."""
    cells = [Cell(SQUARE, "tree", number) for number in range(len(FIGURE2_AMOUNTS))]
    return Experiment("geurts2001/figure2", {"levels": list(FIGURE2_AMOUNTS)}, cells, MeasureBoundary())


def _draw_boundaries() -> Any:
    plt = import_pyplot()
    tree, X, y = _figure2_tree()
    with plt.rc_context(FONTS):
        figure, axes = plt.subplots(1, len(FIGURE2_AMOUNTS), figsize=(7, 2.7), sharex=True, sharey=True)
        figure.set_layout_engine("constrained")
        for amount, ax in zip(FIGURE2_AMOUNTS, axes):
            soft = DualPerturbClassifier(tree, noise=amount, method="path", thresholds="kept").fit(X)
            BoundaryDisplay.from_estimator(soft, X, y, ax=ax, legend=False)
            ax.axline((0, 0), slope=-1, color=BLACK, linestyle=":", linewidth=1)
            ax.set(title=f"λ = {amount:g}" if amount else "the tree", box_aspect=1)
            ax.label_outer()
    return figure


def show_boundary(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    """Show Figure 2: the regions of one tree without noise, with the best noise of the paper, and with too much."""
    rows = [[f"{r.values['noise']:g}", f"{100 * r.values['error']:.2f}"] for r in results if r.failure is None]
    return [
        ShownFigure("figure2", "Regions of one tree under noise; dotted the true boundary.", _draw_boundaries),
        ShownTable("figure2_errors", "Error of the tree of Figure 2 on 5000 fresh rows", ["λ", "error %"], rows),
    ]
