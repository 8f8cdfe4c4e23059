"""The benchmark of forests: adapters train what they are asked for, runs go on, and the page says what is stored."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TABLE = "made-300x6-3"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The modules of the benchmark, by name; they import each other as scripts of one folder do."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    names = (
        "forests",
        "forest_cell",
        "forest_libraries",
        "forest_models",
        "forest_page",
        "forest_scaling",
        "forest_tables",
    )
    try:
        yield SimpleNamespace(
            **{name: importlib.import_module(name) for name in names}, cells=importlib.import_module("cells")
        )
    finally:
        sys.path.remove(str(BENCHMARKS))
        for path in BENCHMARKS.glob("*.py"):
            if path.stem not in before:
                sys.modules.pop(path.stem, None)


def cell(**changes: Any) -> dict[str, Any]:
    """A stored measurement."""
    usual = {
        "task": "forest", "table": "letter", "library": "tremula", "members": 10, "jobs": 1, "turn": 0, "series": "",
        "size": 0, "seconds": 1.0, "wall": 1.0, "memory": 20.0, "error": 4.0, "leaves": 1000, "trained": 10,
        "predict_seconds": 0.1, "row_seconds": 1e-4, "n_test": 5000, "kind": "classification", "is_nominal": False,
        "versions": {"tremula": "0.1.0"}, "commit": "abc", "load": 0.5, "processor": "a processor",
    }  # fmt: skip
    return usual | changes


def failed(**changes: Any) -> dict[str, Any]:
    names = ("task", "table", "library", "members", "jobs", "turn", "series", "size", "commit", "load", "processor")
    usual = cell()
    return {name: usual[name] for name in names} | changes


# --- tables ---


def test_a_generated_table_has_the_size_of_its_name(bench: Any) -> None:
    table = bench.forest_tables.load_table(TABLE)
    assert (table.X.shape, table.X_test.shape, table.n_classes, table.kind) == ((300, 6), (250, 6), 3, "classification")
    numbers = bench.forest_tables.load_table("made-300x6")
    assert (numbers.kind, numbers.X.shape) == ("regression", (300, 6))
    assert bench.forest_tables.title(TABLE) == "300 x 6, 3 classes"


def test_errors_are_percentages(bench: Any) -> None:
    table = bench.forest_tables.load_table(TABLE)
    assert table.error(table.y_test) == 0
    assert table.error((table.y_test + 1) % 3) == 100
    numbers = bench.forest_tables.load_table("made-300x6")
    assert numbers.error(np.full(250, numbers.y_test.mean())) == pytest.approx(100)


def test_nominal_attributes_take_the_form_of_a_library(bench: Any) -> None:
    tables = bench.forest_tables
    frame = pd.DataFrame({"number": [1.0, np.nan, 3.0], "level": pd.Categorical(["b", None, "a"])})
    table = tables.Table("t", "classification", frame, np.array([0, 1, 0]), frame[:1], np.array([0]))
    numbers = tables.in_form(table, "numbers")[0]
    np.testing.assert_array_equal(numbers, [[1, 1], [np.nan, np.nan], [3, 0]])
    complete = tables.in_form(table, "complete")[0]
    np.testing.assert_array_equal(complete, [[1, 1], [0, -1], [3, 0]])
    columns = tables.in_form(table, "columns")[0]
    assert columns["level"].tolist() == ["b", "", "a"]
    assert tables.in_form(table, "frame")[0] is frame


# --- libraries ---


@pytest.mark.parametrize("library", ["tremula", "sklearn"])
def test_every_task_is_trained(bench: Any, library: str) -> None:
    adapter = bench.forest_libraries.LIBRARIES[library]
    for name, kind in ((TABLE, "classification"), ("made-300x6", "regression")):
        table = bench.forest_tables.load_table(name)
        for task in bench.forest_libraries.TASKS:
            if adapter.does(task, kind):
                job = bench.forest_models.Job(task, kind, 3, 1, 300, 6)
                model = adapter.make(job).fit(table.X, table.y)
                assert table.error(model.predict(table.X_test)) < (60 if kind == "classification" else 90), task
                assert adapter.leaves(model) > 1


@pytest.mark.parametrize(
    "library", ["tremula-bins", "sklearnex", "sklearnex-all-bins", "ydf", "lightgbm", "xgboost", "treelite"]
)
@pytest.mark.parametrize("name", [TABLE, "made-300x6"])
def test_other_libraries_train_forests(bench: Any, library: str, name: str) -> None:
    adapter = bench.forest_libraries.LIBRARIES[library]
    pytest.importorskip(adapter.module)
    table = bench.forest_tables.load_table(name)
    X, X_test = bench.forest_tables.in_form(table, adapter.form)
    model = adapter.make(bench.forest_models.Job("forest", table.kind, 5, 1, 300, 6)).fit(X, table.y)
    assert table.error(model.predict(X_test)) < (50 if name == TABLE else 80)
    assert not adapter.is_trained or adapter.leaves(model) > 5 * 20


def test_scikit_learns_own_code_is_not_taken_for_onedal(bench: Any) -> None:
    models = bench.forest_models
    with pytest.raises(models.NotAccelerated, match="oneDAL was not used"):
        models.OneDal(RandomForestClassifier(2)).fit(np.eye(4), [0, 1, 0, 1])


def test_entropy_and_boosting_are_for_classes(bench: Any) -> None:
    sklearn = bench.forest_libraries.LIBRARIES["sklearn"]
    assert sklearn.does("boosting", "classification")
    assert not sklearn.does("boosting", "regression")
    assert not bench.forest_libraries.LIBRARIES["ydf"].does("tree", "classification")


# --- measuring ---


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux only")
def test_a_cell_is_measured(bench: Any) -> None:
    request = {"task": "forest", "table": TABLE, "library": "tremula", "members": 4, "jobs": 1, "predicts": True}
    measured = bench.forest_cell.measure_cell(request)
    assert 0 < measured["seconds"] <= measured["wall"] * 1.5
    assert measured["error"] < 50
    assert (measured["trained"], measured["n_test"], measured["kind"]) == (4, 250, "classification")
    assert measured["row_seconds"] > 0
    json.dumps(measured)


def test_what_fails_or_takes_too_long_is_reported(bench: Any) -> None:
    request = {"task": "forest", "table": TABLE, "library": "nothing", "members": 4, "jobs": 1, "predicts": True}
    assert bench.forests.run_cell(request, limit=600)["failure"] == "code 1: KeyError: 'nothing'"
    assert bench.forests.run_cell(request, limit=0.01) == {"over": 0.01}


@pytest.fixture
def runner(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A runner whose measurements are made up; `runner.order` lists them."""
    order: list[str] = []

    def measure(request: dict[str, Any], limit: float) -> dict[str, Any]:
        order.append(request["library"])
        wall = 100.0 if request["library"] == "ranger" else 1.0
        return (
            {"failure": "no"}
            if request["library"] == "ydf"
            else {"error": 1.0, "seconds": 1.0, "wall": wall, "memory": 1.0}
        )

    monkeypatch.setattr(bench.forests, "run_cell", measure)
    runner = bench.forests.Runner(bench.cells.Cells(tmp_path / "runs.json"), limit=1.0)
    runner.order = order
    return runner


