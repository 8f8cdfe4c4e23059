"""Who is measuring which cell, written in the store itself: a cell that a living runner has claimed is left to it.

A runner on this machine lives as long as its process. One on another machine lives as long as its beat changes while
it is watched: no two clocks are ever compared.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tremula.lab.experiments.cell import Cell

BEAT_SECONDS = 15.0  # how often a runner shows that it lives
WATCH_SECONDS = 120.0  # how long a runner elsewhere may be silent
RUNNING: set[str] = set()  # the runners of this process

SCHEMA = """
CREATE TABLE runners (runner VARCHAR, host VARCHAR, pid BIGINT, started VARCHAR, beat BIGINT);
CREATE TABLE claims (
    runner VARCHAR, experiment VARCHAR, tremula VARCHAR, dataset VARCHAR, method VARCHAR, split BIGINT
);
"""


def this_host() -> str:
    """Return a name of the machine; containers that share the name but not the processes get one each."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def process_start(pid: int) -> str:
    """Return when a process started, in the system's own ticks: it tells it from a later one of the same number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def process_lives(pid: int, started: str) -> bool:
    """Tell whether the process that started then still runs.

    Examples
    --------
    >>> import os
    >>> process_lives(os.getpid(), process_start(os.getpid()))
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, and not ours
    return process_start(pid) == started


@dataclass
class Runner:
    """One that measures, known to others by what it writes to the store."""

    name: str = field(default_factory=lambda: secrets.token_hex(8))
    host: str = field(default_factory=this_host)
    pid: int = field(default_factory=os.getpid)
    silent_since: dict[tuple[str, int], float] = field(default_factory=dict)

    def enter(self, connection: Any) -> None:
        """Write it down, unless it is there."""
        RUNNING.add(self.name)
        if not connection.execute("SELECT 1 FROM runners WHERE runner = ?", [self.name]).fetchone():
            row = [self.name, self.host, self.pid, process_start(self.pid)]
            connection.execute("INSERT INTO runners VALUES (?, ?, ?, ?, 0)", row)

    def beat(self, connection: Any) -> None:
        """Show that it lives."""
        connection.execute("UPDATE runners SET beat = beat + 1 WHERE runner = ?", [self.name])

    def leave(self, connection: Any) -> None:
        """Give all its cells back."""
        remove_runners(connection, [self.name])

    def living_others(self, connection: Any) -> set[str]:
        """Name the other runners that live, and remove those that do not."""
        rows = connection.execute("SELECT runner, host, pid, started, beat FROM runners").fetchall()
        living = {row[0] for row in rows if self._lives(*row)}
        remove_runners(connection, [row[0] for row in rows if row[0] not in living])
        return living - {self.name}

    def _lives(self, name: str, host: str, pid: int, started: str, beat: int) -> bool:
        if host == self.host:
            return name in RUNNING if pid == self.pid else process_lives(pid, started)
        now = time.monotonic()
        return now - self.silent_since.setdefault((name, beat), now) < WATCH_SECONDS


def remove_runners(connection: Any, names: Sequence[str]) -> None:
    """Remove runners and what they have claimed."""
    for name in names:
        connection.execute("DELETE FROM claims WHERE runner = ?", [name])
        connection.execute("DELETE FROM runners WHERE runner = ?", [name])


def claimed_by(connection: Any, experiment: str, tremula: str, runners: Iterable[str]) -> set[Cell]:
    """Return the cells of an experiment that these runners have claimed."""
    query = "SELECT runner, dataset, method, split FROM claims WHERE experiment = ? AND tremula = ?"
    wanted = set(runners)
    return {Cell(*row[1:]) for row in connection.execute(query, [experiment, tremula]).fetchall() if row[0] in wanted}
