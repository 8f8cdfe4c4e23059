"""The store: results come back as they were stored, each once, and every problem with the file is explained."""

import math
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tremula.errors import InvalidParameter
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.claims import RUNNING, Runner
from tremula.lab.experiments.duckdb_file import ENGINE, NotAStore, StoreBusy, StoreError, StoreFull
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.store import Store
from tremula.lab.experiments.stored_rows import StoreVersionError

CELLS = [Cell("iris", method, split) for method in ("bagging", "boosting") for split in range(2)]


def experiment_of(**settings: Any) -> Experiment:
    return Experiment("test", settings, CELLS, measure=lambda cell: Outcome({}))


EXPERIMENT = experiment_of(seed=0)
OUTCOME = Outcome({"error": 0.25, "noise": math.nan}, 40, 1.5, 0.5, size=17, seed=2**64 - 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.duckdb"


def change(path: Path, sql: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)


def test_what_is_kept_comes_back(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[1], OUTCOME)
    (result,) = Store(path).results(EXPERIMENT)
    assert (result.dataset, result.method, result.split) == ("iris", "bagging", 1)
    assert result.values["error"] == 0.25
    assert math.isnan(result.values["noise"])
    assert (result.n_test, result.fit_seconds, result.predict_seconds, result.size) == (40, 1.5, 0.5, 17)
    assert result.failure is None


def test_results_come_in_the_order_asked_for(path: Path) -> None:
    store = Store(path)
    for cell in CELLS:
        store.keep(EXPERIMENT, cell, Outcome({}))
    assert [result.cell for result in store.results(EXPERIMENT)] == CELLS
    assert [r.split for r in store.results(EXPERIMENT, [CELLS[1], CELLS[0]])] == [1, 0]


def test_other_settings_are_another_experiment(path: Path) -> None:
    store = Store(path)
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    assert store.results(experiment_of(seed=1)) == []


def test_reading_makes_no_file(path: Path) -> None:
    assert Store(path).results(EXPERIMENT) == []
    assert not path.exists()


def test_the_first_of_two_results_stays(path: Path) -> None:
    store = Store(path)
    store.keep(EXPERIMENT, CELLS[0], Outcome({"error": 0.1}))
    store.keep(EXPERIMENT, CELLS[0], Outcome({"error": 0.2}))
    assert [result.values for result in store.results(EXPERIMENT)] == [{"error": 0.1}]


def test_a_result_takes_the_place_of_a_failure_but_not_the_other_way(path: Path) -> None:
    store = Store(path)
    for _ in range(2):
        store.keep_failure(EXPERIMENT, CELLS[0], "no memory")
    assert [result.failure for result in store.results(EXPERIMENT)] == ["no memory"]
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    store.keep_failure(EXPERIMENT, CELLS[0], "no memory")
    assert [result.failure for result in store.results(EXPERIMENT)] == [None]


def test_only_failures_of_the_cells_in_view_are_forgotten(path: Path) -> None:
    store = Store(path)
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    for cell in CELLS[1:3]:
        store.keep_failure(EXPERIMENT, cell, "no memory")
    store.forget_failures(replace(EXPERIMENT, cells=CELLS[:2]))
    assert store.pending(EXPERIMENT) == [CELLS[1], CELLS[3]]


@pytest.mark.parametrize("answers", [[1, 2, 3], [0.5, math.pi], ["yes", "no"], [True, False]])
def test_predictions_are_kept_on_request_only(path: Path, answers: list[Any]) -> None:
    store = Store(path)
    outcome = Outcome({}, predictions=np.array(answers))
    store.keep(EXPERIMENT, CELLS[0], outcome)
    assert store.predictions(EXPERIMENT, CELLS[0]) is None
    store.keep(EXPERIMENT, CELLS[0], outcome, with_predictions=True)
    kept = store.predictions(EXPERIMENT, CELLS[0])
    assert kept is not None
    assert kept.tolist() == answers
    assert kept.dtype == np.array(answers).dtype


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_column_for_each_number(path: Path, library: str) -> None:
    store = Store(path)
    store.keep(EXPERIMENT, CELLS[0], Outcome({"error": 0.25, "size": 3.0}, size=5))
    store.keep(experiment_of(seed=1), CELLS[0], Outcome({"error": 0.75}))
    frame = store.frame(EXPERIMENT, library)
    assert [frame[name].to_numpy().tolist() for name in ("error", "size_", "size")] == [[0.25], [3.0], [5]]
    assert len(store.frame(library=library)) == 2


def test_an_unknown_library_is_refused_with_a_hint(path: Path) -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'pandas'"):
        Store(path).frame(library="panda")


def test_versions_and_time_are_kept(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    row = Store(path).frame().iloc[0]
    assert row["numpy"] == np.__version__
    assert row["pid"] == os.getpid()
    assert abs((row["time"] - np.datetime64("now")).total_seconds()) < 60


def test_a_claimed_cell_is_left_to_its_runner(path: Path) -> None:
    store, first, second = Store(path), Runner(), Runner()
    assert store.claim(EXPERIMENT, CELLS, first, limit=3).own == CELLS[:3]
    claimed = store.claim(EXPERIMENT, CELLS, second, limit=3)
    assert (claimed.own, claimed.elsewhere) == (CELLS[3:], CELLS[:3])


def test_a_kept_cell_is_claimed_no_more(path: Path) -> None:
    store, runner = Store(path), Runner()
    store.claim(EXPERIMENT, CELLS[:1], runner, limit=1)
    store.keep_all(EXPERIMENT, [Result(CELLS[0], OUTCOME)])
    assert store.claim(EXPERIMENT, CELLS[:1], Runner(), limit=1).own == []


def test_released_cells_are_free(path: Path) -> None:
    store, first = Store(path), Runner()
    store.claim(EXPERIMENT, CELLS, first, limit=3)
    store.release(first)
    assert store.claim(EXPERIMENT, CELLS, Runner(), limit=9).own == CELLS


def test_cells_of_a_process_that_ended_are_free(path: Path) -> None:
    store = Store(path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    store.claim(EXPERIMENT, CELLS, Runner(pid=ended.pid), limit=4)
    assert store.claim(EXPERIMENT, CELLS, Runner(), limit=4).own == CELLS


def test_cells_of_a_process_whose_number_was_given_again_are_free(path: Path) -> None:
    store = Store(path)
    store.claim(EXPERIMENT, CELLS, Runner(pid=os.getppid()), limit=4)
    assert store.claim(EXPERIMENT, CELLS, Runner(), limit=4).own == []
    change(path, "UPDATE runners SET started = 'long ago'")
    assert store.claim(EXPERIMENT, CELLS, Runner(), limit=4).own == CELLS


def test_cells_of_a_run_of_this_process_that_ended_are_free(path: Path) -> None:
    store, first = Store(path), Runner()
    store.claim(EXPERIMENT, CELLS, first, limit=4)
    RUNNING.discard(first.name)
    assert store.claim(EXPERIMENT, CELLS, Runner(), limit=4).own == CELLS


def test_a_runner_elsewhere_is_dead_when_it_is_silent_for_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, far, near = Store(path), Runner(host="far away"), Runner()
    now = 0.0
    monkeypatch.setattr("tremula.lab.experiments.claims.time.monotonic", lambda: now)
    store.claim(EXPERIMENT, CELLS, far, limit=4)
    assert store.claim(EXPERIMENT, CELLS, near, limit=4).elsewhere == CELLS
    now = 100.0
    store.beat(far)
    assert store.claim(EXPERIMENT, CELLS, near, limit=4).elsewhere == CELLS
    now = 200.0
    assert store.claim(EXPERIMENT, CELLS, near, limit=4).elsewhere == CELLS
    now = 230.0
    assert store.claim(EXPERIMENT, CELLS, near, limit=4).own == CELLS


def test_results_of_another_version_are_refused_and_kept(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    change(path, "UPDATE results SET tremula = '0.0.1'")
    with pytest.raises(StoreVersionError, match=r"1 by tremula 0\.0\.1.*not mixed: name another file"):
        Store(path).results(EXPERIMENT)
    assert len(Store(path).frame()) == 1


def test_results_of_another_version_are_kept_with_new_ones(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], Outcome({"error": 0.1}))
    change(path, "UPDATE results SET tremula = '0.0.1'")
    store = Store(path, other_versions="keep")
    assert store.pending(EXPERIMENT) == CELLS
    store.keep(EXPERIMENT, CELLS[0], Outcome({"error": 0.2}))
    assert [result.values["error"] for result in store.results(EXPERIMENT)] == [0.2]
    assert len(store.frame()) == 2


def test_a_store_of_another_format_is_refused(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    change(path, "UPDATE format SET version = 99, made_by = 'tremula 9.0'")
    for use in (Store(path).results, lambda experiment: Store(path).keep(experiment, CELLS[1], OUTCOME)):
        with pytest.raises(StoreVersionError, match=r"made by tremula 9\.0 and has format 99"):
            use(EXPERIMENT)


def test_a_database_of_someone_else_is_left_alone(path: Path) -> None:
    change(path, "CREATE TABLE patients (name VARCHAR)")
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="holds no results of tremula"):
        Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"dataset,error\n" * 1000])
def test_a_file_of_another_kind_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotAStore, match="name another file"):
        Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    assert path.read_bytes() == content


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no folder .*nowhere.*create the folder first"):
        Store(tmp_path / "nowhere" / "results.duckdb").keep(EXPERIMENT, CELLS[0], OUTCOME)


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path).results(EXPERIMENT)


