"""Cells measured by a Dask cluster of two processes: the same outcome, each cell once, kept by the one that asked."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tremula.lab.cells import Cell, Experiment, Outcome
from tremula.lab.run import run_experiment
from tremula.lab.store import Store

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install '.[test]'")
pytestmark = [
    pytest.mark.dask,
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm, as POSIX has it"),
]
CELLS = [Cell("iris", "bagging", split) for split in range(12)]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(autouse=True)
def no_waiting_for_ever() -> Iterator[None]:
    """End a test whose results never come: an error on the way to the cluster shows only in Dask's log."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no answer from the cluster after a minute"))
    signal.alarm(60)
    yield
    signal.alarm(0)


def make_measure(log: Path) -> Callable[[Cell], Outcome]:
    def measure(cell: Cell) -> Outcome:
        with log.open("a") as file:
            file.write(f"{cell.split}\n")
        if cell.split == 5:
            raise ValueError("it does not converge")
        answers = np.random.default_rng(cell.split).normal(size=4)
        return Outcome({"error": float(answers.sum())}, predictions=answers)

    return measure


def test_a_cluster_gives_the_same_outcome_and_measures_each_cell_once(client: Any, tmp_path: Path) -> None:
    alone = run_experiment(Experiment("test", {}, CELLS, make_measure(tmp_path / "alone.txt")))
    experiment = Experiment("test", {}, CELLS, make_measure(tmp_path / "together.txt"), cost=lambda cell: cell.split)
    path = tmp_path / "results.duckdb"
    with joblib.parallel_config(backend="dask"):
        together = run_experiment(experiment, path, keep_predictions=True)
    assert together == alone
    assert sorted(map(int, (tmp_path / "together.txt").read_text().split())) == list(range(12))
    kept = Store(path).predictions(experiment, CELLS[3])
    assert kept is not None
    assert kept.tolist() == np.random.default_rng(3).normal(size=4).tolist()
    assert os.getpid() not in set(Store(path).frame()["pid"])


def test_a_run_without_a_cluster_goes_on_where_one_with_a_cluster_was(client: Any, tmp_path: Path) -> None:
    path, log = tmp_path / "results.duckdb", tmp_path / "log.txt"
    with joblib.parallel_config(backend="dask"):
        run_experiment(Experiment("test", {}, CELLS[:8], make_measure(log)), path)
    run_experiment(Experiment("test", {}, CELLS, make_measure(log)), path)
    assert sorted(map(int, log.read_text().split())) == list(range(12))
