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
from tremula.lab.papers.geurts2001.rules import TABLE2_RULES
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.verdict import Judgement, judge_mean, judge_means

N_PUBLISHED = 10
ROUNDING = 0.00005  # half a unit of the last printed digit
AMOUNT_ROUNDING = 0.005
AMOUNT_WORDS = {"within": "within", "better": "smaller", "worse": "larger", "not comparable": "not comparable"}
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


def _published_rows() -> Sequence[dict[str, str]]:
    return read_published("geurts2001_table2").rows


def _published(dataset: str) -> dict[str, str] | None:
    rows = {row["dataset"]: row for row in _published_rows()}
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
    "on λ",
    "power",
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
        return [dataset, *ours, None, None, change, None, *["not comparable"] * 4, None]
    given = {name: float(theirs[f"{prefix}_{name}"]) / 100 for name in ("err", "dpc_err")}
    published = given["dpc_err"] - given["err"]
    amount, spread = float(theirs[f"{prefix}_lambda"]), float(theirs[f"{prefix}_lambda_sd"])
    judged = [
        judge_mean(hard, given["err"], N_PUBLISHED, ROUNDING),
        judge_mean(soft, given["dpc_err"], N_PUBLISHED, ROUNDING),
        judge_mean(soft - hard, published, N_PUBLISHED, 2 * ROUNDING, signed=True),
        judge_means(amounts, amount, spread, N_PUBLISHED, AMOUNT_ROUNDING),
    ]
    printed = f"{theirs[f'{prefix}_err']} → {theirs[f'{prefix}_dpc_err']}"
    numbers = [printed, f"{amount:.2f} ± {spread:.2f}", change, _signed(published)]
    words = [*(judgement.verdict for judgement in judged[:3]), AMOUNT_WORDS[judged[3].verdict]]
    return [dataset, *ours, *numbers, *words, _power(judged, theirs, method)]


def _power(judged: Sequence[Judgement], theirs: dict[str, str], method: str) -> str:
    """Count the wrong numbers of the row that the verdicts on both errors and on the noise would reject."""
    amounts = [float(row[f"{PREFIXES[method]}_lambda"]) for row in _published_rows() if row is not theirs]
    return f"{_error_power(judged, theirs, method)}; {judged[3].power(amounts) or '-'}"


def _error_power(judged: Sequence[Judgement], theirs: dict[str, str], method: str) -> str:
    """Count the errors published for the set that the verdicts on the error and on that with noise would reject."""
    names = [f"{prefix}_{name}" for prefix in PREFIXES.values() for name in ("err", "dpc_err")]
    own = [f"{PREFIXES[method]}_{name}" for name in ("err", "dpc_err")]
    wrong = [[float(theirs[other]) / 100 for other in names if other != name] for name in own]
    return "; ".join(judgement.power(others) or "-" for judgement, others in zip(judged, wrong))


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
        "λ is judged by Welch's interval, with the published spread.",
        "Power: how many of the three other errors published for the set the verdict on the error would reject; the "
        "same of the verdict on the error with noise; and of the λ of the other eight sets how many that on λ would.",
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


def counted_reading(problem: str) -> bool:
    """Return whether a set stands for one of the paper: of two readings of a test set the official one does."""
    return PROBLEMS[problem].published is not None and not problem.endswith("random test set")


def claim_rows(results: Sequence[Result], budget: Budget) -> list[dict[str, Any]]:
    """Return errors in percent, changes and half their 95 % intervals over divisions, of every set of the paper."""
    rows = []
    for name in filter(counted_reading, SIZES[budget].problems):
        row: dict[str, Any] = {"set": PROBLEMS[name].published}
        for method, word in ((TREE, "tree"), (BAGGED, "bagged")):
            hard, soft = (values_of(results, name, method, each) for each in ("error", "path_error"))
            if len(hard) > 1:
                low, high = paired_t_test(soft, hard).interval
                row |= {word: 100 * float(hard.mean()), f"{word} with noise": 100 * float(soft.mean())}
                row |= {f"{word} change": 100 * float((soft - hard).mean()), f"{word} reach": 50 * (high - low)}
        if len(row) == 9:
            rows.append(row)
    return rows


def _claims(results: Sequence[Result], budget: Budget) -> ShownTable:
    shuffled = (
        "set by set, with probability a half, the errors with and without noise are exchanged; for the comparison with "
        "bagging, the tree with noise and bagging; for the correlation the gains of bagging go to other sets."
    )
    notes = ["Of satellite and pendigits the official test set counts."]
    rows = claim_rows(results, budget)
    return claims_table("claims", "Claims of the paper about Table 2", TABLE2_RULES, rows, shuffled, notes)


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
            judged = [
                judge_mean(ours, published, 1, ROUNDING, signed=number == 2)
                for number, (ours, published) in enumerate(pairs)
            ]
            verdicts = [*(judgement.verdict for judgement in judged), _error_power(judged, theirs, method)]
            printed = f"{100 * given[0]:.2f} → {100 * given[1]:.2f}"
            change = f"{_signed((soft - hard).mean())} ± {100 * (soft - hard).std(ddof=1):.2f}"
            rows.append([name, method, _percent(hard), _percent(soft), change, printed, *verdicts])
    columns = ["dataset", "model", "error %", "with noise", "change", "theirs %"]
    columns += ["verdict on the error", "on the error with noise", "on the change", "power"]
    caption = "Rows drawn anew each time, test rows among them"
    notes = [
        f"Mean ± standard deviation over {SIZES[budget].divisions} draws, one division each. A verdict asks whether "
        "the published number could be one more draw.",
        "Power: how many of the three other errors published for the set the verdict on the error would reject, and "
        "the same of the verdict on the error with noise.",
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
