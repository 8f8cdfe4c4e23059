"""Cells in a Parquet file are read as they were written, in the order of the experiment, without names of machines."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tremula import __version__
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.duckdb_file import import_duckdb
from tremula.lab.experiments.kept_cells import COLUMNS, KeptCellsError, read_cells
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store

CELLS = [Cell("zoo", "bagging", 1), Cell("iris", "tree", 0), Cell("iris", "bagging", 0)]


def measure(cell: Cell) -> Outcome:
    if cell.dataset == "zoo":
        raise ValueError("no zoo")
    return Outcome({"error": 0.25, "nothing": math.nan}, 50, 1.5, 0.5, 7, 3)


EXPERIMENT = Experiment("paper/table", {"seed": 0, "word": "naïve"}, CELLS, measure)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    run_experiment(EXPERIMENT, tmp_path / "store.duckdb")
    Store(tmp_path / "store.duckdb").write_cells(EXPERIMENT, tmp_path / "cells.parquet")
    return tmp_path / "cells.parquet"


def test_cells_are_read_as_they_were_stored(file: Path) -> None:
    kept = read_cells(file, EXPERIMENT)
    assert [result.cell for result in kept.results] == CELLS
    failed, tree, _ = kept.results
    assert failed.failure == "ValueError: no zoo"
    assert tree.values["error"] == 0.25
    assert math.isnan(tree.values["nothing"])
    assert (tree.n_test, tree.fit_seconds, tree.predict_seconds, tree.size, tree.outcome.seed) == (50, 1.5, 0.5, 7, 3)
    assert kept.versions.startswith(f"tremula {__version__}, numpy ")
    assert kept.core_hours >= 4 / 3600


def test_the_file_says_nothing_of_the_machine(file: Path) -> None:
    query = import_duckdb().connect().execute(f"DESCRIBE SELECT * FROM '{file}'")
    assert [row[0] for row in query.fetchall()] == list(COLUMNS)
    assert not {"host", "pid", "traceback"} & set(COLUMNS)


def test_a_store_takes_the_cells_that_it_has_not(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "other.duckdb")
    assert store.take_cells(EXPERIMENT, file) == 2  # the failure is measured again
    assert store.take_cells(EXPERIMENT, file) == 0
    assert store.pending(EXPERIMENT) == CELLS[:1]
    store.write_cells(EXPERIMENT, tmp_path / "again.parquet")
    first, again = (
        read_cells(path, replace(EXPERIMENT, cells=CELLS[1:])) for path in (file, tmp_path / "again.parquet")
    )
    assert [repr(cell) for cell in first.cells] == [repr(cell) for cell in again.cells]


def test_a_run_of_some_cells_leaves_the_others_in_the_file(file: Path, tmp_path: Path) -> None:
    part = replace(EXPERIMENT, cells=CELLS[2:])
    store = Store(tmp_path / "other.duckdb")
    run_experiment(part, store)
    store.write_cells(part, file)
    kept = read_cells(file, EXPERIMENT)
    assert [result.cell for result in kept.results] == CELLS
    assert not kept.missing
    other = replace(EXPERIMENT, settings={"seed": 1})
    run_experiment(replace(other, cells=CELLS[1:2]), store)
    store.write_cells(other, file)
    assert len(read_cells(file, EXPERIMENT).cells) == len(CELLS)
    assert read_cells(file, other).missing == [CELLS[0], CELLS[2]]


def test_cells_of_other_settings_are_not_taken(file: Path, tmp_path: Path) -> None:
    other = replace(EXPERIMENT, settings={"seed": 1})
    assert read_cells(file, other).cells == []
    assert Store(tmp_path / "other.duckdb").take_cells(other, file) == 0


def test_cells_of_another_version_are_not_taken(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.lab.experiments.store.__version__", "99.0")
    assert Store(tmp_path / "other.duckdb").take_cells(EXPERIMENT, file) == 0
    assert len(read_cells(file, EXPERIMENT).cells) == 3


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    path.write_text("no cells")
    with pytest.raises(KeptCellsError, match="holds no measured cells"):
        read_cells(path, EXPERIMENT)


def test_a_cell_that_times_nothing_has_the_seconds_of_the_whole(tmp_path: Path) -> None:
    def busy(cell: Cell) -> Outcome:
        sum(range(10**6))
        return Outcome({"error": 0.5})

    (result,) = run_experiment(replace(EXPERIMENT, cells=CELLS[:1], measure=busy))
    assert result.fit_seconds > 0
