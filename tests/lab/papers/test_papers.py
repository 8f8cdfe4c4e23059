"""The papers: published tables as they were printed, experiments that share cells, and tables of made-up results."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers import PAPERS, UnknownPaper, UnknownPart, find_parts, load_paper
from tremula.lab.papers.dietterich2000.choices import CHOICES, count_pruning_differences, count_wins, gather
from tremula.lab.papers.dietterich2000.domains import DOMAINS, NOISE_DOMAINS, load_table, split_of
from tremula.lab.papers.dietterich2000.figures import MeasureKappa, show_kappa, show_kohavi
from tremula.lab.papers.dietterich2000.protocol import (
    BAGGED,
    C45,
    METHODS,
    VARIANTS,
    MeasureError,
    members_of,
    table1_experiment,
    table3_experiment,
)
from tremula.lab.papers.dietterich2000.tables import show_table1, show_table2, show_table3, sizes_note
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.variance_reduction.bagging import BAGGED as BAGGED_AND_PRUNED
from tremula.lab.papers.variance_reduction.bagging import (
    BAGGED_NEIGHBOUR,
    BAGGED_TREES,
    MAKERS,
    NEIGHBOUR,
    SINGLE,
    TREE,
    MeasureDivision,
    divide,
)
from tremula.lab.papers.variance_reduction.bagging_tables import show_bagging, show_neighbours
from tremula.lab.papers.variance_reduction.fits import MeasureFits, fits_experiment, show_fits
from tremula.lab.papers.variance_reduction.share import MeasureShare, distinct_share, show_share

BUDGETS: tuple[Budget, ...] = ("quick", "default", "full")


def result_of(cell: Cell, error: str | None = None, **values: float) -> Result:
    return Result(cell, Outcome({} if error else values, 10, 0.1, 0.1, 5), error)


def made_results(domains: Sequence[str], n_folds: int = 10) -> list[Result]:
    """Ten rows a fold: C4.5 gets three or four wrong, ensembles one or two; pruned trees one more in the first fold."""
    return [
        result_of(
            Cell(domain, variant, fold),
            n_wrong=(3 if method == C45 else 1) + fold % 2 + (pruning == "pruned" and fold == 0),
            inner_error=0.1 if pruning == "pruned" else 0.2,
        )
        for domain in domains
        for variant, (method, pruning) in VARIANTS.items()
        for fold in range(n_folds)
    ]


# --- the papers ---


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_part_has_an_experiment_for_every_budget(name: str, budget: Budget) -> None:
    for part in load_paper(name).parts:
        experiment = part.experiment(budget)
        assert len(set(experiment.cells)) == len(experiment.cells) > 0
        assert len(experiment.fingerprint) == 16


@pytest.mark.parametrize("name", PAPERS)
def test_a_part_without_results_shows_empty_tables(name: str) -> None:
    for part in load_paper(name).parts:
        for table in part.show([], "quick"):
            if isinstance(table, ShownTable):
                assert all(len(row) == len(table.columns) for row in table.rows)


def test_an_unknown_paper_is_told_with_a_near_miss() -> None:
    with pytest.raises(UnknownPaper, match="did you mean 'dietterich2000'"):
        load_paper("dietrich2000")


def test_an_unknown_part_is_told_with_a_near_miss() -> None:
    with pytest.raises(UnknownPart, match="did you mean 'table1'"):
        find_parts(load_paper("dietterich2000"), ["tabel1"])


# --- published tables ---


@pytest.mark.parametrize(
    ("name", "n_rows"),
    [
        ("dietterich2000_table1", 40),
        ("dietterich2000_table2", 6),
        ("dietterich2000_table3", 24),
        ("dietterich2000_domains", 33),
        ("breiman1996_bagging", 7),
        ("ruozzi_bootstrap", 3),
    ],
)
def test_a_published_table_has_its_rows_and_citation(name: str, n_rows: int) -> None:
    table = read_published(name)
    assert len(table.rows) == n_rows
    assert "slides" in table.citation


@pytest.mark.parametrize(("name", "n_domains"), [("dietterich2000_table2", 33), ("dietterich2000_table3", 9)])
def test_published_counts_are_over_all_domains(name: str, n_domains: int) -> None:
    totals = {sum(int(row[key]) for key in ("wins", "losses", "ties")) for row in read_published(name).rows}
    assert totals == {n_domains}


def test_the_printed_decrease_of_bagging_is_that_of_the_errors() -> None:
    for row in read_published("breiman1996_bagging").rows:
        decrease = 100 * (1 - float(row["bagged"]) / float(row["single"]))
        assert decrease == pytest.approx(float(row["decrease"]), abs=1)


def test_domains_that_are_recalled_are_marked() -> None:
    assert [name for name, domain in DOMAINS.items() if domain.confirmed] == list(DOMAINS)[:10]
    assert DOMAINS["iris"].label == "iris †"


# --- Dietterich (2000) ---


@pytest.mark.parametrize("budget", BUDGETS)
def test_tables_one_and_three_measure_alike_and_keep_their_cells_apart(budget: Budget) -> None:
    first, third = table1_experiment(budget), table3_experiment(budget)
    assert (first.settings, first.measure) == (third.settings, third.measure)
    assert first.name != third.name


def test_table_three_without_noise_has_cells_of_table_one() -> None:
    first, third = table1_experiment("full"), table3_experiment("full")
    clean = {cell for cell in third.cells if cell.dataset in NOISE_DOMAINS}
    assert clean <= set(first.cells)
    assert len(third.cells) == 4 * len(clean)


def test_budgets_are_not_mixed() -> None:
    quick, default, full = map(table1_experiment, BUDGETS)
    assert default.fingerprint == full.fingerprint
    assert default.stand_in is not None
    assert len({each.fingerprint for each in (quick, default, default.stand_in)}) == 3


def test_the_default_budget_has_the_sizes_of_the_paper_and_fewer_members_stand_in() -> None:
    default = table1_experiment("default")
    assert default.sizes == "200 randomized, 200 bagged and at most 100 boosted trees"
    assert default.stand_in is not None
    assert default.stand_in.cells == default.cells
    assert default.stand_in.sizes == "50 randomized, 50 bagged and at most 40 boosted trees"


def test_a_note_names_the_domains_with_fewer_members() -> None:
    results = [replace(result, stands_in=result.dataset == "sonar") for result in made_results(["sonar", "glass"])]
    assert "stand in on sonar." in sizes_note("default", results)
    assert "stand in on all domains." in sizes_note("default", results[: len(results) // 2])
    assert "stand in" not in sizes_note("default", results[len(results) // 2 :])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_cell_counts_errors_and_judges_itself_within_its_training_rows(variant: str) -> None:
    outcome = MeasureError(members_of(3, 3, 3), seed=0)(Cell("iris", variant, 2))
    assert outcome.n_test == 15
    assert outcome.values["n_wrong"] == pytest.approx(15 * outcome.values["error"])
    assert 0 <= outcome.values["inner_error"] < 0.3


def test_a_cell_is_the_same_each_time() -> None:
    measure, cell = MeasureError(members_of(3, 3, 3), seed=0), Cell("iris", f"{BAGGED}, unpruned", 0)
    one, other = measure(cell), measure(cell)
    assert one.values == other.values


def test_noise_is_in_the_labels_before_folds_are_made() -> None:
    clean, noisy = load_table("iris", seed=0), load_table("iris, 20 % noise", seed=0)
    assert int(noisy.corrupted.sum()) == 30
    assert ((clean.y != noisy.y) == noisy.corrupted).all()
    train, test = split_of("iris, 20 % noise", noisy.y, 0, seed=0)
    assert len(train) == 135
    assert len(test) == 15


def test_the_choice_on_test_rows_takes_fewer_errors_and_that_on_training_rows_the_inner_ones() -> None:
    measured, _ = gather(made_results(["sonar"]))
    on_test, on_training = (measured["sonar"].chosen(C45, choice) for choice in CHOICES)
    assert (on_test.n_pruned, on_test.n_wrong.sum()) == (0, 35)
    assert (on_training.n_pruned, on_training.n_wrong.sum()) == (10, 36)
    assert (on_test.mark, on_training.mark) == ("", "*")


def test_wins_losses_and_ties() -> None:
    measured, _ = gather(made_results(["sonar", "satimage", "glass"]))
    counts = count_wins(measured.values(), "test")
    assert counts[BAGGED, C45] == (3, 0, 0)
    assert counts[C45, BAGGED] == (0, 3, 0)
    assert counts[BAGGED, METHODS[1]] == (0, 0, 3)


def test_one_fold_in_ten_is_no_difference_of_pruning() -> None:
    measured, _ = gather(made_results(["sonar"]))
    assert set(count_pruning_differences(measured.values()).values()) == {0}


def test_a_failed_cell_takes_its_fold_away_and_is_told() -> None:
    results = made_results(["sonar"])
    broken = Cell(results[3].dataset, results[3].method, results[3].split)
    results[3] = result_of(broken, error="no memory")
    measured, notes = gather(results)
    assert len(measured["sonar"].chosen(C45, "test").n_wrong) == 9
    assert notes == ["sonar, C4.5, pruned failed: no memory"]


def test_some_methods_alone_leave_the_others_empty() -> None:
    results = [result for result in made_results(["sonar"]) if result.method.startswith(C45)]
    _, table, *_ = show_table1(results, "quick")
    assert table.rows == [["sonar", 100, "35.00 ± 9.35", None, None, None]]


def test_table_one_judges_the_published_rows_and_no_others() -> None:
    judged, errors, honest, pruning = show_table1(made_results(["sonar", "iris"]), "full")
    assert [row[0] for row in judged.rows] == ["sonar"] * 4
    assert [row[-2] for row in judged.rows] == ["within", "within", "better", "within"]
    assert [row[-1] for row in judged.rows] == ["2 of 3", "1 of 3", "1 of 3", "2 of 3"]
    assert [row[0] for row in errors.rows] == [row[0] for row in honest.rows] == ["sonar", "iris †"]
    assert [row[1:] for row in pruning.rows] == [[0, 2, 10, 33], [0, 2, 10, 33], [0, 2, 4, 33], [0, 2, 0, 33]]


def test_table_two_over_all_domains_is_judged() -> None:
    table, claims = show_table2(made_results(list(DOMAINS)), "full")
    row = {(row[0], row[1]): row for row in table.rows}[BAGGED, C45]
    assert row[2:-1] == ["33-0-0", "33-0-0", "11-0-22", "better"]
    assert [row[3] for row in claims.rows] == ["holds", "does not hold"]


def test_table_three_is_by_rate_of_noise() -> None:
    names = [*NOISE_DOMAINS, *(f"{name}, 20 % noise" for name in NOISE_DOMAINS)]
    table, claims, errors = show_table3(made_results(names), "full")
    assert [row[3] for row in claims.rows] == ["does not hold", "not measured"]
    assert any("accept 58 % of all possible outcomes" in note for note in table.notes)
    assert [row[0] for row in table.rows] == ["0 %"] * 6 + ["20 %"] * 6
    assert len(errors.rows) == 18
    assert table.caption == "Wins-losses-ties over 9 domains"


def test_a_domain_with_missing_folds_is_not_counted() -> None:
    some = [*made_results(NOISE_DOMAINS[:3]), *made_results(["vehicle"], 4)]
    table, *_ = show_table3(some, "full")
    assert table.caption == "Wins-losses-ties over 3 domains"
    assert {row[5] for row in table.rows} & {"within", "better", "worse"} == set()
    assert "Not all folds are measured of, and not counted: vehicle." in table.notes
    table, _ = show_table2(some, "full")
    assert table.caption == "Wins-losses-ties over 3 domains"


def test_kohavi_plots_show_every_pair() -> None:
    figures = show_kohavi(made_results(["sonar", "iris"]), "full")
    assert len(figures) == 6
    assert [label.get_text() for label in figures[0].draw().axes[0].get_yticklabels()] == ["sonar", "iris †"]


def test_kappa_diagrams_are_of_the_pairs_that_were_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.lab.papers.dietterich2000.figures.SICK_TRAINING_ROWS", 75)
    cell = Cell("iris", BAGGED, 0)
    outcome = MeasureKappa(members_of(4, 4, 4), seed=0)(cell)
    assert sum(name.startswith("kappa ") for name in outcome.values) == 6
    table, _, figure = show_kappa([Result(cell, outcome)], "quick")
    assert isinstance(table, ShownTable)
    assert table.rows[0][2] == 4
    assert figure.name == "kappa_bagged"


# --- variance reduction ---


@pytest.mark.parametrize("method", MAKERS)
def test_a_division_of_waveform_is_learned_from_by_every_method(method: str) -> None:
    outcome = MeasureDivision(members=2, seed=0)(Cell("waveform", method, 0))
    assert outcome.n_test == 1500
    assert 0.1 < outcome.values["error"] < 0.5


def test_all_methods_of_a_division_have_the_same_rows() -> None:
    one, other = divide("waveform", 3, seed=0), divide("waveform", 3, seed=0)
    assert np.array_equal(one.X, other.X)
    assert not np.array_equal(one.X, divide("waveform", 4, seed=0).X)


def made_divisions(dataset: str, errors: dict[str, float]) -> list[Result]:
    return [
        Result(Cell(dataset, method, split), Outcome({"error": error + 0.001 * (split % 3)}, 10))
        for method, error in errors.items()
        for split in range(10)
    ]


def test_the_bagging_table_judges_both_columns_and_leaves_heart_out() -> None:
    results = made_divisions("glass", {SINGLE: 0.303, BAGGED_AND_PRUNED: 0.30})
    (table,) = show_bagging(results, "full")
    rows = {row[0]: row for row in table.rows}
    assert rows["glass"][-3:] == ["within", "worse", "1 of 1; 1 of 1"]
    assert rows["heart"][4:] == ["4.9 → 2.8 (43 %)", "not comparable", "not comparable", None]


def test_bagging_helps_or_hurts_by_the_paired_interval() -> None:
    results = made_divisions("glass", {TREE: 0.3, BAGGED_TREES: 0.25, NEIGHBOUR: 0.2, BAGGED_NEIGHBOUR: 0.21})
    table, claims = show_neighbours(results, "full")
    assert [row[-1] for row in table.rows] == ["helps", "hurts"]
    assert [row[3] for row in claims.rows] == ["holds", "holds"]


def test_fits_are_taken_apart_into_terms_that_sum_to_the_error() -> None:
    experiment = replace(fits_experiment("quick"), measure=MeasureFits(n_test=50, seed=0))
    results = [Result(cell, experiment.measure(cell)) for cell in experiment.cells if "tree" not in cell.method]
    for result in results:
        terms = [result.values[name] for name in ("bias", "variance", "noise")]
        assert sum(terms) == pytest.approx(result.values["error"])
    table = show_fits(results, "quick")[0]
    assert isinstance(table, ShownTable)
    assert [row[0] for row in table.rows] == [result.method for result in results]


def test_the_share_of_distinct_rows_nears_that_of_the_formula() -> None:
    outcome = MeasureShare(samples=50, seed=0)(Cell("100 rows", "bootstrap", 0))
    assert outcome.values["share"] == pytest.approx(distinct_share(100), abs=4 * outcome.values["standard_error"])
    assert distinct_share(10**6) == pytest.approx(1 - 1 / math.e, abs=1e-6)


def test_a_share_far_from_the_formula_is_told() -> None:
    result = Result(Cell("10 rows", "bootstrap", 0), Outcome({"share": 0.7, "standard_error": 0.001}))
    table, printed = show_share([result], "quick")
    assert table.rows[0][-2] == "outside"
    assert [row[-1] for row in printed.rows] == [7, 7, 5]
