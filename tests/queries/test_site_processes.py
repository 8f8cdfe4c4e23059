"""Sites as processes: with other levels, without a column, killed, restarted, stopped and lying; nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidInput, QueryFailed, QueryRefused
from tremula.queries import FederatedOracle, connect
from tremula.queries.remote.messages import write_schema

from .site_processes import TOKEN, SiteProcess, started, write_group, write_site
from .test_remote import ALL, cuts, in_memory, rows, same

pytestmark = pytest.mark.slow
LYING = Path(__file__).with_name("lying_site.py")


def uneven_parts() -> list[pd.DataFrame]:
    """Divide the rows so that every site lacks a level, and one a class."""
    table = rows()
    is_red, is_maybe = table["colour"] == "red", table["again"] == "maybe"
    is_second = np.arange(len(table)) % 2 == 0
    return [table[is_red & ~is_maybe], table[~is_red & is_second], table[(is_red & is_maybe) | (~is_red & ~is_second)]]


@pytest.fixture(scope="module", params=["plain", "secure"])
def sites(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SiteProcess]]:
    folder = tmp_path_factory.mktemp(request.param)
    commands = [write_site(folder, number, part, cuts()) for number, part in enumerate(uneven_parts())]
    if request.param == "secure":
        commands = [[*words, *more] for words, more in zip(commands, write_group(folder, 3))]
    with started(commands) as processes:
        yield processes


def federation(sites: list[SiteProcess], timeout: float = 20.0, retries: int = 0) -> FederatedOracle:
    oracles = [connect(site.url, token=TOKEN, timeout=timeout, retries=retries) for site in sites]
    return FederatedOracle(oracles, secure=oracles[0].secure is not None)


def model() -> tm.SimulatedBaggingClassifier:
    return tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0)


@pytest.fixture(scope="module")
def pooled() -> tm.SimulatedBaggingClassifier:
    return model().fit(in_memory(rows()))


def test_sites_with_other_levels_and_classes_give_the_model_of_the_pooled_rows(
    sites: list[SiteProcess], pooled: Any
) -> None:
    federated = federation(sites)
    own = [oracle.schema.attributes[0].levels for oracle in federated._sites]
    assert len(set(own)) > 1
    assert len({oracle.schema.classes for oracle in federated._sites}) > 1
    assert same(model().fit(federated), pooled)


def test_a_fit_resumes_after_a_site_was_killed_and_waits_for_its_restart(sites: list[SiteProcess], pooled: Any) -> None:
    federated = federation(sites)
    before = federated.count([ALL])[0]
    sites[1].kill()
    with pytest.raises(QueryFailed, match=r"site 1 failed.*cannot be reached \(ConnectionRefusedError"):
        model().fit(federated)
    n_before = federated._sites[0].n_requests
    np.testing.assert_array_equal(federated.count([ALL])[0], before)
    assert federated._sites[0].n_requests == n_before, "what was answered is kept"
    federated._sites[1]._retries = 20
    restart = Thread(target=sites[1].start_again)
    restart.start()
    fitted = model().fit(federated)
    restart.join()
    assert same(fitted, pooled)


def test_a_site_that_hangs_is_given_up_after_its_time(sites: list[SiteProcess], pooled: Any) -> None:
    federated = federation(sites, timeout=1.0)
    os.kill(sites[0].process.pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        with pytest.raises(QueryFailed, match=r"site 0 failed.*cannot be reached \(TimeoutError"):
            model().fit(federated)
        assert time.monotonic() - begin < 15
    finally:
        os.kill(sites[0].process.pid, signal.SIGCONT)
    assert same(model().fit(federation(sites)), pooled)


def test_a_site_without_a_column_is_named(tmp_path: Path) -> None:
    with started([write_site(tmp_path, 0, rows().drop(columns="flag"), cuts())]) as lacking:
        site = connect(lacking[0].url, token=TOKEN)
    with pytest.raises(InvalidInput, match=r"site 1 has attributes .*give every site the same columns"):
        FederatedOracle([in_memory(rows()), site])


# --- lies ---


@pytest.fixture(scope="module")
def lying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    schema = tmp_path_factory.mktemp("lying") / "schema.json"
    schema.write_text(json.dumps(write_schema(in_memory(rows()).schema)))
    process = subprocess.Popen([sys.executable, str(LYING), str(schema)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ("negative", "a count of -2, below 0: do not trust it"),
        *((lie, "something else than") for lie in ("fraction", "not_a_number", "infinite", "truth", "word", "null")),
        *((lie, "something else than") for lie in ("too_few", "too_many", "nested")),
        *((lie, r"above 2\^53: do not trust it") for lie in ("above_int64", "above_2_53")),
        ("no_answers", "did not answer all 1 questions"),
        *((lie, "did not answer in JSON") for lie in ("thousand_digits", "list", "deep", "page", "nothing")),
        ("huge", "answered with more than .* bytes: do not trust it"),
        ("drip", "no whole answer within 0.5 seconds"),
        ("cut_off", "cannot be reached"),
        ("wait", "it answered 429"),
    ],
)
def test_lies(lying: str, lie: str, words: str) -> None:
    oracle = connect(f"{lying}/{lie}", timeout=0.5 if lie == "drip" else 20.0, retries=0)
    with pytest.raises(QueryFailed, match=words):
        oracle.count([ALL])
    honest = in_memory(rows())
    with pytest.raises(QueryFailed, match="site 1 failed"):
        FederatedOracle([honest, oracle]).count([ALL])
    continued = FederatedOracle([honest, oracle], on_failure="continue")
    np.testing.assert_array_equal(continued.count([ALL])[0], honest.count([ALL])[0])
    assert [failure.site for failure in continued.failures] == [1]


def test_a_refusal_in_strange_words_is_a_refusal(lying: str) -> None:
    with pytest.raises(QueryRefused):
        connect(f"{lying}/kind", retries=0).count([ALL])
    assert connect(f"{lying}/honest", retries=0).count([ALL])[0].min() == 3


@pytest.mark.parametrize("lie", ["twice", "both", "huge_cut", "falling", "empty", "number"])
def test_lies_about_the_table(lying: str, lie: str) -> None:
    with pytest.raises(QueryFailed, match="the site"):
        connect(f"{lying}/schema_{lie}", retries=0)
