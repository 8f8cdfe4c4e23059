"""Table 2 of Geurts (2001) with verdicts; the cost of the shortcut; and noise by attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import paired_t_test
from tremula.lab.experiments.result import Result, group_by_split
from tremula.lab.papers.geurts2001.problems import PROBLEMS
from tremula.lab.papers.geurts2001.protocol import BAGGED, SIZES, TREE, drawn_problems
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.verdict import judge_mean

N_PUBLISHED = 10
ROUNDING = 0.00005  # half a unit of the last printed digit
PREFIXES = {TREE: "dt", BAGGED: "bag"}

Floats = NDArray[np.float64]


def values_of(results: Sequence[Result], dataset: str, method: str, name: str) -> Floats:
    """Return a value of every division that was measured, in the order of divisions."""
    splits = group_by_split(results).get(dataset, {}).get(method, {})
    return np.array([splits[split].values[name] for split in sorted(splits)])


def _failures(results: Sequence[Result]) -> list[str]:
    return sorted({result.failure_note for result in results if result.failure is not None})


def _percent(errors: Floats) -> str:
    return f"{100 * errors.mean():.2f} ± {100 * errors.std(ddof=1):.2f}" if len(errors) > 1 else "-"


def _amount(amounts: Floats) -> str:
    return f"{amounts.mean():.2f} ± {amounts.std(ddof=1):.2f}" if len(amounts) > 1 else "-"


def _published(dataset: str) -> dict[str, str] | None:
    rows = {row["dataset"]: row for row in read_published("geurts2001_table2").rows}
    return rows.get(PROBLEMS[dataset].published or "")


COLUMNS = (
    "dataset",
    "error %",
    "with noise, path form",
    "with noise, exact form",
    "λ of the path form",
    "theirs %",
    "their λ",
    "change",
    "their change",
    "verdict on the error",
    "on the error with noise",
    "on the change",
)
CAPTIONS = {
    TREE: "A pruned tree, with and without noise",
    BAGGED: "Bagged trees pruned together, with and without noise",
}


def _row(results: Sequence[Result], dataset: str, method: str) -> list[Any] | None:
    """Return our numbers and the published ones, for the model, the softened model and the change."""
    hard, soft = (values_of(results, dataset, method, name) for name in ("error", "path_error"))
    if len(hard) < 2:
        return None
    exact, amounts = (
        values_of(results, dataset, method, "exact_error"),
        values_of(results, dataset, method, "path_noise"),
    )
    ours, change = [_percent(hard), _percent(soft), _percent(exact), _amount(amounts)], _signed((soft - hard).mean())
    theirs, prefix = _published(dataset), PREFIXES[method]
    if theirs is None:
        return [dataset, *ours, None, None, change, None, *["not comparable"] * 3]
    given = {name: float(theirs[f"{prefix}_{name}"]) / 100 for name in ("err", "dpc_err")}
    published = given["dpc_err"] - given["err"]
    judged = [
        judge_mean(hard, given["err"], N_PUBLISHED, ROUNDING).verdict,
        judge_mean(soft, given["dpc_err"], N_PUBLISHED, ROUNDING).verdict,
        judge_mean(soft - hard, published, N_PUBLISHED, 2 * ROUNDING, signed=True).verdict,
    ]
    printed = f"{theirs[f'{prefix}_err']} → {theirs[f'{prefix}_dpc_err']}"
    return [dataset, *ours, printed, theirs[f"{prefix}_lambda"], change, _signed(published), *judged]


def _signed(share: float) -> str:
    return f"{100 * share:+.2f}"


def show_table2(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show Table 2 with our numbers and the published ones, in two halves."""
    sizes = SIZES[budget]
    notes = [
        f"Mean ± standard deviation over {sizes.divisions} divisions of the learning rows with one test set; bagged "
        f"models have {sizes.members} trees. Noise is chosen on the pruning rows, which have pruned the model.",
        "Verdicts compare means over divisions. Which rows are tested on is drawn once, here as there: this sampling "
        "error is common to all divisions and is not in the verdicts, least of all in that on the change.",
        *_failures(results),
    ]
    tables = []
    for method, name in ((TREE, "table2_tree"), (BAGGED, "table2_bagged")):
        rows = [_row(results, dataset, method) for dataset in sizes.problems]
        tables.append(ShownTable(name, CAPTIONS[method], COLUMNS, _there(rows), notes))
    return [*tables, _claims(results, budget), show_shortcut(results, budget)]


def _there(rows: Sequence[list[Any] | None]) -> list[list[Any]]:
    return [row for row in rows if row is not None]


# --- claims of the paper ---


def _changes(results: Sequence[Result], budget: Budget, method: str) -> dict[str, tuple[float, float]]:
    """Return the change in percent, and half the width of its 95 % interval over divisions, of each set."""
    changes = {}
    for name in SIZES[budget].problems:
        hard, soft = (values_of(results, name, method, each) for each in ("error", "path_error"))
        if len(hard) > 1:
            low, high = paired_t_test(soft, hard).interval
            changes[name] = (100 * float((soft - hard).mean()), 50 * (high - low))
    return changes


