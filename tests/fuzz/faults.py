"""Kills commands at random moments: `python -m tests.fuzz.faults --moments 200`, or `--signal int` for Ctrl-C.

After each kill the files must be whole, and what was stored before must still be stored; the same command is then run
again in the same folder, to be killed again, until it ends by itself. Its files must then be those of a run that nobody
disturbed. A moment counts only if the command was still running.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

# Processes start from one that has imported the commands: the moments are then moments of work, not of imports.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.fuzz.fault_jobs"])
ROOT = str(Path(__file__).parents[2])
KILL, INTERRUPT = "kill", "int"
SIGNALS = {KILL: signal.SIGKILL, INTERRUPT: signal.SIGINT}
INTERRUPTED = 130
MOST_SECONDS = 300.0  # after which a process hangs; the machine may be busy


def start_server() -> None:
    """Start the process that others start from, which finds the tests wherever this one was started."""
    given = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([ROOT, given] if given else [ROOT])
    if ROOT not in sys.path:
        sys.path.append(ROOT)
    try:
        forkserver.ensure_running()
    finally:
        if given is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = given


class Disturbance:
    """Runs one job again and again in a folder, and disturbs it.

    Attributes
    ----------
    counts : Counter
        Moments, runs that ended by themselves, and faults.
    faults : list of str
    """

    def __init__(self, job: str, signal_name: str, seed: int = 0) -> None:
        self.job, self.signal_name = job, signal_name
        self.draw = random.Random(f"{job} {seed}")
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        start_server()
        self._place = tempfile.TemporaryDirectory()
        self.expected = Path(self._place.name) / "expected"
        self.folder = Path(self._place.name) / "disturbed"
        self.seconds = self._run_undisturbed()

    def __enter__(self) -> Disturbance:
        return self

    def __exit__(self, *_: Any) -> None:
        self._place.cleanup()

    def _run_undisturbed(self) -> float:
        """Return how long the job takes, and keep its files."""
        seconds = 0.0
        for _ in range(2):  # the first time fills caches
            shutil.rmtree(self.expected, ignore_errors=True)
            self._prepare(self.expected)
            process, begin = self._start(self.expected), time.monotonic()
            process.join(MOST_SECONDS)
            seconds = time.monotonic() - begin
            if process.exitcode != 0:
                raise RuntimeError(f"{self.job} does not run: exit code {process.exitcode}, {said(self.expected)}")
        return seconds

    def _prepare(self, folder: Path) -> None:
        folder.mkdir()
        self._call("prepare", folder)

    def _start(self, folder: Path) -> BaseProcess:
        from .fault_jobs import run_job

        process = SERVER.Process(target=run_job, args=(self.job, "run", str(folder), str(self.expected)))
        process.start()
        return process

    def _call(self, step: str, folder: Path) -> str | None:
        """Run a step of the job in a process of its own, and return what is wrong."""
        from .fault_jobs import run_job

        process = SERVER.Process(target=run_job, args=(self.job, step, str(folder), str(self.expected)))
        process.start()
        process.join(MOST_SECONDS)
        return None if process.exitcode == 0 else f"{step}: {said(folder)[-600:]}"

    def disturb(self, n_moments: int, until: float = float("inf")) -> None:
        """Disturb the job at so many moments, or until a time."""
        while self.counts["moments"] < n_moments and time.monotonic() < until and not self.faults:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._prepare(self.folder)
            ended = False
            while not ended and self.counts["moments"] < n_moments and time.monotonic() < until and not self.faults:
                ended = self._disturb_once()
            if not ended:  # what is left must be there to go on with
                process = self._start(self.folder)
                process.join(MOST_SECONDS)
                self._judge(process.exitcode == 0, f"the next run ended with code {process.exitcode}")
            self.counts["completed"] += 1
            self._note(self._call("compare", self.folder))

    def _disturb_once(self) -> bool:
        """Run the job and disturb it; return whether it had ended."""
        (self.folder / "began").unlink(missing_ok=True)
        process = self._start(self.folder)
        while not (self.folder / "began").exists() and process.exitcode is None:
            process.join(0.002)
        moment = self.draw.uniform(0.0, 1.2 * self.seconds)
        process.join(moment)
        if process.exitcode is None and process.pid is not None:
            os.kill(process.pid, SIGNALS[self.signal_name])
            process.join(MOST_SECONDS)
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGUSR1)
                time.sleep(1.0)
                self._note(f"it hangs: {said(self.folder)[-3000:]}")
                process.kill()
                process.join()
        if process.exitcode == 0:
            return True
        self.counts["moments"] += 1
        if self.signal_name == INTERRUPT:
            words = said(self.folder)
            self._judge(process.exitcode == INTERRUPTED, f"exit code {process.exitcode}: {words[-600:]}")
            self._judge(words.count("interrupted") == 1 and "Traceback" not in words, f"it said {words[-600:]!r}")
        else:
            self._judge(process.exitcode == -signal.SIGKILL, f"exit code {process.exitcode}: {said(self.folder)}")
        self._note(self._call("check", self.folder))
        return False

    def _judge(self, is_right: bool, fault: str) -> None:
        self._note(None if is_right else fault)

    def _note(self, fault: str | None) -> None:
        if fault is not None:
            self.counts["faults"] += 1
            self.faults.append(fault)
            print(f"{self.job}, {self.signal_name}, moment {self.counts['moments']}: {fault}", flush=True)


def said(folder: Path) -> str:
    """Return what the last process of a folder wrote to standard error."""
    path = folder / "stderr.txt"
    return path.read_text() if path.exists() else ""


def run(jobs: list[str], signal_name: str, n_moments: int, seconds: float, seed: int = 0) -> list[dict[str, Any]]:
    """Disturb each job for an equal part of the time, and return the counts."""
    runs = []
    for job in jobs:
        begin = time.monotonic()
        with Disturbance(job, signal_name, seed) as disturbance:
            disturbance.disturb(n_moments, begin + seconds / len(jobs))
            counts = {name: disturbance.counts[name] for name in ("moments", "completed", "faults")}
        runs.append({"job": job, "signal": signal_name, **counts, "seconds": round(time.monotonic() - begin)})
        print(runs[-1], flush=True)
    return runs


def main() -> None:
    """Run the command."""
    from .fault_jobs import COMMANDS, JOBS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200, help="moments for each job")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most so long, for all jobs together")
    parser.add_argument("--signal", choices=list(SIGNALS), default=KILL)
    parser.add_argument("--jobs", default=",".join(JOBS), help="jobs to disturb, comma-separated")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments")
    parser.add_argument("--out", type=Path, help="JSON file for the counts")
    options = parser.parse_args()
    jobs = [job for job in options.jobs.split(",") if options.signal == KILL or job in COMMANDS]
    runs = run(jobs, options.signal, options.moments, options.seconds, options.seed)
    if options.out is not None:
        options.out.write_text(json.dumps(runs, indent=1) + "\n")
    sys.exit(1 if any(run["faults"] for run in runs) else 0)


if __name__ == "__main__":
    main()
