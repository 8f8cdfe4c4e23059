"""Shared by all charts: the `Chart` class, colours, and numbers as text.

Colours are variables of the style sheet, which defines them for light, dark and print; shapes repeat the colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
INK, QUIET, LINE, PAPER = "var(--ink)", "var(--quiet)", "var(--line)", "var(--paper)"
COLOURS = [f"var(--colour-{number})" for number in range(1, 7)]
BLUE, ORANGE, GREEN, GREY = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[5]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
ROW_STEP = 24  # pixels for a method
FONT = "system-ui, sans-serif"
NOTHING = "\N{EN DASH}"
DASHED: Row = {"color": QUIET, "strokeDash": [4, 4], "strokeWidth": 1}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "gridColor": LINE, "domainColor": QUIET, "tickColor": QUIET,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "titlePadding": 8,
    },
    "axisY": {"domain": False, "ticks": False, "labelPadding": 8},
    "legend": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 12, "labelLimit": 0, "orient": "bottom", "title": None,
        "symbolStrokeWidth": 2,
    },
    "range": {"category": COLOURS, "symbol": SHAPES},
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": QUIET},
    "point": {"filled": True, "size": 80, "opacity": 1},
    "mark": {"color": COLOURS[0]},
    "line": {"strokeWidth": 2},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Its key in the page.
    title, caption : str
        The heading, and an explanation.
    description : str
        What the chart shows, for screen readers.
    specs : mapping of str to dict
        Vega-Lite, by the name of the metric; under "" if it is the same for all.
    columns : sequence of str
        Headings of the table of its data.
    rows : sequence of sequences
        The data, as text and numbers.
    """

    name: str
    title: str
    caption: str
    description: str
    specs: Mapping[str, Mapping[str, Any]]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = field(default_factory=tuple)


def spec(data: Sequence[Row], height: Any, **parts: Any) -> dict[str, Any]:
    """Return a chart that fills the width of its container."""
    place = {"width": "container", "height": height, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**place, "data": {"values": list(data)}, **parts}


def finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def show(value: Any, unit: str = "") -> str:
    """Return a number as text: percentages with two decimals, others with four digits; nothing is a dash.

    Examples
    --------
    >>> show(2.345678, "%"), show(12345.678), show(0.0123456), show(7), show(None), show("a")
    ('2.35', '12,346', '0.01235', '7', '\N{EN DASH}', 'a')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if unit == "%":
        return f"{value:.2f}"
    digits = 3 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, min(digits, 8))}f}"


def short(value: Any) -> str:
    """Return a number rounded to three digits, with all digits before the point.

    Examples
    --------
    >>> short(2534.4), short(25.512), short(5.8), short(0.06566), short(None)
    ('2,534', '25.5', '5.8', '0.0657', '\N{EN DASH}')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:,.{max(0, min(digits, 8))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_unit(metric: Mapping[str, Any]) -> str:
    """Return the name of a metric as an axis shows it.

    Examples
    --------
    >>> with_unit({"label": "error", "unit": "%"}), with_unit({"label": "log loss", "unit": ""})
    ('error, %', 'log loss')
    """
    return f"{metric['label']}, {metric['unit']}" if metric["unit"] else str(metric["label"])


def quantitative(name: str, title: str | None, **options: Any) -> Row:
    """Return the channel of a number, on an axis that need not start at zero."""
    scale = {"zero": False, "nice": True, **options.pop("scale", {})}
    axis = {"format": ",~f", **options.pop("axis", {})}
    return {"field": name, "type": "quantitative", "title": title, "scale": scale, "axis": axis, **options}


def by_label(order: str = "rank", **options: Any) -> Row:
    """Return the channel of a method's name, the first at the top."""
    return {"field": "label", "type": "nominal", "title": None, "sort": {"field": order, "op": "min"}, **options}


def hover(*channels: tuple[str, str, str]) -> list[Row]:
    """Return a tooltip: field, heading and format of each entry; an empty format means text."""
    return [
        {"field": name, "title": title, **({"type": "quantitative", "format": form} if form else {"type": "nominal"})}
        for name, title, form in channels
    ]


def coded(name: str, values: Sequence[str], colours: Sequence[str] = COLOURS) -> Row:
    """Return colour and shape for a category, in one legend."""
    channel = {"field": name, "type": "nominal", "title": None, "legend": {"columns": 1}}
    ranges = {"color": colours, "shape": SHAPES}
    return {
        key: {**channel, "scale": {"domain": list(values), "range": list(codes[: len(values)])}}
        for key, codes in ranges.items()
    }


def layer(mark: str, encoding: Row, *, style: Row | None = None, data: Sequence[Row] = (), only: str = "") -> Row:
    """Return a layer of a chart: of all rows, of the rows for which `only` holds, or of its own data."""
    drawn: Row = {"mark": {"type": mark, **(style or {})}, "encoding": encoding}
    if data:
        drawn["data"] = {"values": list(data)}
    if only:
        drawn["transform"] = [{"filter": only}]
    return drawn


def interval(low: Any, high: Any, unit: str = "") -> str:
    """Return an interval as text; a dash if it has no ends.

    Examples
    --------
    >>> interval(1.0, 2.5, "%"), interval(None, None)
    ('1.00 to 2.50', '\N{EN DASH}')
    """
    return f"{show(low, unit)} to {show(high, unit)}" if finite(low) and finite(high) else NOTHING
