"""Files of a reproduction: pages, CSV and PNG, each with where it comes from."""

from pathlib import Path

import pytest

from tremula.diagnostics import WeightTraceDisplay
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.kept_cells import KeptCell, KeptCells
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Part, ShownFigure, ShownTable
from tremula.report.reproduction_files import Origin, part_to_markdown, table_to_csv, table_to_markdown, write_part

ORIGIN = Origin("A. Author, A paper. 2000.", "tremula reproduce paper", "2026-01-02", "tremula 1", "2 core-hours")
ROWS = [["a_b", "1.5*", "worse"], ["c", None, "within"]]
TABLE = ShownTable("errors", "Errors", ["domain", "ours", "verdict"], ROWS, ["A note."])
FIGURE = ShownFigure("weights", "Weights", lambda: WeightTraceDisplay([1, 2], [1, 0.5]).plot().figure_)


def part() -> Part:
    def never(*_: object) -> None:
        raise AssertionError

    return Part("table1", "A title", never, never)


def test_markdown_escapes_what_would_be_marks() -> None:
    assert table_to_markdown(TABLE).splitlines() == [
        "**Errors**",
        "",
        "| domain | ours | verdict |",
        "|---|---|---|",
        r"| a\_b | 1.5\* | worse |",
        "| c |  | within |",
        "",
        "- A note.",
    ]


def test_csv_opens_with_caption_notes_and_origin() -> None:
    assert table_to_csv(TABLE, ORIGIN).splitlines() == [
        "# Errors",
        "# A note.",
        "# Command: tremula reproduce paper",
        "# Date: 2026-01-02",
        "# Versions: tremula 1",
        "# Paper: A. Author, A paper. 2000.",
        "domain,ours,verdict",
        "a_b,1.5*,worse",
        "c,,within",
    ]


def test_a_page_holds_tables_figures_and_origin() -> None:
    page = part_to_markdown(part(), [TABLE, FIGURE], ORIGIN)
    assert page.startswith("# A title\n\n**Errors**")
    assert "![Weights](weights.png)" in page
    assert (
        "- Command: `tremula reproduce paper`\n- Date: 2026-01-02\n- Versions: tremula 1\n- Cost: 2 core-hours\n"
        in page
    )


def test_a_part_is_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "paper"
    written = write_part(folder, part(), [TABLE, FIGURE], ORIGIN)
    assert [path.name for path in written] == ["table1.md", "errors.csv", "weights.png"]
    assert sorted(path.name for path in folder.iterdir()) == ["errors.csv", "table1.md", "weights.png"]
    assert b"tremula reproduce paper" in (folder / "weights.png").read_bytes()


def test_the_origin_of_cells_has_their_versions_cost_and_what_is_missing() -> None:
    results = [Result(Cell("iris", "bagging", 0), Outcome({}, fit_seconds=3000, predict_seconds=600), tremula="0.9")]
    kept = KeptCells([KeptCell(result, "3.11", "2.0", "1.5", "2026-01-02") for result in results], n_wanted=3)
    origin = Origin.of_cells("A paper.", "a command", kept)
    assert origin.versions == "tremula 0.9, numpy 2.0, scikit-learn 1.5, Python 3.11"
    assert origin.date == "2026-01-02"
    assert origin.cost == "1.000 core-hours, by the clock"
    assert origin.partial == "2 of 3 cells are not measured"


def test_a_page_says_first_which_datasets_have_smaller_sizes() -> None:
    cells = [
        KeptCell(Result(Cell(name, "bagging", 0), Outcome({})), "3.11", "2.0", "1.5", "2026-01-02")
        for name in ("iris", "zoo, noisy", "wine")
    ]
    missing = [cell.result.cell for cell in cells[:2]]
    kept = KeptCells(cells[2:], 3, missing, stand_ins=cells[:2], sizes="10 members")
    partial = Origin.of_cells("A paper.", "a command", kept).partial
    assert partial.startswith("2 of 3 cells are not measured")
    assert partial.endswith(". In their place stand 2 cells with 10 members, of iris; zoo, noisy")
    none_kept = KeptCells([], 2, missing, stand_ins=cells[:2], sizes="10 members")
    assert Origin.of_cells("A paper.", "a command", none_kept).partial.endswith("10 members, of all datasets")
    assert not Origin.of_cells("A paper.", "a command", KeptCells(cells, 3)).partial


def test_a_folder_that_cannot_be_made_is_an_error_of_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_part(tmp_path / "file", part(), [TABLE], ORIGIN)
