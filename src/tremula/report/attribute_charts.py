"""The charts of the attributes: which matter to the best method, and how its predictions depend on the first three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tremula.report.chart_style import (
    COLOURS,
    DASHED,
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
    show,
    spec,
)
from tremula.report.summary_access import Summary

MOST_DRAWN = 15
N_EFFECTS = 3
OUTPUTS = {"classification": "mean probability", "regression": "mean prediction"}


def _attributes(summary: Summary) -> Mapping[str, Any] | None:
    return (summary.get("analyses") or {}).get("attributes")


# --- importances ---


def importances(summary: Summary) -> Chart | None:
    """Show the rise of the error when an attribute is shuffled, with intervals."""
    analysis = _attributes(summary)
    if not analysis:
        return None
    first, unit = analysis["importances"][:MOST_DRAWN], analysis["unit"]
    n_shown, n_attributes = len(first), analysis["n_attributes"]
    part = "" if n_shown == n_attributes else f" The first {n_shown} of {n_attributes} attributes."
    rows = [{"label": entry["attribute"], "rank": rank, **_ends(entry)} for rank, entry in enumerate(first)]
    names = ", ".join(entry["attribute"] for entry in first[:N_EFFECTS])
    return Chart(
        "importances",
        "Which attributes matter?",
        f"{_said_error(analysis)} rises by so much when the values of an attribute are shuffled. "
        f"{_said_rows(analysis)}{part} Attributes that say the same share their importance.",
        f"Importance of attributes, the most important first: {names}.",
        {"": _draw_importances(rows, f"rise of the error, {unit}")},
        ["attribute", f"rise of the error, {unit}", f"{100 * analysis['confidence']:g} % interval"],
        [
            [entry["attribute"], show(entry["mean"], "%"), interval(entry["low"], entry["high"], "%")]
            for entry in analysis["importances"]
        ],
    )


def _ends(entry: Mapping[str, Any]) -> Row:
    mean = entry["mean"]
    ends = {end: entry[end] if finite(entry[end]) else mean for end in ("low", "high")}
    return {"mean": mean, **ends, "interval": interval(entry["low"], entry["high"], "%")}


def _said_error(analysis: Mapping[str, Any]) -> str:
    return "The error of a single member" if analysis["out_of_bag"] else f"The error of {analysis['label']}"


def _said_rows(analysis: Mapping[str, Any]) -> str:
    sample = "" if analysis["train_rows"] >= analysis["all_rows"] else f", drawn from {show(analysis['all_rows'])}"
    comma = "," if sample else ""
    confidence = f"{100 * analysis['confidence']:g} %"
    if analysis["out_of_bag"]:
        rows = f"{show(analysis['train_rows'])} rows{sample}{comma}"
        return (
            f"Out of bag: each member is asked for those of the {rows} that it was not trained on. Lines are "
            f"{confidence} intervals of the mean over the members; they do not account for other training rows."
        )
    return (
        f"Trained on {show(analysis['train_rows'])} rows{sample}, shuffled {analysis['repeats']} times in "
        f"{show(analysis['shuffled_rows'])} other rows. Lines are {confidence} intervals of the mean over these rows."
    )


def _draw_importances(rows: Sequence[Row], title: str) -> Row:
    tooltip = hover(("label", "attribute", ""), ("mean", title, ",.2f"), ("interval", "interval", ""))
    layers = [
        layer("rule", {"x": quantitative("mean", title)}, style=DASHED, data=[{"mean": 0}]),
        layer(
            "rule",
            {"x": quantitative("low", title), "x2": {"field": "high"}, "y": by_label(), "tooltip": tooltip},
            style={"strokeWidth": 2},
        ),
        layer(
            "point",
            {"x": quantitative("mean", title), "y": by_label(), "tooltip": tooltip},
            style={"color": COLOURS[0]},
        ),
    ]
    return spec(rows, ROW_STEP * len(rows), layer=layers)


# --- partial effects ---


def effect(summary: Summary, number: int) -> Chart | None:
    """Show the mean prediction by the value of one attribute."""
    analysis = _attributes(summary)
    if not analysis or number >= len(analysis["effects"]):
        return None
    shown = analysis["effects"][number]
    curves, title = shown["curves"], OUTPUTS[summary["task"]]
    if len(curves) == 1 and curves[0]["class"] is not None:
        title = f"{title} of “{curves[0]['class']}”"
    band = " The band holds the middle 80 % of the rows." if len(curves) == 1 else ""
    rows = "training rows" if analysis["out_of_bag"] else "held-out rows"
    draw = {"nominal": _draw_levels, "date": _draw_dates}.get(shown["kind"], _draw_numbers)
    return Chart(
        f"effect_{number + 1}",
        f"Effect of {shown['attribute']}",
        f"The mean over {show(analysis['averaged_rows'])} {rows} if all had this value and kept their others, by a "
        f"model of {show(analysis['train_rows'])} rows.{band} It shows what the model does, not what causes what.",
        f"Partial effect of {shown['attribute']} on the {title}.",
        {"": draw(shown, title, _domain(summary, analysis["effects"]))},
        ["value", *(curve["class"] or title for curve in curves)],
        [
            [value if isinstance(value, str) else show(value), *(f"{curve['mean'][place]:.4g}" for curve in curves)]
            for place, value in enumerate(shown["values"])
        ],
    )


EFFECTS = {f"effect_{number + 1}": partial(effect, number=number) for number in range(N_EFFECTS)}


def _domain(summary: Summary, effects: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the ends of the axis, the same for all attributes."""
    if summary["task"] == "classification":
        return [0.0, 1.0]
    ends = [
        value
        for shown in effects
        for curve in shown["curves"]
        for part in ("mean", "low", "high")
        for value in curve[part]
    ]
    return [min(ends), max(ends)]


