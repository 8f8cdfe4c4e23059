"""Questions that the paper leaves open: amounts above 0.3, a distribution chosen by the data, an amount per attribute.

The variants are three of those of `options`, measured apart; each differs from plain smearing in one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.frank2006.options import BASE, CLASSES, EACH, MOST_ROWS, NUMBERS, MeasureVariant, suits
from tremula.lab.papers.frank2006.protocol import N_MEMBERS, SEED
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import OPEN, Finding, Rows, Rule, claims_table, exchanged

WIDER, BY_DATA = "amounts up to 1", "distribution by out-of-bag rows"
ASKED = (WIDER, BY_DATA, EACH)
SPLITS: dict[Budget, int] = {"quick": 1, "default": 3, "full": 25}
QUICK = ("glass", "machine-cpu")
SIGNIFICANCE = 0.05


def amounts_experiment(budget: Budget) -> Experiment:
    """Return plain smearing and the three variants on the datasets of the options that have numbers."""
    datasets = QUICK if budget == "quick" else [name for name in (*CLASSES, *NUMBERS) if suits(WIDER, name)]
    cells = [
        Cell(dataset, variant, split)
        for split in range(SPLITS[budget])
        for dataset in datasets
        for variant in (BASE, *ASKED)
    ]
    settings = {"members": N_MEMBERS, "seed": SEED, "most_rows": MOST_ROWS}
    return Experiment("frank2006/amounts", settings, cells, MeasureVariant())


def ratio_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return by dataset the error of each variant divided by that of plain smearing, and the mean amounts of noise."""
    rows = []
    for dataset, methods in group_by_split(results).items():
        splits = shared_splits(methods)
        if set(methods) != {BASE, *ASKED} or not splits:
            continue
        measure = "rrse" if "rrse" in methods[BASE][splits[0]].values else "error"
        columns = {name: [by_split[split].values for split in splits] for name, by_split in methods.items()}
        means = {name: float(np.mean([values[measure] for values in of])) for name, of in columns.items()}
        row: dict[str, Any] = {"dataset": dataset, "splits": len(splits), BASE: means[BASE]}
        row |= {name: means[name] / means[BASE] if means[BASE] > 0 else 1.0 for name in ASKED}
        row["amounts"] = {name: float(np.mean([values["noise"] for values in of])) for name, of in columns.items()}
        rows.append(row)
    return rows


def _lowers(variant: str) -> Callable[[Rows], Finding]:
    def judge(rows: Rows) -> Finding:
        differing = [row[variant] for row in rows if row[variant] != 1.0]
        if not differing:
            return Finding(f"no difference on any of {len(rows)}", False)
        lower = sum(ratio < 1.0 for ratio in differing)
        chance = stats.binomtest(lower, len(differing), 0.5, alternative="greater").pvalue
        mean = float(np.exp(np.mean(np.log([max(row[variant], 1e-9) for row in rows]))))
        return Finding(f"on {lower} of {len(differing)}; mean ratio {mean:.3f}", bool(chance <= SIGNIFICANCE))

    return judge


def _rule(variant: str, words: str) -> Rule:
    return Rule(
        f"{words} lowers the error of smearing",
        OPEN,
        "it lowered the error on no more datasets than chance allows (sign test, one-sided, 5 %)",
        _lowers(variant),
        exchanged(lambda row: {**row, variant: 1.0 / max(row[variant], 1e-9)}),
    )


AMOUNT_RULES = (
    _rule(WIDER, "a choice among amounts up to 1"),
    _rule(BY_DATA, "a distribution chosen by the data"),
    _rule(EACH, "an amount for each attribute"),
)


def show_amounts(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the ratios of errors and the chosen amounts, and whether a variant is better."""
    rows = ratio_rows(results)
    lines = [
        [row["dataset"], row["splits"], *(f"{row[name]:.3f}" for name in ASKED)]
        + [f"{row['amounts'][name]:.2f}" for name in (BASE, WIDER)]
        for row in rows
    ]
    columns = ["dataset", "splits", *ASKED, "mean noise, plain", "mean noise, up to 1"]
    notes = [
        f"The error, or the root relative squared error, divided by that of plain smearing ({BASE}): below 1 is "
        f"better. {N_MEMBERS} members, at most {MOST_ROWS} rows of a dataset, 90 % of them to train on.",
        "An amount for each attribute is searched at five times the cost of plain smearing, the other two at "
        "that of their amounts and distributions.",
        *first_failures(results),
    ]
    caption = "Three variants against plain smearing"
    shuffled = "dataset by dataset, with probability a half, the variant and plain smearing are exchanged."
    about = "Questions that the paper leaves open"
    claims = claims_table("amounts_claims", about, AMOUNT_RULES, rows, shuffled)
    return [claims, ShownTable("amounts", caption, columns, lines, notes)]
