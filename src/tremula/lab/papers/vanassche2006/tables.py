"""Table 1 of Van Assche and Blockeel (2006) with verdicts, and the conclusions that the paper draws from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.diagnostics import TestResult, corrected_t_test
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.rules import CLAIM_COLUMNS, POWER_NOTE
from tremula.lab.papers.vanassche2006.protocol import (
    AWARE,
    BAG,
    CELL_NAMES,
    FOLDS,
    MIN_ROWS,
    N_MEMBERS,
    REPETITIONS,
    SB,
    SB_STOP,
    SIZES,
    WITH_NUMBERS,
)
from tremula.lab.papers.vanassche2006.rules import AGAINST_RULES, SHUFFLED, SIZE_RULES
from tremula.lab.papers.vanassche2006.times import seconds_table
from tremula.lab.papers.verdict import judge_mean

METHODS = (SB, SB_STOP, BAG)
N_PUBLISHED = FOLDS * REPETITIONS
ROUNDING = 0.0005  # half a digit of the printed percents
FEWEST_FOLDS = 3  # two that agree by chance would leave no doubt at all
NEAR = 0.1  # a size counts as the published one up to this share of it
SIZE_NOTE = (
    "A size is within if it differs from the published one by at most 10 %, a limit that was set when our sizes were "
    "known. Power: how many of the six sizes published for another method on the dataset would not be within."
)
Folds = dict[str, np.ndarray]


def gather(results: Sequence[Result]) -> tuple[dict[str, dict[str, Folds]], list[str]]:
    """Return numbers by dataset, method and name, for the folds that all methods of a dataset share; and failures."""
    grouped = group_by_split(results)
    measured = {}
    for name in (name for name in CELL_NAMES if set(grouped.get(name, ())) == set(METHODS)):
        shared = shared_splits(grouped[name])
        if shared:
            measured[name] = {
                method: _columns([grouped[name][method][split] for split in shared]) for method in METHODS
            }
    return measured, first_failures(results)


def _columns(results: Sequence[Result]) -> Folds:
    return {
        "error": np.array([result.values["error"] for result in results]),
        "n_train": np.array([result.values["n_train"] for result in results]),
        "n_test": np.array([float(result.n_test) for result in results]),
        "size": np.array([float(result.size or 0) for result in results]),
        "seconds": np.array([result.fit_seconds for result in results]),
        "by_clock": np.array([result.outcome.processor_seconds is None for result in results]),
    }


def _published() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["dataset"], row["method"]): row for row in read_published("vanassche2006_table1").rows}


def _accuracy_rows(measured: dict[str, dict[str, Folds]]) -> list[list[Any]]:
    published, rows = _published(), []
    for name, methods in measured.items():
        for method in METHODS:
            theirs = float(published[CELL_NAMES[name][0], method]["accuracy"])
            errors = methods[method]["error"]
            judged = judge_mean(errors, 1 - theirs / 100, N_PUBLISHED, ROUNDING)
            ours = 100 * (1 - errors.mean())
            others = [float(published[CELL_NAMES[name][0], other]["accuracy"]) for other in METHODS if other != method]
            power = judged.power([1 - other / 100 for other in others])
            numbers = [len(errors), f"{ours:.1f}", theirs, f"{ours - theirs:+.1f}"]
            rows.append([name, method, *numbers, judged.verdict, power])
    return rows


def compare(methods: dict[str, Folds], name: str, other_name: str) -> TestResult | None:
    """Test the difference of two methods' errors over folds, corrected for what folds share; None for a few folds."""
    first, second = methods[name], methods[other_name]
    if len(first["error"]) < FEWEST_FOLDS:
        return None
    return corrected_t_test(first["error"], second["error"], n_train=first["n_train"], n_test=first["n_test"])


def _against_bagging(measured: dict[str, dict[str, Folds]]) -> list[list[Any]]:
    published, rows = _published(), []
    for name, methods in measured.items():
        for method in (SB, SB_STOP):
            test = compare(methods, method, BAG)
            if test is None:
                continue
            low, high = (-100 * end for end in reversed(test.interval))
            accuracies = [float(published[CELL_NAMES[name][0], each]["accuracy"]) for each in (method, BAG)]
            word = "worse" if high < 0 else "better" if low > 0 else "no difference shown"
            theirs = f"{accuracies[0] - accuracies[1]:+.1f}"
            rows.append([name, method, f"{-100 * test.difference:+.1f}", f"{low:+.1f} to {high:+.1f}", word, theirs])
    return rows


def _size_rows(measured: dict[str, dict[str, Folds]]) -> list[list[Any]]:
    published, rows = _published(), []
    for name, methods in measured.items():
        ours = [methods[method]["size"].mean() for method in METHODS]
        theirs = [float(published[CELL_NAMES[name][0], method]["size"]) for method in METHODS]
        shares = [f"{values[0] / max(values[2], 1e-9):.2f}" for values in (ours, theirs)]
        words = [(f"{our:.0f}", f"{their:.0f}") for our, their in zip(ours, theirs)]
        rows.append([name, *(text for pair in words for text in pair), *shares])
    return rows


