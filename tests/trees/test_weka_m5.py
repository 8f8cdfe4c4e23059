"""Against Weka's M5P: the same rules and answers where the rules are the same, else the reason and its effect.

Every difference is listed in `tests/golden/weka_m5_differences.csv`; ``pytest --rewrite-golden`` writes it anew. The
diabetes rows of scikit-learn are compared always, the other datasets where their folder is.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from tremula import M5Regressor

pytestmark = pytest.mark.outside

with gzip.open(Path(__file__).parents[1] / "golden" / "weka_m5.json.gz") as file:
    DATASETS = json.load(file)["datasets"]
BUNDLED = "sklearn-diabetes"
LEARNERS = {
    "pruned": M5Regressor(),
    "pruned_unsmoothed": M5Regressor(smoothing=0),
    "unpruned": M5Regressor(prune=False),
    "unpruned_unsmoothed": M5Regressor(prune=False, smoothing=0),
}
MERITS, LEVELS = "splits of equal merit", "levels of equal mean target"
LEVELS_TIED = ("pharynx",)
COLUMNS = (
    *("dataset", "run", "rule", "rules", "rules_weka", "rows_different"),
    *("error", "error_weka", "error_weka_lowest", "error_weka_highest"),
)


class Rows(NamedTuple):
    """A dataset divided as the golden file says."""

    X: pd.DataFrame
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray


def divide(name: str, X: pd.DataFrame, y: Any) -> Rows:
    rows = np.arange(DATASETS[name]["n_rows"])
    return Rows(X.iloc[rows], np.asarray(y, dtype=float)[rows], rows[rows % 3 != 2], rows[rows % 3 == 2])


class Comparison(NamedTuple):
    """What tremula makes of a run, beside Weka's."""

    n_rules: int
    share_different: float
    error: float

    def is_same(self, stored: dict[str, Any]) -> bool:
        return self.n_rules == stored["n_rules"] and self.share_different == 0.0


def compare(rows: Rows, run: str, stored: dict[str, Any]) -> Comparison:
    X, y, train, test = rows
    learner = LEARNERS[run].fit(X.iloc[train], y[train])
    answers = learner.predict(X.iloc[test])
    weka = np.array(stored["predictions"])
    is_far = np.abs(answers[: len(weka)] - weka) > 1e-6 * np.maximum(np.abs(weka), 1e-3 * y.std())
    spread = np.sum((y[test] - y[train].mean()) ** 2)
    return Comparison(learner.get_n_leaves(), is_far.mean(), 100 * np.sqrt(np.sum((answers - y[test]) ** 2) / spread))


@pytest.mark.parametrize("run", LEARNERS)
def test_diabetes_is_the_same(run: str) -> None:
    stored = DATASETS[BUNDLED]["runs"][run]
    assert compare(divide(BUNDLED, *load_diabetes(return_X_y=True, as_frame=True)), run, stored).is_same(stored)


@pytest.fixture(scope="session")
def differences(load_dataset: Callable[[str], tuple[pd.DataFrame, pd.Series]]) -> list[dict[str, Any]]:
    """Every run that is not Weka's, as the golden table tells it."""
    found = []
    for name in DATASETS.keys() - {BUNDLED}:
        rows = divide(name, *load_dataset(name))
        for run, stored in DATASETS[name]["runs"].items():
            ours = compare(rows, run, stored)
            if not ours.is_same(stored):
                found.append(describe(name, run, ours, stored))
    return sorted(found, key=lambda each: (each["dataset"], each["run"]))


def describe(name: str, run: str, ours: Comparison, stored: dict[str, Any]) -> dict[str, Any]:
    rule = LEVELS if name in LEVELS_TIED else MERITS
    errors = [ours.error, stored["test_rrse"], *stored["rrse_in_other_units"]]
    share = f"{ours.share_different:.3f}"
    return dict(zip(COLUMNS, [name, run, rule, ours.n_rules, stored["n_rules"], share, *(f"{e:.2f}" for e in errors)]))


@pytest.mark.data
def test_the_differences_are_those_listed(
    differences: list[dict[str, Any]], assert_golden: Callable[[str, str], None]
) -> None:
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(differences)
    assert_golden("weka_m5_differences.csv", text.getvalue())


@pytest.mark.data
def test_weka_itself_differs_where_tremula_does(differences: list[dict[str, Any]]) -> None:
    """Told the target in another unit, Weka gives other answers there."""
    merits = [each for each in differences if each["rule"] == MERITS]
    assert all(DATASETS[each["dataset"]]["runs"][each["run"]]["rounding_matters"] for each in merits)


@pytest.mark.data
@pytest.mark.parametrize("name", LEVELS_TIED)
def test_levels_have_equal_means_where_that_is_the_reason(name: str, load_dataset: Callable[[str], Any]) -> None:
    X, y, train, _ = divide(name, *load_dataset(name))
    tied = 0
    for column in X.select_dtypes("category"):
        means = pd.Series(y[train]).groupby(X[column].iloc[train].to_numpy()).mean()
        tied += int(means.duplicated().sum())
    assert tied > 0