def _points(shown: Mapping[str, Any]) -> list[Row]:
    return [
        {
            "label": value if isinstance(value, str) else None,
            "value": value,
            "rank": place,
            "class": curve["class"] or "",
            **{part: curve[part][place] for part in ("mean", "low", "high")},
        }
        for curve in shown["curves"]
        for place, value in enumerate(shown["values"])
    ]


def _marked(shown: Mapping[str, Any]) -> Row:
    names = [curve["class"] or "" for curve in shown["curves"]]
    return coded("class", names) if len(names) > 1 else {}


def _draw_numbers(shown: Mapping[str, Any], title: str, domain: list[float]) -> Row:
    x = quantitative("value", shown["attribute"], scale={"nice": False}, axis={"tickCount": 6})
    return _draw_line(shown, _points(shown), x, ("value", "value", ",.4"), title, domain)


def _draw_dates(shown: Mapping[str, Any], title: str, domain: list[float]) -> Row:
    """Draw over dates, in universal time, so that a day is the same day everywhere."""
    axis = {"tickCount": 6, "labelOverlap": True}
    scale = {"type": "utc", "nice": False}
    x = {"field": "moment", "type": "temporal", "title": shown["attribute"], "scale": scale, "axis": axis}
    points = [{**point, "moment": _milliseconds(point["label"])} for point in _points(shown)]
    return _draw_line(shown, points, x, ("label", "date", ""), title, domain)


def _milliseconds(date: str) -> int:
    return int(np.datetime64(date.replace(" ", "T"), "ms").astype(np.int64))


def _draw_line(
    shown: Mapping[str, Any],
    points: Sequence[Row],
    x: Row,
    value: tuple[str, str, str],
    title: str,
    domain: list[float],
) -> Row:
    y = quantitative("mean", title, scale={"domain": domain})
    marked = _marked(shown)
    tooltip = hover(value, ("mean", title, ",.4"), *((("class", "class", ""),) if marked else ()))
    band = layer(
        "area",
        {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        style={"opacity": 0.18, "color": COLOURS[0]},
    )
    colour = {"color": marked["color"]} if marked else {}
    layers = [
        *([] if marked else [band]),
        layer("line", {"x": x, "y": y, **colour}),
        layer("point", {"x": x, "y": y, "tooltip": tooltip, **marked}, style={"size": 30}),
    ]
    return spec(points, 240, layer=layers)


def _draw_levels(shown: Mapping[str, Any], title: str, domain: list[float]) -> Row:
    x = quantitative("mean", title, scale={"domain": domain})
    marked = _marked(shown)
    tooltip = hover(("label", "level", ""), ("mean", title, ",.4"), *((("class", "class", ""),) if marked else ()))
    ends = layer(
        "rule",
        {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
        style={"strokeWidth": 6, "opacity": 0.3, "color": COLOURS[0]},
    )
    layers = [*([] if marked else [ends]), layer("point", {"x": x, "tooltip": tooltip, **marked})]
    height = ROW_STEP * len(shown["values"])
    return spec(_points(shown), height, layer=layers, encoding={"y": by_label(axis={"title": shown["attribute"]})})
