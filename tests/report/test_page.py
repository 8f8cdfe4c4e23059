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
MOST_BYTES = 1_500_000


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
    monkeypatch.setattr(page, "load_library", lambda: "x" * 900_000)
    other = summary["metrics"][1]
    summary["metrics"] += [{**other, "name": f"metric {number}"} for number in range(3)]
    first, names = summary["methods"][0], [f"method {number}" for number in range(25)]
    first["metrics"] |= {f"metric {number}": first["metrics"]["auc"] for number in range(3)}
    summary["methods"] = [{**first, "name": name, "label": f"a method with a long name, {name}"} for name in names]
    pair = summary["pairs"][0] | {"sentence": "It is not shown to differ from it on this data. " * 4}
    summary["pairs"] = [
        {**pair, "first": one, "second": other, "metric": metric}
        for metric in [metric["name"] for metric in summary["metrics"]]
        for one, other in combinations(names, 2)
    ]
    html = render_page(summary)
    assert len(html.encode()) < MOST_BYTES
    assert "Of 25 methods the first 2 can be chosen." in html
    assert "20 of the other 276 pairs; the matrix has all, and --json their sentences" in html


@pytest.mark.usefixtures("without_library")
def test_hostile_names_stay_text(summary: dict[str, Any]) -> None:
    summary["dataset"]["name"] = summary["headline"] = summary["command"] = HOSTILE
    summary["dataset"]["class_counts"][0]["label"] = HOSTILE
    summary["dataset"]["columns"][0]["name"] = HOSTILE
    summary["notes"] = [HOSTILE]
    summary["answer"] = summary["best_method"]["label"] = HOSTILE
    summary["best_method"]["confusions"]["classes"][0] = HOSTILE
    summary["best_method"]["curves"][0]["class"] = summary["best_method"]["calibration"]["class"] = HOSTILE
    case = summary["best_method"]["cases"]
    case["attributes"][0] = case["cases"][0]["values"][0] = case["cases"][0]["truth"] = HOSTILE
    for entry in (*summary["analyses"]["attributes"]["importances"], *summary["analyses"]["attributes"]["effects"]):
        entry["attribute"] = HOSTILE
    summary["analyses"]["attributes"]["effects"][1]["values"][0] = HOSTILE
    for method in summary["methods"]:
        method["label"] = HOSTILE + method["name"]
    html = render_page(summary)
    assert "alert('1')" not in html.split('id="drawings"')[0]
    assert html.count("<script") == 3
    assert drawings(html)["charts"]["classes"][""]["data"]["values"][0]["label"] == HOSTILE


@pytest.mark.usefixtures("without_library")
def test_the_answer_and_one_picture_come_before_all_sections(summary: dict[str, Any]) -> None:
    top = markup(render_page(summary)).split("<section")[0]
    assert top.index(summary["answer"]) < top.index('data-chart="ranking"')
    assert top.count("data-chart=") == 1
    assert summary["headline"] not in top


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_best_model_comes_before_the_methods_and_these_before_the_tests(task: str, summary_of: Any) -> None:
    html = markup(render_page(summary_of(task)))
    names = re.findall(r'<section id="(\w+)"', html)
    assert names == ["best", "ranking", "pairs", "cost", "analyses", "data", "reproduce"]
    assert html.count('<details class="part" open') == len(names)


@pytest.mark.usefixtures("without_library")
def test_confusions_are_a_table_and_say_the_rows(summary: dict[str, Any]) -> None:
    html = render_page(summary)
    assert "1,197 of 1,234 held-out rows of 3 test folds are predicted correctly (97.0 %)." in html
    assert '<td class="right shade-4">720</td><td class="wrong shade-1">20</td><td>97 %</td>' in html
    assert "breaks ties" not in html
    summary["best_method"]["confusions"]["n_other"] = 2
    assert "have 2 more or fewer mistakes" in render_page(summary)


@pytest.mark.usefixtures("without_library")
def test_classes_too_many_for_a_matrix_have_their_mistakes_listed(summary: dict[str, Any]) -> None:
    summary["best_method"]["confusions"]["counts"] = None
    html = render_page(summary)
    assert 'class="confusions"' not in html
    assert "<li>“no” taken for “yes” (20 of 740 rows)</li>" in html


@pytest.mark.usefixtures("without_library")
def test_unsure_cases_are_rows_with_their_values(summary: dict[str, Any], summary_of_numbers: dict[str, Any]) -> None:
    dash = "\N{EN DASH}"
    cells = "".join(f"<td>{value}</td>" for value in ("2.500", "red", dash, "yes", "51 %", "no (49 %)", "no"))
    html = render_page(summary)
    assert f'<tr><th scope="row">17</th>{cells}</tr>' in html
    assert "1 case it is least sure of" in html
    html = render_page(summary_of_numbers)
    assert "<td>9.500</td><td>1.000 to 12.00</td><td>3.000</td></tr>" in html
    summary_of_numbers["best_method"]["cases"] |= {"kind": "largest misses"}
    for case in summary_of_numbers["best_method"]["cases"]["cases"]:
        del case["low"], case["high"]
    html = render_page(summary_of_numbers)
    assert "1 case it misses most" in html
    assert "How sure it is was not measured" in html


@pytest.mark.usefixtures("without_library")
def test_importances_say_how_they_were_measured(summary: dict[str, Any], summary_of_numbers: dict[str, Any]) -> None:
    assert "Out of bag: each member is asked for those of the 1,234 rows that it was not trained on." in render_page(
        summary
    )
    summary["analyses"]["attributes"] |= {"all_rows": 9000}
    assert "of the 1,234 rows, drawn from 9,000, that it was not trained on." in render_page(summary)
    summary_of_numbers["analyses"]["attributes"] |= {"train_rows": 500, "all_rows": 9000}
    assert "Trained on 500 rows, drawn from 9,000, shuffled 3 times in 1,000 other rows." in render_page(
        summary_of_numbers
    )


@pytest.mark.usefixtures("without_library")
def test_the_time_made_is_the_time_spent(summary: dict[str, Any]) -> None:
    html = render_page(summary)
    assert "This run took 12 seconds. Training and testing took 4 minutes; 6 of its 9 results are from earlier" in html


@pytest.mark.usefixtures("without_library")
def test_a_summary_without_the_best_method_makes_a_page(summary: dict[str, Any]) -> None:
    del summary["best_method"], summary["analyses"], summary["answer"]
    html = render_page(summary)
    assert 'id="best"' not in html
    assert f'<p class="headline">{summary["headline"]}</p>' in html


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


def test_the_data_check_stands_at_the_top_and_once(summary: dict[str, Any]) -> None:
    finding = "Column 'refund' gives the target away."
    page = render_page({**summary, "check": [finding], "notes": [*summary["notes"], finding]})
    shown = page.replace("&#39;", "'")
    assert shown.count(finding) == 1 + shown[shown.index("<script") :].count(finding)
    assert shown.index(finding) < shown.index('id="best"')
