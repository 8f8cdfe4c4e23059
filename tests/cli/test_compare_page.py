"""The page of `tremula compare`: what the best model does, and the time spent, also in the JSON."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.cli.main import run
from tremula.lab.comparison.analyses import run as analyses

TREES = ("--methods", "c45,reptree", "--cv", "3", "--no-model")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words, "--json"])
    assert not stop.value.code
    return json.loads(capsys.readouterr().out)


def write_table(n_rows: int = 90) -> None:
    random = np.random.default_rng(0)
    weight = random.random(n_rows).round(3)
    colour = random.choice(["red", "<script>alert(1)</script>"], n_rows)
    kind = np.where(weight + 0.2 * random.random(n_rows) > 0.6, "<b>yes</b>", "no")
    lines = [f"{w},{c},{random.random():.3f},{k}" for w, c, k in zip(weight, colour, kind)]
    Path("rows.csv").write_text("\n".join(["<i>weight</i>,colour,noise,kind", *lines]), encoding="utf-8")


def test_the_best_model_is_described_in_the_page_and_the_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyses, "ANALYSES", {"attributes": analyses.ANALYSES["attributes"]})  # the others are slow
    write_table()
    results = compare(capsys, "rows.csv", *TREES)
    best = results["best_method"]
    assert best["method"] == results["methods"][0]["name"]
    counts = np.array(best["confusions"]["counts"])
    assert counts.sum() == 90
    error = 100 * (1 - np.trace(counts) / 90)
    assert error == pytest.approx(results["methods"][0]["metrics"]["error"]["mean"], abs=0.5)
    assert results["analyses"]["attributes"]["importances"][0]["attribute"] == "<i>weight</i>"
    html = Path("report.html").read_text(encoding="utf-8")
    assert results["answer"] in html
    assert len(best["cases"]["cases"]) == 5
    assert "5 cases it is least sure of" in html
    before = html.split('id="drawings"')[0]
    assert re.findall(r"<script>alert|<b>yes|<i>weight", before) == []
    assert len(html.encode()) < 1_500_000


def test_quick_has_the_predictions_and_leaves_out_the_attributes(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare(capsys, "diabetes-progression", "--methods", "cart,m5", "--cv", "3", "--no-model", "--quick")
    assert results["best_method"]["residuals"]["rows"] == 442
    assert "analyses" not in results
    html = Path("report.html").read_text(encoding="utf-8")
    assert 'data-chart="residuals"' in html
    assert "<strong>importance of attributes</strong>: it was not measured." in html


def test_results_of_earlier_runs_are_counted_in_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", *TREES, "--quick")
    first = compare(capsys, *words)["measured"]
    assert (first["results"], first["reused"]) == (6, 0)
    again = compare(capsys, "iris", "--methods", "c45,reptree,cart", *TREES[2:], "--quick")["measured"]
    assert (again["results"], again["reused"]) == (9, 6)
    assert again["seconds"] > first["seconds"]
    assert "6 of its 9 results are from earlier runs" in Path("report.html").read_text(encoding="utf-8")


def test_looks_of_one_run_are_not_earlier_runs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", "--methods", "c45,reptree", "--cv", "2x2", "--no-model", "--quick", "--until-clear")
    measured = compare(capsys, *words)["measured"]
    assert measured["reused"] == 0
    assert measured["results"] > 4
