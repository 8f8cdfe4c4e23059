"""Names and labels that would control a terminal, run in a page, or be a formula in a spreadsheet."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tremula.cli.main import run
from tremula.cli.terminal import PrintableStream, printable
from tremula.display import harmless_cell

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
TITLE = "\x1b]0;owned\x07\x1b[2J\x9b31m"
FORMULA = "=HYPERLINK(1)"
TARGET = f"<img src=x onerror=alert(2)>{TITLE}"
FILE = "<img src=x onerror=alert(3)>\x1b[2J.csv"


@pytest.fixture
def hostile_table(tmp_path: Path) -> Path:
    columns = ["size", f"{SCRIPT}{TITLE}", "kind"]
    labels = [f"{FORMULA}{SCRIPT}", f"@{TITLE}b"]
    lines = [",".join([*columns, TARGET])]
    for row in range(40):
        lines.append(f"{row % 7},{row % 3}.5,{SCRIPT if row % 2 else TITLE},{labels[row % 7 > 3]}")
    path = tmp_path / FILE
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.handlers = 0, 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.handlers += sum(name.startswith("on") for name, _ in attributes)


def call(*words: str | Path) -> None:
    with pytest.raises(SystemExit) as stop:
        run([str(word) for word in words])
    assert stop.value.code in (0, None)


def test_names_of_a_table_reach_page_and_terminal_as_text(
    hostile_table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("compare", hostile_table, "--target", TARGET, "--methods", "c45,cart", "--cv", "2", "--out", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert (tags.scripts, tags.handlers) == (3, 0)
    assert all(f"alert({number})" in page for number in (1, 2, 3))
    captured = capsys.readouterr()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", captured.out + captured.err)


def test_predictions_are_no_formulas(hostile_table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "model.tremula", tmp_path / "out.csv"
    call("fit", hostile_table, "--target", TARGET, "--method", "c45", "--out", model)
    call("predict", model, hostile_table, "--out", out)
    captured = capsys.readouterr()
    assert "leading apostrophe" in captured.err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", captured.out + captured.err)
    cells = [line.split(",")[0] for line in out.read_text(encoding="utf-8").splitlines()[1:]]
    assert cells
    assert all(cell[0] in "'\"" for cell in cells)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_no_titles() -> None:
    terminal = Terminal()
    PrintableStream(terminal).write("\x1b[1mbold\x1b[0m\x1b]0;title\x07\x1b[6n")
    assert terminal.getvalue() == "\x1b[1mbold\x1b[0m\\x1b]0;title\\x07\\x1b[6n"
    assert printable("a\tb\nc") == "a\tb\nc"


@pytest.mark.parametrize("cell", ["=1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "-1+2"])
def test_formulas_get_an_apostrophe(cell: str) -> None:
    assert harmless_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1", "+3.5", "-1e-05", "-12 %", "-0.5*", "-inf", "a=b", "", 1.0, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert harmless_cell(cell) is cell
