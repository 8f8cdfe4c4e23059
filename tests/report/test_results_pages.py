"""The results pages of the repository: each is what its cells, its tables and the rules make of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tremula.lab.experiments.kept_cells import KeptCells, read_cells
from tremula.lab.papers import load_paper
from tremula.lab.papers.count_verdict import count_power, judge_counts
from tremula.lab.papers.dietterich2000 import readings
from tremula.lab.papers.dietterich2000 import rules as dietterich
from tremula.lab.papers.dietterich2000.tables import claim_rows
from tremula.lab.papers.frank2006 import bias
from tremula.lab.papers.frank2006 import rules as frank
from tremula.lab.papers.judged_numbers import PUBLISHED
from tremula.lab.papers.paper import Paper, Part, ShownTable
from tremula.lab.papers.rules import Rule
from tremula.lab.papers.vanassche2006 import rules as vanassche
from tremula.lab.papers.vanassche2006.tables import OUTCOMES, counted_reading, judge_sizes
from tremula.report.reproduction_files import Origin, csv_to_table, part_to_markdown, table_to_csv, table_to_markdown
from tremula.report.results_summary import FIRST_MARK, LAST_MARK, cells_path, read_tables, updated_pages

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAPERS = [load_paper(name) for name in PUBLISHED]
PARTS = [pytest.param(paper, part, id=f"{paper.name}/{part.name}") for paper in PAPERS for part in paper.parts]
TABLES = {name: {table.name: table for table in read_tables(RESULTS / name)} for name in PUBLISHED}
MOST_BYTES = 200_000
# Numbers of the written parts of pages that are no results of ours: settings, and what the papers and slides state.
SETTINGS = {"dietterich2000": {"0.10", "0.25", "0.50", "20 %"}, "variance_reduction": {"1.5", "6.5", "20 points"}}
NOT_KEPT = "**Partial**: the cells behind this page were not kept"


def kept_cells(part: Part) -> KeptCells | None:
    """Return the kept cells of a part, None if there are none."""
    experiment = part.experiment("default")
    path = cells_path(RESULTS, experiment)
    kept = read_cells(path, experiment) if path.exists() else None
    return kept if kept and kept.shown else None


@pytest.mark.parametrize(("paper", "part"), PARTS)
def test_a_page_is_made_of_its_cells_or_says_that_they_are_missing(paper: Paper, part: Part) -> None:
    page = (RESULTS / paper.name / f"{part.name}.md").read_text(encoding="utf-8")
    kept = kept_cells(part)
    if kept is None or page.split("\n")[2].startswith(NOT_KEPT):
        assert page.split("\n")[2].startswith(NOT_KEPT)
        assert kept is None or kept.missing, "all cells are there: rebuild the page"
        return
    shown = part.show(kept.results, "default")
    command = page.rpartition("- Command: `")[2].partition("`")[0]
    assert command.startswith(f"tremula reproduce {paper.name}")
    origin = Origin.of_cells(paper.citation, command, kept)
    assert part_to_markdown(part, shown, origin) == page
    for table in shown:
        if isinstance(table, ShownTable):
            written = (RESULTS / paper.name / f"{table.name}.csv").read_text(encoding="utf-8")
            assert table_to_csv(table, origin) == written


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_table_stands_on_one_page(name: str) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (RESULTS / name).glob("*.md")]
    for table in TABLES[name].values():
        assert sum(table_to_markdown(table) in page for page in pages) == 1, table.name


def test_sentences_and_counts_are_those_of_tables_and_cells() -> None:
    for path, text in updated_pages(RESULTS).items():
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_measured_number_is_typed_by_hand(name: str) -> None:
    before, _, rest = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition(FIRST_MARK)
    written = before + rest.partition(LAST_MARK)[2]
    typed = re.findall(r"(?<!C)\d+\.\d+|\d+ %|\d+ points?", written)
    assert set(typed) <= SETTINGS.get(name, set()), "link to a table, or generate the sentence"


GUIDE = [*sorted((RESULTS.parent / "guide").glob("*.md")), RESULTS.parents[1] / "README.md"]


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.name)
def test_a_sentence_of_the_guide_that_cites_a_paper_has_no_measured_number(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\n", " ")
    cited = re.compile(rf"results/({'|'.join(PUBLISHED)})")
    sentences = [sentence for sentence in re.split(r"(?<=[.:;|]) ", text) if cited.search(sentence)]
    typed = [sentence for sentence in sentences if re.search(r"(?<!C)\d+\.\d+|\d+ %|\d+ points?", sentence)]
    assert not typed, "cite the page for the number: it changes with the cells"


def test_files_of_cells_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in RESULTS.glob("*/*.parquet")}
    assert sizes
    assert max(sizes.values()) < MOST_BYTES


# --- claims and verdicts of tables whose cells were not kept ---


def rows_of(table: ShownTable) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row)) for row in table.rows]


def frank_rows(table: ShownTable) -> list[dict[str, Any]]:
    """Read the outcomes and the mean noise of Table 1 or 2 as printed."""
    rows = []
    for dataset, _, *others, noise in table.rows:
        outcomes = [1 if "(worse)" in cell else -1 if "(better)" in cell else 0 for cell in others]
        rows.append({"dataset": dataset, "noise": float(noise.split(" ± ")[0]), **dict(zip(frank.OTHERS, outcomes))})
    return rows


def vanassche_rows(tables: dict[str, ShownTable]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read outcomes against bagging, and sizes, of the readings that count."""
    tests = [
        {"dataset": row["dataset"], "method": row["method"], "outcome": OUTCOMES[row["simulated bagging is"]]}
        for row in rows_of(tables["table1_against_bagging"])
        if counted_reading(row["dataset"])
    ]
    sizes = [
        {"dataset": row["dataset"], **{method: float(row[f"{method}, ours"]) for method in ("SB", "SB_stop", "Bag")}}
        for row in rows_of(tables["table1_size"])
        if counted_reading(row["dataset"])
    ]
    return tests, sizes


