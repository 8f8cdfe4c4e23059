"""Tables 1 and 2 of Frank and Pfahringer (2006), and the claims of the paper about them, held against ours.

Of the tables themselves no copy was found: what is compared are the claims of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics import corrected_t_test
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.frank2006.protocol import (
    BAGGING,
    CLASSES,
    N_MEMBERS,
    NUMBERS,
    PRUNED,
    SIZES,
    SMEARING,
    UNPRUNED,
)
from tremula.lab.papers.paper import Budget, ShownTable

SIGNIFICANCE = 0.05
OTHERS = (BAGGING, UNPRUNED, PRUNED)
NEAR_ZERO, NEAR_EDGE = 0.05, 0.25
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


def _count(compared: Sequence[Comparison], other: str, outcome: int) -> int:
    return sum(comparison.other == other and comparison.outcome == outcome for comparison in compared)


def _named(compared: Sequence[Comparison], others: Sequence[str], outcome: int) -> str:
    names = dict.fromkeys(
        comparison.dataset for comparison in compared if comparison.other in others and comparison.outcome == outcome
    )
    return ", ".join(names)


def _mean_amounts(measured: dict[str, Measured]) -> dict[str, float]:
    return {name: float(methods[SMEARING]["noise"].mean()) for name, methods in measured.items() if SMEARING in methods}


@dataclass(frozen=True)
class Claim:
    """What the paper says, what we find, whether the two agree (None: not measured), and on which datasets."""

    said: str
    paper: str
    ours: Any
    agrees: bool | None
    which: str | None = None

    def row(self) -> list[Any]:
        """Return it as a row of the table."""
        verdict = {True: "agrees", False: "differs", None: "not measured"}[self.agrees]
        return [self.said, self.paper, self.ours, verdict, self.which or None]


def _amount_claim(amounts: dict[str, float], name: str, paper: str, low: float, high: float) -> Claim:
    """Compare the mean amount of noise of a dataset with the range that the paper states in words."""
    amount = amounts.get(name)
    if amount is None:
        return Claim(f"mean noise of {name}", paper, None, None)
    return Claim(f"mean noise of {name}", paper, f"{amount:.2f}", low <= amount <= high)


def _is_near(count: int, n: int, share: float) -> bool:
    """Return whether a count is as near to a share as two standard errors of a sample of so many datasets."""
    return abs(count / n - share) <= 2.0 * math.sqrt(share * (1.0 - share) / n)


def _class_claims(measured: dict[str, Measured], compared: Sequence[Comparison]) -> list[Claim]:
    amounts, n = _mean_amounts(measured), len(measured)
    wins, losses = _count(compared, BAGGING, 1), _count(compared, BAGGING, -1)
    any_losses = sum(comparison.outcome < 0 for comparison in compared)
    over_single = len(
        {comparison.dataset for comparison in compared if comparison.other != BAGGING and comparison.outcome > 0}
    )
    is_near, is_half = _is_near(wins, n, 4 / 22), _is_near(over_single, n, 0.5)
    zero = [name for name, amount in amounts.items() if amount == 0]
    highest = max(amounts, key=amounts.__getitem__)
    lost = _named(compared, (BAGGING,), -1)
    return [
        Claim("significant wins over bagging", "4 of 22", f"{wins} of {n}", is_near, _named(compared, (BAGGING,), 1)),
        Claim("significant losses to bagging", "0", losses, losses == 0, lost),
        Claim("significant losses to any other", "0", any_losses, any_losses == 0, _named(compared, OTHERS, -1)),
        Claim("datasets with a significant win over a single tree", "about half", f"{over_single} of {n}", is_half),
        _amount_claim(amounts, "spambase", "0", 0.0, NEAR_ZERO),
        Claim("datasets whose noise is always 0", "spambase alone", len(zero), zero == ["spambase"], ", ".join(zero)),
        Claim("largest mean noise", "0.29", f"{amounts[highest]:.2f}", amounts[highest] >= NEAR_EDGE, highest),
    ]


def _number_claims(measured: dict[str, Measured], compared: Sequence[Comparison]) -> list[Claim]:
    amounts, n = _mean_amounts(measured), len(measured)
    wins, losses = _count(compared, BAGGING, 1), _count(compared, BAGGING, -1)
    to_pruned, lost = _count(compared, PRUNED, -1), _named(compared, (BAGGING,), -1)
    won = f"{wins} of {n} ({100 * wins / n:.0f} %)"
    pruned, is_near = _named(compared, (PRUNED,), -1), _is_near(wins, n, 9 / 23)
    return [
        Claim("significant wins over bagging", "9 of 23 (39 %)", won, is_near, _named(compared, (BAGGING,), 1)),
        Claim("significant losses to bagging", "1", losses, losses <= 1, lost),
        Claim("significant losses to one pruned tree", "3", to_pruned, to_pruned <= 3, pruned),
        _amount_claim(amounts, "2dplanes", "at the edge, 0.3", NEAR_EDGE, 1.0),
        _amount_claim(amounts, "ailerons", "0", 0.0, NEAR_ZERO),
        _amount_claim(amounts, "house-8L", "close to 0", 0.0, NEAR_ZERO),
        _amount_claim(amounts, "triazines", "close to 0", 0.0, NEAR_ZERO),
    ]


def _claims_table(name: str, caption: str, claims: Sequence[Claim], splits: str) -> ShownTable:
    notes = [
        "A number of wins agrees if it is no further from the paper's than two standard errors of a sample of so many "
        f"datasets, a number of losses if it is no larger; an amount of noise is close to 0 up to {NEAR_ZERO}, "
        f"and at the edge from {NEAR_EDGE} on.",
        f"With {splits} splits the test finds less than with the paper's 100.",
    ]
    return ShownTable(name, caption, CLAIM_COLUMNS, [claim.row() for claim in claims], notes)


def n_splits(measured: dict[str, Measured]) -> str:
    """Say how many splits were measured, where datasets differ from the fewest to the most."""
    counts = sorted({len(values["n_test"]) for methods in measured.values() for values in methods.values()}) or [0]
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _notes(most_rows: int | None, datasets: Sequence[str], measured: dict[str, Measured]) -> list[str]:
    rows = "all rows" if most_rows is None else f"at most {most_rows} rows, drawn once, of a dataset"
    return [
        f"{n_splits(measured)} random splits of 90 % and 10 % (the paper: 100), {N_MEMBERS} members, {rows}; "
        f"{len(measured)} of {len(datasets)} datasets. The amount of noise is chosen in every training set by "
        "cross-validation of five folds on 0, 0.05, ... 0.3, of equal ones the smaller.",
        "Another method's number that is significantly worse or better than that of smearing is marked so: corrected "
        "resampled t test, two-sided, 5 %. ± is the standard deviation over splits.",
    ]


CLAIM_COLUMNS = ["claim", "paper", "ours", "verdict", "which"]


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
        claims=_class_claims,
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
        claims=_number_claims,
        most_rows=SIZES[budget].most_rows[1],
        notes=[
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
    claims: Callable[[dict[str, Measured], Sequence[Comparison]], list[Claim]],
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
    return [
        ShownTable(f"table{number}", caption, columns, _rows(measured, compared, show), notes),
        _claims_table(f"claims{number}", about, claims(measured, compared), n_splits(measured)),
    ]
