"""Compares two installed versions of tremula: time of plain fit and predict, and size of models.

Both take turns, each in a process of its own, on the same generated tables; the best processor time of each counts.
Exits with 1 if the later version is slower or its models are larger by more than the ratios that are allowed.

    mkdir source && git archive COMMIT | tar x -C source && pip install --no-deps --target before ./source
    python benchmarks/before_and_after.py before
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import environment, store, table

TITLE = "Before and after"
SLOWER, LARGER = 1.15, 1.02
TIMES = ("fit", "predict", "one row")
N_SINGLE_ROWS = 100
LEAST_SECONDS = 0.03


def models() -> dict[str, Any]:
    """Return the models that are compared, with their defaults but for numbers of members."""
    import tremula as tm

    seeded = {"random_state": 0}
    return {
        "CART, classes": tm.CARTClassifier(),
        "CART, numbers": tm.CARTRegressor(),
        "C4.5": tm.C45Classifier(),
        "random forest, classes": tm.RandomForestClassifier(20, **seeded),
        "random forest, numbers": tm.RandomForestRegressor(10, **seeded),
        "extra trees, classes": tm.ExtraTreesClassifier(20, **seeded),
        "extra trees, numbers": tm.ExtraTreesRegressor(10, **seeded),
        "bagged CART": tm.BaggingClassifier(tm.CARTClassifier(), 10, **seeded),
        "bagged C4.5": tm.BaggingClassifier(n_estimators=5, **seeded),
        "bagged REPTree": tm.BaggingRegressor(n_estimators=5, **seeded),
        "Aspen, classes": tm.AspenClassifier(10, **seeded),
        "Aspen, numbers": tm.AspenRegressor(10, **seeded),
    }


def is_for_numbers(name: str) -> bool:
    """Return whether a model has a numeric target."""
    return "numbers" in name or name == "bagged REPTree"


def tables() -> dict[bool, Any]:
    """Return a table of classes and one of numbers, from the same generator for both versions."""
    from sklearn.datasets import make_classification, make_friedman1

    classes = make_classification(2000, 20, n_informative=8, random_state=0)
    return {False: classes, True: make_friedman1(2000, 10, random_state=0)}


# ---- in the process of one version


class Worker:
    """Runs what is asked for on standard input, and answers with seconds and bytes."""

    def __init__(self) -> None:
        self.models, self.tables = models(), tables()

    def __call__(self, name: str) -> dict[str, float]:
        """Measure a model once."""
        X, y = self.tables[is_for_numbers(name)]
        model = self.models[name]
        return {
            "fit": best_time(lambda: model.fit(X, y)),
            "predict": best_time(lambda: model.predict(X)),
            "one row": best_time(lambda: [model.predict(X[row : row + 1]) for row in range(N_SINGLE_ROWS)])
            / N_SINGLE_ROWS,
            "bytes": float(len(pickle.dumps(model))),
        }


def best_time(job: Callable[[], Any]) -> float:
    """Return the least processor time of a job, which is repeated if it is over soon."""
    best, start = float("inf"), time.process_time()
    while best == float("inf") or time.process_time() - start < LEAST_SECONDS:
        begin = time.process_time()
        job()
        best = min(best, time.process_time() - begin)
    return best


def work() -> None:
    """Answer until standard input ends."""
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker(line.strip())), flush=True)


# ---- in the process that compares

START = """
import sys
folder, place = sys.argv[1], sys.argv[2]
if folder:
    # An editable installation would come before the folder.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "MesonpyMetaFinder"]
    sys.path.insert(0, folder)
import tremula
print(tremula.__file__, flush=True)
sys.path.insert(1, place)
from before_and_after import work
work()
"""


@dataclass(frozen=True)
class Version:
    """A process with one version of tremula."""

    process: subprocess.Popen[str]
    path: str

    @classmethod
    def start(cls, folder: Path | None) -> Version:
        """Start the process; None takes the version of this environment."""
        given = "" if folder is None else str(folder.resolve())
        place = str(Path(__file__).parent)
        process = subprocess.Popen(
            [sys.executable, "-c", START, given, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        path = process.stdout.readline().strip()
        if not path or (given and not path.startswith(given)):
            raise SystemExit(f"{folder} has no tremula: {path or 'nothing'} was imported")
        return cls(process, path)

    def measure(self, name: str) -> dict[str, float]:
        """Measure a model once."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        answer: dict[str, float] = json.loads(self.process.stdout.readline())
        return answer

    def stop(self) -> None:
        """Stop the process."""
        self.process.communicate()


