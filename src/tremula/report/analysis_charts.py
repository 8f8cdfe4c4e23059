"""The charts of the analyses that explain a comparison; each caption says how much was measured."""

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


def _analysis(summary: Summary, name: str) -> Any:
    return (summary.get("analyses") or {}).get(name)


def _too_slow(analysis: Mapping[str, Any]) -> str:
    slow = analysis.get("too_slow") or []
    return f" Better methods that were too slow for this: {', '.join(slow)}." if slow else ""


# --- members ---


def kappa(summary: Summary) -> Chart | None:
    """Show the agreement and the errors of the members of the best ensemble."""
    analysis = _analysis(summary, "kappa")
    if not analysis:
        return None
    drawn = "" if analysis["shown"] == analysis["members"] else f", of which the first {analysis['shown']} are drawn"
    members = enumerate(zip(analysis["member_errors"], analysis["with_ensemble"]), 1)
    return Chart(
        "kappa",
        f"κ-error diagram: {analysis['label']}",
        f"Each point is a pair of the {analysis['members']} members{drawn}, trained on {show(analysis['train_rows'])} "
        f"rows and tested once on {show(analysis['test_rows'])} held-out rows. κ is agreement beyond chance: left is "
        "diverse, low is accurate. The line is the error of the ensemble.",
        f"The mean error of the members is {analysis['mean_error']:.1f} %, their mean κ is "
        f"{analysis['mean_kappa']:.2f}; the error of the ensemble is {analysis['ensemble_error']:.1f} %.",
        {"": _draw_kappa(analysis)},
        ["member", "error, %", "κ with the ensemble"],
        [[str(number), show(error, "%"), f"{agreement:.3f}"] for number, (error, agreement) in members],
    )


def _draw_kappa(analysis: Mapping[str, Any]) -> Row:
    rows = [{"kappa": round(agreement, 4), "error": round(error, 3)} for agreement, error in analysis["pairs"]]
    line = [{"error": analysis["ensemble_error"], "words": "the ensemble"}]
    x = quantitative("kappa", "κ, agreement of two members")
    y = quantitative("error", "mean error of the two, %")
    tooltip = hover(("kappa", "κ", ".3f"), ("error", "mean error, %", ".2f"))
    words = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "color": INK}
    layers = [
        layer("point", {"x": x, "y": y, "tooltip": tooltip}, style={"size": 22, "opacity": 0.45, "color": COLOURS[0]}),
        layer("rule", {"y": y}, style={"color": COLOURS[1], "strokeWidth": 2}, data=line),
        layer("text", {"y": y, "x": {"value": 0}, "text": {"field": "words"}}, style=words, data=line),
    ]
    return spec(rows, 300, layer=layers)


# --- bias and variance ---


def bias_and_variance(summary: Summary) -> Chart | None:
    """Show bias and variance of a few methods."""
    analysis = _analysis(summary, "bias_variance")
    if not analysis:
        return None
    unit = UNITS[summary["task"]]
    first = analysis["methods"][0]
    return Chart(
        "bias_variance",
        "Bias and variance",
        f"From {analysis['models']} models of each method, each trained on {show(analysis['train_rows'])} rows and "
        f"tested on the same {show(analysis['test_rows'])} held-out rows. Noise in the data counts as bias. Errors are "
        f"larger than above because the training sets are smaller.{_too_slow(analysis)}",
        f"{first['label']} has bias {show(first['bias'], unit)} and variance {show(first['variance'], unit)}.",
        {"": _draw_parts(analysis["methods"], unit)},
        ["method", "error", "bias", "bias interval", "variance", "variance interval"],
        [
            [
                method["label"],
                show(method["error"], unit),
                *(cell for part in PARTS for cell in _part(method, part, unit)),
            ]
            for method in analysis["methods"]
        ],
    )


def _part(method: Mapping[str, Any], part: str, unit: str) -> tuple[str, str]:
    return show(method[part], unit), interval(method.get(f"{part}_low"), method.get(f"{part}_high"), unit)