def test_libraries_take_turns_and_what_fails_or_is_slow_does_not_return(bench: Any, runner: Any) -> None:
    cells = [bench.forests.Cell("forest", "letter", name, 10) for name in ("tremula", "ydf", "sklearn", "ranger")]
    runner.take_turns(cells, turns=3)
    assert runner.order == ["tremula", "ydf", "sklearn", "ranger", "tremula", "sklearn", "tremula", "sklearn"]


def test_stored_cells_are_not_measured_again(bench: Any, runner: Any) -> None:
    cells = [bench.forests.Cell("forest", "letter", "tremula", 10)]
    runner.take_turns(cells, turns=2)
    again = bench.forests.Runner(bench.cells.Cells(runner.cells.path), limit=1.0)
    again.take_turns(cells, turns=3)
    assert len(runner.order) == 3


def test_scaling_stops_where_a_library_fails(bench: Any, runner: Any) -> None:
    bench.forest_scaling.measure_scaling(runner, bench.forests.Cell, ["tremula", "ydf"], 10_000, turns=1)
    sizes = {series: list(places) for series, places in bench.forest_scaling.SERIES.items()}
    assert runner.order.count("ydf") == len(sizes)  # the first size of each series
    assert runner.order.count("tremula") == sum(map(len, sizes.values())) - sum(n > 10_000 for n in sizes["rows"])


