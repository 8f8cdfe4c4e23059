"""Rules for what Ruozzi's slides say of bias and variance, and of bagging trees and nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable

from tremula.lab.papers.rules import Finding, Row, Rows, Rule, exchanged, permuted

HIGH, LOW = 0.8, 0.2  # shares of bias and variance that the slides call high and low
TERMS = ("bias", "variance")


def _share_of_bias(row: Row) -> float:
    return float(row["bias"] / (row["bias"] + row["variance"]))


def _bias_share(method: str, low: float, high: float) -> Callable[[Rows], Finding]:
    """Judge whether the bias of a method is between two shares of its bias and variance."""

    def judge(rows: Rows) -> Finding:
        shares = [_share_of_bias(row) for row in rows if row["method"] == method]
        if not shares:
            return Finding("", None)
        return Finding(f"bias is {100 * shares[0]:.0f} % of bias and variance", low <= shares[0] <= high)

    return judge


def _bagging_lowers_variance(rows: Rows) -> Finding:
    variance = {row["method"]: row["variance"] for row in rows}
    if not {"tree", "bagged trees"} <= set(variance):
        return Finding("", None)
    tree, bagged = variance["tree"], variance["bagged trees"]
    return Finding(f"from {tree:.2f} to {bagged:.2f}", bool(bagged < tree))


def _high_bias(claim: str, method: str) -> Rule:
    fails_if = f"the bias were below {100 * HIGH:.0f} % of bias and variance"
    return Rule(claim, "no number", fails_if, _bias_share(method, HIGH, 1.0), permuted(*TERMS))


FIT_RULES = (
    _high_bias("a constant has high bias and low variance", "constant"),
    _high_bias("a straight line through highly non-linear data has high bias", "straight line"),
    Rule(
        "a polynomial of high degree has high variance",
        "no number",
        f"the variance were below {100 * HIGH:.0f} % of bias and variance",
        _bias_share("polynomial of degree 9", 0.0, LOW),
        permuted(*TERMS),
    ),
    Rule(
        "averaging lowers the variance",
        "no number",
        "the variance of bagged trees were not below that of one tree",
        _bagging_lowers_variance,
        permuted(*TERMS),
    ),
)


def _of(rows: Rows, learner: str) -> Rows:
    return [row for row in rows if row["learner"] == learner]


def _helps_trees(rows: Rows) -> Finding:
    trees = _of(rows, "tree")
    helped = [row["dataset"] for row in trees if row["high"] < 0]
    return Finding(f"{len(helped)} of {len(trees)} sets", len(helped) == len(trees) if trees else None)


def _hurts_neighbours(rows: Rows) -> Finding:
    neighbours = _of(rows, "nearest neighbour")
    hurt = [row["dataset"] for row in neighbours if row["low"] > 0]
    return Finding(f"{len(hurt)} of {len(neighbours)} sets", bool(hurt) if neighbours else None)


_EXCHANGED = exchanged(lambda row: {**row, "low": -row["high"], "high": -row["low"]})
NEIGHBOUR_RULES = (
    Rule(
        "bagging helps unstable learners, such as trees",
        "no number",
        "on any set the 95 % interval of the change of the error reached 0",
        _helps_trees,
        _EXCHANGED,
    ),
    Rule(
        "bagging can hurt stable learners, such as nearest neighbours",
        "no number",
        "on no set the 95 % interval of the change of the error were above 0",
        _hurts_neighbours,
        _EXCHANGED,
    ),
)
