"""A PostgreSQL server that is stopped or restarted in the middle of a fit from counts; the test has one of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tremula as tm
from tremula.errors import QueryFailed

from .tables import random_table

ibis = pytest.importorskip("ibis", reason="ibis is not installed")
pytestmark = pytest.mark.postgres


def programs() -> Path | None:
    """Return the folder of the server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class Server:
    """A PostgreSQL server in a folder of its own, which does not run as root."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder, self.binaries = folder, binaries
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self) -> None:
        """Stop as a crash does, without a word to the clients."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *words: str) -> None:
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = [*user, str(self.binaries / program), "-D", str(self.folder / "data"), *words]
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = programs()
    if binaries is None:
        pytest.skip("there is no pg_ctl: install PostgreSQL")
    monkeypatch.setattr("tremula.queries.sql.database.LONGEST_PAUSE", 0.1)
    folder = Path(tempfile.mkdtemp())
    server = Server(folder, binaries)
    try:
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder)


Trees = Any


def fit(oracle: tm.queries.TableOracle) -> Trees:
    return tm.SimulatedBaggingClassifier(n_estimators=3, max_depth=4, random_state=0).fit(oracle).members_


def undisturbed_trees(server: Server) -> Trees:
    """Put the table into the database, and fit while nothing happens."""
    admin = ibis.connect(server.url)
    admin.create_table("visits", random_table(5).drop(columns="cost"))
    admin.disconnect()
    with tm.queries.connect(server.url, table="visits", target="again", n_bins=4) as oracle:
        return fit(oracle)


def disturbed_oracle(server: Server, act: Callable[[], None], *queries: int) -> tm.queries.TableOracle:
    """Return an oracle that acts before some queries of a fit; a query that is sent again counts again."""
    oracle = tm.queries.connect(server.url, table="visits", target="again", n_bins=4)
    numbers = [oracle.n_queries + query for query in queries]

    def on_query(sql: str) -> None:
        if oracle.n_queries in numbers:
            numbers.remove(oracle.n_queries)
            act()

    oracle._database.on_query = on_query
    return oracle


def test_a_fit_goes_on_after_restarts(server: Server) -> None:
    expected, restarts = undisturbed_trees(server), []

    def restart() -> None:
        server.stop()
        server.start()
        restarts.append(1)

    with disturbed_oracle(server, restart, 1, 4) as oracle:
        assert fit(oracle) == expected
    assert len(restarts) == 2


def test_without_a_server_a_fit_says_so_and_the_next_one_goes_on(server: Server) -> None:
    expected = undisturbed_trees(server)
    with disturbed_oracle(server, server.stop, 3) as oracle:
        with pytest.raises(QueryFailed, match=r"(?s)did not answer.*Earlier answers are kept"):
            fit(oracle)
        server.start()
        sent = oracle.n_queries
        assert fit(oracle) == expected
        with tm.queries.connect(server.url, table="visits", target="again", n_bins=4) as fresh:
            before = fresh.n_queries
            fit(fresh)
            assert oracle.n_queries - sent < fresh.n_queries - before  # what was answered was not asked again
