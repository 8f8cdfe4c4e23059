"""The charts of the best method's predictions for held-out rows: curves, calibration, residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.report.chart_style import (
    COLOURS,
    DASHED,
    Chart,
    Row,
    coded,
    hover,
    interval,
    layer,
    quantitative,
    show,
    spec,
)
from tremula.report.summary_access import Summary

SHARES: Row = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
FEWEST_ROWS = 5  # for a point of the calibration
HEIGHT = 280


def _best(summary: Summary, part: str) -> Any:
    return (summary.get("best_method") or {}).get(part)


def said_rows(summary: Summary) -> str:
    """Say which rows the predictions are of."""
    best = summary["best_method"]
    return f"{show(best['rows'])} held-out rows of {best['folds']} test folds"


# --- curves ---


def roc(summary: Summary) -> Chart | None:
    """Show the share of each class found against the share of other rows taken for it."""
    curves = _best(summary, "curves")
    if not curves:
        return None
    areas = ", ".join(f"{curve['class']} {curve['area']:.3f}" for curve in curves)
    return Chart(
        "roc",
        "ROC curve" if len(curves) == 1 else "ROC curve of each class",
        f"From {said_rows(summary)}. A lower threshold on the probability finds more rows of {_class_words(curves)} "
        f"(true positives), and takes more other rows for it (false positives). The dashed line is guessing. "
        f"Area under the curve: {areas}.",
        f"Area under the ROC curve: {areas}.",
        {"": _draw_curves(curves, "roc", "false positive rate", "true positive rate", guess=True)},
        ["class", "rows", "area under the ROC curve", "mean precision"],
        [
            [curve["class"], show(curve["rows"]), f"{curve['area']:.4f}", f"{curve['mean_precision']:.4f}"]
            for curve in curves
        ],
    )


def precision_recall(summary: Summary) -> Chart | None:
    """Show the share of rows taken for a class that are of it, against the share of the class found."""
    curves = _best(summary, "curves")
    if not curves:
        return None
    means = ", ".join(f"{curve['class']} {curve['mean_precision']:.3f}" for curve in curves)
    shares = ", ".join(f"{curve['class']} {100 * curve['share']:.0f} %" for curve in curves)
    return Chart(
        "precision_recall",
        "Precision and recall" if len(curves) == 1 else "Precision and recall of each class",
        f"From {said_rows(summary)}. Recall is the share of the rows of {_class_words(curves)} that are found; "
        f"precision is the share of the rows predicted as that class that are right. Guessing gives the share of the "
        f"class ({shares}). Mean precision: {means}.",
        f"Mean precision: {means}.",
        {"": _draw_curves(curves, "precision_recall", "recall", "precision")},
        ["class", "rows", "share of the rows", "mean precision"],
        [
            [curve["class"], show(curve["rows"]), f"{100 * curve['share']:.1f} %", f"{curve['mean_precision']:.4f}"]
            for curve in curves
        ],
    )


def _class_words(curves: Sequence[Mapping[str, Any]]) -> str:
    return f"class “{curves[0]['class']}”" if len(curves) == 1 else "a class"


def _draw_curves(curves: Sequence[Mapping[str, Any]], kind: str, x: str, y: str, guess: bool = False) -> Row:
    rows = [
        {"label": curve["class"], "place": place, "x": point[0], "y": point[1]}
        for curve in curves
        for place, point in enumerate(curve[kind])
    ]
    place = {"x": quantitative("x", x, **SHARES), "y": quantitative("y", y, **SHARES), "order": {"field": "place"}}
    marked = coded("label", [curve["class"] for curve in curves])["color"]
    lines = [layer("line", place, style=DASHED, data=[{"x": end, "y": end, "place": end} for end in (0, 1)])]
    curve_layer = layer("line", {**place, "color": marked | ({"legend": None} if len(curves) == 1 else {})})
    return spec(rows, HEIGHT, layer=[*(lines if guess else []), curve_layer])


# --- calibration ---


def calibration(summary: Summary) -> Chart | None:
    """Show the share of rows for which a predicted probability came true, with intervals."""
    reliability = _best(summary, "calibration")
    if not reliability or not any(item["rows"] >= FEWEST_ROWS for item in reliability["bins"]):
        return None
    of_class = reliability["class"] is not None
    subject = (
        f"the probability of class “{reliability['class']}”" if of_class else "the probability of the predicted class"
    )
    happened = f"rows of class “{reliability['class']}”" if of_class else "correct predictions"
    bins = [item for item in reliability["bins"] if item["rows"] >= FEWEST_ROWS]
    return Chart(
        "best_calibration",
        "Calibration: do predicted probabilities come true?",
        f"{said_rows(summary)}, grouped by {subject}, with 95 % intervals of the share observed. On the dashed line "
        f"they agree; the mean distance is {100 * reliability['expected_error']:.1f} points. Groups of fewer than "
        f"{FEWEST_ROWS} rows are in the table only.",
        f"Predicted and observed shares of {happened}; mean distance {100 * reliability['expected_error']:.1f} points.",
        {"": _draw_means(bins, ("predicted probability", happened), {**SHARES}, (0.0, 1.0), ".1%")},
        ["predicted", "observed", "95 % interval", "rows"],
        [
            [
                f"{item['predicted']:.3f}",
                f"{item['observed']:.3f}",
                f"{item['low']:.3f} to {item['high']:.3f}",
                show(item["rows"]),
            ]
            for item in reliability["bins"]
        ],
    )


def groups(summary: Summary) -> Chart | None:
    """Show the mean true value of rows with like predictions."""
    means = _best(summary, "groups")
    if not means:
        return None
    values = [item[name] for item in means for name in ("predicted", "low", "high")]
    return Chart(
        "groups",
        "Calibration: are the predictions right on average?",
        f"{said_rows(summary)} in {len(means)} groups by their prediction: mean prediction and mean true value, with "
        "95 % intervals of the latter. On the dashed line they agree.",
        f"Mean true values by prediction, from {show(means[0]['observed'])} to {show(means[-1]['observed'])}.",
        {"": _draw_means(means, ("mean prediction", "mean true value"), {}, (min(values), max(values)), ",.4")},
        ["mean prediction", "mean true value", "95 % interval", "rows"],
        [
            [
                show(item["predicted"]),
                show(item["observed"]),
                interval(item["low"], item["high"]),
                show(item["rows"]),
            ]
            for item in means
        ],
    )


def _draw_means(
    items: Sequence[Mapping[str, Any]], titles: tuple[str, str], options: Row, ends: tuple[float, float], form: str
) -> Row:
    """Draw predicted against observed means, with intervals and the line of agreement."""
    x, y = quantitative("predicted", titles[0], **options), quantitative("observed", titles[1], **options)
    tooltip = hover(("predicted", titles[0], form), ("observed", titles[1], form), ("rows", "rows", ",d"))
    layers = [
        layer("line", {"x": x, "y": y}, style=DASHED, data=[{"predicted": end, "observed": end} for end in ends]),
        layer("rule", {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, style={"strokeWidth": 2}),
        layer("point", {"x": x, "y": y, "tooltip": tooltip}, style={"color": COLOURS[0]}),
    ]
    return spec([dict(item) for item in items], HEIGHT, layer=layers)


# --- residuals ---


def residuals(summary: Summary) -> Chart | None:
    """Show residuals against predictions."""
    sizes = _best(summary, "residuals")
    if not sizes:
        return None
    drawn = len(sizes["points"])
    part = "" if drawn == sizes["rows"] else f", of which {show(drawn)} drawn at random are shown"
    half, most = show(sizes["median_size"]), show(sizes["size_of_nine_in_ten"])
    return Chart(
        "residuals",
        "Residuals: how far off are the predictions?",
        f"{said_rows(summary)}{part}. Half of the predictions are off by at most {half}, nine of ten by at most {most}."
        f" Above the dashed line predictions are too high ({100 * sizes['too_high']:.0f} % of the rows).",
        f"Predicted minus true value: half of the sizes are at most {half}, nine of ten at most {most}; mean "
        f"{show(sizes['mean'])}, 95 % interval {interval(sizes['mean_low'], sizes['mean_high'])}.",
        {"": _draw_residuals(sizes["points"])},
        ["number", "value"],
        [
            ["median size", half],
            ["size of nine in ten, at most", most],
            ["mean", show(sizes["mean"])],
            ["95 % interval of the mean", interval(sizes["mean_low"], sizes["mean_high"])],
        ],
    )


def _draw_residuals(points: Sequence[Sequence[float]]) -> Row:
    rows = [{"predicted": predicted, "residual": residual} for predicted, residual in points]
    x, y = quantitative("predicted", "predicted value"), quantitative("residual", "predicted minus true value")
    tooltip = hover(("predicted", "predicted", ",.4"), ("residual", "predicted minus true", ",.4"))
    layers = [
        layer("rule", {"y": {**y, "field": "residual"}}, style=DASHED, data=[{"residual": 0}]),
        layer(
            "point",
            {"x": x, "y": y, "tooltip": tooltip},
            style={"size": 30, "opacity": 0.5, "color": COLOURS[0]},
        ),
    ]
    return spec(rows, HEIGHT, layer=layers)
