"""Runs of experiments: the pending cells, each once, whatever fails on the way and however many workers."""

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.duckdb_file import StoreError, StoreFull
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store

CELLS = [Cell("iris", method, split) for method in ("bagging", "boosting") for split in range(3)]


def make_measure(log: Path, failing: str = "") -> Callable[[Cell], Outcome]:
    """Return a measure that writes a line for each cell; one within a function goes to workers as a whole."""

    def measure(cell: Cell) -> Outcome:
        with log.open("a") as file:
            file.write(f"{cell.method} {cell.split}\n")
        if cell.method == failing:
            raise ValueError("it does not converge")
        answers = np.random.default_rng(cell.split).normal(size=5)
        return Outcome({"error": float(answers @ answers)}, n_test=5, seed=cell.split, predictions=answers)

    return measure


def experiment_of(log: Path, failing: str = "", **settings: Any) -> Experiment:
    return Experiment("test", settings, CELLS, make_measure(log, failing), cost=lambda cell: cell.split)


def measured(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.txt"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.duckdb"


def test_every_cell_is_measured_once_the_longest_first(log: Path, path: Path) -> None:
    results = run_experiment(experiment_of(log), path)
    assert [result.cell for result in results] == CELLS
    assert [line.split()[1] for line in measured(log)] == ["2", "2", "1", "1", "0", "0"]


def test_a_second_run_measures_nothing(log: Path, path: Path) -> None:
    first = run_experiment(experiment_of(log), path)
    assert run_experiment(experiment_of(log), path) == first
    assert len(measured(log)) == 6


def test_only_pending_cells_are_measured(log: Path, path: Path) -> None:
    experiment = experiment_of(log)
    Store(path).keep(experiment, CELLS[0], Outcome({"error": -1.0}))
    results = run_experiment(experiment, path)
    assert len(measured(log)) == 5
    assert results[0].values["error"] == -1.0


def test_other_settings_are_measured_again(log: Path, path: Path) -> None:
    run_experiment(experiment_of(log, seed=0), path)
    run_experiment(experiment_of(log, seed=1), path)
    assert len(measured(log)) == 12


def test_without_a_store_nothing_stays(log: Path, tmp_path: Path) -> None:
    assert len(run_experiment(experiment_of(log))) == 6
    assert [each.name for each in tmp_path.iterdir()] == ["log.txt"]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_outcome_does_not_depend_on_workers(log: Path, path: Path, backend: str) -> None:
    alone = run_experiment(experiment_of(log))
    with joblib.parallel_config(backend=backend):
        together = run_experiment(experiment_of(log), path, n_jobs=2)
    assert [result.values for result in together] == [result.values for result in alone]
    assert set(Counter(measured(log)).values()) == {2}


def test_a_backend_that_gives_all_results_at_its_end(log: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.lab.experiments.run.get_active_backend", lambda prefer: (None, None))
    with joblib.parallel_config(backend="threading"):
        results = run_experiment(experiment_of(log), path, n_jobs=2)
    assert len(results) == len(measured(log)) == 6


def test_a_failing_cell_is_kept_with_its_error_and_the_rest_goes_on(log: Path, path: Path) -> None:
    results = run_experiment(experiment_of(log, failing="boosting"), path)
    assert [result.failure for result in results] == [None] * 3 + ["ValueError: it does not converge"] * 3
    assert Store(path).frame()["failure"].notna().sum() == 3


def test_failed_cells_are_measured_again_only_when_asked(log: Path, path: Path) -> None:
    run_experiment(experiment_of(log, failing="boosting"), path)
    assert sum(result.failure is not None for result in run_experiment(experiment_of(log), path)) == 3
    assert len(measured(log)) == 6
    assert all(result.failure is None for result in run_experiment(experiment_of(log), path, retry_failed=True))
    assert len(measured(log)) == 9


def test_predictions_are_kept_on_request(log: Path, path: Path) -> None:
    experiment = experiment_of(log)
    run_experiment(experiment, path)
    assert Store(path).predictions(experiment, CELLS[2]) is None
    run_experiment(experiment, path, keep_predictions=True)
    kept = Store(path).predictions(experiment, CELLS[2])
    assert kept is not None
    assert kept.tolist() == np.random.default_rng(2).normal(size=5).tolist()
    assert len(measured(log)) == 12
    run_experiment(experiment, path, keep_predictions=True)
    run_experiment(experiment, path)
    assert len(measured(log)) == 12


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (0.5, "measure returned float: return an Outcome"),
        (Outcome({"error": "much"}), "could not convert string"),  # type: ignore[dict-item]
        (Outcome({1: 0.5}), "use strings as names"),  # type: ignore[dict-item]
        (Outcome({}, seed=-1), "seed -1"),
        (Outcome({}, predictions=np.array([{}])), "cannot be stored: return numbers or strings"),
    ],
)
def test_an_outcome_that_cannot_be_kept_is_a_failure(path: Path, outcome: Any, message: str) -> None:
    experiment = Experiment("test", {}, CELLS[:1], measure=lambda cell: outcome)
    (result,) = run_experiment(experiment, path, keep_predictions=True)
    assert message in str(result.failure)


