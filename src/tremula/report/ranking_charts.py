"""The charts of what cross-validation showed of each method: how good it is, and what it costs.

Pure functions from the summary to Vega-Lite and a table of the same data; where there is nothing to draw, None.
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
from tremula.report.summary_access import OUTCOMES, Metric, Summary, each_metric, pairs_of, percent, ranked

STANDINGS = ["best", "no difference shown", "worse than the best"]
FEW_TICKS: Row = {"tickCount": 8}
THICK: Row = {"strokeWidth": 2}
FRONT = ["not beaten in both", "beaten in both"]


# --- the ranking ---


def ranking(summary: Summary) -> Chart:
    """Show each method's mean with its interval, from the best down."""
    main, metrics = summary["metrics"][0], summary["metrics"]
    order = ranked(summary, main)
    unit = f" {main['unit']}".rstrip()
    ends = [f"{one['label']} with {_mean(one, main)}{unit}" for one in (order[0], order[-1])]
    return Chart(
        "ranking",
        "Mean and interval of each method",
        f"Points are means over the test sets, lines are {percent(summary)} intervals that allow for training sets "
        "that overlap. Two methods whose lines overlap may still differ: what counts is the pair, below.",
        f"{len(order)} methods from best to worst by {main['label']}: first {ends[0]}, last {ends[1]}.",
        each_metric(summary, partial(_draw_ranking, summary)),
        ["method", *(word for metric in metrics for word in (with_unit(metric), "its interval"))],
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
    told = hover(("label", "method", ""), ("shown", title, ""), ("interval", "interval", ""))
    shape = coded("standing", STANDINGS, [BLUE, GREY, ORANGE]) if standings else {}
    layers = [
        layer("rule", {"x": quantitative("low", title, axis=FEW_TICKS), "x2": {"field": "high"}}, style=THICK),
        layer("point", {"x": quantitative("mean", title, axis=FEW_TICKS), **shape}),
    ]
    return spec(rows, ROW_STEP * len(rows), layer=layers, encoding={"y": by_label(), "tooltip": told})


def _standings(summary: Summary, metric: Metric) -> dict[str, str]:
    """Return how each method stands to the best, where every one was tested against it."""
    verdicts = pairs_of(summary, metric["name"])
    names = [method["name"] for method in ranked(summary, metric)]
    found = {names[0]: STANDINGS[0]}
    for name in names[1:]:
        if pair := verdicts.get((name, names[0])):
            found[name] = STANDINGS[1 if pair["verdict"] == OUTCOMES[1] else 2]
    return found if len(found) == len(names) else {}


def numbers(method: Mapping[str, Any], metric: Metric) -> Row:
    """Return a method's mean and interval, to draw and to tell."""
    found, unit = method["metrics"][metric["name"]], metric["unit"]
    mean, low, high = found["mean"], found.get("low"), found.get("high")
    ends = {"low": low if finite(low) else mean, "high": high if finite(high) else mean}
    return {"mean": mean, **ends, "shown": show(mean, unit), "interval": interval(low, high, unit)}


def _mean(method: Mapping[str, Any], metric: Metric) -> str:
    return show(method["metrics"][metric["name"]]["mean"], metric["unit"])


def _cells(method: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    cells = []
    for metric in metrics:
        found = method["metrics"].get(metric["name"]) or {}
        cells += [show(found.get("mean"), metric["unit"])]
        cells += [interval(found.get("low"), found.get("high"), metric["unit"])]
    return cells


# --- time ---


def time_against_error(summary: Summary) -> Chart | None:
    """Show what a method costs and what it gives; a line joins those that none beats in both."""
    specs = each_metric(summary, partial(_draw_time, summary))
    main = summary["metrics"][0]
    rows = _timed(summary, main)
    if not rows:
        return None
    front = [row["label"] for row in rows if row["front"]]
    return Chart(
        "time",
        "Time against error",
        "Time is the median to fit one training set on the machine named below, longer where several ran at a time. "
        "Numbers are places in the ranking by the chosen metric. The dashed line joins methods that no other beats "
        "in both.",
        f"Time to fit against {main['label']}; not beaten in both: {', '.join(front)}.",
        specs,
        ["method", "time to fit, ms", with_unit(main), "not beaten in both"],
        [[row["label"], short(row["time"]), row["shown"], "yes" if row["front"] else ""] for row in rows],
    )


def _timed(summary: Summary, metric: Metric) -> list[Row]:
    """Return the methods from the fastest, each with whether a faster one is as good."""
    sign = 1 if metric["less_is_better"] else -1
    rows = [
        {"label": method["label"], "rank": rank, "time": max(method["fit_milliseconds"], 1e-3)}
        | numbers(method, metric)
        for rank, method in enumerate(ranked(summary, metric), 1)
        if finite(method.get("fit_milliseconds"))
    ]
    rows.sort(key=lambda row: (row["time"], sign * row["mean"]))
    best = float("inf")
    for row in rows:
        row["front"] = sign * row["mean"] < best
        row["worth"] = FRONT[0 if row["front"] else 1]
        best = min(best, sign * row["mean"])
    return rows


def _draw_time(summary: Summary, metric: Metric) -> Row | None:
    rows = _timed(summary, metric)
    if not rows:
        return None
    axis = {"format": "~s", "tickCount": 5, "grid": False}
    x = quantitative("time", "time to fit, ms (logarithmic)", scale={"type": "log"}, axis=axis)
    del x["scale"]["zero"]  # a logarithmic scale has none
    place = {"x": x, "y": quantitative("mean", with_unit(metric))}
    told = hover(("label", "method", ""), ("shown", with_unit(metric), ""), ("time", "time to fit, ms", ",.1f"))
    layers = [
        layer("line", place, style={"interpolate": "step-after", **DASHED}, only="datum.front"),
        layer("point", {**place, "tooltip": told, **coded("worth", FRONT, [BLUE, GREY])}),
        layer("text", {**place, "text": {"field": "rank"}}, style={"dx": 9, "align": "left", "fontSize": 11}),
    ]
    return spec(rows, 300, layer=layers)
