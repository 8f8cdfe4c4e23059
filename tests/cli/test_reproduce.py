"""``tremula reproduce`` on a paper of three cells: what is printed, written, kept and refused."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_CELLS_FAILED, EXIT_FILE_ERROR
from tremula.cli.main import run
from tremula.diagnostics import WeightTraceDisplay
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Budget, Paper, Part, ShownFigure, ShownTable
from tremula.lab.papers.verdict import judge_on_test_set

CELLS = [Cell("coin", "guessing", 0), Cell("coin", "knowing", 0), Cell("dice", "guessing", 0)]
PUBLISHED = {"guessing": 0.5, "knowing": 0.4}


class Measure:
    """Counts how often it is asked, and fails on dice if it is told so."""

    def __init__(self) -> None:
        self.asked: list[Cell] = []
        self.fails = False

    def __call__(self, cell: Cell) -> Outcome:
        self.asked.append(cell)
        if self.fails and cell.dataset == "dice":
            raise ValueError("the dice are lost")
        return Outcome({"error": 0.5 if cell.method == "guessing" else 0.0}, n_test=100)


def show(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    measured = [result for result in results if result.failure is None]
    rows = [
        [one.dataset, one.method, judge_on_test_set(one.values["error"], 100, PUBLISHED[one.method], 100).verdict]
        for one in measured
    ]
    notes = [f"budget {budget}", *(result.failure for result in results if result.failure)]
    table = ShownTable("errors", "Errors", ["dataset", "method", "verdict"], rows, notes)
    return [table, ShownFigure("weights", "Weights", lambda: WeightTraceDisplay([1, 2], [1, 0.5]).plot().figure_)]


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Measure:
    """Let the command know the paper of three cells alone, and work in an empty folder."""
    measure = Measure()

    def experiment(budget: Budget) -> Experiment:
        return Experiment("tiny/table1", {"budget": budget}, CELLS, measure)

    paper = Paper("tiny", "A. Author, Tiny. 2000.", (Part("table1", "A table", experiment, show),))
    monkeypatch.setattr("tremula.lab.papers.PAPERS", {"tiny": "tiny"})
    monkeypatch.setattr("tremula.lab.papers.import_module", lambda name: type("Module", (), {"PAPER": paper}))
    monkeypatch.chdir(tmp_path)
    return measure


def reproduce(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(["reproduce", *words])
    return int(stop.value.code or 0)


def test_without_a_paper_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce() == 0
    listed = capsys.readouterr().out
    assert "dietterich2000: T. G. Dietterich" in listed
    assert "  table1: Errors on 33 domains" in listed


def test_it_prints_tables_and_misses_and_writes_files(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("tiny", "--quick") == 0
    printed = capsys.readouterr()
    assert "Verdicts: 2 within, 1 better" in printed.out
    assert "- budget quick" in printed.out
    assert sorted(path.name for path in Path("reproduced/tiny").iterdir()) == [
        "errors.csv",
        "table1.md",
        "table1.parquet",
        "weights.png",
    ]
    assert "`tremula reproduce tiny --quick`" in Path("reproduced/tiny/table1.md").read_text()


def test_a_second_run_measures_nothing_again(measure: Measure) -> None:
    assert reproduce("tiny") == 0
    assert reproduce("tiny") == 0
    assert measure.asked == CELLS


def test_a_run_starts_with_the_cells_beside_the_page(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("tiny", "--datasets", "coin") == 0
    Path("reproduce.duckdb").unlink()
    assert reproduce("tiny") == 0
    assert measure.asked == CELLS
    assert "2 cells were taken" in capsys.readouterr().err


def test_cells_of_another_budget_stay_in_the_file(measure: Measure) -> None:
    assert reproduce("tiny", "--quick") == 0
    assert reproduce("tiny") == 0
    Path("reproduce.duckdb").unlink()
    assert reproduce("tiny", "--quick") == 0
    assert measure.asked == CELLS * 2


def test_a_page_of_some_cells_says_first_what_is_missing(measure: Measure) -> None:
    measure.fails = True
    reproduce("tiny")
    assert Path("reproduced/tiny/table1.md").read_text().split("\n")[2] == "**Partial**: 1 of 3 cells are not measured."
    measure.fails = False
    reproduce("tiny", "--retry")
    page = Path("reproduced/tiny/table1.md").read_text()
    assert "Partial" not in page
    assert "- Cost: 0.000 core-hours, by processor time" in page


def test_a_file_without_cells_is_told(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    Path("reproduced/tiny").mkdir(parents=True)
    Path("reproduced/tiny/table1.parquet").write_text("something else")
    assert reproduce("tiny") == EXIT_BAD_INPUT
    assert "remove it to measure them again" in capsys.readouterr().err
    assert measure.asked == []


def test_a_failed_cell_is_counted_and_the_others_are_shown(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure.fails = True
    assert reproduce("tiny") == EXIT_CELLS_FAILED
    printed = capsys.readouterr()
    assert "the dice are lost" in printed.out
    assert "failed cells: 1" in printed.err
    assert "Traceback" not in printed.err


def test_a_failed_cell_can_be_tried_again(measure: Measure) -> None:
    measure.fails = True
    reproduce("tiny")
    measure.fails = False
    assert reproduce("tiny") == EXIT_CELLS_FAILED
    assert reproduce("tiny", "--retry") == 0
    assert measure.asked == [*CELLS, CELLS[-1]]


def test_stored_results_are_shown_without_measuring(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce("tiny", "--datasets", "coin")
    assert reproduce("tiny", "--stored") == 0
    assert "2 of 3 cells" in capsys.readouterr().err
    assert measure.asked == CELLS[:2]


def test_json_has_the_tables(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("tiny", "--json", "--full") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "tremula reproduce tiny --full"
    assert told["parts"][0]["tables"][0]["rows"][1] == ["coin", "knowing", "better"]
    assert told["parts"][0]["figures"] == ["weights"]


def test_only_some_datasets_and_methods(measure: Measure) -> None:
    assert reproduce("tiny", "--datasets", "coin", "--methods", "guessing") == 0
    assert measure.asked == CELLS[:1]
    assert "--datasets coin --methods guessing" in Path("reproduced/tiny/table1.md").read_text()


def test_only_the_first_splits(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [Cell("coin", "guessing", split) for split in range(3)]
    monkeypatch.setattr("tests.cli.test_reproduce.CELLS", cells)
    assert reproduce("tiny", "--splits", "2") == 0
    assert measure.asked == cells[:2]
    assert "`tremula reproduce tiny --splits 2`" in Path("reproduced/tiny/table1.md").read_text()
    assert reproduce("tiny") == 0
    assert measure.asked == cells


def test_without_matplotlib_the_tables_are_written(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert reproduce("tiny") == 0
    assert "drawing needs matplotlib" in capsys.readouterr().err
    assert sorted(path.name for path in Path("reproduced/tiny").iterdir()) == [
        "errors.csv",
        "table1.md",
        "table1.parquet",
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["tinny"], EXIT_BAD_INPUT, "did you mean 'tiny'?"),
        (["tiny", "--only", "tabel1"], EXIT_BAD_INPUT, "did you mean 'table1'?"),
        (["tiny", "--datasets", "coins"], EXIT_BAD_INPUT, "did you mean 'coin'?"),
        (["tiny", "--methods", "knowin"], EXIT_BAD_INPUT, "did you mean 'knowing'?"),
        (["tiny", "--quick", "--full"], 2, "exclude each other"),
        (["tiny", "--jobs", "0"], 2, "give 1 or more"),
        (["tiny", "--splits", "0"], 2, "leaves nothing to measure"),
        (["tiny", "--out", "file"], EXIT_FILE_ERROR, "is a file"),
        (["tiny", "--results", "file"], EXIT_BAD_INPUT, "file"),
        (["tiny", "--results", "no/such/folder.duckdb"], EXIT_FILE_ERROR, "folder"),
    ],
)
def test_a_mistake_gives_a_message_and_measures_nothing(
    words: list[str], code: int, message: str, measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("something else")
    assert reproduce(*words) == code
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors
    assert measure.asked == []