def test_numbers_of_numpy_are_kept_as_numbers(path: Path) -> None:
    outcome = Outcome({"error": np.float32(0.5)}, np.int32(7), np.float64(1), 2, np.int64(3), np.uint64(2**63))
    (result,) = run_experiment(Experiment("test", {}, CELLS[:1], measure=lambda cell: outcome), path)
    assert result.failure is None
    assert (result.values, result.n_test, result.size) == ({"error": 0.5}, 7, 3)


@pytest.mark.slow
def test_a_dying_worker_is_a_failure_and_the_rest_goes_on(log: Path, path: Path) -> None:
    measure = make_measure(log)

    def measure_or_die(cell: Cell) -> Outcome:
        if cell == CELLS[1]:
            os._exit(1)
        return measure(cell)

    results = run_experiment(Experiment("test", {}, CELLS, measure_or_die), path, n_jobs=2)
    assert [cell for cell, result in zip(CELLS, results) if result.failure] == [CELLS[1]]
    assert "the process that measured it died" in str(results[1].failure)


def test_an_interrupted_run_keeps_what_is_finished_and_gives_the_rest_back(log: Path, path: Path) -> None:
    measure = make_measure(log)

    def measure_until_interrupted(cell: Cell) -> Outcome:
        if cell == CELLS[4]:
            raise KeyboardInterrupt
        return measure(cell)

    with pytest.raises(KeyboardInterrupt):
        run_experiment(Experiment("test", {}, CELLS, measure_until_interrupted), path)
    run_experiment(Experiment("test", {}, CELLS, measure), path)
    assert sorted(measured(log)) == sorted(f"{cell.method} {cell.split}" for cell in CELLS)


def test_ctrl_c_that_duckdb_reports_is_no_failure_of_a_cell(log: Path, path: Path) -> None:
    def measure_until_interrupted(cell: Cell) -> Outcome:
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        run_experiment(Experiment("test", {}, CELLS, measure_until_interrupted), path)
    assert Store(path).results(Experiment("test", {}, CELLS, measure_until_interrupted)) == []


def test_linear_algebra_has_one_thread(path: Path) -> None:
    def measure(cell: Cell) -> Outcome:
        from threadpoolctl import threadpool_info

        return Outcome({"threads": max((library["num_threads"] for library in threadpool_info()), default=1)})

    for n_jobs in (1, 2):
        results = run_experiment(Experiment("test", {"n_jobs": n_jobs}, CELLS, measure), path, n_jobs=n_jobs)
        assert [result.values["threads"] for result in results] == [1.0] * 6


def test_results_are_kept_while_others_are_measured(path: Path) -> None:
    seen = []

    def measure(cell: Cell) -> Outcome:
        until = time.monotonic() + 10
        while cell == CELLS[-1] and len(seen) < 5 and time.monotonic() < until:
            seen[:] = Store(path).results(experiment)
        return Outcome({})

    experiment = Experiment("test", {}, CELLS, measure)
    run_experiment(experiment, path)
    assert len(seen) == 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_the_store_ends_the_run(
    log: Path, path: Path, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise StoreFull("no space is left")

    monkeypatch.setattr(Store, "keep_all", refuse)
    with joblib.parallel_config(backend="threading"), pytest.raises(StoreFull, match="no space is left"):
        run_experiment(experiment_of(log), path, n_jobs=n_jobs)


def test_an_error_while_cells_are_claimed_ends_the_run(log: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, calls = Store.claim, []

    def claim_twice(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 2:
            raise StoreError("the disk is gone")
        return claim(*arguments, **options)

    monkeypatch.setattr(Store, "claim", claim_twice)
    monkeypatch.setattr("tremula.lab.experiments.work_queue.QUICK_SECONDS", 0)
    with joblib.parallel_config(backend="threading"), pytest.raises(StoreError, match="the disk is gone"):
        run_experiment(experiment_of(log), path, n_jobs=2)
    assert len(Store(path).results(experiment_of(log))) == len(measured(log))


def test_cells_given_twice_count_once(log: Path) -> None:
    experiment = Experiment("test", {}, [CELLS[0], CELLS[0]], make_measure(log))
    assert len(run_experiment(experiment)) == 1
    assert len(measured(log)) == 1


def test_an_experiment_without_cells_has_no_results(path: Path) -> None:
    assert run_experiment(Experiment("test", {}, [], lambda cell: Outcome({})), path) == []


def test_settings_that_do_not_go_into_json_are_refused(path: Path) -> None:
    experiment = Experiment("test", {"seeds": {1, 2}}, CELLS, lambda cell: Outcome({}))
    with pytest.raises(InvalidParameter, match="settings of experiment 'test' are not JSON-serializable"):
        run_experiment(experiment, path)


def test_a_bar_on_a_terminal_tells_how_far_it_is(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # to rich that is a terminal
    run_experiment(experiment_of(log, failing="boosting"))
    assert "6/6 cells, 3 failed" in capsys.readouterr().err


def test_no_bar_where_standard_error_is_no_terminal(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_experiment(experiment_of(log))
    assert capsys.readouterr().err == ""
