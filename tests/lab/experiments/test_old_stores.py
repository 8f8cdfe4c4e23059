"""Stores written before `Result` replaced its predecessors are still read and resumed, and keys have not changed.

`tests/golden/README.md` describes the two golden files.
"""

import gzip
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tremula import __version__
from tremula.lab.comparison.analyses.run import run_analyses
from tremula.lab.comparison.cross_validation import cross_validate
from tremula.lab.comparison.methods import choose_methods
from tremula.lab.datasets import load_dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.run import run_experiment
from tremula.lab.experiments.store import Store
from tremula.lab.papers import load_paper

GOLDEN = Path(__file__).parents[2] / "golden"
KEYS = json.loads((GOLDEN / "experiment_keys.json").read_text(encoding="utf-8"))
CELLS = [Cell("coin", "guessing", toss) for toss in range(4)]


def toss(cell: Cell) -> Outcome:
    return Outcome({"heads": 0.5})


TOSSES = Experiment("tosses", {"seed": 0}, CELLS, toss)


@pytest.fixture
def old_store(tmp_path: Path) -> Store:
    """An old store, labelled with this version of tremula: results of other versions would be measured again."""
    path = tmp_path / "results.duckdb"
    path.write_bytes(gzip.decompress((GOLDEN / "store_0.1.0.dev0.duckdb.gz").read_bytes()))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE results SET tremula = ?", [__version__])
    return Store(path)


def test_an_old_store_is_read(old_store: Store) -> None:
    first, second, failed = old_store.results(TOSSES, with_predictions=True)
    assert [result.cell for result in (first, second, failed)] == CELLS[:3]
    assert first.values["heads"] == 1.0
    assert math.isnan(first.values["share"])
    outcome = first.outcome
    assert (outcome.n_test, outcome.fit_seconds, outcome.predict_seconds, outcome.size) == (3, 0.5, 0.25, 7)
    assert (outcome.seed, first.tremula, first.failure) == (11, __version__, None)
    assert outcome.predictions is not None
    assert outcome.predictions.tolist() == ["yes", "no", "yes"]
    assert second.outcome == Outcome({"heads": 0.0}, 3, 0.75, 0.125, seed=12)
    assert (failed.failure, failed.traceback) == ("ValueError: the coin was lost", "Traceback: lost")
    assert failed.outcome == Outcome({})


def test_an_old_store_is_resumed(old_store: Store) -> None:
    assert old_store.pending(TOSSES) == CELLS[3:]
    results = run_experiment(TOSSES, old_store)
    assert [result.values.get("heads") for result in results] == [1.0, 0.0, None, 0.5]


def test_an_old_comparison_is_not_measured_again(old_store: Store) -> None:
    frame = old_store.frame()
    iris, methods = load_dataset("iris"), choose_methods(["c45"])
    cross_validate(methods, iris, folds=3, store=old_store, progress=False)
    run_analyses(iris, methods, store=old_store, progress=False)
    assert set(frame["experiment"]) == {"tosses", "cross-validation", "closer/bias and variance", "closer/noise"}
    now = old_store.frame()
    is_old = now["experiment"].isin(frame["experiment"])
    assert now.loc[is_old, frame.columns].reset_index(drop=True).equals(frame)
    assert set(now["experiment"][~is_old]) == {"closer/attributes"}  # which old comparisons did not have


def key_of(name: str, part: str, budget: Any) -> list[Any]:
    (chosen,) = [each for each in load_paper(name).parts if each.name == part]
    experiment = chosen.experiment("default").stand_in if budget == "stand-in" else chosen.experiment(budget)
    assert experiment is not None
    cells = json.dumps([[cell.dataset, cell.method, cell.split] for cell in experiment.cells])
    return [experiment.fingerprint, len(experiment.cells), hashlib.sha256(cells.encode()).hexdigest()[:16]]


@pytest.mark.parametrize("part", KEYS)
def test_keys_of_papers_have_not_changed(part: str) -> None:
    assert key_of(*part.split("/")) == KEYS[part]