def _draw_parts(methods: list[Mapping[str, Any]], unit: str) -> Row:
    rows = []
    for rank, method in enumerate(methods):
        for order, part in enumerate(PARTS):
            shown, ends = _part(method, part, unit)
            words = {"part": part, "shown": shown, "interval": ends, "whole": show(method["error"], unit)}
            rows.append(
                {"label": method["label"], "rank": rank, "order": order, "value": max(method[part], 0.0), **words}
            )
    name = "error, %" if unit else "squared error"
    tooltip = hover(
        ("label", "method", ""),
        ("part", "part", ""),
        ("shown", name, ""),
        ("interval", "95 % interval", ""),
        ("whole", "total error", ""),
    )
    encoding = {
        "x": quantitative("value", name, scale={"zero": True}, stack="zero"),
        "y": by_label(),
        "color": {**coded("part", PARTS)["color"], "legend": {"columns": 2, "symbolType": "square"}},
        "order": {"field": "order"},
        "tooltip": tooltip,
    }
    return spec(rows, (ROW_STEP + 8) * len(methods), mark={"type": "bar", "size": 18}, encoding=encoding)


# --- noise ---

NOISE_WORDS = {
    "class": ("Effect of wrong labels", "training rows with a wrong class, %", "some of them with a wrong class"),
    "target": (
        "Effect of noise in the target",
        "noise, % of the target's standard deviation",
        "with normal noise added to the target",
    ),
}


def noise(summary: Summary) -> Chart | None:
    """Show the error as a function of the noise in the training targets."""
    analysis = _analysis(summary, "noise")
    if not analysis:
        return None
    title, axis, noisy = NOISE_WORDS[analysis["kind"]]
    unit = UNITS[summary["task"]]
    name = "error, %" if unit else "root mean squared error"
    rows = [_noise_row(curve, point, unit) for curve in analysis["curves"] for point in curve["points"]]
    ends = [[show(curve["points"][end]["error"], unit) for end in (0, -1)] for curve in analysis["curves"]]
    words = "; ".join(f"{curve['label']} {few} and {many}" for curve, (few, many) in zip(analysis["curves"], ends))
    return Chart(
        "noise",
        title,
        f"Means over {analysis['repetitions']} random halves: {show(analysis['train_rows'])} training rows, {noisy}, "
        f"and {show(analysis['test_rows'])} test rows without noise. Thin lines run from the lowest to the highest "
        f"error.{_too_slow(analysis)}",
        f"Errors without noise and with the most noise: {words}.",
        {"": _draw_noise(rows, [curve["label"] for curve in analysis["curves"]], axis, name)},
        ["method", axis, name, "lowest to highest"],
        [[row["label"], f"{row['amount']:g}", row["shown"], row["range"]] for row in rows],
    )


def _noise_row(curve: Mapping[str, Any], point: Mapping[str, Any], unit: str) -> Row:
    ends = interval(point["lowest"], point["highest"], unit)
    return {"label": curve["label"], **point, "shown": show(point["error"], unit), "range": ends}


def _draw_noise(rows: list[Row], labels: list[str], axis: str, name: str) -> Row:
    amounts = sorted({row["amount"] for row in rows})
    x = quantitative("amount", axis, axis={"values": amounts}, scale={"nice": False, "padding": 8})
    y = quantitative("error", name, scale={"zero": True})
    tooltip = hover(
        ("label", "method", ""), ("amount", axis, ",.0f"), ("shown", name, ""), ("range", "lowest to highest", "")
    )
    marked = coded("label", labels)
    ends = {"x": x, "y": {**y, "field": "lowest"}, "y2": {"field": "highest"}, "color": marked["color"]}
    layers = [
        layer("rule", ends, style={"strokeWidth": 1}),
        layer("line", {"x": x, "y": y, "color": marked["color"]}),
        layer("point", {"x": x, "y": y, "tooltip": tooltip, **marked}),
    ]
    return spec(rows, 300, layer=layers)
