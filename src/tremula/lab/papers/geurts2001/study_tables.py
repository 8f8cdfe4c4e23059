"""When smoothing works: tables, rules, and advice chosen on one half of the datasets and judged on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.geurts2001.study import BAGGED, MEMBERS, MOST_ROWS, PREDICTORS, TREE
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import OPEN, Finding, Rows, Rule, claims_table, permuted
from tremula.lab.studies.default.halves import DECIDING, JUDGED, half

SIGNIFICANCE = 0.05
FEWEST = 8  # datasets of a half, below which nothing is judged
GAINS = {TREE: "tree gain", BAGGED: "bagged gain"}
SHUFFLED = "gains go to other datasets."


def gain_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return for each dataset the mean gain of both models, their change of the error, and what is known beforehand."""
    rows = []
    for dataset, methods in group_by_split(results).items():
        splits = shared_splits(methods)
        if set(methods) != {TREE, BAGGED} or not splits:
            continue
        row: dict[str, Any] = {"dataset": dataset, "half": half(dataset), "splits": len(splits)}
        for method, heading in GAINS.items():
            of = [methods[method][split].values for split in splits]
            plain, smoothed = (np.mean([values[name] for values in of]) for name in ("plain", "smoothed"))
            row[heading] = float(1 - smoothed / plain) if plain > 0.0 else 0.0
            row[f"{method} amount"] = float(np.mean([values["amount"] for values in of]))
            if "plain_wrong" in of[0]:
                change = [values["smoothed_wrong"] - values["plain_wrong"] for values in of]
                row[f"{method} change"] = float(np.mean(change))
        known = [methods[TREE][split].values for split in splits]
        rows.append(row | {name: float(np.mean([values[name] for values in known])) for name in PREDICTORS})
    return rows


def rank_correlation(rows: Rows, gain: str, predictor: str) -> float:
    """Return Spearman's rank correlation, 0 where one of the two does not vary."""
    pairs = [[row[name] for row in rows] for name in (gain, predictor)]
    return 0.0 if any(len(set(column)) < 2 for column in pairs) else float(stats.spearmanr(*pairs).statistic)


def _correlates(gain: str, predictor: str, sign: int) -> Callable[[Rows], Finding]:
    def judge(rows: Rows) -> Finding:
        if len(rows) < FEWEST:
            return Finding(f"{len(rows)} datasets", None)
        alternative = "greater" if sign > 0 else "less"
        pairs = [[row[name] for row in rows] for name in (gain, predictor)]
        if any(len(set(column)) < 2 for column in pairs):
            return Finding("one of the two does not vary", False)
        test = stats.spearmanr(*pairs, alternative=alternative)
        return Finding(f"rank correlation {test.statistic:.2f}", bool(test.pvalue <= SIGNIFICANCE))

    return judge


@dataclass(frozen=True)
class Advice:
    """What to look at before smoothing a tree.

    Attributes
    ----------
    predictor : str
    cut : float
        The median of the deciding half.
    above : bool
        Whether more is gained above the cut.
    promising, others : sequence of float
        Gains of the judged datasets on either side.
    """

    predictor: str
    cut: float
    above: bool
    promising: Sequence[float]
    others: Sequence[float]

    @property
    def is_confirmed(self) -> bool:
        """Whether the judged half gains more on the promising side (Mann and Whitney, one-sided, 5 %)."""
        if min(len(self.promising), len(self.others)) < 3:
            return False
        test = stats.mannwhitneyu(self.promising, self.others, alternative="greater")
        return bool(test.pvalue <= SIGNIFICANCE)


def choose_advice(rows: Rows, gain: str) -> Advice | None:
    """Choose the predictor with the largest rank correlation on the deciding half, and apply it to the judged half."""
    deciding, judged = ([row for row in rows if row["half"] == name] for name in (DECIDING, JUDGED))
    if min(len(deciding), len(judged)) < FEWEST:
        return None
    correlations = {name: rank_correlation(deciding, gain, name) for name in PREDICTORS}
    predictor = max(correlations, key=lambda name: abs(correlations[name]))
    above = correlations[predictor] > 0
    cut = float(np.median([row[predictor] for row in deciding]))
    sides = [[row[gain] for row in judged if ((row[predictor] >= cut) == above) == side] for side in (True, False)]
    return Advice(predictor, cut, above, *sides)


def _advice_finding(gain: str) -> Callable[[Rows], Finding]:
    def judge(rows: Rows) -> Finding:
        advice = choose_advice(rows, gain)
        if advice is None:
            return Finding("too few datasets", None)
        medians = " against ".join(map(_median, (advice.promising, advice.others)))
        return Finding(f"{PREDICTORS[advice.predictor]}: {medians}", advice.is_confirmed)

    return judge


def _median(gains: Sequence[float]) -> str:
    return _percent(float(np.median(gains))) if gains else "none"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _advice_rule(method: str) -> Rule:
    return Rule(
        f"what predicts the gain of {_named(method)} on the deciding half does so on the judged half",
        OPEN,
        "judged datasets on the promising side did not gain more (Mann and Whitney, 5 %, one-sided)",
        _advice_finding(GAINS[method]),
        permuted(*GAINS.values()),
    )


def _named(method: str) -> str:
    return "one tree" if method == TREE else f"{MEMBERS} bagged trees"