def judge_sizes(ours: Sequence[float], theirs: Sequence[float]) -> list[str]:
    """Judge the sizes of the three methods, and count the published sizes of the others that would not be within.

    Examples
    --------
    >>> judge_sizes([1371, 1133, 794], [1400, 1089, 732])
    ['within', 'within', 'within', '6 of 6']
    """

    def is_near(size: float, published: float) -> bool:
        return abs(size - published) <= NEAR * published

    words = [
        "within" if is_near(our, their) else "smaller" if our < their else "larger" for our, their in zip(ours, theirs)
    ]
    pairs = [(other, their) for i, their in enumerate(theirs) for j, other in enumerate(theirs) if i != j]
    return [*words, f"{sum(not is_near(other, their) for other, their in pairs)} of {len(pairs)}"]


def _judged_size_rows(measured: dict[str, dict[str, Folds]]) -> list[list[Any]]:
    published = _published()
    rows = _size_rows(measured)
    for row, (name, methods) in zip(rows, measured.items()):
        theirs = [float(published[CELL_NAMES[name][0], method]["size"]) for method in METHODS]
        row += judge_sizes([float(methods[method]["size"].mean()) for method in METHODS], theirs)
    return rows


OUTCOMES = {"worse": -1, "better": 1, "no difference shown": 0}


def counted_reading(name: str) -> bool:
    """Return whether a dataset counts in the claims: of three kinds of bins the class-aware ones do."""
    return CELL_NAMES[name][1] == AWARE or CELL_NAMES[name][0] not in WITH_NUMBERS


def _claims(measured: dict[str, dict[str, Folds]], against: Sequence[Sequence[Any]]) -> ShownTable:
    sizes = [
        {"dataset": name, **{method: methods[method]["size"].mean() for method in METHODS}}
        for name, methods in measured.items()
        if counted_reading(name)
    ]
    tests = [
        {"dataset": row[0], "method": row[1], "outcome": OUTCOMES[row[4]]} for row in against if counted_reading(row[0])
    ]
    lines = [rule.line(rows) for rules, rows in ((AGAINST_RULES, tests), (SIZE_RULES, sizes)) if rows for rule in rules]
    notes = ["Numeric attributes are binned by class-aware cuts of the training rows.", POWER_NOTE + SHUFFLED]
    return ShownTable("table1_claims", "Conclusions of the paper from Table 1", CLAIM_COLUMNS, lines, notes)


def _notes(budget: Budget, failures: Sequence[str]) -> list[str]:
    fewer = ", ".join(f"{dataset} {n_folds}" for dataset, n_folds in SIZES[budget].fewer_folds.items())
    return [
        f"{N_MEMBERS} members; at most {SIZES[budget].folds} of the {N_PUBLISHED} folds of 5 stratified ten-fold "
        f"cross-validations{f', of {fewer}' if fewer else ''}. A node with fewer than {MIN_ROWS} rows is a leaf; "
        "leaves predict by the counts themselves and distributions are averaged, none of which the paper says.",
        "The paper does not say how numbers were made nominal. Equal frequency: ten bins of the training rows, the "
        "honest reading. Class-aware: cuts by Fayyad and Irani's rule on the training rows, or on all rows, which lets "
        "the test rows speak too; hypothyroid at 99.5 % is not to be had without class-aware cuts. Missing values are "
        "replaced by the most common value of the training rows: breast-cancer has its 286 rows in the paper.",
        *failures,
    ]


def mean_seconds(methods: dict[str, Folds]) -> tuple[dict[str, float], bool]:
    """Return the mean seconds of each method, of the folds whose processor time is known, or of all if there are none.

    Returns
    -------
    seconds : dict of str to float
    by_clock : bool
        Whether they are by the clock, as cells of earlier versions are.
    """
    by_clock = np.any([folds["by_clock"] for folds in methods.values()], axis=0)
    chosen = slice(None) if by_clock.all() else ~by_clock
    return {method: float(folds["seconds"][chosen].mean()) for method, folds in methods.items()}, bool(by_clock.all())


def show_table1(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show accuracy, size and time next to the published ones, and simulated bagging against bagging."""
    measured, failures = gather(results)
    notes = _notes(budget, failures)
    accuracy = _accuracy_rows(measured)
    counts = {word: sum(row[-2] == word for row in accuracy) for word in ("within", "better", "worse")}
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    pairs = [f"{method}{by}" for method in METHODS for by in (", ours", ", published")]
    columns = ["dataset", *pairs, "SB / Bag, ours", "SB / Bag, published"]
    against = _against_bagging(measured)
    n_worse = len({row[0] for row in against if row[4] == "worse"})
    return [
        ShownTable(
            "table1_accuracy",
            f"Accuracy in percent, judged: {words}",
            ["dataset", "method", "folds", "ours", "published", "difference", "verdict", "power"],
            accuracy,
            [
                *notes,
                "Within: no further from the published mean than two means over so many folds would be, 95 times in "
                "100; folds of theirs are taken to spread as ours do.",
                "Power: how many of the accuracies published for the other methods on the dataset would not be within. "
                "Methods that are equally accurate cannot be told apart.",
            ],
        ),
        ShownTable(
            "table1_against_bagging",
            f"Simulated bagging less bagging, in percent of accuracy: significantly worse on {n_worse} of "
            f"{len(measured)}",
            ["dataset", "method", "difference", "95 % interval", "simulated bagging is", "published difference"],
            against,
            [*notes, "The interval is that of the corrected resampled t test (Nadeau and Bengio)."],
        ),
        _claims(measured, against),
        ShownTable(
            "table1_size",
            "Nodes of all trees, judged",
            [*columns, *(f"{method} is" for method in METHODS), "power"],
            _judged_size_rows(measured),
            [*notes, SIZE_NOTE],
        ),
        seconds_table({name: mean_seconds(methods) for name, methods in measured.items()}, notes),
    ]
