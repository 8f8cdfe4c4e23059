"""Work is spread without a trace in its result, and given up at once where it has to be."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from threading import Lock

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.parallel import cut, map_row_blocks, train_members


def squares(members: range) -> list[int]:
    return [member**2 for member in members]


class Recorder:
    """Trains slowly, keeps what it was asked for, and fails at one member."""

    def __init__(self, fails_at: int = -1, error: type[BaseException] = ValueError) -> None:
        self.fails_at, self.error = fails_at, error
        self.asked: list[range] = []
        self.trained: list[int] = []
        self.lock = Lock()

    def __call__(self, members: range) -> list[int]:
        self.asked.append(members)
        for member in members:
            if member == self.fails_at:
                raise self.error(f"member {member}")
            time.sleep(0.01)
            with self.lock:
                self.trained.append(member)
        return list(members)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 20))
def test_chunks_are_the_members_in_order(first: int, length: int, n_chunks: int) -> None:
    members = range(first, first + length)
    chunks = cut(members, n_chunks)
    assert [member for chunk in chunks for member in chunk] == list(members)
    assert len(chunks) == min(n_chunks, length)
    assert not chunks or max(map(len, chunks)) - min(map(len, chunks)) <= 1


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
@pytest.mark.parametrize("members", [range(0), range(1), range(3, 40)])
def test_results_come_in_order(members: range, n_jobs: int | None) -> None:
    assert list(train_members(squares, members, n_jobs)) == [member**2 for member in members]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_results_are_the_same_for_any_backend(backend: str) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert list(train_members(list, range(3, 14), None)) == list(range(3, 14))


@pytest.mark.parametrize("backend", ["threading", "loky", pytest.param("multiprocessing", marks=pytest.mark.slow)])
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_batches_leave_no_trace(backend: str, batch: int) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert list(train_members(list, range(3, 14), None, batch=batch)) == list(range(3, 14))


def note(folder: Path, members: range) -> list[int]:
    for member in members:
        (folder / str(member)).touch()
        time.sleep(0.01)
    return list(members)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])  # loky's workers cannot import this file
def test_work_ends_with_the_batch_that_was_enough(backend: str, tmp_path: Path) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        results = train_members(partial(note, tmp_path), range(1000), None, batch=4)
        assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
        results.close()
    assert len(list(tmp_path.iterdir())) < 500


def test_one_job_stays_in_this_thread_and_goes_member_by_member() -> None:
    recorder = Recorder()
    results = train_members(recorder, range(4), 1)
    assert next(results) == 0
    assert recorder.asked == [range(0, 1)]
    assert list(results) == [1, 2, 3]


def test_a_bar_is_shown_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(train_members(squares, range(5), 2, verbose=1)) == [0, 1, 4, 9, 16]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_is_handed_on_and_ends_the_work(n_jobs: int, error: type[BaseException]) -> None:
    recorder = Recorder(fails_at=3, error=error)
    with pytest.raises(error, match="member 3"):
        list(train_members(recorder, range(400), n_jobs))
    # Two threads had chunks of 50 members: each stops after the member it is training when the error is seen.
    assert len(recorder.trained) < 300
    n_trained = len(recorder.trained)
    time.sleep(0.1)
    assert len(recorder.trained) <= n_trained + 2


def test_work_is_given_up_where_the_results_are_not_taken() -> None:
    recorder = Recorder()

    results = train_members(recorder, range(400), 2)
    assert next(results) == 0
    results.close()
    n_trained = len(recorder.trained)
    time.sleep(0.1)
    assert len(recorder.trained) <= n_trained + 2


@pytest.mark.parametrize("n_rows", [0, 1, 999, 2001])
def test_blocks_of_rows_are_joined_in_their_order(n_rows: int) -> None:
    rows = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    sizes: list[int] = []

    def total(block: np.ndarray) -> np.ndarray:
        sizes.append(len(block))
        return block.sum(axis=1)

    assert (map_row_blocks(total, rows, n_jobs=3) == rows.sum(axis=1)).all()
    assert len(sizes) == (3 if n_rows == 2001 else 1)
