"""Presses Ctrl-C while a command starts: `python -m tests.fuzz.start_up --moments 200`.

The command is started as a user does, and interrupted at a random moment of its first seconds. It must end with one
line and exit code 130. Before Python has read its first file of tremula nothing can be caught; such moments are not
counted, and must not show a line of tremula.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

START = "import sys; from tremula.cli.entry import run_and_ignore_later_interrupts as run; run()"
WORDS = ("compare", "iris", "--methods", "c45", "--cv", "2", "--out", ".")
INTERRUPTED = 130
MOST_SECONDS = 300.0


def start(folder: str) -> subprocess.Popen[str]:
    """Start the command, with Ctrl-C as in a terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", START, *WORDS],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def interrupt(folder: str, moment: float) -> tuple[int, str]:
    """Interrupt the command after some seconds, and return its exit code and what it said."""
    process = start(folder)
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=MOST_SECONDS)
    return process.returncode, words


def is_of_python(code: int, words: str) -> bool:
    """Whether Python itself was interrupted, before it had read a file of tremula."""
    return code in (-signal.SIGINT, 1) and "tremula/" not in words and "tremula:" not in words


def run(n_moments: int, seconds: float, seed: int = 0) -> dict[str, Any]:
    """Interrupt the command at so many moments, or for a time, and return the counts."""
    counts, before, begin, draw = {"moments": 0, "completed": 0, "faults": 0}, 0, time.monotonic(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        start(folder).communicate()
        first = time.monotonic()
        start(folder).communicate()
        length = time.monotonic() - first
        while counts["moments"] < n_moments and time.monotonic() < begin + seconds:
            code, words = interrupt(folder, draw.uniform(0.0, 0.6 * length))
            if is_of_python(code, words):
                before += 1
                continue
            counts["moments"] += code != 0
            counts["completed"] += code == 0
            if code != 0 and (code, words.count("interrupted"), "Traceback" in words) != (INTERRUPTED, 1, False):
                counts["faults"] += 1
                print(f"exit code {code}: {words[-600:]!r}", flush=True)
    print(f"{before} moments were before Python had read tremula", flush=True)
    return {"job": "start", "signal": "int", **counts, "seconds": round(time.monotonic() - begin)}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file for the counts")
    options = parser.parse_args()
    counted = run(options.moments, options.seconds, options.seed)
    print(counted)
    if options.out is not None:
        options.out.write_text(json.dumps([counted], indent=1) + "\n")
    sys.exit(1 if counted["faults"] else 0)


if __name__ == "__main__":
    main()
