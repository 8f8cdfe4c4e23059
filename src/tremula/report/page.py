"""Renders the summary of a comparison, a plain dict, as one self-contained HTML file.

The page makes no network requests. The file is complete or absent: it is written under another name and then renamed.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from tremula.persistence.atomic_write import write_atomically
from tremula.report import (
    analysis_charts,
    attribute_charts,
    best_method_charts,
    difference_charts,
    prediction_charts,
    ranking_charts,
)
from tremula.report.best_method_tables import cases, confusions
from tremula.report.chart_style import CONFIG, Chart, short, show, with_unit
from tremula.report.pair_matrix import matrices, sentences, tables
from tremula.report.sentences import say_time_spent
from tremula.report.summary import only_finite
from tremula.report.summary_access import question_of
from tremula.report.vega import load_library

DRAW: dict[str, Callable[[Mapping[str, Any]], Chart | None]] = {
    "ranking": ranking_charts.ranking,
    "roc": best_method_charts.roc,
    "precision_recall": best_method_charts.precision_recall,
    "best_calibration": best_method_charts.calibration,
    "residuals": best_method_charts.residuals,
    "groups": best_method_charts.groups,
    "importances": attribute_charts.importances,
    **attribute_charts.EFFECTS,
    "kohavi": difference_charts.kohavi,
    "ranks": difference_charts.critical_difference,
    "time": ranking_charts.time_against_error,
    "kappa": analysis_charts.kappa,
    "bias_variance": analysis_charts.bias_and_variance,
    "noise": analysis_charts.noise,
    "calibration": prediction_charts.calibration,
    "predicted": prediction_charts.predicted_and_true,
    "classes": prediction_charts.classes,
}
# The charts a reader expects, by task, and the reason why one is missing if the summary gives none.
IN_BOTH_TASKS = {
    "importances": ("importance of attributes", "it was not measured"),
    "kohavi": ("Kohavi plot", "no pairs were tested"),
    "ranks": ("ranks", "they need at least three methods and all pairs, which --all-pairs tests"),
    "bias_variance": ("bias and variance", "it was not measured"),
    "noise": ("noise curves", "it was not measured"),
}
EXPECTED = {
    "classification": {
        **IN_BOTH_TASKS,
        "roc": (
            "ROC curve",
            "there are more than six classes, the best method predicts no probabilities, or no predictions were stored",
        ),
        "kappa": ("κ-error diagram", "it was not measured"),
        "calibration": ("calibration", "no method predicted probabilities for enough rows"),
    },
    "regression": {
        **IN_BOTH_TASKS,
        "kappa": ("κ-error diagram", "members that predict numbers do not agree or disagree on a class"),
        "calibration": ("calibration", "regression has no class probabilities"),
        "predicted": ("predicted and true values", "no predictions were stored"),
    },
}


def render_page(summary: Mapping[str, Any]) -> str:
    """Write the results of `tremula.report.summary.summarize` as HTML.

    Parameters
    ----------
    summary : mapping
        The plain dict of the results.

    Returns
    -------
    str
        A page that needs no other file and no network.
    """
    drawn = draw_charts(summary)
    return render(
        "report.html",
        drawn,
        summary=summary,
        matrices=matrices(summary),
        tables=tables(summary),
        confusions=confusions(summary),
        cases=cases(summary),
        question=question_of(summary),
        sentences=sentences(summary),
        time_spent=say_time_spent(summary),
        missing=missing_charts(summary, drawn),
    )


def render(template: str, charts: Mapping[str, Chart], **content: Any) -> str:
    """Fill a template with charts and content, and the library that draws the charts."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"show": show, "short": short, "with_unit": with_unit}
    return environment.get_template(template).render(
        charts=charts,
        drawings=_as_script({"config": CONFIG, "charts": {name: chart.specs for name, chart in charts.items()}}),
        library=load_library(),
        part=partial(_read_part, environment),
        **content,
    )


def draw_charts(summary: Mapping[str, Any]) -> dict[str, Chart]:
    """Return the charts that the summary has data for, by name."""
    drawn = {name: draw(summary) for name, draw in DRAW.items()}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def missing_charts(summary: Mapping[str, Any], drawn: Mapping[str, Chart]) -> list[dict[str, str]]:
    """Return the charts that the page does not show, with the reasons."""
    skipped = {entry["analysis"]: entry["reason"] for entry in (summary.get("analyses") or {}).get("skipped", ())}
    expected = EXPECTED[summary["task"]]
    missing = {title: reason for name, (title, reason) in expected.items() if name not in drawn}
    return [{"title": title, "reason": reason} for title, reason in (missing | skipped).items()]


def write_page(path: Path, html: str) -> None:
    """Write a page in one step; a failure leaves the old file in place.

    Parameters
    ----------
    path : Path
        The file to create or replace.
    html : str
        Its content.
    """
    write_atomically(path, html.encode())


def _as_script(content: Any) -> str:
    """Return JSON for a script element; no string inside it can end the element."""
    text = json.dumps(only_finite(content), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _read_part(environment: jinja2.Environment, name: str) -> str:
    """Return a template file unchanged."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
