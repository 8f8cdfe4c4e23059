"""The page of a comparison: a plain dict in, one self-contained HTML file out.

The file appears whole or not at all: it is written under another name and then renamed.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from tremula.files import write_whole

LABEL_WIDTH, CHART_WIDTH, VALUE_WIDTH, BAR_STEP = 210, 400, 100, 30
ROUND_STEPS = (1, 2, 5)


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
    return environment.get_template("report.html").render(**summary, chart=_chart(summary["methods"]))


def write_page(path: Path, html: str) -> None:
    """Put a page in place in one step; a failure leaves what was there before.

    Parameters
    ----------
    path : Path
        The file to make or replace.
    html : str
        Its content.
    """
    write_whole(path, html.encode())


def _chart(methods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lay out a bar for each mean error, with a whisker of one standard deviation and ticks at round numbers."""
    highest = max(row["error_mean"] + row["error_sd"] for row in methods)
    step = _round_step(highest / 4)
    n_steps = max(1, math.ceil(highest / step))
    scale = CHART_WIDTH / (n_steps * step)
    return {
        "width": LABEL_WIDTH + CHART_WIDTH + VALUE_WIDTH,
        "height": BAR_STEP * len(methods) + 40,
        "left": LABEL_WIDTH,
        "step": BAR_STEP,
        "bars": [_bar(row, scale) for row in methods],
        "ticks": [{"x": LABEL_WIDTH + count * step * scale, "value": count * step} for count in range(n_steps + 1)],
    }


def _bar(row: Mapping[str, Any], scale: float) -> dict[str, Any]:
    mean, spread = row["error_mean"], row["error_sd"]
    return {
        "label": row["label"],
        "text": f"{mean:.1f} ± {spread:.1f}",
        "lowest": row["lowest"],
        "width": mean * scale,
        "whisker": (LABEL_WIDTH + max(mean - spread, 0) * scale, LABEL_WIDTH + (mean + spread) * scale),
    }


def _round_step(least: float) -> float:
    """Find the smallest of 1, 2, 5, 10, 20, 50 ... tenths that is not below `least`."""
    size = 0.1
    while True:
        for step in ROUND_STEPS:
            if step * size >= least:
                return step * size
        size *= 10
