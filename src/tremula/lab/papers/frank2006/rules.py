"""Rules for the claims of Frank and Pfahringer (2006), on the rows of Tables 1 and 2 and of bias and variance.

A row has the outcome of smearing against each other method (1 significantly better, -1 worse, 0 no difference shown)
and the mean amount of noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import stats

from tremula.lab.papers.frank2006.protocol import BAGGING, PRUNED, UNPRUNED
from tremula.lab.papers.rules import Finding, Row, Rows, Rule, exchanged, permuted

OTHERS = (BAGGING, UNPRUNED, PRUNED)
NEAR_ZERO, NEAR_EDGE = 0.05, 0.25
LARGEST = 0.3  # amount of the grid
SIGNIFICANCE = 0.05
Judge = Callable[[Rows], Finding]


def _named(rows: Rows, others: tuple[str, ...], outcome: int) -> list[str]:
    return [row["dataset"] for row in rows if any(row.get(other) == outcome for other in others)]


def _counted(names: list[str], n_rows: int) -> str:
    return f"{len(names)} of {n_rows}" + (f": {', '.join(names)}" if names else "")


def _wins_near(others: tuple[str, ...], share: float) -> Judge:
    """Judge whether the share of datasets with a win is within two standard errors of a published share."""

    def judge(rows: Rows) -> Finding:
        wins = _named(rows, others, 1)
        reach = 2.0 * math.sqrt(share * (1.0 - share) / len(rows))
        return Finding(_counted(wins, len(rows)), abs(len(wins) / len(rows) - share) <= reach)

    return judge


def _losses_at_most(others: tuple[str, ...], most: int) -> Judge:
    def judge(rows: Rows) -> Finding:
        losses = _named(rows, others, -1)
        return Finding(_counted(losses, len(rows)), len(losses) <= most)

    return judge


def _noise_between(dataset: str, low: float, high: float) -> Judge:
    def judge(rows: Rows) -> Finding:
        amounts = [row["noise"] for row in rows if row["dataset"] == dataset]
        return Finding(f"{amounts[0]:.2f}", low <= amounts[0] <= high) if amounts else Finding("", None)

    return judge


def _zero_alone(dataset: str) -> Judge:
    def judge(rows: Rows) -> Finding:
        zero = [row["dataset"] for row in rows if row["noise"] == 0]
        measured = any(row["dataset"] == dataset for row in rows)
        return Finding(", ".join(zero) or "none", zero == [dataset] if measured else None)

    return judge


def _largest_noise(rows: Rows) -> Finding:
    largest = max(rows, key=lambda row: float(row["noise"]))
    return Finding(f"{largest['noise']:.2f}, {largest['dataset']}", bool(largest["noise"] >= NEAR_EDGE))


def _exchange_outcomes(row: Row) -> Row:
    return {**row, **{other: -row[other] for other in OTHERS if other in row}}


EXCHANGED, NOISE_PERMUTED = exchanged(_exchange_outcomes), permuted("noise")
SHUFFLED = (
    "dataset by dataset, with probability a half, smearing and the other method are exchanged; for amounts of noise, "
    "these go to other datasets; for the largest amount all are drawn evenly from the grid's range."
)


def _near_words(share: str) -> str:
    return f"the share of datasets were further from {share} than two standard errors of a sample of so many datasets"


@dataclass(frozen=True)
class NamedNoise:
    """An amount of noise that the text of the paper names, and the bounds within which ours agrees."""

    published: str
    low: float
    high: float


NAMED_NOISE = {
    "2dplanes": NamedNoise("at the edge, 0.3", NEAR_EDGE, 1.0),
    "ailerons": NamedNoise("0", 0.0, NEAR_ZERO),
    "house-8L": NamedNoise("close to 0", 0.0, NEAR_ZERO),
    "triazines": NamedNoise("close to 0", 0.0, NEAR_ZERO),
}


def _noise_rule(dataset: str, noise: NamedNoise) -> Rule:
    words = f"above {noise.high:g}" if noise.low == 0 else f"below {noise.low:g}"
    judge = _noise_between(dataset, noise.low, noise.high)
    return Rule(f"mean noise of {dataset}", noise.published, f"it were {words}", judge, NOISE_PERMUTED)


CLASS_RULES = (
    Rule("significant wins over bagging", "4 of 22", _near_words("4/22"), _wins_near((BAGGING,), 4 / 22), EXCHANGED),
    Rule("no significant loss to bagging", "0", "there were any", _losses_at_most((BAGGING,), 0), EXCHANGED),
    Rule("no significant loss to any method", "0", "there were any", _losses_at_most(OTHERS, 0), EXCHANGED),
    Rule(
        "a significant win over a single tree on about half of the datasets",
        "about half",
        _near_words("1/2"),
        _wins_near((UNPRUNED, PRUNED), 0.5),
        EXCHANGED,
    ),
    _noise_rule("spambase", NamedNoise("0", 0.0, NEAR_ZERO)),
    Rule(
        "no noise is chosen on spambase alone",
        "spambase",
        "the mean noise of spambase were not 0, or that of another dataset were",
        _zero_alone("spambase"),
        NOISE_PERMUTED,
    ),
    Rule(
        "the largest mean noise is near the end of the grid",
        "0.29",
        f"it were below {NEAR_EDGE}",
        _largest_noise,
        lambda rows, draw: [{**row, "noise": draw.uniform(0, LARGEST)} for row in rows],
    ),
)
NUMBER_RULES = (
    Rule("significant wins over bagging", "9 of 23", _near_words("9/23"), _wins_near((BAGGING,), 9 / 23), EXCHANGED),
    Rule("at most one significant loss to bagging", "1", "there were two", _losses_at_most((BAGGING,), 1), EXCHANGED),
    Rule(
        "at most three significant losses to one pruned tree",
        "3",
        "there were four",
        _losses_at_most((PRUNED,), 3),
        EXCHANGED,
    ),
    *(_noise_rule(dataset, noise) for dataset, noise in NAMED_NOISE.items()),
)


def _larger_share(rows: Rows) -> Finding:
    differing = [row for row in rows if row["smearing share"] != row["bagging share"]]
    larger = sum(row["smearing share"] > row["bagging share"] for row in differing)
    if not differing:
        return Finding("none differs", None)
    chance = stats.binomtest(larger, len(differing), 0.5, alternative="greater").pvalue
    return Finding(f"on {larger} of {len(differing)}", bool(chance <= SIGNIFICANCE))


BIAS_RULES = (
    Rule(
        "smearing has the larger share of bias in bias and variance",
        "expected",
        "it were larger on no more datasets than chance allows (sign test, one-sided, 5 %)",
        _larger_share,
        exchanged(lambda row: {**row, "smearing share": row["bagging share"], "bagging share": row["smearing share"]}),
    ),
)
