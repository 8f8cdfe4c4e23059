"""The tables of the best method: confusions of classes, and the cases it is least sure of, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.errors import counted
from tremula.report.best_method_charts import said_rows
from tremula.report.chart_style import interval, show
from tremula.report.summary_access import Summary

N_SHADES = 4
N_SAID = 3  # confusions
OWN_ROWS = "These are rows of the data: mind who gets this page."
COUNTING = "Rows are numbered from 1, in the order of the data, without those that have no target."


def confusions(summary: Summary) -> dict[str, Any] | None:
    """Return the matrix of confusions with shades, and what is said of it."""
    best = summary.get("best_method") or {}
    content = best.get("confusions")
    if not content:
        return None
    share = 100 * content["right"] / content["rows"]
    said = [f"{show(content['right'])} of {said_rows(summary)} are predicted correctly ({share:.1f} %)."]
    frequent = [
        f"“{pair['truth']}” taken for “{pair['answer']}” ({show(pair['rows'])} of {show(pair['of'])} rows)"
        for pair in content["most_frequent"]
    ]
    if frequent:
        said.append(f"The most frequent mistakes: {'; '.join(frequent[:N_SAID])}.")
    if content["n_other"]:
        said.append(
            f"The class of the largest probability is counted; the method's own predictions have {content['n_other']} "
            "more or fewer mistakes, as it breaks ties in another way."
        )
    return {
        "sentences": said,
        "classes": content["classes"],
        "rows": _matrix(content),
        "frequent": [] if content["counts"] else frequent,
    }


def _matrix(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for place, counts in enumerate(content["counts"] or []):
        total = sum(counts)
        cells = [
            {"rows": show(count), "shade": _shade(count, total), "kind": "right" if place == column else "wrong"}
            for column, count in enumerate(counts)
        ]
        share_found = f"{100 * counts[place] / total:.0f} %" if total else show(None)
        rows.append({"label": content["classes"][place], "cells": cells, "total": show(total), "share": share_found})
    return rows


def _shade(count: int, total: int) -> int:
    """Return the shade of a cell, from 0 for no rows to 4 for all rows of a class."""
    return 0 if not count else 1 + min(int(N_SHADES * count / total), N_SHADES - 1)


def cases(summary: Summary) -> dict[str, Any] | None:
    """Return the rows that the best method is least sure of, as text."""
    best = summary.get("best_method") or {}
    content = best.get("cases")
    if not content or not content["cases"]:
        return None
    write = _write_class if summary["task"] == "classification" else _write_number
    kinds = {
        ("least sure", "classification"): (
            "it is least sure of",
            f"Of {said_rows(summary)}, those whose predicted class has the smallest probability.",
            ["predicted", "probability", "second", "true"],
        ),
        ("least sure", "regression"): (
            "it is least sure of",
            "The rows with the widest range from the 5 % to the 95 % quantile of the target, by the members that were "
            "not trained on them. The range describes the training rows that are like the case; it is not calibrated. "
            "The prediction is that of the test fold.",
            ["predicted", "range", "true"],
        ),
        ("largest misses", "regression"): (
            "it misses most",
            f"Of {said_rows(summary)}, those with the largest difference. How sure it is was not measured, or cannot "
            "be: that takes an ensemble whose members leave rows out.",
            ["predicted", "true"],
        ),
    }
    title, caption, columns = kinds[content["kind"], summary["task"]]
    return {
        "title": f"{counted(len(content['cases']), 'case')} {title}",
        "caption": f"{caption} {COUNTING} {OWN_ROWS}",
        "columns": ["row", *content["attributes"], *columns],
        "rows": [
            [show(case["row"]), *(show(value) for value in case["values"]), *write(case)] for case in content["cases"]
        ],
    }


def _write_class(case: Mapping[str, Any]) -> list[str]:
    second = case["second"]
    other = show(None) if second is None else f"{second['answer']} ({100 * second['probability']:.0f} %)"
    return [case["answer"], f"{100 * case['probability']:.0f} %", other, case["truth"]]


def _write_number(case: Mapping[str, Any]) -> list[str]:
    ends = [interval(case["low"], case["high"])] if "low" in case else []
    return [show(case["answer"]), *ends, show(case["truth"])]