def test_a_point_of_the_scaling_varies_one_size(bench: Any) -> None:
    point = bench.forest_scaling.point
    assert point("rows", 1000) == ("made-1000x20-2", 10)
    assert point("classes", 300) == ("made-10000x20-300", 10)
    assert point("members", 100) == ("made-10000x20-2", 100)


def test_a_process_that_asks_for_too_much_memory_fails_alone(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.forests, "MEMORY_SHARE", 1e-4)
    request = {"task": "forest", "table": TABLE, "library": "tremula", "members": 4, "jobs": 1, "predicts": True}
    assert "failure" in bench.forests.run_cell(request, limit=600)


# --- the page ---


def test_the_best_turn_counts(bench: Any) -> None:
    turns = [cell(seconds=2.0, memory=30.0), cell(turn=1, seconds=1.5, memory=31.0), failed(turn=2, failure="no")]
    (best,) = bench.forest_page.best_turns(turns)
    assert (best["seconds"], best["memory"], best["turns"]) == (1.5, 30.0, 2)


def test_ratios_and_goals_are_those_of_the_cells(bench: Any) -> None:
    cells = [cell(), cell(library="sklearn", seconds=5.04, memory=10.0), cell(library="sklearnex", seconds=1.9)]
    text = bench.forest_page.page_text([*cells, failed(library="ranger", over=60.0)])
    assert "| letter | 5.0 | 1.9 |" in text
    assert "| goal | 5: met | 2: missed |" in text
    assert "on 1 of 1 tables: letter (20 and 10 MB)" in text
    assert "| letter | ranger | 10 | over 60 s |" in text
    assert "| letter | tremula | 10 | 1 | 1.0 | 4.00 | 20 | 100 | 20.00 | 1.0 | 100 |" in text


def test_boosting_is_compared_per_member(bench: Any) -> None:
    cells = [cell(task="boosting", trained=5), cell(task="boosting", library="sklearn", seconds=8.0)]
    assert bench.forest_page.ratio(cells[1], cells, "seconds") == 4.0


def test_two_threads_are_compared_by_wall_time(bench: Any) -> None:
    text = bench.forest_page.page_text([cell(wall=1.0), cell(jobs=2, wall=0.5)])
    assert "| Random forests | letter | tremula | 2.00 |" in text


def test_the_page_of_the_best_turns_is_that_of_all_turns(bench: Any) -> None:
    cells = [
        cell(),
        cell(turn=1, seconds=0.123456789),
        cell(library="sklearn"),
        failed(library="ydf", failure="code 1: no"),
    ]
    best = json.loads(json.dumps(bench.forest_page.best_turns(cells)))
    assert bench.forest_page.page_text(best) == bench.forest_page.page_text(cells)
    assert "ydf on letter: code 1: no" in bench.forest_page.page_text(cells)


def test_the_scaling_is_written_and_drawn(bench: Any, tmp_path: Path) -> None:
    cells = [cell(series="rows", size=size, table=f"made-{size}x20-2", seconds=size / 1e4) for size in (1000, 10_000)]
    cells.append(failed(series="rows", size=10_000, library="ranger", over=30.0))
    bench.forest_scaling.write_scaling(cells, tmp_path)
    lines = (tmp_path / "scaling.csv").read_text().splitlines()
    assert lines[1] == "rows,1000,made-1000x20-2,10,tremula,0.1,20,4,"
    assert lines[3].endswith("ranger,,,,over 30.0")
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


STORED = Path(__file__).parents[1] / "docs" / "results" / "forests" / "cells.json"


@pytest.mark.skipif(not STORED.exists(), reason="no run of the benchmark of forests is stored")
def test_the_page_is_that_of_the_stored_cells(bench: Any) -> None:
    page = bench.forest_page
    assert page.PAGE.read_text(encoding="utf-8") == page.page_text(json.loads(STORED.read_text(encoding="utf-8")))
