"""The page of a comparison on several datasets: mean ranks, critical difference, and the answer for each dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.report.chart_style import ORANGE, ROW_STEP, Chart, by_label, hover, layer, quantitative, show, spec
from tremula.report.page import render

BAR_STEP = 0.25


def render_datasets_page(summary: Mapping[str, Any]) -> str:
    """Write the results of `tremula.report.datasets_summary.summarize_datasets` as HTML.

    Parameters
    ----------
    summary : mapping
        The plain dict of the results.

    Returns
    -------
    str
        A page that needs no other file and no network.
    """
    return render("datasets.html", {"ranking": rank_chart(summary)}, summary=summary)


def rank_chart(summary: Mapping[str, Any]) -> Chart:
    """Show mean ranks over the datasets; a bar joins methods within the critical difference."""
    ranking = summary["ranking"]
    methods, groups = ranking["methods"], ranking["groups"]
    rows = [
        {"label": method["label"], "rank": round(method["mean_rank"], 3), "shown": show(method["mean_rank"], "%")}
        for method in methods
    ]
    names = by_label(sort=None, scale={"domain": [row["label"] for row in rows]})
    edge = len(rows) + BAR_STEP
    scale = {"domain": [0.9, edge + BAR_STEP * len(groups)], "nice": False}
    axis = {"values": list(range(1, len(rows) + 1)), "format": "d"}
    x = quantitative("rank", "mean rank, 1 is best", axis=axis, scale=scale)
    layers = [
        layer("point", {"x": x, "y": names, "tooltip": hover(("label", "method", ""), ("shown", "mean rank", ""))})
    ]
    if groups:
        bars = [
            {"label": group[0], "last": group[-1], "place": edge + BAR_STEP * number}
            for number, group in enumerate(groups)
        ]
        place = {"x": {**x, "field": "place"}, "y": names, "y2": {"field": "last"}}
        style = {"strokeWidth": 5, "strokeCap": "round", "color": ORANGE}
        layers.append(layer("rule", place, style=style, data=bars))
    difference = ranking["critical_difference"]
    return Chart(
        "ranking",
        "Mean ranks over the datasets",
        f"A bar joins methods whose mean ranks differ by less than the critical difference of Nemenyi's test, "
        f"{difference:.2f}: they are not shown to differ.",
        "Mean ranks: " + ", ".join(f"{row['label']} {row['shown']}" for row in rows) + ".",
        {"": spec(rows, ROW_STEP * len(rows), layer=layers)},
        ["method", "mean rank"],
        [[row["label"], row["shown"]] for row in rows],
    )
