"""Killed, interrupted and out of space: what was done stays, nothing is half-written, and the next run goes on."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tremula as tm
from tremula.cli.exit_codes import EXIT_FILE_ERROR
from tremula.cli.main import run
from tremula.errors import is_interrupt
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.store import Store

from .fault_jobs import COMMANDS, JOBS, check_store, old_or_new, stored_rows
from .faults import INTERRUPT, KILL, SERVER, Disturbance, start_server

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def models() -> tuple[tm.CARTRegressor, tm.CARTRegressor]:
    numbers = np.random.default_rng(0).normal(size=(2000, 2))
    return tm.CARTRegressor(max_depth=2).fit(numbers, numbers[:, 0]), tm.CARTRegressor().fit(numbers, numbers[:, 1])


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(words)
    return int(left.value.code or 0)


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond this size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def as_no_one() -> Iterator[None]:
    """Be someone whom permissions hold for: root may write anywhere."""
    before = os.getresuid()
    if before[0] == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(*before)


def test_without_space_a_save_leaves_the_good_file(
    models: tuple[tm.CARTRegressor, tm.CARTRegressor], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    tm.save(models[0], path)
    good = path.read_bytes()
    with largest_file(len(good) + 100), pytest.raises(OSError, match="File too large"):
        tm.save(models[1], path)
    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]


def test_without_space_a_command_says_so_and_leaves_the_good_file(
    models: tuple[tm.CARTRegressor, tm.CARTRegressor], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.tremula"
    tm.save(models[0], path)
    good = path.read_bytes()
    with largest_file(1000):
        assert exit_code("fit", "iris", "--method", "bagging", "--out", str(path)) == EXIT_FILE_ERROR
    assert capsys.readouterr().err.splitlines()[-1] == f"tremula: {str(path)!r}: File too large"
    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("n_bytes", [1000, pytest.param(300_000, marks=SLOW), pytest.param(900_000, marks=SLOW)])
def test_without_space_a_comparison_says_so_and_goes_on_when_there_is_some(
    n_bytes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("compare", "iris", "--methods", "c45", "--cv", "2", "--out", str(tmp_path))
    with largest_file(n_bytes):
        assert exit_code(*words) == EXIT_FILE_ERROR
    said = capsys.readouterr().err.splitlines()[-1]
    assert "no space left" in said or said.endswith("File too large")
    assert not [file.name for file in tmp_path.iterdir() if file.suffix not in (".duckdb", ".wal", ".tremula")]
    kept = stored_rows(tmp_path / "results.duckdb")
    assert exit_code(*words) == 0
    assert kept.items() <= stored_rows(tmp_path / "results.duckdb").items()
    assert (tmp_path / "report.html").exists()


def test_an_error_raised_from_itself_is_no_interrupt() -> None:
    error = OSError("no space left")
    error.__cause__ = error
    assert not is_interrupt(error)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="who writes cannot be changed")
@pytest.mark.parametrize("words", [("fit", "iris", "--out", "{}/m.tremula"), ("compare", "iris", "--out", "{}")])
def test_a_folder_that_may_not_be_written_to_is_said_before_the_work(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for parent in (tmp_path, *list(tmp_path.parents)[:3]):
        parent.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    monkeypatch.setattr("tremula.cli.comparison.cross_validate", None)
    monkeypatch.setattr("tremula.cli.training.fit_method", None)
    with as_no_one():
        assert exit_code(*(word.format(closed) for word in words)) == EXIT_FILE_ERROR
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(closed.iterdir()) == []


# --- the checks after a kill notice what they are for ---


def test_a_half_written_file_is_noticed(models: tuple[tm.CARTRegressor, tm.CARTRegressor], tmp_path: Path) -> None:
    names = ("model", "model.old")
    for name in names:
        tm.save(models[0], tmp_path / name)
    old_or_new(tmp_path, tmp_path / "none", "model")
    (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-1])
    with pytest.raises(AssertionError, match="neither the old file nor the new one"):
        old_or_new(tmp_path, tmp_path / "none", "model")


def test_a_lost_result_and_one_measured_again_are_noticed(tmp_path: Path) -> None:
    cells = [Cell("iris", "bagging", split) for split in range(2)]
    experiment = Experiment("test", {}, cells, lambda cell: Outcome({}))
    for name, kept in {"all": cells, "one": cells[:1], "again": cells}.items():
        for cell in kept:
            Store(tmp_path / name).keep(experiment, cell, Outcome({"error": 0.5}, fit_seconds=float(name == "again")))
    check_store(tmp_path / "all", tmp_path)
    check_store(tmp_path / "all", tmp_path)
    with pytest.raises(AssertionError, match="lost"):
        check_store(tmp_path / "one", tmp_path)
    with pytest.raises(AssertionError, match="measured again"):
        check_store(tmp_path / "again", tmp_path)


def test_a_save_that_was_reported_and_is_lost_is_noticed(tmp_path: Path) -> None:
    JOBS["save"].prepare(tmp_path, tmp_path)
    (tmp_path / "done").write_text("xx")  # the first two are done, and the model is that of the third
    JOBS["save"].check(tmp_path, tmp_path)
    (tmp_path / "done").write_text("x")
    with pytest.raises(AssertionError, match="reported is lost"):
        JOBS["save"].check(tmp_path, tmp_path)


# --- a few moments; `python -m tests.fuzz.faults` tries more ---


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_a_killed_job_goes_on(job: str) -> None:
    with Disturbance(job, KILL, seed=1) as disturbance:
        disturbance.disturb(4)
        assert disturbance.faults == []
        assert disturbance.counts["moments"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("job", COMMANDS)
def test_ctrl_c_is_one_line_and_a_code(job: str) -> None:
    with Disturbance(job, INTERRUPT, seed=1) as disturbance:
        disturbance.disturb(4)
        assert disturbance.faults == []
        assert disturbance.counts["moments"] == 4


@pytest.mark.slow
def test_two_comparisons_in_one_folder_share_the_work() -> None:
    from .fault_jobs import run_job

    with Disturbance("compare", KILL) as disturbance:
        disturbance._prepare(disturbance.folder)
        words = ("compare", "run", str(disturbance.folder), str(disturbance.expected))
        start_server()
        both = [SERVER.Process(target=run_job, args=words) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join(300)
        assert [process.exitcode for process in both] == [0, 0]
        assert disturbance._call("compare", disturbance.folder) is None
        assert len(Store(disturbance.folder / "results.duckdb").frame()) == 10
