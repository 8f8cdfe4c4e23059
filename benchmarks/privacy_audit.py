"""Audits the privacy of whole fits: how well can an attacker tell two neighbouring tables apart?

    python benchmarks/privacy_audit.py                  writes the table into docs/guide/private_data.md
    python benchmarks/privacy_audit.py --fits 200       measures less, and prints it

The attacker knows all rows but those of one person, and wants to know whether they were in the table. The table is the
worst case: the person's rows are in the same cell of every attribute. The attacker sees all noisy answers of a fit, or
only the model. It adds up what they say about that cell, and compares the sum with a threshold that other fits have
chosen. Clopper and Pearson's bounds of its errors, at 95 % together, give a lower bound of epsilon. To show that the
audit would notice, the noise is halved behind the guard's back.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm

import tremula as tm
from tremula.queries import ArrayOracle, GuardedOracle

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "private_data.md"
START, END = "<!-- audit -->", "<!-- end of audit -->"
DELTA = 1e-5
N_ROWS = 200
N_FITS = 240


class Setting(NamedTuple):
    """A fit to audit."""

    epsilon: float
    delta: float | None
    rows_per_person: int
    n_attributes: int
    halved: bool = False


def oracle_of(setting: Setting, is_in: bool) -> ArrayOracle:
    """Return a table with the person, or without; all rows of the class yes are in one cell of each attribute."""
    n_yes = N_ROWS // 2 + (setting.rows_per_person if is_in else 0)
    values = ["a"] * n_yes + ["a", "b"] * (N_ROWS // 4)
    rows = [[value] * setting.n_attributes for value in values]
    return ArrayOracle(rows, ["yes"] * n_yes + ["no"] * (N_ROWS // 2), categorical_features="all")


def statistics(setting: Setting, is_in: bool, seed: int) -> tuple[float, float]:
    """Fit once. Return the rows of class yes in the person's cell, by all answers and by the model alone."""
    guarded = GuardedOracle(
        oracle_of(setting, is_in),
        min_count=0,
        public="all",
        epsilon=setting.epsilon,
        delta=setting.delta,
        rows_per_person=setting.rows_per_person,
        budget_depth=1,
        estimate=True,
        shrink=False,
    )
    if setting.halved:
        halve_noise(guarded)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, max_depth=2, random_state=seed).fit(guarded)
    (answer,) = guarded._estimates.paid.values()  # type: ignore[union-attr]
    schema = guarded.schema
    by_answers = np.mean([answer[schema.cells(number)][0, 1] for number in range(setting.n_attributes)])
    tree = model.members_[0]
    by_model = float(tree.nodes["weight"][0] * model.predict_proba([["a"] * setting.n_attributes])[0, 1])
    return float(by_answers), by_model


def halve_noise(guarded: GuardedOracle) -> None:
    """Break a guard: its noise is half of what was paid for."""
    budget = guarded._budget
    assert budget is not None
    add_noise = budget.add_noise

    def add_half(counts: Any) -> Any:
        noise = add_noise(np.zeros_like(counts))
        return counts + np.rint(noise / 2).astype(np.int64)

    guarded._budget = replace(budget, add_noise=add_half)


def attack(setting: Setting, n_fits: int, error: float = 0.05) -> list[float]:
    """Return lower bounds of epsilon, by all answers and by the model alone."""
    drawn = {is_in: np.array([statistics(setting, is_in, seed) for seed in range(n_fits)]) for is_in in (True, False)}
    measured = []
    for column in range(2):
        # A quarter of the fits chooses the threshold, the others measure.
        tuning = {is_in: drawn[is_in][: n_fits // 4, column] for is_in in drawn}
        testing = {is_in: drawn[is_in][n_fits // 4 :, column] for is_in in drawn}
        threshold = (tuning[True].mean() + tuning[False].mean()) / 2
        hits, false_hits = (int((testing[is_in] > threshold).sum()) for is_in in (True, False))
        measured.append(epsilon_bound(hits, false_hits, len(testing[True]), setting.delta, error))
    return measured


def epsilon_bound(hits: int, false_hits: int, n_fits: int, delta: float | None, error: float = 0.05) -> float:
    """Return a lower bound of epsilon from the hits of an attack on fits with and without the person.

    It is wrong with probability `error`.

    With a delta the noise is Gaussian, and the bound is that of Gaussian differential privacy (Nasr et al. 2023).
    """
    low = float(beta.ppf(error / 2, hits, n_fits - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - error / 2, false_hits + 1, n_fits - false_hits)) if false_hits < n_fits else 1.0
    if low <= high:
        return 0.0
    if delta is None:
        return float(max(np.log(low / high), np.log((1 - high) / (1 - low)) if low < 1 else 0.0))
    mu = norm.ppf(low) - norm.ppf(high)

    def excess(epsilon: float) -> float:
        return float(norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta)

    return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 50.0))


SETTINGS = [
    Setting(epsilon, delta, rows_per_person, n_attributes, halved)
    for epsilon, delta, rows_per_person, n_attributes in ((2.0, None, 1, 1), (4.0, DELTA, 1, 3), (4.0, DELTA, 5, 3))
    for halved in (False, True)
]


def table(n_fits: int) -> str:
    """Measure all settings, and return them as a table."""
    lines = ["| epsilon | delta | rows of a person | attributes | noise | measured by all answers | by the model |"]
    lines.append("|---:|---:|---:|---:|---|---:|---:|")
    for setting in SETTINGS:
        by_answers, by_model = attack(setting, n_fits)
        noise, delta = "halved" if setting.halved else "as paid for", setting.delta or 0
        lines.append(
            f"| {setting.epsilon:g} | {delta:g} | {setting.rows_per_person} | {setting.n_attributes} | {noise} | "
            f"{by_answers:.2f} | {by_model:.2f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def write_page(n_fits: int) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    PAGE.write_text(f"{before}{START}\n{table(n_fits)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int)
    options = parser.parse_args()
    write_page(N_FITS) if options.fits is None else table(options.fits)
