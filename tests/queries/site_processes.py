"""Sites as processes of `tremula serve` on this machine, each with a part of the rows of a small table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from tremula.queries.secure.group import read_group_key
from tremula.queries.secure.masks import public_key

TOKEN = "a token of some length"
RUN = "from tremula.cli.entry import run; run()"


class SiteProcess:
    """A process that can be killed and started again at its address."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self.process = self._start("0")
        self.url = ""

    def _start(self, port: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", RUN, "serve", *self._words, "--port", port]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self) -> str:
        """Wait until the site listens, and return its address."""
        assert self.process.stdout is not None
        found = re.search(r"http://127.0.0.1:\d+", self.process.stdout.readline())
        if found is None:
            raise RuntimeError(self.process.communicate(timeout=10)[1])
        self.url = found.group()
        return self.url

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)

    def start_again(self) -> None:
        """Start the site at its old address, where another process may not listen."""
        url = self.url
        self.process = self._start(url.rpartition(":")[2])
        assert self.wait() == url


def write_site(folder: Path, number: int, table: pd.DataFrame, cuts: dict[str, Any]) -> list[str]:
    """Write the files of a site, and return the words of its command."""
    file = folder / f"site{number}.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.register("part", table)
        connection.execute("CREATE TABLE visits AS SELECT * FROM part")
    (folder / "cuts.json").write_text(json.dumps(cuts))
    (folder / "token").write_text(TOKEN + "\n")
    words = [f"{file}#visits", "--target", "again", "--min-count", "0", "--cuts", f"{folder}/cuts.json"]
    return [*words, "--token-file", f"{folder}/token", "--audit", f"{folder}/log{number}"]


def write_group(folder: Path, n_sites: int) -> list[list[str]]:
    """Write the keys of a group, and return the further words of each site."""
    files = [folder / f"key{number}" for number in range(n_sites)]
    keys = [public_key(read_group_key(file)).hex() for file in files]
    (folder / "group").write_text("\n".join(keys))
    return [["--group", f"{folder}/group", "--group-key", str(file)] for file in files]


@contextmanager
def started(commands: list[list[str]]) -> Iterator[list[SiteProcess]]:
    """Start sites, and end them."""
    sites: list[SiteProcess] = []
    try:
        sites += [SiteProcess(words) for words in commands]
        for site in sites:
            site.wait()
        yield sites
    finally:
        for site in sites:
            site.kill()


@contextmanager
def running_sites(folder: Path, n_sites: int, *, in_group: bool, n_started: int) -> Iterator[list[str]]:
    """Start some of the sites, and return their addresses."""
    from .test_remote import cuts, rows

    commands = [write_site(folder, number, rows().iloc[number::n_sites], cuts()) for number in range(n_sites)]
    if in_group:
        commands = [[*words, *more] for words, more in zip(commands, write_group(folder, n_sites))]
    with started(commands[:n_started]) as sites:
        yield [site.url for site in sites]
