"""Estimates of what the sizes of a paper cost: by like cells, times the ratio of the expected costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.cell_costs import HoursLeft
from tremula.lab.experiments.store import Store
from tremula.lab.papers.judged_numbers import PUBLISHED
from tremula.report.own_sizes import OwnSizes, estimate, own_sizes_table
from tremula.report.results_summary import experiments_of


def measure(cell: Cell) -> Outcome:
    return Outcome({"error": 0.0}, fit_seconds=3600.0 if cell.method == "forest" else 1800.0)


def experiment(members: int, n_splits: int, *datasets: str) -> Experiment:
    methods, splits = ("tree", "forest"), range(n_splits)
    cells = [Cell(name, method, split) for name in datasets for method in methods for split in splits]
    return Experiment("a/b", {"members": members}, cells, measure, lambda cell: members)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Two cells of the default budget, kept, with seconds by the clock."""
    default, store = experiment(10, 1, "iris"), Store(tmp_path / "store.duckdb")
    for cell in default.cells:
        store.keep(default, cell, measure(cell))
    store.write_cells(default, tmp_path / "b.parquet")
    return tmp_path / "b.parquet"


def test_more_members_take_as_many_times_as_long(kept: Path) -> None:
    sizes = estimate(experiment(10, 1, "iris"), experiment(40, 2, "iris"), kept)
    assert sizes == OwnSizes(4, 0, HoursLeft(2 * 4 * (0.5 + 1.0), 0))


def test_cells_with_the_same_settings_are_kept(kept: Path) -> None:
    sizes = estimate(experiment(10, 1, "iris"), experiment(10, 3, "iris"), kept)
    assert sizes == OwnSizes(6, 2, HoursLeft(2 * (0.5 + 1.0), 0))


def test_datasets_that_were_never_measured_are_counted_apart(kept: Path) -> None:
    sizes = estimate(experiment(10, 1, "iris"), experiment(10, 1, "iris", "zoo"), kept)
    assert sizes == OwnSizes(4, 2, HoursLeft(0.0, 2))
    assert own_sizes_table([("A", sizes)]).endswith("| A | 4 | 2 | 0.0, and 2 cells of datasets never measured |")


def test_cells_of_smaller_sizes_take_less_in_proportion(kept: Path) -> None:
    default = replace(experiment(40, 1, "iris"), stand_in=experiment(10, 1, "iris"))
    full = replace(experiment(80, 1, "iris"), stand_in=experiment(10, 1, "iris"))
    assert estimate(default, full, kept).left == HoursLeft(8 * (0.5 + 1.0), 0)


def test_without_cells_nothing_is_estimated(tmp_path: Path) -> None:
    assert estimate(experiment(10, 1, "iris"), experiment(40, 1, "iris"), tmp_path / "no").left == HoursLeft(0.0, 2)


def test_settings_that_differ_without_a_cost_are_refused(kept: Path) -> None:
    default, full = (replace(experiment(members, 1, "iris"), cost=None) for members in (10, 40))
    with pytest.raises(InvalidParameter, match="'a/b' has no cost"):
        estimate(default, full, kept)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_paper_has_the_same_experiments_with_its_own_sizes(name: str) -> None:
    assert [e.name for e in experiments_of(name)] == [e.name for e in experiments_of(name, "full")]
