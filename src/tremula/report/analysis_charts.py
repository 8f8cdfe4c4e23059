"""The charts of what was measured beside the cross-validation, each with how much was measured in its caption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.report.chart_style import (
    COLOURS,
    INK,
    ROW_STEP,
    Chart,
    Row,
    by_label,
    coded,
    hover,
    interval,
    layer,
    quantitative,
    show,
    spec,
)
from tremula.report.summary_access import Summary

PARTS = ["bias", "variance"]
UNITS = {"classification": "%", "regression": ""}


def _found(summary: Summary, name: str) -> Any:
    return (summary.get("closer") or {}).get(name)


def _too_slow(found: Mapping[str, Any]) -> str:
    slow = found.get("too_slow") or []
    return f" Better methods that took too long for this: {', '.join(slow)}." if slow else ""


# --- members ---


def kappa(summary: Summary) -> Chart | None:
    """Show how alike and how good the members of the best ensemble are."""
    found = _found(summary, "kappa")
    if not found:
        return None
    drawn = "" if found["shown"] == found["members"] else f", of which the first {found['shown']} are drawn"
    members = enumerate(zip(found["member_errors"], found["with_ensemble"]), 1)
    return Chart(
        "kappa",
        f"κ-error diagram: {found['label']}",
        f"A point is a pair of the {found['members']} members{drawn}, trained on {show(found['train_rows'])} rows and "
        f"tested once on {show(found['test_rows'])} others. κ is agreement beyond chance: left is diverse, low is "
        "accurate; the line is the error of all members together.",
        f"Members err on {found['mean_error']:.1f} % on average and agree with a mean κ of {found['mean_kappa']:.2f}; "
        f"together they err on {found['ensemble_error']:.1f} %.",
        {"": _draw_kappa(found)},
        ["member", "error, %", "κ with the ensemble"],
        [[str(number), show(error, "%"), f"{agreement:.3f}"] for number, (error, agreement) in members],
    )


def _draw_kappa(found: Mapping[str, Any]) -> Row:
    rows = [{"kappa": round(agreement, 4), "error": round(error, 3)} for agreement, error in found["pairs"]]
    level = [{"error": found["ensemble_error"], "words": "the ensemble"}]
    x = quantitative("kappa", "κ, agreement of two members")
    y = quantitative("error", "mean error of the two, %")
    told = hover(("kappa", "κ", ".3f"), ("error", "mean error, %", ".2f"))
    words = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "color": INK}
    layers = [
        layer("point", {"x": x, "y": y, "tooltip": told}, style={"size": 22, "opacity": 0.45, "color": COLOURS[0]}),
        layer("rule", {"y": y}, style={"color": COLOURS[1], "strokeWidth": 2}, data=level),
        layer("text", {"y": y, "x": {"value": 0}, "text": {"field": "words"}}, style=words, data=level),
    ]
    return spec(rows, 300, layer=layers)


# --- bias and variance ---


def bias_and_variance(summary: Summary) -> Chart | None:
    """Show of what errors are made."""
    found = _found(summary, "bias_variance")
    if not found:
        return None
    unit = UNITS[summary["task"]]
    first = found["methods"][0]
    return Chart(
        "bias_variance",
        "Of what the error is made",
        f"From {found['models']} models of each method, each trained on {show(found['train_rows'])} rows and all "
        f"tested on the same {show(found['test_rows'])} others; noise in the data counts as bias. With smaller "
        f"training sets than above, errors are larger.{_too_slow(found)}",
        f"{first['label']} has bias {show(first['bias'], unit)} and variance {show(first['variance'], unit)}.",
        {"": _draw_parts(found["methods"], unit)},
        ["method", "error", "bias", "its interval", "variance", "its interval"],
        [
            [one["label"], show(one["error"], unit), *(cell for part in PARTS for cell in _part(one, part, unit))]
            for one in found["methods"]
        ],
    )


def _part(one: Mapping[str, Any], part: str, unit: str) -> tuple[str, str]:
    return show(one[part], unit), interval(one.get(f"{part}_low"), one.get(f"{part}_high"), unit)


def _draw_parts(methods: list[Mapping[str, Any]], unit: str) -> Row:
    rows = []
    for rank, one in enumerate(methods):
        for order, part in enumerate(PARTS):
            shown, ends = _part(one, part, unit)
            words = {"part": part, "shown": shown, "interval": ends, "whole": show(one["error"], unit)}
            rows.append({"label": one["label"], "rank": rank, "order": order, "value": max(one[part], 0.0), **words})
    name = "error, %" if unit else "squared error"
    told = hover(
        ("label", "method", ""),
        ("part", "part", ""),
        ("shown", name, ""),
        ("interval", "95 % interval", ""),
        ("whole", "whole error", ""),
    )
    encoding = {
        "x": quantitative("value", name, scale={"zero": True}, stack="zero"),
        "y": by_label(),
        "color": {**coded("part", PARTS)["color"], "legend": {"columns": 2, "symbolType": "square"}},
        "order": {"field": "order"},
        "tooltip": told,
    }
    return spec(rows, (ROW_STEP + 8) * len(methods), mark={"type": "bar", "size": 18}, encoding=encoding)


# --- noise ---

NOISE_WORDS = {
    "class": ("What wrong labels do", "rows with a wrong class, %", "of which a share got a wrong class"),
    "target": (
        "What noise in the target does",
        "noise, % of the target's spread",
        "with normal noise added to their target in units of its standard deviation",
    ),
}


def noise(summary: Summary) -> Chart | None:
    """Show how errors grow with noise in the training targets."""
    found = _found(summary, "noise")
    if not found:
        return None
    title, axis, what = NOISE_WORDS[found["kind"]]
    unit = UNITS[summary["task"]]
    name = "error, %" if unit else "root mean squared error"
    rows = [_noise_row(curve, point, unit) for curve in found["curves"] for point in curve["points"]]
    ends = [[show(curve["points"][end]["error"], unit) for end in (0, -1)] for curve in found["curves"]]
    told = "; ".join(f"{curve['label']} {few} and {many}" for curve, (few, many) in zip(found["curves"], ends))
    return Chart(
        "noise",
        title,
        f"Means over {found['repetitions']} random halves: {show(found['train_rows'])} rows to learn from, {what}, and "
        f"{show(found['test_rows'])} untouched ones to test on. Thin lines run from the lowest to the "
        f"highest.{_too_slow(found)}",
        f"Errors without and with the most noise: {told}.",
        {"": _draw_noise(rows, [curve["label"] for curve in found["curves"]], axis, name)},
        ["method", axis, name, "lowest to highest"],
        [[row["label"], f"{row['level']:g}", row["shown"], row["range"]] for row in rows],
    )


def _noise_row(curve: Mapping[str, Any], point: Mapping[str, Any], unit: str) -> Row:
    ends = interval(point["lowest"], point["highest"], unit)
    return {"label": curve["label"], **point, "shown": show(point["error"], unit), "range": ends}


def _draw_noise(rows: list[Row], labels: list[str], axis: str, name: str) -> Row:
    levels = sorted({row["level"] for row in rows})
    x = quantitative("level", axis, axis={"values": levels}, scale={"nice": False, "padding": 8})
    y = quantitative("error", name, scale={"zero": True})
    told = hover(
        ("label", "method", ""), ("level", axis, ",.0f"), ("shown", name, ""), ("range", "lowest to highest", "")
    )
    marked = coded("label", labels)
    ends = {"x": x, "y": {**y, "field": "lowest"}, "y2": {"field": "highest"}, "color": marked["color"]}
    layers = [
        layer("rule", ends, style={"strokeWidth": 1}),
        layer("line", {"x": x, "y": y, "color": marked["color"]}),
        layer("point", {"x": x, "y": y, "tooltip": told, **marked}),
    ]
    return spec(rows, 300, layer=layers)
