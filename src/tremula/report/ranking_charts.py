"""The charts of the cross-validation: the error of each method, and its time.

Pure functions from the summary to a Vega-Lite chart with a table of the same data, or None if there is nothing to draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tremula.report.chart_style import (
    BLUE,
    DASHED,
    GREY,
    ORANGE,
    ROW_STEP,
    Chart,
    Row,
    by_label,
    coded,
    finite,
    hover,
    interval,
    layer,
    quantitative,
    short,
    show,
    spec,
    with_unit,
)
from tremula.report.summary_access import OUTCOMES, Metric, Summary, badness, each_metric, pairs_of, percent, ranked

STANDINGS = ["best", "no difference shown", "worse than the best"]
FEW_TICKS: Row = {"tickCount": 8}
THICK: Row = {"strokeWidth": 2}
FRONT = ["on the Pareto front", "slower and worse than another"]


# --- the ranking ---


def ranking(summary: Summary) -> Chart:
    """Show the mean of each method with its interval, the best first."""
    main, metrics = summary["metrics"][0], summary["metrics"]
    order = ranked(summary, main)
    unit = f" {main['unit']}".rstrip()
    ends = [f"{method['label']} with {_mean(method, main)}{unit}" for method in (order[0], order[-1])]
    return Chart(
        "ranking",
        "Mean and interval of each method",
        f"Points are means over the test sets; lines are {percent(summary)} intervals that account for overlapping "
        "training sets. Two methods whose lines overlap may still differ: see the test of the pair below.",
        f"{len(order)} methods from best to worst by {main['label']}: first {ends[0]}, last {ends[1]}.",
        each_metric(summary, partial(_draw_ranking, summary)),
        ["method", *(word for metric in metrics for word in (with_unit(metric), f"{metric['label']} interval"))],
        [[method["label"], *_cells(method, metrics)] for method in order],
    )


def _draw_ranking(summary: Summary, metric: Metric) -> Row | None:
    order = ranked(summary, metric)
    if not order:
        return None
    standings = _standings(summary, metric)
    rows = [
        {"label": method["label"], "rank": rank, "standing": standings.get(method["name"]), **numbers(method, metric)}
        for rank, method in enumerate(order, 1)
    ]
    title = with_unit(metric)
    tooltip = hover(("label", "method", ""), ("shown", title, ""), ("interval", "interval", ""))
    shape = coded("standing", STANDINGS, [BLUE, GREY, ORANGE]) if standings else {}
    layers = [
        layer("rule", {"x": quantitative("low", title, axis=FEW_TICKS), "x2": {"field": "high"}}, style=THICK),
        layer("point", {"x": quantitative("mean", title, axis=FEW_TICKS), **shape}),
    ]
    return spec(rows, ROW_STEP * len(rows), layer=layers, encoding={"y": by_label(), "tooltip": tooltip})


def _standings(summary: Summary, metric: Metric) -> dict[str, str]:
    """Return the standing of each method relative to the best, if all were tested against it."""
    verdicts = pairs_of(summary, metric["name"])
    names = [method["name"] for method in ranked(summary, metric)]
    standings = {names[0]: STANDINGS[0]}
    for name in names[1:]:
        if pair := verdicts.get((name, names[0])):
            standings[name] = STANDINGS[1 if pair["verdict"] == OUTCOMES[1] else 2]
    return standings if len(standings) == len(names) else {}


def numbers(method: Mapping[str, Any], metric: Metric) -> Row:
    """Return the mean and the interval of a method, as numbers and as text."""
    measured, unit = method["metrics"][metric["name"]], metric["unit"]
    mean, low, high = measured["mean"], measured.get("low"), measured.get("high")
    ends = {"low": low if finite(low) else mean, "high": high if finite(high) else mean}
    return {"mean": mean, **ends, "shown": show(mean, unit), "interval": interval(low, high, unit)}


def _mean(method: Mapping[str, Any], metric: Metric) -> str:
    return show(method["metrics"][metric["name"]]["mean"], metric["unit"])


def _cells(method: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    cells = []
    for metric in metrics:
        measured = method["metrics"].get(metric["name"]) or {}
        cells += [show(measured.get("mean"), metric["unit"])]
        cells += [interval(measured.get("low"), measured.get("high"), metric["unit"])]
    return cells


# --- time ---


def time_against_error(summary: Summary) -> Chart | None:
    """Show time against error; a line joins the methods on the Pareto front."""
    specs = each_metric(summary, partial(_draw_time, summary))
    main = summary["metrics"][0]
    rows = _timed(summary, main)
    if not rows:
        return None
    front = [row["label"] for row in rows if row["front"]]
    return Chart(
        "time",
        "Time against error",
        "Time is the median of one fit on the machine named below; fits that ran in parallel take longer. Numbers are "
        "ranks by the chosen metric. The dashed line is the Pareto front: no other method is both faster and better.",
        f"Fit time against {main['label']}; on the Pareto front: {', '.join(front)}.",
        specs,
        ["method", "fit time, ms", with_unit(main), "on the Pareto front"],
        [[row["label"], short(row["time"]), row["shown"], "yes" if row["front"] else ""] for row in rows],
    )


def _timed(summary: Summary, metric: Metric) -> list[Row]:
    """Return the methods, the fastest first; those on the Pareto front are marked."""
    rows = [
        {"label": method["label"], "rank": rank, "time": max(method["fit_milliseconds"], 1e-3)}
        | numbers(method, metric)
        for rank, method in enumerate(ranked(summary, metric), 1)
        if finite(method.get("fit_milliseconds"))
    ]
    rows.sort(key=lambda row: (row["time"], badness(row["mean"], metric)))
    best = float("inf")
    for row in rows:
        row["front"] = badness(row["mean"], metric) < best
        row["worth"] = FRONT[0 if row["front"] else 1]
        best = min(best, badness(row["mean"], metric))
    return rows


def _draw_time(summary: Summary, metric: Metric) -> Row | None:
    rows = _timed(summary, metric)
    if not rows:
        return None
    axis = {"format": "~s", "tickCount": 5, "grid": False}
    x = quantitative("time", "fit time, ms (logarithmic)", scale={"type": "log"}, axis=axis)
    del x["scale"]["zero"]  # a logarithmic scale has none
    place = {"x": x, "y": quantitative("mean", with_unit(metric))}
    tooltip = hover(("label", "method", ""), ("shown", with_unit(metric), ""), ("time", "fit time, ms", ",.1f"))
    layers = [
        layer("line", place, style={"interpolate": "step-after", **DASHED}, only="datum.front"),
        layer("point", {**place, "tooltip": tooltip, **coded("worth", FRONT, [BLUE, GREY])}),
        layer("text", {**place, "text": {"field": "rank"}}, style={"dx": 9, "align": "left", "fontSize": 11}),
    ]
    return spec(rows, 300, layer=layers)
