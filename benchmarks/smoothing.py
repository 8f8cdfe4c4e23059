"""Exact smoothing of trees of scikit-learn and XGBoost against plain prediction and Monte Carlo with 100 draws.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/smoothing.py [--store]

Everything runs in one thread, and processor time is measured; peers take turns in one process.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from measure import environment, store, table, take_turns
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier
from xgboost import __version__ as xgboost_version

from data import load
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model

NOISE = 0.2
LITTLE_NOISE = 1e-6
N_DRAWS = 100
N_TREES = 100
PRUNED = {"ccp_alpha": 1e-4}
NOTE = f"""scikit-learn's own forest of {N_TREES} fully grown trees (square root of the attributes at a node) or its
single tree, pruned by cost-complexity ({PRUNED}); XGBoost {xgboost_version}, {N_TREES} rounds of trees of depth 6 for
each class, predicting margins; noise of {NOISE} training standard deviations, and little noise of {LITTLE_NOISE};
one thread, processor time, best of several turns. Plain is `predict_proba`; Monte Carlo is the mean of {N_DRAWS} plain
predictions of rows with noise added (drawing it included). First call: what smoothing takes the first time, when it
turns the trees into steps; these are kept as long as the model. The error bound is a part of the range of the answers.
Letter: 16,000 rows to train on and 4,000 to predict; waveform: all 5,000 rows."""


@dataclass(frozen=True)
class Case:
    """A trained model, the rows to predict, and what is hoped for."""

    name: str
    estimator: RandomForestClassifier | DecisionTreeClassifier | XGBClassifier
    rows: np.ndarray
    scale: np.ndarray
    most_of_plain: float | None
    least_of_draws: float | None

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Plain prediction: class shares, or the margins of a booster."""
        if isinstance(self.estimator, XGBClassifier):
            return self.estimator.predict(rows, output_margin=True)
        return self.estimator.predict_proba(rows)


def make_cases() -> list[Case]:
    """Train the models."""
    letter, letter_codes = load("letter")
    train, test = slice(0, 16_000), slice(16_000, 20_000)
    waveform, waveform_codes = load("waveform-5000")

    def forest() -> RandomForestClassifier:
        return RandomForestClassifier(N_TREES, random_state=0, n_jobs=1)

    def tree() -> DecisionTreeClassifier:
        return DecisionTreeClassifier(random_state=0, **PRUNED)

    parts = (letter[train], letter_codes[train])
    scale, waveform_scale = letter[train].std(axis=0), waveform.std(axis=0)
    booster = XGBClassifier(n_estimators=N_TREES, n_jobs=1)
    return [
        Case("letter, forest", forest().fit(*parts), letter[test], scale, 5, 10),
        Case("letter, pruned tree", tree().fit(*parts), letter[test], scale, 4, None),
        Case("waveform, forest", forest().fit(waveform, waveform_codes), waveform, waveform_scale, 5, 5),
        Case("waveform, pruned tree", tree().fit(waveform, waveform_codes), waveform, waveform_scale, 4, None),
        Case("waveform, XGBoost", booster.fit(waveform, waveform_codes), waveform, waveform_scale, None, 5),
    ]


def draw_and_average(case: Case) -> np.ndarray:
    """Monte Carlo."""
    random = np.random.default_rng(0)
    draws = (case.predict(case.rows + NOISE * case.scale * random.normal(size=case.rows.shape)) for _ in range(N_DRAWS))
    return sum(draws) / N_DRAWS


def first_call(case: Case) -> float:
    """Seconds of smoothing with a model that was never smoothed before."""
    model = read_model(case.estimator).sum
    return take_turns({"first": lambda: soften(model, case.rows, NOISE * case.scale)}, seconds=0, least=1)["first"]


def measure(case: Case) -> list[object]:
    """One line of the table."""
    first = first_call(case)
    model = read_model(case.estimator).sum
    jobs: dict[str, Callable[[], object]] = {
        "plain": lambda: case.predict(case.rows),
        "exact": lambda: soften(model, case.rows, NOISE * case.scale),
        "little": lambda: soften(model, case.rows, LITTLE_NOISE * case.scale),
    }
    seconds = take_turns(jobs, seconds=3, least=5)
    softened = soften(model, case.rows, NOISE * case.scale)
    drawn: list[np.ndarray] = []
    draws = take_turns({"draws": lambda: drawn.append(draw_and_average(case))}, seconds=0, least=1)["draws"]
    slower, faster = seconds["exact"] / seconds["plain"], draws / seconds["exact"]
    goals = []
    if case.least_of_draws:
        goals.append(f"at least {case.least_of_draws} x Monte Carlo: {verdict(faster >= case.least_of_draws)}")
    if case.most_of_plain:
        goals.append(f"within {case.most_of_plain} x plain: {verdict(slower <= case.most_of_plain)}")
    return [
        case.name,
        f"{sum(tree.n_leaves for tree in model.trees):,}",
        *(f"{1e3 * each:.1f}" for each in (seconds["plain"], seconds["exact"], first, draws)),
        f"**{slower:.1f}**",
        f"**{seconds['little'] / seconds['plain']:.1f}**",
        f"**{faster:.1f}**",
        f"{softened.bound.max() / np.ptp(softened.margins):.0e}",
        f"{np.abs(softened.margins - drawn[0]).max():.2f}",
        "; ".join(goals),
    ]


def verdict(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time exact smoothing against plain prediction and Monte Carlo.")
    parser.add_argument("--store", action="store_true", help="write the table into RESULTS.md")
    arguments = parser.parse_args()
    header = [
        "model", "leaves", "plain, ms", "exact, ms", "first call, ms", f"{N_DRAWS} draws, ms", "exact / plain",
        "little noise / plain", "draws / exact", "error bound", "largest difference from draws", "goals",
    ]  # fmt: skip
    text = table(header, [measure(case) for case in make_cases()])
    text += f"\n\n{NOTE}\n\n{environment('tremula', 'scikit-learn', 'numpy')}"
    text += "\n\nCommand: `python benchmarks/smoothing.py --store`"
    print(text)
    if arguments.store:
        store("Smoothing", text)


if __name__ == "__main__":
    main()
