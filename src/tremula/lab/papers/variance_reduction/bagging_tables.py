"""Tables of bagging: Breiman's, our numbers, the published ones and verdicts, and that of trees and neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.diagnostics import paired_t_test
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.variance_reduction.bagging import (
    BAGGED,
    BAGGED_NEIGHBOUR,
    BAGGED_TREES,
    NEIGHBOUR,
    SINGLE,
    SIZES,
    TREE,
)
from tremula.lab.papers.variance_reduction.rules import NEIGHBOUR_RULES
from tremula.lab.papers.verdict import judge_mean, not_comparable

N_PUBLISHED = 100  # divisions
ROUNDING = 0.0005  # half a digit of the printed percents
NOT_COMPARABLE = {
    "heart": "the published rows were copied to balance the classes, so that copies stand in learning and test set",
}
READINGS = {"soybean": ("soybean", "soybean, all rows")}
CARE = {"diabetes": "one version of the published experiment doubled a class; whether this one did is not known"}

Errors = Mapping[str, Mapping[str, np.ndarray]]


def _errors(results: Sequence[Result]) -> tuple[Errors, list[str]]:
    """Return errors by dataset and method, one for each division that all methods were measured on; and failures."""
    errors = {}
    for name, methods in group_by_split(results).items():
        shared = shared_splits(methods)
        if shared:
            errors[name] = {
                method: np.array([splits[split].values["error"] for split in shared])
                for method, splits in methods.items()
            }
    return errors, first_failures(results)


def _mean(errors: np.ndarray) -> str:
    spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    return f"{100 * errors.mean():.1f} ± {100 * spread:.1f}"


def _decrease(single: np.ndarray, bagged: np.ndarray) -> float:
    return 100 * (1 - bagged.mean() / single.mean()) if single.mean() else 0.0


def show_bagging(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show Breiman's table, our numbers, the published ones and verdicts."""
    errors, failures = _errors(results)
    rows: list[list[Any]] = []
    for published in read_published("breiman1996_bagging").rows:
        for name in READINGS.get(published["dataset"], (published["dataset"],)):
            if name in NOT_COMPARABLE or {SINGLE, BAGGED} <= set(errors.get(name, ())):
                rows.append(_bagging_row(name, published, errors.get(name, {})))
    columns = ["dataset", "tree", "bagged", "decrease", "published", "verdict, tree", "verdict, bagged", "power"]
    caption = "Mean error in percent ± standard error over random divisions"
    return [ShownTable("bagging", caption, columns, rows, [*_bagging_notes(budget), *failures])]


def _bagging_row(name: str, published: Mapping[str, str], errors: Mapping[str, np.ndarray]) -> list[Any]:
    """Return ours, theirs and the verdicts on one and on bagged trees."""
    theirs = f"{published['single']} → {published['bagged']} ({published['decrease']} %)"
    if name in NOT_COMPARABLE:
        verdict = not_comparable(np.nan, float(published["single"]) / 100, NOT_COMPARABLE[name]).verdict
        return [name, None, None, None, theirs, verdict, verdict, None]
    single, bagged = errors[SINGLE], errors[BAGGED]
    printed = {column: float(published[column]) / 100 for column in ("single", "bagged")}
    judged = [
        judge_mean(ours, printed[column], N_PUBLISHED, ROUNDING)
        for ours, column in ((single, "single"), (bagged, "bagged"))
    ]
    power = [judgement.power([printed[other]]) for judgement, other in zip(judged, ("bagged", "single"))]
    verdicts = [*(judgement.verdict for judgement in judged), "; ".join(filter(None, power)) or None]
    return [name, _mean(single), _mean(bagged), f"{_decrease(single, bagged):.0f} %", theirs, *verdicts]


def _bagging_notes(budget: Budget) -> list[str]:
    sizes = SIZES[budget]
    return [
        f"{sizes.divisions} divisions, {sizes.members} members (the paper: 100 and 50). The tree is pruned by ten-fold "
        "cross-validation, without the rule of one standard error, of which the slides do not speak; each bagged tree "
        "is pruned with the learning set as test set. Members vote, ties go to the first class.",
        "A mean counts as within if it is no further from the published one than two means over so many divisions of "
        "the same rows would be, 95 times in 100; divisions of theirs are taken to spread as ours do.",
        "Power: whether the verdict on the tree would reject the error published for bagging, and the reverse.",
        *(f"{name} is not comparable: {reason}." for name, reason in NOT_COMPARABLE.items()),
        *(f"{name}: {reason}." for name, reason in CARE.items()),
        "Which file each name stands for is our reading: breast cancer is that of Wisconsin with 699 rows. Soybean is "
        "a training file of 307 rows and a test file of 376; which were taken is not said, so both the first file and "
        "all rows are shown.",
    ]


def show_neighbours(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show what bagging does to trees and to nearest neighbours."""
    errors, failures = _errors(results)
    rows: list[list[Any]] = []
    claim_rows: list[dict[str, Any]] = []
    for name, methods in errors.items():
        for alone, bagged in ((TREE, BAGGED_TREES), (NEIGHBOUR, BAGGED_NEIGHBOUR)):
            if {alone, bagged} <= set(methods) and len(methods[alone]) > 1:
                rows.append([name, alone, *_change(methods[alone], methods[bagged])])
                low, high = paired_t_test(methods[bagged], methods[alone]).interval
                claim_rows.append({"dataset": name, "learner": alone, "low": low, "high": high})
    sizes = SIZES[budget]
    notes = [
        f"{sizes.neighbour_divisions} divisions as in Breiman's experiment, {sizes.members} members; unpruned CART "
        "trees, one nearest neighbour of standardized attributes.",
        "The interval is that of the paired t over divisions, which overlap: it holds for other divisions of the same "
        "rows, not for other data.",
        "The slides: bagging helps unstable learners, such as trees, and can hurt stable ones, such as k nearest "
        "neighbours.",
        *failures,
    ]
    columns = ["dataset", "learner", "alone", "bagged", "bagged minus alone", "95 % interval", "bagging"]
    caption = "Mean error in percent ± standard error, alone and bagged"
    shuffled = "set by set, with probability a half, the errors alone and bagged are exchanged."
    about = "What the slides say of stable and unstable learners"
    return [
        ShownTable("neighbours", caption, columns, rows, notes),
        claims_table("neighbours_claims", about, NEIGHBOUR_RULES, claim_rows, shuffled),
    ]


def _change(alone: np.ndarray, bagged: np.ndarray) -> list[str]:
    result = paired_t_test(bagged, alone)
    low, high = result.interval
    word = "helps" if high < 0 else "hurts" if low > 0 else "no difference shown"
    difference, interval = f"{100 * result.difference:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}"
    return [_mean(alone), _mean(bagged), difference, interval, word]
