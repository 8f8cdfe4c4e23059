"""The paper's claim that smearing shifts the error of bagging towards bias: both parts, after Kohavi and Wolpert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics import bias_variance
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.frank2006.protocol import BAGGING, CLASS_MAKERS, SEED, SIZES, SMEARING, load_rows
from tremula.lab.papers.frank2006.rules import BIAS_RULES
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.shared_protocol import seed_of

MOST_ROWS = 2000


@dataclass(frozen=True)
class MeasureBias:
    """Decomposes the error of one method on one dataset."""

    most_rows: int | None
    models: int

    def __call__(self, cell: Cell) -> Outcome:
        """Train on learning sets drawn without replacement from half of the rows; the other half judges them."""
        dataset = load_rows(cell.dataset, self.most_rows, SEED)
        model, seed = CLASS_MAKERS[cell.method](SEED).set_params(random_state=None), seed_of(SEED, cell.dataset, "bias")
        if cell.method == SMEARING:
            model.set_params(tuning="oob")  # a search for every learning set: folds would take four times as long
        parts = bias_variance(model, dataset.X, dataset.y, scheme="pool", n_models=self.models, random_state=seed)
        return Outcome({"bias": parts.bias, "variance": parts.variance, "error": parts.error}, seed=seed)


def bias_experiment(budget: Budget) -> Experiment:
    """Return bias and variance of smearing and of bagging on every dataset."""
    sizes = SIZES[budget]
    cells = [Cell(dataset, method, 0) for dataset in sizes.classes for method in (SMEARING, BAGGING)]
    most_rows = None if budget == "full" else MOST_ROWS
    settings = {"models": sizes.models, "seed": SEED, "most_rows": most_rows, "tuning": "oob"}
    return Experiment("frank2006/bias", settings, cells, MeasureBias(most_rows, sizes.models))


def _share(values: Any) -> float:
    """Return the bias as a share of bias and variance; an estimate below 0 counts as 0."""
    bias, variance = max(0.0, values["bias"]), max(0.0, values["variance"])
    return bias / (bias + variance) if bias + variance > 0.0 else np.nan


def show_bias(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the parts, and on how many datasets the share of the bias is larger with smearing."""
    measured = {(result.dataset, result.method): result.values for result in results if result.failure is None}
    rows: list[list[Any]] = []
    shares: list[list[float]] = []
    for dataset in dict.fromkeys(result.dataset for result in results):
        pair = [measured[dataset, method] for method in (SMEARING, BAGGING) if (dataset, method) in measured]
        if len(pair) == 2:
            shares.append([_share(values) for values in pair])
            numbers = [f"{100 * values[name]:.2f}" for values in pair for name in ("bias", "variance")]
            rows.append([dataset, *numbers, *(f"{share:.3f}" for share in shares[-1])])
    columns = [
        "dataset",
        "smearing: bias",
        "variance",
        "bagging: bias",
        "variance",
        "share, smearing",
        "share, bagging",
    ]
    sizes = SIZES[budget]
    notes = [
        f"{sizes.models} learning sets of a quarter of the rows each, drawn from one half of them and judged by the "
        "other; zero-one loss after Kohavi and Wolpert, noise counted in the bias, both parts freed of the finite "
        "number of models. The amount of noise is chosen anew in every learning set, on its out-of-bag rows.",
        *(result.failure_note for result in results if result.failure),
    ]
    table = ShownTable("bias", "Bias and variance in percent, and the share of the bias in them", columns, rows, notes)
    claim_rows = [{"smearing share": smearing, "bagging share": bagging} for smearing, bagging in shares]
    shuffled = "dataset by dataset, with probability a half, smearing and bagging are exchanged."
    expected = ["The figure of the paper is not in the text that we have."]
    caption = "Claim of the paper about bias and variance"
    return [table, claims_table("bias_claims", caption, BIAS_RULES, claim_rows, shuffled, expected)]
