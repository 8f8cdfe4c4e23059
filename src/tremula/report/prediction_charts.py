"""The charts of predictions and of the data: calibration, predicted values, class counts."""

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
FEWEST_ROWS = 5  # for a point of the chart


# --- probabilities ---


def calibration(summary: Summary) -> Chart | None:
    """Show the share of correct predictions as a function of their confidence."""
    given = summary.get("calibration") or []
    curves = [curve for curve in given if any(item["rows"] >= FEWEST_ROWS for item in curve["bins"])]
    if not curves:
        return None
    more = f" The other {len(curves) - MOST_CURVES} methods are in the table." if len(curves) > MOST_CURVES else ""
    errors = [(curve["label"], curve.get("expected_error")) for curve in curves[:MOST_CURVES]]
    distances = ", ".join(f"{label} {100 * error:.1f} points" for label, error in errors if error is not None)
    return Chart(
        "calibration",
        "Calibration of the probabilities",
        "Test rows grouped by the probability of the predicted class. Large points have many rows; groups of fewer "
        f"than {FEWEST_ROWS} rows are in the table only. Above the dashed line a method is underconfident, below it "
        f"overconfident.{more}",
        f"Reliability of probabilities; mean distance from the dashed line: {distances or 'not given'}.",
        {"": _draw_calibration(curves[:MOST_CURVES])},
        ["method", "confidence", "correct", "rows"],
        [
            [curve["label"], f"{item['predicted']:.3f}", f"{item['observed']:.3f}", show(item["rows"])]
            for curve in curves
            for item in curve["bins"]
        ],
    )


def _draw_calibration(curves: list[Mapping[str, Any]]) -> Row:
    rows = [
        {"label": curve["label"], **{name: item[name] for name in ("predicted", "observed", "rows")}}
        for curve in curves
        for item in curve["bins"]
        if item["rows"] >= FEWEST_ROWS
    ]
    both: Row = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    place = {
        "x": quantitative("predicted", "confidence of the prediction", **both),
        "y": quantitative("observed", "correct predictions", **both),
    }
    tooltip = hover(
        ("label", "method", ""),
        ("predicted", "confidence", ".1%"),
        ("observed", "correct", ".1%"),
        ("rows", "rows", ",d"),
    )
    marked = coded("label", [curve["label"] for curve in curves])
    scale = {"type": "sqrt", "range": [15, 150]}
    size = {"field": "rows", "type": "quantitative", "scale": scale, "legend": None}
    layers = [
        layer("line", place, style=DASHED, data=[{"predicted": end, "observed": end} for end in (0, 1)]),
        layer("line", {**place, "color": marked["color"]}),
        layer("point", {**place, "size": size, "tooltip": tooltip, **marked}),
    ]
    return spec(rows, 300, layer=layers)


# --- numbers ---


def predicted_and_true(summary: Summary) -> Chart | None:
    """Show predicted against true values."""
    clouds = [cloud for cloud in summary.get("predicted") or [] if cloud["points"]][:MOST_CURVES]
    if not clouds:
        return None
    most = max(len(cloud["points"]) for cloud in clouds)
    names = " and ".join(cloud["label"] for cloud in clouds)
    return Chart(
        "predicted",
        "Predicted and true values",
        f"Predictions of {names} for at most {most} random test rows; predictions on the dashed line are exact.",
        f"Predictions of {names} against true values.",
        {"": _draw_predicted(clouds)},
        ["method", "true value (deciles)", "mean prediction"],
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
    tooltip = hover(("truth", "true", ",.4"), ("answer", "predicted", ",.4"))
    cloud_style = {"size": 30, "opacity": 0.5, "color": COLOURS[0]}
    layers = [
        layer("line", place, style=DASHED, data=[{"truth": end, "answer": end} for end in ends]),
        layer("point", {**place, "tooltip": tooltip}, style=cloud_style, only="datum.label === chosen"),
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
    """Show the number of rows of each class."""
    counts = summary["dataset"].get("class_counts") or []
    if len(counts) < 2:
        return None
    rows = [{"label": str(item["label"]), "rows": item["rows"], "rank": n} for n, item in enumerate(counts)]
    tooltip = hover(("label", "class", ""), ("rows", "rows", ",d"))
    encoding = {"x": quantitative("rows", "rows", scale={"zero": True}), "y": by_label(), "tooltip": tooltip}
    ends = [show(choose(item["rows"] for item in counts)) for choose in (min, max)]
    n_classes = summary["dataset"]["classes"]  # of many, only the largest have their counts there
    whole = len(counts) == n_classes
    subject = f"{n_classes} classes" if whole else f"The {len(counts)} largest of {n_classes} classes"
    return Chart(
        "classes",
        "Rows per class",
        "The largest classes first." if whole else f"{subject}.",
        f"{subject} of {ends[0]} rows each." if ends[0] == ends[1] else f"{subject}: {ends[0]} to {ends[1]} rows.",
        {"": spec(rows, 18 * len(rows), mark="bar", encoding=encoding)},
        ["class", "rows"],
        [[str(item["label"]), show(item["rows"])] for item in counts],
    )
