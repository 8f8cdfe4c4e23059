"""Loads mutated model files and asks what loads: `python -m tests.fuzz.fuzz_files --seconds 60`.

Mutated inputs are numbered; a number always gives the same input, so `--only NUMBER` shows a finding again. Inputs run
in a process that is forked from this one, which has imported everything: a crash ends that process, is noted, and the
next input goes on in another.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import tremula as tm
from tremula.errors import TremulaError

from .archive import load_parts
from .mutator import changed_parts, mutate
from .questions import all_questions
from .stored_models import write_models

FORK = multiprocessing.get_context("fork")
IN_MEMORY = Path("/dev/shm")  # files of each input are written there, if the machine has it
IN_FILES = 0.1  # share of the inputs that are written to a file; the others are loaded from its parts
MANY_QUESTIONS = 0.003  # share of the models that are asked many questions one after the other, the others one or two
MEBIBYTE = 2**20
MAX_SECONDS = 2.0  # processor time of one load or one question
MAX_GROWTH = 300  # MiB that one input of a few kilobytes may add to the peak of the process
STUCK_AFTER = 300.0  # seconds without progress, after which a process is ended; the machine may be busy
CLEAR = (TremulaError, NotFittedError)


def load_input(contents: list[bytes], number: int, path: Path) -> Any:
    """Load the mutated model of a number, by way of a file or without."""
    draw = random.Random(number)
    content = draw.choice(contents)
    if draw.random() >= IN_FILES:
        return load_parts(changed_parts(content, contents, draw))
    path.write_bytes(mutate(content, contents, draw))
    return tm.load(path)


class Findings:
    """What one process saw: how many inputs, how they ended, and what should not have happened."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.answers: collections.Counter[str] = collections.Counter()
        self.faults: dict[str, tuple[int, str]] = {}
        self.peak = peak_memory()

    def fault(self, kind: str, number: int, details: str) -> None:
        """Note a fault, once for each kind."""
        self.counts["faults"] += 1
        self.faults.setdefault(kind, (number, details))

    def try_input(self, contents: list[bytes], number: int, folder: Path, all_of_them: bool) -> None:
        """Load one input and ask what loads."""
        self.counts["inputs"] += 1
        loaded, model = self._call("load", number, lambda: load_input(contents, number, folder / "input.tremula"))
        if not loaded:
            self.counts["refused"] += 1
        else:
            self.counts["loaded"] += 1
            self._ask(model, number, all_of_them)
        peak = peak_memory()
        if peak - self.peak > MAX_GROWTH:
            self.fault("memory", number, f"the peak of memory grew by {peak - self.peak} MiB")
        self.peak = peak

    def _ask(self, model: Any, number: int, all_of_them: bool) -> None:
        draw, numbers = random.Random(number), np.random.default_rng(number)
        made, questions = self._call("list questions", number, lambda: all_questions(model, numbers))
        if not made:
            return
        chosen = list(questions) if all_of_them else _drawn(list(questions), draw)
        for name in chosen:
            self.counts["questions"] += 1
            answered, _ = self._call(name, number, questions[name])
            self.answers[name] += answered

    def _call(self, name: str, number: int, question: Any) -> tuple[bool, Any]:
        start = time.process_time()
        answer, succeeded = None, False
        try:
            answer, succeeded = question(), True
        except CLEAR:
            pass
        except Exception as error:
            text = traceback.format_exc()
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.fault(f"{name}: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}", number, text)
        seconds = time.process_time() - start
        if seconds > MAX_SECONDS:
            self.fault(f"{name}: slow", number, f"{seconds:.1f} s")
        return succeeded, answer


def _drawn(names: list[str], draw: random.Random) -> list[str]:
    """Draw the questions to ask: one, each group of alike ones with the same chance, and often `predict` before it."""
    if draw.random() < MANY_QUESTIONS:
        return [name for name in names if name == "predict" or draw.random() < 0.3]
    group = draw.choice(sorted({name.split()[0] for name in names} - {"predict"}))
    drawn = draw.choice([name for name in names if name.split()[0] == group])
    return ["predict", drawn] if "predict" in names and draw.random() < 0.5 else [drawn]


