"""Names survive any width of the terminal; a step at work and the bar of a comparison say what their times are."""

import re

import pytest
from rich.console import Console
from rich.table import Table

from tremula.cli.fitting_tables import print_fitting
from tremula.cli.main import run
from tremula.cli.working import reading_of, working
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.progress import show_progress


@pytest.mark.parametrize("width", [30, 45, 60, 80, 200])
def test_the_names_of_the_methods_are_shown_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        run(["compare", "iris", "--methods", "c45,reptree", "--cv", "2", "--no-store", "--no-report", "--no-model"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if line.startswith(" REPTree ")]
    assert re.search(r"\d+\.\d\d", row)
    is_narrow = any(line.startswith("Too narrow for:") for line in lines)
    assert is_narrow == ("predict" not in " ".join(lines[: lines.index(row)]))


def test_a_name_longer_than_the_width_is_folded(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("method", "error")
    table.add_row("a" * 50, "1.25")
    print_fitting(Console(width=30, force_terminal=False), table)
    printed = capsys.readouterr().out
    assert printed.count("a") == 50
    assert "1.25" in printed


def test_elapsed_and_left_stand_beside_their_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    cells = [Cell("iris", "bagging", split) for split in range(2)]
    experiment = Experiment("test", {}, cells, lambda _: pytest.fail("not to be measured"))
    with show_progress(experiment, cells, wanted=True) as bar:
        bar.advance(cells[0])
    printed = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert re.search(r"cells, *\d:\d\d:\d\d elapsed, *(-:--:--|\d:\d\d:\d\d)? *left", " ".join(printed.split()))


def test_a_step_is_silent_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with working(reading_of("postgresql://ann:secret@host/base")):
        pass
    assert capsys.readouterr() == ("", "")
    assert reading_of("postgresql://ann:secret@host/base") == "reading host/base"
    assert reading_of("-") == "reading standard input"