STUDY_RULES = (
    Rule(
        "one tree gains more where thresholds make more of its variance",
        OPEN,
        "the rank correlation over all datasets were not significantly above 0 (5 %, one-sided)",
        _correlates(GAINS[TREE], "threshold_share", 1),
        permuted(*GAINS.values()),
    ),
    Rule(
        "one tree gains more where the boundary is longer",
        OPEN,
        "the rank correlation over all datasets were not significantly above 0 (5 %, one-sided)",
        _correlates(GAINS[TREE], "boundary", 1),
        permuted(*GAINS.values()),
    ),
    Rule(
        "one tree gains less where there is more noise",
        OPEN,
        "the rank correlation over all datasets were not significantly below 0 (5 %, one-sided)",
        _correlates(GAINS[TREE], "noise", -1),
        permuted(*GAINS.values()),
    ),
    _advice_rule(TREE),
    _advice_rule(BAGGED),
)


def advice_sentences(rows: Rows, method: str) -> list[str]:
    """Say what a user of a model can expect of smoothing, and where: from the judged half."""
    gain = GAINS[method]
    advice = choose_advice(rows, gain)
    if advice is None:
        return ["Too few datasets are measured for advice."]
    gains = np.array([row[gain] for row in rows if row["half"] == JUDGED])
    n_lower, n_higher = int((gains > 0).sum()), int((gains < 0).sum())
    overall = (
        f"Smoothing lowered the squared error of {_named(method)} on {n_lower} of the {len(gains)} datasets of the "
        f"judged half and raised it on {n_higher}, by {_percent(max(0.0, float(-gains.min())))} at most; the median "
        f"gain is {_percent(float(np.median(gains)))}."
    )
    name = PREDICTORS[advice.predictor]
    if not advice.is_confirmed:
        where = (
            f"Nothing that was measured beforehand tells where: {name}, chosen on the deciding half, does not separate "
            "the judged half. Try it on validation rows; the default choice adds no noise where none helps."
        )
    else:
        words = ["at least", "below"] if advice.above else ["below", "at least"]
        where = (
            f"It pays most where the {name} is {words[0]} {advice.cut:.3g}: there, on {len(advice.promising)} datasets "
            f"of the judged half, the median gain is {_median(advice.promising)}; where it is {words[1]} "
            f"{advice.cut:.3g}, on {len(advice.others)}, {_median(advice.others)}."
        )
    return [f"{overall} {where}"]


def show_study(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the correlations with what is known beforehand, the claims, and the gain on every dataset."""
    rows = gain_rows(results)
    claims = claims_table("study_claims", "When and why smoothing works", STUDY_RULES, rows, SHUFFLED)
    return [_correlation_table(rows), claims, _gain_table(rows, first_failures(results))]


def _correlation_table(rows: Rows) -> ShownTable:
    halves = [("all", rows), *((name, [row for row in rows if row["half"] == name]) for name in (DECIDING, JUDGED))]
    lines = [
        [words, *(f"{rank_correlation(of, gain, name):+.2f}" for gain in GAINS.values() for _, of in halves)]
        for name, words in PREDICTORS.items()
        if len(rows) >= FEWEST
    ]
    columns = ["known beforehand", *(f"{method}, {name}" for method in GAINS for name, _ in halves)]
    caption = f"Rank correlation with the gain of smoothing, over {len(rows)} datasets"
    notes = [
        *advice_sentences(rows, TREE),
        *advice_sentences(rows, BAGGED),
        "Gain: by how much smoothing lowers the squared error of test rows, relative to the model without noise; of "
        "class shares for classes. The amount of noise is the default choice, on the validation rows.",
        "Share of threshold variance: the variance of the tree over bootstrap samples if its attributes stay and its "
        "thresholds are chosen anew, divided by that of trees grown anew with as many leaves; it may exceed 1.",
        "Boundary length: how often the nearest row has another class, or how much its number differs, relative to two "
        "rows at random. "
        f"Out-of-bag error: of {MEMBERS} bagged trees, of numbers relative to their variance. Distinct values: of the "
        "median attribute, relative to the rows. All from growing and validation rows.",
        "The advice is chosen on the deciding half and judged on the other; a checksum of its name puts a dataset into "
        "one of them.",
    ]
    return ShownTable("study_correlations", caption, columns, lines, notes)


def _gain_table(rows: Rows, failures: Sequence[str]) -> ShownTable:
    ordered = sorted(rows, key=lambda row: -float(row[GAINS[TREE]]))
    lines = [
        [
            row["dataset"],
            row["half"],
            row["splits"],
            *(_percent(row[gain]) for gain in GAINS.values()),
            *(f"{100 * row[f'{m} change']:+.1f}" if f"{m} change" in row else None for m in GAINS),
            f"{row[f'{TREE} amount']:.2f}",
            *(f"{row[name]:.2f}" for name in PREDICTORS),
        ]
        for row in ordered
    ]
    columns = [
        "dataset",
        "half",
        "splits",
        "gain, one tree",
        "gain, bagged trees",
        "error, one tree",
        "error, bagged trees",
        "λ, one tree",
        *PREDICTORS.values(),
    ]
    most = ", ".join(f"{number} {kind}" for kind, number in MOST_ROWS.items())
    notes = [
        f"Datasets whose attributes are all numeric, without missing values, of 150 rows or more. At most {most} rows. "
        "Error: change of the share of wrong rows, in points.",
        *failures,
    ]
    return ShownTable("study", "Gain of smoothing on every dataset", columns, lines, notes)
