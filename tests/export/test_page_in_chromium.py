"""The page of a model in a real browser: its answers are the model's own, and typing, reasons and pasted rows work."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm

from .tables import NAMES, answers_of, attacking_rows, mean_values, mixed_table, random_forest, trained

pytestmark = pytest.mark.chromium

PROGRAM = os.environ.get("TREMULA_CHROMIUM") or shutil.which("chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
ANSWERS = "rows => rows.map(row => tremula.answersOf(row.map(value => value === null ? NaN : value)))"
CLASSES = "rows => rows.map(row => tremula.classOf(row.map(value => value === null ? NaN : value)))"
EXACT = {"rtol": 1e-12, "atol": 1e-13}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    if PROGRAM is None:
        pytest.skip("Chromium is not installed, or name it in TREMULA_CHROMIUM")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open the page of a model; at the end nothing may have been complained of or asked for."""
    trouble: list[str] = []
    context = browser.new_context(viewport={"width": 1200, "height": 900})

    def opening(model: Any, title: str | None = None) -> Any:
        file = tmp_path / "model.html"
        file.write_text(tm.to_html(model, title=title), encoding="utf-8")
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or trouble.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield opening
    context.close()
    assert trouble == []


def as_lists(rows: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]


def compare(page: Any, model: Any, table: pd.DataFrame) -> None:
    rows = as_lists(model.encoder_.encode(table))
    np.testing.assert_allclose(page.evaluate(ANSWERS, rows), answers_of(model, table), **EXACT)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(model.classes_[page.evaluate(CLASSES, rows)], model.predict(table))


@pytest.mark.parametrize(("kind", "name"), [("class", "C4.5"), ("class", "forest"), ("number", "bagged M5")])
def test_answers_are_the_models_own(open_page: Callable[..., Any], kind: str, name: str) -> None:
    model = trained(kind, name, 0.1)
    compare(open_page(model), model, mixed_table(60, 1, 0.2)[0])


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_answers_of_all_models(open_page: Callable[..., Any], kind: str, name: str, missing: float) -> None:
    model = trained(kind, name, missing)
    compare(open_page(model), model, mixed_table(200, 1, 0.2)[0])


@pytest.mark.parametrize("combine", ["average", "vote"])
def test_answers_of_random_trees(open_page: Callable[..., Any], combine: str) -> None:
    random = np.random.default_rng(0)
    forest = random_forest(random, 40, combine=combine)
    rows = attacking_rows(random, forest, 200, 0.2)
    np.testing.assert_allclose(open_page(forest).evaluate(ANSWERS, as_lists(rows)), mean_values(forest, rows), **EXACT)


def test_a_typed_row_is_answered_and_explained(open_page: Callable[..., Any]) -> None:
    X = pd.DataFrame(
        {"size": [1.0, 2.0, 3.0, 4.0, None, None], "shape": ["flat", "round", "flat", "round", "flat", "flat"]}
    )
    model = tm.CARTClassifier().fit(X.astype({"shape": "category"}), ["low", "low", "high", "high", "other", "other"])
    page = open_page(model, "What is it?")
    assert page.title() == "What is it?"
    page.fill("input[type=number]", "1.5")
    assert page.inner_text("#verdict") == "low"
    assert "size" in page.inner_text("#steps")
    assert "2.5" in page.inner_text("#steps")
    page.fill("input[type=number]", "9")
    assert page.inner_text("#verdict") == "high"
    page.fill("input[type=number]", "")
    assert page.inner_text("#verdict") == "other"
    assert "is not known" in page.inner_text("#steps")
    page.wait_for_selector("html[data-drawn]")
    assert page.locator("#effects li").count() == len(model.encoder_.levels) - page.evaluate(
        "tremula.model.attributes.filter(attribute => !attribute.is_used).length"
    )


def test_effects_are_differences_of_answers(open_page: Callable[..., Any]) -> None:
    model = trained("number", "forest", 0.1)
    page = open_page(model)
    page.click("#example")
    page.wait_for_selector("html[data-drawn]")
    assert page.locator("#effects li").count() == 5
    assert page.locator("#effects svg.curve").count() == 5
    shown = float(page.inner_text("#verdict").replace("\u2212", "-"))
    row = page.evaluate("tremula.model.attributes.map(attribute => attribute.typical)")
    assert shown == pytest.approx(page.evaluate(ANSWERS, [row])[0][0], rel=1e-2)


def test_pasted_rows_are_predicted(open_page: Callable[..., Any], tmp_path: Path) -> None:
    model, table = trained("class", "C4.5", 0.1), mixed_table(30, 1, 0.1)[0]
    page = open_page(model)
    page.fill("#rows", table.to_csv(index=False))
    page.click("#predict")
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "predictions.csv")
    got = pd.read_csv(tmp_path / "predictions.csv")
    assert got["prediction"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(got.iloc[:, 1:], model.predict_proba(table), **EXACT)
    page.fill("#rows", "a,b c\n1,2")
    page.click("#predict")
    assert "The first line lacks color" in page.inner_text("#counted")
    page.fill("#rows", table.assign(a="much", town="nowhere").to_csv(index=False))
    page.click("#predict")
    assert "much is no number (a)" in page.inner_text("#counted")
    page.fill("#rows", table.assign(town="nowhere").to_csv(index=False))
    page.click("#predict")
    assert "nowhere of town" in page.inner_text("#counted")


def test_hostile_names_are_text(open_page: Callable[..., Any]) -> None:
    evil = "</script><img src=x onerror=alert(1)>\\ ' \" ]"
    table = pd.DataFrame({evil: [0.0, 1.0] * 4, "b": pd.Series([evil, "c"] * 4, dtype="str")})
    page = open_page(tm.CARTClassifier().fit(table, [evil, "x"] * 4), evil)
    assert page.title() == evil
    page.click("#example")
    page.wait_for_selector("html[data-drawn]")
    assert evil in page.inner_text("#fields")
    assert page.locator("img").count() == 0
