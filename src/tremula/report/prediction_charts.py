"""The charts of what methods answered, and of the data: probabilities to be trusted or not, numbers, classes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from tremula.report.chart_style import (
    COLOURS,
    DASHED,
    Chart,
    Row,
    by_label,
    coded,
    hover,
    layer,
    quantitative,
    show,
    spec,
)
from tremula.report.summary_access import Summary

MOST_CURVES = 4
FEWEST_ROWS = 5  # of a point; fewer are chance


# --- probabilities ---


def calibration(summary: Summary) -> Chart | None:
    """Show, for answers given with some confidence, how many are right."""
    given = summary.get("calibration") or []
    curves = [curve for curve in given if any(one["rows"] >= FEWEST_ROWS for one in curve["bins"])]
    if not curves:
        return None
    more = f" The {len(curves) - MOST_CURVES} others are in the table." if len(curves) > MOST_CURVES else ""
    told = [(curve["label"], curve.get("expected_error")) for curve in curves[:MOST_CURVES]]
    apart = ", ".join(f"{label} {100 * error:.1f} points" for label, error in told if error is not None)
    return Chart(
        "calibration",
        "Can the probabilities be trusted?",
        "Rows grouped by the probability of the class that was answered, over all test sets; a large point has many "
        f"rows, and those of fewer than {FEWEST_ROWS} are in the table only. Above the dashed line a method is right "
        f"more often than it says, below it promises too much.{more}",
        f"Reliability of probabilities; mean distance from the dashed line: {apart or 'not given'}.",
        {"": _draw_calibration(curves[:MOST_CURVES])},
        ["method", "confidence", "right", "rows"],
        [
            [curve["label"], f"{one['predicted']:.3f}", f"{one['observed']:.3f}", show(one["rows"])]
            for curve in curves
            for one in curve["bins"]
        ],
    )


def _draw_calibration(curves: list[Mapping[str, Any]]) -> Row:
    rows = [
        {"label": curve["label"], **{name: one[name] for name in ("predicted", "observed", "rows")}}
        for curve in curves
        for one in curve["bins"]
        if one["rows"] >= FEWEST_ROWS
    ]
    both: Row = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    place = {
        "x": quantitative("predicted", "confidence in the answer", **both),
        "y": quantitative("observed", "answers that are right", **both),
    }
    told = hover(
        ("label", "method", ""),
        ("predicted", "confidence", ".1%"),
        ("observed", "right", ".1%"),
        ("rows", "rows", ",d"),
    )
    marked = coded("label", [curve["label"] for curve in curves])
    scale = {"type": "sqrt", "range": [15, 150]}
    size = {"field": "rows", "type": "quantitative", "scale": scale, "legend": None}
    layers = [
        layer("line", place, style=DASHED, data=[{"predicted": end, "observed": end} for end in (0, 1)]),
        layer("line", {**place, "color": marked["color"]}),
        layer("point", {**place, "size": size, "tooltip": told, **marked}),
    ]
    return spec(rows, 300, layer=layers)


# --- numbers ---


def predicted_and_true(summary: Summary) -> Chart | None:
    """Show, for numbers, what was predicted against what was true."""
    clouds = [cloud for cloud in summary.get("predicted") or [] if cloud["points"]][:MOST_CURVES]
    if not clouds:
        return None
    most = max(len(cloud["points"]) for cloud in clouds)
    names = " and ".join(cloud["label"] for cloud in clouds)
    return Chart(
        "predicted",
        "Predicted and true values",
        f"Answers of {names} to rows of the test sets, at most {most} drawn at random; on the dashed line a "
        "prediction is exact.",
        f"Predictions of {names} against true values.",
        {"": _draw_predicted(clouds)},
        ["method", "true value, tenths of the rows", "mean predicted"],
        [line for cloud in clouds for line in _tenths(cloud)],
    )


def _draw_predicted(clouds: list[Mapping[str, Any]]) -> Row:
    rows = [
        {"label": cloud["label"], "truth": truth, "answer": answer}
        for cloud in clouds
        for truth, answer in cloud["points"]
    ]
    values = [row[name] for row in rows for name in ("truth", "answer")]
    ends = [min(values), max(values)]
    names = [cloud["label"] for cloud in clouds]
    both: Row = {"scale": {"domain": ends}}
    place = {"x": quantitative("truth", "true value", **both), "y": quantitative("answer", "predicted value", **both)}
    told = hover(("truth", "true", ",.4"), ("answer", "predicted", ",.4"))
    cloud_style = {"size": 30, "opacity": 0.5, "color": COLOURS[0]}
    layers = [
        layer("line", place, style=DASHED, data=[{"truth": end, "answer": end} for end in ends]),
        layer("point", {**place, "tooltip": told}, style=cloud_style, only="datum.label === chosen"),
    ]
    choose = {"bind": {"input": "select", "options": names, "name": "predicted by "}} if len(names) > 1 else {}
    return spec(rows, 320, params=[{"name": "chosen", "value": names[0], **choose}], layer=layers)


def _tenths(cloud: Mapping[str, Any]) -> list[list[str]]:
    points = sorted(cloud["points"])
    edges = np.linspace(0, len(points), min(10, len(points)) + 1).astype(int)
    lines = []
    for start, end in pairwise(edges):
        truths, answers = zip(*points[start:end])
        span = f"{show(float(truths[0]))} to {show(float(truths[-1]))}"
        lines.append([cloud["label"], span, show(float(np.mean(answers)))])
    return lines


# --- the data ---


def classes(summary: Summary) -> Chart | None:
    """Show how many rows each class has."""
    counts = summary["dataset"].get("class_counts") or []
    if len(counts) < 2:
        return None
    rows = [{"label": str(one["label"]), "rows": one["rows"], "rank": n} for n, one in enumerate(counts)]
    told = hover(("label", "class", ""), ("rows", "rows", ",d"))
    encoding = {"x": quantitative("rows", "rows", scale={"zero": True}), "y": by_label(), "tooltip": told}
    ends = [show(choose(one["rows"] for one in counts)) for choose in (min, max)]
    n_classes = summary["dataset"]["classes"]  # of many, only the largest have their counts there
    whole = len(counts) == n_classes
    told_of = f"{n_classes} classes" if whole else f"The {len(counts)} largest of {n_classes} classes"
    return Chart(
        "classes",
        "Rows of each class",
        "The largest classes first." if whole else f"{told_of}.",
        f"{told_of}: {ends[0]} to {ends[1]} rows.",
        {"": spec(rows, 18 * len(rows), mark="bar", encoding=encoding)},
        ["class", "rows"],
        [[str(one["label"]), show(one["rows"])] for one in counts],
    )
