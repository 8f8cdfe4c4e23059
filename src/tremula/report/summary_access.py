"""What the charts read from the summary: the methods in order, and the verdict on each pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from tremula.report.chart_style import Row, finite

Summary = Mapping[str, Any]
Metric = Mapping[str, Any]
OUTCOMES = ["better", "no difference shown", "worse"]
TURNED = {"better": "worse", "worse": "better"}


def measured(summary: Summary) -> list[Mapping[str, Any]]:
    """Return the methods that did not fail."""
    return [method for method in summary["methods"] if not method.get("error")]


def pairs_of(summary: Summary, metric: str) -> dict[tuple[str, str], Row]:
    """Return the verdicts for a metric by the names of both methods, each pair in both directions."""
    verdicts: dict[tuple[str, str], Row] = {}
    for pair in summary.get("pairs", ()):
        if pair["metric"] == metric:
            verdicts[pair["first"], pair["second"]] = dict(pair)
            verdicts[pair["second"], pair["first"]] = {
                **pair,
                "first": pair["second"],
                "second": pair["first"],
                "difference": _minus(pair["difference"]),
                "low": _minus(pair["high"]),
                "high": _minus(pair["low"]),
                "verdict": TURNED.get(pair["verdict"], pair["verdict"]),
                "probabilities": _turned(pair.get("probabilities")),
            }
    return verdicts


def question_of(summary: Summary) -> str:
    """Return what the comparison was asked: 'best', 'baseline' or 'pairs'."""
    return str((summary.get("decision") or {}).get("question", "pairs"))


def reference_of(summary: Summary, metric: Metric) -> str:
    """Return the method that others are compared with: the baseline, or the best by a metric."""
    baseline = (summary.get("decision") or {}).get("baseline")
    names = [method["name"] for method in ranked(summary, metric)]
    return str(baseline if baseline in names else names[0])


def ranked(summary: Summary, metric: Metric) -> list[Mapping[str, Any]]:
    """Return the methods that have a value for a metric, the best first."""
    means: dict[str, Any] = {
        method["name"]: (method["metrics"].get(metric["name"]) or {}).get("mean") for method in measured(summary)
    }
    having = [method for method in measured(summary) if finite(means[method["name"]])]
    return sorted(having, key=lambda method: badness(means[method["name"]], metric))


def badness(value: Any, metric: Metric) -> Any:
    """Return a number that is less the better a value is; a coverage is best at the one asked for."""
    if metric.get("aim") is not None:
        return abs(value - metric["aim"])
    return value if metric["less_is_better"] else -value


def percent(summary: Summary) -> str:
    """Return the confidence of the intervals, as text."""
    return f"{100 * summary['protocol'].get('confidence', 0.95):g} %"


def _turned(given: Mapping[str, float] | None) -> dict[str, float] | None:
    return None if given is None else {**given, "better": given["worse"], "worse": given["better"]}


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def each_metric(summary: Summary, draw: Callable[[Metric], Row | None]) -> dict[str, Row]:
    """Return the chart of each metric that has something to draw."""
    drawn = {metric["name"]: draw(metric) for metric in summary["metrics"]}
    return {name: chart for name, chart in drawn.items() if chart}


def mean_ranks(summary: Summary, metric: Metric) -> dict[str, float]:
    """Return the mean rank of each method over the test sets; 1 is the best, and ties share their rank."""
    methods = ranked(summary, metric)
    folds = [method["metrics"][metric["name"]].get("folds") or [] for method in methods]
    if len({len(values) for values in folds}) != 1 or not folds[0]:
        return {}
    values = np.array(folds, dtype=float)
    if not np.isfinite(values).all():
        return {}
    ranks = rankdata(badness(values, metric), axis=0).mean(axis=1)
    return {method["name"]: float(rank) for method, rank in zip(methods, ranks)}


def joined(order: Sequence[str], verdicts: Mapping[tuple[str, str], Row]) -> list[tuple[int, int]]:
    """Return the longest runs of methods of which no two differ, as first and last position in the order.

    Examples
    --------
    >>> same, other = {"verdict": "no difference shown"}, {"verdict": "better"}
    >>> joined(["a", "b", "c"], {("a", "b"): same, ("b", "c"): same, ("a", "c"): other})
    [(0, 1), (1, 2)]
    """

    def alike(first: str, second: str) -> bool:
        return verdicts.get((first, second), {}).get("verdict") == OUTCOMES[1]

    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and all(alike(order[place], order[end + 1]) for place in range(start, end + 1)):
            end += 1
        if end > start and not (runs and runs[-1][1] >= end):
            runs.append((start, end))
    return runs