def claims_of(rules: Sequence[Rule], rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in rule.line(rows)] for rule in rules]


@pytest.mark.parametrize(
    ("number", "rules"), [("1", frank.CLASS_RULES), ("2", frank.NUMBER_RULES)], ids=["table1", "table2"]
)
def test_claims_of_frank_follow_from_the_tables(number: str, rules: Sequence[Rule]) -> None:
    tables = TABLES["frank2006"]
    assert claims_of(rules, frank_rows(tables[f"table{number}"])) == tables[f"claims{number}"].rows


def test_the_claims_on_bias_follow_from_the_table() -> None:
    tables = TABLES["frank2006"]
    claims = [
        line
        for kind in (bias.CROSS_VALIDATED, bias.SMEARING)
        if (rows := bias.share_rows(tables["bias"].rows, kind))
        for line in claims_of(frank.BIAS_RULES, rows)
    ]
    assert [line[1:] for line in claims] == [line[1:] for line in tables["bias_claims"].rows]


@pytest.mark.parametrize(
    ("name", "rules"), [("table2", dietterich.TABLE2_RULES), ("table3", dietterich.TABLE3_RULES)], ids=["2", "3"]
)
def test_conclusions_of_dietterich_follow_from_the_tables(name: str, rules: Sequence[Rule]) -> None:
    tables = TABLES["dietterich2000"]
    rows = claim_rows(tables[name].rows, tables[name].columns)
    assert claims_of(rules, rows) == tables[f"{name}_claims"].rows


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_verdicts_on_counts_follow_from_the_counts(name: str) -> None:
    for row in rows_of(TABLES["dietterich2000"][name]):
        ours, published = (tuple(map(int, row[column].split("-"))) for column in ("ours", "published"))
        assert judge_counts(ours, published).verdict == row["verdict"]
        assert f"{count_power(published):.2f}" == row["power"]


def test_verdicts_on_errors_follow_from_their_intervals() -> None:
    rows = rows_of(TABLES["dietterich2000"]["table1_judged"])
    for row in rows:
        low, high = map(float, row["within is"].split(" to "))
        others = [other for other in rows if other["domain"] == row["domain"] and other is not row]
        published = [float(other["published"].rstrip("*")) for other in others]
        n_outside = sum(not low <= number <= high for number in published)
        assert row["power"] == f"{n_outside} of {len(others)}"
        assert (row["verdict"] == "within") == (low <= float(row["ours"].rstrip("*")) <= high)


def test_the_readings_left_out_and_the_reading_adopted_follow_from_the_cells() -> None:
    (part,) = (part for part in load_paper("dietterich2000").parts if part.name == "readings")
    kept = kept_cells(part)
    assert kept is not None
    judged = readings.judge_readings(kept.results)
    assert tuple(name for name, cells in judged.items() if readings.is_candidate(cells)) == readings.CANDIDATES
    assert readings.adopted_reading(judged) == readings.OURS, "measure Tables 1 to 3 again with this reading"


def test_table_3_without_noise_has_the_errors_of_table_1() -> None:
    first, _, third, *_ = load_paper("dietterich2000").parts
    kept = [kept_cells(part) for part in (first, third)]
    if kept[1] is None:
        pytest.skip("the cells of Table 3 are not kept")
    errors, with_noise = ({r.cell: r.values for r in cells.results} for cells in kept if cells)
    shared = errors.keys() & with_noise.keys()
    assert shared
    assert all(errors[cell] == with_noise[cell] for cell in shared)


def test_conclusions_of_van_assche_follow_from_the_tables() -> None:
    tables = TABLES["vanassche2006"]
    tests, sizes = vanassche_rows(tables)
    claims = claims_of(vanassche.AGAINST_RULES, tests) + claims_of(vanassche.SIZE_RULES, sizes)
    assert claims == tables["table1_claims"].rows
    for row in rows_of(tables["table1_size"]):
        ours, theirs = (
            [float(row[f"{method}, {by}"]) for method in ("SB", "SB_stop", "Bag")] for by in ("ours", "published")
        )
        assert judge_sizes(ours, theirs) == [row["SB is"], row["SB_stop is"], row["Bag is"], row["power"]]


def test_a_table_is_read_as_it_was_written() -> None:
    for name, tables in TABLES.items():
        for table in tables.values():
            text = (RESULTS / name / f"{table.name}.csv").read_text(encoding="utf-8")
            assert table_to_csv(*csv_to_table(table.name, text)) == text
