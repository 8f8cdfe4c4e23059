"""The charts of differences between methods: relative differences of pairs, and mean ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from tremula.report.chart_style import (
    DASHED,
    GREEN,
    GREY,
    ORANGE,
    ROW_STEP,
    Chart,
    Row,
    by_label,
    coded,
    finite,
    hover,
    layer,
    quantitative,
    show,
    spec,
)
from tremula.report.summary_access import (
    OUTCOMES,
    Metric,
    Summary,
    each_metric,
    joined,
    mean_ranks,
    measured,
    pairs_of,
    percent,
    question_of,
    ranked,
    reference_of,
)

MOST_DIFFERENCES = 250  # drawn, of all metrics together
BAR_STEP = 0.4  # distance between two bars, in ranks
COLUMNS = (
    ("label", "method", ""),
    ("against", "compared with", ""),
    ("shown", "difference, %", ""),
    ("interval", "interval, %", ""),
    ("verdict", "verdict", ""),
)


# --- Kohavi's plot ---


def kohavi(summary: Summary) -> Chart | None:
    """Show the difference of each method from one that the reader chooses, relative to the error of that one."""
    specs = each_metric(summary, partial(_draw_kohavi, summary))
    if not specs:
        return None
    main = next(metric for metric in summary["metrics"] if metric["name"] in specs)
    rows = relative_differences(summary, main)
    chosen, options = _chosen(summary, main, rows), specs[main["name"]]["params"][0]["bind"]["options"]
    best, rows = chosen[0], [row for row in rows if row["against"] in options]
    only = "" if len(options) == len(chosen) else f" Of {len(chosen)} methods the first {len(options)} can be chosen."
    verdicts = [row["verdict"] for row in rows if row["against"] == best]
    n_significant = sum(verdict != OUTCOMES[1] for verdict in verdicts)
    return Chart(
        "kohavi",
        "Differences relative to one method",
        f"Kohavi's plot, with methods in place of datasets. Lines are {percent(summary)} intervals of the "
        f"{summary['protocol'].get('test', '')} test of one pair. Colours and shapes are verdicts after correction for "
        f"the number of pairs, so the verdict may be “no difference shown” although a line does not include 0.{only}",
        f"Differences from {best}: {n_significant} of {len(verdicts)} other methods differ significantly.",
        specs,
        [title for _, title, _ in COLUMNS],
        [[row[name] for name, _, _ in COLUMNS] for row in rows],
    )


def relative_differences(summary: Summary, metric: Metric) -> list[Row]:
    """Return the difference of each pair, in both directions, in percent of the mean of the second method."""
    means = {method["name"]: method["metrics"][metric["name"]]["mean"] for method in ranked(summary, metric)}
    labels = {method["name"]: method["label"] for method in measured(summary)}
    rows = []
    for (first, second), pair in pairs_of(summary, metric["name"]).items():
        if first not in means or not means.get(second) or not finite(pair["difference"]):
            continue
        unit = abs(means[second]) / 100
        ratio = pair["difference"] / unit
        low, high = (end / unit if finite(end) else ratio for end in (pair["low"], pair["high"]))
        words = {"shown": f"{ratio:+.1f}", "interval": f"{low:+.1f} to {high:+.1f}", "verdict": pair["verdict"]}
        drawn = {"ratio": round(ratio, 3), "low": round(low, 3), "high": round(high, 3)}
        rows.append({"label": labels[first], "against": labels[second], **drawn, **words})
    return rows


def _chosen(summary: Summary, metric: Metric, rows: Sequence[Row]) -> list[str]:
    """Return the methods that all others were compared with, the best or the baseline first."""
    reference = reference_of(summary, metric)
    order = sorted(ranked(summary, metric), key=lambda method: method["name"] != reference)
    counts = Counter(row["against"] for row in rows)
    return [method["label"] for method in order if counts[method["label"]] == max(counts.values())]


def _draw_kohavi(summary: Summary, metric: Metric) -> Row | None:
    rows = relative_differences(summary, metric)
    if not rows:
        return None
    order = [method["label"] for method in ranked(summary, metric)]
    title = f"difference, % ({'left' if metric['less_is_better'] else 'right'} is better)"
    shared = {"y": by_label("ratio"), "tooltip": hover(*COLUMNS)}
    ends = {"x": quantitative("low", title), "x2": {"field": "high"}, **shared}
    point = {"x": quantitative("ratio", title), **coded("verdict", OUTCOMES, [GREEN, GREY, ORANGE]), **shared}
    chosen = "datum.against === against"
    layers = [
        layer("rule", {"x": quantitative("zero", title)}, style=DASHED, data=[{"zero": 0}]),
        layer("rule", ends, style={"strokeWidth": 2}, only=chosen),
        layer("point", point, only=chosen),
    ]
    options = _chosen(summary, metric, rows)[: max(MOST_DIFFERENCES // (len(order) * len(summary["metrics"])), 1)]
    rows = [row for row in rows if row["against"] in options]
    choose = {"input": "select", "options": options, "name": "compared with "}
    params = [{"name": "against", "value": options[0], "bind": choose}]
    return spec(rows, ROW_STEP * (len(order) - 1), params=params, layer=layers)


# --- ranks ---


def critical_difference(summary: Summary) -> Chart | None:
    """Show mean ranks over the test sets, and the groups within which no difference was shown."""
    specs = each_metric(summary, partial(_draw_ranks, summary))
    if not specs:
        return None
    main = next(metric for metric in summary["metrics"] if metric["name"] in specs)
    labels = {method["name"]: method["label"] for method in measured(summary)}
    ranks, order, runs = _ranks_and_runs(summary, main)
    words = ", ".join(f"{labels[name]} {ranks[name]:.1f}" for name in order)
    return Chart(
        "ranks",
        "Ranks and groups without shown differences",
        "Mean ranks over the test sets. A critical-difference diagram needs many independent datasets. The test sets "
        "of one dataset share training rows, so no critical difference follows from these ranks. Instead, a bar joins "
        "methods of which no two differ by the corrected tests of pairs.",
        f"Mean ranks: {words}; number of bars: {len(runs)}.",
        specs,
        ["method", "mean rank", "joined by bar"],
        [[labels[name], show(ranks[name], "%"), _bars_at(place, runs)] for place, name in enumerate(order)],
    )


def _ranks_and_runs(summary: Summary, metric: Metric) -> tuple[dict[str, float], list[str], list[tuple[int, int]]]:
    ranks = mean_ranks(summary, metric)
    order = sorted(ranks, key=ranks.__getitem__)
    return ranks, order, joined(order, pairs_of(summary, metric["name"]))


def _bars_at(place: int, runs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(str(number) for number, (start, end) in enumerate(runs, 1) if start <= place <= end)


def _draw_ranks(summary: Summary, metric: Metric) -> Row | None:
    ranks, order, runs = _ranks_and_runs(summary, metric)
    if len(order) < 3 or question_of(summary) != "pairs" or not pairs_of(summary, metric["name"]):
        return None
    labels = {method["name"]: method["label"] for method in measured(summary)}
    rows = [{"label": labels[name], "rank": round(ranks[name], 3), "shown": show(ranks[name], "%")} for name in order]
    names = by_label(sort=None, scale={"domain": [labels[name] for name in order]})
    edge = len(order) + 0.5
    axis = {"values": list(range(1, len(order) + 1)), "format": "d"}
    scale = {"domain": [0.5, edge + BAR_STEP * len(runs)], "nice": False}
    x = quantitative("rank", "mean rank, 1 is best", axis=axis, scale=scale)
    tooltip = hover(("label", "method", ""), ("shown", "mean rank", ""))
    layers = [layer("point", {"x": x, "y": names, "tooltip": tooltip})]
    if runs:
        place = {"x": {**x, "field": "place"}, "y": names, "y2": {"field": "last"}}
        style = {"strokeWidth": 5, "strokeCap": "round", "color": ORANGE}
        layers.append(layer("rule", place, style=style, data=_bars(labels, order, runs, edge)))
    return spec(rows, ROW_STEP * len(rows), layer=layers)


def _bars(labels: Mapping[str, str], order: Sequence[str], runs: Sequence[tuple[int, int]], edge: float) -> list[Row]:
    return [
        {"label": labels[order[start]], "last": labels[order[end]], "place": edge + BAR_STEP * number}
        for number, (start, end) in enumerate(runs)
    ]
