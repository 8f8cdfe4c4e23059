"""Cells in a Parquet file are read as they were written, in the order of the experiment, without names of machines."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tremula import __version__
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.cell_costs import Cost, cost_of
from tremula.lab.experiments.duckdb_file import import_duckdb
from tremula.lab.experiments.kept_cells import COLUMNS, KeptCellsError, read_cells
from tremula.lab.experiments.result import Result
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
    assert tree.outcome.processor_seconds is not None
    assert tree.seconds == tree.outcome.processor_seconds
    assert "processor_seconds" not in tree.values


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


# --- processor time ---


def measured(dataset: str, processor_seconds: float | None) -> Result:
    return Result(Cell(dataset, "tree", 0), Outcome({}, 10, 1800.0, 1800.0, processor_seconds=processor_seconds))


def test_hours_are_by_processor_time_and_by_the_clock_where_it_is_not_known() -> None:
    cells = [measured("iris", 360.0), measured("zoo", None)]
    assert cost_of(cells[:1]) == Cost(0.1, 1, 0)
    assert cost_of(cells[:1]).clock == "by processor time"
    assert cost_of(cells[1:]) == Cost(1.0, 1, 1)
    assert cost_of(cells[1:]).clock == "by the clock"
    assert cost_of(cells).hours == pytest.approx(1.1)
    assert cost_of(cells).clock == "1 of 2 cells by the clock, the others by processor time"


def test_waiting_takes_no_processor_time() -> None:
    def wait(cell: Cell) -> Outcome:
        time.sleep(0.3)
        return Outcome({"error": 0.5}, fit_seconds=0.3)

    (result,) = run_experiment(replace(EXPERIMENT, cells=CELLS[:1], measure=wait))
    assert result.fit_seconds == 0.3
    assert 0 <= result.seconds < 0.2


def test_a_measurement_may_not_use_the_name_of_the_processor_time() -> None:
    experiment = replace(EXPERIMENT, cells=CELLS[:1], measure=lambda cell: Outcome({"processor_seconds": 1.0}))
    (result,) = run_experiment(experiment)
    assert result.failure is not None
    assert "use another name" in result.failure


# --- cells with smaller sizes ---

SMALLER = Experiment("paper/sizes", {"members": 10}, (), measure, lambda cell: 10.0, "10 members")
LARGER = replace(SMALLER, settings={"members": 40}, cost=lambda cell: 40.0, sizes="40 members")
IRIS = [Cell("iris", "tree", split) for split in range(3)]
WINE = [Cell("wine", "tree", split) for split in range(3)]


def sizes_file(folder: Path, n_iris: int, n_wine: int) -> tuple[Path, Experiment]:
    """Keep all cells of the smaller sizes, and some of the larger."""
    store = Store(folder / "sizes.duckdb")
    smaller = replace(SMALLER, cells=[*IRIS, *WINE])
    larger = replace(LARGER, cells=[*IRIS, *WINE], stand_in=smaller)
    for experiment in (smaller, replace(larger, cells=[*IRIS[:n_iris], *WINE[:n_wine]])):
        run_experiment(experiment, store)
    store.write_cells(larger, folder / "sizes.parquet")
    return folder / "sizes.parquet", larger


def test_smaller_sizes_stand_in_for_a_dataset_of_which_more_of_them_are_kept(tmp_path: Path) -> None:
    kept = read_cells(*sizes_file(tmp_path, n_iris=1, n_wine=3))
    assert [(result.dataset, result.stands_in) for result in kept.results] == 3 * [("iris", True)] + 3 * [
        ("wine", False)
    ]
    assert (len(kept.cells), kept.missing, kept.stood_in_for, kept.sizes) == (4, IRIS[1:], ["iris"], "10 members")


def test_nothing_stands_in_for_complete_cells(tmp_path: Path) -> None:
    kept = read_cells(*sizes_file(tmp_path, n_iris=3, n_wine=3))
    assert not kept.stand_ins
    assert kept.shown == kept.cells


def test_the_time_of_missing_cells_follows_from_smaller_sizes(tmp_path: Path) -> None:
    path, larger = sizes_file(tmp_path, n_iris=0, n_wine=3)
    kept = read_cells(path, larger)
    assert kept.smaller is not None
    seconds = kept.smaller.mean_seconds["iris", "tree"]
    assert kept.hours_left.hours == pytest.approx(3 * 4 * seconds / 3600)
    assert kept.hours_left.n_unknown == 0


def test_a_store_takes_no_cells_of_smaller_sizes(tmp_path: Path) -> None:
    path, larger = sizes_file(tmp_path, n_iris=1, n_wine=0)
    store = Store(tmp_path / "other.duckdb")
    assert store.take_cells(larger, path) == 1
    assert store.pending(larger) == [*IRIS[1:], *WINE]
