"""Geurts (2001) again: divisions, the parts of the error, and tables of ours beside theirs."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.geurts2001.curves import (
    AMOUNTS,
    MeasureAmount,
    MeasureBoundary,
    boundary_experiment,
    curves_experiment,
    decompose,
    show_boundary,
    show_curves,
)
from tremula.lab.papers.geurts2001.problems import PROBLEMS, PROXY, divide
from tremula.lab.papers.geurts2001.protocol import (
    BAGGED,
    TREE,
    MeasureAttributeNoise,
    MeasureDivision,
    MeasureDraw,
    attribute_noise_experiment,
    draws_experiment,
    table2_experiment,
)
from tremula.lab.papers.geurts2001.tables import show_attribute_noise, show_draws, show_table2
from tremula.lab.papers.paper import ShownTable
from tremula.lab.papers.published import read_published


def result(cell: Cell, values: dict[str, float]) -> Result:
    return Result(cell, Outcome(values, 100))


def test_the_paper_has_six_of_its_nine_sets_and_a_proxy_of_another_name() -> None:
    published = {row["dataset"] for row in read_published("geurts2001_table2").rows}
    ours = {problem.published for problem in PROBLEMS.values()}
    assert published - ours == {"omib", "vst", "dig44"}
    assert PROBLEMS[PROXY].published is None


def test_divisions_share_their_test_rows_and_use_no_row_twice() -> None:
    first, second = divide("two-norm", 0), divide("two-norm", 1)
    assert np.array_equal(first.test, second.test)
    assert len(np.unique(np.concatenate([first.growing, first.pruning, first.test]))) == 4000
    assert not np.array_equal(np.sort(first.growing), np.sort(second.growing))


@pytest.mark.data
@pytest.mark.parametrize(("name", "first"), [("pendigits", 7494), ("satellite", 4435)])
def test_the_official_test_set_is_the_test_file(name: str, first: int) -> None:
    division = divide(f"{name}, official test set", 3)
    assert division.test.min() == first
    assert max(division.growing.max(), division.pruning.max()) < first


def test_parts_of_the_error_sum_to_it() -> None:
    random = np.random.default_rng(0)
    labels, truth = random.integers(0, 3, (20, 50)), random.integers(0, 3, 50)
    parts = decompose(labels, random.dirichlet(np.ones(3), (20, 50)), truth)
    assert parts["bias"] + parts["variance"] == pytest.approx(parts["error"])


def test_noise_halves_the_error_of_a_tree_on_two_norm() -> None:
    outcome = MeasureDivision(25)(Cell("two-norm", TREE, 0))
    assert outcome.values["path_error"] < 0.6 * outcome.values["error"]
    assert outcome.values["exact_error"] < 0.6 * outcome.values["error"]


def test_bagged_trees_are_also_softened_by_the_noise_of_one_tree() -> None:
    outcome = MeasureDivision(3)(Cell("two-norm", BAGGED, 0))
    assert {"error", "path_error", "exact_error", "shortcut_error", "shortcut_noise"} <= set(outcome.values)


def test_levels_by_attribute_are_compared_with_a_common_one() -> None:
    outcome = MeasureAttributeNoise(3)(Cell(PROXY, TREE, 0))
    assert set(outcome.values) == {"error_common", "error_each", "log_loss_common", "log_loss_each"}


def test_little_noise_lowers_bias_and_variance_on_the_diagonal() -> None:
    hard, soft = (MeasureAmount(5)(Cell("diagonal square", "path", AMOUNTS.index(level))) for level in (0.0, 0.2))
    assert all(soft.values[name] < hard.values[name] for name in ("error", "bias", "variance", "share_variance"))


def test_ours_stands_beside_theirs() -> None:
    cells = [cell for cell in table2_experiment("quick").cells if cell.dataset == "waveform"]
    values = {TREE: (0.25, 0.18), BAGGED: (0.17, 0.15)}
    results = [
        result(
            cell,
            {
                "error": values[cell.method][0] + 0.02 * cell.split,
                "path_error": values[cell.method][1] + 0.01 * cell.split,
                "exact_error": values[cell.method][1],
                "path_noise": 0.8,
                "shortcut_error": 0.16 + 0.001 * cell.split,
                "shortcut_noise": 0.7,
            },
        )
        for cell in cells
    ]
    table, _, claims, shortcut = show_table2(results, "quick")
    assert table.rows[0][0] == "waveform"
    assert "24.61 → 17.54" in table.rows[0]
    assert table.rows[0][-5:-1] == ["within", "within", "within", "within"]
    said = {row[0]: row[2:4] for row in claims.rows}
    assert said["one tree with noise beats 25 bagged trees"] == ["none", "does not hold"]
    assert len(shortcut.rows) == 1


def test_a_cell_that_failed_is_told_in_the_notes() -> None:
    failed = Result(Cell("waveform", TREE, 0), failure="ValueError: no")
    assert "waveform, tree failed: ValueError: no" in show_table2([failed], "quick")[0].notes


def test_levels_are_shown_with_their_change() -> None:
    cells = attribute_noise_experiment("quick").cells
    names = ("error_common", "error_each", "log_loss_common", "log_loss_each")
    results = [result(cell, dict.fromkeys(names, 0.2 + 0.01 * cell.split)) for cell in cells]
    (table,) = show_attribute_noise(results, "quick")
    assert {row[2] for row in table.rows} == {"error", "log_loss"}


def test_figures_are_drawn_from_results() -> None:
    cells = curves_experiment("quick").cells
    names = ("error", "bias", "variance", "share_bias", "share_variance")
    results = [result(cell, dict.fromkeys(names, 0.1 + abs(AMOUNTS[cell.split] - 0.3))) for cell in cells]
    shown = show_curves(results, "quick")
    figures = [each for each in shown if not isinstance(each, ShownTable)]
    assert [figure.name for figure in figures] == ["figure3", "figure4"]
    assert all(len(figure.draw().axes) == 1 for figure in figures)
    for claims in shown[-2:]:
        assert isinstance(claims, ShownTable)
        assert [row[3] for row in claims.rows] == ["holds", "holds", "does not hold"]


def test_the_boundary_is_drawn_for_three_levels() -> None:
    results = [result(cell, dict(MeasureBoundary()(cell).values)) for cell in boundary_experiment("quick").cells]
    figure, table = show_boundary(results, "quick")
    assert not isinstance(figure, ShownTable)
    assert len(figure.draw().axes) == 3
    assert isinstance(table, ShownTable)
    errors = [float(row[1]) for row in table.rows]
    assert errors[1] < errors[0]  # at the paper's level


def test_another_draw_has_other_test_rows() -> None:
    first, other = divide("two-norm", 0), divide("two-norm", 0, 1)
    assert not np.array_equal(first.rows("test")[0], other.rows("test")[0])


def test_the_published_number_is_judged_as_one_more_draw() -> None:
    cells = [cell for cell in draws_experiment("quick").cells if cell.dataset == "waveform"]
    results = [result(cell, {"error": 0.2 + 0.1 * cell.split, "path_error": 0.1 + 0.1 * cell.split}) for cell in cells]
    (table,) = show_draws(results, "quick")
    assert [row[1] for row in table.rows] == [TREE, BAGGED]
    assert table.rows[0][-4] == "within"


def test_a_draw_is_measured_with_and_without_noise() -> None:
    assert set(MeasureDraw(2)(Cell("two-norm", BAGGED, 1)).values) == {"error", "path_error", "noise"}
