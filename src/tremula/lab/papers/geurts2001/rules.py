"""Rules for the claims of Geurts (2001): about Table 2, and about the curves of Figures 3 and 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from tremula.lab.papers.rules import Finding, Row, Rows, Rule, exchanged, permuted

NO_GAIN = "segment"
BEATEN = ("waveform",)  # of the sets that we have; the paper has omib too
GAINS_OF_BAGGING = (
    "waveform",
    "two-norm",
    "letter",
    "pendigits",
)  # of six; the others are omib and dig44
SIGNIFICANCE = 0.05


def listed(names: Sequence[str]) -> str:
    """Return names as a cell of a table."""
    return "; ".join(names) or "none"


def _exchange_noise(row: Row) -> Row:
    """Exchange the errors with and without noise."""
    flipped = {f"{model} change": -row[f"{model} change"] for model in ("tree", "bagged")}
    exchanged_errors = {
        name: row[other]
        for model in ("tree", "bagged")
        for name, other in ((model, f"{model} with noise"), (f"{model} with noise", model))
    }
    return {**row, **flipped, **exchanged_errors}


def _exchange_models(row: Row) -> Row:
    return {**row, "tree with noise": row["bagged"], "bagged": row["tree with noise"]}


def _gains(rows: Rows, model: str) -> list[str]:
    return [row["set"] for row in rows if row[f"{model} change"] + row[f"{model} reach"] < 0]


def _losses(rows: Rows, model: str) -> list[str]:
    return [row["set"] for row in rows if row[f"{model} change"] - row[f"{model} reach"] > 0]


def _tree_gains(rows: Rows) -> Finding:
    gains = _gains(rows, "tree")
    return Finding(listed(gains), gains == [row["set"] for row in rows if row["set"] != NO_GAIN])


def _beats_bagging(rows: Rows) -> Finding:
    beats = [row["set"] for row in rows if row["tree with noise"] < row["bagged"]]
    there = [name for name in BEATEN if name in {row["set"] for row in rows}]
    return Finding(listed(beats), beats == there if there else None)


def _bagged_gains(rows: Rows) -> Finding:
    gains, losses = _gains(rows, "bagged"), _losses(rows, "bagged")
    expected = {row["set"] for row in rows} & set(GAINS_OF_BAGGING)
    ours = listed(gains) + (f"; raises it on {listed(losses)}" if losses else "")
    return Finding(ours, set(gains) >= expected and not losses)


def _correlated(rows: Rows) -> Finding:
    if len(rows) < 4:
        return Finding(f"{len(rows)} sets", None)
    gains = [[row[f"{model} change"] / row[model] for row in rows] for model in ("tree", "bagged")]
    if any(len(set(each)) == 1 for each in gains):
        return Finding("the same gain on all sets", False)
    result = stats.spearmanr(*gains, alternative="greater")
    return Finding(f"rank correlation {result.statistic:.2f}", bool(result.pvalue <= SIGNIFICANCE))


TABLE2_RULES = (
    Rule(
        "noise lowers the error of one tree",
        "on all sets but segment",
        "on any other set the 95 % interval of the change reached 0, or on segment it did not",
        _tree_gains,
        exchanged(_exchange_noise),
    ),
    Rule(
        "one tree with noise beats 25 bagged trees",
        "omib and waveform alone",
        "it did not on waveform, or did on another set of the paper",
        _beats_bagging,
        exchanged(_exchange_models),
    ),
    Rule(
        "noise lowers the error of bagging",
        "6 of 9 sets, of ours " + ", ".join(GAINS_OF_BAGGING),
        "on one of these four the 95 % interval of the change reached 0, or on any set it were above 0",
        _bagged_gains,
        exchanged(_exchange_noise),
    ),
    Rule(
        "the gains of one tree and of bagging are correlated",
        "strongly correlated",
        "the rank correlation of the relative gains over the sets were not significantly above 0 (5 %, one-sided)",
        _correlated,
        permuted("bagged", "bagged change"),
    ),
)


def _fall_and_rise(rows: Rows) -> Finding:
    """Judge whether error, bias and variance fall to a least value at some noise, and end above where they began."""
    lowest, holds = [], True
    for name in ("error", "bias", "variance"):
        curve = np.array([row[name] for row in rows])
        place = int(curve.argmin())
        inside = 0 < place < len(curve) - 1
        holds &= inside and bool(np.all(np.diff(curve[: place + 1]) <= 0) and np.all(np.diff(curve[place:]) >= 0))
        lowest.append(f"{name} {rows[place]['amount']:g}")
    return Finding("least at: " + ", ".join(lowest), holds)


def _least_together(best: float, reach: float) -> Callable[[Rows], Finding]:
    def judge(rows: Rows) -> Finding:
        amounts = [rows[int(np.argmin([row[name] for row in rows]))]["amount"] for name in ("bias", "variance")]
        ours = f"bias {amounts[0]:g}, variance {amounts[1]:g}"
        return Finding(ours, all(abs(amount - best) <= reach + 1e-9 for amount in amounts))

    return judge


def _falls(rows: Rows) -> Finding:
    steps = np.diff([row["share_variance"] for row in rows])
    rising = [f"{row['amount']:g}" for row, step in zip(rows[1:], steps) if step > 1e-6]
    return Finding(f"rises to λ = {', '.join(rising)}" if rising else "falls", not rising)


_MEASURES = ("error", "bias", "variance", "share_bias", "share_variance")
CURVE_RULES = (
    Rule(
        "error, bias² and variance fall, then rise",
        "as in Figure 3",
        "one of them were least without noise or with the most noise, or rose before its least value or fell after",
        _fall_and_rise,
        permuted(*_MEASURES),
    ),
    Rule(
        "bias² and variance are least at about λ = 0.25",
        "0.25",
        "one of them were least at another of our amounts than 0.2, 0.25 or 0.3",
        _least_together(0.25, 0.05),
        permuted(*_MEASURES),
    ),
    Rule(
        "the variance of class shares falls all the way",
        "monotone",
        "it rose between any two amounts of noise",
        _falls,
        permuted(*_MEASURES),
    ),
)
