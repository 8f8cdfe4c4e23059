"""Cells measured by a Dask cluster of two processes: the same outcome, each cell once, kept by the one that asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store

pytestmark = [pytest.mark.dask, pytest.mark.usefixtures("no_waiting_for_ever")]
CELLS = [Cell("iris", "bagging", split) for split in range(12)]


def make_measure(log: Path) -> Callable[[Cell], Outcome]:
    def measure(cell: Cell) -> Outcome:
        with log.open("a") as file:
            file.write(f"{cell.split}\n")
        if cell.split == 5:
            raise ValueError("it does not converge")
        answers = np.random.default_rng(cell.split).normal(size=4)
        return Outcome({"error": float(answers.sum())}, predictions=answers)

    return measure


def test_a_cluster_gives_the_same_outcome_and_measures_each_cell_once(dask_client: Any, tmp_path: Path) -> None:
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


def test_a_run_without_a_cluster_goes_on_where_one_with_a_cluster_was(dask_client: Any, tmp_path: Path) -> None:
    path, log = tmp_path / "results.duckdb", tmp_path / "log.txt"
    with joblib.parallel_config(backend="dask"):
        run_experiment(Experiment("test", {}, CELLS[:8], make_measure(log)), path)
    run_experiment(Experiment("test", {}, CELLS, make_measure(log)), path)
    assert sorted(map(int, log.read_text().split())) == list(range(12))
