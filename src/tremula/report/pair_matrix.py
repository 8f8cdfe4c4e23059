"""The verdicts on pairs of methods: as a matrix of marks if all pairs were tested, as a table, and as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.diagnostics.comparison.verdict import say_percent
from tremula.report.chart_style import interval, show
from tremula.report.summary_access import OUTCOMES, Metric, Summary, pairs_of, question_of, ranked, reference_of

MARKS = {"better": "▲", "worse": "▼", "no difference shown": "·"}
MOST_SENTENCES = 100  # on pairs without the best method, of all metrics together
KINDS = {"better": "better", "worse": "worse", "no difference shown": "same"}


def matrices(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Return, for each metric with verdicts, one row per method, the best first, with one cell per other method."""
    by_metric: dict[str, list[dict[str, Any]]] = {}
    if question_of(summary) != "pairs":
        return by_metric
    for metric in summary["metrics"]:
        verdicts = pairs_of(summary, metric["name"])
        if verdicts:
            order = ranked(summary, metric)
            by_metric[metric["name"]] = [
                {
                    "rank": rank,
                    "label": method["label"],
                    "cells": [_cell(method, other, verdicts, metric) for other in order],
                }
                for rank, method in enumerate(order, 1)
            ]
    return by_metric


def _cell(
    method: Mapping[str, Any],
    other: Mapping[str, Any],
    verdicts: Mapping[tuple[str, str], Mapping[str, Any]],
    metric: Mapping[str, Any],
) -> dict[str, str] | None:
    pair = verdicts.get((method["name"], other["name"]))
    if pair is None:
        return None
    size = "" if pair["difference"] is None else f", difference {show(pair['difference'], metric['unit'])}"
    chance = "" if pair.get("p_adjusted") is None else f", p {pair['p_adjusted']:.3f}"
    return {
        "kind": KINDS[pair["verdict"]],
        "words": f"{pair['verdict']}{size}{chance}",
    }


def sentences(summary: Summary) -> dict[str, dict[str, Any]]:
    """Return, for each metric, the sentences on pairs with the best method or the baseline, and on others.

    Of many others only the first are on the page, those with a difference before the rest.
    """
    by_metric = {}
    for metric in summary["metrics"]:
        pairs = [pair for pair in summary.get("pairs", ()) if pair["metric"] == metric["name"]]
        if pairs:
            best = reference_of(summary, metric)
            of_best = [pair["sentence"] for pair in pairs if best in (pair["first"], pair["second"])]
            others = [pair for pair in pairs if best not in (pair["first"], pair["second"])]
            said = _real_first(others)[: MOST_SENTENCES // len(summary["metrics"])]
            by_metric[metric["name"]] = {"best": of_best, "others": said, "left_out": len(others) - len(said)}
    return by_metric


def _real_first(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [pair["sentence"] for pair in sorted(pairs, key=lambda pair: pair["verdict"] == OUTCOMES[1])]


def tables(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Return, for each metric with verdicts, a row for each method that was compared with the best or the baseline."""
    by_metric = {}
    for metric in summary["metrics"]:
        verdicts = pairs_of(summary, metric["name"])
        if verdicts:
            reference = reference_of(summary, metric)
            order = [method for method in ranked(summary, metric) if method["name"] != reference]
            labels = {method["name"]: method["label"] for method in ranked(summary, metric)}
            by_metric[metric["name"]] = [
                {
                    "label": method["label"],
                    "against": labels[reference],
                    **_row(verdicts[method["name"], reference], metric),
                }
                for method in order
                if (method["name"], reference) in verdicts
            ]
    return by_metric


def _row(pair: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """Return what is shown of a pair, from the point of view of its first method."""
    given = pair.get("probabilities")
    shares = [] if given is None else [say_percent(given[key]) for key in ("better", "equal", "worse")]
    return {
        "kind": KINDS[pair["verdict"]],
        "mark": MARKS[pair["verdict"]],
        "verdict": pair["verdict"],
        "difference": show(pair["difference"], metric["unit"]),
        "interval": interval(pair["low"], pair["high"], metric["unit"]),
        "p_adjusted": pair.get("p_adjusted"),
        "shares": shares,
        "region": None if given is None else show(given["region"], metric["unit"]),
    }
