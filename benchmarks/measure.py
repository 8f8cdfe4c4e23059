"""How benchmarks measure: peers take turns in one process, the best try counts; memory in a process of its own each."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "RESULTS.md"


def take_turns(jobs: dict[str, Callable[[], Any]], seconds: float = 2.0, least: int = 3) -> dict[str, float]:
    """Best processor time of each job; all are run once a round, for so many rounds or seconds."""
    best = dict.fromkeys(jobs, float("inf"))
    start, rounds = time.perf_counter(), 0
    while rounds < least or time.perf_counter() - start < seconds:
        for name, job in jobs.items():
            begin = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - begin)
        rounds += 1
    return best


def per_call(job: Callable[[], Any], seconds: float = 0.5) -> float:
    """Mean wall time of a job that is over in microseconds; the best of five series."""
    series, n = [], 10
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(n):
            job()
        series.append((time.perf_counter() - begin) / n)
        n = max(10, int(seconds / 5 / series[-1]))
    return min(series)


PEAK_PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
{code}

def kilobytes(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))

prepared = prepare()
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = kilobytes("VmRSS")
result = work(prepared)
print(json.dumps((kilobytes("VmHWM") - before) / 1024))
"""


def peak_memory(code: str) -> float:
    """Run Python code that defines `prepare()` and `work(prepared)`: megabytes that `work` needed at its peak."""
    program = PEAK_PROGRAM.format(folder=str(Path(__file__).parent), code=code)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


def table(header: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def environment(*packages: str) -> str:
    """Versions, for the line below a table."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {versions}; {processor()}"


def processor() -> str:
    """Name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def store(title: str, text: str) -> None:
    """Put a section into RESULTS.md in place of the one of the same title."""
    old = RESULTS.read_text() if RESULTS.exists() else "# Results\n\nEach section is written by the command it names.\n"
    head, *sections = old.split("\n## ")
    kept = [section for section in sections if not section.startswith(title + "\n")]
    RESULTS.write_text("\n## ".join([head.rstrip() + "\n", *(s.rstrip() + "\n" for s in kept), f"{title}\n\n{text}\n"]))
