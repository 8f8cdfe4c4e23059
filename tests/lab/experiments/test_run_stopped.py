"""Runners that are killed, and runners that share a store: nothing that was kept is measured again, nothing is lost."""

import multiprocessing
import os
import random
import runpy
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.store import Store

N_CELLS = 24
SCRIPT = """
import os, time
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.run import run_experiment

def make_measure(folder, seconds):
    def write(line):
        with os.fdopen(os.open(folder / "log.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a") as file:
            file.write(line)

    def lines(word):
        return [line for line in (folder / "log.txt").read_text().splitlines() if line.startswith(word)]

    def measure(cell):
        write(f"began {cell.split}\\nrunner {os.getpid()}\\n")
        until = time.monotonic() + 60
        while TOGETHER and len(set(lines("runner"))) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(seconds)
        write(f"ended {cell.split}\\n")
        return Outcome({"error": cell.split})

    return measure

cells = [Cell("iris", "bagging", split) for split in range(24)]
experiment = Experiment("stopped", {}, cells, make_measure(FOLDER, SECONDS))
try:
    assert len(run_experiment(experiment, FOLDER / "results.duckdb", n_jobs=N_JOBS)) == 24
except KeyboardInterrupt:
    os._exit(130)
"""
EXPERIMENT = Experiment(
    "stopped", {}, [Cell("iris", "bagging", split) for split in range(N_CELLS)], lambda cell: Outcome({})
)
# Processes that start from one that has imported tremula: to start Python for each takes longer than the tests.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tremula.lab.experiments.run", "duckdb"])


@contextmanager
def running(folder: Path, n_jobs: int, seconds: float, together: bool = False) -> Iterator[BaseProcess]:
    """Run the experiment; together, no cell ends before two runners have begun one."""
    (folder / "script.py").write_text(SCRIPT)
    given = {"FOLDER": folder, "N_JOBS": n_jobs, "SECONDS": seconds, "TOGETHER": together}
    process = SERVER.Process(target=runpy.run_path, args=(str(folder / "script.py"), given))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def kill(process: BaseProcess) -> None:
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def finish(process: BaseProcess) -> int | None:
    process.join(100)
    return process.exitcode


def lines(folder: Path, word: str) -> list[int]:
    log = folder / "log.txt"
    written = log.read_text().splitlines() if log.exists() else []
    return [int(line.split()[1]) for line in written if line.startswith(word)]


def kept(folder: Path) -> list[int]:
    return [result.split for result in Store(folder / "results.duckdb").results(EXPERIMENT)]


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not happen within a minute"
        time.sleep(0.005)


def test_a_killed_runner_is_resumed_and_what_was_kept_is_not_measured_again(tmp_path: Path) -> None:
    with running(tmp_path, 1, 0.1) as process:
        wait_until(lambda: len(kept(tmp_path)) >= 4)
        kill(process)
    before = kept(tmp_path)
    assert 4 <= len(before) < N_CELLS
    with running(tmp_path, 1, 0) as process:
        assert finish(process) == 0
    assert kept(tmp_path) == list(range(N_CELLS))
    began = Counter(lines(tmp_path, "began"))
    assert [began[split] for split in before] == [1] * len(before)
    assert max(began.values()) <= 2


def test_a_runner_killed_at_any_moment_leaves_a_store_that_can_be_used(tmp_path: Path) -> None:
    chance = random.Random(0)
    for _ in range(10):
        n_before = len(lines(tmp_path, "began"))
        with running(tmp_path, 1, 0.01) as process:
            wait_until(lambda: len(lines(tmp_path, "began")) > n_before or process.exitcode == 0)  # noqa: B023
            time.sleep(chance.uniform(0, 0.05))
            kill(process)
        assert set(kept(tmp_path)) <= set(lines(tmp_path, "ended"))
    with running(tmp_path, 1, 0) as process:
        assert finish(process) == 0
    assert kept(tmp_path) == list(range(N_CELLS))


def test_two_runners_share_the_work(tmp_path: Path) -> None:
    with running(tmp_path, 1, 0.01, together=True) as first, running(tmp_path, 1, 0.01, together=True) as second:
        assert finish(first) == finish(second) == 0
    assert sorted(lines(tmp_path, "began")) == list(range(N_CELLS))
    frame = Store(tmp_path / "results.duckdb").frame()
    assert frame["split"].tolist() == list(range(N_CELLS))
    assert frame["pid"].nunique() == 2


def test_a_second_runner_takes_over_when_the_first_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, 1, 60.0) as first:
        wait_until(lambda: len(lines(tmp_path, "began")) == 1)
        with running(tmp_path, 1, 0.0) as second:
            wait_until(lambda: len(kept(tmp_path)) == N_CELLS - 1)
            kill(first)
            assert finish(second) == 0
    assert kept(tmp_path) == list(range(N_CELLS))


def test_ctrl_c_keeps_what_is_finished_and_gives_the_rest_back(tmp_path: Path) -> None:
    with running(tmp_path, 1, 0.5) as process:
        wait_until(lambda: len(kept(tmp_path)) >= 3)
        assert process.pid
        os.kill(process.pid, signal.SIGINT)
        assert finish(process) == 130
    before = kept(tmp_path)
    assert 3 <= len(before) < N_CELLS
    assert set(before) == set(lines(tmp_path, "ended"))
    with running(tmp_path, 1, 0.0) as process:
        assert finish(process) == 0
    assert len(lines(tmp_path, "began")) <= N_CELLS + 1


@pytest.mark.slow
def test_workers_end_with_a_killed_runner_and_what_was_kept_is_not_measured_again(tmp_path: Path) -> None:
    with running(tmp_path, 2, 2.0) as process:
        wait_until(lambda: len(kept(tmp_path)) >= 2 and len(lines(tmp_path, "began")) >= 4)
        kill(process)
    before, ended = kept(tmp_path), lines(tmp_path, "ended")
    time.sleep(2.5)
    assert lines(tmp_path, "ended") == ended
    with running(tmp_path, 1, 0) as process:
        assert finish(process) == 0
    began = Counter(lines(tmp_path, "began"))
    assert [began[split] for split in before] == [1] * len(before)
    assert kept(tmp_path) == list(range(N_CELLS))
