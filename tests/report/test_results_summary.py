"""Generated sections of the results pages: counts of verdicts, sentences, and the marks between which they stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.cell_costs import HoursLeft
from tremula.lab.experiments.kept_cells import KeptCell, KeptCells
from tremula.lab.experiments.result import Result
from tremula.lab.papers.judged_numbers import PUBLISHED, Count, JudgedNumbers, count_verdicts
from tremula.report.results_summary import (
    FIRST_MARK,
    LAST_MARK,
    NoMarkedSection,
    PaperSummary,
    index_section,
    paper_section,
    replace_section,
    update_pages,
)

NUMBERS = JudgedNumbers(
    "errors",
    ("table",),
    ("verdict", "with noise"),
    10,
    2,
    "one set is lost",
    lambda row: row["dataset"] != "twice",
    (0,),
)
ROWS = [
    {"dataset": "glass", "verdict": "within", "with noise": "better", "power": "2 of 4; 0 of 4"},
    {"dataset": "iris", "verdict": "worse", "with noise": "not comparable", "power": "4 of 4; -"},
    {"dataset": "twice", "verdict": "within", "with noise": "within", "power": "4 of 4; 4 of 4"},
]


def kept(n_cells: int, n_wanted: int) -> KeptCells:
    result = Result(Cell("iris", "tree", 0), Outcome({}, fit_seconds=1800))
    missing = [Cell("iris", "tree", split) for split in range(n_cells, n_wanted)]
    return KeptCells([KeptCell(result, "3", "2", "1", "2026-01-02")] * n_cells, n_wanted, missing)


def summary(n_cells: int) -> PaperSummary:
    claims = [
        ["noise helps", "on all", "on 3", "holds", "it hurt", "0.90"],
        ["noise is small", "0.1", "0.1", "holds", "it were large", "0.10"],
        ["bagging wins", "on all", "on 1", "does not hold", "it lost", "0.80"],
        ["boosting wins", "on all", "", "not measured", "it lost", ""],
    ]
    return PaperSummary("geurts2001", claims, [count_verdicts(NUMBERS, {"table": ROWS})], {"a/b": kept(n_cells, 4)})


def test_verdicts_are_counted_in_the_rows_that_count() -> None:
    count = count_verdicts(NUMBERS, {"table": ROWS})
    assert (count.within, count.outside, count.measured) == (1, 2, 3)
    assert count.power == 0.75
    assert count.misses == {"better": ["glass"], "worse": ["iris"]}


def test_a_number_outside_is_named_by_its_row_table_and_column() -> None:
    numbers = replace(NUMBERS, words={"table": "one tree", "with noise": "with noise"})
    rows = [{**row, "method": "SB", "against": "Bag"} for row in ROWS]
    misses = count_verdicts(numbers, {"table": rows}).misses
    assert misses == {
        "better": ["glass, SB, against Bag, one tree, with noise"],
        "worse": ["iris, SB, against Bag, one tree"],
    }


def test_a_table_that_is_missing_counts_nothing() -> None:
    assert count_verdicts(NUMBERS, {}) == Count(NUMBERS, 0, 0, None)


def test_a_section_names_what_holds_what_does_not_and_what_tells_little() -> None:
    section = paper_section(summary(4))
    assert section.startswith("All 4 cells behind these pages are kept beside them.")
    assert "cost 2.00 core-hours" in section
    assert "Of 3 claims that were measured 2 hold." in section
    assert "These do not:\n\n- bagging wins: on 1; published: on all [0.80]" in section
    assert "tell little: noise is small (0.1)." in section
    assert "| errors | 10 | 3 | 1 | 2 | 2 | 0.75 |" in section
    assert "Of the errors 5 were not measured" in section
    assert "Outside:\n\n- errors, better: glass\n- errors, worse: iris\n\nNot obtainable: errors: one set" in section


def test_a_section_says_first_which_cells_are_missing_and_what_they_will_take() -> None:
    section = paper_section(summary(1))
    assert section.startswith("**Partial**: 1 of 4 cells of the default budget are kept; in place of others, 0 cells")
    assert "will take about 1.50 core-hours," in section
    assert "\n- b: 1 of 4 cells; left: 1.50 core-hours\n" in section


def test_cells_of_a_dataset_that_was_never_measured_have_no_estimate() -> None:
    missing = [Cell("iris", "tree", 1), Cell("iris", "forest", 0), Cell("zoo", "tree", 0)]
    cells = KeptCells(kept(1, 1).cells, 4, missing)
    assert cells.hours_left == HoursLeft(1.0, 1)
    assert str(cells.hours_left) == "1.00 core-hours, and 1 cells of datasets with no measured cell"


def test_open_questions_are_listed_and_are_no_claims_of_the_paper() -> None:
    answers = [["noise matters", "open", "by 3 points", "does not hold", "it did not", "0.70"]]
    made = replace(summary(4), answers=answers)
    section = paper_section(made)
    assert "Of 3 claims that were measured 2 hold." in section
    assert section.endswith("as its claims are:\n\n- noise matters: does not hold; by 3 points [0.70]")
    assert "| 2 of 3 |" in index_section([made])


def test_the_index_has_a_row_for_each_paper() -> None:
    full, partial = index_section([summary(4), summary(1)]).split("\n")[2:4]
    assert full.endswith("(geurts2001.md) | 10 | 3 | 1 | 2 | 2 | 2 of 3 | 4 of 4 | 0 | 2.00 | 0.00 |")
    assert partial.endswith("| 1 of 4 | 0 | 0.50 | 1.50 |")


def test_a_section_stands_between_its_marks() -> None:
    page = replace_section(f"# A\n\n{FIRST_MARK}\nold\n{LAST_MARK}\n\nEnd.\n", "new")
    assert page == f"# A\n\n{FIRST_MARK}\n\nnew\n\n{LAST_MARK}\n\nEnd.\n"
    assert replace_section(page, "new") == page
    with pytest.raises(NoMarkedSection, match="add them"):
        replace_section("# A page", "new")


def test_a_folder_without_a_marked_index_is_left_as_it_is(tmp_path: Path) -> None:
    assert update_pages(tmp_path) == []
    (tmp_path / "index.md").write_text("# Mine")
    assert update_pages(tmp_path) == []


def test_no_more_numbers_are_judged_than_were_published() -> None:
    assert all(0 <= numbers.n_absent <= numbers.n_published for group in PUBLISHED.values() for numbers in group)
    assert all(bool(numbers.reason) == bool(numbers.n_absent) for group in PUBLISHED.values() for numbers in group)
