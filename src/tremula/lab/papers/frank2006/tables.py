"""Tables 1 and 2 of Frank and Pfahringer (2006), and the claims of the paper about them, held against ours.

Of the tables themselves no copy was found: what is compared are the claims of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics import corrected_t_test
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.frank2006.protocol import (
    CLASSES,
    FEWER_ROWS,
    FEWER_SPLITS,
    N_MEMBERS,
    NUMBERS,
    SIZES,
    SMEARING,
)
from tremula.lab.papers.frank2006.rules import CLASS_RULES, NUMBER_RULES, OTHERS, SHUFFLED
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import Rule, claims_table

SIGNIFICANCE = 0.05
Measured = dict[str, dict[str, np.ndarray]]


def gather(results: Sequence[Result]) -> tuple[dict[str, Measured], list[str]]:
    """Return numbers by dataset, method and name, for the splits that all methods of a dataset share; and failures."""
    measured: dict[str, Measured] = {}
    for dataset, methods in group_by_split(results).items():
        shared = shared_splits(methods)
        if shared:
            measured[dataset] = {
                method: _columns([splits[split] for split in shared]) for method, splits in methods.items()
            }
    return measured, first_failures(results)


def _columns(results: Sequence[Result]) -> dict[str, np.ndarray]:
    values = [{**result.values, "n_test": result.n_test, "seconds": result.fit_seconds} for result in results]
    names = values[0] | {"noise": 0, "n_trained": 0}
    return {name: np.array([row.get(name, np.nan) for row in values], dtype=float) for name in names}


@dataclass(frozen=True)
class Comparison:
    """Smearing against one method on one dataset: -1 significantly worse, 0 no difference shown, 1 better."""

    dataset: str
    other: str
    outcome: int


def compare(measured: dict[str, Measured], measure: str) -> list[Comparison]:
    """Compare smearing with every other method by the corrected resampled t test; less is better."""
    compared = []
    for dataset, methods in measured.items():
        for other in OTHERS:
            if not {SMEARING, other} <= set(methods) or len(methods[other][measure]) < 2:
                continue
            ours, theirs = methods[SMEARING], methods[other]
            test = corrected_t_test(
                ours[measure],
                theirs[measure],
                n_train=ours["n_train"],
                n_test=ours["n_test"],
                confidence=1 - SIGNIFICANCE,
            )
            outcome = 0 if test.p_value > SIGNIFICANCE else -1 if test.difference > 0 else 1
            compared.append(Comparison(dataset, other, outcome))
    return compared


def _rows(
    measured: dict[str, Measured], compared: Sequence[Comparison], show: Callable[[dict[str, np.ndarray]], Any]
) -> list[list[Any]]:
    marks = {
        (comparison.dataset, comparison.other): {-1: " (better)", 0: "", 1: " (worse)"}[comparison.outcome]
        for comparison in compared
    }
    rows = []
    for dataset, methods in measured.items():
        if SMEARING not in methods:
            continue
        others = [show(methods[m]) + marks.get((dataset, m), "") if m in methods else None for m in OTHERS]
        amounts = methods[SMEARING]["noise"]
        spread = f" ± {amounts.std(ddof=1):.2f}" if len(amounts) > 1 else ""
        rows.append([dataset, show(methods[SMEARING]), *others, f"{amounts.mean():.2f}{spread}"])
    return rows


def _spread(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" if len(values) > 1 else f"{values.mean():.2f}"


def claim_rows(measured: dict[str, Measured], compared: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return the outcome of smearing against every other method, and the mean noise as printed, of every dataset."""
    rows: list[dict[str, Any]] = [
        {"dataset": name, "noise": round(float(methods[SMEARING]["noise"].mean()), 2)}
        for name, methods in measured.items()
        if SMEARING in methods
    ]
    outcomes = {(comparison.dataset, comparison.other): comparison.outcome for comparison in compared}
    for row in rows:
        row |= {other: outcomes[row["dataset"], other] for other in OTHERS if (row["dataset"], other) in outcomes}
    return rows


