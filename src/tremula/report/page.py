"""The page of a comparison: a plain dict in, one self-contained HTML file out.

Nothing in the page asks the network for anything. The file appears whole or not at all: it is written under another
name and then renamed.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from tremula.persistence.atomic_write import write_atomically
from tremula.report import analysis_charts, difference_charts, prediction_charts, ranking_charts
from tremula.report.chart_style import CONFIG, Chart, short, show, with_unit
from tremula.report.pair_matrix import matrices, sentences
from tremula.report.summary import only_finite
from tremula.report.vega import load_library

DRAW = {
    "ranking": ranking_charts.ranking,
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
# What a reader of the page may miss, by the task, and why it is not there when nobody gave a better reason.
EXPECTED = {
    "classification": {
        "kohavi": ("Kohavi plot", "no pairs were tested"),
        "ranks": ("ranks", "they need three methods that were tested in pairs"),
        "kappa": ("κ-error diagram", "it was not measured"),
        "bias_variance": ("bias and variance", "it was not measured"),
        "noise": ("noise curves", "it was not measured"),
        "calibration": ("calibration", "no method gave probabilities for enough rows"),
    },
    "regression": {
        "kohavi": ("Kohavi plot", "no pairs were tested"),
        "ranks": ("ranks", "they need three methods that were tested in pairs"),
        "kappa": ("κ-error diagram", "members that predict numbers do not agree or disagree on a class"),
        "bias_variance": ("bias and variance", "it was not measured"),
        "noise": ("noise curves", "it was not measured"),
        "calibration": ("calibration", "numbers are predicted without probabilities"),
        "predicted": ("predicted and true values", "no predictions were kept"),
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
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tremula.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"show": show, "short": short, "with_unit": with_unit}
    drawn = draw_charts(summary)
    return environment.get_template("report.html").render(
        summary=summary,
        charts=drawn,
        drawings=_as_script({"config": CONFIG, "charts": {name: chart.specs for name, chart in drawn.items()}}),
        matrices=matrices(summary),
        sentences=sentences(summary),
        left_out=left_out(summary, drawn),
        library=load_library(),
        part=partial(_read_part, environment),
    )


def draw_charts(summary: Mapping[str, Any]) -> dict[str, Chart]:
    """Return the charts that the summary has something for, by their names."""
    drawn = {name: draw(summary) for name, draw in DRAW.items()}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def left_out(summary: Mapping[str, Any], drawn: Mapping[str, Chart]) -> list[dict[str, str]]:
    """Return what the page does not show, and why."""
    given = {entry["part"]: entry["why"] for entry in (summary.get("closer") or {}).get("left_out", ())}
    missing = {part: why for name, (part, why) in EXPECTED[summary["task"]].items() if name not in drawn}
    return [{"part": part, "why": why} for part, why in (missing | given).items()]


def write_page(path: Path, html: str) -> None:
    """Put a page in place in one step; a failure leaves what was there before.

    Parameters
    ----------
    path : Path
        The file to make or replace.
    html : str
        Its content.
    """
    write_atomically(path, html.encode())


def _as_script(content: Any) -> str:
    """Return JSON that no name inside it can end: a script element ends at the first ``</``."""
    words = json.dumps(only_finite(content), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return words.replace("<", "\\u003c")


def _read_part(environment: jinja2.Environment, name: str) -> str:
    """Return a file of the templates as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
