"""Attacks whole fits by reconstruction: how many rows of a table follow from the counts that trees were learned from?

    python benchmarks/privacy_reconstruction.py                 writes the table into docs/guide/private_data.md
    python benchmarks/privacy_reconstruction.py --tables 2      measures less, and prints it

After Gorgé, Ferry, Gambs and Vidal, Training Set Reconstruction from Differentially Private Forests (arXiv 2502.05307,
2025). The attacker sees all answers of a fit, and knows the number of rows and the distribution of the noise. It
searches for the whole table that makes the answers most likely: with Laplace noise the one with the smallest sum of
absolute differences, which is a mixed-integer program. Found rows are matched with the real ones, and wrong values are
counted. An attacker who knows only how often each value occurs in each class is the baseline.

A second attacker knows all rows but one attribute, whose values are drawn by coins, and searches for these values. The
number of right ones bounds epsilon (Steinke, Nasr and Jagielski, 2023): with a promise of epsilon for a row that is
added or left out, a changed row has twice that, and right values are at most binomial with the logistic of it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.special import logit
from scipy.stats import beta

import tremula as tm
from tremula.queries import ArrayOracle, GuardedOracle, Question

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "private_data.md"
START, END = "<!-- reconstruction -->", "<!-- end of reconstruction -->"
# Budgets, and the members of the ensemble: a budget does not pay for the second depth of many different trees.
SETTINGS = ((None, 20), (None, 1), (1000.0, 1), (100.0, 1), (30.0, 1), (10.0, 1), (3.0, 1), (1.0, 1))
N_ROWS, N_ATTRIBUTES, N_TABLES = 25, 6, 20
SECONDS = 2.0  # for one program; the best table that was found until then is taken
Table = NDArray[np.int64]  # binary attributes, and the class in the last column


def draw_table(seed: int) -> Table:
    """Draw rows whose class depends on three attributes; the last attribute is drawn by coins and tells nothing."""
    random = np.random.default_rng(seed)
    X = (random.random((N_ROWS, N_ATTRIBUTES)) < [0.3, 0.5, 0.6, 0.4, 0.5, 0.5][:N_ATTRIBUTES]).astype(np.int64)
    y = (X[:, 0] + X[:, 1] + X[:, 2] + (random.random(N_ROWS) < 0.3) > 1).astype(np.int64)
    y[:2] = 0, 1
    return np.c_[X, y]


class Recorder:
    """Passes questions on to an oracle, and keeps all answers."""

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.schema = oracle, oracle.schema
        self.answers: dict[Question, NDArray[np.int64]] = {}

    def count(self, questions: Sequence[Question]) -> list[NDArray[np.int64]]:
        """Answer questions."""
        answers = self.oracle.count(questions)
        self.answers |= dict(zip(questions, answers))
        return list(answers)


def disclosed(table: Table, epsilon: float | None, n_members: int, seed: int) -> Recorder:
    """Fit an ensemble, and return all answers that it got."""
    domains = {f"x{number}": [0.0, 1.0] for number in range(table.shape[1] - 1)}
    oracle: Any = ArrayOracle(
        table[:, :-1].astype(float), table[:, -1], categorical_features="all", domains=domains, classes=[0, 1]
    )
    if epsilon is not None:
        oracle = GuardedOracle(oracle, min_count=0, epsilon=epsilon, budget_depth=3, shrink=False)
    recorder = Recorder(oracle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trees end with the budget
        tm.SimulatedBaggingClassifier(
            n_estimators=n_members, max_depth=5 if n_members > 1 else 3, random_state=seed
        ).fit(recorder)
    return recorder


def likeliest_rows(recorder: Recorder, candidates: Table, groups: NDArray[np.int64], sizes: Sequence[int]) -> Table:
    """Return rows of the candidates, as many of each group as given, whose counts are nearest to the answers."""
    cells, counts = _cells(recorder, candidates)
    n_candidates, n_cells = len(candidates), len(counts)
    # Variables: how often each candidate occurs, then the absolute difference of each cell.
    cost = np.r_[np.zeros(n_candidates), np.ones(n_cells)]
    members = (groups[:, None] == np.arange(len(sizes))).T.astype(float)
    constraints = [
        LinearConstraint(np.c_[members, np.zeros((len(sizes), n_cells))], sizes, sizes),
        LinearConstraint(np.c_[cells, -np.eye(n_cells)], -np.inf, counts),
        LinearConstraint(np.c_[cells, np.eye(n_cells)], counts, np.inf),
    ]
    whole = np.r_[np.ones(n_candidates), np.zeros(n_cells)]
    solved = milp(cost, constraints=constraints, integrality=whole, bounds=Bounds(0), options={"time_limit": SECONDS})
    if solved.x is None:  # nothing was found in time: round the solution without whole numbers
        solved = milp(cost, constraints=constraints, bounds=Bounds(0))
    times = solved.x[:n_candidates]
    rows = [
        np.repeat(np.flatnonzero(groups == group), _whole_numbers(times[groups == group], size))
        for group, size in enumerate(sizes)
    ]
    return candidates[np.concatenate(rows)]


def _cells(recorder: Recorder, candidates: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which candidates are in each answered cell, and its count; cells of the same candidates are one."""
    sums: dict[bytes, list[float]] = {}
    schema = recorder.schema
    for question, answer in recorder.answers.items():
        on_path = np.ones(len(candidates), dtype=bool)
        for condition in question.path:
            value = candidates[:, condition.attribute]
            on_path &= (condition.first <= value) & (value <= condition.last)
        for number in question.attributes:
            table = answer[schema.cells(number)]
            for value in range(2):
                for label in range(2):
                    inside = on_path & (candidates[:, number] == value) & (candidates[:, -1] == label)
                    sums.setdefault(inside.tobytes(), []).append(float(table[value, label]))
    cells = np.array([np.frombuffer(key, dtype=bool) for key in sums], dtype=float)
    return cells, np.array([np.median(counts) for counts in sums.values()])


