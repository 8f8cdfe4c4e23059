"""Sites over the network, on this machine: processes of `tremula serve`, and servers in threads that misbehave."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import BudgetExhausted, BudgetWarning, InvalidInput, QueryFailed, QueryRefused
from tremula.queries import ArrayOracle, FederatedOracle, GuardedOracle, Question, TableOracle, connect
from tremula.queries.remote.messages import write_question
from tremula.queries.remote.server import start_server
from tremula.queries.remote.site import Site

from .site_processes import TOKEN, started, write_site
from .tables import NOMINAL, random_table

ALL = Question((), (0, 1, 2, 3))
MODEL = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0)


@cache
def rows() -> pd.DataFrame:
    return random_table(0, 240).drop(columns="cost")


@cache
def cuts() -> dict[str, Any]:
    table = rows()
    oracle = ArrayOracle(table.drop(columns="again"), table["again"], categorical_features=NOMINAL, n_bins=6)
    return {"size": oracle.schema.attributes[1].cuts}


def in_memory(table: pd.DataFrame) -> ArrayOracle:
    return ArrayOracle(table.drop(columns="again"), table["again"], categorical_features=NOMINAL, cuts=cuts())


def same(first: Any, second: Any) -> bool:
    pairs = list(zip(first.members_, second.members_, strict=True))
    return all((a.nodes == b.nodes).all() and (a.values == b.values).all() for a, b in pairs)


class Running:
    """A server in a thread."""

    def __init__(self, site: Site, **options: Any) -> None:
        self.server = start_server(site, **options)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


# --- processes ---


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[str], Path]]:
    """Three processes, each with a third of the rows."""
    folder = tmp_path_factory.mktemp("sites")
    commands = [write_site(folder, number, rows().iloc[number::3], cuts()) for number in range(3)]
    with started(commands) as processes:
        yield [process.url for process in processes], folder


@pytest.mark.slow
def test_three_processes_give_the_model_of_the_pooled_rows(sites: tuple[list[str], Path]) -> None:
    urls, folder = sites
    oracles = [connect(url, token=TOKEN, timeout=30) for url in urls]
    model = MODEL.fit(FederatedOracle(oracles, timeout=60))
    assert same(model, tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(in_memory(rows())))
    lines = [json.loads(line) for line in (folder / "log0").read_text().splitlines()]
    assert {line["outcome"] for line in lines} == {"asked"}
    assert sum(line["new_questions"] for line in lines) > 10
    assert set(lines[0]["questions"][0]) == {"path", "attributes", "joint"}, "no counts"


@pytest.mark.slow
def test_a_process_refuses_other_requests(sites: tuple[list[str], Path]) -> None:
    host = sites[0][0].removeprefix("http://")
    with pytest.raises(QueryRefused, match="wants a token"):
        connect(sites[0][0], token="another token", retries=0)
    for method, path in (("GET", "/count"), ("GET", "/../etc/passwd"), ("POST", "/schema"), ("PUT", "/count")):
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}", "Content-Length": "0"})
        response = connection.getresponse()
        assert (response.status, response.headers["Allow"]) in ((404, None), (405, "GET"), (405, "POST"))
        connection.close()


def test_three_sites_give_the_model_of_the_pooled_rows() -> None:
    table = rows()
    running = [Running(Site(in_memory(table.iloc[number::3]))) for number in range(3)]
    model = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0)
    model.fit(FederatedOracle([connect(site.url) for site in running], timeout=60))
    for site in running:
        site.stop()
    assert same(model, tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(in_memory(table)))


# --- what the other side may do ---


def ask_raw(running: Running, body: bytes) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request("POST", "/count", body)
    response = connection.getresponse()
    text = json.loads(response.read())
    connection.close()
    return response.status, text


def test_requests_are_checked() -> None:
    site = Site(in_memory(rows()))
    good = write_question(ALL)
    bad = [
        {"attributes": [9]}, {"attributes": []}, {"attributes": [0, 0]}, {"attributes": [True]}, {"joint": 1},
        {"path": [[0, 0]]}, {"path": [[0, 0, 99]]}, {"path": [[7, 0, 0]]}, {"path": "all"},
        {"path": [[0, 0.5, 1]]}, {"parent": None}, {"path": [[0, -1, 0]]},
    ]  # fmt: skip
    impossible = [{"path": [[0, 1, 0]]}, {"path": [[0, 0, 0], [0, 1, 1]]}]
    with Running(site) as running:
        digest = connect(running.url)._digest
        assert ask_raw(running, json.dumps({"schema": digest, "questions": [good]}).encode())[0] == 200
        for change in bad:
            message = {"schema": digest, "questions": [{**good, **change}]}
            assert ask_raw(running, json.dumps(message).encode())[0] == 400, change
        for change in impossible:
            message = {"schema": digest, "questions": [{**good, **change}]}
            assert ask_raw(running, json.dumps(message).encode())[0] == 422, change
        for body in (b"", b"[]", b"\xff", b"[" * 100_000, b'{"schema": 1}', b"null"):
            assert ask_raw(running, body)[0] in (400, 409)
        too_many = {"schema": digest, "questions": [good] * 5001}
        assert ask_raw(running, json.dumps(too_many).encode())[0] == 400


class Liar:
    """An oracle that changes its answers."""

    def __init__(self, oracle: Any, lie: Any) -> None:
        self.oracle, self.lie, self.schema = oracle, lie, oracle.schema

    def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
        return [self.lie(answer) for answer in self.oracle.count(questions)]


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda answer: answer - 2, "below 0"),
        (lambda answer: answer + 0.5, "something else than"),
        (lambda answer: answer[:, :1], "something else than"),
    ],
)
def test_a_lying_site_is_found_out(lie: Any, words: str) -> None:
    with Running(Site(Liar(in_memory(rows()), lie))) as running:
        oracle = connect(running.url)
        with pytest.raises(QueryFailed, match=words):
            oracle.count([ALL])
        with pytest.raises(QueryFailed, match=f"site 0 failed.*{words}"):
            FederatedOracle([oracle]).count([ALL])


def test_a_site_that_comes_back_continues_the_fit() -> None:
    """The first site stops in the middle of a fit, and another process takes its place at the same address."""
    table = rows()
    first = Running(Site(in_memory(table)))
    oracle = connect(first.url, retries=0)
    oracle.count([ALL])
    first.stop()
    with pytest.raises(QueryFailed, match=r"cannot be reached \(ConnectionRefusedError.*call fit again"):
        tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(oracle)
    n_before = oracle.n_requests
    with Running(Site(in_memory(table)), port=first.port):
        model = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(oracle)
    assert oracle.n_requests - n_before == 2, "the first depth was not asked again"
    assert same(model, tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(in_memory(table)))


def test_a_site_that_comes_back_with_other_levels_is_refused() -> None:
    table = rows()
    first = Running(Site(in_memory(table)))
    oracle = connect(first.url)
    first.stop()
    other = table[table["colour"] != "red"]
    with Running(Site(in_memory(other)), port=first.port), pytest.raises(QueryFailed, match="started again with other"):
        oracle.count([ALL])


def test_a_slow_site_is_given_up() -> None:
    def wait(answer: np.ndarray) -> np.ndarray:
        time.sleep(1.0)
        return answer

    with Running(Site(Liar(in_memory(rows()), wait))) as running:
        oracle = connect(running.url, timeout=0.2, retries=0)
        with pytest.raises(QueryFailed, match=r"cannot be reached \(TimeoutError"):
            oracle.count([ALL])


def test_something_else_at_the_address() -> None:
    class Other(Site):
        def answer_schema(self) -> dict[str, Any]:
            return {"schema": {"attributes": [{"name": "a", "levels": ["x", "x"], "cuts": None}]}}

    with Running(Other(in_memory(rows()))) as running, pytest.raises(QueryFailed, match="sent no schema"):
        connect(running.url)


# --- limits ---


def test_guarded_counts_and_a_budget_over_the_network() -> None:
    table = rows()
    with Running(Site(GuardedOracle(in_memory(table), min_count=20))) as running:
        answer = connect(running.url).count([ALL])[0]
    np.testing.assert_array_equal(answer, GuardedOracle(in_memory(table), min_count=20).count([ALL])[0])
    assert (in_memory(table).count([ALL])[0] != answer).any()


def test_the_number_of_questions_outlives_the_process(tmp_path: Path) -> None:
    table, log = rows(), tmp_path / "log"
    with Running(Site(in_memory(table), max_questions=3, log=log)) as running:
        oracle = connect(running.url)
        with pytest.warns(BudgetWarning, match="all 3 questions were asked"):
            model = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(oracle)
    assert 1 <= max(tree.depth for tree in model.members_) < 3
    with Running(Site(in_memory(table), max_questions=3, log=log)) as running:
        oracle = connect(running.url)
        with pytest.raises(BudgetExhausted):
            oracle.count([ALL, Question((), (0,)), Question((), (1,))])
    outcomes = [json.loads(line)["outcome"] for line in log.read_text().splitlines()]
    assert outcomes.count("refused") == 2
    with pytest.raises(InvalidInput, match="without a log"):
        Site(in_memory(table), max_questions=3)


def test_a_site_asks_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with Running(Site(in_memory(rows()), max_requests=2)) as running:
        oracle = connect(running.url, retries=1)
        oracle.count([ALL])
        with pytest.raises(QueryFailed, match="429 more than 2 requests in a minute"):
            oracle.count([Question((), (0,))])
    assert 55 <= max(pauses) <= 61


def test_no_answer_without_a_log(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    site = Site(in_memory(rows()), log=folder)
    folder.mkdir()
    with Running(site) as running, pytest.raises(QueryFailed, match="cannot write its log"):
        connect(running.url, retries=0).count([ALL])


def test_what_the_database_says_stays_at_the_site() -> None:
    class Failing(Liar):
        def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
            raise QueryFailed("SELECT secret FROM hidden")

    words = "503 the database of the site did not answer"
    with (
        Running(Site(Failing(in_memory(rows()), None))) as running,
        pytest.raises(QueryFailed, match=words) as caught,
    ):
        connect(running.url, retries=0).count([ALL])
    assert "secret" not in str(caught.value)


# --- encryption ---


def make_certificate(folder: Path) -> tuple[str, str]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: it makes the certificate")
    files = str(folder / "site.pem"), str(folder / "site.key")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days"]
    command += ["2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0]]
    subprocess.run([*command, "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_https_with_certificates_of_both_sides(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    with Running(Site(in_memory(rows())), certificate=files, client_ca=files[0]) as running:
        url = running.url.replace("http://", "https://")
        answer = connect(url, ca_file=files[0], certificate=files).count([ALL])[0]
        with pytest.raises(QueryFailed, match="certificate that is not trusted"):
            connect(url, retries=0)
        with pytest.raises(QueryFailed, match="cannot be reached"):
            connect(url, ca_file=files[0], retries=0)
    np.testing.assert_array_equal(answer, in_memory(rows()).count([ALL])[0])


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://hospital.example:80", "is not encrypted"), ("https://", "no address of a site")],
)
def test_addresses(url: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        connect(url)
    with pytest.raises(InvalidInput, match="has its own table and target"):
        connect("https://hospital.example", target="again")


def test_regression_over_the_network() -> None:
    table = random_table(0, 240).drop(columns="again")
    oracle = ArrayOracle(table.drop(columns="cost"), table["cost"], categorical_features=NOMINAL, cuts=cuts())
    with Running(Site(oracle)) as running:
        model = tm.SimulatedBaggingRegressor(3, max_depth=3, random_state=0).fit(connect(running.url))
    assert same(model, tm.SimulatedBaggingRegressor(3, max_depth=3, random_state=0).fit(oracle))


def test_an_error_of_the_program_is_not_a_failure_of_a_site() -> None:
    class Broken(Liar):
        def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
            raise AttributeError("a mistake")

    federated = FederatedOracle([Broken(in_memory(rows()), None)], on_failure="continue")
    with pytest.raises(AttributeError, match="a mistake"):
        federated.count([ALL])
    assert federated.failures == []


def test_a_table_of_a_database_is_served_by_one_thread(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.register("part", rows())
        connection.execute("CREATE TABLE visits AS SELECT * FROM part")
    oracle = connect(f"duckdb://{tmp_path}/a.duckdb?read_only=True", "visits", target="again", cuts=cuts())
    assert isinstance(oracle, TableOracle)
    with Running(Site(oracle)) as running:
        answer = connect(running.url).count([ALL])[0]
    np.testing.assert_array_equal(answer, in_memory(rows()).count([ALL])[0])
    oracle.close()