def _held(claim: bool) -> str:
    return "holds" if claim else "does not hold"


def _claims(results: Sequence[Result], budget: Budget) -> ShownTable:
    trees, bagged = (_changes(results, budget, method) for method in (TREE, BAGGED))
    gains = [name for name, (change, half) in trees.items() if change + half < 0]
    losses = [name for name, (change, half) in trees.items() if change - half > 0]
    bagged_gains = [name for name, (change, half) in bagged.items() if change + half < 0]
    beats = [
        name
        for name in trees
        if len(values_of(results, name, BAGGED, "error"))
        and values_of(results, name, TREE, "path_error").mean() < values_of(results, name, BAGGED, "error").mean()
    ]
    better_together = [name for name in bagged if name in trees and bagged[name][0] < 0 and trees[name][0] < 0]
    rows: list[list[Any]] = [
        ["noise lowers the error of one tree (95 %)", _listed(gains), "all but segment", _held(not losses)],
        ["one tree with noise beats bagging", _listed(beats), "omib, waveform", _held("waveform" in beats)],
        ["noise lowers the error of bagging (95 %)", _listed(bagged_gains), "6 of 9 sets", _held(bool(bagged_gains))],
        ["noise helps both", _listed(better_together), "strongly correlated", _held(bool(better_together))],
    ]
    return ShownTable("claims", "Claims of the paper about Table 2", ["claim", "ours", "published", "verdict"], rows)


def _listed(names: Sequence[str]) -> str:
    return "; ".join(names) or "none"


# --- other test rows ---


def show_draws(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Judge Table 2 again by rows drawn anew each time, test rows among them."""
    rows = []
    for method in (TREE, BAGGED):
        for name in drawn_problems(budget):
            hard, soft = (values_of(results, name, method, each) for each in ("error", "path_error"))
            theirs = _published(name)
            if len(hard) < 2 or theirs is None:
                continue
            given = [float(theirs[f"{PREFIXES[method]}_{each}"]) / 100 for each in ("err", "dpc_err")]
            pairs = [(hard, given[0]), (soft, given[1]), (soft - hard, given[1] - given[0])]
            verdicts = [
                judge_mean(ours, published, 1, ROUNDING, signed=number == 2).verdict
                for number, (ours, published) in enumerate(pairs)
            ]
            printed = f"{100 * given[0]:.2f} → {100 * given[1]:.2f}"
            change = f"{_signed((soft - hard).mean())} ± {100 * (soft - hard).std(ddof=1):.2f}"
            rows.append([name, method, _percent(hard), _percent(soft), change, printed, *verdicts])
    columns = ["dataset", "model", "error %", "with noise", "change", "theirs %"]
    columns += ["verdict on the error", "on the error with noise", "on the change"]
    caption = "Rows drawn anew each time, test rows among them"
    notes = [
        f"Mean ± standard deviation over {SIZES[budget].divisions} draws, one division each. A verdict asks whether "
        "the published number could be one more draw.",
        *_failures(results),
    ]
    return [ShownTable("draws", caption, columns, rows, notes)]


# --- the shortcut ---


def show_shortcut(results: Sequence[Result], budget: Budget) -> ShownTable:
    """Show what it costs to take for a bagged model the noise of a single tree."""
    rows = []
    for name in SIZES[budget].problems:
        own, short = (values_of(results, name, BAGGED, each) for each in ("path_error", "shortcut_error"))
        if len(own) < 2:
            continue
        low, high = paired_t_test(short, own).interval
        amounts = [_amount(values_of(results, name, BAGGED, each)) for each in ("path_noise", "shortcut_noise")]
        difference = f"{100 * (short - own).mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
        rows.append([name, *amounts, _percent(own), _percent(short), difference])
    columns = ["dataset", "λ of the ensemble", "λ of one tree", "error %", "error % by the shortcut", "cost [95 %]"]
    caption = "The shortcut: noise chosen for a single tree, used for the bagged trees"
    return ShownTable("shortcut", caption, columns, rows, ["The paper left this cost to be evaluated."])


# --- amounts of noise by attribute ---


def show_attribute_noise(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show whether an amount of noise for each attribute pays off."""
    rows = []
    for method in SIZES[budget].attribute_noise_methods:
        for name in SIZES[budget].problems:
            for scoring in ("error", "log_loss"):
                common, each = (values_of(results, name, method, f"{scoring}_{kind}") for kind in ("common", "each"))
                if len(common) < 2:
                    continue
                low, high = paired_t_test(each, common).interval
                difference = f"{100 * (each - common).mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
                rows.append([name, method, scoring, _percent(common), _percent(each), difference])
    columns = ["dataset", "model", "chosen by", "one amount", "one per attribute", "change [95 %]"]
    caption = "One amount of noise for all attributes, or one per attribute; exact form"
    notes = ["The paper names noise by attribute as future work.", *_failures(results)]
    return [ShownTable("levels", caption, columns, rows, notes)]
