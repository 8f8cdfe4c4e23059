"""What is killed, and what must hold afterwards.

Each job has a step that works, one that checks its files after a kill, and one that compares them with those of an
undisturbed run. A step gets the folder of the job and that of the undisturbed run; a failed check
is an `AssertionError`.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd

import tremula as tm
from tremula.cli.main import run as run_command
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store
from tremula.lab.papers import load_paper

assert duckdb
assert run_experiment
assert load_paper("variance_reduction")

Step = Callable[[Path, Path], None]
SEEN = "seen.json"  # what a check found stored, for the next one
BEGAN = "began"
PAPER = "variance_reduction"


class Job(NamedTuple):
    """The steps of a job."""

    prepare: Step
    run: Step
    check: Step
    compare: Step


def run_job(name: str, step: str, folder: str, expected: str) -> None:
    """Run one step of a job in this process, and leave with its exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell starts this in the background
    place = Path(folder)
    os.chdir(place)
    error = os.open(place / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    output = os.open(place / "stdout.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(error, 2)
    faulthandler.register(signal.SIGUSR1, file=error)  # shows where a process hangs
    os.dup2(output, 1)
    try:
        (place / BEGAN).touch()
        getattr(JOBS[name], step)(place, Path(expected))
    except SystemExit as leaving:
        sys.stdout.flush()
        os._exit(int(leaving.code or 0))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _nothing(folder: Path, expected: Path) -> None:
    pass


def _command(*words: str) -> Step:
    def step(folder: Path, expected: Path) -> None:
        run_command(list(words))

    return step


# --- what is stored ---


def stored_rows(path: Path) -> dict[str, dict[str, str]]:
    """Return every row of a store, by its cell: what was measured, when and by which process."""
    if not path.exists():
        return {}
    frame = Store(path).frame()
    if frame.empty:
        return {}
    cells = frame[["experiment", "settings", "dataset", "method", "split"]].astype(str).agg(" ".join, axis=1)
    assert cells.is_unique, "a cell is stored twice"
    rows = (row.dropna().astype(str).to_dict() for _, row in frame.iterrows())
    return dict(zip(cells, rows))


def check_store(path: Path, folder: Path) -> None:
    """What the last check found stored is stored still, measured once."""
    seen = json.loads((folder / SEEN).read_text()) if (folder / SEEN).exists() else {}
    now = stored_rows(path)
    lost = [cell for cell in seen if cell not in now]
    again = [cell for cell, row in seen.items() if cell in now and now[cell] != row]
    assert not lost, f"lost: {lost}"
    assert not again, f"measured again: {again}"
    (folder / SEEN).write_text(json.dumps(now))


def measured(path: Path) -> pd.DataFrame:
    """Return what a store has of each cell, without times and processes."""
    frame = Store(path).frame().sort_values(["experiment", "dataset", "method", "split"], ignore_index=True)
    timed = [name for name in frame.columns if "seconds" in name or name in ("pid", "host", "time", "measured_at")]
    return frame.drop(columns=timed)


# --- files ---


def is_model(path: Path) -> bool:
    """Whether a file is a model that loads; raise an error if it is there and does not load."""
    return path.exists() and tm.load(path) is not None


def same_bytes(folder: Path, expected: Path, *names: str) -> None:
    """Raise an error unless files are those of the undisturbed run."""
    differing = [name for name in names if (folder / name).read_bytes() != (expected / name).read_bytes()]
    assert not differing, f"not as in the undisturbed run: {differing}"


def old_or_new(folder: Path, expected: Path, *names: str) -> None:
    """Raise an error unless files are the old ones or those of the undisturbed run."""
    for name in names:
        content = (folder / name).read_bytes()
        known = [(folder / f"{name}.old").read_bytes()]
        known += [(expected / name).read_bytes()] if (expected / name).exists() else []
        assert content in known, f"{name} is neither the old file nor the new one"


def _is_page(path: Path) -> bool:
    return not path.exists() or path.read_text().rstrip().endswith("</html>")


# --- jobs ---


def _check_comparison(folder: Path, expected: Path) -> None:
    check_store(folder / "results.duckdb", folder)
    is_model(folder / "best.tremula")
    assert _is_page(folder / "report.html"), "half a page"


def _compare_comparison(folder: Path, expected: Path) -> None:
    _check_comparison(folder, expected)
    pd.testing.assert_frame_equal(measured(folder / "results.duckdb"), measured(expected / "results.duckdb"))
    same_bytes(folder, expected, "best.tremula")
    assert (folder / "report.html").exists()


def _write_old(*names: str) -> Step:
    def step(folder: Path, expected: Path) -> None:
        old = tm.CARTClassifier(max_depth=1).fit([[0.0], [1.0]], ["a", "b"])
        for name in names:
            tm.save(old, folder / name)
            tm.save(old, folder / f"{name}.old")
        numbers = np.random.default_rng(0)
        table = {"a": numbers.normal(size=200).round(2), "b": numbers.choice(list("xyz"), 200)}
        frame = pd.DataFrame(table | {"y": numbers.choice(["no", "yes"], 200)})
        frame.to_csv(folder / "rows.csv", index=False)

    return step


def _files(check: Callable[..., None], *names: str) -> Step:
    return lambda folder, expected: check(folder, expected, *names)


def _check_paper(folder: Path, expected: Path) -> None:
    check_store(folder / "reproduce.duckdb", folder)
    for page in (folder / "reproduced").rglob("*.csv"):
        assert page.read_bytes().endswith(b"\n"), f"half of {page}"


def _compare_paper(folder: Path, expected: Path) -> None:
    _check_paper(folder, expected)
    pd.testing.assert_frame_equal(measured(folder / "reproduce.duckdb"), measured(expected / "reproduce.duckdb"))
    names = [str(path.relative_to(expected)) for path in (expected / "reproduced").rglob("*.csv")]
    assert names
    same_bytes(folder, expected, *names)


N_SAVES = 60
SIZES = (40, 400, 90)


def _models() -> list[Any]:
    numbers = np.random.default_rng(0)
    return [tm.CARTRegressor().fit(numbers.normal(size=(n_rows, 2)), np.arange(n_rows)) for n_rows in SIZES]


def _prepare_saves(folder: Path, expected: Path) -> None:
    for number, model in enumerate(_models()):
        tm.save(model, folder / f"model{number}")
    tm.save(_models()[-1], folder / "model")


def _save_often(folder: Path, expected: Path) -> None:
    """Save one model after the other, and report each save that is done."""
    models = [tm.load(folder / f"model{number}") for number in range(len(SIZES))]
    with (folder / "done").open("w") as done:
        for number in range(N_SAVES):
            tm.save(models[number % len(SIZES)], folder / "model")
            done.write("x")
            done.flush()


def _check_saves(folder: Path, expected: Path) -> None:
    known = [(folder / f"model{number}").read_bytes() for number in range(len(SIZES))]
    number = known.index((folder / "model").read_bytes())  # ValueError: none of them
    n_done = len((folder / "done").read_text()) if (folder / "done").exists() else 0
    last, next_one = (n_done - 1) % len(SIZES), n_done % len(SIZES)
    assert number in (last, next_one), "a save that was reported is lost"
    (folder / "done").unlink(missing_ok=True)
    tm.save(tm.load(folder / f"model{len(SIZES) - 1}"), folder / "model")  # as before the first save


QUERY_FILES = ("model.tremula", "predict.sql")


def _check_query(folder: Path, expected: Path) -> None:
    """The ledger has what was asked, also if the command was interrupted; it is whole at any moment."""
    old_or_new(folder, expected, *QUERY_FILES)
    if (folder / "ledger.json").exists():
        assert all(json.loads(line) for line in (folder / "ledger.json").read_text().splitlines())


QUERY = ["query", "rows.csv", "--target", "y", "--members", "5", "--max-depth", "4", "--out", "model.tremula"]

JOBS: dict[str, Job] = {
    "compare": Job(
        _nothing,
        _command("compare", "iris", "--methods", "c45,bagging", "--cv", "5", "--out", ".", "--quick"),
        _check_comparison,
        _compare_comparison,
    ),
    "fit": Job(
        _write_old("model.tremula"),
        _command("fit", "iris", "--method", "bagging", "--out", "model.tremula"),
        _files(old_or_new, "model.tremula"),
        _files(same_bytes, "model.tremula"),
    ),
    "reproduce": Job(
        _nothing,
        _command("reproduce", PAPER, "--quick", "--only", "share"),
        _check_paper,
        _compare_paper,
    ),
    "save": Job(_prepare_saves, _save_often, _check_saves, _check_saves),
    "counts": Job(
        _write_old(*QUERY_FILES),
        _command(*QUERY, "--sql", "predict.sql", "--ledger", "ledger.json"),
        _check_query,
        _files(same_bytes, *QUERY_FILES),
    ),
}
COMMANDS = tuple(name for name in JOBS if name != "save")  # these say in one line that they were interrupted