def test_a_path_with_quotes(tmp_path: Path) -> None:
    store = Store(tmp_path / 'tom\'s "best".duckdb')
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    assert len(store.results(EXPERIMENT)) == 1


def test_a_file_that_another_program_keeps_open(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    code = f"import duckdb; c = duckdb.connect({str(path)!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(StoreBusy, match=rf"in use by another program.*{other.pid}"):
            Store(path, patience=0.1).keep(EXPERIMENT, CELLS[1], OUTCOME)
        other.stdin.write(b"\n")
        other.stdin.flush()
        Store(path).keep(EXPERIMENT, CELLS[1], OUTCOME)  # waits until the other has gone
    assert len(Store(path).results(EXPERIMENT)) == 2


def test_after_an_error_within_a_transaction_nothing_of_it_is_kept(path: Path) -> None:
    store = Store(path)
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    broken = Outcome({"error": "much"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="much"):
        store.keep_all(EXPERIMENT, [Result(CELLS[1], OUTCOME), Result(CELLS[2], broken)])
    assert len(store.results(EXPERIMENT)) == 1
    store.keep(EXPERIMENT, CELLS[1], OUTCOME)
    assert len(store.results(EXPERIMENT)) == 2


class InterruptedConnection:
    """Attaches a file, and is interrupted before it can say so."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.is_interrupted = False

    def execute(self, statement: str, *values: Any) -> Any:
        result = self.connection.execute(statement, *values)
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt
        return result

    def close(self) -> None:
        self.connection.close()


def test_ctrl_c_while_a_file_is_attached_leaves_the_store_usable(path: Path) -> None:
    """The file stayed attached, and every later transaction waited for minutes."""
    store = Store(path, patience=2.0)
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    ENGINE.connection = InterruptedConnection(ENGINE.connect())
    with pytest.raises(KeyboardInterrupt):
        store.keep(EXPERIMENT, CELLS[1], OUTCOME)
    store.keep(EXPERIMENT, CELLS[1], OUTCOME)
    assert len(store.results(EXPERIMENT)) == 2


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, also where these tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_within_a_transaction_is_raised_after_it(path: Path) -> None:
    """Ctrl-C where the transaction was about to end left the lock taken: a run waited for its own thread for ever."""
    store = Store(path)

    def press_within() -> None:
        with store._transaction(write=True) as connection:
            os.kill(os.getpid(), signal.SIGINT)
            assert connection.execute("SELECT 1").fetchone() == (1,)

    with pytest.raises(KeyboardInterrupt):
        press_within()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with ThreadPoolExecutor(1) as thread:
        thread.submit(store.keep, EXPERIMENT, CELLS[0], OUTCOME).result(timeout=20)
    assert len(store.results(EXPERIMENT)) == 1


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_waiting_for_another_program(path: Path) -> None:
    Store(path).keep(EXPERIMENT, CELLS[0], OUTCOME)
    with duckdb.connect(str(path)):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            Store(path, patience=60).keep(EXPERIMENT, CELLS[1], OUTCOME)


def fill(store: Store, cells: list[Cell]) -> None:
    for cell in cells:
        answers = np.random.default_rng(cell.split).random(20_000)
        store.keep(EXPERIMENT, cell, Outcome({"error": 0.5}, predictions=answers), with_predictions=True)


MANY = [Cell("iris", "bagging", split) for split in range(20)]


def test_no_space_for_larger_files(path: Path) -> None:
    Store(path).keep(EXPERIMENT, MANY[0], OUTCOME)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        with pytest.raises(StoreFull, match=r"no space left .* stored so far are safe"):
            fill(Store(path), MANY)
        n_kept = len(Store(path).results(EXPERIMENT, MANY))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert n_kept >= 1
    fill(Store(path), MANY)
    assert len(Store(path).results(EXPERIMENT, MANY)) == 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this container may not mount")
    store = Store(tmp_path / "results.duckdb")
    try:
        with pytest.raises(StoreFull, match=r"no space left .* stored so far are safe"):
            fill(store, MANY)
        assert len(store.results(EXPERIMENT, MANY)) >= 1
        subprocess.run(["mount", "-o", "remount,size=100m", str(tmp_path)], check=True)
        fill(store, MANY)
        assert len(store.results(EXPERIMENT, MANY)) == 20
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@contextmanager
def as_no_one() -> Iterator[None]:
    """Be someone whom permissions hold for: root may write anywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "closed"
    folder.mkdir()
    for parent in (tmp_path, *list(tmp_path.parents)[:3]):  # one more level under pytest-xdist
        parent.chmod(0o755)
    return folder


def test_a_folder_that_may_not_be_written_to(folder: Path) -> None:
    folder.chmod(0o555)
    with as_no_one(), pytest.raises(StoreError, match="cannot be written: make the file and its folder writable"):
        Store(folder / "results.duckdb").keep(EXPERIMENT, CELLS[0], OUTCOME)
    assert list(folder.iterdir()) == []


def test_a_store_that_may_only_be_read_can_be_read(folder: Path) -> None:
    store = Store(folder / "results.duckdb")
    store.keep(EXPERIMENT, CELLS[0], OUTCOME)
    store.path.chmod(0o444)
    folder.chmod(0o555)
    with as_no_one():
        assert len(store.results(EXPERIMENT)) == 1
        with pytest.raises(StoreError, match="cannot be written"):
            store.keep(EXPERIMENT, CELLS[1], OUTCOME)
