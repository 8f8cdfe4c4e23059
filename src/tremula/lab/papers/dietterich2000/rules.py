"""Rules for the conclusions of Dietterich (2000): who wins, what noise changes, and where boosting puts its weight."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tremula.lab.papers.dietterich2000.protocol import BAGGED, BOOSTED, C45
from tremula.lab.papers.rules import Finding, Rows, Rule, exchanged, permuted

EARLY_ROUNDS = 5  # weights are judged after these


def _wins_and_losses(rows: Rows, method: str, other: str, noise: str | None) -> tuple[int, int] | None:
    for row in rows:
        if noise in (None, row.get("noise")):
            if (row["method"], row["against"]) == (method, other):
                return row["wins"], row["losses"]
            if (row["method"], row["against"]) == (other, method):
                return row["losses"], row["wins"]
    return None


def _ensembles_never_lose(rows: Rows) -> Finding:
    against_tree = [row for row in rows if row["against"] == C45]
    losses = {row["method"]: row["losses"] for row in against_tree}
    listing = ", ".join(f"{method} {count}" for method, count in losses.items())
    return Finding(f"losses: {listing}", not any(losses.values()) if losses else None)


def _leads(method: str, other: str, noise: str | None = None) -> Callable[[Rows], Finding]:
    """Judge whether a method wins against the other on more domains than it loses."""

    def judge(rows: Rows) -> Finding:
        counts = _wins_and_losses(rows, method, other, noise)
        if counts is None:
            return Finding("", None)
        return Finding(f"wins {counts[0]}, losses {counts[1]}", counts[0] > counts[1])

    return judge


def _lead_shrinks(rows: Rows) -> Finding:
    pairs = [row for row in rows if (row["method"], row["against"]) == (BOOSTED, C45)]
    leads = [row["wins"] - row["losses"] for row in pairs]
    falls = all(later < earlier for earlier, later in pairwise(leads))
    listing = ", ".join(f"{row['noise']} {lead:+d}" for row, lead in zip(pairs, leads))
    if len({row.get("domains") for row in pairs}) > 1:
        return Finding(f"wins less losses: {listing}, of different numbers of domains", None)
    return Finding(f"wins less losses: {listing}", falls if len(leads) > 2 else None)


_EXCHANGED = exchanged(lambda row: {**row, "wins": row["losses"], "losses": row["wins"]})
TABLE2_RULES = (
    Rule(
        "no ensemble is significantly worse than C4.5 on any domain",
        "0 losses for each",
        "one of the three ensembles lost on a domain",
        _ensembles_never_lose,
        _EXCHANGED,
    ),
    Rule(
        "boosting is ahead of bagging without noise",
        "wins 8, losses 1",
        "boosting did not win on more domains than it lost",
        _leads(BOOSTED, BAGGED),
        _EXCHANGED,
    ),
)
TABLE3_RULES = (
    Rule(
        "with 20 % noise bagging is ahead of boosting",
        "wins 6, losses 0",
        "bagging did not win on more domains than it lost",
        _leads(BAGGED, BOOSTED, "20 %"),
        _EXCHANGED,
    ),
    Rule(
        "the lead of boosting over C4.5 shrinks with noise",
        "+6, 0, -1, -3",
        "wins less losses did not fall from every amount of noise to the next",
        _lead_shrinks,
        permuted("wins", "losses"),
    ),
)


def _ahead_of_noisy(rows: Rows) -> Finding:
    late = [row for row in rows if row["round"] > EARLY_ROUNDS]
    if not late:
        return Finding("", None)
    lowest = min(row["corrupted"] / row["other"] for row in late)
    return Finding(f"at least {lowest:.1f} times that of the others", lowest > 1)


WEIGHT_RULES = (
    Rule(
        "AdaBoost puts more weight on corrupted rows",
        "more weight",
        f"after round {EARLY_ROUNDS} the mean weight of corrupted rows were not above that of the others in any round",
        _ahead_of_noisy,
        exchanged(lambda row: {**row, "corrupted": row["other"], "other": row["corrupted"]}),
    ),
)


def _extreme(measure: str, noisy: bool, largest: bool = False) -> Callable[[Rows], Finding]:
    """Judge whether boosting has the least, or the largest, value of a measure."""

    def judge(rows: Rows) -> Finding:
        values = {row["method"]: row[measure] for row in rows if row["noisy"] == noisy}
        if BOOSTED not in values or len(values) < 3:
            return Finding("", None)
        extreme = (max if largest else min)(values, key=values.__getitem__)
        return Finding(", ".join(f"{method} {value:.3f}" for method, value in values.items()), extreme == BOOSTED)

    return judge


def _kappa_rule(claim: str, fails_if: str, measure: str, noisy: bool, largest: bool = False) -> Rule:
    return Rule(claim, "a figure", fails_if, _extreme(measure, noisy, largest), permuted("kappa", "member", "error"))


KAPPA_RULES = (
    _kappa_rule("boosting has the most diverse members", "another method had a lower mean kappa", "kappa", noisy=False),
    _kappa_rule(
        "boosting has the least accurate members",
        "another method had a larger mean error of a member",
        "member",
        noisy=False,
        largest=True,
    ),
    _kappa_rule(
        "with 20 % noise boosting is the worst of the three",
        "another ensemble had the largest error",
        "error",
        noisy=True,
        largest=True,
    ),
)
