"""The same seed gives the same bits: for any number of jobs and backend, after files and pickles, in threads and forks.

Answers of every public estimator are compared by their digests; `digests` has what is asked.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import tremula as tm

from . import digests
from .digests import ESTIMATORS, METHODS, all_digests, digest, fit_one

REPOSITORY = Path(__file__).parents[2]
N_THREADS = 8
FEW_METHODS = ("predict",)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {kind.__name__: fit_one(kind) for kind in ESTIMATORS}


@pytest.fixture(scope="module")
def expected(models: dict[str, Any]) -> dict[str, str]:
    return {name: digest(model) for name, model in models.items()}


def test_a_digest_tells_models_apart(expected: dict[str, str]) -> None:
    """Another seed has another digest wherever an estimator draws; two estimators never have the same."""
    assert len(set(expected.values())) == len(expected) == len(ESTIMATORS)
    drawn = fit_one(tm.RandomForestRegressor).set_params(random_state=1)
    assert digest(drawn.fit(digests.table(), digests.numbers())) != expected["RandomForestRegressor"]
    nearly = fit_one(tm.CARTRegressor)
    values = nearly.tree_.values.copy()
    values[0] = np.nextafter(values[0], np.inf)
    nearly.tree_ = tm.Tree(nearly.tree_.nodes, values, nearly.tree_.subsets, nearly.tree_.n_levels, False)
    assert digest(nearly) != expected["CARTRegressor"]


@pytest.mark.slow
def test_another_process_with_two_jobs_and_another_seed_of_hashes_has_the_same_bits(expected: dict[str, str]) -> None:
    """Sets and dictionaries of strings have another order where strings have other hashes."""
    assert digests_of_process("1" if os.environ.get("PYTHONHASHSEED") == "0" else "0", n_jobs=2) == expected


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1", "42"])
def test_the_seed_of_hashes_does_not_matter(hash_seed: str, expected: dict[str, str]) -> None:
    assert digests_of_process(hash_seed, n_jobs=1) == expected


def digests_of_process(hash_seed: str, n_jobs: int) -> dict[str, str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.fuzz.digests", str(n_jobs)]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_nor_does_the_number_of_jobs(n_jobs: int, expected: dict[str, str]) -> None:
    assert all_digests(n_jobs) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_nor_does_the_backend(backend: str, expected: dict[str, str]) -> None:
    assert all_digests(2, backend) == expected


@pytest.mark.slow
@pytest.mark.dask
def test_nor_does_a_cluster(dask_client: Any, expected: dict[str, str]) -> None:
    """Dask's workers are processes that load the tests from the repository."""
    dask_client.run(sys.path.append, str(REPOSITORY))
    before = dask_client.run_on_scheduler(_n_transitions)
    assert all_digests(None, "dask") == expected
    assert dask_client.run_on_scheduler(_n_transitions) > before + 2 * len(ESTIMATORS)  # the cluster did the work


def _n_transitions(dask_scheduler: Any) -> int:
    return int(dask_scheduler.transition_counter)


def test_files_keep_every_bit(models: dict[str, Any], expected: dict[str, str], tmp_path: Path) -> None:
    for name, model in models.items():
        tm.save(model, tmp_path / name)
    assert {name: digest(tm.load(tmp_path / name)) for name in models} == expected


@pytest.mark.slow
def test_pickles_keep_every_bit(models: dict[str, Any], expected: dict[str, str]) -> None:
    assert {name: digest(pickle.loads(pickle.dumps(model))) for name, model in models.items()} == expected


@pytest.mark.parametrize("methods", [FEW_METHODS, pytest.param(METHODS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_threads_that_ask_at_once_get_the_same_bits(methods: tuple[str, ...], models: dict[str, Any]) -> None:
    """Each model comes from a pickle, so that threads meet where it first fills what it keeps for later questions."""
    with ThreadPoolExecutor(N_THREADS) as threads:
        for name, model in models.items():
            fresh = pickle.loads(pickle.dumps(model))
            answers = list(threads.map(lambda _, fresh=fresh: digest(fresh, methods), range(N_THREADS)))
            assert answers == [digest(model, methods)] * N_THREADS, name


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_after_fit_gets_the_same_bits(models: dict[str, Any], expected: dict[str, str]) -> None:
    with_jobs = {"RandomForestClassifier": fit_one(tm.RandomForestClassifier, 2)}  # its threads are not in the fork
    assert in_fork(lambda: {name: digest(model) for name, model in (models | with_jobs).items()}) == expected


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", [tm.BaggingClassifier, tm.AspenRegressor])
def test_a_process_forked_after_fit_may_fit(kind: type[BaseEstimator], expected: dict[str, str]) -> None:
    fit_one(kind, 2)
    assert in_fork(lambda: {kind.__name__: digest(fit_one(kind, 2))}) == {kind.__name__: expected[kind.__name__]}


def in_fork(work: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return what a forked process makes; one that waits for a thread that it does not have is ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os.write(writer, json.dumps(work()).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return dict(json.loads(answer))
