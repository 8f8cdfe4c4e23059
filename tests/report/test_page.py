"""The page: as stored, self-contained, escaped, small, and whole or not there."""

import json
import os
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.lab.datasets.dataset import Dataset
from tremula.report import page
from tremula.report import vega as library
from tremula.report.data_description import describe
from tremula.report.page import render_page, write_page
from tremula.report.vega import load_library

HOSTILE = "</script><script>alert('1')</script>\"&"
MOST_BYTES = 3_000_000


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the seconds it takes to put the library together."""
    monkeypatch.setattr(page, "load_library", lambda: "/* the library */")


def markup(html: str) -> str:
    """The page without its style and scripts."""
    return re.sub(r"(<(style|script)\b[^>]*>).*?(</\2>)", r"\1\3", html, flags=re.S)


def drawings(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="drawings">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found.group(1))


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("task", ["classification", "regression", "best"])
def test_page_is_as_stored(task: str, summary_of: Any, assert_golden: Any) -> None:
    assert_golden(f"report/{task}.html", markup(render_page(summary_of(task))))


@pytest.mark.usefixtures("without_library")
def test_page_names_nothing_outside(summary: dict[str, Any]) -> None:
    html = render_page(summary)
    assert re.findall(r"https?:|src=|@import|url\(", html) == []
    assert "default-src 'none'" in html


def test_page_with_its_library_is_small_and_whole(summary: dict[str, Any]) -> None:
    html = render_page(summary)
    assert 500_000 < len(html.encode()) < MOST_BYTES
    assert html.count("</script>") == 3


def test_the_library_is_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "cache" / "charts.js"
    kept.parent.mkdir()
    kept.write_text("kept", encoding="utf-8")
    monkeypatch.setattr(library, "_cache_file", lambda: kept)
    assert load_library() == "kept"


def test_a_page_of_many_methods_is_still_small(monkeypatch: pytest.MonkeyPatch, summary: dict[str, Any]) -> None:
    monkeypatch.setattr(page, "load_library", lambda: "x" * 1_000_000)
    first, names = summary["methods"][0], [f"method {number}" for number in range(25)]
    summary["methods"] = [{**first, "name": name, "label": f"a method with a long name, {name}"} for name in names]
    pair = summary["pairs"][0] | {"sentence": "It is not shown to differ from it on this data. " * 4}
    summary["pairs"] = [
        {**pair, "first": one, "second": other, "metric": metric}
        for metric in ("error", "auc")
        for one, other in combinations(names, 2)
    ]
    assert len(render_page(summary).encode()) < MOST_BYTES


@pytest.mark.usefixtures("without_library")
def test_hostile_names_stay_text(summary: dict[str, Any]) -> None:
    summary["dataset"]["name"] = summary["headline"] = summary["command"] = HOSTILE
    summary["dataset"]["class_counts"][0]["label"] = HOSTILE
    summary["dataset"]["columns"][0]["name"] = HOSTILE
    summary["notes"] = [HOSTILE]
    for method in summary["methods"]:
        method["label"] = HOSTILE + method["name"]
    html = render_page(summary)
    assert "alert('1')" not in html.split('id="drawings"')[0]
    assert html.count("<script") == 3
    assert drawings(html)["charts"]["classes"][""]["data"]["values"][0]["label"] == HOSTILE


@pytest.mark.usefixtures("without_library")
def test_every_chart_has_a_place_and_a_description(summary: dict[str, Any]) -> None:
    html = render_page(summary)
    places = re.findall(r'data-chart="(\w+)" data-description="([^"]+)"', html)
    assert {name for name, _ in places} == set(drawings(html)["charts"])
    assert html.count("Data of this chart") == len(places)


@pytest.mark.usefixtures("without_library")
def test_what_was_not_measured_is_said(summary: dict[str, Any]) -> None:
    summary["analyses"] = {"skipped": [{"analysis": "noise curves", "reason": "it would take about 90 s"}]}
    html = render_page(summary)
    assert "<strong>noise curves</strong>: it would take about 90 s." in html
    assert "<strong>κ-error diagram</strong>: it was not measured." in html


@pytest.mark.usefixtures("without_library")
def test_a_page_of_numbers_says_why_it_has_no_kappa(summary_of_numbers: dict[str, Any]) -> None:
    html = render_page(summary_of_numbers)
    assert "<strong>κ-error diagram</strong>: members that predict numbers" in html
    assert set(drawings(html)["charts"]) >= {"predicted", "noise", "bias_variance"}


@pytest.mark.usefixtures("without_library")
def test_a_method_that_failed_is_told_and_not_drawn(summary: dict[str, Any]) -> None:
    failed = {"name": "id3", "label": "ID3", "rank": None, "lowest": False, "error": "has numbers"}
    summary["methods"].append(failed)
    html = render_page(summary)
    assert "<strong>ID3</strong> failed: has numbers" in html
    assert "ID3" not in json.dumps(drawings(html))


@pytest.mark.usefixtures("without_library")
def test_classes_and_attributes_that_are_not_shown_are_counted(summary: dict[str, Any]) -> None:
    y = np.repeat(np.arange(45), np.arange(1, 46))
    summary["dataset"] = describe(Dataset("wide", "here", np.zeros((len(y), 250)), y), None)
    html = render_page(summary)
    assert "The 30 largest of 45 classes: 16 to 45 rows." in html
    assert "<summary>The first 200 of 250 attributes</summary>" in html
    assert len(drawings(html)["charts"]["classes"][""]["data"]["values"]) == 30


@pytest.mark.usefixtures("without_library")
def test_one_method_alone_makes_a_page(summary: dict[str, Any]) -> None:
    summary["methods"], summary["pairs"], summary["analyses"] = summary["methods"][:1], [], {}
    assert "Which differences are significant?" not in render_page(summary)


@pytest.mark.usefixtures("without_library")
def test_a_metric_that_a_method_lacks_is_a_dash(summary: dict[str, Any]) -> None:
    summary["methods"][2]["metrics"]["auc"] = None
    assert '<td data-value="">–</td>' in render_page(summary)  # noqa: RUF001


@pytest.mark.usefixtures("without_library")
def test_a_tiny_p_value_is_not_zero(summary_of: Any) -> None:
    summary = summary_of("best")
    summary["pairs"][0]["p_adjusted"] = 2e-7
    html = render_page(summary)
    assert "<td>&lt; 0.001</td>" in html
    assert "<td>0.000</td>" not in html


@pytest.mark.usefixtures("without_library")
def test_numbers_that_are_none_are_not_drawn(summary: dict[str, Any]) -> None:
    tree = summary["methods"][2]["metrics"]
    tree["auc"] |= {"mean": float("nan"), "folds": [float("nan")] * 3}
    tree["error"] |= {"low": float("-inf"), "high": float("inf")}
    drawn = drawings(render_page(summary))["charts"]["ranking"]
    assert [row["label"] for row in drawn["auc"]["data"]["values"]] == ["random forest", "bagging of 50 trees"]
    assert drawn["error"]["data"]["values"][2]["low"] == pytest.approx(28 / 3)


def test_a_page_replaces_another_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(path, "old")
    write_page(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_page_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    path = tmp_path / "report.html"
    write_page(path, "old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_page(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