@dataclass(frozen=True)
class Comparison:
    """The least that each version needed of everything, for one model."""

    name: str
    before: dict[str, float]
    after: dict[str, float]

    def ratio(self, what: str) -> float:
        """Return what the later version needs for each unit of the earlier."""
        return self.after[what] / self.before[what]

    def findings(self, slower: float, larger: float) -> list[str]:
        """Say what exceeds the ratios that are allowed."""
        limits = {**dict.fromkeys(TIMES, slower), "bytes": larger}
        return [
            f"{self.name}: {what} takes {self.ratio(what):.2f} times as much as before, {limit} are allowed"
            for what, limit in limits.items()
            if self.ratio(what) > limit
        ]

    def row(self) -> list[str]:
        """Return a row of the table: what the earlier version needs, and the ratio."""
        units = {"fit": 1e3, "predict": 1e3, "one row": 1e6, "bytes": 1e-3}
        return [
            self.name,
            *(f"{self.before[what] * unit:.3g} ({self.ratio(what):.2f})" for what, unit in units.items()),
        ]


def compare(name: str, versions: tuple[Version, Version], turns: int) -> Comparison:
    """Let both versions take turns."""
    least: list[dict[str, float]] = [{}, {}]
    for turn in range(turns):
        for number in (0, 1) if turn % 2 else (1, 0):
            measured = versions[number].measure(name)
            least[number] = {what: min(value, least[number].get(what, value)) for what, value in measured.items()}
    return Comparison(name, *least)


def main() -> None:
    """Measure, print, and exit with 1 if something has become slower or larger."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="folder in which the earlier version is installed")
    parser.add_argument("--after", type=Path, help="folder of the later one; by default that of this environment")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--slower", type=float, default=SLOWER, help="allowed ratio of times")
    parser.add_argument("--larger", type=float, default=LARGER, help="allowed ratio of the sizes of models")
    parser.add_argument("--models", nargs="*", help="some of the models, by name")
    parser.add_argument("--store", help="what the earlier version is: the table goes into RESULTS.md")
    given = parser.parse_args()
    versions = Version.start(given.before), Version.start(given.after)
    compared = []
    for name in given.models or models():
        compared.append(compare(name, versions, given.turns))
        print(*compared[-1].row(), sep=" | ", flush=True)
    for version in versions:
        version.stop()
    findings = [finding for each in compared for finding in each.findings(given.slower, given.larger)]
    print(*findings or ["nothing has become slower or larger than is allowed"], sep="\n")
    if given.store:
        store(TITLE, page(compared, given.store, given))
    raise SystemExit(1 if findings else 0)


def page(compared: list[Comparison], earlier: str, given: argparse.Namespace) -> str:
    """Return the section of RESULTS.md."""
    header = ["model", "fit, ms (ratio)", "predict, ms (ratio)", "predict one row, µs (ratio)", "pickle, kB (ratio)"]
    findings = [finding for each in compared for finding in each.findings(given.slower, given.larger)]
    text = (
        f"Plain `fit` and `predict` of {earlier}, and in brackets what the present version needs for each unit of it. "
        f"Processor time, best of {given.turns} alternating turns, each version in a process of its own. 2,000 rows: "
        "make_classification with 20 attributes, make_friedman1 with 10. `python benchmarks/before_and_after.py` exits "
        f"with 1 if a time exceeds {given.slower} times the earlier one, or a size {given.larger} times."
    )
    verdict = "\n".join(f"- {finding}" for finding in findings) or "Nothing exceeds these limits."
    rows = [each.row() for each in compared]
    command = (
        "Command: `python benchmarks/before_and_after.py <folder of the earlier version> "
        f"--turns {given.turns} --store <what it is>`"
    )
    return "\n\n".join([text, table(header, rows), verdict, environment("tremula", "scikit-learn", "numpy"), command])


if __name__ == "__main__":
    main()
