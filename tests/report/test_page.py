"""The page: self-contained, as stored, escaped, and whole or not there."""

import os
from pathlib import Path
from typing import Any

import pytest

from tremula.report.page import render_page, write_page


def a_summary() -> dict[str, Any]:
    def row(label: str, mean: float, spread: float, lowest: bool, leaves: float | None) -> dict[str, Any]:
        return {
            "name": label.lower(),
            "label": label,
            "error_mean": mean,
            "error_sd": spread,
            "errors": [mean - spread, mean + spread],
            "fit_milliseconds": 1.25,
            "leaves_mean": leaves,
            "lowest": lowest,
        }

    return {
        "dataset": {
            "name": "made",
            "source": "a test",
            "rows": 1234,
            "numeric": 3,
            "nominal": 2,
            "missing": 5,
            "classes": 2,
            "majority_error": 40.0,
        },
        "protocol": {"kind": "stratified cross-validation", "folds": 2, "seed": 0},
        "methods": [row("Tree", 10.0, 2.0, True, 7.5), row("Stump", 25.0, 4.0, False, None)],
        "notes": ["A note."],
        "versions": {"tremula": "1.2.3"},
    }


def test_page_is_as_stored(assert_golden: Any) -> None:
    assert_golden("report/page.html", render_page(a_summary()))


def test_page_needs_nothing_from_outside() -> None:
    page = render_page(a_summary())
    assert "http" not in page
    assert "<script" not in page


def test_names_from_the_user_are_escaped() -> None:
    summary = a_summary()
    summary["dataset"]["name"] = "<b>bold</b>"
    assert "<b>bold" not in render_page(summary)


def test_errors_of_zero_can_be_drawn() -> None:
    summary = a_summary()
    for row in summary["methods"]:
        row.update(error_mean=0.0, error_sd=0.0)
    assert 'width="0.0"' in render_page(summary)


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
