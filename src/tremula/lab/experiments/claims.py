"""Records in the store which runner is measuring which cell: a cell claimed by a living runner is left to it.

A runner on this machine is alive as long as its process is. A runner on another machine is alive as long as its
heartbeat counter keeps changing: clocks of two machines are never compared.
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

BEAT_SECONDS = 15.0  # how often a runner shows that it is alive
WATCH_SECONDS = 120.0  # how long a runner on another machine may be silent
RUNNING: set[str] = set()  # the runners of this process

SCHEMA = """
CREATE TABLE runners (runner VARCHAR, host VARCHAR, pid BIGINT, started VARCHAR, beat BIGINT);
CREATE TABLE claims (
    runner VARCHAR, experiment VARCHAR, tremula VARCHAR, dataset VARCHAR, method VARCHAR, split BIGINT
);
"""


def this_host() -> str:
    """Return a name for the machine; containers with the same host name but other processes get different names."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def process_start(pid: int) -> str:
    """Return the start time of a process in system ticks: it distinguishes the process from a later one with its id."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def process_lives(pid: int, started: str) -> bool:
    """Return whether the process with this start time is still running.

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
        pass  # it exists and belongs to another user
    return process_start(pid) == started


@dataclass
class Runner:
    """A run that measures cells, registered in the store so that other runs see it."""

    name: str = field(default_factory=lambda: secrets.token_hex(8))
    host: str = field(default_factory=this_host)
    pid: int = field(default_factory=os.getpid)
    silent_since: dict[tuple[str, int], float] = field(default_factory=dict)

    def enter(self, connection: Any) -> None:
        """Register the runner, unless it is registered already."""
        RUNNING.add(self.name)
        if not connection.execute("SELECT 1 FROM runners WHERE runner = ?", [self.name]).fetchone():
            row = [self.name, self.host, self.pid, process_start(self.pid)]
            connection.execute("INSERT INTO runners VALUES (?, ?, ?, ?, 0)", row)

    def beat(self, connection: Any) -> None:
        """Show that the runner is alive."""
        connection.execute("UPDATE runners SET beat = beat + 1 WHERE runner = ?", [self.name])

    def leave(self, connection: Any) -> None:
        """Release all its cells."""
        remove_runners(connection, [self.name])

    def living_others(self, connection: Any) -> set[str]:
        """Return the names of the other living runners, and remove the dead ones."""
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
    """Remove runners and their claims."""
    for name in names:
        connection.execute("DELETE FROM claims WHERE runner = ?", [name])
        connection.execute("DELETE FROM runners WHERE runner = ?", [name])


def claimed_by(connection: Any, experiment: str, tremula: str, runners: Iterable[str]) -> set[Cell]:
    """Return the cells of an experiment that these runners have claimed."""
    query = "SELECT runner, dataset, method, split FROM claims WHERE experiment = ? AND tremula = ?"
    names = set(runners)
    return {Cell(*row[1:]) for row in connection.execute(query, [experiment, tremula]).fetchall() if row[0] in names}