def peak_memory() -> int:
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def work(folder: Path, contents: list[bytes], first: int, seconds: float, n_inputs: int) -> None:
    """Try inputs from a number on, and write what was found to a file; this runs in a process of its own."""
    os.dup2(os.open(folder / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    gc.freeze()  # what was imported is not gone through again and again
    if not os.environ.get("ASAN_OPTIONS"):
        resource.setrlimit(resource.RLIMIT_AS, (8192 * MEBIBYTE,) * 2)
    findings, number, end = Findings(), first, time.monotonic() + seconds
    progress = os.open(folder / "progress", os.O_WRONLY | os.O_CREAT)
    while number == first or (time.monotonic() < end and number < first + n_inputs):
        os.pwrite(progress, f"{number:20d}".encode(), 0)
        findings.try_input(contents, number, folder, all_of_them=n_inputs == 1)
        number += 1
    found = {"counts": findings.counts, "answers": findings.answers, "faults": findings.faults, "next": number}
    (folder / "found.json").write_text(json.dumps(found))


def run(seconds: float, first: int, batch: int, out: Path | None = None) -> dict[str, Any]:
    """Try inputs for a time, in processes of their own, and return what was found; `out` has it after each process."""
    start = time.monotonic()
    total: collections.Counter[str] = collections.Counter()
    answers: collections.Counter[str] = collections.Counter()
    faults: dict[str, Any] = {}
    tempfile.tempdir = str(IN_MEMORY) if os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "models").mkdir()
        contents = [path.read_bytes() for path in write_models(folder / "models")]
        number, end, found = first, time.monotonic() + seconds, {}
        while time.monotonic() < end:
            result = _run_batch(folder, contents, number, end - time.monotonic(), batch)
            total.update(result["counts"])
            answers.update(result["answers"])
            for kind, fault in result["faults"].items():
                if kind not in faults:
                    faults[kind] = fault
                    print(f"fault in input {fault[0]}: {kind}", flush=True)
            number = result["next"]
            found = {"first": first, "next": number, "counts": total, "answers": answers, "faults": faults}
            found["seconds"] = round(time.monotonic() - start)
            if out is not None:
                out.write_text(json.dumps(found, indent=1) + "\n")
    return found


def _run_batch(folder: Path, contents: list[bytes], first: int, seconds: float, batch: int) -> dict[str, Any]:
    """Run one process; if it dies or is stuck, its last input is a fault."""
    (folder / "progress").write_bytes(b"")
    process = FORK.Process(target=work, args=(folder, contents, first, seconds, batch))
    process.start()
    last, since = b"", time.monotonic()
    while process.exitcode is None:
        process.join(2.0)
        seen = (folder / "progress").read_bytes()
        if seen != last:
            last, since = seen, time.monotonic()
        elif time.monotonic() - since > STUCK_AFTER:
            process.kill()
    if process.exitcode == 0:
        return dict(json.loads((folder / "found.json").read_text()))
    number = int((folder / "progress").read_bytes() or first)
    kind = f"crash, code {process.exitcode}"
    n_inputs = number - first + 1
    details = (folder / "stderr.txt").read_text(errors="replace")[-6000:]
    places = [line.split("tremula/")[-1] for line in details.splitlines() if ".pyx" in line or "_kernels" in line]
    return {
        "counts": {"inputs": n_inputs, "crashes": 1},
        "answers": {},
        "faults": {f"{kind} {places[:1]}": (number, details)},
        "next": number + 1,
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", type=int, help="number of the one input to try, in a process of its own")
    parser.add_argument("--batch", type=int, default=10_000, help="inputs of one process")
    parser.add_argument("--out", type=Path, help="JSON file for counts and faults")
    options = parser.parse_args()
    if options.only is not None:
        options.first, options.batch, options.seconds = options.only, 1, 1e-3
    result = run(options.seconds, options.first, options.batch, options.out)
    for kind, (number, details) in result["faults"].items():
        print(f"--- {kind} (input {number})\n{details}")
    print({name: value for name, value in result.items() if name not in ("faults", "answers")})
    sys.exit(1 if result["faults"] else 0)


if __name__ == "__main__":
    main()
