"""The page in a real browser: nothing is complained of or asked for; sorting, switching, colours, a phone, paper."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tremula.report.datasets_page import render_datasets_page
from tremula.report.page import render_page, write_page

pytestmark = pytest.mark.chromium

PROGRAM = os.environ.get("TREMULA_CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = "[...document.querySelectorAll('#methods tbody th')].map(cell => cell.textContent)"
CHART = "[role=graphics-document][aria-label^='{words}']"
EFFECTS = ["effect_1", "effect_2", "effect_3"]  # of a number, of levels, of dates
OPEN = "[...document.querySelectorAll('details.part[open]')].map(part => part.parentElement.id)"
UNNAMED = """[...document.querySelectorAll('button, select, input')]
  .filter((one) => !one.labels?.length && !one.textContent.trim()).length"""
# Text of every element that shows some, with its colour and what is behind it; colours as red, green, blue.
SHOWN_TEXT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    if (ink === "none") continue;
    found.push([element.textContent.trim().slice(0, 40), rgb(ink), behind(element)]);
  }
  return found;
}"""  # noqa: E501


def contrast(ink: list[int], paper: list[int]) -> float:
    """As the Web Content Accessibility Guidelines have it: from 1, the same, to 21, black on white."""

    def light(colour: list[int]) -> float:
        shares = [one / 255 for one in colour[:3]]
        red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([light(ink), light(paper)])
    return (high + 0.05) / (low + 0.05)


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


def hostile(summary: Any) -> Any:
    """Give every name marks that would end a text, a script or an expression."""
    for method in summary["methods"]:
        method["label"] = f"{method['name']} </script><img src=x onerror=alert(1)> ' \" ] \\"
    for pair in summary["pairs"]:
        pair["sentence"] = "<b onclick=alert(1)>"
    name = "<script>alert(1)</script><img src=x onerror=alert(1)> ' \" ] \\ datum['x']"
    best, attributes = summary["best_method"], summary["analyses"]["attributes"]
    summary["answer"] = best["label"] = best["curves"][0]["class"] = best["calibration"]["class"] = name
    best["confusions"]["classes"][1] = best["cases"]["attributes"][0] = best["cases"]["cases"][0]["answer"] = name
    for entry in (*attributes["importances"], *attributes["effects"]):
        entry["attribute"] = name + entry["attribute"]
    attributes["effects"][1]["values"][0] = attributes["effects"][0]["curves"][0]["class"] = name
    summary["dataset"] |= {"name": "<script>alert(1)</script>", "class_counts": [{"label": "a.b['c']", "rows": 1}] * 2}
    return summary


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, summary_of: Callable[[str], Any]) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for task in ("classification", "regression", "best"):
        write_page(folder / f"{task}.html", render_page(summary_of(task)))
    write_page(folder / "datasets.html", render_datasets_page(summary_of("datasets")))
    write_page(folder / "hostile.html", render_page(hostile(summary_of("classification"))))
    return folder