def _whole_numbers(times: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Round numbers to whole ones of a given sum, by their largest remainders."""
    whole = np.floor(times + 1e-6).astype(np.int64)
    order = np.argsort(whole - times, kind="stable")
    whole[order[: size - whole.sum()]] += 1
    return whole


def error(rows: Table, real: Table) -> float:
    """Return the share of wrong values of the attributes, after the best matching of rows of the same table."""
    distances = (rows[:, None, :] != real[None, :, :]).sum(axis=2)
    return float(distances[linear_sum_assignment(distances)].sum() / real.size)


def whole_table_error(table: Table, epsilon: float | None, n_members: int, seed: int) -> float:
    """Reconstruct a whole table, and return the share of wrong values."""
    candidates = np.array(np.meshgrid(*[[0, 1]] * table.shape[1])).reshape(table.shape[1], -1).T
    groups = np.zeros(len(candidates), dtype=np.int64)
    rows = likeliest_rows(disclosed(table, epsilon, n_members, seed), candidates, groups, [len(table)])
    return error(rows, table)


def baseline_error(table: Table, seed: int) -> float:
    """Return the error of an attacker who draws rows by the share of each value in each class."""
    random = np.random.default_rng(seed)
    errors = []
    for _ in range(50):
        drawn = table.copy()
        for label in (0, 1):
            inside = table[:, -1] == label
            shares = table[inside, :-1].mean(axis=0)
            drawn[inside, :-1] = random.random((inside.sum(), len(shares))) < shares
        errors.append(error(drawn, table))
    return float(np.mean(errors))


def right_coins(table: Table, epsilon: float | None, n_members: int, seed: int) -> int:
    """Reconstruct the last attribute of rows that are known otherwise, and return how many values are right."""
    candidates = np.repeat(table, 2, axis=0)
    candidates[:, -2] = np.tile([0, 1], len(table))
    groups = np.repeat(np.arange(len(table)), 2)
    rows = likeliest_rows(disclosed(table, epsilon, n_members, seed), candidates, groups, [1] * len(table))
    return int((rows[:, -2] == table[:, -2]).sum())


def epsilon_of_coins(n_right: int, n_coins: int, level: float = 0.05) -> float:
    """Return a lower bound of epsilon for a row added or left out, wrong with probability `level`."""
    share = float(beta.ppf(level, n_right, n_coins - n_right + 1)) if n_right else 0.0
    return max(0.0, float(logit(min(share, 1 - 1e-12))) / 2)


def measure(n_tables: int) -> str:
    """Attack fits of several tables, and return the results as a table."""
    tables = [draw_table(seed) for seed in range(n_tables)]
    baseline = np.mean([baseline_error(table, seed) for seed, table in enumerate(tables)])
    lines = ["| epsilon | trees | wrong values, % | by marginals alone, % | coins right, % | epsilon at least |"]
    lines.append("|---:|---:|---:|---:|---:|---:|")
    for epsilon, n_members in SETTINGS:
        wrong = np.mean([whole_table_error(table, epsilon, n_members, seed) for seed, table in enumerate(tables)])
        right = sum(right_coins(table, epsilon, n_members, seed) for seed, table in enumerate(tables))
        n_coins = n_tables * N_ROWS
        lines.append(
            f"| {'none' if epsilon is None else f'{epsilon:g}'} | {n_members} | {100 * wrong:.1f} | "
            f"{100 * baseline:.1f} | "
            f"{100 * right / n_coins:.1f} | {epsilon_of_coins(right, n_coins):.2f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def write_page(n_tables: int) -> None:
    """Write the results into the page."""
    measured, text = measure(n_tables), PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    PAGE.write_text(f"{before}{START}\n{measured}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int)
    options = parser.parse_args()
    write_page(N_TABLES) if options.tables is None else measure(options.tables)
