"""Forests of all libraries: time, memory and error of fit, and time of predict, in one thread or two.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/forests.py --json runs.json [--task forest tree]
        [--tables letter adult] [--libraries tremula sklearn] [--members 100] [--turns 3] [--jobs 2] [--store]
    TREMULA_DATA=<folder> python benchmarks/forests.py --json runs.json --scaling [--most-rows 1000000] [--store]

Libraries that are not installed are left out: `pip install ".[bench,models,data,plot]" snapml onnxruntime skl2onnx`
has all but ranger, which needs Rscript. Every fit runs in a process of its own, or with `--together` all in one, which
starts sooner; libraries take turns on a table.
A measurement is stored in the JSON file at once, so that a run that was stopped goes on where it was; `--again
tremula` measures a library again. `--store` writes docs/results/forests.md, and what it is made of, from all that the
file has; with `--task` and no task after it nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cells import Cells
from forest_cell import measure_cell
from forest_libraries import LIBRARIES, TASKS
from forest_page import page_text, store_page
from forest_scaling import measure_scaling
from forest_tables import CLASSIFICATION, MADE, REGRESSION, kind_of
from measure import processor

FOLDER = Path(__file__).parent
LARGE, FEW_MEMBERS = 1_000_000, 20  # members where there are so many rows
LONG = 60.0  # seconds of a fit that is not repeated
MEMORY_SHARE = 0.75  # of the machine's, that one measurement may take
TABLES = {
    "forest": CLASSIFICATION + REGRESSION,
    "extra-trees": CLASSIFICATION + REGRESSION,
    "bagging": [name for name in CLASSIFICATION + REGRESSION if "1000000" not in name],
    "bagging-entropy": ["letter", "satimage", "pendigits", "waveform-5000"],
    "stumps": ["adult", "spambase", "ringnorm", "made-100000x30-2"],
    "boosting": ["letter", "satimage", "pendigits", "waveform-5000", "covtype-20k", "adult"],
    "tree": ["letter", "adult", "covtype-20k", "made-100000x30-7", "cal-housing", "fried", "mv"],
    "tree-entropy": ["letter", "adult"],
}


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    task: str
    table: str
    library: str
    members: int
    jobs: int = 1
    turn: int = 0
    predicts: bool = True
    series: str = ""  # of the scaling
    size: int = 0  # its place there

    @property
    def key(self) -> str:
        counts = [f"{self.members} members", f"{self.jobs} jobs", f"turn {self.turn}"]
        return " | ".join([self.series or self.task, self.table, self.library, *counts])


class Runner:
    """Measures cells that are not stored yet; a cell that fails or takes too long is stored as such."""

    def __init__(self, cells: Cells, limit: float, long: float = LONG, together: bool = False) -> None:
        self.cells = cells
        self.limit = limit
        self.long = long
        self.together = together
        self.commit = _commit()

    def measure(self, cell: Cell) -> dict[str, Any]:
        is_new = cell.key not in self.cells.known
        measured = self.cells.get(cell.key, lambda: asdict(cell) | self._measure(cell))
        if is_new:
            print(f"{cell.key}: {_in_words(measured)}", flush=True)
        return dict(measured)

    def take_turns(self, cells: list[Cell], turns: int) -> None:
        """Measure all cells once a turn; those that fail or take long once only."""
        waiting = cells
        for turn in range(turns):
            again = []
            for cell in waiting:
                measured = self.measure(Cell(**asdict(cell) | {"turn": turn}))
                if "error" in measured and (measured["wall"] or 0.0) < self.long:
                    again.append(cell)
            waiting = again

    def _measure(self, cell: Cell) -> dict[str, Any]:
        about = {"commit": self.commit, "load": round(os.getloadavg()[0], 1), "processor": processor()}
        if self.together:
            return measure_cell(asdict(cell) | {"predicts": False}) | {"memory": None} | about
        return run_cell(asdict(cell), self.limit) | about


def run_cell(cell: dict[str, Any], limit: float) -> dict[str, Any]:
    """Measure in a process of its own, which may take so many seconds and three quarters of the memory."""
    command = [sys.executable, str(FOLDER / "forest_cell.py"), json.dumps(cell)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(cell["jobs"]))
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | threads, preexec_fn=_limit_memory,
    )  # fmt: skip
    try:
        printed, errors = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return {"over": limit}
    finally:
        if child.poll() is None:  # also where the benchmark itself is stopped
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if child.returncode:
        last = [line for line in errors.splitlines() if line.strip()][-1:]
        return {"failure": f"code {child.returncode}: {''.join(last)[:200]}"}
    return dict(json.loads(printed.splitlines()[-1]))


def _limit_memory() -> None:
    """Let a library that asks for too much fail, rather than bring down the machine."""
    most = int(MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _in_words(measured: dict[str, Any]) -> str:
    if "error" not in measured:
        return next(f"{name} {measured[name]}" for name in ("failure", "over") if name in measured)
    if measured["seconds"] is None:
        return f"predicts {measured['n_test']} rows in {1e3 * measured['predict_seconds']:.1f} ms"
    memory = "" if measured["memory"] is None else f", {measured['memory']:.0f} MB"
    return f"{measured['seconds']:.2f} s, error {measured['error']:.2f} %{memory}"


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=FOLDER, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def members_on(table: str, members: int | None) -> int:
    if members is not None:
        return members
    made = MADE.fullmatch(table)
    return FEW_MEMBERS if made and int(made[1]) >= LARGE else 100


def chosen_libraries(names: list[str] | None) -> list[str]:
    """Those named, or all that are installed; what is missing is printed."""
    wanted = names or [name for name, library in LIBRARIES.items() if library.is_default]
    missing = [name for name in wanted if not LIBRARIES[name].is_installed]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")
    return [name for name in wanted if name not in missing]


def measure_tasks(runner: Runner, options: argparse.Namespace, libraries: list[str]) -> None:
    for task in options.task:
        for table in options.tables or TABLES[task]:
            members = 1 if task.startswith("tree") else members_on(table, options.members)
            able = [library for library in libraries if LIBRARIES[library].does(task, kind_of(table))]
            cells = [
                Cell(task, table, library, members, jobs, predicts=jobs == 1)
                for library in able
                for jobs in range(1, options.jobs + 1)
                if jobs == 1 or LIBRARIES[library].is_trained
            ]
            runner.take_turns(cells, options.turns)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time forests of all libraries.")
    parser.add_argument("--json", type=Path, help="file of the measurements, read and added to")
    parser.add_argument("--task", nargs="*", choices=TASKS, default=list(TASKS))
    parser.add_argument("--tables", nargs="*", help="names of parquet files, or such as made-100000x30-7")
    parser.add_argument("--libraries", nargs="*", choices=list(LIBRARIES))
    parser.add_argument("--members", type=int, help=f"100, and {FEW_MEMBERS} of tables with {LARGE:,} rows")
    parser.add_argument("--turns", type=int, default=3, help=f"of a fit that takes less than {LONG:.0f} seconds")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="2: one and two threads")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds that one measurement may take")
    parser.add_argument(
        "--together", action="store_true", help="all fits in this process, without limit, memory and predictions"
    )
    parser.add_argument("--scaling", action="store_true", help="time against rows, attributes, classes and members")
    parser.add_argument("--most-rows", type=int, default=10_000_000, help="of the scaling")
    parser.add_argument("--again", nargs="*", choices=list(LIBRARIES), default=[], help="libraries to measure again")
    parser.add_argument("--store", action="store_true", help="write the page of the docs")
    options = parser.parse_args()
    if options.store and options.json is None:
        parser.error("--store needs --json FILE: the page is made of stored measurements")
    if options.store and options.together:
        parser.error("--store shows memory and predictions, which --together does not measure")
    return options


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = read_options()
    cells = Cells(options.json)
    for key in [key for key, cell in cells.known.items() if cell["library"] in options.again]:
        del cells.known[key]
    runner = Runner(cells, options.limit, together=options.together)
    libraries = chosen_libraries(options.libraries)
    if options.scaling:
        measure_scaling(runner, Cell, libraries, options.most_rows, options.turns)
    else:
        measure_tasks(runner, options, libraries)
    stored = list(cells.known.values())
    print(page_text(stored))
    if options.store:
        store_page(stored)


if __name__ == "__main__":
    main()