def n_splits(measured: dict[str, Measured]) -> str:
    """Say how many splits were measured, where datasets differ from the fewest to the most."""
    counts = sorted({len(values["n_test"]) for methods in measured.values() for values in methods.values()}) or [0]
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _notes(most_rows: int | None, datasets: Sequence[str], measured: dict[str, Measured]) -> list[str]:
    rows = "all rows, if not said otherwise" if most_rows is None else f"at most {most_rows} rows, drawn once"
    return [
        f"{n_splits(measured)} random splits of 90 % and 10 % (the paper: 100), {N_MEMBERS} members, {rows}; "
        f"{len(measured)} of {len(datasets)} datasets. The amount of noise is chosen in every training set by "
        "cross-validation of five folds on 0, 0.05, ... 0.3, of equal ones the smaller.",
        "Another method's number that is significantly worse or better than that of smearing is marked so: corrected "
        "resampled t test, two-sided, 5 %. ± is the standard deviation over splits.",
    ]


def _fewer_rows(results: Sequence[Result]) -> list[str]:
    """Say which datasets are shown with fewer rows than the budget has."""
    fewer = list(dict.fromkeys(result.dataset for result in results if result.stands_in))
    if not fewer:
        return []
    return [
        f"Not yet measured on so many splits of all rows, so that {FEWER_SPLITS} splits of at most {FEWER_ROWS} rows, "
        f"drawn once, stand in: {', '.join(fewer)}."
    ]


def show_classes(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show accuracies, amounts of noise, and the claims of the paper about them."""
    return _show(
        "1",
        gather(results),
        CLASSES,
        measure="error",
        show=lambda values: _spread(100.0 - 100.0 * values["error"]),
        caption="Accuracy in percent",
        singles=["REPTree, unpruned", "C4.5 (J48), pruned"],
        rules=CLASS_RULES,
        most_rows=SIZES[budget].most_rows[0],
        notes=[
            "The paper does not list its 22 datasets: these are those of UCI, in Weka's form, with numeric attributes "
            "alone.",
        ],
    )


def show_numbers(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show relative errors, amounts of noise, and the claims of the paper about them."""
    return _show(
        "2",
        gather(results),
        NUMBERS,
        measure="rrse",
        show=lambda values: _spread(values["rrse"]),
        caption="Root relative squared error",
        singles=["M5', unpruned", "M5', pruned"],
        rules=NUMBER_RULES,
        most_rows=SIZES[budget].most_rows[1],
        notes=[
            *_fewer_rows(results),
            "Root relative squared error in percent: 100 is the error of the mean target of the training rows.",
            "The paper does not list its 23 datasets: these are those of Torgo's collection with numeric attributes "
            "alone, without diabetes-numeric, which has 43 rows.",
        ],
    )


def _show(
    number: str,
    gathered: tuple[dict[str, Measured], list[str]],
    datasets: Sequence[str],
    *,
    measure: str,
    show: Callable[[dict[str, np.ndarray]], Any],
    caption: str,
    singles: Sequence[str],
    rules: Sequence[Rule],
    most_rows: int | None,
    notes: Sequence[str],
) -> list[ShownTable]:
    """Return a table of the paper, and the table of its claims."""
    measured = {name: gathered[0][name] for name in datasets if name in gathered[0]}
    if not measured:
        return []
    compared = compare(measured, measure)
    columns = ["dataset", "smearing", "bagging", *singles, "mean noise"]
    notes = [*_notes(most_rows, datasets, measured), *notes, *gathered[1]]
    about = f"Claims of the paper about Table {number}"
    claim_notes = [f"With {n_splits(measured)} splits the test finds less than with the paper's 100."]
    return [
        ShownTable(f"table{number}", caption, columns, _rows(measured, compared, show), notes),
        claims_table(f"claims{number}", about, rules, claim_rows(measured, compared), SHUFFLED, claim_notes),
    ]
