"""The paper's claim that smearing shifts the error of bagging towards bias: both parts, after Kohavi and Wolpert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tremula.diagnostics import bias_variance
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.frank2006.protocol import BAGGING, CLASS_MAKERS, SEED, SIZES, SMEARING, CostOfSplit, load_rows
from tremula.lab.papers.frank2006.rules import BIAS_RULES
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import CLAIM_COLUMNS, POWER_NOTE
from tremula.lab.papers.shared_protocol import seed_of

MOST_ROWS = 2000
CROSS_VALIDATED = "smearing, cross-validated"
KINDS = (SMEARING, CROSS_VALIDATED, BAGGING)


@dataclass(frozen=True)
class MeasureBias:
    """Decomposes the error of one method on one dataset."""

    most_rows: int | None
    models: int

    def __call__(self, cell: Cell) -> Outcome:
        """Train on learning sets drawn without replacement from half of the rows; the other half judges them."""
        dataset = load_rows(cell.dataset, self.most_rows, SEED)
        maker = CLASS_MAKERS[SMEARING if cell.method == CROSS_VALIDATED else cell.method]
        model, seed = maker(SEED).set_params(random_state=None), seed_of(SEED, cell.dataset, "bias")
        if cell.method == SMEARING:
            model.set_params(tuning="oob")  # folds, as in the paper, take some four times as long
        parts = bias_variance(model, dataset.X, dataset.y, scheme="pool", n_models=self.models, random_state=seed)
        return Outcome({"bias": parts.bias, "variance": parts.variance, "error": parts.error}, seed=seed)


@dataclass(frozen=True)
class CostOfBias:
    """About how long a cell takes: the rows, attributes and learning sets that it has."""

    most_rows: int | None
    models: int

    def __call__(self, cell: Cell) -> float:
        """Return it in no particular unit."""
        work = CostOfSplit(self.most_rows)
        trained = SMEARING if cell.method == CROSS_VALIDATED else cell.method
        return work(replace(cell, method=trained)) * self.models


def bias_experiment(budget: Budget) -> Experiment:
    """Return bias and variance of smearing, with amounts chosen in two ways, and of bagging on every dataset."""
    sizes = SIZES[budget]
    cells = [Cell(dataset, method, 0) for dataset in sizes.classes for method in KINDS]
    most_rows = None if budget == "full" else MOST_ROWS
    settings = {"models": sizes.models, "seed": SEED, "most_rows": most_rows, "tuning": "oob"}
    measure, cost = MeasureBias(most_rows, sizes.models), CostOfBias(most_rows, sizes.models)
    return Experiment("frank2006/bias", settings, cells, measure, cost)


def _share(values: Any) -> float:
    """Return the bias as a share of bias and variance; an estimate below 0 counts as 0."""
    bias, variance = max(0.0, values["bias"]), max(0.0, values["variance"])
    return bias / (bias + variance) if bias + variance > 0.0 else np.nan


def show_bias(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the parts, and on how many datasets the share of the bias is larger with smearing."""
    measured = {(result.dataset, result.method): result.values for result in results if result.failure is None}
    rows: list[list[Any]] = []
    for dataset in dict.fromkeys(result.dataset for result in results):
        of = [measured.get((dataset, kind)) for kind in KINDS]
        numbers = [_percent(values, name) for values in of for name in ("bias", "variance")]
        rows.append([dataset, *numbers, *(f"{_share(values):.3f}" if values else None for values in of)])
    columns = ["dataset", *(f"{kind}: {part}" for kind in KINDS for part in ("bias", "variance"))]
    columns += [f"share, {kind}" for kind in KINDS]
    notes = [
        f"{SIZES[budget].models} learning sets of a quarter of the rows each, drawn from one half of them and judged "
        "by the other; zero-one loss after Kohavi and Wolpert, noise counted in the bias, both parts freed of the "
        "finite number of models. The amount of noise is chosen anew in every learning set: on its out-of-bag rows, "
        "or by cross-validation as in the paper.",
        *(result.failure_note for result in results if result.failure),
    ]
    table = ShownTable("bias", "Bias and variance in percent, and the share of the bias in them", columns, rows, notes)
    return [table, _claims(rows)]


def _percent(values: Mapping[str, float] | None, name: str) -> str | None:
    return None if values is None else f"{100 * values[name]:.2f}"


def share_rows(rows: Sequence[Sequence[Any]], kind: str) -> list[dict[str, Any]]:
    """Return the shares of one kind of smearing and of bagging, of the datasets that have both, as printed."""
    place, last = KINDS.index(kind) - len(KINDS), -1
    return [
        {"smearing share": float(row[place]), "bagging share": float(row[last])}
        for row in rows
        if row[place] and row[last]
    ]


def _claims(rows: Sequence[Sequence[Any]]) -> ShownTable:
    ways = {CROSS_VALIDATED: "amounts cross-validated, as in the paper", SMEARING: "amounts chosen out of bag"}
    lines = [
        replace(rule, claim=f"{rule.claim}; {words}").line(of)
        for kind, words in ways.items()
        if (of := share_rows(rows, kind))
        for rule in BIAS_RULES
    ]
    shuffled = "dataset by dataset, with probability a half, smearing and bagging are exchanged."
    notes = ["The figure of the paper is not in the text that we have.", POWER_NOTE + shuffled]
    return ShownTable("bias_claims", "Claim of the paper about bias and variance", CLAIM_COLUMNS, lines, notes)