@pytest.fixture
def open_page(browser: Any, pages: Path) -> Iterator[Callable[..., Any]]:
    """Open a page of a width and colours; at the end nothing may have been complained of or asked for."""
    trouble: list[str] = []
    contexts = []

    def note(kind: str, words: str) -> None:
        trouble.append(f"{kind}: {words}")

    def opening(
        task: str = "classification", width: int = 1400, colours: str = "light", bypass_csp: bool = False
    ) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=colours, bypass_csp=bypass_csp)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: note(message.type, message.text))
        page.on("pageerror", lambda error: note("error", str(error)))
        page.on("dialog", lambda dialog: note("dialog", dialog.message))
        page.on("request", lambda request: request.url.startswith("file:") or note("request", request.url))
        page.goto((pages / f"{task}.html").as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield opening
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.mark.parametrize("task", ["classification", "regression", "best"])
def test_every_chart_is_drawn(open_page: Callable[..., Any], task: str) -> None:
    page = open_page(task)
    places, drawn = page.locator(".chart").count(), page.locator("[role=graphics-document]:has(svg)").count()
    assert places == drawn > 6


@pytest.mark.parametrize("task", ["classification", "regression", "best", "datasets"])
@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_window(open_page: Callable[..., Any], width: int, task: str) -> None:
    page = open_page(task, width=width)
    page.evaluate("document.querySelectorAll('details.part').forEach(part => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.evaluate("[...document.querySelectorAll('.chart svg')].map(one => one.getBoundingClientRect().right)")
    assert max(charts) <= width


def test_names_cannot_do_anything(open_page: Callable[..., Any]) -> None:
    page = open_page("hostile")
    assert page.locator(".chart svg").count() == page.locator(".chart").count()
    assert page.locator("img, b").count() == 0


def test_sections_fold_and_links_open_them(open_page: Callable[..., Any]) -> None:
    page = open_page("best")
    assert page.evaluate(OPEN) == ["best", "ranking", "pairs"]
    page.get_by_role("navigation").get_by_role("link", name="Data").click()
    assert page.evaluate(OPEN) == ["best", "ranking", "pairs", "data"]
    assert page.locator("[data-chart=classes] svg").is_visible()
    page.locator("#best > details > summary").press("Enter")
    assert page.evaluate(OPEN) == ["ranking", "pairs", "data"]
    assert not page.locator("[data-chart=roc] svg").is_visible()


def test_a_folded_chart_is_drawn_again_if_the_window_changed_meanwhile(open_page: Callable[..., Any]) -> None:
    page = open_page("best")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_function("document.querySelector('[data-chart=roc] svg').getBoundingClientRect().right < 500")
    page.locator("#cost > details > summary").click()
    page.wait_for_function("document.querySelector('[data-chart=time] svg').getBoundingClientRect().width > 300")
    page.wait_for_function("document.querySelector('[data-chart=time] svg').clientHeight > 250")
    assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_the_best_model_has_its_figures_and_tables(open_page: Callable[..., Any]) -> None:
    page = open_page("classification")
    charts = page.locator("#best .chart").evaluate_all("places => places.map((place) => place.dataset.chart)")
    assert charts == ["roc", "precision_recall", "best_calibration", "importances", *EFFECTS]
    assert page.locator("table.confusions tbody tr").all_inner_texts() == ["no\t720\t20\t97 %", "yes\t17\t477\t97 %"]
    assert page.locator("table.cases tbody tr").count() == 1
    page = open_page("regression")
    charts = page.locator("#best .chart").evaluate_all("places => places.map((place) => place.dataset.chart)")
    assert charts == ["residuals", "groups", "importances", *EFFECTS]


def test_pointing_at_a_verdict_tells_the_pair(open_page: Callable[..., Any]) -> None:
    cell = open_page().locator("table.matrix td.better").first
    cell.hover()
    assert cell.get_attribute("title") == "random forest against one tree: better, difference -6.33, p 0.030"


def test_a_heading_sorts_and_says_so(open_page: Callable[..., Any]) -> None:
    page = open_page()
    fit = page.get_by_role("columnheader", name="fit, ms")
    fit.get_by_role("button").click()
    assert page.evaluate(NAMES) == ["one tree", "random forest", "bagging of 50 trees"]
    assert fit.get_attribute("aria-sort") == "ascending"
    fit.get_by_role("button").press("Enter")
    assert page.evaluate(NAMES) == ["bagging of 50 trees", "random forest", "one tree"]
    assert page.locator("[aria-sort]").count() == 1


def test_another_metric_changes_charts_verdicts_and_order(open_page: Callable[..., Any]) -> None:
    page = open_page()
    axis = page.locator("[data-chart=ranking] svg")
    assert "error, %" in axis.text_content()
    page.get_by_role("radio", name="area under ROC").check(force=True)
    page.wait_for_function("document.querySelector('[data-chart=ranking] svg').textContent.includes('area under ROC')")
    assert page.get_by_role("columnheader", name="area under ROC").get_attribute("aria-sort") == "descending"
    assert page.get_by_text("This metric was not tested in pairs.").is_visible()
    assert not page.locator(".of-metric").first.is_visible()


def test_what_may_be_best_is_a_table_of_the_pairs_tested(open_page: Callable[..., Any]) -> None:
    page = open_page("best")
    assert page.get_by_role("heading", name="Which methods may be the best?").is_visible()
    verdicts = page.locator("table.verdicts tbody tr").all_inner_texts()
    assert [line.split("\t")[:2] for line in verdicts] == [
        ["bagging of 50 trees", "· no difference shown"],
        ["one tree", "▼ worse"],
    ]
    assert page.locator("table.matrix").count() == 0
    assert page.locator("[data-chart=kohavi] select option").all_inner_texts() == ["random forest"]


def test_the_page_of_datasets_draws_ranks_and_sorts(open_page: Callable[..., Any]) -> None:
    page = open_page("datasets")
    assert page.locator("[data-chart=ranking] svg .mark-symbol path").count() == 3
    assert page.evaluate(NAMES) == ["east", "west"]
    page.get_by_role("columnheader", name="one tree").get_by_role("button").click()
    assert page.evaluate(NAMES) == ["west", "east"]


def test_hovering_tells_the_numbers(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.locator("#cost > details > summary").click()
    page.locator("[data-chart=time] svg .mark-symbol path").first.hover()
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert "fit time, ms" in tooltip.text_content()


def test_the_reader_chooses_what_differences_are_from(open_page: Callable[..., Any]) -> None:
    page = open_page()
    chart = page.locator("[data-chart=kohavi]")
    assert "random forest" not in chart.locator(".role-axis-label").first.text_content()
    chart.get_by_role("combobox").select_option("one tree")
    page.wait_for_function("document.querySelector('[data-chart=kohavi] svg').textContent.includes('random forest')")


def test_colours_can_be_turned(open_page: Callable[..., Any]) -> None:
    page = open_page(colours="dark")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.get_by_role("button", name="Dark colours").is_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_text_stands_out_from_what_is_behind(open_page: Callable[..., Any], colours: str) -> None:
    page = open_page(colours=colours)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    shown = page.evaluate(SHOWN_TEXT)
    assert len(shown) > 100
    assert [(words, round(contrast(ink, paper), 2)) for words, ink, paper in shown if contrast(ink, paper) < 4.5] == []


def test_the_access_tree_has_landmarks_headings_and_described_charts(open_page: Callable[..., Any]) -> None:
    page = open_page()
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", level=2).count() >= 5
    assert page.locator(CHART.format(words="3 methods from best to worst")).count() == 1
    assert page.evaluate(UNNAMED) == 0


@pytest.mark.parametrize(
    ("task", "width", "colours"),
    [
        ("classification", 1400, "light"),
        ("regression", 360, "dark"),
        ("best", 360, "light"),
        ("datasets", 360, "light"),
    ],
)
def test_axe_finds_no_barrier(open_page: Callable[..., Any], task: str, width: int, colours: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page = open_page(task, width, colours, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details.part').forEach(part => { part.open = true; })")
    found = axe.Axe().run(page).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []


def test_it_prints_in_light_colours_and_within_the_paper(open_page: Callable[..., Any]) -> None:
    page = open_page(colours="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_folded_sections_are_on_paper_and_folded_afterwards(open_page: Callable[..., Any], task: str) -> None:
    page = open_page(task)
    assert not page.locator("#command").is_visible()
    page.emulate_media(media="print")
    for shown in ("#command", "[data-chart=time] svg", "[data-chart=noise] svg"):
        assert page.locator(shown).is_visible()
    assert not page.locator("#figure-noise details table").is_visible()
    page.pdf(format="A4")
    page.emulate_media(media="screen")
    assert page.evaluate(OPEN) == ["best", "ranking", "pairs"]
